//! The translation layer over simple flash: random commands, operations that complete in random order, power cuts.

use media::{
    Action, Actions, Class, EraseOp, Move, Op, OpId, PageAddr, ProgramOp, ReadOp, Request, SECTOR, Status, Tag,
};
use sim::{Rng, Streams, Time};
use testkit::flash::{SimpleFlash, Unit};
use zones::ftl::{InjectedFault, ZonedFtl, ZonedFtlConfig};
use zones::{Refusal, ZoneState, Zones};

use super::oracle::Zone;

/// Fault probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub read: f64,
    pub copy_read: f64,
    pub program: f64,
    pub erase: f64,
}

#[derive(Clone, Debug)]
struct SubmittedCommand {
    request: Request,
    /// Status that the state machine predicts.
    expected: Option<Refusal>,
    /// Values written, or read so far, one per unit; `None`: not delivered.
    values: Vec<Option<u64>>,
    /// First unit written.
    unit: u64,
    /// By zone that the command concerns: the zone, its epoch at the start, and its acknowledged units then.
    zones: Vec<(u32, u64, usize)>,
}

enum Pending {
    Read(ReadOp),
    Program(ProgramOp),
    Erase(EraseOp),
    Answer(OpId),
    Arrived(Tag),
}

pub struct World {
    config: ZonedFtlConfig,
    pub ftl: ZonedFtl,
    pub flash: SimpleFlash,
    /// The zones as the host knows them.
    mirror: Zones,
    oracle: Vec<Zone>,
    ram: Vec<u64>,
    commands: Vec<Option<SubmittedCommand>>,
    /// Operations of each die in order of issue; the last queue holds operations of no die.
    queues: Vec<Vec<Pending>>,
    out: Actions,
    rng: Rng,
    faults: Faults,
    pub injected: Option<InjectedFault>,
    clock: u64,
    values: u64,
    pub cuts: u32,
    pub refused: u32,
    pub from_log: u32,
    pub replaced: u32,
}

impl World {
    pub fn new(config: ZonedFtlConfig, faults: Faults, bad: &[(u16, u32, u32)], seed: u64) -> World {
        let mut flash = SimpleFlash::new(config.geometry);
        for (die, plane, block) in bad {
            flash.info.entry((*die, *plane, *block)).or_default().bad = true;
        }
        let (ftl, _) = ZonedFtl::mount(config.clone(), &flash).expect("a valid configuration");
        let mut world = World {
            ram: vec![u64::MAX; ftl.buffer_count() as usize],
            mirror: ftl.zones().clone(),
            ftl,
            flash,
            oracle: vec![Zone::new(); config.zones.zones as usize],
            commands: vec![None; config.tags as usize],
            queues: (0..=config.geometry.all_dies()).map(|_| Vec::new()).collect(),
            out: Actions::default(),
            rng: Streams::new(seed).stream("test.world"),
            faults,
            injected: None,
            clock: 1,
            values: 0,
            cuts: 0,
            refused: 0,
            from_log: 0,
            replaced: 0,
            config,
        };
        world.ftl.resume(&mut world.out);
        world.perform();
        world
    }

    fn now(&self) -> Time {
        Time::from_us(self.clock)
    }

    fn unit_bytes(&self) -> u64 {
        u64::from(self.config.geometry.unit_bytes)
    }

    /// Performs one random step.
    pub fn step(&mut self, busy: f64) {
        self.clock += 1;
        if self.rng.unit() < busy && self.submit_random() {
            return;
        }
        if !self.end_one() {
            self.idle();
        }
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
        let zones = self.config.zones;
        let zone = self.rng.below(u64::from(zones.zones)) as u32;
        let (start, written) = (self.mirror.start(zone), self.mirror.written(zone));
        let left = (zones.capacity - written).max(1);
        let most = left.min(u64::from(self.config.write_max())).min(12);
        let units = 1 + self.rng.below(most);
        let (op, first, units) = match self.rng.below(100) {
            0..=39 => {
                // Some writes miss the write pointer, or exceed the zone.
                let stray = self.rng.chance(0.03);
                let at = if stray { self.rng.below(zones.size) } else { written.min(zones.size - 1) };
                (Op::Write, start + at, units.min(self.mirror.config().blocks() - start - at))
            }
            40..=59 => (Op::Append, start, units),
            60..=79 => {
                let from = self.rng.below(zones.blocks());
                (Op::Read, from, 1 + self.rng.below((zones.blocks() - from).min(16)))
            }
            80..=84 => (Op::Flush, 0, 0),
            85..=90 => (Op::ZoneReset, start, zones.size),
            91..=93 => (Op::ZoneFinish, start, zones.size),
            94 | 95 => (Op::ZoneOpen, start, zones.size),
            96 | 97 => (Op::ZoneClose, start, zones.size),
            98 => (Op::ZoneFinish, 0, zones.blocks()),
            _ if self.rng.chance(0.3) => (Op::ZoneReset, 0, zones.blocks()),
            _ => (Op::ZoneClose, 0, zones.blocks()),
        };
        let fua = op.writes() && self.rng.chance(0.1);
        let (offset, bytes) = (first * self.unit_bytes(), units * self.unit_bytes());
        self.submit(Tag(tag as u32), Request { op, fua, offset, bytes, placement: 0 });
        true
    }

    fn submit(&mut self, tag: Tag, request: Request) {
        self.clock += 1;
        // Zones that ran out of blocks are the layer's to announce.
        for zone in 0..self.config.zones.zones {
            if self.ftl.zones().state(zone) == ZoneState::ReadOnly {
                self.mirror.lose_writes(zone);
            }
        }
        let (first, units) = (request.offset / self.unit_bytes(), request.bytes / self.unit_bytes());
        let mut command = SubmittedCommand {
            request,
            expected: None,
            values: vec![None; units as usize],
            unit: first,
            zones: Vec::new(),
        };
        if request.op.manages_zones() {
            command.values.clear();
            self.predict_management(&mut command, first, units);
        } else if request.op.writes() {
            self.predict_write(&mut command, first, units);
        } else {
            let all = if request.op == Op::Flush { 0..self.oracle.len() as u32 } else { self.range(first, units) };
            for zone in all {
                let of = &mut self.oracle[zone as usize];
                command.zones.push((zone, of.now(), of.current().acknowledged));
            }
            command.expected = (request.op == Op::Read).then(|| self.mirror.read(first, units).err()).flatten();
        }
        self.commands[tag.0 as usize] = Some(command);
        let now = self.now();
        self.ftl.command(now, tag, &request, &mut self.out);
        self.perform();
    }

    fn range(&self, first: u64, units: u64) -> std::ops::Range<u32> {
        let zone = |unit| self.mirror.zone_of(unit).unwrap_or(self.config.zones.zones - 1);
        zone(first)..zone(first + units - 1) + 1
    }

    fn predict_write(&mut self, command: &mut SubmittedCommand, first: u64, units: u64) {
        let is_append = command.request.op == Op::Append;
        let result = if is_append { self.mirror.append(first, units) } else { self.mirror.write(first, units) };
        match result {
            Ok(written) => {
                let of = &mut self.oracle[written.zone as usize];
                command.zones.push((written.zone, of.now(), 0));
                command.unit = written.block;
                for value in &mut command.values {
                    self.values += 1;
                    *value = Some(self.values);
                    of.current().values.push(self.values);
                }
                if written.full {
                    of.current().may_be_full = true;
                }
            }
            Err(failure) => command.expected = Some(failure),
        }
    }

    fn predict_management(&mut self, command: &mut SubmittedCommand, first: u64, units: u64) {
        let all = units > self.config.zones.size;
        let zones: Vec<u32> =
            if all { (0..self.config.zones.zones).collect() } else { self.range(first, units).collect() };
        for zone in zones {
            let before = self.mirror.state(zone);
            let of = &mut self.oracle[zone as usize];
            let result = match command.request.op {
                Op::ZoneOpen => self.mirror.open(zone).map(|_| ()),
                Op::ZoneClose if all && !before.is_open() => continue,
                Op::ZoneClose => self.mirror.close(zone),
                Op::ZoneFinish if all && !before.is_active() => continue,
                // A full zone need not be durable yet, and finishing it changes nothing.
                Op::ZoneFinish if before == ZoneState::Full => continue,
                Op::ZoneFinish => self.mirror.finish(zone).map(|_| of.current().may_be_full = true),
                _ if all && !before.is_active() && before != ZoneState::Full => continue,
                _ => self.mirror.reset(zone).map(|_| {
                    if before != ZoneState::Empty {
                        of.reset()
                    }
                }),
            };
            match result {
                Ok(()) => command.zones.push((zone, of.now(), of.current().values.len())),
                Err(failure) => command.expected = Some(failure),
            }
        }
    }

    /// Performs the layer's output: applies moves at once, and queues operations.
    fn perform(&mut self) {
        while !self.out.moves.is_empty() || !self.out.actions.is_empty() {
            for movement in std::mem::take(&mut self.out.moves) {
                self.apply(movement);
            }
            let shared = self.queues.len() - 1;
            for action in std::mem::take(&mut self.out.actions) {
                match action {
                    Action::Read(op) => self.queues[op.page.die as usize].push(Pending::Read(op)),
                    Action::Program(op) => self.queues[op.page.die as usize].push(Pending::Program(op)),
                    Action::Erase(op) => self.queues[op.block.die as usize].push(Pending::Erase(op)),
                    Action::Retire(block) => self.flash.retire(block),
                    Action::Barrier(id) => self.queues[shared].push(Pending::Answer(id)),
                    Action::Ready { tag } => self.queues[shared].push(Pending::Arrived(tag)),
                    Action::Data { end: None, .. } => {}
                    Action::Data { tag, end: Some(status), .. } | Action::Complete { tag, status } => {
                        self.completed(tag, status);
                    }
                    other => panic!("{other:?} of a drive without a cached map"),
                }
            }
        }
    }

    fn apply(&mut self, movement: Move) {
        let sectors = (self.unit_bytes() / SECTOR) as u32;
        match movement {
            Move::HostToBuffer { tag, from, buffer, .. } => {
                let command = self.commands[tag.0 as usize].as_ref().expect("a write in progress");
                self.ram[buffer as usize] = command.values[(from / sectors) as usize].expect("a value");
            }
            Move::BufferToHost { buffer, tag, to, .. } => self.deliver(tag, to / sectors, self.ram[buffer as usize]),
            Move::FlashToHost { page, unit, tag, to, .. } => {
                let value = self.unit_value(page, unit);
                self.deliver(tag, to / sectors, value);
            }
            Move::FlashToBuffer { page, unit, buffer, keep: 0 } => {
                self.ram[buffer as usize] = self.unit_value(page, unit);
            }
            Move::ZeroToHost { tag, to, .. } => self.deliver(tag, to / sectors, 0),
            other => panic!("{other:?} of a drive that writes whole units"),
        }
    }

    fn unit_value(&self, page: PageAddr, unit: u32) -> u64 {
        let plane = page.planes.iter().next().expect("one plane");
        let content = self.flash.page(page, plane);
        assert!(!content.torn, "torn page {page:?} is read");
        content.units[unit as usize].data[0]
    }

    fn deliver(&mut self, tag: Tag, at: u32, value: u64) {
        let command = self.commands[tag.0 as usize].as_mut().expect("a read in progress");
        command.values[at as usize] = Some(value);
    }

    fn completed(&mut self, tag: Tag, status: Status) {
        let command = self.commands[tag.0 as usize].take().expect("a command in progress");
        self.clock += 1;
        let fails = self.faults.program + self.faults.erase > 0.0;
        if let Status::Refused(refusal) = status {
            let lost = self.mirror_lost(&command);
            assert!(command.expected == Some(refusal) || lost, "{command:?} ended with {status:?}");
            self.refused += 1;
            return;
        }
        match status {
            Status::Uncorrectable => {
                assert_eq!(command.request.op, Op::Read);
                assert!(self.faults.read + self.faults.copy_read > 0.0, "a read failed without a fault");
                return;
            }
            Status::NoSpace => return assert!(fails, "no space, although no operation failed"),
            _ => assert!(command.expected.is_none() && status == Status::Ok, "{command:?} ended with {status:?}"),
        }
        match command.request.op {
            Op::Read => self.check_read(&command),
            Op::Write | Op::Append => self.acknowledge(tag, &command),
            Op::Flush => {
                for (zone, epoch, units) in command.zones {
                    if let Some(epoch) = self.oracle[zone as usize].epoch(epoch) {
                        epoch.durable = epoch.durable.max(units);
                    }
                }
            }
            Op::ZoneReset => {
                for (zone, epoch, _) in command.zones {
                    self.oracle[zone as usize].reset_is_durable(epoch);
                }
            }
            Op::ZoneFinish => {
                for (zone, epoch, units) in command.zones {
                    if let Some(epoch) = self.oracle[zone as usize].epoch(epoch) {
                        (epoch.durable, epoch.must_be_full) = (epoch.durable.max(units), true);
                    }
                }
            }
            Op::ZoneOpen | Op::ZoneClose | Op::Trim => {}
        }
    }

    /// Returns true if a zone of the command became read only meanwhile.
    fn mirror_lost(&self, command: &SubmittedCommand) -> bool {
        let (first, units) = (command.request.offset / self.unit_bytes(), command.request.bytes / self.unit_bytes());
        self.range(first, units.max(1)).any(|zone| self.ftl.zones().state(zone) == ZoneState::ReadOnly)
    }

    fn check_read(&mut self, command: &SubmittedCommand) {
        for (at, value) in (0..).zip(&command.values) {
            let unit = command.unit + at;
            let (zone, in_zone) = (unit / self.config.zones.size, (unit % self.config.zones.size) as usize);
            let value = value.unwrap_or_else(|| panic!("a successful read did not deliver unit {unit}"));
            let (_, epoch, acknowledged) = command.zones[(zone as u32 - command.zones[0].0) as usize];
            let of = &self.oracle[zone as usize];
            assert!(
                of.may_read(in_zone, value, epoch, acknowledged),
                "unit {in_zone} of zone {zone} reads {value}: {acknowledged} units of epoch {epoch}, {of:?}"
            );
        }
    }

    fn acknowledge(&mut self, tag: Tag, command: &SubmittedCommand) {
        let (zone, epoch, _) = command.zones[0];
        assert_eq!(u64::from(self.ftl.written_at(tag)), command.unit, "{command:?}");
        let end = (command.unit % self.config.zones.size) as usize + command.values.len();
        if let Some(epoch) = self.oracle[zone as usize].epoch(epoch) {
            epoch.acknowledged = epoch.acknowledged.max(end);
            if self.config.protected || !self.config.write_back || command.request.fua {
                epoch.durable = epoch.durable.max(end);
            }
        }
    }

    /// Completes one operation: any read, or the first program or erase of a die.
    fn end_one(&mut self) -> bool {
        let busy: Vec<usize> = (0..self.queues.len()).filter(|q| !self.queues[*q].is_empty()).collect();
        if busy.is_empty() {
            return false;
        }
        let q = busy[self.rng.below(busy.len() as u64) as usize];
        let changes = |p: &Pending| matches!(p, Pending::Program(_) | Pending::Erase(_));
        let first = self.queues[q].iter().position(changes);
        let all = 0..self.queues[q].len();
        let any: Vec<usize> = all.filter(|i| !changes(&self.queues[q][*i]) || first == Some(*i)).collect();
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
                let rate = if op.class == Class::Host { self.faults.read } else { self.faults.copy_read };
                let status = if self.rng.chance(rate) { Status::Uncorrectable } else { Status::Ok };
                self.done(op.id, status);
            }
            Pending::Program(op) => {
                let fails = self.rng.chance(self.faults.program);
                self.program(op, fails);
                self.done(op.id, if fails { Status::Failed } else { Status::Ok });
            }
            Pending::Erase(op) => {
                let fails = self.rng.chance(self.faults.erase);
                if fails {
                    self.flash.tear_erase(op.block);
                } else {
                    self.flash.erase(op.block);
                }
                self.done(op.id, if fails { Status::Failed } else { Status::Ok });
            }
        }
    }

    fn program(&mut self, op: ProgramOp, torn: bool) {
        let units: Vec<Unit> = self
            .ftl
            .program_units(op.id)
            .map(|unit| Unit {
                logical: unit.logical,
                data: vec![if unit.logical == media::NOBODY { 0 } else { self.ram[unit.buffer as usize] }],
                lost: unit.lost,
                note: self.ftl.note(unit.logical).map(<[u8]>::to_vec).unwrap_or_default(),
            })
            .collect();
        self.flash.program(op.page, self.ftl.program_sequence(op.id), op.slc, &units, torn);
    }

    fn done(&mut self, id: OpId, status: Status) {
        self.ftl.done(id, status, &self.flash, &mut self.out);
    }

    /// Completes all commands in progress.
    pub fn drain(&mut self) {
        let mut steps = 0;
        while self.commands.iter().any(Option::is_some) {
            self.clock += 1;
            if !self.end_one() {
                self.idle();
            }
            steps += 1;
            assert!(steps < 200_000, "commands never complete: {:?}", self.commands.iter().flatten().next());
        }
    }

    /// Resets the controller.
    pub fn reset(&mut self) {
        self.out = Actions::default();
        let shared = self.queues.len() - 1;
        self.queues[shared].clear();
        self.commands.iter_mut().for_each(|command| *command = None);
        self.ftl.controller_reset();
        self.ftl.resume(&mut self.out);
        self.perform();
        self.mirror = self.ftl.zones().clone();
        for zone in 0..self.config.zones.zones {
            let (written, full) = (self.mirror.written(zone) as usize, self.mirror.state(zone) == ZoneState::Full);
            let epoch = self.oracle[zone as usize].current();
            assert!(written >= epoch.acknowledged, "zone {zone} lost acknowledged units in a reset");
            epoch.values.truncate(written);
            epoch.may_be_full |= full;
            if !full {
                assert!(!epoch.must_be_full, "zone {zone} was finished");
            }
        }
        self.read_all();
    }

    /// Cuts and restores power: programs and erases in progress are torn, completed, or not begun. A protected buffer is
    /// written out before.
    pub fn power_cut(&mut self) {
        self.cuts += 1;
        self.clock += 1;
        if self.config.protected {
            let shared = self.queues.len() - 1;
            self.queues[shared].clear();
            self.ftl.write_out(&mut self.out);
            self.settle_alone();
            assert!(self.ftl.is_written_out() || self.faults.program > 0.0, "the buffer was not written out");
        }
        self.out = Actions::default();
        for q in 0..self.queues.len() - 1 {
            let queue = std::mem::take(&mut self.queues[q]);
            // A die performs one operation at a time: only the first write can have begun.
            let first = queue.into_iter().find(|p| matches!(p, Pending::Program(_) | Pending::Erase(_)));
            match (first, self.rng.below(3)) {
                (Some(Pending::Program(op)), how @ (0 | 1)) => self.program(op, how == 0),
                (Some(Pending::Erase(op)), 0) => self.flash.tear_erase(op.block),
                (Some(Pending::Erase(op)), 1) => self.flash.erase(op.block),
                _ => {}
            }
        }
        self.queues.iter_mut().for_each(Vec::clear);
        self.commands.iter_mut().for_each(|command| *command = None);
        self.ram.fill(u64::MAX);
        let (ftl, report) = ZonedFtl::mount(self.config.clone(), &self.flash).expect("it mounted before");
        self.ftl = ftl;
        self.ftl.inject(self.injected);
        self.from_log += report.from_log;
        self.replaced += report.replaced;
        self.check_blocks();
        self.ftl.resume(&mut self.out);
        self.perform();
        self.check_blocks();
        self.mirror = self.ftl.zones().clone();
        let no_room = self.config.zones.active_max == Some(self.mirror.active_count());
        for zone in 0..self.config.zones.zones {
            let written = self.mirror.written(zone);
            let values = self.read_zone(zone, written);
            let full = self.mirror.state(zone) == ZoneState::Full;
            let capacity = self.config.zones.capacity as usize;
            self.oracle[zone as usize].survived(zone, values, full, capacity, no_room);
        }
    }

    /// Completes all operations without a host.
    fn settle_alone(&mut self) {
        let mut rounds = 0;
        loop {
            for movement in std::mem::take(&mut self.out.moves) {
                if !matches!(movement, Move::FlashToHost { .. } | Move::BufferToHost { .. } | Move::ZeroToHost { .. }) {
                    self.apply(movement);
                }
            }
            for action in std::mem::take(&mut self.out.actions) {
                match action {
                    Action::Read(op) => self.queues[op.page.die as usize].push(Pending::Read(op)),
                    Action::Program(op) => self.queues[op.page.die as usize].push(Pending::Program(op)),
                    Action::Erase(op) => self.queues[op.block.die as usize].push(Pending::Erase(op)),
                    Action::Retire(block) => self.flash.retire(block),
                    _ => {}
                }
            }
            let busy = (0..self.queues.len() - 1).find(|q| !self.queues[*q].is_empty());
            let Some(q) = busy else { return };
            rounds += 1;
            assert!(rounds < 100_000, "the buffer is never written out");
            let pending = self.queues[q].remove(0);
            self.end(pending);
        }
    }

    /// Returns the values of the first `units` units of a zone, and checks that zeros follow.
    fn read_zone(&mut self, zone: u32, units: u64) -> Vec<u64> {
        let faults = std::mem::take(&mut self.faults);
        let start = self.mirror.start(zone);
        let request = Request::new(Op::Read, start * self.unit_bytes(), self.config.zones.size * self.unit_bytes());
        let values = vec![None; self.config.zones.size as usize];
        let tag = self.commands.len() as u32 - 1;
        assert!(self.commands[tag as usize].is_none());
        self.commands[tag as usize] =
            Some(SubmittedCommand { request, expected: None, values, unit: start, zones: Vec::new() });
        let now = self.now();
        self.ftl.command(now, Tag(tag), &request, &mut self.out);
        let mut end = None;
        loop {
            for movement in std::mem::take(&mut self.out.moves) {
                self.apply(movement);
            }
            let done = |a: &Action| matches!(a, Action::Data { tag: Tag(t), end: Some(_), .. } if *t == tag);
            let at = self.out.actions.iter().position(done);
            if let Some(at) = at {
                end = Some(self.out.actions.remove(at));
            }
            self.perform();
            if end.is_some() {
                break;
            }
            assert!(self.end_one_quietly(), "a read never completes");
        }
        self.faults = faults;
        let command = self.commands[tag as usize].take().expect("the read");
        let Some(Action::Data { end: Some(status), .. }) = end else { unreachable!() };
        if status == Status::Uncorrectable {
            // Units were lost when their block was replaced; the oracle's values stand in for them.
            assert!(self.faults.copy_read > 0.0, "zone {zone} cannot be read");
            return self.oracle[zone as usize].completed(&command.values[..units as usize]);
        }
        let all: Vec<u64> = command.values.into_iter().map(|value| value.expect("delivered")).collect();
        assert!(all[units as usize..].iter().all(|value| *value == 0), "zone {zone} after its write pointer: {all:?}");
        all[..units as usize].to_vec()
    }

    /// Like [`end_one`](Self::end_one), without performing what follows.
    fn end_one_quietly(&mut self) -> bool {
        let reads = |p: &Pending| matches!(p, Pending::Read(_));
        let found = (0..self.queues.len()).find_map(|q| Some((q, self.queues[q].iter().position(reads)?)));
        let Some((q, at)) = found else { return self.end_one() };
        let pending = self.queues[q].remove(at);
        self.end(pending);
        true
    }

    /// Checks that every good block is free or has one owner.
    fn check_blocks(&self) {
        let misowned = self.ftl.misowned_block(&self.flash);
        assert!(misowned.is_none(), "{}", misowned.unwrap_or_default());
    }

    /// Reads all zones, and checks them against the values last written.
    pub fn read_all(&mut self) {
        self.check_blocks();
        for zone in 0..self.config.zones.zones {
            let written = self.ftl.zones().written(zone);
            let values = self.read_zone(zone, written);
            let of = &mut self.oracle[zone as usize];
            let (now, acknowledged) = (of.now(), of.current().acknowledged);
            for (unit, value) in values.into_iter().enumerate() {
                assert!(of.may_read(unit, value, now, acknowledged), "unit {unit} of zone {zone}: {value}, {of:?}");
            }
        }
    }
}
