//! A hostile guest, drawn from a seed: legal commands with mutated fields, any bytes in registers, queues, data pointers and
//! lists, memory rewritten amid commands, and memory that goes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use guest::{BadAddress, Drive, GuestMemory, NamespaceConfig, Options, Ram};
use sim::{Rng, Streams, Time};
use system::System;

use super::legal;
use super::{Command, DATA, HMB, Host, pattern};

/// Memory that counts the bytes moved, and refuses one range in the middle, like a hole of a PC's address space. The hole
/// can move, like a mapping that the monitor takes away.
#[derive(Clone, Debug)]
struct Watched {
    ram: Ram,
    moved: Arc<AtomicU64>,
    hole: Arc<AtomicU64>,
}

/// The hole that a driver knows, and the size of every hole.
const HOLE: u64 = 0x20_0000;
const HOLE_BYTES: u64 = 0x1_0000;

impl Watched {
    fn is_memory(&self, address: u64, bytes: u64) -> bool {
        let (end, hole) = (address.checked_add(bytes), self.hole.load(Ordering::Relaxed));
        self.ram.contains(address, bytes) && end.is_some_and(|end| end <= hole || address >= hole + HOLE_BYTES)
    }

    fn check(&self, address: u64, bytes: u64) -> Result<(), BadAddress> {
        self.moved.fetch_add(bytes, Ordering::Relaxed);
        if self.is_memory(address, bytes) { Ok(()) } else { Err(BadAddress { address, bytes }) }
    }
}

impl GuestMemory for Watched {
    fn contains(&self, address: u64, bytes: u64) -> bool {
        self.is_memory(address, bytes)
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BadAddress> {
        self.check(address, to.len() as u64)?;
        self.ram.read(address, to)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        self.check(address, from.len() as u64)?;
        assert!(self.ram.contains(address, from.len() as u64), "a write outside memory at {address:#x}");
        self.ram.write(address, from)
    }

    fn create_buffer(&mut self, bytes: u64) -> std::io::Result<Arc<dyn guest::Buffer>> {
        self.ram.create_buffer(bytes)
    }
}

/// The guest: a driver that attaches properly, so that its attacks reach every part of the drive.
pub struct Hostile {
    pub(super) rng: Rng,
    pub(super) host: Host,
    moved: Arc<AtomicU64>,
    hole: Arc<AtomicU64>,
    /// Blocks of the second namespace.
    pub(super) blocks: u64,
    /// The drive has one namespace, of zones.
    pub(super) zoned: bool,
    /// Bytes written to the drive, and whether it ever used host memory.
    written: u64,
    lent: bool,
}

/// Offsets of the MSI-X table in BAR 0 and of its control word in configuration space.
const MSIX_TABLE: u64 = 0x2000;
const MSIX_CONTROL: u64 = 0x42;

/// I/O queue pairs of the guest.
const PAIRS: u64 = 3;

/// Bytes of the hostile guest's memory, and the part that it plays in.
pub(super) const MEMORY: usize = 32 << 20;
pub(super) const REACH: u64 = 4 << 20;

impl Hostile {
    fn new(seed: u64, system: &System) -> Hostile {
        let (ram, moved, hole) = (Ram::new(MEMORY), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(HOLE)));
        // With host memory, the second namespace has many translation units.
        let blocks = if system.device.hmb.size > 0 { 40 << 10 } else { 512 };
        let zoned = system.has_zones();
        let two =
            vec![NamespaceConfig { bytes: 1 << 20, block: 512 }, NamespaceConfig { bytes: blocks << 12, block: 4096 }];
        let options = Options {
            namespaces: if zoned { Vec::new() } else { two },
            // Both kinds of interrupts.
            messages: seed.is_multiple_of(2),
            ..Options::default()
        };
        let memory = Box::new(Watched { ram: ram.clone(), moved: moved.clone(), hole: hole.clone() });
        let drive = Drive::new(system, &options, memory).unwrap_or_else(|error| panic!("{error}"));
        let mut host = Host::over(drive, ram, Time::ZERO);
        host.polls = options.messages;
        Hostile { rng: Streams::new(seed).stream("hostile"), host, moved, hole, blocks, zoned, written: 0, lent: false }
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    /// An address: mostly in memory and aligned, sometimes at its end, in the hole or anywhere.
    pub(super) fn address(&mut self) -> u64 {
        match self.below(12) {
            0 => self.below(u64::MAX),
            1 => MEMORY as u64 - self.below(8192),
            2 => HOLE - self.below(8192),
            3 => self.below(REACH),
            4..=6 => self.below(REACH / 8) * 8,
            _ => self.below(REACH / 4096) * 4096,
        }
    }

    /// A number: mostly small, sometimes at an edge or anything.
    pub(super) fn number(&mut self) -> u32 {
        match self.below(8) {
            0 => self.below(1 << 32) as u32,
            1 => u32::MAX - self.below(3) as u32,
            2 => 1 << self.below(32),
            3 => self.below(0x1_0000) as u32,
            _ => self.below(20) as u32,
        }
    }

    /// A submission queue entry: any opcode, mostly a known one, with fields that are often nearly right.
    fn entry(&mut self, admin: bool) -> [u8; 64] {
        const ADMIN: [u8; 17] = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 0xd, 0x15, 0x19, 0x1a, 0x7c, 0x80, 0x84];
        const IO: [u8; 10] = [0, 1, 2, 5, 8, 9, 0xc, 0x12, 0x19, 0x1d];
        let opcode = match self.below(12) {
            0 => self.below(256) as u8,
            _ if admin => ADMIN[self.below(ADMIN.len() as u64) as usize],
            _ if self.zoned && self.below(2) == 0 => [0x79, 0x7a, 0x7d][self.below(3) as usize],
            _ => IO[self.below(IO.len() as u64) as usize],
        };
        let flags = match self.below(6) {
            0 => self.below(256) as u8,
            1 if !admin => 1 << 6,
            _ => 0,
        };
        let namespace = match self.below(6) {
            0 => self.number(),
            _ => 1 + self.below(2) as u32,
        };
        let feature = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 0x1d, 0x1e, 0x81][self.below(15) as usize];
        let mut dwords: [u32; 6] = std::array::from_fn(|_| self.number());
        if admin && matches!(opcode, 9 | 10) {
            dwords[0] = feature;
        } else if admin && matches!(opcode, 1 | 5) {
            dwords[0] = self.below(6) as u32 | (self.below(64) as u32) << 16;
            dwords[1] = 1 | (self.below(2) as u32) << 1 | (self.below(6) as u32) << 16;
        } else if admin && matches!(opcode, 0 | 4) {
            dwords[0] = self.below(6) as u32;
        } else if !admin && self.below(4) > 0 {
            (dwords[0], dwords[1], dwords[2]) = (self.below(2100) as u32, 0, self.below(140) as u32);
        }
        let prp = [self.address(), self.address()];
        let cid = self.below(1 << 16) as u16;
        Command { opcode, flags, namespace, prp, dwords }.bytes(cid)
    }

    /// Fills a page with addresses, descriptors, entries or noise.
    fn scribble(&mut self) {
        let page = self.below(REACH / 4096) * 4096;
        let mut bytes = Vec::with_capacity(4096);
        let kind = self.below(4);
        while bytes.len() < 4096 {
            match kind {
                0 => bytes.extend(self.address().to_le_bytes()),
                1 => {
                    let (address, length) = (self.address(), self.below(9000));
                    let kind = [0u64, 0, 0, 2, 3, self.rng.below(16)][self.rng.below(6) as usize] << 60;
                    bytes.extend(address.to_le_bytes());
                    bytes.extend((length | kind).to_le_bytes());
                }
                2 => {
                    let admin = self.below(2) == 0;
                    bytes.extend(self.entry(admin));
                }
                _ => bytes.extend(self.below(u64::MAX).to_le_bytes()),
            }
        }
        bytes.truncate(4096);
        self.host.ram.write(page, &bytes).expect("a page of memory");
    }

    fn attach(&mut self) {
        self.note();
        self.hole.store(HOLE, Ordering::Relaxed);
        self.host.attach(PAIRS as u16);
        restore_namespaces(&mut self.host, self.blocks);
    }

    /// Resets the controller, and returns the Host Memory Buffer as Linux does, lends it again, formats first or does
    /// without. Until it does one of these or creates queues, the drive does not know whether the memory's contents are
    /// lost.
    fn restart(&mut self) {
        self.note();
        self.hole.store(HOLE, Ordering::Relaxed);
        self.host.disable();
        self.host.enable();
        let time = Time::from_ns(self.below(200_000));
        self.pass(time);
        if self.below(4) == 0 {
            self.spoil();
        }
        // Refused if there is none, or if other memory was lent last.
        match self.below(8) {
            0 => {}
            1 => _ = self.host.host_memory(1 << 20, false),
            2 => _ = self.host.admin(Command { opcode: 0x80, namespace: 1, ..Command::default() }),
            _ => _ = self.host.host_memory(1 << 20, true),
        }
        self.host.create_queues(PAIRS as u16);
    }

    /// Overwrites a part of the Host Memory Buffer.
    fn spoil(&mut self) {
        let (at, bytes) = (HMB + self.below(1 << 19), 1 + self.below(1 << 14) as usize);
        let value = self.below(256) as u8;
        self.host.ram.write(at, &vec![value; bytes]).expect("memory");
    }

    /// Requests asynchronous events, and aborts some requests or other commands.
    fn abort(&mut self) {
        let first = self.below(1 << 16) as u32;
        let requests = self.below(4) as u32;
        let mut entries: Vec<[u8; 64]> =
            (0..requests).map(|i| Command { opcode: 0xc, ..Command::default() }.bytes((first + i) as u16)).collect();
        for _ in 0..=self.below(3) {
            let (cid, queue) = ((first + self.below(4) as u32) & 0xffff, self.below(8) as u32 / 6);
            let command = Command { opcode: 8, dwords: [queue | cid << 16, 0, 0, 0, 0, 0], ..Command::default() };
            entries.push(command.bytes(self.below(1 << 16) as u16));
        }
        self.host.submit_entries(0, &entries);
    }

    /// Masks or unmasks vectors, in the table of MSI-X and for the whole function.
    fn mask(&mut self) {
        let (vector, control) = (self.below(8), self.below(4) as u32 / 3);
        self.host.write32(MSIX_TABLE + vector * 16 + 12, control);
        let control = (self.below(4) as u16) << 14;
        self.host.drive.write_config(MSIX_CONTROL, &control.to_le_bytes());
    }

    /// Notes what the guest has achieved, before a power cut clears the counters.
    fn note(&mut self) {
        let ftl = self.host.drive.machine().ftl();
        self.written = self.written.max(ftl.stats().host_bytes);
        self.lent |= ftl.uses_host_memory();
    }

    /// Consumes all new completions.
    fn drain(&mut self) {
        for queue in 0..=PAIRS as usize {
            for _ in 0..64 {
                if self.host.peek(queue).is_none() {
                    break;
                }
                self.host.consume(queue);
            }
        }
    }

    /// Lets time pass in at most a bounded number of events.
    fn pass(&mut self, time: Time) {
        let until = self.host.now + time;
        for _ in 0..2_000_000 {
            match self.host.drive.next_event() {
                Some(at) if at <= until => self.host.drive.advance(at),
                _ => {
                    self.host.now = until;
                    return;
                }
            }
        }
        panic!("events without end before {until}");
    }

    /// Does one hostile thing.
    fn act(&mut self) {
        match self.below(60) {
            0 => {
                let (offset, bytes) = (self.below(0x5000), [1, 2, 4, 8, 3][self.rng.below(5) as usize]);
                let value = self.below(u64::MAX).to_le_bytes();
                self.host.drive.write(self.host.now, offset, &value[..bytes]);
            }
            1 => {
                let offset = self.below(0x5000);
                self.host.drive.read(self.host.now, offset, &mut [0; 8]);
            }
            2 if self.below(4) == 0 => {
                let (offset, value) = (self.below(0x40) * 4, self.number());
                self.host.write32(offset, value);
            }
            3..=5 => self.scribble(),
            6..=20 => {
                let queue = self.below(PAIRS + 1) as usize;
                let count = 1 + self.below(20);
                let entries: Vec<[u8; 64]> = (0..count).map(|_| self.entry(queue == 0)).collect();
                self.host.submit_entries(queue, &entries);
            }
            21 => {
                let (number, value) = (self.below(14), self.number());
                self.host.write32(0x1000 + 4 * number, value);
            }
            22..=28 => self.drain(),
            29 => {
                let (offset, value) = (self.below(0x60), self.below(u64::MAX).to_le_bytes());
                self.host.drive.write_config(offset, &value);
            }
            30 if self.below(4) == 0 => {
                self.host.drive.reset_function(self.host.now);
                self.attach();
            }
            31 if self.below(8) == 0 => {
                self.note();
                self.host.cut_power();
                self.attach();
            }
            32 => {
                // A controller that the guest has stopped or broken is of no more use to it.
                if self.host.csts() & 0xf != 1 || self.below(8) == 0 {
                    self.attach();
                }
            }
            40..=52 => {
                let (queue, entries, list) = legal::commands(self);
                self.host.submit_entries(queue, &entries);
                // What a command points to may change after its doorbell.
                if self.below(6) == 0 {
                    let (at, value) = (list + self.below(4096), self.below(u64::MAX).to_le_bytes());
                    let bytes = 1 + self.below(8) as usize;
                    self.host.ram.write(at, &value[..bytes]).expect("memory");
                }
            }
            33 if self.below(6) == 0 && self.host.csts() & 0xf == 1 => self.restart(),
            34 if self.below(8) == 0 => {
                self.host.write32(0x20, u32::from_be_bytes(*b"NVMe"));
                if self.below(2) == 0 {
                    self.restart();
                }
            }
            35 if self.below(8) == 0 => {
                let configuration = self.host.read32(0x14);
                let notice = 1 + self.below(2) as u32;
                self.host.write32(0x14, configuration | notice << 14);
            }
            36 => self.abort(),
            37 => self.mask(),
            53 => self.spoil(),
            54 if self.below(4) == 0 => {
                let at =
                    [self.below(MEMORY as u64), HMB + self.below(1 << 19), self.below(REACH)][self.below(3) as usize];
                self.hole.store(at, Ordering::Relaxed);
            }
            _ => {
                let time = Time::from_ns(self.below(400_000));
                self.pass(time);
            }
        }
        self.host.drive.take_interrupts();
        self.host.drive.take_messages();
    }
}

/// Creates and attaches the two namespaces again, the second of `blocks` blocks of 4 KiB, if the guest can have deleted,
/// detached or replaced one.
fn restore_namespaces(host: &mut Host, blocks: u64) {
    let is_managed = host.identify(1, 0)[256] >> 3 & 1 == 1;
    let shape = |page: Vec<u8>| (page[..8].to_vec(), page[26]);
    let shapes = [(2048, 0u8), (blocks, 1)].map(|(size, format)| (size.to_le_bytes().to_vec(), format));
    if !is_managed || [1, 2].map(|identifier| shape(host.identify(0, identifier))) == shapes {
        return;
    }
    let delete = Command { opcode: 0xd, namespace: u32::MAX, dwords: [1, 0, 0, 0, 0, 0], ..Command::default() };
    if host.admin(delete).status != 0 {
        // A sanitize operation is going on.
        return;
    }
    for (namespace, (size, format)) in (1..).zip(shapes) {
        host.store(DATA, &[0; 4096]);
        host.store(DATA, &[&size[..], &size].concat());
        host.store(DATA + 26, &[format]);
        let done = host.admin(Command { opcode: 0xd, prp: [DATA, 0], ..Command::default() });
        assert_eq!((done.status, done.result), (0, namespace));
        host.store(DATA, &[1, 0, 0, 0]);
        let attach = Command { opcode: 0x15, namespace, prp: [DATA, 0], ..Command::default() };
        assert_eq!(host.admin(attach).status, 0);
    }
}

/// Plays a hostile guest, then checks that a driver can still attach and use the drive. Returns the bytes that the guest
/// managed to write, and whether the drive ever used its memory.
pub fn attack(seed: u64, steps: u32, system: &System) -> (u64, bool) {
    let mut hostile = Hostile::new(seed, system);
    hostile.attach();
    for _ in 0..steps {
        let before = hostile.moved.load(Ordering::Relaxed);
        hostile.act();
        let moved = hostile.moved.load(Ordering::Relaxed) - before;
        assert!(moved < 1 << 28, "{moved} bytes moved by one access of seed {seed}");
    }
    hostile.note();
    hostile.hole.store(HOLE, Ordering::Relaxed);
    let Hostile { mut host, written, lent, zoned, blocks, .. } = hostile;
    host.drive.reset_function(host.now);
    host.attach(1);
    // A sanitize operation may be going on.
    host.wait(Time::from_ms(2000));
    restore_namespaces(&mut host, blocks);
    let format = Command { opcode: 0x80, namespace: 1, ..Command::default() };
    assert_eq!(host.admin(format).status, 0, "seed {seed}");
    let data = pattern(seed, 4096);
    if zoned {
        host.store(DATA, &data);
        let command = host.transfer(0x7d, 4096, 1, 4096);
        assert_eq!(host.run(1, command).status, 0, "seed {seed}");
        host.store(DATA, &[0xee; 4096]);
        assert_eq!(host.run(1, Command { opcode: 2, ..command }).status, 0, "seed {seed}");
        assert_eq!(host.load(DATA, 4096), data, "seed {seed}");
        return (written, lent);
    }
    assert_eq!(host.write_blocks(8, &data).status, 0, "seed {seed}");
    assert_eq!(host.read_blocks(8, 8).1, data, "seed {seed}");
    (written, lent)
}
