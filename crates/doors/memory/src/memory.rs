//! The memory and its main calls: read, write, sync, rollback, compact and close.

use media::Tag;
use nvmm::{Answer, Permissions, Request, Token};

use crate::cache::Pending;
use crate::cache::frames::{Frames, Key, NONE};
use crate::catalog;
use crate::device::Device;
use crate::engine::Engine;
use crate::error::Error;
use crate::storage::layout::Shape;
use crate::{Disk, MapStats};

/// Maximum number of blocks that one sync releases to the file system, to bound its duration.
const RELEASED: usize = 16;
/// Number of empty blocks that no sync releases, because the next writes reuse them.
const KEPT: usize = 64;

/// Statistics since the memory was opened, and its current state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requested segments that were in DRAM.
    pub hits: u64,
    /// Requested segments that were not in DRAM.
    pub misses: u64,
    /// Bytes read from the file.
    pub read_bytes: u64,
    /// Bytes written to the file: data, checksums, table and copies.
    pub written_bytes: u64,
    /// Number of flushes.
    pub flushes: u64,
    /// Segments in DRAM that are newer than the file.
    pub dirty: u64,
    /// Size of the DRAM cache in bytes.
    pub dram_bytes: u64,
    /// Bytes in the file that the current state or a token needs.
    pub needed_bytes: u64,
    /// Bytes in the file that are available for these.
    pub space_bytes: u64,
    /// Statistics of the controller.
    pub controller: nvmm::Stats,
    /// Statistics of the mapping; zero if the memory is not mapped.
    pub map: MapStats,
}

/// A memory on a file or a block device. Addresses count bytes; address 0 is never allocated.
///
/// Writes go to the DRAM cache and, by eviction, to the file, but become durable only with [`sync`](Self::sync): after
/// a crash the memory opens in the state of the last completed sync, rollback or drop. Dropping the value without
/// [`close`](Self::close) has the same effect as a crash.
pub struct Memory<D: Device = Disk> {
    pub(crate) engine: Engine<D>,
    pub(crate) frames: Frames,
    pub(crate) path: String,
    pub(crate) pending: Vec<Pending>,
    /// Requests without data that a full disk delays.
    pub(crate) unanswered: Vec<Tag>,
    /// Frames of segments that the current call will overwrite completely.
    pub(crate) fresh: Vec<u32>,
    pub(crate) keys: Vec<Key>,
    /// Permissions of the page that was checked last.
    pub(crate) last_page: Option<(u32, Permissions)>,
    pub(crate) next_page: u32,
    /// The catalog names no token, so a sync without a name need not read it.
    pub(crate) no_token_is_named: bool,
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
            no_token_is_named: false,
            hits: 0,
            misses: 0,
            opener: std::process::id(),
        }
    }

    /// Makes the first root durable and, in a new memory, creates the catalog's page; deletes the temporary pages of
    /// the previous opener.
    pub(crate) fn begin(&mut self, new: bool) -> Result<(), Error> {
        if new {
            self.create_page(catalog::PAGE, Permissions { permanent: true, ..Permissions::PRIVATE })?;
            let token = self.sync(None)?;
            self.drop_token(token)
        } else {
            self.execute(Request::End, catalog::PAGE).map(|_| ())
        }
    }

    /// Returns the fixed parameters of the memory.
    pub fn shape(&self) -> Shape {
        self.engine.storage.shape
    }

    /// Returns the device.
    pub fn device(&self) -> &D {
        self.engine.storage.device()
    }

    /// Returns the device, for tests that make it fail.
    #[doc(hidden)]
    pub fn device_mut(&mut self) -> &mut D {
        self.engine.storage.device_mut()
    }

    /// Returns the device, leaving its content as a crash would.
    pub fn into_device(self) -> D {
        self.engine.storage.into_device()
    }

    /// Injects a fault, for tests.
    #[cfg(feature = "injected-faults")]
    pub fn inject_fault(&mut self, injected: crate::InjectedFault) {
        self.engine.storage.inject(injected);
    }

    /// Starts a call: checks that this process opened the memory, and retries requests that a full disk deferred.
    pub(crate) fn begin_call(&mut self) -> Result<(), Error> {
        if std::process::id() != self.opener {
            return Err(Error::Forked { path: self.path.clone(), opener: self.opener });
        }
        self.retry_deferred();
        Ok(())
    }

    /// Submits a request without data and waits for its answer.
    pub(crate) fn execute(&mut self, request: Request, page: u32) -> Result<Answer, Error> {
        self.finish()?;
        let tag = self.engine.submit(request, [crate::cache::frames::NONE; 16], &mut self.frames);
        match self.engine.answer(tag, &mut self.frames) {
            Ok(Answer::Refused(error)) => Err(self.convert_error(error, page)),
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

    /// Returns the maximum number of segments that one step of a call keeps in DRAM.
    pub(crate) fn window(&self) -> u64 {
        (self.frames.count() as u64 / 4).clamp(1, 1024)
    }

    /// Returns the number of frames whose content is not in the file yet. At least as many others as [`window`](Self::window)
    /// remain, so that reads find room in DRAM even if the disk is full.
    pub(crate) fn unwritten(&self) -> u64 {
        let writes = self.pending.iter().filter(|pending| pending.writes);
        let frames = writes.flat_map(|pending| &pending.places).filter(|frame| **frame != NONE).count();
        (self.frames.dirty_count() + frames) as u64
    }

    /// Reads `into.len()` bytes starting at `address`. Bytes that were never written are zero.
    ///
    /// # Errors
    /// If a page is not allocated or may not be read, or if part of the data cannot be read. In the last case the
    /// content of `into` is unspecified.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        self.begin_call()?;
        let range = self.check_range(address, into.len() as u64)?;
        self.check_permissions(range.clone(), false)?;
        self.read_unchecked(range.start, into)
    }

    pub(crate) fn read_unchecked(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        let segment = u64::from(self.shape().segment_bytes);
        let (mut at, end) = (address, address + into.len() as u64);
        while at < end {
            let first = at / segment;
            let last = end.div_ceil(segment).min(first + self.window());
            self.load_segments(first..last, |_| true)?;
            for key in first..last {
                let (from, to) = (at.max(key * segment), end.min((key + 1) * segment));
                let frame = self.frames.find(key).expect("it was loaded");
                let bytes = &self.frames.bytes(frame)[(from - key * segment) as usize..(to - key * segment) as usize];
                into[(from - address) as usize..(to - address) as usize].copy_from_slice(bytes);
            }
            at = last * segment;
        }
        Ok(())
    }

    /// Writes `bytes` starting at `address`.
    ///
    /// # Errors
    /// If a page is not allocated or may not be written; then nothing is written. If a segment that is written in part
    /// cannot be read, or there is no space; then only a prefix of `bytes` is written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.begin_call()?;
        let range = self.check_range(address, bytes.len() as u64)?;
        self.check_permissions(range.clone(), true)?;
        self.write_unchecked(range.start, bytes)
    }

    pub(crate) fn write_unchecked(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let segment = u64::from(self.shape().segment_bytes);
        let (mut at, end) = (address, address + bytes.len() as u64);
        while at < end {
            let first = at / segment;
            let last = end.div_ceil(segment).min(first + self.window());
            while self.unwritten() + (last - first) > self.frames.count() as u64 - self.window() {
                self.make_room()?;
            }
            // Segments that are overwritten completely are not read.
            self.load_segments(first..last, |key| key * segment < address || (key + 1) * segment > end)?;
            for key in first..last {
                let (from, to) = (at.max(key * segment), end.min((key + 1) * segment));
                let frame = self.frames.find(key).expect("it was loaded");
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

    /// Makes all writes durable and keeps the state for [`rollback`](Self::rollback), optionally under a name.
    ///
    /// # Errors
    /// If the name is taken or invalid, there is no space, the maximum number of tokens is live, or writing fails. Then
    /// the last sync remains the last, and the data written since stays in DRAM and can be synced by another call.
    pub fn sync(&mut self, name: Option<&str>) -> Result<Token, Error> {
        self.begin_call()?;
        self.finish()?;
        let token = self.engine.nvmm.next_token();
        self.record_name(token, name)?;
        self.write_back_all()?;
        match self.execute(Request::Sync, catalog::PAGE)? {
            Answer::Token(given) => {
                assert_eq!(given, token);
                self.engine.release(KEPT, RELEASED);
                Ok(given)
            }
            other => panic!("{other:?} is not an answer to a sync"),
        }
    }

    /// Makes all writes durable, like [`sync`](Self::sync), but keeps no token: a crash leads back to this state until
    /// the next sync, and then nothing does.
    ///
    /// # Errors
    /// If there is no space, or writing fails. Then the last sync remains the last, and the data written since stays
    /// in DRAM and can be synced by another call.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.begin_call()?;
        self.finish()?;
        self.record_name(self.engine.nvmm.next_token(), None)?;
        self.write_back_all()?;
        self.execute(Request::Flush, catalog::PAGE)?;
        self.engine.release(KEPT, RELEASED);
        Ok(())
    }

    /// Restores the state that `token` stands for. Newer data and tokens are lost.
    ///
    /// # Errors
    /// If the token is not live; then nothing changes.
    pub fn rollback(&mut self, token: Token) -> Result<(), Error> {
        self.begin_call()?;
        self.finish()?;
        let live = self.engine.nvmm.tokens().collect::<Vec<_>>();
        if !live.contains(&token) {
            return Err(Error::UnknownToken { token, newest: live.last().copied() });
        }
        let asked = self.execute(Request::Rollback { token }, catalog::PAGE);
        // If a full disk delays the rollback, it completes later, so the cached state is obsolete in either case.
        if asked.is_ok() || !self.unanswered.is_empty() {
            self.frames.clear();
        }
        (self.last_page, self.no_token_is_named) = (None, false);
        asked.map(|_| ())
    }

    /// Discards the state that `token` stands for; the space that only this state needs becomes free.
    ///
    /// # Errors
    /// If the token is not live, or earlier writes fail.
    pub fn drop_token(&mut self, token: Token) -> Result<(), Error> {
        self.begin_call()?;
        self.execute(Request::Drop { token }, catalog::PAGE).map(|_| ())
    }

    /// Returns the token that the next sync will return.
    pub fn next_token(&self) -> Token {
        self.engine.nvmm.next_token()
    }

    /// Collects garbage, and releases its space to the file system.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn compact(&mut self) -> Result<(), Error> {
        self.begin_call()?;
        self.finish()?;
        self.engine.nvmm.compact();
        // Any request starts the collection.
        self.execute(Request::Read { address: self.page_address(catalog::PAGE), segments: 1 }, catalog::PAGE)?;
        self.engine.drain(&mut self.frames).map_err(|stop| self.stopped(stop))?;
        self.engine.release_all();
        Ok(())
    }

    /// Discards everything written since the last sync, and closes the file.
    ///
    /// # Errors
    /// If the last writes fail.
    pub fn close(self) -> Result<(), Error> {
        self.close_device().map(drop)
    }

    /// Like [`close`](Self::close), and returns the device, for tests.
    #[doc(hidden)]
    pub fn close_device(mut self) -> Result<D, Error> {
        self.begin_call()?;
        self.finish()?;
        self.engine.drain(&mut self.frames).map_err(|stop| self.stopped(stop))?;
        self.engine.release(0, usize::MAX);
        self.engine.storage.settle().map_err(|stop| self.stopped(stop))?;
        Ok(self.into_device())
    }

    /// Returns the statistics.
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
