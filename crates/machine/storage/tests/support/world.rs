//! A whole machine under random requests and power cuts, with an oracle that decides which values may be read.

use media::{Op, Request, SECTOR, Status};
use sim::{Rng, Streams, Time};
use storage::prepare::prepare;
use storage::verify::Seen;
use storage::{Completion, Machine};
use system::parts::Parts;

use super::draw::Drawn;
use testkit::oracle::Oracle;

/// A request in progress.
#[derive(Clone, Debug)]
struct Under {
    request: Request,
    asked: u64,
    /// For a write, the stamps of its sectors for the commands that have begun; for a read, the stamps read.
    stamps: Vec<Option<u64>>,
}

/// Counts of the events in a history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub cuts: u64,
    /// Cuts with requests in progress.
    pub busy_cuts: u64,
    pub torn_pages: u64,
    pub torn_blocks: u64,
    pub requests: u64,
    pub sectors_read: u64,
    pub unreadable: u64,
    pub no_space: u64,
    /// Cuts in which a read-only drive could not write out its protected buffers.
    pub given_up: u64,
    pub erases: u64,
    pub failures: u64,
    pub map_reads: u64,
    /// Resets that lost data or map entries in host memory, and the amounts lost.
    pub losses: u64,
    pub lost_units: u64,
    pub found_entries: u64,
    /// Resets after which host memory was returned intact.
    pub returns: u64,
    /// Times that host memory was switched on or off.
    pub switches: u64,
    /// Lives that began in the middle of a run of overwrites.
    pub held: u64,
    /// Reads of flash that read-ahead served, at once or late.
    pub ahead: u64,
    pub late: u64,
}

/// The event before a read of the whole drive.
#[derive(Clone, Copy, Debug)]
enum After {
    PowerCut,
    /// A controller reset. `lost` is true if data in host memory was lost.
    Reset {
        lost: bool,
    },
}

const OUTSTANDING: usize = 24;

pub struct World {
    machine: Machine,
    parts: Parts,
    faulty_reads: bool,
    faulty_writes: bool,
    protected: bool,
    oracle: Oracle,
    under: Vec<Option<Under>>,
    completions: Vec<Completion>,
    rng: Rng,
    /// The oracle's clock: counts submissions and completions.
    clock: u64,
    /// End of the last read, in sectors.
    read_to: u64,
    /// Sectors whose data may have been lost by a failed read.
    forgiven: Vec<bool>,
    injected: ftl::InjectedFault,
    pub counts: Counts,
    torn_before: u64,
}

impl World {
    pub fn new(drawn: &Drawn, seed: u64, injected: ftl::InjectedFault) -> World {
        let streams = Streams::new(seed);
        let parts = drawn.parts.clone();
        let (store, _) = prepare(&drawn.system, &parts, drawn.preparation, &streams, None).expect("a prepared drive");
        let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounted before");
        let mut machine = Machine::new(&parts, ftl, nand);
        machine.checker_mut().expect("payload is kept").keep_log();
        machine.ftl_mut().pages_mut().inject(injected);
        let sectors = (parts.user_bytes / SECTOR) as usize;
        World {
            machine,
            faulty_reads: drawn.faulty_reads,
            faulty_writes: drawn.faulty_writes,
            protected: parts.ftl.buffers.protected,
            parts,
            oracle: Oracle::new(sectors),
            under: vec![None; OUTSTANDING],
            completions: Vec::new(),
            rng: streams.stream("test.world"),
            clock: 1,
            read_to: 0,
            forgiven: vec![false; sectors],
            injected,
            counts: Counts::default(),
            torn_before: 0,
        }
    }

    fn sectors(&self) -> u64 {
        self.forgiven.len() as u64
    }

    /// Submits a random request, or advances the machine to its next event.
    pub fn step(&mut self, busy: f64) {
        let on = self.machine.host_memory_bytes() == 0;
        // Host memory is on most of the time.
        if self.parts.ftl.host_memory.is_some() && self.rng.chance(if on { 0.01 } else { 0.001 }) {
            self.counts.switches += u64::from(self.machine.switch_host_memory(self.machine.now(), on));
        }
        let submit = self.rng.unit() < busy && self.submit_random();
        if !submit && !self.one_event() {
            self.submit_random();
        }
    }

    /// Handles the events of the next point in time. Returns false if there are none.
    fn one_event(&mut self) -> bool {
        let Some(at) = self.machine.next_event() else { return false };
        if at == Time::MAX {
            return false;
        }
        self.machine.advance(at, &mut self.completions);
        self.observe();
        true
    }

    fn submit_random(&mut self) -> bool {
        let Some(io) = self.under.iter().position(Option::is_none) else { return false };
        let all = self.sectors();
        let unit = u64::from(self.parts.nand.geometry.unit_bytes) / SECTOR;
        // A hot spot makes overwrites frequent in RAM, in flight and under collection.
        let at = if self.rng.chance(0.5) { self.rng.below(all / 8) } else { self.rng.below(all) };
        let length = 1 + self.rng.below((all - at).min(unit * 6));
        let (at, length) = if self.rng.chance(0.6) {
            let from = at / unit * unit;
            (from, (length.div_ceil(unit) * unit).min(all - from))
        } else {
            (at, length)
        };
        let op = match self.rng.below(100) {
            0..=54 => Op::Write,
            55..=84 => Op::Read,
            85..=92 => Op::Trim,
            _ => Op::Flush,
        };
        let (at, length) = match op {
            Op::Flush => (0, 0),
            // Half of all reads go on where the last one ended, as streams do.
            Op::Read if self.clock.is_multiple_of(2) && self.read_to < all => {
                (self.read_to, length.min(all - self.read_to))
            }
            _ => (at, length),
        };
        // Units of 64 KiB take writes of whole KiB.
        let grain = (u64::from(self.parts.nand.geometry.unit_bytes) >> 15).max(1);
        let (at, length) = match op {
            Op::Write => (at / grain * grain, length.next_multiple_of(grain)),
            _ => (at, length),
        };
        if op == Op::Read {
            self.read_to = at + length;
        }
        let fua = op == Op::Write && self.rng.chance(0.1);
        // Most requests come in bursts, some after a pause.
        let job = self.rng.below(4) as u16;
        self.submit(io, job, Request { fua, ..Request::new(op, at * SECTOR, length * SECTOR) });
        true
    }

    fn submit(&mut self, io: usize, job: u16, request: Request) {
        self.clock += 1;
        self.counts.requests += 1;
        let sectors = (request.bytes / SECTOR) as usize;
        if request.op == Op::Trim {
            for sector in self.trimmed(&request) {
                self.oracle.asked(sector, 0, self.clock);
            }
        }
        let stamps = if request.op == Op::Trim { Vec::new() } else { vec![None; sectors] };
        self.under[io] = Some(Under { request, asked: self.clock, stamps });
        let now = self.machine.now();
        self.machine.submit(now, io as u32, job, request);
        self.observe();
    }

    /// Returns the sectors of the whole units of a trim.
    fn trimmed(&self, request: &Request) -> std::ops::Range<usize> {
        let unit = u64::from(self.parts.nand.geometry.unit_bytes);
        let from = request.offset.div_ceil(unit) * unit / SECTOR;
        let to = request.end() / unit * unit / SECTOR;
        from as usize..to.max(from) as usize
    }

    /// Processes the checker's log and the requests that ended.
    fn observe(&mut self) {
        let log = self.machine.checker_mut().expect("payload is kept").take_log();
        for seen in log {
            match seen {
                Seen::Began { io, request, stamp } if request.op == Op::Write => {
                    let under = self.under[io as usize].as_mut().expect("a request in progress");
                    let (first, within) = (request.offset / SECTOR, (request.offset - under.request.offset) / SECTOR);
                    for i in 0..request.bytes / SECTOR {
                        under.stamps[(within + i) as usize] = Some(stamp + i);
                        self.oracle.asked((first + i) as usize, stamp + i, under.asked);
                    }
                }
                Seen::Began { .. } => {}
                Seen::Read { io, request, stamps } => {
                    let under = self.under[io as usize].as_mut().expect("a request in progress");
                    let within = (request.offset - under.request.offset) / SECTOR;
                    for (i, stamp) in (within..).zip(stamps) {
                        under.stamps[i as usize] = Some(stamp);
                    }
                }
            }
        }
        for completion in std::mem::take(&mut self.completions) {
            let under = self.under[completion.io as usize].take().expect("a request ends once");
            self.ended(&under, completion.status);
        }
    }

    fn ended(&mut self, under: &Under, status: Status) {
        let Under { request, asked, stamps } = under;
        self.clock += 1;
        let first = (request.offset / SECTOR) as usize;
        match (request.op, status) {
            (Op::Read, Status::Ok) => {
                for (i, stamp) in stamps.iter().enumerate() {
                    let value = stamp.expect("a read that ended well brought all its sectors");
                    self.counts.sectors_read += 1;
                    assert!(
                        self.forgiven[first + i] || self.oracle.may_read(first + i, value, *asked, self.clock),
                        "sector {} reads {value}, history {}",
                        first + i,
                        self.oracle.history(first + i)
                    );
                }
            }
            (Op::Read, Status::Uncorrectable) => {
                assert!(self.faulty_reads, "a read failed, and none was made to fail");
                self.counts.unreadable += 1;
            }
            (Op::Write, Status::Ok) => {
                let durable = request.fua || self.protected;
                for (i, stamp) in stamps.iter().enumerate() {
                    let value = stamp.expect("a write that ended well has begun");
                    self.oracle.acknowledged(first + i, value, *asked, self.clock, durable);
                }
            }
            (Op::Trim, Status::Ok) => {
                for sector in self.trimmed(request) {
                    self.oracle.acknowledged(sector, 0, *asked, self.clock, self.protected);
                }
            }
            (Op::Flush, Status::Ok) => self.oracle.flushed(*asked),
            (Op::Write | Op::Flush, Status::NoSpace) => {
                assert!(self.faulty_writes, "no space, though nothing failed");
                self.counts.no_space += 1;
            }
            (op, status) => panic!("{op:?} ended with {status:?}"),
        }
    }

    /// Runs until no request is in progress.
    pub fn drain(&mut self) {
        let mut steps = 0u64;
        while self.under.iter().any(Option::is_some) {
            steps += 1;
            let goes_on = self.one_event();
            assert!(goes_on && steps < 400_000, "never ends: {:?}", self.under.iter().flatten().next());
        }
    }

    /// Goes on as in the middle of a long run of overwrites, at times.
    pub fn hold_overwrites(&mut self, seed: u64) {
        let mut rng = Streams::new(seed).stream("test.held");
        if rng.chance(0.3) {
            self.machine.hold_overwrites(&mut rng);
            self.counts.held += 1;
        }
    }

    /// Cuts the power, restores it, and reads the whole drive.
    pub fn power_cut(&mut self, seed: u64) {
        self.clock += 1;
        self.counts.cuts += 1;
        self.counts.busy_cuts += u64::from(self.under.iter().any(Option::is_some));
        self.count();
        let before = self.machine.now();
        let streams = Streams::new(seed);
        let cut = self.machine.power_cut(&self.parts, &streams).expect("it mounted before");
        let report = cut.mount;
        assert!(self.machine.now() >= before, "time goes on");
        self.counts.torn_pages += report.torn_pages.saturating_sub(self.torn_before);
        self.torn_before = report.torn_pages;
        self.counts.torn_blocks += u64::from(report.torn_blocks);
        self.machine.ftl_mut().pages_mut().inject(self.injected);
        // The log of lost requests lists the stamps that they may have written.
        self.observe();
        self.under.fill(None);
        if !cut.complete {
            assert!(self.faulty_writes, "protected buffers could not be written out, though nothing failed");
            self.counts.given_up += 1;
            self.forgiven.fill(true);
        }
        self.read_all(After::PowerCut);
    }

    /// Resets the controller, with host memory returned intact or lost, and reads the whole drive.
    pub fn reset(&mut self, keep: bool) {
        self.clock += 1;
        self.count();
        let enabled = self.machine.ftl().uses_host_memory();
        let loss = self.machine.reset_controller(keep);
        let lost = loss != ftl::HostMemoryLoss::default();
        self.counts.losses += u64::from(lost);
        self.counts.lost_units += u64::from(loss.dirty_units);
        self.counts.found_entries += u64::from(loss.entries);
        self.counts.returns += u64::from(enabled && keep && !lost);
        self.observe();
        self.under.fill(None);
        self.read_all(After::Reset { lost });
    }

    /// Adds the counts of the translation layer since its last mount.
    pub fn count(&mut self) {
        let stats = self.machine.ftl().stats();
        self.counts.erases += stats.erases;
        self.counts.failures += stats.failures;
        self.counts.map_reads += stats.map_reads;
        if let Some(stats) = self.machine.read_ahead_stats() {
            self.counts.ahead += stats.hits;
            self.counts.late += stats.late_hits;
        }
    }

    /// Reads the whole drive and checks which data survived.
    fn read_all(&mut self, after: After) {
        let unit = u64::from(self.parts.nand.geometry.unit_bytes) / SECTOR;
        let all = self.sectors();
        let mut at = 0;
        while at < all {
            let sectors = (4 * unit).min(all - at);
            self.read_back(at, sectors, unit, after);
            at += sectors;
        }
        self.clock += 2;
    }

    fn read_back(&mut self, at: u64, sectors: u64, unit: u64, after: After) {
        let (status, stamps) = self.read_now(at, sectors);
        if status == Status::Ok {
            self.clock += 1;
            for (i, stamp) in stamps.into_iter().enumerate() {
                let (sector, value) = (at as usize + i, stamp.expect("a read that ended well brought all its sectors"));
                // A reset may only lose data in host memory.
                let survives = match after {
                    After::Reset { lost: false } => self.oracle.may_read(sector, value, self.clock, self.clock + 1),
                    After::PowerCut | After::Reset { lost: true } => self.oracle.may_survive(sector, value),
                };
                assert!(
                    self.forgiven[sector] || survives,
                    "after {after:?} sector {sector} holds {value}, history {}",
                    self.oracle.history(sector)
                );
                match after {
                    After::PowerCut => self.oracle.settle(sector, value, self.clock),
                    After::Reset { .. } => self.oracle.settle_volatile(sector, value, self.clock),
                }
                self.forgiven[sector] = false;
            }
            return;
        }
        assert!(self.faulty_reads && status == Status::Uncorrectable, "sector {at}: {status:?}");
        if sectors > unit {
            for part in (at..at + sectors).step_by(unit as usize) {
                self.read_back(part, unit, unit, after);
            }
            return;
        }
        // A single read may have been made to fail. If retries fail too, the data is lost.
        for _ in 0..4 {
            if self.read_now(at, sectors).0 == Status::Ok {
                return self.read_back(at, sectors, unit, after);
            }
        }
        self.counts.unreadable += 1;
        self.forgiven[at as usize..(at + sectors) as usize].fill(true);
    }

    /// Reads with no other request in progress.
    fn read_now(&mut self, at: u64, sectors: u64) -> (Status, Vec<Option<u64>>) {
        let request = Request::new(Op::Read, at * SECTOR, sectors * SECTOR);
        self.machine.submit(self.machine.now(), 0, 0, request);
        let mut stamps = vec![None; sectors as usize];
        loop {
            let next = self.machine.next_event().expect("a read ends");
            self.machine.advance(next, &mut self.completions);
            for seen in self.machine.checker_mut().expect("payload is kept").take_log() {
                if let Seen::Read { request, stamps: found, .. } = seen {
                    let within = request.offset / SECTOR - at;
                    for (i, stamp) in (within..).zip(found) {
                        stamps[i as usize] = Some(stamp);
                    }
                }
            }
            if let Some(completion) = self.completions.pop() {
                return (completion.status, stamps);
            }
        }
    }
}
