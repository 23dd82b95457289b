//! Scheduling: the queues of the dies and the lists of the channels.

pub(crate) mod budget;
pub(crate) mod independent;
pub(crate) mod op;
pub(crate) mod start;
pub(crate) mod steps;
pub(crate) mod suspend;

use sim::{Lane, Schedule, Time};

use crate::channel::{COMMANDS, Channel, DATA};
use crate::die::{Die, Phase};
use crate::nand::{Event, Nand, lane};
use crate::schedule::op::{HOST, MAP, NONE, Op, OpKind, REST};
use crate::tables::Tables;

/// Returns the next read of the host, if only such reads wait for the die and it can read: the usual case.
#[inline]
fn next_read(tables: &Tables, d: &Die) -> Option<u32> {
    let [host, map, rest] = d.queues.map(|q| q.head);
    let free = d.phase == Phase::Idle && (d.out == NONE || tables.cache_read);
    let only = free && d.suspended & map & rest == NONE && !tables.independent;
    (only && host != NONE).then_some(host)
}

/// Returns whether a die's array is busy with work that excludes any other start.
#[inline]
pub(crate) fn is_taken(tables: &Tables, d: &Die) -> bool {
    d.phase != Phase::Idle && !tables.overlaps
}

impl Nand {
    /// A die and its channel are free again: continues the work that waits for either.
    #[inline]
    pub(crate) fn released<S: Schedule<Event>>(&mut self, now: Time, die: usize, number: usize, s: &mut S) {
        let Nand { tables, dies, channels, .. } = self;
        let (d, channel) = (&dies[die], &mut channels[number]);
        let next = next_read(tables, d);
        if channel.waiting == 0 {
            return match next {
                Some(id) => self.start_next_read(now, die, id, s),
                None => self.advance(now, die, s),
            };
        }
        match next {
            // Other dies wait for the channel, too: join them.
            Some(_) => channel.enlist(dies, die as u32, COMMANDS),
            None if d.load != 0 && !is_taken(tables, d) => self.join(now, die, s),
            None => {}
        }
        self.grant(now, number, s);
    }

    /// Starts a newly queued operation if possible, or suspends the die's current one.
    #[inline(never)]
    pub(crate) fn go_on<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, s: &mut S) {
        let (queue, kind) = (self.ops[id].queue as usize, self.ops[id].kind);
        let d = &self.dies[die];
        if d.load == 1 {
            // The die is idle, so only the channel is busy.
            return self.wait(die, if kind == OpKind::Program { DATA } else { COMMANDS }, s);
        }
        if self.tables.overlaps {
            self.advance_overlapping(now, die, s);
        } else if d.is_at_rest() {
            self.go_next(now, die, s);
        }
        if queue != REST && !self.dies[die].queues[queue].is_empty() {
            self.consider_suspension(now, die, s);
        }
    }

    /// Returns the waiting operation that a die can start now.
    #[inline]
    fn pick(&self, d: &Die) -> Option<u32> {
        if is_taken(&self.tables, d) {
            return None;
        }
        let id = self.turn(d);
        let can = if d.is_at_rest() {
            // A suspended operation precedes other ones.
            id != NONE && (d.suspended == NONE || id != d.queues[REST].head)
        } else {
            self.tables.overlaps && id != NONE && self.overlaps(d, id)
        };
        can.then_some(id)
    }

    /// Returns the next queue of a die, if one has an operation.
    #[inline]
    pub(crate) fn turn(&self, d: &Die) -> u32 {
        let [host, map, rest] = d.queues.map(|q| q.head);
        if host & map == NONE {
            return rest;
        }
        // One of the two heads exists. The rest gets its turn after enough reads have overtaken it.
        let rest_waits = rest & d.suspended != NONE;
        if rest_waits && d.overtaken >= self.config.scheduling.overtakes_max {
            return rest;
        }
        // Reads of the host wait for reads of the map.
        let map_goes = map != NONE && (host == NONE || d.host_overtaken < self.config.scheduling.overtakes_max);
        if map_goes { map } else { host }
    }

    /// Returns whether operation `id` can start on a busy die: a read while the previous one's data leaves, a program
    /// while the previous one is in the array, or the command of a cache read while the array reads the page before.
    pub(crate) fn overlaps(&self, d: &Die, id: u32) -> bool {
        let op = &self.ops[id];
        match d.phase {
            Phase::Idle => {
                self.tables.cache_read && op.kind == OpKind::Read && (d.suspended == NONE || op.queue as usize != REST)
            }
            Phase::Busy => {
                let alike = d.input == NONE && d.out == NONE && self.ops[d.array].kind == op.kind;
                alike
                    && match op.kind {
                        OpKind::Program => self.tables.cache_program,
                        OpKind::Read => self.follows_in_sequence(d, op),
                        OpKind::Erase => false,
                    }
            }
            Phase::Suspending | Phase::Holding => false,
        }
    }

    /// Returns whether the command of the read `op` may arrive before the array has read the previous page (ONFI: 31h,
    /// once the cache register is empty). Only where the controller issues reads as a sequence: a read with priority
    /// that arrives later could not overtake.
    #[inline]
    fn follows_in_sequence(&self, d: &Die, op: &Op) -> bool {
        let in_sequence = d.read_cached && op.queue as usize == REST && d.suspended == NONE;
        self.tables.sequences && in_sequence && op.place() != d.sensed
    }

    /// Starts the next operation of a die, or lets the die wait for its channel.
    #[inline(never)]
    pub(crate) fn advance<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        if self.tables.overlaps {
            self.advance_overlapping(now, die, s);
        } else if self.dies[die].is_at_rest() {
            self.go_next(now, die, s);
        }
    }

    /// Like [`advance`](Self::advance), for an idle die that does one thing at a time.
    #[inline]
    pub(crate) fn go_next<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let d = &self.dies[die];
        debug_assert!(d.is_at_rest() && !self.tables.overlaps);
        let id = self.turn(d);
        if d.suspended != NONE && id == d.queues[REST].head {
            // A suspended operation precedes other ones.
            self.resume(now, die, s);
        } else if id != NONE {
            if self.channels[d.channel as usize].is_free(now) {
                self.start_first(now, die, id, s);
            } else {
                let list = if self.ops[id].kind == OpKind::Program { DATA } else { COMMANDS };
                self.wait(die, list, s);
            }
        }
    }

    /// Like [`advance`](Self::advance), for a die that may start an operation while another runs.
    #[inline(never)]
    pub(crate) fn advance_overlapping<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        if self.tables.independent {
            return self.advance_planes(now, die, s);
        }
        loop {
            let d = &self.dies[die];
            let Some(id) = self.pick(d) else {
                if d.suspended == NONE || d.phase != Phase::Idle || d.out != NONE {
                    return;
                }
                self.resume(now, die, s);
                continue;
            };
            let kind = self.ops[id].kind;
            if !self.channels[d.channel as usize].is_free(now) {
                return self.wait(die, if kind == OpKind::Program { DATA } else { COMMANDS }, s);
            }
            self.start_first(now, die, id, s);
            // Only another program may follow at once, into the cache register.
            if kind != OpKind::Program || !self.tables.cache_program {
                return;
            }
        }
    }

    /// Lets an idle die with more to do join the others that wait for its channel.
    #[inline(never)]
    fn join<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        if !self.tables.overlaps && !self.tables.suspends {
            let number = self.dies[die].channel;
            self.channels[number as usize].enlist(&mut self.dies, die as u32, COMMANDS);
        } else {
            self.advance(now, die, s);
        }
    }

    /// Lets `die` wait for its channel, and schedules an event at the channel's release if none is scheduled.
    #[inline(always)]
    pub(crate) fn wait<S: Schedule<Event>>(&mut self, die: usize, list: usize, s: &mut S) {
        let number = self.dies[die].channel;
        let channel = &mut self.channels[number as usize];
        channel.enlist(&mut self.dies, die as u32, list);
        wake(channel, number as usize, s);
    }

    /// Handles [`Event::Wake`], which ends no operation.
    pub fn woken<S: Schedule<Event>>(&mut self, now: Time, number: usize, s: &mut S) {
        self.grant(now, number, s);
    }

    /// Gives a channel to waiting dies, until it is busy.
    #[inline(always)]
    pub(crate) fn grant<S: Schedule<Event>>(&mut self, now: Time, number: usize, s: &mut S) {
        loop {
            let Nand { tables, dies, channels, config, .. } = self;
            let channel = &mut channels[number];
            if channel.waiting == 0 {
                return;
            }
            if !channel.is_released(now) {
                return wake(channel, number, s);
            }
            let (list, die, d) = channel.next(dies, &config.scheduling);
            if list != COMMANDS && d.out != NONE {
                // The end of the transfer serves the waiting dies.
                return self.transfer(now, die as usize, s);
            }
            if let Some(id) = next_read(tables, d) {
                self.start_next_read(now, die as usize, id, s);
            } else {
                self.grant_other(now, number, die, list, s);
            }
        }
    }

    /// Gives a channel to `die` for anything but a transfer or the host's next read, if there still is anything.
    #[inline(never)]
    fn grant_other<S: Schedule<Event>>(&mut self, now: Time, number: usize, die: u32, list: usize, s: &mut S) {
        if self.tables.independent {
            return self.grant_planes(now, number, die as usize, list, s);
        }
        let Some(id) = self.pick(&self.dies[die as usize]) else { return };
        // The operation for which the die began to wait may have been overtaken. A program waits in its own list; a
        // command goes now.
        if list == COMMANDS && self.ops[id].kind == OpKind::Program {
            return self.channels[number].enlist(&mut self.dies, die, DATA);
        }
        self.start_first(now, die as usize, id, s);
        if self.tables.cache_program && self.pick(&self.dies[die as usize]).is_some() {
            self.wait(die as usize, DATA, s);
        }
    }

    /// Returns whether reads with priority wait for a die.
    #[inline]
    pub(crate) fn urgent_waits(d: &Die) -> bool {
        d.queues[HOST].head & d.queues[MAP].head != NONE
    }
}

/// Schedules an event at the release of the busy `channel`, for a waiting die, unless one is scheduled anyway.
#[inline]
fn wake<S: Schedule<Event>>(channel: &mut Channel, number: usize, s: &mut S) {
    if channel.event_at < channel.free_at {
        channel.event_at = channel.free_at;
        s.at(Lane(lane::WAKE), channel.free_at, Event::Wake(number as u16));
    }
}
