//! A drive as plain blocks, for a program without a driver of its own: a minimal driver in the same process, with one
//! queue pair and one command at a time. The drive's time passes only as far as its commands need it.

use sim::Time;

use crate::entry::opcode;
use crate::memory::{GuestMemory, Ram};
use crate::{Drive, DriveError, pci};

/// Bytes of a block of the drive's only namespace, and of a memory page.
const BLOCK: u64 = 512;
const PAGE: u64 = 4096;
/// Entries of each queue.
const ENTRIES: u32 = 4;
/// The driver's memory: submission and completion queues of both pairs, a list of pages or ranges, and data.
const QUEUES: [[u64; 2]; 2] = [[0x0000, 0x1000], [0x2000, 0x3000]];
const LIST: u64 = 0x4000;
const DATA: u64 = 0x1_0000;
/// Maximum bytes of a command with data. Assumed: Linux sends up to 128 KiB to most drives.
const TRANSFER: u64 = 128 << 10;
/// Blocks per Write Zeroes command, and per range of Dataset Management here.
const ZEROES: u64 = 1 << 16;
/// The time after which a command that has not completed never will. Assumed: a sanitize takes seconds.
const PATIENCE: Time = Time::from_ms(600_000);

/// Opcodes of the admin commands that the driver sends.
const IDENTIFY: u8 = 0x06;
const CREATE_COMPLETION_QUEUE: u8 = 0x05;
const CREATE_SUBMISSION_QUEUE: u8 = 0x01;

/// Reasons why blocks cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The range is not in the drive.
    #[error("{bytes} bytes at {offset} are beyond the drive's end")]
    Range {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// The drive failed the command with this status (type and code).
    #[error("the drive failed a command with status {0:#05x}")]
    Status(u16),
}

impl BlockError {
    /// The status of a drive without space for writes: Capacity Exceeded.
    pub const NO_SPACE: u16 = 0x081;
}

/// A drive with its driver.
pub struct Blocks {
    drive: Drive,
    ram: Ram,
    now: Time,
    /// Tail, head and phase of the queue pairs.
    tails: [u32; 2],
    heads: [u32; 2],
    phases: [u16; 2],
    bytes: u64,
    transfer: u64,
}

/// A command: opcode, data pointer, and dwords 10 to 12.
struct SubmissionEntry {
    opcode: u8,
    pointer: [u64; 2],
    dwords: [u32; 3],
}

impl Blocks {
    /// Attaches to the drive that `create` makes for the memory it is given.
    ///
    /// # Errors
    /// Fails with the error of `create`, or if the drive is no NVMe drive.
    ///
    /// # Panics
    /// Panics if the drive refuses what every drive accepts.
    pub fn new<E: From<DriveError>>(
        create: impl FnOnce(Box<dyn GuestMemory>) -> Result<Drive, E>,
    ) -> Result<Blocks, E> {
        let ram = Ram::new((DATA + TRANSFER) as usize);
        let drive = create(Box::new(ram.clone()))?;
        if drive.function() != pci::Function::NVME {
            return Err(DriveError::NoNvme.into());
        }
        if drive.has_zones() {
            return Err(DriveError::Zones.into());
        }
        let mut blocks = Blocks {
            drive,
            ram,
            now: Time::ZERO,
            tails: [0; 2],
            heads: [0; 2],
            phases: [1; 2],
            bytes: 0,
            transfer: TRANSFER,
        };
        blocks.attach().unwrap_or_else(|error| panic!("the drive does not attach: {error}"));
        Ok(blocks)
    }

    /// Returns the drive's size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the drive and its time.
    pub fn drive(&mut self) -> (&mut Drive, Time) {
        (&mut self.drive, self.now)
    }

    /// Reads `to.len()` bytes at `offset`.
    ///
    /// # Errors
    /// Fails if the range is not in the drive, or flash cannot be read.
    pub fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), BlockError> {
        self.check(offset, to.len() as u64)?;
        let (mut at, mut left) = (offset, to);
        while !left.is_empty() {
            let (first, within) = (at / BLOCK, at % BLOCK);
            let count = (left.len() as u64).min(self.transfer - within);
            self.transfer(opcode::READ, first, (within + count).div_ceil(BLOCK))?;
            let (now, later) = left.split_at_mut(count as usize);
            self.ram.read(DATA + within, now).expect("the driver's memory");
            (at, left) = (at + count, later);
        }
        Ok(())
    }

    /// Writes `from` at `offset`. Blocks that it covers only in part are read first.
    ///
    /// # Errors
    /// Fails if the range is not in the drive, or the drive cannot be read or written.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), BlockError> {
        self.check(offset, from.len() as u64)?;
        let (mut at, mut left) = (offset, from);
        while !left.is_empty() {
            let (first, within) = (at / BLOCK, at % BLOCK);
            let room = if within > 0 { BLOCK - within } else { self.transfer };
            let count = match (left.len() as u64).min(room) {
                count if count > BLOCK => count / BLOCK * BLOCK,
                count => count,
            };
            if count < BLOCK {
                self.transfer(opcode::READ, first, 1)?;
            }
            let (now, later) = left.split_at(count as usize);
            self.ram.write(DATA + within, now).expect("the driver's memory");
            self.transfer(opcode::WRITE, first, count.div_ceil(BLOCK))?;
            (at, left) = (at + count, later);
        }
        Ok(())
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// Fails if the drive cannot be written.
    pub fn flush(&mut self) -> Result<(), BlockError> {
        self.run(1, &SubmissionEntry { opcode: opcode::FLUSH, pointer: [0; 2], dwords: [0; 3] })
    }

    /// Makes `bytes` bytes at `offset` read as zeros.
    ///
    /// # Errors
    /// Fails like [`write`](Self::write).
    pub fn zero(&mut self, offset: u64, bytes: u64) -> Result<(), BlockError> {
        self.check(offset, bytes)?;
        let (first, end) = (offset.next_multiple_of(BLOCK), (offset + bytes) / BLOCK * BLOCK);
        if end <= first {
            return self.write(offset, &vec![0; bytes as usize]);
        }
        self.write(offset, &vec![0; (first - offset) as usize])?;
        self.write(end, &vec![0; (offset + bytes - end) as usize])?;
        self.over(first / BLOCK, end / BLOCK, |blocks, first, count| {
            let dwords = [first as u32, (first >> 32) as u32, count as u32 - 1];
            blocks.run(1, &SubmissionEntry { opcode: opcode::WRITE_ZEROES, pointer: [0; 2], dwords })
        })
    }

    /// Deallocates the whole blocks among `bytes` bytes at `offset`, which then read as zeros or unchanged.
    ///
    /// # Errors
    /// Fails if the range is not in the drive, or the drive cannot be written.
    pub fn trim(&mut self, offset: u64, bytes: u64) -> Result<(), BlockError> {
        self.check(offset, bytes)?;
        self.over(offset.div_ceil(BLOCK), (offset + bytes) / BLOCK, |blocks, first, count| {
            let range = [&[0; 4][..], &(count as u32).to_le_bytes(), &first.to_le_bytes()].concat();
            blocks.ram.write(LIST, &range).expect("the driver's memory");
            // One range, to be deallocated.
            let (opcode, dwords) = (opcode::DATASET_MANAGEMENT, [0, 4, 0]);
            blocks.run(1, &SubmissionEntry { opcode, pointer: [LIST, 0], dwords })
        })
    }

    /// Returns the parts of `bytes` bytes at `offset`: for each its bytes, and whether it is a hole, which reads as zeros
    /// because the drive's map has no location for it. Neighbors differ.
    ///
    /// # Errors
    /// Fails if the range is not in the drive.
    pub fn extents(&self, offset: u64, bytes: u64) -> Result<Vec<(u64, bool)>, BlockError> {
        self.check(offset, bytes)?;
        let (unit, layer) = (u64::from(self.drive.unit_bytes()), self.drive.machine().ftl().pages());
        let mut found: Vec<(u64, bool)> = Vec::new();
        let mut at = offset;
        while at < offset + bytes {
            let end = (at / unit * unit + unit).min(offset + bytes);
            let is_hole = !layer.is_mapped((at / unit) as u32);
            match found.last_mut() {
                Some((length, last)) if *last == is_hole => *length += end - at,
                _ => found.push((end - at, is_hole)),
            }
            at = end;
        }
        Ok(found)
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<(), BlockError> {
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        if is_inside { Ok(()) } else { Err(BlockError::Range { offset, bytes }) }
    }

    /// Calls `act` with first block and count for each part of the blocks from `first` to `end`.
    fn over(
        &mut self,
        mut first: u64,
        end: u64,
        act: impl Fn(&mut Blocks, u64, u64) -> Result<(), BlockError>,
    ) -> Result<(), BlockError> {
        while first < end {
            let count = (end - first).min(ZEROES);
            act(self, first, count)?;
            first += count;
        }
        Ok(())
    }

    /// Transfers `count` blocks from `first` on between the drive and `DATA`.
    fn transfer(&mut self, opcode: u8, first: u64, count: u64) -> Result<(), BlockError> {
        let pages = (count * BLOCK).div_ceil(PAGE);
        let second = match pages {
            1 => 0,
            2 => DATA + PAGE,
            _ => {
                let list: Vec<u8> = (1..pages).flat_map(|page| (DATA + page * PAGE).to_le_bytes()).collect();
                self.ram.write(LIST, &list).expect("the driver's memory");
                LIST
            }
        };
        let dwords = [first as u32, (first >> 32) as u32, count as u32 - 1];
        self.run(1, &SubmissionEntry { opcode, pointer: [DATA, second], dwords })
    }

    /// Enables the controller and creates the queues.
    fn attach(&mut self) -> Result<(), BlockError> {
        let [[submission, completion], io] = QUEUES;
        self.write_register(0x24, u64::from((ENTRIES - 1) | (ENTRIES - 1) << 16), 4);
        self.write_register(0x28, submission, 8);
        self.write_register(0x30, completion, 8);
        // CC: enabled, entries of 64 and 16 bytes.
        self.write_register(0x14, 1 | 6 << 16 | 4 << 20, 4);
        while self.read_register(0x1c) & 1 == 0 {
            self.now += Time::from_us(100);
            self.drive.advance(self.now);
        }
        let identify = |what: u32| SubmissionEntry { opcode: IDENTIFY, pointer: [DATA, 0], dwords: [what, 0, 0] };
        self.run(0, &identify(1))?;
        let mut found = [0; PAGE as usize];
        self.ram.read(DATA, &mut found).expect("the driver's memory");
        // MDTS, in memory pages as a power of two; 0 for no limit.
        if let limit @ 1..=5 = found[77] {
            self.transfer = PAGE << limit;
        }
        self.run(0, &identify(0))?;
        self.ram.read(DATA, &mut found).expect("the driver's memory");
        self.bytes = u64::from_le_bytes(std::array::from_fn(|i| found[i])) * BLOCK;
        let size = 1 | (ENTRIES - 1) << 16;
        let create =
            |opcode, at, attributes| SubmissionEntry { opcode, pointer: [at, 0], dwords: [size, attributes, 0] };
        self.run(0, &create(CREATE_COMPLETION_QUEUE, io[1], 1))?;
        self.run(0, &create(CREATE_SUBMISSION_QUEUE, io[0], 1 | 1 << 16))
    }

    fn write_register(&mut self, offset: u64, value: u64, bytes: usize) {
        self.drive.write(self.now, offset, &value.to_le_bytes()[..bytes]);
    }

    fn read_register(&mut self, offset: u64) -> u32 {
        let mut word = [0; 4];
        self.drive.read(self.now, offset, &mut word);
        u32::from_le_bytes(word)
    }

    /// Runs a command on queue pair `queue` to its end.
    fn run(&mut self, queue: usize, command: &SubmissionEntry) -> Result<(), BlockError> {
        let [submission, completion] = QUEUES[queue];
        let mut entry = [0; 64];
        entry[0] = command.opcode;
        entry[4] = 1;
        for (at, value) in [24, 32].into_iter().zip(command.pointer) {
            entry[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        for (at, value) in [40, 44, 48].into_iter().zip(command.dwords) {
            entry[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        self.ram.write(submission + u64::from(self.tails[queue]) * 64, &entry).expect("the driver's memory");
        self.tails[queue] = (self.tails[queue] + 1) % ENTRIES;
        self.write_register(0x1000 + 8 * queue as u64, u64::from(self.tails[queue]), 4);
        let at = completion + u64::from(self.heads[queue]) * 16;
        let status = self.wait(at + 14, self.phases[queue]);
        self.heads[queue] = (self.heads[queue] + 1) % ENTRIES;
        self.phases[queue] ^= u16::from(self.heads[queue] == 0);
        self.write_register(0x1004 + 8 * queue as u64, u64::from(self.heads[queue]), 4);
        // Without Do Not Retry and the phase.
        match status >> 1 & 0x7ff {
            0 => Ok(()),
            status => Err(BlockError::Status(status)),
        }
    }

    /// Lets time pass until the status at `address` has `phase`. Returns it.
    fn wait(&mut self, address: u64, phase: u16) -> u16 {
        let end = self.now + PATIENCE;
        loop {
            let mut status = [0; 2];
            self.ram.read(address, &mut status).expect("the driver's memory");
            let status = u16::from_le_bytes(status);
            if status & 1 == phase {
                return status;
            }
            let next = self.drive.next_event().filter(|next| *next < end);
            let next = next.unwrap_or_else(|| panic!("a command at {} does not complete", self.now));
            self.now = self.now.max(next);
            self.drive.advance(self.now);
        }
    }
}
