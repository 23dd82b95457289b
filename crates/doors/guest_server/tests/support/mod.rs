//! A small NVMe driver over the client side of vfio-user, with memory in a memfd.

#![allow(dead_code)]

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread::JoinHandle;

use guest::{Drive, Options};
use guest_server::{ClockKind, Mappings, Service, ServiceError, Stop};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::time::Timespec;
use system::System;
use vfio_user::Client;

/// Bytes of guest memory.
pub const MEMORY: u64 = 16 << 20;
/// Where the driver keeps things.
const SQ: [u64; 2] = [0x1000, 0x3000];
const CQ: [u64; 2] = [0x2000, 0x4000];
pub const DATA: u64 = 0x10_000;
const ENTRIES: u32 = 32;
/// `VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER`, and the index of MSI-X.
pub const ASSIGN: u32 = 1 << 2 | 1 << 5;
pub const MSIX: u32 = 2;

/// A small drive.
pub fn small() -> System {
    let sets = [
        ("flash.channels", "2"),
        ("flash.chips", "2"),
        ("flash.dies", "1"),
        ("flash.blocks", "40"),
        ("flash.pages", "64"),
        ("ftl.over_provisioning", "0.4"),
        ("ftl.gc.start", "3"),
        ("host.max_transfer", "64KiB"),
        ("device.write_cache.size", "1MiB"),
    ];
    System::from_toml("drive", "title = \"drive\"", &sets).unwrap_or_else(|error| panic!("{error}"))
}

/// A served drive.
pub struct Server {
    pub socket: PathBuf,
    pub channel: PathBuf,
    pub handle: Stop,
    thread: JoinHandle<Result<(), ServiceError>>,
}

impl Server {
    /// Serves a small drive; `name` distinguishes the tests of this process.
    pub fn start(name: &str, is_virtual: bool) -> Server {
        Server::of(&small(), name, is_virtual)
    }

    /// Serves the drive of a system.
    pub fn of(system: &System, name: &str, is_virtual: bool) -> Server {
        let memory = Mappings::default();
        let drive = Drive::new(system, &Options::default(), Box::new(memory.clone())).expect("a drive");
        Server::over(drive, memory, name, is_virtual)
    }

    /// Serves `drive`, which was made with `memory`.
    pub fn over(drive: Drive, memory: Mappings, name: &str, is_virtual: bool) -> Server {
        let path = |kind: &str| std::env::temp_dir().join(format!("nandram-{}-{name}.{kind}", std::process::id()));
        let (socket, channel) = (path("socket"), path("channel"));
        let clock = if is_virtual { ClockKind::Virtual(channel.clone()) } else { ClockKind::Real(1) };
        let service = Service::listen(&socket, &clock, memory, drive).expect("a socket");
        let handle = service.handle();
        let thread = std::thread::spawn(move || service.run());
        Server { socket, channel, handle, thread }
    }

    /// Waits for the end, after the client has disconnected.
    pub fn end(self) -> Result<(), ServiceError> {
        let result = self.thread.join().expect("no panic");
        assert!(!self.socket.exists() && !self.channel.exists(), "the server removes its files");
        result
    }
}

/// A way to the registers that is not the client's.
pub trait Registers {
    fn read(&mut self, offset: u64, to: &mut [u8]);
    fn write(&mut self, offset: u64, from: &[u8]);
}

/// The driver.
pub struct Driver {
    pub client: Client,
    /// `None` for the client's.
    pub registers: Option<Box<dyn Registers>>,
    pub ram: File,
    pub events: Vec<File>,
    tails: [u32; 2],
    heads: [u32; 2],
    phases: [u16; 2],
}

impl Driver {
    /// Connects, and maps memory and interrupts.
    pub fn connect(server: &Server) -> Driver {
        let mut client = Client::new(&server.socket).expect("a server");
        let ram = File::from(memfd_create("ram", MemfdFlags::CLOEXEC).expect("memory"));
        ram.set_len(MEMORY).expect("a size");
        client.dma_map(0, 0, MEMORY, ram.as_raw_fd()).expect("a mapping");
        let event = || File::from(eventfd(0, EventfdFlags::NONBLOCK).expect("an event file descriptor"));
        let events = vec![event(), event()];
        for (vector, event) in (0..).zip(&events) {
            client.set_irqs(MSIX, ASSIGN, vector, 1, &[event.as_raw_fd()]).expect("an interrupt");
        }
        Driver { client, registers: None, ram, events, tails: [0; 2], heads: [0; 2], phases: [1; 2] }
    }

    /// Begins again after a reset.
    pub fn forget_queues(&mut self) {
        (self.tails, self.heads, self.phases) = ([0; 2], [0; 2], [1; 2]);
        self.store(CQ[0], &[0; 4096]);
        self.store(CQ[1], &[0; 4096]);
    }

    pub fn read32(&mut self, offset: u64) -> u32 {
        let mut word = [0; 4];
        match &mut self.registers {
            Some(registers) => registers.read(offset, &mut word),
            None => self.client.region_read(0, offset, &mut word).expect("a register"),
        }
        u32::from_le_bytes(word)
    }

    pub fn write32(&mut self, offset: u64, value: u32) {
        self.write(offset, &value.to_le_bytes());
    }

    fn write(&mut self, offset: u64, from: &[u8]) {
        match &mut self.registers {
            Some(registers) => registers.write(offset, from),
            None => self.client.region_write(0, offset, from).expect("a register"),
        }
    }

    /// Enables the controller and creates a queue pair. `wait` lets time pass, until the vector is raised if one is
    /// given.
    pub fn attach(&mut self, wait: &mut dyn FnMut(&mut Driver, Option<usize>)) {
        self.write32(0x24, (ENTRIES - 1) | (ENTRIES - 1) << 16);
        self.write(0x28, &SQ[0].to_le_bytes());
        self.write(0x30, &CQ[0].to_le_bytes());
        self.write32(0x14, 6 << 16 | 4 << 20 | 1);
        while self.read32(0x1c) & 1 == 0 {
            wait(self, None);
        }
        let size = 1 | (ENTRIES - 1) << 16;
        assert_eq!(self.run(0, [5, 0, size, 3 | 1 << 16], CQ[1], wait), 0);
        assert_eq!(self.run(0, [1, 0, size, 1 | 1 << 16], SQ[1], wait), 0);
    }

    /// Sends a command of opcode, namespace and dwords 10 and 11 with its data at `prp`. Returns its status.
    pub fn run(
        &mut self,
        queue: usize,
        [opcode, namespace, dword10, dword11]: [u32; 4],
        prp: u64,
        wait: &mut dyn FnMut(&mut Driver, Option<usize>),
    ) -> u16 {
        let mut entry = [0; 64];
        entry[0] = opcode as u8;
        entry[2] = 77;
        entry[4..8].copy_from_slice(&namespace.to_le_bytes());
        entry[24..32].copy_from_slice(&prp.to_le_bytes());
        entry[40..44].copy_from_slice(&dword10.to_le_bytes());
        entry[44..48].copy_from_slice(&dword11.to_le_bytes());
        if queue == 1 {
            entry[48] = 7; // eight blocks
        }
        self.ram.write_all_at(&entry, SQ[queue] + u64::from(self.tails[queue]) * 64).expect("memory");
        self.tails[queue] = (self.tails[queue] + 1) % ENTRIES;
        self.write32(0x1000 + 8 * queue as u64, self.tails[queue]);
        wait(self, Some(queue));
        let mut done = [0; 16];
        self.ram.read_exact_at(&mut done, CQ[queue] + u64::from(self.heads[queue]) * 16).expect("memory");
        let status = u16::from_le_bytes([done[14], done[15]]);
        assert_eq!((done[12], status & 1), (77, self.phases[queue]), "a new entry");
        self.heads[queue] += 1;
        if self.heads[queue] == ENTRIES {
            (self.heads[queue], self.phases[queue]) = (0, 1 - self.phases[queue]);
        }
        self.write32(0x1000 + 8 * queue as u64 + 4, self.heads[queue]);
        status >> 1
    }

    pub fn store(&self, address: u64, data: &[u8]) {
        self.ram.write_all_at(data, address).expect("memory");
    }

    pub fn load(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.ram.read_exact_at(&mut data, address).expect("memory");
        data
    }
}

/// Waits for a vector's event file descriptor.
pub fn wait_for_event(driver: &mut Driver, vector: Option<usize>) {
    let Some(vector) = vector else { return std::thread::yield_now() };
    let event = &mut driver.events[vector];
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&*event, PollFlags::IN)], Some(&limit)).expect("an event file descriptor");
    assert_eq!(ready, 1, "no interrupt for a minute");
    event.read_exact(&mut [0; 8]).expect("a count");
}

/// Returns 4 KiB that depend on `seed`.
pub fn pattern(seed: u32) -> Vec<u8> {
    (0..4096u32).map(|i| (seed.wrapping_mul(0x9e37_79b9).wrapping_add(i * 31) >> 3) as u8).collect()
}
