//! Segments between DRAM and the controller: brought in, written back.

use media::Tag;
use nvmm::{Address, Answer, Request};

use crate::device::Device;
use crate::engine::Places;
use crate::frames::{Key, NONE};
use crate::storage::Stop;
use crate::{Error, Memory};

/// A read or a write of a page's segments on its way.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub tag: Tag,
    pub writes: bool,
    pub page: u32,
    pub places: Places,
}

/// Most dirty segments that are written back at a time.
pub(crate) const BATCH: usize = 512;

impl<D: Device> Memory<D> {
    /// Frames for segments `keys`, at most a quarter of all. What has none is taken one for, and read if `read` says so; else it is among
    /// `fresh`, busy until it is filled.
    pub(crate) fn bring(&mut self, keys: std::ops::Range<Key>, read: impl Fn(Key) -> bool) -> Result<(), Error> {
        self.hits += keys.clone().filter(|key| self.frames.find(*key).is_some()).count() as u64;
        // What was found may have to go for what was not.
        while keys.clone().any(|key| self.frames.find(key).is_none()) {
            if let Err(error) = self.bring_once(keys.clone(), &read) {
                for frame in std::mem::take(&mut self.fresh) {
                    self.frames.drop(frame);
                }
                return Err(error);
            }
        }
        // Some may still be on their way: the disk was full.
        self.finish_reads()
    }

    fn bring_once(&mut self, keys: std::ops::Range<Key>, read: impl Fn(Key) -> bool) -> Result<(), Error> {
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
                        // What was taken so far is asked for first, so that it is not lost.
                        self.ask_read(page, std::mem::take(&mut mask), std::mem::replace(&mut places, [NONE; 16]));
                        self.finish()?;
                        self.make_room()?;
                        self.frames.take(key).expect("there is room")
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
                self.finish()?;
            }
            self.ask_read(page, mask, places);
        }
        self.finish_reads()
    }

    pub(crate) fn ask_read(&mut self, page: u32, mask: u32, places: Places) {
        if mask != 0 {
            let request = Request::Read { address: self.page_address(page), segments: mask };
            let tag = self.engine.ask(request, places, &mut self.frames);
            self.pending.push(Pending { tag, writes: false, page, places });
        }
    }

    /// That at least one frame can be taken: dirty segments are written back, those that were not used for long.
    pub(crate) fn make_room(&mut self) -> Result<(), Error> {
        let mut keys = std::mem::take(&mut self.keys);
        self.frames.dirty_keys(BATCH.min(self.frames.count() / 4), &mut keys);
        let written = self.write_back(&keys);
        self.keys = keys;
        written
    }

    /// Writes back all that is dirty.
    pub(crate) fn write_back_all(&mut self) -> Result<(), Error> {
        let mut keys = std::mem::take(&mut self.keys);
        self.frames.dirty_keys(usize::MAX, &mut keys);
        // Pages in order lie in order.
        keys.sort_unstable();
        let written = self.write_back(&keys);
        self.keys = keys;
        written
    }

    /// Writes back segments `keys`, and what else of their pages is dirty.
    fn write_back(&mut self, keys: &[Key]) -> Result<(), Error> {
        let segments = u64::from(self.shape().segments);
        for key in keys {
            if self.frames.dirty_of(*key).is_none() {
                // It went with another of its page.
                continue;
            }
            if self.engine.room() == 0 {
                self.finish()?;
            }
            self.ask_write((key / segments) as u32);
        }
        self.finish()
    }

    /// Asks for what is dirty of a page to be written.
    pub(crate) fn ask_write(&mut self, page: u32) {
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
        let tag = self.engine.ask(request, places, &mut self.frames);
        self.pending.push(Pending { tag, writes: true, page, places });
    }

    /// Waits for all that is on its way. What is refused is as before: what was to be written is dirty, what was to be read has no
    /// frame. If the medium stops, what has not ended stays on its way.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        while let Some(tag) = self.unanswered.last().copied() {
            let answer = self.engine.answer(tag, &mut self.frames).map_err(|stop| self.stopped(stop))?;
            self.unanswered.pop();
            if let Answer::Token(token) = answer {
                // Nobody was told of it.
                self.ask(Request::Drop { token }, 0)?;
            }
        }
        self.finish_those(|_| true)
    }

    /// Waits for what is being read.
    fn finish_reads(&mut self) -> Result<(), Error> {
        self.finish_those(|pending| !pending.writes)
    }

    fn finish_those(&mut self, which: impl Fn(&Pending) -> bool) -> Result<(), Error> {
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
        refused.map_or(Ok(()), |(page, error)| Err(self.refused(error, page)))
    }

    /// A read or write of the frames at `places` is answered.
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

    /// What was held for want of room is made again; nothing of it is waited for.
    pub(crate) fn resume(&mut self) {
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
