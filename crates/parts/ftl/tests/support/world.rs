//! The layer over simple flash: random commands, operations that complete in random order, random power cuts.

use ftl::config::Config;
use ftl::{Actions, Ftl, InjectedFault};
use media::{
    Action, Class, EraseOp, Move, NOBODY, Op, OpId, PageAddr, ProgramOp, ReadOp, Request, SECTOR, Status, Tag,
};
use sim::{Rng, Streams, Time};
use testkit::flash::{SimpleFlash, Unit};
use testkit::oracle::Oracle;

/// Fault probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub read: f64,
    /// Collection reads only.
    pub copy_read: f64,
    pub program: f64,
    pub erase: f64,
    /// Every operation on this die fails.
    pub die: Option<u16>,
    /// Erase count from which every SLC program of a block fails.
    pub slc_cycles: Option<u32>,
}

impl Faults {
    /// Returns true if reads may fail.
    fn lose_data(&self) -> bool {
        self.read + self.copy_read > 0.0 || self.die.is_some()
    }
}

#[derive(Clone, Debug)]
struct SubmittedCommand {
    request: Request,
    asked: u64,
    /// Values written or read so far, one per sector.
    data: Vec<u64>,
    filled: Vec<bool>,
}

enum Pending {
    Read(ReadOp),
    Program(ProgramOp),
    Erase(EraseOp),
    Answer(OpId),
    Arrived(Tag),
}

/// A unit that was copied from one block to another.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    pub from: u32,
    pub to: u32,
    /// Erases of the block that it went to.
    pub erases: u32,
}

pub struct World {
    config: Config,
    pub ftl: Ftl,
    pub flash: SimpleFlash,
    oracle: Oracle,
    ram: Vec<Vec<u64>>,
    commands: Vec<Option<SubmittedCommand>>,
    /// Operations of each die in order of issue; the last queue holds operations of no die.
    queues: Vec<Vec<Pending>>,
    out: Actions,
    rng: Rng,
    pub faults: Faults,
    clock: u64,
    values: u64,
    /// Sectors whose data may have been lost to a failed read.
    forgiven: Vec<bool>,
    pub injected: InjectedFault,
    pub lost_reads: u64,
    pub cuts: u32,
    /// An internal read, and its status when complete.
    probe: Option<Option<Status>>,
    /// The host has requested its memory back and not received it yet.
    releasing: bool,
    /// Block from which the data of each buffer was read, if from flash.
    sources: Vec<Option<u32>>,
    /// Units copied so far from one block to another.
    pub copies: Vec<Copied>,
}

/// Event before a read of the whole drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Nothing,
    PowerCut,
    /// Controller reset, with the host memory lost or kept.
    Reset {
        kept: bool,
    },
}

impl World {
    pub fn new(config: Config, faults: Faults, bad: &[(u16, u32, u32)], seed: u64) -> World {
        let streams = Streams::new(seed);
        let mut flash = SimpleFlash::new(config.geometry);
        for (die, plane, block) in bad {
            flash.info.entry((*die, *plane, *block)).or_default().bad = true;
        }
        let (mut ftl, _) = Ftl::mount(config.clone(), &flash, &streams).expect("a valid configuration");
        if config.host_memory.is_some() {
            ftl.enable_host_memory();
        }
        let unit_sectors = (config.geometry.unit_bytes / 512) as usize;
        let sectors = config.user_units as usize * unit_sectors;
        World {
            ram: vec![vec![u64::MAX; unit_sectors]; ftl.buffer_count() as usize],
            sources: vec![None; ftl.buffer_count() as usize],
            copies: Vec::new(),
            ftl,
            flash,
            oracle: Oracle::new(sectors),
            commands: vec![None; config.tags as usize],
            queues: (0..=config.geometry.all_dies()).map(|_| Vec::new()).collect(),
            out: Actions::default(),
            rng: streams.stream("test.world"),
            faults,
            clock: 1,
            values: 0,
            forgiven: vec![false; sectors],
            injected: InjectedFault::None,
            lost_reads: 0,
            cuts: 0,
            probe: None,
            releasing: false,
            config,
        }
    }

    pub fn sectors(&self) -> u64 {
        self.forgiven.len() as u64
    }

    fn now(&self) -> Time {
        Time::from_us(self.clock)
    }

    /// Returns true if no command has this tag.
    pub fn is_free(&self, tag: Tag) -> bool {
        self.commands[tag.0 as usize].is_none()
    }

    /// Performs one random step.
    pub fn step(&mut self, busy: f64) {
        self.clock += 1;
        if self.config.host_memory.is_some() && self.rng.chance(0.005) {
            self.switch_host_memory();
        }
        if self.rng.unit() < busy && self.submit_random() {
            return;
        }
        if !self.end_one() {
            self.idle();
        }
    }

    /// Writes the whole drive once, in order.
    pub fn fill(&mut self) {
        let unit = u64::from(self.config.geometry.unit_bytes);
        for number in 0..u64::from(self.config.user_units) {
            while self.commands[0].is_some() {
                if !self.end_one() {
                    self.idle();
                }
            }
            self.submit(Tag(0), Request::new(Op::Write, number * unit, unit));
        }
        self.drain();
    }

    /// Performs one random step of a host that only overwrites whole units.
    pub fn step_writing(&mut self) {
        self.step_overwriting(u64::from(self.config.user_units));
    }

    /// Performs one random step of a host that only overwrites whole units, the first `units`.
    pub fn step_overwriting(&mut self, units: u64) {
        self.clock += 1;
        let tag = self.commands.iter().position(Option::is_none).filter(|_| self.rng.chance(0.5));
        if let Some(tag) = tag {
            let unit = u64::from(self.config.geometry.unit_bytes);
            let at = self.rng.below(units);
            self.submit(Tag(tag as u32), Request::new(Op::Write, at * unit, unit));
        } else if !self.end_one() {
            self.idle();
        }
    }

    /// Takes the host memory back, or gives it to the controller again.
    fn switch_host_memory(&mut self) {
        if self.ftl.uses_host_memory() {
            self.releasing = true;
            self.ftl.release_host_memory(&mut self.out);
            self.perform();
        } else if !self.releasing {
            self.ftl.enable_host_memory();
        }
    }

    /// Resets the controller; the content of host memory is kept or lost.
    pub fn reset(&mut self, kept: bool) {
        self.clock += 1;
        self.out = Actions::default();
        let shared = self.queues.len() - 1;
        self.queues[shared].clear();
        self.commands.iter_mut().for_each(|c| *c = None);
        // A controller that is reset while it returns the memory does not receive its content again.
        let (used, releasing) = (self.ftl.uses_host_memory(), self.releasing);
        let kept = !releasing && (kept || !used);
        for (buffer, ram) in (0..).zip(&mut self.ram) {
            if !kept && self.ftl.is_away(buffer) {
                ram.fill(u64::MAX);
            }
        }
        self.ftl.controller_reset(kept, &self.flash);
        self.releasing = false;
        if used && !kept {
            self.ftl.enable_host_memory();
        }
        self.ftl.resume(&mut self.out);
        self.perform();
        self.read_all(After::Reset { kept });
    }

    fn idle(&mut self) {
        if let Some(at) = self.ftl.next_timer() {
            self.clock = self.clock.max(at.ps().div_ceil(1_000_000)) + 1;
            let now = self.now();
            self.ftl.timer(now, &mut self.out);
            self.perform();
        }
    }

    fn submit_random(&mut self) -> bool {
        let Some(tag) = self.commands.iter().position(Option::is_none) else { return false };
        let all = self.sectors();
        let unit = u64::from(self.config.geometry.unit_bytes) / SECTOR;
        // A hot spot makes overwrites of data in RAM, in flight and under collection frequent.
        let at = if self.rng.chance(0.5) { self.rng.below(all / 8) } else { self.rng.below(all) };
        let longest = (all - at).min(unit * 4);
        let length = 1 + self.rng.below(longest);
        let (at, length) = if self.rng.chance(0.6) {
            let from = at / unit * unit;
            (from, (length.div_ceil(unit) * unit).min(all - from))
        } else {
            (at, length)
        };
        let what = self.rng.below(100);
        let op = match what {
            0..=54 => Op::Write,
            55..=84 => Op::Read,
            85..=92 => Op::Trim,
            _ => Op::Flush,
        };
        let (at, length) = if op == Op::Flush { (0, 0) } else { (at, length) };
        let fua = op == Op::Write && self.rng.chance(0.1);
        let placement = if op == Op::Write { self.placement(at) } else { 0 };
        let request = Request { op, fua, offset: at * SECTOR, bytes: length * SECTOR, placement };
        self.submit(Tag(tag as u32), request);
        true
    }

    /// Returns the reclaim unit handle of a write at sector `at`: that of its part of the drive, or sometimes another.
    /// Costs no random draw, so that histories with and without placement issue the same requests.
    fn placement(&self, at: u64) -> u16 {
        let handles = self.config.placement.map_or(1, |placement| u64::from(placement.handles));
        let of_part = at * handles / self.sectors();
        (if self.clock.is_multiple_of(5) { self.clock / 5 % handles } else { of_part }) as u16
    }

    /// Lets a reclaim unit handle write to empty blocks from now on.
    pub fn update_handle(&mut self, handle: u8) {
        let left = self.ftl.reclaim_unit_left(handle);
        let unwritten = self.ftl.update_reclaim_unit_handle(handle, &mut self.out);
        assert!(left <= unwritten.max(self.ftl.reclaim_unit_bytes()), "{left} bytes left of {unwritten}");
        self.perform();
    }

    pub fn submit(&mut self, tag: Tag, request: Request) {
        self.clock += 1;
        let sectors = (request.bytes / SECTOR) as usize;
        let mut command =
            SubmittedCommand { request, asked: self.clock, data: vec![0; sectors], filled: vec![false; sectors] };
        let first = (request.offset / SECTOR) as usize;
        match request.op {
            Op::Write => {
                for i in 0..sectors {
                    self.values += 1;
                    command.data[i] = self.values;
                    self.oracle.asked(first + i, self.values, self.clock);
                }
            }
            Op::Trim => {
                for sector in self.trimmed_sectors(&request) {
                    self.oracle.asked(sector, 0, self.clock);
                }
            }
            _ => {}
        }
        self.commands[tag.0 as usize] = Some(command);
        let now = self.now();
        self.ftl.command(now, tag, &request, &mut self.out);
        self.perform();
    }

    /// Returns the sectors of the units that a trim covers fully.
    fn trimmed_sectors(&self, request: &Request) -> std::ops::Range<usize> {
        let unit = self.config.geometry.unit_bytes as usize / 512;
        let (first, end) = ((request.offset / SECTOR) as usize, (request.end() / SECTOR) as usize);
        let (from, to) = (first.div_ceil(unit) * unit, end / unit * unit);
        from..to.max(from)
    }

    /// Performs the layer's output: applies moves at once, and queues operations.
    fn perform(&mut self) {
        while !self.out.moves.is_empty() || !self.out.actions.is_empty() {
            for m in std::mem::take(&mut self.out.moves) {
                self.apply(m);
            }
            let shared = self.queues.len() - 1;
            for action in std::mem::take(&mut self.out.actions) {
                match action {
                    Action::Read(op) => {
                        let units = op.bytes / self.config.geometry.unit_bytes;
                        let is_copied = op.class == Class::Collection;
                        assert!(!is_copied || op.page.planes.count() <= units, "{op:?} reads a plane for no unit");
                        self.queues[op.page.die as usize].push(Pending::Read(op));
                    }
                    Action::Program(op) => self.queues[op.page.die as usize].push(Pending::Program(op)),
                    Action::Erase(op) => self.queues[op.block.die as usize].push(Pending::Erase(op)),
                    Action::Retire(block) => self.flash.retire(block),
                    Action::Barrier(id) | Action::HostMemory { id, .. } => {
                        self.queues[shared].push(Pending::Answer(id))
                    }
                    Action::HostMemoryFree { .. } | Action::Reallocated { .. } | Action::HandleModified { .. } => {}
                    Action::HostMemoryReleased => self.releasing = false,
                    Action::Ready { tag } => self.queues[shared].push(Pending::Arrived(tag)),
                    Action::Data { end: None, .. } => {}
                    Action::Data { tag, end: Some(status), .. } | Action::Complete { tag, status } => {
                        self.completed(tag, status);
                    }
                }
            }
        }
    }

    fn apply(&mut self, m: Move) {
        match m {
            Move::HostToBuffer { tag, from, sectors, buffer, to } => {
                let command = self.commands[tag.0 as usize].as_ref().expect("a write in progress");
                let data = &command.data[from as usize..(from + sectors) as usize];
                self.ram[buffer as usize][to as usize..(to + sectors) as usize].copy_from_slice(data);
                self.sources[buffer as usize] = None;
            }
            Move::BufferToHost { buffer, from, sectors, tag, to } => {
                let data = self.ram[buffer as usize][from as usize..(from + sectors) as usize].to_vec();
                self.answer_host(tag, to, &data);
            }
            Move::FlashToHost { page, unit, from, sectors, tag, to } => {
                let data = self.unit_data(page, unit)[from as usize..(from + sectors) as usize].to_vec();
                self.answer_host(tag, to, &data);
            }
            Move::FlashToBuffer { page, unit, buffer, keep } => {
                let data = self.unit_data(page, unit);
                self.merge(buffer, keep, &data);
                self.sources[buffer as usize] = Some(page.block);
            }
            Move::BufferToBuffer { from, to, keep } => {
                let data = self.ram[from as usize].clone();
                self.merge(to, keep, &data);
            }
            Move::ZeroToHost { tag, to, sectors } => self.answer_host(tag, to, &vec![0; sectors as usize]),
            Move::ZeroBuffer { buffer, keep } => {
                let data = vec![0; self.ram[buffer as usize].len()];
                self.merge(buffer, keep, &data);
            }
            Move::XorBuffer { from, to } => {
                let data = self.ram[from as usize].clone();
                self.xor(to, &data);
            }
            Move::XorFlash { page, unit, buffer } => {
                let data = self.unit_data(page, unit);
                self.xor(buffer, &data);
            }
        }
    }

    fn unit_data(&self, page: PageAddr, unit: u32) -> Vec<u64> {
        let plane = page.planes.iter().next().expect("one plane");
        let content = self.flash.page(page, plane);
        assert!(!content.torn, "torn page {page:?} is read");
        content.units[unit as usize].data.clone()
    }

    fn merge(&mut self, buffer: u32, keep: u64, data: &[u64]) {
        for (i, (have, new)) in self.ram[buffer as usize].iter_mut().zip(data).enumerate() {
            if keep >> i & 1 == 0 {
                *have = *new;
            }
        }
    }

    /// Combines by exclusive OR; padding has no data and changes nothing.
    fn xor(&mut self, buffer: u32, data: &[u64]) {
        self.ram[buffer as usize].iter_mut().zip(data).for_each(|(have, new)| *have ^= *new);
    }

    fn answer_host(&mut self, tag: Tag, to: u32, data: &[u64]) {
        let command = self.commands[tag.0 as usize].as_mut().expect("a read in progress");
        for (i, value) in data.iter().enumerate() {
            command.data[to as usize + i] = *value;
            command.filled[to as usize + i] = true;
        }
    }

    fn completed(&mut self, tag: Tag, status: Status) {
        if self.probe.is_some() {
            self.probe = Some(Some(status));
            return;
        }
        let command = self.commands[tag.0 as usize].take().expect("a command in progress");
        let SubmittedCommand { request, asked, data, filled } = command;
        self.clock += 1;
        let first = (request.offset / SECTOR) as usize;
        match (request.op, status) {
            (Op::Read, Status::Ok) => {
                for (i, value) in data.iter().enumerate() {
                    assert!(filled[i], "a successful read did not deliver sector {}", first + i);
                    assert!(
                        self.forgiven[first + i] || self.oracle.may_read(first + i, *value, asked, self.clock),
                        "sector {} reads {value}, history {}",
                        first + i,
                        self.oracle.history(first + i)
                    );
                }
            }
            (Op::Read, Status::Uncorrectable) => {
                assert!(self.faults.lose_data(), "a read failed without an injected read fault");
                self.lost_reads += 1;
            }
            (Op::Write, Status::Ok) => {
                for (i, value) in data.iter().enumerate() {
                    self.oracle.acknowledged(first + i, *value, asked, self.clock, request.fua);
                }
            }
            (Op::Trim, Status::Ok) => {
                for sector in self.trimmed_sectors(&request) {
                    self.oracle.acknowledged(sector, 0, asked, self.clock, false);
                }
            }
            (Op::Flush, Status::Ok) => self.oracle.flushed(asked),
            (Op::Write | Op::Flush, Status::NoSpace) => {
                let fails = self.faults.program + self.faults.erase > 0.0 || self.faults.die.is_some();
                assert!(fails, "no space, although no operation failed");
            }
            (op, status) => panic!("{op:?} ended with {status:?}"),
        }
    }

    /// Completes one operation: any read, or the first program or erase of a die.
    fn end_one(&mut self) -> bool {
        let busy: Vec<usize> = (0..self.queues.len()).filter(|q| !self.queues[*q].is_empty()).collect();
        if busy.is_empty() {
            return false;
        }
        let q = busy[self.rng.below(busy.len() as u64) as usize];
        let any: Vec<usize> = (0..self.queues[q].len())
            .filter(|i| {
                let first_write =
                    self.queues[q].iter().position(|p| matches!(p, Pending::Program(_) | Pending::Erase(_)));
                !matches!(self.queues[q][*i], Pending::Program(_) | Pending::Erase(_)) || first_write == Some(*i)
            })
            .collect();
        let at = any[self.rng.below(any.len() as u64) as usize];
        let pending = self.queues[q].remove(at);
        self.end(pending);
        self.perform();
        true
    }

    fn end(&mut self, pending: Pending) {
        match pending {
            Pending::Arrived(tag) => {
                let now = self.now();
                self.ftl.arrived(now, tag, &mut self.out);
            }
            Pending::Answer(id) => self.done(id, Status::Ok),
            Pending::Read(op) => {
                let fails = self.rng.chance(self.faults.read)
                    || self.faults.die == Some(op.page.die)
                    || (op.class == Class::Collection && self.rng.chance(self.faults.copy_read));
                let status = if fails { Status::Uncorrectable } else { Status::Ok };
                self.done(op.id, status);
            }
            Pending::Program(op) => {
                let plane = op.page.planes.iter().next().expect("a plane");
                let erases = self.flash.info_mut(op.page.block(), plane).erases;
                let worn = op.slc && self.faults.slc_cycles.is_some_and(|cycles| erases >= cycles);
                let dead = self.faults.die == Some(op.page.die);
                let fails = self.rng.chance(self.faults.program) || worn || dead;
                let units = self.units_of(op.id);
                if op.class == Class::Collection {
                    let sources = self.ftl.program_units(op.id).filter(|unit| unit.logical != NOBODY);
                    let sources = sources.filter_map(|unit| self.sources[unit.buffer as usize]);
                    self.copies.extend(sources.map(|from| Copied { from, to: op.page.block, erases }));
                }
                // A page whose program failed cannot be read.
                self.flash.program(op.page, op.sequence, op.slc, &units, false);
                if fails {
                    for plane in op.page.planes.iter() {
                        let page = self.flash.pages.get_mut(&(op.page.die, plane, op.page.block, op.page.page));
                        let page = page.expect("just programmed");
                        (page.torn, page.logical) = (true, Vec::new());
                    }
                }
                let status = if fails { Status::Failed } else { Status::Ok };
                self.done(op.id, status);
            }
            Pending::Erase(op) => {
                let fails = self.rng.chance(self.faults.erase) || self.faults.die == Some(op.block.die);
                if fails {
                    self.flash.tear_erase(op.block);
                } else {
                    self.flash.erase(op.block);
                }
                let status = if fails { Status::Failed } else { Status::Ok };
                self.done(op.id, status);
            }
        }
    }

    fn done(&mut self, id: OpId, status: Status) {
        self.ftl.done(id, status, &self.flash, &mut self.out);
    }

    fn units_of(&self, id: OpId) -> Vec<Unit> {
        self.ftl
            .program_units(id)
            .map(|u| Unit {
                logical: u.logical,
                data: if u.logical == media::NOBODY { Vec::new() } else { self.ram[u.buffer as usize].clone() },
                lost: u.lost,
                note: self.ftl.note(u.logical).map(<[u8]>::to_vec).unwrap_or_default(),
            })
            .collect()
    }

    /// Completes all commands in progress.
    pub fn drain(&mut self) {
        let mut steps = 0u64;
        while self.commands.iter().any(Option::is_some) {
            self.clock += 1;
            if !self.end_one() {
                self.idle();
            }
            steps += 1;
            assert!(steps < 200_000, "commands never complete: {:?}", self.commands.iter().flatten().next());
        }
    }

    /// Cuts and restores power: programs and erases in progress are torn, completed, or not begun.
    pub fn power_cut(&mut self) {
        self.cuts += 1;
        self.clock += 1;
        self.out = Actions::default();
        for q in 0..self.queues.len() - 1 {
            let queue = std::mem::take(&mut self.queues[q]);
            // A die performs one operation at a time: only the first write can have begun.
            if let Some(first) = queue.into_iter().find(|p| matches!(p, Pending::Program(_) | Pending::Erase(_))) {
                let how = self.rng.below(3);
                match (first, how) {
                    (Pending::Program(op), 0 | 1) => {
                        let units = self.units_of(op.id);
                        self.flash.program(op.page, op.sequence, op.slc, &units, how == 0);
                    }
                    (Pending::Erase(op), 0) => self.flash.tear_erase(op.block),
                    (Pending::Erase(op), 1) => self.flash.erase(op.block),
                    _ => {}
                }
            }
        }
        self.queues.iter_mut().for_each(Vec::clear);
        self.commands.iter_mut().for_each(|c| *c = None);
        for ram in self.ram.iter_mut().flatten() {
            *ram = u64::MAX;
        }
        let (ftl, _) =
            Ftl::mount(self.config.clone(), &self.flash, &Streams::new(self.clock)).expect("it mounted before");
        self.ftl = ftl;
        self.ftl.inject(self.injected);
        self.releasing = false;
        if self.config.host_memory.is_some() {
            self.ftl.enable_host_memory();
        }
        self.read_all(After::PowerCut);
    }

    /// Reads the whole drive, and checks it against the values that may have survived.
    pub fn read_all(&mut self, after: After) {
        let all = self.sectors();
        let step = 4 * u64::from(self.config.geometry.unit_bytes) / SECTOR;
        let mut at = 0;
        while at < all {
            let sectors = step.min(all - at);
            let (found, status) = self.read_now(at, sectors);
            for (i, value) in found.into_iter().enumerate() {
                let sector = at as usize + i;
                match (status, value) {
                    (Status::Ok, Some(value)) => {
                        let survives = match after {
                            After::Nothing => true,
                            After::Reset { kept: true } => {
                                self.oracle.may_read(sector, value, self.clock, self.clock + 1)
                            }
                            After::PowerCut | After::Reset { kept: false } => self.oracle.may_survive(sector, value),
                        };
                        assert!(
                            self.forgiven[sector] || survives,
                            "after {after:?} sector {sector} holds {value}, history {}",
                            self.oracle.history(sector)
                        );
                        match after {
                            After::Nothing => {}
                            After::PowerCut => self.oracle.settle(sector, value, self.clock),
                            After::Reset { .. } => self.oracle.settle_volatile(sector, value, self.clock),
                        }
                        self.forgiven[sector] = false;
                    }
                    (Status::Uncorrectable, _) => {
                        assert!(self.faults.lose_data(), "sector {sector} cannot be read");
                        self.lost_reads += 1;
                        self.forgiven[sector] = true;
                    }
                    (status, value) => panic!("sector {sector}: {status:?}, {value:?}"),
                }
            }
            at += sectors;
        }
        self.clock += 2;
    }

    fn read_now(&mut self, at: u64, sectors: u64) -> (Vec<Option<u64>>, Status) {
        // No faults are injected here except those of a dead die: unreadable data is lost.
        let faults = self.faults;
        self.faults = Faults { die: faults.die, ..Faults::default() };
        let request = Request::new(Op::Read, at * SECTOR, sectors * SECTOR);
        let asked = self.clock;
        let data = vec![0; sectors as usize];
        let command = SubmittedCommand { request, asked, data, filled: vec![false; sectors as usize] };
        self.commands[0] = Some(command);
        let now = self.now();
        self.ftl.command(now, Tag(0), &request, &mut self.out);
        self.probe = Some(None);
        self.perform();
        while self.probe == Some(None) {
            assert!(self.end_one(), "a read never completes");
        }
        let answer = self.probe.take().flatten();
        self.faults = faults;
        let command = self.commands[0].take().expect("the read");
        let found = command.data.iter().zip(&command.filled).map(|(v, f)| f.then_some(*v)).collect();
        (found, answer.unwrap_or(Status::Ok))
    }
}
