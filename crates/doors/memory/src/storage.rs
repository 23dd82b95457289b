//! The medium of the controller: performs its actions on a device.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use media::{BlockAddr, OpId, PageAddr, Status};

use crate::Plant;
use crate::device::{Device, Ended, Op, Request};
use crate::disk::Pool;
use crate::layout::{MARK, RECORDS, Shape, UNIT, mark, record};
use crate::sums::{Sums, sum};

/// Rows of neighbouring blocks that are read together: what is wanted in any order wants all of them soon.
const ROWS: u32 = 16;
/// Of a page whose checksum says so.
const UNWRITTEN: &str = "it was never written";

/// What a request of the device is for.
#[derive(Clone, Copy, Debug)]
enum Flight {
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
    /// Of so many blocks.
    LoadRows {
        first: u32,
        count: u32,
    },
    WriteRow,
    Mark,
    Flush {
        id: OpId,
    },
    Record {
        slot: usize,
    },
}

/// The end of an operation of the controller's.
#[derive(Debug)]
pub(crate) struct Finished {
    pub id: OpId,
    pub status: Status,
    /// Of a read: what was read.
    pub content: Option<direct::Aligned>,
}

/// Why nothing more ends.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The file system is full: what it refused is kept, and made again by [`Storage::retry`].
    Full(io::Error),
    /// Nobody knows what is in the file.
    Broken(String),
}

/// Blocks of pages with checksums, over a device.
pub struct Storage<D> {
    device: D,
    pub(crate) shape: Shape,
    /// The first blocks, which hold the controller's own state, are there twice: `copies` further a second time.
    own: u32,
    copies: u32,
    /// Programs of these whose one copy is written and not the other; whether one failed.
    halves: BTreeMap<u32, bool>,
    sums: Sums,
    flights: Vec<Flight>,
    free: Vec<u32>,
    pool: Pool,
    /// Reads that wait for a row.
    waiting: BTreeMap<u32, Vec<(OpId, u32)>>,
    finished: VecDeque<Finished>,
    /// A barrier whose rows are being written, and how many.
    barrier: Option<(OpId, u32)>,
    /// Refused for want of room.
    held: Vec<Request>,
    full: Option<io::Error>,
    records: [bool; 2],
    next_record: usize,
    /// Of readers beside.
    pub(crate) generation: u64,
    /// The next barrier begins another.
    revoke: bool,
    /// Somebody read beside when something was last flushed.
    pub(crate) watched: bool,
    broken: Option<String>,
    /// Why pages could not be read, newest last.
    pub(crate) complaint: String,
    /// Why one could not be read that was written, newest last.
    pub(crate) damage: String,
    pub(crate) plant: Plant,
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
            halves: BTreeMap::new(),
            shape,
            sums: Sums::new(shape.blocks + shape.own_blocks(), shape.block_segments),
            flights: Vec::new(),
            free: Vec::new(),
            pool: Pool::new(largest as usize),
            waiting: BTreeMap::new(),
            finished: VecDeque::new(),
            barrier: None,
            held: Vec::new(),
            full: None,
            records: [false; 2],
            next_record: 0,
            generation: 0,
            revoke: false,
            watched: false,
            broken: None,
            complaint: String::new(),
            damage: String::new(),
            plant: Plant::Nothing,
            read_bytes: 0,
            written_bytes: 0,
            flushes: 0,
        }
    }

    /// What is wrong with the file as far as it was read: what was written and cannot be read, if anything is.
    pub(crate) fn wrong(&self) -> String {
        if self.damage.is_empty() { self.complaint.clone() } else { self.damage.clone() }
    }

    /// The device.
    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    pub(crate) fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Gives up the device, with what is under way.
    pub(crate) fn into_device(self) -> D {
        self.device
    }

    /// The number of a page of a block, or of the block's copy.
    pub(crate) fn at(&self, block: u32, page: u32) -> u64 {
        u64::from(block % self.copies) * u64::from(self.shape.block_segments) + u64::from(page)
    }

    fn start(&mut self, flight: Flight, op: Op, offset: u64, bytes: u64, buffer: direct::Aligned) {
        let user = self.free.pop().unwrap_or_else(|| {
            self.flights.push(Flight::None);
            self.flights.len() as u32 - 1
        });
        self.flights[user as usize] = flight;
        match op {
            Op::Read => self.read_bytes += bytes,
            Op::Write => self.written_bytes += bytes,
            Op::Flush => self.flushes += 1,
        }
        self.device.start(Request { op, offset, bytes: bytes as usize, buffer, user: u64::from(user) });
    }

    /// Reads a page of a block; of the controller's own the copy, if need be.
    pub(crate) fn read(&mut self, id: OpId, at: PageAddr) {
        self.read_copy(id, at.block, at.page);
    }

    fn read_copy(&mut self, id: OpId, block: u32, page: u32) {
        match self.sums.get(block, page) {
            Some(0) => self.lost(id, block, page, UNWRITTEN),
            Some(_) => {
                let (offset, bytes) = (self.shape.page(block, page), u64::from(self.shape.segment_bytes));
                let buffer = self.pool.take();
                self.start(Flight::Read { id, block, page }, Op::Read, offset, bytes, buffer);
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
        self.start(Flight::LoadRows { first, count }, Op::Read, self.shape.row(first), bytes, buffer);
    }

    /// Rows were read, or not: who waits for one goes on.
    fn rows_loaded(&mut self, first: u32, count: u32, buffer: &[u8], result: &io::Result<()>) {
        if result.is_err() && count > 1 {
            // Which of them it is, is found by reading each that somebody wants by itself.
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
                    Err(error) => self.lost(id, block, page, &format!("its checksum cannot be read: {error}")),
                }
            }
        }
    }

    /// A page cannot be read: its copy is, if it has one.
    fn lost(&mut self, id: OpId, block: u32, page: u32, why: &str) {
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

    /// Writes a page of a block; `fill` says what.
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
        self.start(Flight::Program { id, twice }, Op::Write, offset, bytes, buffer);
    }

    /// A block holds nothing: so its row says. Nothing has to be done to the block itself.
    pub(crate) fn erase(&mut self, id: OpId, block: BlockAddr) {
        self.sums.clear(block.block);
        if block.block < self.own {
            self.sums.clear(block.block + self.copies);
        }
        self.finished.push_back(Finished { id, status: Status::Ok, content: None });
    }

    /// Rows and pages become durable.
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
            self.start(Flight::WriteRow, Op::Write, self.shape.row(block), bytes, buffer);
        }
        if std::mem::take(&mut self.revoke) {
            self.generation += 1;
            let mut buffer = self.pool.take();
            mark(self.generation, &mut buffer[..UNIT as usize]);
            rows += 1;
            self.start(Flight::Mark, Op::Write, MARK, UNIT, buffer);
        }
        self.barrier = Some((id, rows));
        self.flush_if_ready();
    }

    /// Readers beside lose what they read, once the next barrier has ended.
    pub(crate) fn revoke(&mut self) {
        self.revoke = true;
    }

    fn flush_if_ready(&mut self) {
        if let Some((id, 0)) = self.barrier {
            self.barrier = None;
            if self.plant == Plant::FlushSkipped {
                self.finished.push_back(Finished { id, status: Status::Ok, content: None });
                return;
            }
            let buffer = self.pool.take();
            self.start(Flight::Flush { id }, Op::Flush, 0, 0, buffer);
        }
    }

    /// Notes that a commit is durable, for whoever opens the file: what is missing of it then is damage, and not what a crash left.
    pub(crate) fn note_commit(&mut self, committed: (u64, u64)) {
        let slot = self.next_record;
        // The one before is still being written: it says less, and the other slot has one too.
        if self.records[slot] || self.broken.is_some() {
            return;
        }
        let mut buffer = self.pool.take();
        record(committed, &mut buffer[..UNIT as usize]);
        self.records[slot] = true;
        self.next_record = 1 - slot;
        self.start(Flight::Record { slot }, Op::Write, RECORDS[slot], UNIT, buffer);
    }

    /// `count` blocks from `first` on hold nothing any more: their space can be given back.
    pub(crate) fn release(&mut self, first: BlockAddr, count: u32) {
        let bytes = u64::from(count) * self.shape.block_bytes();
        self.device.release(self.shape.page(first.block, 0), bytes);
        if first.block < self.own {
            self.device.release(self.shape.page(first.block + self.copies, 0), bytes);
        }
    }

    /// Makes again what was refused for want of room.
    pub(crate) fn retry(&mut self) {
        self.full = None;
        for request in std::mem::take(&mut self.held) {
            self.device.start(request);
        }
    }

    /// The next end of an operation; waits for it.
    ///
    /// # Panics
    /// If nothing is under way and nothing is held.
    pub(crate) fn next(&mut self) -> Result<Finished, Stop> {
        loop {
            if let Some(why) = &self.broken {
                return Err(Stop::Broken(why.clone()));
            }
            if let Some(finished) = self.finished.pop_front() {
                return Ok(finished);
            }
            if !self.device.is_busy() {
                let full = self.full.as_ref().expect("something is under way, or held");
                return Err(Stop::Full(io::Error::new(full.kind(), full.to_string())));
            }
            match self.device.wait() {
                Ok(ended) => self.ended(ended),
                Err(error) => self.broken = Some(format!("the device failed: {error}")),
            }
        }
    }

    /// The end of an operation, if there is one without waiting.
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
                Ok(ended) => self.ended(ended),
                Err(error) => self.broken = Some(format!("the device failed: {error}")),
            }
        }
    }

    /// Waits for all that is under way, and flushes: what nobody waits for, such as the newest record.
    pub(crate) fn settle(&mut self) -> Result<(), Stop> {
        while self.device.is_busy() && self.broken.is_none() {
            match self.device.wait() {
                Ok(ended) => self.ended(ended),
                Err(error) => self.broken = Some(format!("the device failed: {error}")),
            }
        }
        let buffer = self.pool.take();
        let id = OpId(u32::MAX);
        self.start(Flight::Flush { id }, Op::Flush, 0, 0, buffer);
        self.next().map(|finished| assert_eq!(finished.id, id, "nothing else was under way"))
    }

    fn ended(&mut self, Ended { request, result }: Ended) {
        let user = request.user as usize;
        let flight = self.flights[user];
        let no_room =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match result {
            Err(error) if request.op == Op::Write && no_room(&error) && !matches!(flight, Flight::Record { .. }) => {
                self.full = Some(error);
                self.held.push(request);
            }
            result => {
                self.flights[user] = Flight::None;
                self.free.push(request.user as u32);
                self.over(flight, request.buffer, result);
            }
        }
    }

    fn over(&mut self, flight: Flight, buffer: direct::Aligned, result: io::Result<()>) {
        match (flight, result) {
            (Flight::None, _) => unreachable!("it was under way"),
            (Flight::Read { id, block, page }, result) => {
                let sum = sum(&buffer[..self.shape.segment_bytes as usize], self.at(block, page));
                let good = self.plant == Plant::SumUnchecked || self.sums.get(block, page) == Some(sum);
                match result {
                    Ok(()) if good => {
                        self.finished.push_back(Finished { id, status: Status::Ok, content: Some(buffer) });
                        return;
                    }
                    Ok(()) => self.lost(id, block, page, "its checksum does not match"),
                    Err(error) => self.lost(id, block, page, &error.to_string()),
                }
            }
            (Flight::Program { id, twice }, result) => {
                // Of two copies the first to end waits for the other.
                let failed = match twice.then(|| self.halves.remove(&id.0)) {
                    Some(None) => {
                        self.halves.insert(id.0, result.is_err());
                        self.pool.give(buffer);
                        return;
                    }
                    Some(Some(other)) => other || result.is_err(),
                    None => result.is_err(),
                };
                let status = if failed { Status::Failed } else { Status::Ok };
                self.finished.push_back(Finished { id, status, content: None });
            }
            (Flight::LoadRows { first, count }, result) => {
                // It is of another size than what is used again.
                return self.rows_loaded(first, count, &buffer, &result);
            }
            (Flight::WriteRow | Flight::Mark, Ok(())) => {
                let (_, rows) = self.barrier.as_mut().expect("rows are written for a barrier");
                *rows -= 1;
                self.flush_if_ready();
            }
            (Flight::Mark, Err(error)) => {
                self.broken = Some(format!("the readers' mark could not be written: {error}"))
            }
            (Flight::WriteRow, Err(error)) => self.broken = Some(format!("checksums could not be written: {error}")),
            (Flight::Flush { id }, Ok(())) => {
                self.watched = self.device.reader(self.generation, 1).is_some();
                self.finished.push_back(Finished { id, status: Status::Ok, content: None });
            }
            (Flight::Flush { .. }, Err(error)) => self.broken = Some(format!("the file could not be flushed: {error}")),
            // Without it damage is told from what a crash leaves less well, and nothing else.
            (Flight::Record { slot }, _) => self.records[slot] = false,
        }
        self.pool.give(buffer);
    }

    /// Takes back the memory of an end.
    pub(crate) fn give_back(&mut self, finished: Finished) {
        if let Some(buffer) = finished.content {
            self.pool.give(buffer);
        }
    }
}
