//! Independent plane reads: single planes of a die read pages of their own at the same time.
//!
//! Each plane then has its own array, registers and data on the channel, like a die without cache and multi-plane
//! operations: it is a [`Die`] without queues, numbered after the real ones. Programs, erases and multi-plane reads
//! need the whole die: they wait until no plane reads, and no plane starts a read meanwhile. Queues and their order
//! belong to the die. If the plane of the first waiting read of a queue is busy, the first read with a free plane goes
//! ahead; other operations (collection, or all in order of arrival) do not overtake each other.

use sim::{Schedule, Time};

use crate::channel::{COMMANDS, DATA};
use crate::config::Config;
use crate::die::{Die, DieStats, NOWHERE, Phase};
use crate::nand::{Event, Nand};
use crate::schedule::is_taken;
use crate::schedule::op::{HOST, MAP, NONE, OpKind, REST};

/// Read state of every die's planes; empty unless they read independently.
pub(crate) struct Independent {
    planes: usize,
    dies: Vec<Reading>,
}

/// Plane reads of one die.
#[derive(Clone, Copy, Default)]
struct Reading {
    /// Planes that sense a page or hold its data.
    active: u32,
    /// Time during which at least one plane sensed, up to `until`, which may lie in the future. The last interval added
    /// starts at `from`; the one before it ended at `before`.
    time: Time,
    before: Time,
    from: Time,
    until: Time,
}

impl Reading {
    /// Adds an interval; intervals come in order of `begin`.
    fn add(&mut self, begin: Time, end: Time) {
        if end <= self.until {
            return;
        }
        (self.before, self.from) = (self.until, begin.max(self.until));
        self.time += end - self.from;
        self.until = end;
    }

    /// Time until `now` during which at least one plane sensed.
    fn so_far(&self, now: Time) -> Time {
        self.time - self.until.saturating_sub(now.max(self.from)) - self.before.saturating_sub(now)
    }
}

/// The next step of a die.
enum Turn {
    Nothing,
    /// Resume the suspended operation.
    Resume,
    /// Start a read (id, predecessor in its queue, plane entry).
    Plane(u32, u32, usize),
    /// Start an operation that occupies the whole die.
    Whole(u32),
}

impl Independent {
    /// Appends the plane entries to `dies`, if planes read independently.
    pub(crate) fn new(config: &Config, dies: &mut Vec<Die>) -> Independent {
        let planes = (config.geometry.planes * config.span.planes) as usize;
        if !config.scheduling.independent_reads {
            return Independent { planes, dies: Vec::new() };
        }
        let count = dies.len();
        dies.extend((0..count * planes).map(|plane| Die::new(config.geometry.channel_of((plane / planes) as u16))));
        Independent { planes, dies: vec![Reading::default(); count] }
    }

    /// Timeline rows of the planes.
    pub(crate) fn tracks(&self) -> Vec<(String, String)> {
        let planes = (0..self.dies.len()).flat_map(|die| (0..self.planes).map(move |plane| (die, plane)));
        planes.map(|(die, plane)| ("flash planes".to_owned(), format!("die {die} plane {plane}"))).collect()
    }

    /// Resets the planes after a power cut.
    pub(crate) fn power_cut(&mut self, now: Time) {
        for reading in &mut self.dies {
            *reading = Reading { time: reading.so_far(now), ..Reading::default() };
        }
    }

    /// Entry of a plane among the dies.
    fn unit(&self, die: usize, plane: u32) -> usize {
        self.dies.len() + die * self.planes + plane as usize
    }

    /// Die of an entry, which is a die or a plane.
    fn die_of(&self, entry: usize) -> usize {
        entry.checked_sub(self.dies.len()).map_or(entry, |plane| plane / self.planes)
    }
}

impl Nand {
    /// Queues an operation and starts it if possible.
    #[inline(never)]
    pub(crate) fn submit_to_planes<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, s: &mut S) {
        let queue = self.ops[id].queue as usize;
        let d = &mut self.dies[die];
        d.load += 1;
        d.queues[queue].push_back(&mut self.ops, id);
        if d.load == 1 && self.tables.forgets {
            self.forget_pages(die);
        }
        self.advance_planes(now, die, s);
        if queue != REST {
            self.consider_suspension(now, die, s);
        }
    }

    /// Starts every operation that the die of `entry` can start, or enlists the die for its channel.
    pub(crate) fn advance_planes<S: Schedule<Event>>(&mut self, now: Time, entry: usize, s: &mut S) {
        let die = self.independent.die_of(entry);
        loop {
            let turn = self.turn_of_planes(die);
            let list = match turn {
                Turn::Nothing => return,
                Turn::Resume => {
                    // Neither command nor data; another program may follow it into the cache register.
                    self.forget_pages(die);
                    self.resume(now, die, s);
                    continue;
                }
                Turn::Whole(id) if self.ops[id].kind == OpKind::Program => DATA,
                Turn::Whole(_) | Turn::Plane(..) => COMMANDS,
            };
            if !self.channels[self.dies[die].channel as usize].is_free(now) {
                return self.wait(die, list, s);
            }
            self.take_turn(now, die, &turn, s);
        }
    }

    /// Gives the channel to `die`, which waited in `list`, if it can still start an operation.
    pub(crate) fn grant_planes<S: Schedule<Event>>(
        &mut self,
        now: Time,
        number: usize,
        die: usize,
        list: usize,
        s: &mut S,
    ) {
        let turn = self.turn_of_planes(die);
        match turn {
            Turn::Nothing => {}
            Turn::Resume => self.advance_planes(now, die, s),
            Turn::Whole(id) if list == COMMANDS && self.ops[id].kind == OpKind::Program => {
                self.channels[number].enlist(&mut self.dies, die as u32, DATA);
            }
            Turn::Whole(_) | Turn::Plane(..) => {
                self.take_turn(now, die, &turn, s);
                self.advance_planes(now, die, s);
            }
        }
    }

    /// Returns the next step of `die`.
    fn turn_of_planes(&self, die: usize) -> Turn {
        let d = &self.dies[die];
        if is_taken(&self.tables, d) {
            return Turn::Nothing;
        }
        let id = self.turn(d);
        if !d.is_at_rest() {
            // Only another program can run next to an operation on the whole die.
            let cached = d.phase == Phase::Busy && id != NONE && self.overlaps(d, id);
            return if cached { Turn::Whole(id) } else { Turn::Nothing };
        }
        let idle = self.independent.dies[die].active == 0;
        if id == NONE || id == d.queues[REST].head {
            return match (d.suspended != NONE, id) {
                // A suspended operation precedes other ones.
                (true, _) => {
                    if idle {
                        Turn::Resume
                    } else {
                        Turn::Nothing
                    }
                }
                (false, NONE) => Turn::Nothing,
                (false, id) => self.turn_in(die, id, true),
            };
        }
        let first = self.ops[id].queue as usize;
        match self.turn_in(die, id, false) {
            // All planes for its queue are busy: try the other urgent queue.
            Turn::Nothing => match d.queues[HOST + MAP - first].head {
                NONE => Turn::Nothing,
                id => self.turn_in(die, id, false),
            },
            turn => turn,
        }
    }

    /// Returns the first operation that can start in the queue that begins with `id`; only `id` itself if `in_order`.
    fn turn_in(&self, die: usize, id: u32, in_order: bool) -> Turn {
        let (mut before, mut at) = (NONE, id);
        while at != NONE {
            let op = &self.ops[at];
            if op.kind != OpKind::Read || op.plane_count > 1 {
                let can = before == NONE && self.independent.dies[die].active == 0;
                return if can { Turn::Whole(at) } else { Turn::Nothing };
            }
            let unit = self.independent.unit(die, op.plane(self.tables.span.planes));
            let u = &self.dies[unit];
            if u.phase == Phase::Idle && (u.out == NONE || self.tables.cache_read) {
                return Turn::Plane(at, before, unit);
            }
            if in_order {
                break;
            }
            (before, at) = (at, op.next);
        }
        Turn::Nothing
    }

    /// Starts an operation. The channel is free.
    fn take_turn<S: Schedule<Event>>(&mut self, now: Time, die: usize, turn: &Turn, s: &mut S) {
        match *turn {
            Turn::Nothing | Turn::Resume => {}
            Turn::Whole(id) => {
                self.forget_pages(die);
                self.start_first(now, die, id, s);
            }
            Turn::Plane(id, before, unit) => {
                let queue = self.ops[id].queue as usize;
                let d = &mut self.dies[die];
                d.queues[queue].remove(&mut self.ops, id, before);
                d.count_turn(&self.ops[id]);
                self.ops[id].next = NONE;
                self.dies[unit].load += 1;
                self.start(now, unit, id, OpKind::Read, s);
                let (u, reading) = (&self.dies[unit], &mut self.independent.dies[die]);
                reading.active += u32::from(u.load == 1);
                reading.add(u.begin, u.end);
            }
        }
    }

    /// Invalidates the page registers of the planes of `die`.
    pub(crate) fn forget_pages(&mut self, die: usize) {
        for plane in 0..self.independent.planes as u32 {
            self.dies[self.independent.unit(die, plane)].sensed = NOWHERE;
        }
    }

    /// Handles the end of a read's transfer from `entry`, a plane or a die, over channel `number`.
    #[inline(never)]
    pub(crate) fn plane_released<S: Schedule<Event>>(&mut self, now: Time, entry: usize, number: usize, s: &mut S) {
        let die = self.independent.die_of(entry);
        if entry != die {
            self.dies[die].load -= 1;
            self.independent.dies[die].active -= u32::from(self.dies[entry].load == 0);
        }
        if self.dies[entry].phase == Phase::Holding {
            self.output(now, entry, s);
        }
        self.advance_planes(now, die, s);
        self.grant(now, number, s);
    }

    /// Adds the planes' counters to those of their die. Overlapping sense times count once.
    pub(crate) fn add_planes(&self, now: Time, die: usize, stats: &mut DieStats) {
        let Some(reading) = self.independent.dies.get(die) else { return };
        stats.reading += reading.so_far(now);
        for plane in 0..self.independent.planes as u32 {
            let u = &self.dies[self.independent.unit(die, plane)];
            stats.reads += u.stats.reads;
            stats.holding += u.stats.holding + if u.out == NONE { Time::ZERO } else { now - u.out_since };
        }
    }
}
