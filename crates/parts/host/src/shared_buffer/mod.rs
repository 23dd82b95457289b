//! The driver of a storage device behind a shared buffer on the memory bus (Seo et al., "Design and Implementation of A
//! Mobile Storage Leveraging the DRAM Interface", 5.3 and 5.4), in virtual time.
//!
//! The submission handler splits a request, gets a command's space in the data buffer, for a write has the data moved
//! there, and writes entry and doorbell by uncached stores. The completion handler is called by an interrupt (or polls),
//! takes the entries, has a read's data moved out, and ends the request. What is in the buffer and in what order it is
//! touched is `::shared_buffer`'s; here is what that takes: processor time on cores, uncached accesses over the bus, the
//! DMA engine, the caches' invalidation before and after it.
//!
//! Work of a request is done on its job's core, the handler's on that of the queue pair.

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
use crate::{Completed, Completion, Config};

use boot::Boot;
pub use config::{SharedBufferConfig, Transfer};
pub use dma::{Dma, DmaConfig};
use event::push;
pub use event::{Event, LANES, Said};
use mover::Mover;
use wire::opcode;
pub use wire::{from_wire, to_wire};

/// The memory behind the processor: what an access takes beside the processor's part.
pub trait Memory {
    /// An access of a word at byte `offset` of the shared region, at `at`. Returns its time.
    fn word(&mut self, at: Time, offset: usize, store: bool) -> Time;

    /// The DMA engine moves `bytes` between byte `offset` of the shared region and memory from `from` on, in no less
    /// than `least`. Returns its time.
    fn transfer(&mut self, from: Time, offset: usize, bytes: u64, store: bool, least: Time) -> Time;

    /// The processor copies `bytes` by accesses of `word` bytes to the shared region from `from` on, each of which takes
    /// `each` beside the bus. Returns the time of all.
    fn copy(&mut self, from: Time, offset: usize, bytes: u64, word: u32, store: bool, each: Time) -> Time;
}

/// A command that the driver has issued.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// The request that it is, or is part of.
    pub io: u32,
    /// What was submitted.
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
    /// Since when its data are being moved.
    moving: Time,
    /// Commands whose end is being processed.
    ending: u32,
    finished: Option<Status>,
}

/// What the driver counted: of reads and writes that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests.
    pub requests: u64,
    /// Commands.
    pub commands: u64,
    /// Bytes.
    pub bytes: u64,
    /// Sum over requests of the time from the program's call to its knowing of the end.
    pub response: Time,
    /// Sum over requests of the time in which their data was on its way between memory and data buffer: invalidation,
    /// transfers and what starts and ends them. Bytes over this is what the paper (6.2) calls interface bandwidth.
    pub interface: Time,
    /// Uncached accesses of the driver to queues and registers.
    pub words: u64,
    /// Requests that did not find room for all of their commands when they came.
    pub waited: u64,
    /// Runs of the completion handler.
    pub handled: u64,
    /// Bytes read in boot mode, which are not among those above.
    pub booted: u64,
}

/// A driver.
#[derive(Debug)]
pub struct SharedBuffer {
    cores: Cores,
    driver: Driver,
    layout: Layout,
    queues: Vec<Pair>,
    ios: Vec<Io>,
    /// By piece.
    issued: Vec<Option<Issued>>,
    /// Requests that the splitter has no room for, and those that it has not wholly issued.
    backlog: VecDeque<u32>,
    waiting: VecDeque<u32>,
    dma: Dma,
    boot: Boot,
    config: SharedBufferConfig,
    submit: Time,
    complete: Time,
    completion: Completion,
    log: AccessLog,
    /// For one run of the handler: pieces.
    taken: Vec<u32>,
    counts: Counts,
}

#[derive(Debug)]
struct Pair {
    queue: HostQueue,
    core: u16,
    /// Commands issued whose entry is not yet written.
    reserved: u32,
    /// A run of the handler is due.
    raised: bool,
    /// Pieces by command id.
    pieces: Vec<u32>,
}

/// Requests that the splitter keeps at most; more wait before it.
const REQUESTS: u32 = 1024;

fn new_driver(config: &Config, layout: &Layout) -> Driver {
    let own = &config.shared_buffer;
    let sizes = layout.config();
    Driver::new(DriverConfig {
        db_sectors: sizes.db_sectors,
        split_sectors: (config.max_transfer / SECTOR as u64) as u32,
        extents_max: own.extents,
        shortage: own.shrink.map_or(Shortage::Wait, |sectors_min| Shortage::Shrink { sectors_min }),
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
    /// An idle host, and the layout of the buffer that it found.
    ///
    /// # Panics
    /// If commands are to be larger than a `u32` of sectors, or have other extents than the layout's.
    pub fn new(config: &Config, layout: &Layout) -> SharedBuffer {
        let own = config.shared_buffer.clone();
        assert_eq!(own.extents, layout.config().extents_max, "the driver's extents and the layout's");
        let polling = matches!(config.completion, Completion::Polling { .. });
        let cores = Cores::new(config.cores, polling);
        let dma = match &own.transfer {
            Transfer::Dma(dma) => Dma::new(dma),
            Transfer::Copy { .. } => Dma::new(&DmaConfig::default()),
        };
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
            dma,
            boot: Boot::new(own.boot),
            config: own,
            submit: config.submit,
            complete: config.complete,
            completion: config.completion,
            log: AccessLog::new(),
            taken: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// A request of `job`. `io` is a dense number, free for reuse when the request has ended.
    ///
    /// # Panics
    /// If `io` is in use.
    pub fn submit(
        &mut self,
        now: Time,
        io: u32,
        job: u16,
        request: Request,
        memory: &mut impl Memory,
        s: &mut impl Schedule<Event>,
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
        assert!(!place.open, "request {io} is still under way");
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

    /// Issues what finds a place in its queue and room in the data buffer.
    fn issue(&mut self, now: Time, memory: &mut impl Memory, s: &mut impl Schedule<Event>) {
        // A boot loader has the data buffer for itself.
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
            let place = &mut self.issued[piece.piece as usize];
            assert!(place.is_none(), "piece {} is out twice", piece.piece);
            *place = Some(Issued { io, command, status: Status::Ok, queue: number });
            self.counts.commands += 1;
            if request.op == Op::Write {
                // Its data first.
                self.cores.submit(now, core, self.submit, s);
                self.add(now, io, piece.piece, u64::from(command.sectors) * SECTOR as u64, memory, s);
            } else {
                let length = self.submit + self.entry_time(now, &command, memory);
                let at = self.cores.submit(now, core, length, s);
                push(s, at, Event::Ring(piece.piece));
            }
        }
    }

    /// Time of writing an entry and the doorbell.
    fn entry_time(&mut self, now: Time, command: &::shared_buffer::Command, memory: &mut impl Memory) -> Time {
        // Two words, one an extent, and the doorbell.
        let words = 3 + command.extents.len() as u64;
        self.counts.words += words;
        let at = self.layout.sq_entry(0, 0) * WORD;
        (0..words).fold(Time::ZERO, |sum, _| sum + self.config.uncached + memory.word(now + sum, at, true))
    }

    /// The driver's event is due.
    pub fn handle<R: Region + ?Sized>(
        &mut self,
        now: Time,
        event: Event,
        region: &R,
        memory: &mut impl Memory,
        s: &mut impl Schedule<Event>,
        said: &mut Vec<Said>,
    ) {
        match event {
            Event::Ring(piece) => {
                let Issued { io, command, queue, .. } = self.issued[piece as usize].expect("a piece that is out");
                let pair = &mut self.queues[queue as usize];
                pair.reserved -= 1;
                let region = self.log.over(region);
                let id = pair.queue.submit(&region, &command, piece).expect("room was kept");
                pair.pieces[id as usize] = piece;
                pair.queue.ring(&region);
                let words = self.log.accesses().len();
                assert_eq!(words, 3 + command.extents.len(), "accesses of a submission");
                self.log.clear();
                self.ios[io as usize].submitted = now;
                said.push(Said::Rang(queue));
            }
            Event::Prepared(io) => {
                self.ios[io as usize].mover.prepared();
                self.start(now, now, io, false, s);
            }
            Event::Started(io) => self.transfer(now, io, memory, s),
            Event::Moved(io) => self.moved(now, io, s),
            Event::Settled(io) => self.settled(now, io, memory, s, said),
            Event::Reap(queue) => self.reap(now, queue, region, memory, s, said),
            Event::Taken(piece) => self.completed(now, piece, memory, s),
            Event::Ended(io) => self.ended(now, io, said),
            Event::BootAsked => self.boot_asked(now, region, said),
            Event::BootCopied => self.boot_copied(now, memory, s, said),
        }
    }

    // ---- completions ----

    /// The device has posted completions to a queue pair and says so at `at`: the interrupt is at the host, or the
    /// entry is there for whoever polls.
    pub fn notified(&mut self, now: Time, queue: u16, s: &mut impl Schedule<Event>) {
        let pair = &mut self.queues[queue as usize];
        if std::mem::replace(&mut pair.raised, true) {
            return;
        }
        let (delay, length) = match self.completion {
            Completion::Interrupt { delivery, handler } => (delivery, handler),
            Completion::Polling { delay } => (delay, Time::ZERO),
        };
        let span = self.cores.interrupt(now, pair.core, now + delay, length, s);
        self.counts.handled += 1;
        push(s, span.to, Event::Reap(queue));
    }

    /// The handler takes all completions that are there.
    fn reap<R: Region + ?Sized>(
        &mut self,
        now: Time,
        number: u16,
        region: &R,
        memory: &mut impl Memory,
        s: &mut impl Schedule<Event>,
        said: &mut Vec<Said>,
    ) {
        let pair = &mut self.queues[number as usize];
        pair.raised = false;
        let logged = self.log.over(region);
        let news = match self.completion {
            Completion::Interrupt { .. } => pair.queue.announced(&logged),
            Completion::Polling { .. } => u32::MAX,
        };
        for _ in 0..news {
            match pair.queue.take(&logged) {
                Ok(Some(completion)) => {
                    let issued = self.issued[completion.token as usize].as_mut().expect("a piece that is out");
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
            push(s, span.to, Event::Taken(piece));
        }
    }

    /// The completion of a command is taken: a read's data may be moved out; all else is done with.
    fn completed(&mut self, now: Time, piece: u32, memory: &mut impl Memory, s: &mut impl Schedule<Event>) {
        let Issued { io, command, status, .. } = self.issued[piece as usize].expect("a piece that is out");
        if command.opcode == Opcode::Read && status == Status::Ok {
            self.add(now, io, piece, u64::from(command.sectors) * SECTOR as u64, memory, s);
        } else {
            self.done(now, piece, s);
            self.issue(now, memory, s);
        }
    }

    /// A command is done with, its space free; its request is told.
    fn done(&mut self, now: Time, piece: u32, s: &mut impl Schedule<Event>) {
        let Issued { io, status, .. } = self.issued[piece as usize].take().expect("a piece that is out");
        let finished = self.driver.done(piece, to_wire(status));
        let place = &mut self.ios[io as usize];
        place.ending += 1;
        if let Some(finished) = finished {
            assert_eq!(finished.token, u64::from(io), "a request ends with its own commands");
            place.finished = Some(from_wire(finished.status));
        }
        let at = self.cores.submit(now, place.core, self.complete, s);
        push(s, at, Event::Ended(io));
    }

    /// The end of a command is processed, and with the last that of its request.
    fn ended(&mut self, now: Time, io: u32, said: &mut Vec<Said>) {
        let place = &mut self.ios[io as usize];
        place.ending -= 1;
        let (Some(status), 0) = (place.finished, place.ending) else { return };
        assert!(place.mover.is_idle(), "request {io} ends while its data are moved");
        place.open = false;
        if matches!(place.request.op, Op::Read | Op::Write) {
            self.counts.requests += 1;
            self.counts.bytes += place.request.bytes;
            self.counts.response += now - place.since;
        }
        said.push(Said::Completed(Completed { io, status, submitted: place.submitted }));
    }

    // ---- what it knows ----

    /// A command that is out.
    ///
    /// # Panics
    /// If there is no such piece.
    pub fn piece(&self, piece: u32) -> &Issued {
        self.issued[piece as usize].as_ref().expect("a piece that is out")
    }

    /// The piece that was submitted last under this id.
    pub fn submitted(&self, queue: u16, id: u16) -> u32 {
        self.queues[queue as usize].pieces[id as usize]
    }

    /// What was counted so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The DMA engine.
    pub fn dma(&self) -> &Dma {
        &self.dma
    }

    /// Sectors of a whole command.
    pub fn split_sectors(&self) -> u32 {
        self.driver.split_sectors()
    }

    /// Commands submitted to a queue pair and not taken back.
    pub fn outstanding(&self, queue: u16) -> u32 {
        self.queues[queue as usize].queue.outstanding()
    }

    /// Requests that are not wholly issued.
    pub fn waiting(&self) -> u32 {
        (self.backlog.len() + self.waiting.len()) as u32
    }

    /// Sectors of the data buffer that commands have.
    pub fn sectors_taken(&self) -> u32 {
        self.driver.buffer().sectors() - self.driver.buffer().free_sectors()
    }

    /// Requests that did not find room for all of their commands when they came.
    pub fn waited(&self) -> u64 {
        self.counts.waited
    }

    fn track(&self) -> Track {
        Track(u32::from(self.cores.count()) * 2)
    }

    /// Names of what shows on a timeline: cores, then the DMA engine.
    pub fn tracks(&self) -> Vec<String> {
        let mut names = self.cores.tracks();
        names.push("dma".to_owned());
        names
    }

    /// Every core, then the DMA engine, and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.cores.busy(now);
        busy.push(("dma".to_owned(), self.dma.busy(now)));
        busy
    }

    /// All is gone, and the driver starts anew with an empty buffer. Returns the requests that will have no end.
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
        self.boot = Boot::new(self.config.boot);
        open
    }
}
