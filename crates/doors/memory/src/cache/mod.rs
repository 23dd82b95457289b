//! Moves segments between the DRAM cache and the controller: fetches on a miss, writes back dirty data.

pub(crate) mod frames;

use media::Tag;
use nvmm::{Address, Answer, Request};

use crate::cache::frames::{Key, NONE};
use crate::device::Device;
use crate::engine::Places;
use crate::storage::Stop;
use crate::{Error, Memory};

/// A read or write in flight of some segments of one page.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub tag: Tag,
    pub writes: bool,
    pub page: u32,
    pub places: Places,
}

/// Controller requests that writes leave free for reads, since writes may wait for room on the disk.
pub(crate) const RESERVED_FOR_READS: usize = 8;

/// Maximum number of dirty segments that one pass writes back.
pub(crate) const BATCH: usize = 512;

impl<D: Device> Memory<D> {
    /// Makes segments `keys`, at most a quarter of the cache, resident. Missing segments get a frame and are read if
    /// `read` returns true; the others are added to `fresh` and stay busy until the caller fills them.
    pub(crate) fn load_segments(
        &mut self,
        keys: std::ops::Range<Key>,
        read: impl Fn(Key) -> bool,
    ) -> Result<(), Error> {
        self.hits += keys.clone().filter(|key| self.frames.find(*key).is_some()).count() as u64;
        // Making room for missing segments may evict ones that were found, so repeat until all are resident.
        while keys.clone().any(|key| self.frames.find(key).is_none()) {
            if let Err(error) = self.load_missing(keys.clone(), &read) {
                for frame in std::mem::take(&mut self.fresh) {
                    self.frames.drop(frame);
                }
                return Err(error);
            }
        }
        // Reads may still be in flight if the disk was full.
        self.finish_reads()
    }

    fn load_missing(&mut self, keys: std::ops::Range<Key>, read: impl Fn(Key) -> bool) -> Result<(), Error> {
        let segments = u64::from(self.shape().segments);
        let mut keys = keys.peekable();
        while let Some(first) = keys.peek().copied() {
            let page = (first / segments) as u32;
            let (mut mask, mut places) = (0u32, [NONE; 16]);
            while let Some(key) = keys.next_if(|key| key / segments == u64::from(page)) {
                if self.frames.find(key).is_some() {
                    continue;
                }
                let frame = match self.frames.take(key) {
                    Some(frame) => frame,
                    None => {
                        // Submit the frames collected so far first, so that an error in between does not leak them.
                        self.submit_read(page, std::mem::take(&mut mask), std::mem::replace(&mut places, [NONE; 16]));
                        self.finish()?;
                        self.make_room()?;
                        self.frames.take(key).expect("a frame is free")
                    }
                };
                self.misses += 1;
                if read(key) {
                    let segment = (key % segments) as usize;
                    mask |= 1 << segment;
                    places[segment] = frame;
                } else {
                    self.fresh.push(frame);
                }
            }
            if self.engine.room() == 0 {
                self.finish_reads()?;
            }
            self.submit_read(page, mask, places);
        }
        self.finish_reads()
    }

    pub(crate) fn submit_read(&mut self, page: u32, mask: u32, places: Places) {
        if mask != 0 {
            let request = Request::Read { address: self.page_address(page), segments: mask };
            let tag = self.engine.submit(request, places, &mut self.frames);
            self.pending.push(Pending { tag, writes: false, page, places });
        }
    }

    /// Writes back the least recently used dirty segments, so that at least one frame can be taken.
    pub(crate) fn make_room(&mut self) -> Result<(), Error> {
        let mut keys = std::mem::take(&mut self.keys);
        self.frames.dirty_keys(BATCH.min(self.frames.count() / 4), &mut keys);
        let written = self.write_back(&keys);
        self.keys = keys;
        written
    }

    /// Writes back all dirty segments.
    pub(crate) fn write_back_all(&mut self) -> Result<(), Error> {
        let mut keys = std::mem::take(&mut self.keys);
        self.frames.dirty_keys(usize::MAX, &mut keys);
        // Ascending order makes the writes sequential in the file.
        keys.sort_unstable();
        let written = self.write_back(&keys);
        self.keys = keys;
        written
    }

    /// Writes back segments `keys` together with the other dirty segments of their pages.
    fn write_back(&mut self, keys: &[Key]) -> Result<(), Error> {
        let segments = u64::from(self.shape().segments);
        for key in keys {
            if self.frames.dirty_of(*key).is_none() {
                // It was written along with another segment of its page.
                continue;
            }
            if self.engine.room() <= RESERVED_FOR_READS {
                self.finish()?;
            }
            self.submit_write((key / segments) as u32);
        }
        self.finish()
    }

    /// Submits a write of the page's dirty segments.
    pub(crate) fn submit_write(&mut self, page: u32) {
        let segments = u64::from(self.shape().segments);
        let (mut mask, mut places) = (0, [NONE; 16]);
        for segment in 0..segments {
            if let Some(frame) = self.frames.dirty_of(u64::from(page) * segments + segment) {
                self.frames.set_dirty(frame, false);
                self.frames.set_busy(frame, true);
                mask |= 1 << segment;
                places[segment as usize] = frame;
            }
        }
        let request = Request::Write { address: self.page_address(page), segments: mask };
        let tag = self.engine.submit(request, places, &mut self.frames);
        self.pending.push(Pending { tag, writes: true, page, places });
    }

    /// Waits for all requests in flight. A refused write leaves its segments dirty, a refused read frees its frames.
    /// If the medium stops, unfinished requests stay in flight.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        while let Some(tag) = self.unanswered.last().copied() {
            let answer = self.engine.answer(tag, &mut self.frames).map_err(|stop| self.stopped(stop))?;
            self.unanswered.pop();
            if let Answer::Token(token) = answer {
                // The caller of the sync got an error instead of this token.
                self.execute(Request::Drop { token }, 0)?;
            }
        }
        self.finish_matching(|_| true)
    }

    /// Waits for all reads in flight.
    fn finish_reads(&mut self) -> Result<(), Error> {
        self.finish_matching(|pending| !pending.writes)
    }

    fn finish_matching(&mut self, which: impl Fn(&Pending) -> bool) -> Result<(), Error> {
        let mut refused = None;
        while let Some(at) = self.pending.iter().rposition(&which) {
            let Pending { tag, writes, page, places } = self.pending[at].clone();
            let answer = self.engine.answer(tag, &mut self.frames).map_err(|stop| self.stopped(stop))?;
            self.pending.remove(at);
            self.settle(&answer, writes, &places);
            if let Answer::Refused(error) = answer {
                refused.get_or_insert((page, error));
            }
        }
        refused.map_or(Ok(()), |(page, error)| Err(self.convert_error(error, page)))
    }

    /// Updates the frames at `places` after the controller has answered a read or write.
    pub(crate) fn settle(&mut self, answer: &Answer, writes: bool, places: &Places) {
        for frame in places.iter().copied().filter(|frame| *frame != NONE) {
            match (answer, writes) {
                (Answer::Done, _) => self.frames.set_busy(frame, false),
                (_, true) => {
                    self.frames.set_busy(frame, false);
                    self.frames.set_dirty(frame, true);
                }
                (_, false) => self.frames.drop(frame),
            }
        }
    }

    /// Retries requests that a full disk deferred, without waiting for them.
    pub(crate) fn retry_deferred(&mut self) {
        if !self.pending.is_empty() || !self.unanswered.is_empty() {
            self.engine.storage.retry();
        }
    }

    pub(crate) fn page_address(&self, page: u32) -> Address {
        Address::new(nvmm::Controller::LOCAL, page, 0)
    }

    pub(crate) fn stopped(&self, stop: Stop) -> Error {
        crate::open::stopped(stop, &self.path)
    }
}
