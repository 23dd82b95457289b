//! The driver of a storage device behind a shared buffer on the memory bus (Seo et al., "Design and Implementation of A
//! Mobile Storage Leveraging the DRAM Interface", 5.3 and 5.4), in virtual time.
//!
//! The submission handler splits a request, allocates a command's space in the data buffer, moves a write's data there,
//! and writes entry and doorbell by uncached stores. The completion handler runs on an interrupt (or poll), takes the
//! entries, moves a read's data out, and ends the request. `::shared_buffer` defines the buffer's contents and the
//! order of accesses; this module adds their costs: processor time on cores, uncached accesses over the bus, the DMA
//! engine, and cache invalidation before and after it.
//!
//! A request's work runs on its job's core, the handler on that of the queue pair.

mod boot;
mod config;
mod dma;
mod event;
mod mover;
mod moving;
mod wire;

use std::collections::VecDeque;

use ::shared_buffer::{
    AccessLog, Driver, DriverConfig, HostQueue, IoRequest, Layout, Opcode, Region, SECTOR, Shortage, WORD,
};
use media::{Op, Request, Status};
use sim::{Schedule, Time, Track};

use crate::cores::Cores;
use crate::{Completed, Completion, Config, Detection};

use boot::Boot;
pub use config::{SharedBufferConfig, Transfer};
pub use dma::{Dma, DmaConfig};
use event::push;
pub use event::{DriverEvent, LANES, Said};
use mover::Mover;
use wire::opcode;
pub use wire::{from_wire, to_wire};

/// The memory behind the processor: the cost of accesses beyond the processor's own time.
pub trait Memory {
    /// Accesses a word at byte `offset` of the shared region at `at`. Returns the duration.
    fn word(&mut self, at: Time, offset: usize, store: bool) -> Time;

    /// Moves `bytes` by DMA between byte `offset` of the shared region and memory, starting at `from`, in at least
    /// `least`. Returns the duration.
    fn transfer(&mut self, from: Time, offset: usize, bytes: u64, store: bool, least: Time) -> Time;

    /// Copies `bytes` by processor accesses of `word` bytes to the shared region, starting at `from`. Each takes `each`
    /// in addition to the bus. Returns the total duration.
    fn copy(&mut self, from: Time, offset: usize, bytes: u64, word: u32, store: bool, each: Time) -> Time;
}

/// A command issued by the driver.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// The request that it is, or is part of.
    pub io: u32,
    /// The submitted command.
    pub command: ::shared_buffer::Command,
    status: Status,
    queue: u16,
}

#[derive(Clone, Debug)]
struct Io {
    request: Request,
    open: bool,
    core: u16,
    since: Time,
    submitted: Time,
    mover: Mover,
    /// Time since which its data has been moving.
    moving: Time,
    /// Commands whose end is being processed.
    ending: u32,
    finished: Option<Status>,
}

/// Counters of the driver, for reads and writes that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of requests.
    pub requests: u64,
    /// Number of commands.
    pub commands: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Sum of response times, from the program's call to its notification.
    pub response: Time,
    /// Sum over requests of the time in which data moved between memory and data buffer: invalidation, transfers, their
    /// setup and their interrupts. Bytes divided by this time is the paper's interface bandwidth (6.2).
    pub interface: Time,
    /// Uncached accesses of the driver to queues and registers.
    pub words: u64,
    /// Requests that did not find room for all of their commands on arrival.
    pub waited: u64,
    /// Runs of the completion handler.
    pub handled: u64,
    /// Bytes read in boot mode, which the counters above do not include.
    pub booted: u64,
}

/// The driver of a shared buffer.
#[derive(Debug)]
pub struct SharedBuffer {
    cores: Cores,
    driver: Driver,
    layout: Layout,
    queues: Vec<Pair>,
    ios: Vec<Io>,
    /// Issued commands, by number.
    issued: Vec<Option<Issued>>,
    /// Requests that the splitter has no room for, and requests that are not completely issued.
    backlog: VecDeque<u32>,
    waiting: VecDeque<u32>,
    dma: Dma,
    boot: Boot,
    config: SharedBufferConfig,
    submit: Time,
    complete: Time,
    completion: Completion,
    log: AccessLog,
    /// Numbers of the commands taken in one run of the handler.
    taken: Vec<u32>,
    counts: Counts,
}

#[derive(Debug)]
struct Pair {
    queue: HostQueue,
    core: u16,
    /// Commands issued whose entry is not yet written.
    reserved: u32,
    /// True if a run of the handler is due.
    raised: bool,
    /// Command numbers by id on this queue.
    pieces: Vec<u32>,
}

/// Maximum number of requests in the splitter; more wait in front of it.
const REQUESTS: u32 = 1024;

fn new_driver(config: &Config, layout: &Layout) -> Driver {
    let own = &config.shared_buffer;
    let sizes = layout.config();
    Driver::new(DriverConfig {
        db_sectors: sizes.db_sectors,
        split_sectors: (config.max_transfer / SECTOR as u64) as u32,
        extents_max: own.extents,
        shortage: own
            .shrink
            .map_or(Shortage::Wait, |bytes| Shortage::Shrink { sectors_min: (bytes / SECTOR as u64) as u32 }),
        requests_max: REQUESTS,
        commands_max: u32::from(sizes.queue_pairs) * sizes.sq_entries,
    })
}

fn new_pairs(layout: &Layout, cores: u16) -> Vec<Pair> {
    let ids = layout.config().sq_entries as usize;
    let pair = |queue| Pair {
        queue: HostQueue::new(layout, queue),
        core: queue % cores,
        reserved: 0,
        raised: false,
        pieces: vec![0; ids],
    };
    (0..layout.config().queue_pairs).map(pair).collect()
}

impl SharedBuffer {
    /// Creates an idle host with the layout of the buffer it found.
    ///
    /// # Panics
    /// Panics if the number of extents differs from the layout's, or a command has more sectors than fit in a `u32`.
    pub fn new(config: &Config, layout: &Layout) -> SharedBuffer {
        let own = config.shared_buffer.clone();
        assert_eq!(own.extents, layout.config().extents_max, "the driver's extents and the layout's");
        let cores = Cores::new(config.cores, config.completion.is_polling());
        let driver = new_driver(config, layout);
        SharedBuffer {
            queues: new_pairs(layout, cores.count()),
            cores,
            issued: vec![None; driver.config().commands_max as usize],
            driver,
            layout: *layout,
            ios: Vec::new(),
            backlog: VecDeque::new(),
            waiting: VecDeque::new(),
            dma: Dma::new(&own.dma),
            boot: Boot::new(own.boot_bytes()),
            config: own,
            submit: config.submit,
            complete: config.complete,
            completion: config.completion,
            log: AccessLog::new(),
            taken: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Submits a request of `job`. `io` is a dense number that may be reused when the request has ended.
    ///
    /// # Panics
    /// Panics if `io` is in use.
    pub fn submit(
        &mut self,
        now: Time,
        io: u32,
        job: u16,
        request: Request,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
    ) {
        let core = self.cores.of(job);
        while self.ios.len() <= io as usize {
            self.ios.push(Io {
                request: Request::flush(),
                open: false,
                core: 0,
                since: Time::ZERO,
                submitted: Time::ZERO,
                mover: Mover::default(),
                moving: Time::ZERO,
                ending: 0,
                finished: None,
            });
        }
        let place = &mut self.ios[io as usize];
        assert!(!place.open, "request {io} is still in progress");
        (place.request, place.open, place.core, place.since) = (request, true, core, now);
        (place.submitted, place.ending, place.finished) = (Time::ZERO, 0, None);
        if self.boot.takes(&request) {
            return self.boot(now, io, memory, s);
        }
        self.backlog.push_back(io);
        self.issue(now, memory, s);
        let waits = self.backlog.back() == Some(&io) || self.waiting.back() == Some(&io);
        self.counts.waited += u64::from(waits);
    }

    /// Issues commands while there is a free queue entry and room in the data buffer.
    fn issue(&mut self, now: Time, memory: &mut impl Memory, s: &mut impl Schedule<DriverEvent>) {
        // A boot loader has the data buffer to itself.
        while !self.boot.is_busy() {
            while let Some(&io) = self.backlog.front() {
                let request = self.ios[io as usize].request;
                let (opcode, sectors) = (opcode(request.op), request.bytes / SECTOR as u64);
                let start = request.offset / SECTOR as u64;
                let asked = IoRequest { opcode, fua: request.fua, start, sectors, token: u64::from(io) };
                if self.driver.request(asked).is_err() {
                    break;
                }
                self.backlog.pop_front();
                self.waiting.push_back(io);
            }
            let Some(&io) = self.waiting.front() else { return };
            let (core, request) = (self.ios[io as usize].core, self.ios[io as usize].request);
            let number = core % self.queues.len() as u16;
            let pair = &mut self.queues[number as usize];
            if pair.queue.room() == pair.reserved {
                return;
            }
            let Some(piece) = self.driver.issue() else { return };
            assert_eq!(piece.token, u64::from(io), "requests are issued in order");
            pair.reserved += 1;
            let command = piece.command;
            if (piece.first + u64::from(command.sectors)) * SECTOR as u64 >= request.bytes {
                self.waiting.pop_front();
            }
            let place = &mut self.issued[piece.slot as usize];
            assert!(place.is_none(), "command number {} is in use", piece.slot);
            *place = Some(Issued { io, command, status: Status::Ok, queue: number });
            self.counts.commands += 1;
            if request.op == Op::Write {
                // A write's data is moved first.
                self.cores.submit(now, (core, io), self.submit, s);
                self.add(now, io, piece.slot, u64::from(command.sectors) * SECTOR as u64, memory, s);
            } else {
                let length = self.submit + self.entry_time(now, &command, memory);
                let at = self.cores.submit(now, (core, io), length, s);
                push(s, at, DriverEvent::Ring(piece.slot));
            }
        }
    }

    /// Returns the time to write an entry and the doorbell.
    fn entry_time(&mut self, now: Time, command: &::shared_buffer::Command, memory: &mut impl Memory) -> Time {
        // Two words, one per extent, and the doorbell.
        let words = 3 + command.extents.len() as u64;
        self.counts.words += words;
        let at = self.layout.sq_entry(0, 0) * WORD;
        (0..words).fold(Time::ZERO, |sum, _| sum + self.config.uncached + memory.word(now + sum, at, true))
    }

    /// Handles an event of the driver.
    pub fn handle<R: Region + ?Sized>(
        &mut self,
        now: Time,
        event: DriverEvent,
        region: &R,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
        said: &mut Vec<Said>,
    ) {
        match event {
            DriverEvent::Ring(piece) => {
                let Issued { io, command, queue, .. } = self.issued[piece as usize].expect("an issued command");
                let pair = &mut self.queues[queue as usize];
                pair.reserved -= 1;
                let region = self.log.over(region);
                let id = pair.queue.submit(&region, &command, piece).expect("the entry was reserved");
                pair.pieces[id as usize] = piece;
                pair.queue.ring(&region);
                let words = self.log.accesses().len();
                assert_eq!(words, 3 + command.extents.len(), "accesses of a submission");
                self.log.clear();
                self.ios[io as usize].submitted = now;
                said.push(Said::Rang(queue));
            }
            DriverEvent::Prepared(io) => {
                self.ios[io as usize].mover.prepared();
                self.start(now, now, io, false, s);
            }
            DriverEvent::Started(io) => self.transfer(now, io, memory, s),
            DriverEvent::Moved(io) => self.moved(now, io, s),
            DriverEvent::Settled(io) => self.settled(now, io, memory, s, said),
            DriverEvent::Reap(queue) => self.reap(now, queue, region, memory, s, said),
            DriverEvent::Taken(piece) => self.completed(now, piece, memory, s),
            DriverEvent::Ended(io) => self.ended(now, io, said),
            DriverEvent::BootAsked => self.boot_asked(now, region, said),
            DriverEvent::BootCopied => self.boot_copied(now, memory, s, said),
        }
    }

    // ---- completions ----

    /// Handles the device's notification that it has posted completions to a queue pair: an interrupt, or an entry that
    /// a poll will find.
    pub fn notified(&mut self, now: Time, queue: u16, s: &mut impl Schedule<DriverEvent>) {
        let pair = &mut self.queues[queue as usize];
        if std::mem::replace(&mut pair.raised, true) {
            return;
        }
        let Completion { by, poll, delivery, handler } = self.completion;
        let (delay, length) = match by {
            Detection::Interrupt => (delivery, handler),
            Detection::Polling => (poll, Time::ZERO),
        };
        let span = self.cores.interrupt(now, pair.core, now + delay, length, s);
        self.counts.handled += 1;
        push(s, span.to, DriverEvent::Reap(queue));
    }

    /// Takes all completions announced in a queue pair.
    fn reap<R: Region + ?Sized>(
        &mut self,
        now: Time,
        number: u16,
        region: &R,
        memory: &mut impl Memory,
        s: &mut impl Schedule<DriverEvent>,
        said: &mut Vec<Said>,
    ) {
        let pair = &mut self.queues[number as usize];
        pair.raised = false;
        let logged = self.log.over(region);
        let news = match self.completion.by {
            Detection::Interrupt => pair.queue.announced(&logged),
            Detection::Polling => u32::MAX,
        };
        for _ in 0..news {
            match pair.queue.take(&logged) {
                Ok(Some(completion)) => {
                    let issued = self.issued[completion.token as usize].as_mut().expect("an issued command");
                    issued.status = from_wire(completion.status);
                    self.taken.push(completion.token);
                }
                Ok(None) => break,
                Err(fault) => panic!("{fault}"),
            }
        }
        if pair.queue.acknowledge(&logged) {
            said.push(Said::Acknowledged(number));
        }
        let mut length = Time::ZERO;
        for access in self.log.accesses() {
            length += self.config.uncached + memory.word(now + length, access.offset, access.store);
            self.counts.words += 1;
        }
        self.log.clear();
        let span = self.cores.interrupt(now, pair.core, now, length, s);
        for piece in self.taken.drain(..) {
            push(s, span.to, DriverEvent::Taken(piece));
        }
    }

    /// Handles a taken completion: moves a successful read's data out, or finishes the command.
    fn completed(&mut self, now: Time, piece: u32, memory: &mut impl Memory, s: &mut impl Schedule<DriverEvent>) {
        let Issued { io, command, status, .. } = self.issued[piece as usize].expect("an issued command");
        if command.opcode == Opcode::Read && status.is_ok() {
            self.add(now, io, piece, u64::from(command.sectors) * SECTOR as u64, memory, s);
        } else {
            self.done(now, piece, s);
            self.issue(now, memory, s);
        }
    }

    /// Finishes a command: frees its space and counts it in its request.
    fn done(&mut self, now: Time, piece: u32, s: &mut impl Schedule<DriverEvent>) {
        let Issued { io, status, .. } = self.issued[piece as usize].take().expect("an issued command");
        let finished = self.driver.done(piece, to_wire(status));
        let place = &mut self.ios[io as usize];
        place.ending += 1;
        if let Some(finished) = finished {
            assert_eq!(finished.token, u64::from(io), "a request ends with its own commands");
            place.finished = Some(from_wire(finished.status));
        }
        let at = self.cores.submit(now, (place.core, io), self.complete, s);
        push(s, at, DriverEvent::Ended(io));
    }

    /// Processes the end of a command and, after the last, that of its request.
    fn ended(&mut self, now: Time, io: u32, said: &mut Vec<Said>) {
        let place = &mut self.ios[io as usize];
        place.ending -= 1;
        let (Some(status), 0) = (place.finished, place.ending) else { return };
        assert!(place.mover.is_idle(), "request {io} ends while its data is moving");
        place.open = false;
        if matches!(place.request.op, Op::Read | Op::Write) {
            self.counts.requests += 1;
            self.counts.bytes += place.request.bytes;
            self.counts.response += now - place.since;
        }
        said.push(Said::Completed(Completed { io, status, submitted: place.submitted }));
    }

    // ---- introspection ----

    /// Returns an issued command.
    ///
    /// # Panics
    /// Panics if the number is not in use.
    pub fn piece(&self, piece: u32) -> &Issued {
        self.issued[piece as usize].as_ref().expect("an issued command")
    }

    /// Returns the number of the command submitted last under this id.
    pub fn submitted(&self, queue: u16, id: u16) -> u32 {
        self.queues[queue as usize].pieces[id as usize]
    }

    /// Returns the counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the DMA engine.
    pub fn dma(&self) -> &Dma {
        &self.dma
    }

    /// Returns the maximum sectors of a command.
    pub fn split_sectors(&self) -> u32 {
        self.driver.split_sectors()
    }

    /// Returns the number of commands submitted to a queue pair and not yet taken back.
    pub fn outstanding(&self, queue: u16) -> u32 {
        self.queues[queue as usize].queue.outstanding()
    }

    /// Returns the number of requests that are not completely issued.
    pub fn waiting(&self) -> u32 {
        (self.backlog.len() + self.waiting.len()) as u32
    }

    /// Returns the sectors of the data buffer in use by commands.
    pub fn sectors_taken(&self) -> u32 {
        self.driver.buffer().sectors() - self.driver.buffer().free_sectors()
    }

    /// Returns the number of requests that did not find room for all of their commands on arrival.
    pub fn waited(&self) -> u64 {
        self.counts.waited
    }

    fn track(&self) -> Track {
        Track(u32::from(self.cores.count()) * 2)
    }

    /// Returns the names of the timeline's rows: cores, then the DMA engine.
    pub fn tracks(&self) -> Vec<String> {
        let mut names = self.cores.tracks();
        names.push("dma".to_owned());
        names
    }

    /// Returns the busy times until `now` of every core and of the DMA engine.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.cores.busy(now);
        busy.push(("dma".to_owned(), self.dma.busy(now)));
        busy
    }

    /// Drops all state and starts the driver again with an empty buffer. Returns the requests that will never complete.
    pub fn power_cut(&mut self, now: Time, config: &Config) -> Vec<u32> {
        let open = (0..self.ios.len() as u32).filter(|io| self.ios[*io as usize].open).collect();
        self.cores.power_cut(now);
        self.dma.power_cut(now);
        self.driver = new_driver(config, &self.layout);
        self.queues = new_pairs(&self.layout, self.cores.count());
        self.issued.fill(None);
        self.ios.clear();
        self.backlog.clear();
        self.waiting.clear();
        self.boot = Boot::new(self.config.boot_bytes());
        open
    }
}
