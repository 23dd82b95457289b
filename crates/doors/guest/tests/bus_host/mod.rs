//! A driver at the registers of a shared buffer, made of the host's side of the protocol.

#![allow(dead_code)]

use std::sync::Arc;

use guest::bus_registers as registers;
use guest::{Drive, Options, PlainBuffer, Ram};
use shared_buffer::{Command, Completion, Extents, HostQueue, Identity, Layout, Opcode, Region, SECTOR, Status};
use sim::Time;
use system::System;

/// A small drive of two queue pairs.
pub const SMALL: [(&str, &str); 5] = [
    ("flash.blocks", "40"),
    ("flash.pages", "64"),
    ("ftl.capacity", "64MiB"),
    ("host.queue_pairs", "2"),
    ("link.data_buffer", "256KiB"),
];

/// Loads `drambus` with changes.
pub fn system(sets: &[(&str, &str)]) -> System {
    System::load("drambus", sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Driver and drive.
pub struct Host {
    pub drive: Drive,
    pub buffer: Arc<PlainBuffer>,
    pub layout: Layout,
    pub queues: Vec<HostQueue>,
    pub now: Time,
    /// Vectors raised.
    pub raised: Vec<u16>,
}

impl Host {
    /// Attaches to a new drive.
    pub fn new(sets: &[(&str, &str)]) -> Host {
        let ram = Ram::new(0);
        let options = Options::default();
        let drive = Drive::new(&system(sets), &options, Box::new(ram.clone())).unwrap_or_else(|e| panic!("{e}"));
        let buffer = ram.buffer().expect("the drive creates its buffer");
        Host::over(drive, buffer, Time::ZERO)
    }

    /// Attaches to a drive after a reset.
    pub fn over(drive: Drive, buffer: Arc<PlainBuffer>, now: Time) -> Host {
        let layout = Layout::read(&*buffer).unwrap_or_else(|error| panic!("{error}"));
        let queues = (0..layout.config().queue_pairs).map(|pair| HostQueue::new(&layout, pair)).collect();
        Host { drive, buffer, layout, queues, now, raised: Vec::new() }
    }

    pub fn read32(&mut self, offset: u64) -> u32 {
        let mut word = [0; 4];
        self.drive.read(self.now, offset, &mut word);
        u32::from_le_bytes(word)
    }

    pub fn read64(&mut self, offset: u64) -> u64 {
        let mut word = [0; 8];
        self.drive.read(self.now, offset, &mut word);
        u64::from_le_bytes(word)
    }

    pub fn write32(&mut self, offset: u64, value: u32) {
        self.drive.write(self.now, offset, &value.to_le_bytes());
    }

    /// Resets the device and attaches again.
    pub fn reset(mut self) -> Host {
        self.write32(registers::CONTROL, registers::RESET);
        self.drive.take_interrupts();
        Host::over(self.drive, self.buffer, self.now)
    }

    /// Writes a command's entry.
    pub fn submit(&mut self, pair: u16, command: &Command) {
        let submitted = self.queues[usize::from(pair)].submit(&*self.buffer, command, 0);
        submitted.unwrap_or_else(|error| panic!("{error}"));
    }

    pub fn ring(&mut self, pair: u16) {
        self.write32(registers::DOORBELLS + 4 * u64::from(pair), 0);
    }

    /// Lets time pass to the drive's next event. Returns false if it has none.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.drive.next_event() else { return false };
        self.now = self.now.max(next);
        self.drive.advance(self.now);
        self.raised.extend(self.drive.take_interrupts());
        true
    }

    /// Lets time pass until the pair has raised its interrupt.
    pub fn wait(&mut self, pair: u16) {
        while !self.raised.contains(&pair) {
            assert!(self.step(), "pair {pair} raises no interrupt");
        }
        self.raised.retain(|vector| *vector != pair);
    }

    /// Takes a completion.
    pub fn take(&mut self, pair: u16) -> Option<Completion> {
        let queue = &mut self.queues[usize::from(pair)];
        let taken = queue.take(&*self.buffer).unwrap_or_else(|fault| panic!("{fault}"));
        queue.acknowledge(&*self.buffer);
        taken
    }

    /// Runs a command alone. Returns its status and the time from the doorbell to the interrupt.
    pub fn run(&mut self, pair: u16, command: &Command) -> (Status, Time) {
        let begin = self.now;
        self.submit(pair, command);
        self.ring(pair);
        self.wait(pair);
        (self.take(pair).expect("a completion").status, self.now - begin)
    }

    pub fn identify(&mut self) -> Identity {
        let command = Command::new(Opcode::Identify, 0, 1, Extents::one(3, 1));
        assert_eq!(self.run(0, &command).0, Status::Success);
        let mut sector = [0; SECTOR];
        self.buffer.read(self.layout.db_sector(3), &mut sector);
        Identity::decode(&sector)
    }

    /// Writes whole sectors through the place `at` of the data buffer.
    pub fn write(&mut self, start: u64, data: &[u8], at: u32, fua: bool) -> (Status, Time) {
        let sectors = (data.len() / SECTOR) as u32;
        self.buffer.write(self.layout.db_sector(at), data);
        let command = Command { fua, ..Command::new(Opcode::Write, start, sectors, Extents::one(at, sectors)) };
        self.run(0, &command)
    }

    /// Reads whole sectors through the place `at` of the data buffer.
    pub fn read(&mut self, start: u64, sectors: u32, at: u32) -> (Status, Vec<u8>, Time) {
        let command = Command::new(Opcode::Read, start, sectors, Extents::one(at, sectors));
        let (status, time) = self.run(0, &command);
        let mut data = vec![0; sectors as usize * SECTOR];
        self.buffer.read(self.layout.db_sector(at), &mut data);
        (status, data, time)
    }
}

/// Returns `sectors` sectors that depend on `seed`.
pub fn pattern(seed: u32, sectors: u32) -> Vec<u8> {
    let bytes = sectors * SECTOR as u32;
    (0..bytes).map(|i| (seed.wrapping_mul(0x9e37_79b9).wrapping_add(i.wrapping_mul(0x85eb_ca6b)) >> 16) as u8).collect()
}
