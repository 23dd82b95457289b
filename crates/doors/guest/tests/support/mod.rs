//! A small driver that attaches to a drive in the order of Linux's nvme driver, and sends commands one at a time or
//! several at once.

#![allow(dead_code)]

pub mod hostile;
pub mod legal;
mod zoned;

use guest::{Drive, GuestMemory, Options, Ram};
use sim::Time;
use system::System;

/// Bytes of guest memory.
pub const MEMORY: usize = 64 << 20;
/// Where the driver keeps things. Data buffers begin at `DATA`, the Host Memory Buffer at `HMB`.
const ADMIN_SQ: u64 = 0x1000;
const ADMIN_CQ: u64 = 0x2000;
const IO_SQ: u64 = 0x10_000;
const IO_CQ: u64 = 0x80_000;
const LISTS: u64 = 0xf0_000;
pub const HMB_LIST: u64 = 0xe0_000;
pub const DATA: u64 = 0x100_000;
pub const HMB: u64 = 0x180_0000;
/// Entries of the admin queues and of I/O queues.
const ADMIN: u32 = 32;
pub const ENTRIES: u32 = 64;

/// A small drive with a write cache.
pub const SMALL: [(&str, &str); 9] = [
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

/// Changes that give a drive with a small write cache eight zones of 8 MiB, of which 6 MiB can be written.
pub const ZONED: [(&str, &str); 13] = [
    ("flash.channels", "2"),
    ("flash.chips", "2"),
    ("flash.dies", "1"),
    ("flash.planes", "2"),
    ("flash.blocks", "40"),
    ("flash.pages", "64"),
    ("ftl.slc_cache.size", "0B"),
    ("device.namespace", "zoned"),
    ("device.zones.size", "8MiB"),
    ("device.zones.capacity", "6MiB"),
    ("device.zones.count", "8"),
    ("device.zones.open", "3"),
    ("device.zones.active", "4"),
];

/// Loads a system of defaults with changes, or a preset with changes.
pub fn system(preset: &str, sets: &[(&str, &str)]) -> System {
    match preset {
        "" => System::from_toml("drive", "title = \"drive\"", sets),
        preset => System::load(preset, sets),
    }
    .unwrap_or_else(|error| panic!("{error}"))
}

/// A completion queue entry as the driver reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub cid: u16,
    /// Status code type and code, without Do Not Retry.
    pub status: u16,
    pub result: u32,
    pub sq_head: u16,
    /// Time from the doorbell to the interrupt, or to the entry's arrival if the queue has no interrupt.
    pub latency: Time,
}

/// The driver's side of a queue pair.
#[derive(Clone, Debug)]
pub struct Queue {
    sq: u64,
    cq: u64,
    entries: u32,
    tail: u32,
    head: u32,
    phase: u16,
    vector: Option<u16>,
}

impl Queue {
    const fn new(sq: u64, cq: u64, entries: u32, vector: Option<u16>) -> Queue {
        Queue { sq, cq, entries, tail: 0, head: 0, phase: 1, vector }
    }
}

/// A command to be: opcode, namespace, PRPs and dwords 10 to 15.
#[derive(Clone, Copy, Debug, Default)]
pub struct Command {
    pub opcode: u8,
    pub flags: u8,
    pub namespace: u32,
    pub prp: [u64; 2],
    pub dwords: [u32; 6],
}

impl Command {
    pub fn bytes(&self, cid: u16) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[0] = self.opcode;
        bytes[1] = self.flags;
        bytes[2..4].copy_from_slice(&cid.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.namespace.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.prp[0].to_le_bytes());
        bytes[32..40].copy_from_slice(&self.prp[1].to_le_bytes());
        for (to, word) in bytes[40..].chunks_exact_mut(4).zip(self.dwords) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// Driver, memory and drive.
pub struct Host {
    pub drive: Drive,
    pub ram: Ram,
    pub now: Time,
    pub queues: Vec<Queue>,
    /// The driver looks at completion queues instead of waiting for interrupts.
    pub polls: bool,
    cid: u16,
    /// Vectors raised and not yet waited for.
    raised: Vec<u16>,
}

impl Host {
    /// Creates the drive of `system`.
    pub fn new(system: &System, options: &Options) -> Host {
        let ram = Ram::new(MEMORY);
        let drive = Drive::new(system, options, Box::new(ram.clone())).unwrap_or_else(|error| panic!("{error}"));
        Host::over(drive, ram, Time::ZERO)
    }

    /// Takes over a drive in any state.
    pub fn over(drive: Drive, ram: Ram, now: Time) -> Host {
        Host { drive, ram, now, queues: Vec::new(), polls: false, cid: 0, raised: Vec::new() }
    }

    /// Creates the drive and attaches to it.
    pub fn attached(system: &System, options: &Options) -> Host {
        let mut host = Host::new(system, options);
        host.attach(1);
        host
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

    pub fn write64(&mut self, offset: u64, value: u64) {
        self.drive.write(self.now, offset, &value.to_le_bytes());
    }

    pub fn csts(&mut self) -> u32 {
        self.read32(0x1c)
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Time) {
        self.now += time;
        self.drive.advance(self.now);
    }

    /// Waits for bits of the status, as long as CAP.TO says.
    pub fn wait_for(&mut self, mask: u32, value: u32) {
        let timeout = Time::from_ms(500) * (self.read64(0) >> 24 & 0xff);
        let end = self.now + timeout;
        while self.csts() & mask != value {
            assert!(self.now < end, "CSTS is {:#x}, expected {value:#x} of {mask:#x}", self.csts());
            self.wait(Time::from_us(100));
        }
    }

    /// Disables the controller, as the driver does first (`nvme_disable_ctrl`).
    pub fn disable(&mut self) {
        let cc = self.read32(0x14);
        self.write32(0x14, cc & !1 & !(3 << 14));
        self.wait_for(1, 0);
    }

    /// Sets up the admin queues and enables the controller (`nvme_pci_configure_admin_queue`, `nvme_enable_ctrl`).
    pub fn enable(&mut self) {
        // Linux chooses all command sets if there are several (CAP.CSS).
        let sets = if self.read64(0) >> 43 & 1 == 1 { 0b110 } else { 0 };
        self.enable_with(sets);
    }

    /// Sets up the admin queues and enables the controller with these command sets (CC.CSS).
    pub fn enable_with(&mut self, sets: u32) {
        let zeros = vec![0; ADMIN as usize * 16];
        self.ram.write(ADMIN_CQ, &zeros).expect("memory");
        self.write32(0x24, (ADMIN - 1) | (ADMIN - 1) << 16);
        self.write64(0x28, ADMIN_SQ);
        self.write64(0x30, ADMIN_CQ);
        self.queues = vec![Queue::new(ADMIN_SQ, ADMIN_CQ, ADMIN, Some(0))];
        self.raised.clear();
        self.write32(0x14, 1 | sets << 4 | 6 << 16 | 4 << 20);
        self.wait_for(1, 1);
    }

    /// Attaches like Linux, with `pairs` I/O queue pairs: disable, enable, identify, features, Host Memory Buffer if
    /// the drive prefers one, queues.
    pub fn attach(&mut self, pairs: u16) {
        assert_eq!(self.read64(0) >> 37 & 1, 1, "the NVM command set");
        self.disable();
        self.enable();
        let identify = self.identify(1, 0);
        let preferred = u32::from_le_bytes(identify[272..276].try_into().expect("four bytes"));
        if preferred > 0 {
            assert_eq!(self.host_memory(u64::from(preferred) * 4096, false).status, 0);
        }
        self.create_queues(pairs);
    }

    /// Cuts and restores the drive's power. A protected drive runs on for a while in between.
    pub fn cut_power(&mut self) {
        self.now += self.drive.power_cut(self.now).expect("the parts of the drive").hold_up;
    }

    /// Sets the number of queues and creates them.
    pub fn create_queues(&mut self, pairs: u16) {
        let wish = u32::from(pairs - 1);
        let done = self.feature(7, wish | wish << 16);
        assert!(done.status == 0 && done.result & 0xffff >= wish && done.result >> 16 >= wish, "{done:x?}");
        for queue in 1..=pairs {
            assert_eq!(self.create_pair(queue, Some(queue)).status, 0);
        }
    }

    /// Creates an I/O queue pair of the usual size.
    pub fn create_pair(&mut self, queue: u16, vector: Option<u16>) -> Done {
        let at = u64::from(queue - 1);
        self.create_pair_at(queue, vector, ENTRIES, [IO_SQ + at * 0x1000, IO_CQ + at * 0x1000])
    }

    /// Creates an I/O queue pair of `entries` at the addresses of submission and completion queue.
    pub fn create_pair_at(&mut self, queue: u16, vector: Option<u16>, entries: u32, [sq, cq]: [u64; 2]) -> Done {
        let pair = Queue::new(sq, cq, entries, vector);
        self.ram.write(pair.cq, &vec![0; entries as usize * 16]).expect("memory");
        let size = u32::from(queue) | (entries - 1) << 16;
        let interrupt = vector.map_or(0, |vector| 2 | u32::from(vector) << 16);
        let done = self.admin(Command {
            opcode: 0x05,
            prp: [pair.cq, 0],
            dwords: [size, 1 | interrupt, 0, 0, 0, 0],
            ..Command::default()
        });
        if done.status != 0 {
            return done;
        }
        let sq = pair.sq;
        if self.queues.len() <= usize::from(queue) {
            self.queues.resize(usize::from(queue) + 1, pair.clone());
        }
        self.queues[usize::from(queue)] = pair;
        self.admin(Command {
            opcode: 0x01,
            prp: [sq, 0],
            dwords: [size, 1 | u32::from(queue) << 16, 0, 0, 0, 0],
            ..Command::default()
        })
    }

    /// Shuts down like Linux: deletes the queues, then a normal shutdown.
    pub fn shut_down(&mut self) {
        for queue in 1..self.queues.len() as u32 {
            assert_eq!(
                self.admin(Command { opcode: 0, dwords: [queue, 0, 0, 0, 0, 0], ..Command::default() }).status,
                0
            );
            assert_eq!(
                self.admin(Command { opcode: 4, dwords: [queue, 0, 0, 0, 0, 0], ..Command::default() }).status,
                0
            );
        }
        self.queues.truncate(1);
        let cc = self.read32(0x14);
        self.write32(0x14, cc | 1 << 14);
        self.wait_for(3 << 2, 2 << 2);
    }

    pub fn identify(&mut self, cns: u32, namespace: u32) -> Vec<u8> {
        let done = self.try_identify(cns, namespace);
        assert_eq!(done.status, 0, "Identify {cns} of {namespace}");
        self.load(DATA, 4096)
    }

    pub fn try_identify(&mut self, cns: u32, namespace: u32) -> Done {
        self.admin(Command { opcode: 6, namespace, prp: [DATA, 0], dwords: [cns, 0, 0, 0, 0, 0], ..Command::default() })
    }

    /// Set Features with a value and no data.
    pub fn feature(&mut self, feature: u32, value: u32) -> Done {
        self.admin(Command { opcode: 9, prp: [DATA, 0], dwords: [feature, value, 0, 0, 0, 0], ..Command::default() })
    }

    /// Get Features; its data, if any, goes to `DATA`.
    pub fn get_feature(&mut self, feature: u32, value: u32) -> Done {
        self.admin(Command { opcode: 0xa, prp: [DATA, 0], dwords: [feature, value, 0, 0, 0, 0], ..Command::default() })
    }

    /// Reads `bytes` of a log page.
    pub fn log(&mut self, log: u32, bytes: u32, offset: u64) -> Result<Vec<u8>, u16> {
        let done = self.admin(Command {
            opcode: 2,
            namespace: u32::MAX,
            prp: [DATA, 0],
            dwords: [log | (bytes / 4 - 1) << 16, 0, offset as u32, (offset >> 32) as u32, 0, 0],
            ..Command::default()
        });
        if done.status == 0 { Ok(self.load(DATA, bytes as usize)) } else { Err(done.status) }
    }

    /// Lends host memory in pieces of 1 MiB, or returns it.
    pub fn host_memory(&mut self, bytes: u64, returned: bool) -> Done {
        let bytes = bytes.min(32 << 20);
        let piece = 1 << 20;
        for i in 0..bytes / piece {
            let entry = [(HMB + i * piece).to_le_bytes(), (piece / 4096).to_le_bytes()].concat();
            self.ram.write(HMB_LIST + i * 16, &entry).expect("memory");
        }
        let flags = 1 | u32::from(returned) << 1;
        self.admin(Command {
            opcode: 9,
            dwords: [0xd, flags, (bytes / 4096) as u32, HMB_LIST as u32, 0, (bytes / piece) as u32],
            ..Command::default()
        })
    }

    /// Sends an admin command and waits for its end.
    pub fn admin(&mut self, command: Command) -> Done {
        self.run(0, command)
    }

    /// Sends a command and waits for its end.
    pub fn run(&mut self, queue: usize, command: Command) -> Done {
        let cid = self.submit(queue, &[command])[0];
        let done = self.reap(queue);
        assert_eq!(done.cid, cid, "the completion of another command");
        done
    }

    /// Writes entries and rings the doorbell once. Returns the commands' identifiers.
    pub fn submit(&mut self, queue: usize, commands: &[Command]) -> Vec<u16> {
        let mut cids = Vec::new();
        let mut entries = Vec::new();
        for command in commands {
            self.cid = self.cid.wrapping_add(1) & 0x7fff;
            cids.push(self.cid);
            entries.push(command.bytes(self.cid));
        }
        self.submit_entries(queue, &entries);
        cids
    }

    /// Writes entries of any content and rings the doorbell once.
    pub fn submit_entries(&mut self, queue: usize, entries: &[[u8; 64]]) {
        for entry in entries {
            let q = &mut self.queues[queue];
            let at = q.sq + u64::from(q.tail) * 64;
            q.tail = (q.tail + 1) % q.entries;
            self.ram.write(at, entry).expect("memory");
        }
        let tail = self.queues[queue].tail;
        self.write32(0x1000 + 8 * queue as u64, tail);
    }

    /// Returns the entry at the head of a completion queue if it is new.
    pub fn peek(&self, queue: usize) -> Option<Done> {
        let q = &self.queues[queue];
        let entry = self.load(q.cq + u64::from(q.head) * 16, 16);
        let word = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        let is_new = word(14) & 1 == q.phase;
        is_new.then(|| Done {
            cid: word(12),
            status: word(14) >> 1 & 0x7ff,
            result: u32::from(word(0)) | u32::from(word(2)) << 16,
            sq_head: word(8),
            latency: Time::ZERO,
        })
    }

    /// Waits for the next completion of a queue and frees its entry.
    pub fn reap(&mut self, queue: usize) -> Done {
        let begin = self.now;
        let vector = self.queues[queue].vector.filter(|_| !self.polls);
        loop {
            let found = match vector {
                Some(vector) => self.raised.iter().position(|raised| *raised == vector),
                None => self.peek(queue).map(|_| 0),
            };
            if let Some(at) = found {
                if vector.is_some() {
                    self.raised.remove(at);
                }
                break;
            }
            let next = self.drive.next_event();
            let next = next.unwrap_or_else(|| panic!("queue {queue} waits and no event is pending"));
            assert!(next < begin + Time::from_ms(60_000), "no completion in queue {queue} for a minute");
            self.now = self.now.max(next);
            self.drive.advance(self.now);
            self.raised.extend(self.drive.take_interrupts());
        }
        let done = self.peek(queue).unwrap_or_else(|| panic!("an interrupt of queue {queue} without an entry"));
        self.consume(queue);
        Done { latency: self.now - begin, ..done }
    }

    /// Frees the entry at the head of a completion queue.
    pub fn consume(&mut self, queue: usize) {
        let q = &mut self.queues[queue];
        q.head += 1;
        if q.head == q.entries {
            (q.head, q.phase) = (0, 1 - q.phase);
        }
        let head = q.head;
        self.write32(0x1000 + 8 * queue as u64 + 4, head);
    }

    pub fn load(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.ram.read(address, &mut data).expect("memory");
        data
    }

    pub fn store(&mut self, address: u64, data: &[u8]) {
        self.ram.write(address, data).expect("memory");
    }

    /// Returns the PRPs of a buffer, writing a list if it needs one.
    pub fn prps(&mut self, address: u64, bytes: u64) -> [u64; 2] {
        let first = 4096 - address % 4096;
        if bytes <= first {
            return [address, 0];
        }
        let pages: Vec<u64> = (address + first..address + bytes).step_by(4096).collect();
        if let [page] = pages[..] {
            return [address, page];
        }
        let list: Vec<u8> = pages.iter().flat_map(|page| page.to_le_bytes()).collect();
        assert!(list.len() <= 4096, "one list page");
        self.store(LISTS, &list);
        [address, LISTS]
    }

    /// Returns a read or write of `blocks` of 512 bytes (or the namespace's) from `lba`, with its data at `DATA`.
    pub fn transfer(&mut self, opcode: u8, lba: u64, blocks: u32, block: u64) -> Command {
        let prp = self.prps(DATA, u64::from(blocks) * block);
        Command {
            opcode,
            namespace: 1,
            prp,
            dwords: [lba as u32, (lba >> 32) as u32, blocks - 1, 0, 0, 0],
            ..Command::default()
        }
    }

    /// Writes `data` at `lba` of namespace 1, in blocks of 512 bytes.
    pub fn write_blocks(&mut self, lba: u64, data: &[u8]) -> Done {
        self.store(DATA, data);
        let command = self.transfer(1, lba, (data.len() / 512) as u32, 512);
        self.run(1, command)
    }

    /// Reads blocks of 512 bytes of namespace 1.
    pub fn read_blocks(&mut self, lba: u64, blocks: u32) -> (Done, Vec<u8>) {
        self.store(DATA, &vec![0xee; blocks as usize * 512]);
        let command = self.transfer(2, lba, blocks, 512);
        let done = self.run(1, command);
        (done, self.load(DATA, blocks as usize * 512))
    }

    /// Deallocates blocks of 512 bytes of namespace 1.
    pub fn trim(&mut self, lba: u64, blocks: u32) -> Done {
        let range = [&0u32.to_le_bytes()[..], &blocks.to_le_bytes(), &lba.to_le_bytes()].concat();
        self.store(DATA, &range);
        self.run(
            1,
            Command { opcode: 9, namespace: 1, prp: [DATA, 0], dwords: [0, 4, 0, 0, 0, 0], ..Command::default() },
        )
    }

    pub fn flush(&mut self) -> Done {
        self.run(1, Command { opcode: 0, namespace: 1, ..Command::default() })
    }
}

/// Returns `bytes` bytes that depend on `seed`.
pub fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|i| (seed.wrapping_mul(0x9e37_79b9).wrapping_add(i * 31 + i / 512) >> 3) as u8).collect()
}
