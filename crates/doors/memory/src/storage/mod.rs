//! The controller's medium: performs its actions on a device.

pub(crate) mod layout;
pub(crate) mod sums;

use std::collections::{BTreeMap, VecDeque};
use std::io;

use media::{BlockAddr, OpId, PageAddr, Status};

use crate::InjectedFault;
use crate::device::disk::Pool;
use crate::device::{Device, Ended, Op, Request};
use crate::storage::layout::{MARK, RECORDS, Shape, UNIT, mark, record};
use crate::storage::sums::{Sums, sum};

/// Number of neighboring checksum rows loaded together, since random access soon needs all of them.
const ROWS: u32 = 16;
/// Reason why a page without a checksum cannot be read.
const UNWRITTEN: &str = "it was never written";

/// The purpose of a device request.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    None,
    Read {
        id: OpId,
        block: u32,
        page: u32,
    },
    Program {
        id: OpId,
        twice: bool,
    },
    /// Loads the checksums of `count` blocks.
    LoadRows {
        first: u32,
        count: u32,
    },
    WriteRow,
    Mark,
    Flush {
        id: OpId,
    },
    Record,
}

/// A completed operation of the controller.
#[derive(Debug)]
pub(crate) struct Finished {
    pub id: OpId,
    pub status: Status,
    /// The data of a read.
    pub content: Option<direct::Aligned>,
}

/// Reason why no further operation completes.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The file system is full. Refused writes are kept, and [`Storage::retry`] repeats them.
    Full(io::Error),
    /// The content of the file is unknown.
    Broken(String),
}

/// Blocks of checksummed pages on a device.
pub struct Storage<D> {
    device: D,
    pub(crate) shape: Shape,
    /// The first `own` blocks hold the controller's own state and are stored twice, the second time `copies` blocks
    /// further.
    own: u32,
    copies: u32,
    /// Mirrored programs of which one copy is written; the value is whether it failed.
    half_written: BTreeMap<u32, bool>,
    sums: Sums,
    purposes: Vec<Purpose>,
    free: Vec<u32>,
    pool: Pool,
    /// Reads that wait for the checksum row of a block.
    waiting: BTreeMap<u32, Vec<(OpId, u32)>>,
    finished: VecDeque<Finished>,
    /// The barrier in progress, and the number of its row writes in flight.
    barrier: Option<(OpId, u32)>,
    /// Writes refused for lack of space.
    deferred: Vec<Request>,
    full: Option<io::Error>,
    /// A record of the newest commit is being written; the next flush waits for it.
    recording: bool,
    /// The slot of the next record: not that of the newest one.
    pub(crate) next_record: usize,
    /// The current generation of readers.
    pub(crate) generation: u64,
    /// The next barrier starts another generation.
    revoke: bool,
    /// Whether a reader was registered at the last flush.
    pub(crate) watched: bool,
    broken: Option<String>,
    /// Error of the last unreadable page.
    pub(crate) complaint: String,
    /// Error of the last unreadable page that had been written.
    pub(crate) damage: String,
    pub(crate) injected: sim::Injected<InjectedFault>,
    /// Bytes read and written.
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) flushes: u64,
}

impl<D: Device> Storage<D> {
    pub(crate) fn new(device: D, shape: Shape) -> Storage<D> {
        let largest = u64::from(shape.segment_bytes).max(shape.row_bytes()).max(UNIT);
        Storage {
            device,
            own: shape.own_blocks(),
            copies: shape.blocks,
            half_written: BTreeMap::new(),
            shape,
            sums: Sums::new(shape.blocks + shape.own_blocks(), shape.block_segments),
            purposes: Vec::new(),
            free: Vec::new(),
            pool: Pool::new(largest as usize),
            waiting: BTreeMap::new(),
            finished: VecDeque::new(),
            barrier: None,
            deferred: Vec::new(),
            full: None,
            recording: false,
            next_record: 0,
            generation: 0,
            revoke: false,
            watched: false,
            broken: None,
            complaint: String::new(),
            damage: String::new(),
            injected: sim::Injected::NONE,
            read_bytes: 0,
            written_bytes: 0,
            flushes: 0,
        }
    }

    /// Describes the damage found so far, preferring pages that had been written.
    pub(crate) fn describe_damage(&self) -> String {
        if self.damage.is_empty() { self.complaint.clone() } else { self.damage.clone() }
    }

    /// Returns the device.
    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    pub(crate) fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Returns the device, dropping requests in flight.
    pub(crate) fn into_device(self) -> D {
        self.device
    }

    /// Returns the number of a page, which is the same for both copies of a block.
    pub(crate) fn at(&self, block: u32, page: u32) -> u64 {
        u64::from(block % self.copies) * u64::from(self.shape.block_segments) + u64::from(page)
    }

    fn start(&mut self, purpose: Purpose, op: Op, offset: u64, bytes: u64, buffer: direct::Aligned) {
        let user = self.free.pop().unwrap_or_else(|| {
            self.purposes.push(Purpose::None);
            self.purposes.len() as u32 - 1
        });
        self.purposes[user as usize] = purpose;
        match op {
            Op::Read => self.read_bytes += bytes,
            Op::Write => self.written_bytes += bytes,
            Op::Flush => self.flushes += 1,
        }
        self.device.start(Request { op, offset, bytes: bytes as usize, buffer, user: u64::from(user) });
    }

    /// Reads a page; falls back to the copy in mirrored blocks.
    pub(crate) fn read(&mut self, id: OpId, at: PageAddr) {
        self.read_copy(id, at.block, at.page);
    }

    fn read_copy(&mut self, id: OpId, block: u32, page: u32) {
        match self.sums.get(block, page) {
            Some(0) => self.page_lost(id, block, page, UNWRITTEN),
            Some(_) => {
                let (offset, bytes) = (self.shape.page(block, page), u64::from(self.shape.segment_bytes));
                let buffer = self.pool.take();
                self.start(Purpose::Read { id, block, page }, Op::Read, offset, bytes, buffer);
            }
            None => {
                let waiting = self.waiting.entry(block).or_default();
                waiting.push((id, page));
                if waiting.len() == 1 {
                    let first = block / ROWS * ROWS;
                    self.load_rows(first, ROWS.min(self.sums.blocks() - first));
                }
            }
        }
    }

    fn load_rows(&mut self, first: u32, count: u32) {
        let bytes = u64::from(count) * self.shape.row_bytes();
        let buffer = direct::Aligned::new(bytes as usize);
        self.start(Purpose::LoadRows { first, count }, Op::Read, self.shape.row(first), bytes, buffer);
    }

    /// Handles the end of a row load: continues or fails the reads that wait for a row.
    fn rows_loaded(&mut self, first: u32, count: u32, buffer: &[u8], result: &io::Result<()>) {
        if result.is_err() && count > 1 {
            // Load each needed row separately to find out which are unreadable.
            let wanted: Vec<u32> = self.waiting.range(first..first + count).map(|(block, _)| *block).collect();
            return wanted.into_iter().for_each(|block| self.load_rows(block, 1));
        }
        let rows = buffer.chunks_exact(self.shape.row_bytes() as usize);
        for (block, row) in (first..first + count).zip(rows) {
            if result.is_ok() {
                self.sums.load(block, row);
            }
            for (id, page) in self.waiting.remove(&block).unwrap_or_default() {
                match result {
                    Ok(()) => self.read_copy(id, block, page),
                    Err(error) => self.page_lost(id, block, page, &format!("its checksum cannot be read: {error}")),
                }
            }
        }
    }

    /// Handles an unreadable page: reads its copy if there is one, and fails the read otherwise.
    fn page_lost(&mut self, id: OpId, block: u32, page: u32, why: &str) {
        let complaint = format!("block {}, page {page}: {why}", block % self.copies);
        if why != UNWRITTEN {
            self.damage.clone_from(&complaint);
        }
        if block < self.own {
            return self.read_copy(id, block + self.copies, page);
        }
        self.complaint = complaint;
        self.finished.push_back(Finished { id, status: Status::Uncorrectable, content: None });
    }

    /// Writes a page with the content that `fill` produces.
    pub(crate) fn program(&mut self, id: OpId, at: PageAddr, fill: impl FnOnce(&mut [u8])) {
        let (block, page, bytes) = (at.block, at.page, self.shape.segment_bytes as usize);
        let mut buffer = self.pool.take();
        fill(&mut buffer[..bytes]);
        let (sum, twice) = (sum(&buffer[..bytes], self.at(block, page)), block < self.own);
        if twice {
            let mut copy = self.pool.take();
            copy[..bytes].copy_from_slice(&buffer[..bytes]);
            self.write_page(id, block + self.copies, page, sum, twice, copy);
        }
        self.write_page(id, block, page, sum, twice, buffer);
    }

    fn write_page(&mut self, id: OpId, block: u32, page: u32, sum: u64, twice: bool, buffer: direct::Aligned) {
        self.sums.set(block, page, sum);
        let (offset, bytes) = (self.shape.page(block, page), u64::from(self.shape.segment_bytes));
        self.start(Purpose::Program { id, twice }, Op::Write, offset, bytes, buffer);
    }

    /// Erases a block by clearing its checksum row; the block itself needs no I/O.
    pub(crate) fn erase(&mut self, id: OpId, block: BlockAddr) {
        self.sums.clear(block.block);
        if block.block < self.own {
            self.sums.clear(block.block + self.copies);
        }
        self.finished.push_back(Finished { id, status: Status::Ok, content: None });
    }

    /// Makes all preceding writes durable, with their checksum rows.
    pub(crate) fn barrier(&mut self, id: OpId) {
        assert!(self.barrier.is_none(), "one barrier at a time");
        let mut rows = 0;
        loop {
            let mut buffer = self.pool.take();
            let bytes = self.shape.row_bytes();
            let Some(block) = self.sums.take_dirty(&mut buffer[..bytes as usize]) else {
                self.pool.give(buffer);
                break;
            };
            rows += 1;
            self.start(Purpose::WriteRow, Op::Write, self.shape.row(block), bytes, buffer);
        }
        if std::mem::take(&mut self.revoke) {
            self.generation += 1;
            let mut buffer = self.pool.take();
            mark(self.generation, &mut buffer[..UNIT as usize]);
            rows += 1;
            self.start(Purpose::Mark, Op::Write, MARK, UNIT, buffer);
        }
        self.barrier = Some((id, rows));
        self.flush_if_ready();
    }

    /// Invalidates concurrent readers once the next barrier has completed.
    pub(crate) fn revoke(&mut self) {
        self.revoke = true;
    }

    /// Injects a fault.
    #[cfg(feature = "injected-faults")]
    pub(crate) fn inject(&mut self, fault: InjectedFault) {
        self.injected.inject((fault != InjectedFault::None).then_some(fault));
    }

    fn flush_if_ready(&mut self) {
        if let Some((id, 0)) = self.barrier
            && !self.recording
        {
            self.barrier = None;
            if self.injected.is(InjectedFault::FlushSkipped) {
                self.finished.push_back(Finished { id, status: Status::Ok, content: None });
                return;
            }
            let buffer = self.pool.take();
            self.start(Purpose::Flush { id }, Op::Flush, 0, 0, buffer);
        }
    }

    /// Records that a commit is durable. If the next opener does not find it, the file is damaged rather than left so
    /// by a crash. The next barrier makes the record durable, so before a later commit begins to write its pages.
    pub(crate) fn note_commit(&mut self, committed: (u64, u64)) {
        assert!(!self.recording, "a commit ends behind a barrier, which waits for the previous record");
        if self.broken.is_some() {
            return;
        }
        let mut buffer = self.pool.take();
        record(committed, &mut buffer[..UNIT as usize]);
        let slot = self.next_record;
        (self.recording, self.next_record) = (true, 1 - slot);
        self.start(Purpose::Record, Op::Write, RECORDS[slot], UNIT, buffer);
    }

    /// Releases the space of `count` empty blocks starting at `first`.
    pub(crate) fn release(&mut self, first: BlockAddr, count: u32) {
        let bytes = u64::from(count) * self.shape.block_bytes();
        self.device.release(self.shape.page(first.block, 0), bytes);
        if first.block < self.own {
            self.device.release(self.shape.page(first.block + self.copies, 0), bytes);
        }
    }

    /// Retries the writes that were refused for lack of space.
    pub(crate) fn retry(&mut self) {
        self.full = None;
        for request in std::mem::take(&mut self.deferred) {
            self.device.start(request);
        }
    }

    /// Returns the next completed operation, waiting for it if necessary.
    ///
    /// # Panics
    /// If no operation is in flight or deferred.
    pub(crate) fn next(&mut self) -> Result<Finished, Stop> {
        loop {
            if let Some(why) = &self.broken {
                return Err(Stop::Broken(why.clone()));
            }
            if let Some(finished) = self.finished.pop_front() {
                return Ok(finished);
            }
            if !self.device.is_busy() {
                let full = self.full.as_ref().expect("an operation is in flight or deferred");
                return Err(Stop::Full(io::Error::new(full.kind(), full.to_string())));
            }
            match self.device.wait() {
                Ok(ended) => self.request_ended(ended),
                Err(error) => self.broken = Some(format!("the device failed: {error}")),
            }
        }
    }

    /// Returns the next completed operation, if there is one, without waiting.
    pub(crate) fn try_next(&mut self) -> Result<Option<Finished>, Stop> {
        loop {
            if let Some(why) = &self.broken {
                return Err(Stop::Broken(why.clone()));
            }
            if let Some(finished) = self.finished.pop_front() {
                return Ok(Some(finished));
            }
            if !self.device.is_ready() {
                return Ok(None);
            }
            match self.device.wait() {
                Ok(ended) => self.request_ended(ended),
                Err(error) => self.broken = Some(format!("the device failed: {error}")),
            }
        }
    }

    /// Waits for all requests in flight, including those that no operation waits for, such as the newest record.
    pub(crate) fn wait_all(&mut self) -> Result<(), Stop> {
        while self.broken.is_none() && self.device.is_busy() {
            match self.device.wait() {
                Ok(ended) => self.request_ended(ended),
                Err(error) => self.broken = Some(format!("the device failed: {error}")),
            }
        }
        self.broken.as_ref().map_or(Ok(()), |why| Err(Stop::Broken(why.clone())))
    }

    /// Waits for all requests in flight, then flushes.
    pub(crate) fn settle(&mut self) -> Result<(), Stop> {
        self.wait_all()?;
        let buffer = self.pool.take();
        let id = OpId(u32::MAX);
        self.start(Purpose::Flush { id }, Op::Flush, 0, 0, buffer);
        self.next().map(|finished| assert_eq!(finished.id, id, "no other operation was in flight"))
    }

    fn request_ended(&mut self, Ended { request, result }: Ended) {
        let user = request.user as usize;
        let purpose = self.purposes[user];
        let no_room =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match result {
            Err(error) if request.op == Op::Write && no_room(&error) && !matches!(purpose, Purpose::Record) => {
                self.full = Some(error);
                self.deferred.push(request);
            }
            result => {
                self.purposes[user] = Purpose::None;
                self.free.push(request.user as u32);
                self.complete(purpose, request.buffer, result);
            }
        }
    }

    fn complete(&mut self, purpose: Purpose, buffer: direct::Aligned, result: io::Result<()>) {
        match (purpose, result) {
            (Purpose::None, _) => unreachable!("completion of an unused request"),
            (Purpose::Read { id, block, page }, result) => {
                let sum = sum(&buffer[..self.shape.segment_bytes as usize], self.at(block, page));
                let good = self.injected.is(InjectedFault::ChecksumIgnored) || self.sums.get(block, page) == Some(sum);
                match result {
                    Ok(()) if good => {
                        self.finished.push_back(Finished { id, status: Status::Ok, content: Some(buffer) });
                        return;
                    }
                    Ok(()) => self.page_lost(id, block, page, "its checksum does not match"),
                    Err(error) => self.page_lost(id, block, page, &error.to_string()),
                }
            }
            (Purpose::Program { id, twice }, result) => {
                // The first of two copies to complete waits for the other.
                let failed = match twice.then(|| self.half_written.remove(&id.0)) {
                    Some(None) => {
                        self.half_written.insert(id.0, result.is_err());
                        self.pool.give(buffer);
                        return;
                    }
                    Some(Some(other)) => other || result.is_err(),
                    None => result.is_err(),
                };
                let status = if failed { Status::Failed } else { Status::Ok };
                self.finished.push_back(Finished { id, status, content: None });
            }
            (Purpose::LoadRows { first, count }, result) => {
                // The buffer has a different size than the pooled ones.
                return self.rows_loaded(first, count, &buffer, &result);
            }
            (Purpose::WriteRow | Purpose::Mark, Ok(())) => {
                let (_, rows) = self.barrier.as_mut().expect("rows are written for a barrier");
                *rows -= 1;
                self.flush_if_ready();
            }
            (Purpose::Mark, Err(error)) => {
                self.broken = Some(format!("the readers' mark could not be written: {error}"))
            }
            (Purpose::WriteRow, Err(error)) => self.broken = Some(format!("checksums could not be written: {error}")),
            (Purpose::Flush { id }, Ok(())) => {
                self.watched = self.device.reader(self.generation, 1).is_some();
                self.finished.push_back(Finished { id, status: Status::Ok, content: None });
            }
            (Purpose::Flush { .. }, Err(error)) => {
                self.broken = Some(format!("the file could not be flushed: {error}"))
            }
            // A missing record only makes it harder to tell damage from the effects of a crash.
            (Purpose::Record, _) => {
                self.recording = false;
                self.flush_if_ready();
            }
        }
        self.pool.give(buffer);
    }

    /// Returns the buffer of a completed operation to the pool.
    pub(crate) fn give_back(&mut self, finished: Finished) {
        if let Some(buffer) = finished.content {
            self.pool.give(buffer);
        }
    }
}
