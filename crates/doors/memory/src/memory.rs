//! The calls.

use media::Tag;
use nvmm::{Answer, Permissions, Request, Token};

use crate::cache::Pending;
use crate::catalog;
use crate::device::Device;
use crate::engine::Engine;
use crate::error::Error;
use crate::frames::{Frames, Key};
use crate::layout::Shape;
use crate::{Disk, MapStats, Plant};

/// Most blocks whose space a sync gives back: what took long to write would take long to give back.
const RELEASED: usize = 16;
/// Blocks whose space no sync gives back: what comes next is written there, and finds it in place.
const KEPT: usize = 64;

/// What a memory has done since it was opened, and how it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments that were wanted and in DRAM.
    pub hits: u64,
    /// Segments that were wanted and not.
    pub misses: u64,
    /// Bytes read from the file.
    pub read_bytes: u64,
    /// Bytes written to it: data, checksums, table, copies.
    pub written_bytes: u64,
    /// Times it was flushed.
    pub flushes: u64,
    /// Segments in DRAM that the file does not have yet.
    pub dirty: u64,
    /// Bytes of the cache.
    pub dram_bytes: u64,
    /// Bytes in the file that the present or a token needs.
    pub needed_bytes: u64,
    /// Bytes in the file that may be needed.
    pub space_bytes: u64,
    /// What the controller counts.
    pub controller: nvmm::Stats,
    /// What was done for loads and stores, if it is mapped.
    pub map: MapStats,
}

/// Memory on a file or a block device. Addresses are bytes; 0 is nobody's.
///
/// What is written is in DRAM and in the file as the cache has it, and counts only from [`sync`](Self::sync) on: after a crash the memory
/// opens as the last completed sync, rollback or drop left it. Dropping it without [`close`](Self::close) leaves it as a crash would.
pub struct Memory<D: Device = Disk> {
    pub(crate) engine: Engine<D>,
    pub(crate) frames: Frames,
    pub(crate) path: String,
    pub(crate) pending: Vec<Pending>,
    /// Requests without data that a full disk holds up.
    pub(crate) unanswered: Vec<Tag>,
    /// Frames of segments that are about to be written whole.
    pub(crate) fresh: Vec<u32>,
    pub(crate) keys: Vec<Key>,
    /// Permissions of the page that was asked about last.
    pub(crate) last_page: Option<(u32, Permissions)>,
    pub(crate) next_page: u32,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    opener: u32,
}

impl<D: Device> Memory<D> {
    pub(crate) fn new(engine: Engine<D>, dram: u64, path: &str) -> Memory<D> {
        let segment = engine.storage.shape.segment_bytes as usize;
        Memory {
            frames: Frames::new((dram as usize / segment).max(64), segment),
            engine,
            path: path.to_owned(),
            pending: Vec::new(),
            unanswered: Vec::new(),
            fresh: Vec::new(),
            keys: Vec::new(),
            last_page: None,
            next_page: catalog::PAGE + 1,
            hits: 0,
            misses: 0,
            opener: std::process::id(),
        }
    }

    /// Makes the first root durable, of a new memory the catalog's page too; deletes the temporary pages of whoever had it open before.
    pub(crate) fn begin(&mut self, new: bool) -> Result<(), Error> {
        if new {
            self.create_page(catalog::PAGE, Permissions { permanent: true, ..Permissions::PRIVATE })?;
            let token = self.sync(None)?;
            self.drop_token(token)
        } else {
            self.ask(Request::End, catalog::PAGE).map(|_| ())
        }
    }

    /// What it was made with.
    pub fn shape(&self) -> Shape {
        self.engine.storage.shape
    }

    /// Its device.
    pub fn device(&self) -> &D {
        self.engine.storage.device()
    }

    /// Its device, for tests that make it fail.
    #[doc(hidden)]
    pub fn device_mut(&mut self) -> &mut D {
        self.engine.storage.device_mut()
    }

    /// Gives up the device, as a crash would.
    pub fn into_device(self) -> D {
        self.engine.storage.into_device()
    }

    /// Plants a bug.
    #[doc(hidden)]
    pub fn plant(&mut self, plant: Plant) {
        self.engine.storage.plant = plant;
    }

    /// What was held up by a full disk goes on, and this process is the one that opened it.
    pub(crate) fn enter(&mut self) -> Result<(), Error> {
        if std::process::id() != self.opener {
            return Err(Error::Forked { path: self.path.clone(), opener: self.opener });
        }
        self.resume();
        Ok(())
    }

    /// Asks what has no data, and waits.
    pub(crate) fn ask(&mut self, request: Request, page: u32) -> Result<Answer, Error> {
        self.finish()?;
        let tag = self.engine.ask(request, [crate::frames::NONE; 16], &mut self.frames);
        match self.engine.answer(tag, &mut self.frames) {
            Ok(Answer::Refused(error)) => Err(self.refused(error, page)),
            Ok(answer) => Ok(answer),
            Err(stop) => Err(self.abandoned(tag, stop)),
        }
    }

    pub(crate) fn check_range(&self, address: u64, bytes: u64) -> Result<std::ops::Range<u64>, Error> {
        let end = self.shape().capacity() + self.shape().page_bytes();
        let within = address.checked_add(bytes).is_some_and(|last| last <= end);
        if !within || address < self.shape().page_bytes() {
            return Err(Error::OutOfRange { address, bytes, capacity: self.shape().capacity() });
        }
        Ok(address..address + bytes)
    }

    /// Segments that may be in DRAM for one call at a time.
    fn window(&self) -> u64 {
        (self.frames.count() as u64 / 4).clamp(1, 1024)
    }

    /// Reads `into.len()` bytes from `address` on. What was never written is zeros.
    ///
    /// # Errors
    /// If a page is not allocated or may not be read, or something cannot be read; then it is not known what is `into`.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        self.enter()?;
        let range = self.check_range(address, into.len() as u64)?;
        self.permitted(range.clone(), false)?;
        self.read_unchecked(range.start, into)
    }

    pub(crate) fn read_unchecked(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        let segment = u64::from(self.shape().segment_bytes);
        let (mut at, end) = (address, address + into.len() as u64);
        while at < end {
            let first = at / segment;
            let last = end.div_ceil(segment).min(first + self.window());
            self.bring(first..last, |_| true)?;
            for key in first..last {
                let (from, to) = (at.max(key * segment), end.min((key + 1) * segment));
                let frame = self.frames.find(key).expect("it was brought");
                let bytes = &self.frames.bytes(frame)[(from - key * segment) as usize..(to - key * segment) as usize];
                into[(from - address) as usize..(to - address) as usize].copy_from_slice(bytes);
            }
            at = last * segment;
        }
        Ok(())
    }

    /// Writes `bytes` to `address` on.
    ///
    /// # Errors
    /// If a page is not allocated or may not be written: then nothing is. If something cannot be read that is written in part, or there is
    /// no room: then what lies before that is written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.enter()?;
        let range = self.check_range(address, bytes.len() as u64)?;
        self.permitted(range.clone(), true)?;
        self.write_unchecked(range.start, bytes)
    }

    pub(crate) fn write_unchecked(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let segment = u64::from(self.shape().segment_bytes);
        let (mut at, end) = (address, address + bytes.len() as u64);
        while at < end {
            let first = at / segment;
            let last = end.div_ceil(segment).min(first + self.window());
            // What is overwritten whole is not read.
            self.bring(first..last, |key| key * segment < address || (key + 1) * segment > end)?;
            for key in first..last {
                let (from, to) = (at.max(key * segment), end.min((key + 1) * segment));
                let frame = self.frames.find(key).expect("it was brought");
                let into =
                    &mut self.frames.bytes_mut(frame)[(from - key * segment) as usize..(to - key * segment) as usize];
                into.copy_from_slice(&bytes[(from - address) as usize..(to - address) as usize]);
                self.frames.set_dirty(frame, true);
            }
            for frame in self.fresh.drain(..) {
                self.frames.set_busy(frame, false);
            }
            at = last * segment;
        }
        Ok(())
    }

    /// Makes all that was written durable, and keeps it as a state to go back to, under a name if one is given.
    ///
    /// # Errors
    /// If a name is taken or cannot be one, if there is no room or no more tokens can be live, or writing fails: then the last sync is still the
    /// last, and what was written stays in DRAM and may be synced by another call.
    pub fn sync(&mut self, name: Option<&str>) -> Result<Token, Error> {
        self.enter()?;
        self.finish()?;
        let token = self.engine.nvmm.next_token();
        self.note_name(token, name)?;
        self.write_back_all()?;
        match self.ask(Request::Sync, catalog::PAGE)? {
            Answer::Token(given) => {
                assert_eq!(given, token);
                self.engine.release(KEPT, RELEASED);
                Ok(given)
            }
            other => panic!("{other:?} is no answer to a sync"),
        }
    }

    /// Back to the state that `token` stands for. What is newer, tokens too, is forgotten.
    ///
    /// # Errors
    /// If it stands for none: then nothing is changed.
    pub fn rollback(&mut self, token: Token) -> Result<(), Error> {
        self.enter()?;
        self.finish()?;
        let live = self.engine.nvmm.tokens().collect::<Vec<_>>();
        if !live.contains(&token) {
            return Err(Error::UnknownToken { token, newest: live.last().copied() });
        }
        let asked = self.ask(Request::Rollback { token }, catalog::PAGE);
        // If it is held up by a full disk it goes on later: what was before is over all the same.
        if asked.is_ok() || !self.unanswered.is_empty() {
            self.frames.clear();
        }
        self.last_page = None;
        asked.map(|_| ())
    }

    /// The state is needed no more: what only it needed is room again.
    ///
    /// # Errors
    /// If it stands for none, or what was written before cannot be.
    pub fn drop_token(&mut self, token: Token) -> Result<(), Error> {
        self.enter()?;
        self.ask(Request::Drop { token }, catalog::PAGE).map(|_| ())
    }

    /// What the next sync will return.
    pub fn next_token(&self) -> Token {
        self.engine.nvmm.next_token()
    }

    /// Collects what is not needed, and gives its space back to the file system.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn compact(&mut self) -> Result<(), Error> {
        self.enter()?;
        self.finish()?;
        self.engine.nvmm.compact();
        // Any request sets it going.
        self.ask(Request::Read { address: self.page_address(catalog::PAGE), segments: 1 }, catalog::PAGE)?;
        self.engine.drain(&mut self.frames).map_err(|stop| self.stopped(stop))?;
        self.engine.release_all();
        Ok(())
    }

    /// What was written since the last sync is given up, and the file is closed.
    ///
    /// # Errors
    /// If the last of it cannot be written.
    pub fn close(mut self) -> Result<(), Error> {
        self.enter()?;
        self.finish()?;
        self.engine.drain(&mut self.frames).map_err(|stop| self.stopped(stop))?;
        self.engine.release(0, usize::MAX);
        self.engine.storage.settle().map_err(|stop| self.stopped(stop))
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        let (storage, controller) = (&self.engine.storage, self.engine.nvmm.stats());
        let segment = u64::from(self.shape().segment_bytes);
        Stats {
            hits: self.hits,
            misses: self.misses,
            read_bytes: storage.read_bytes,
            written_bytes: storage.written_bytes,
            flushes: storage.flushes,
            dirty: self.frames.dirty_count() as u64,
            dram_bytes: self.frames.count() as u64 * segment,
            needed_bytes: controller.needed * segment,
            space_bytes: controller.capacity * segment,
            controller,
            map: MapStats::default(),
        }
    }
}
