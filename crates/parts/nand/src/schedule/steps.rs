//! The steps of an operation: its start on a channel, the end of its array time, its data, its end.

use media::{OpId, Status};
use sim::{Client, Energy, Lane, Schedule, Span, Time, Track};

use crate::channel::{Channel, DATA, READ_DATA};
use crate::die::Phase;
use crate::log::{Log, Step};
use crate::nand::{Event, Nand, lane};
use crate::reliability::hazards::SECOND;
use crate::schedule::op::{NONE, Op, OpKind, REST};
use crate::tables::Tables;

impl Nand {
    #[inline]
    pub(crate) fn array_end<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) -> Option<(OpId, Status)> {
        let dies_at = self.channels.len() as u32;
        let Nand { tables, ops, dies, channels, log, energy, config, .. } = self;
        let d = &mut dies[die];
        // A suspended operation leaves its old event behind. If another operation ends at that time, either event
        // serves.
        if d.end != now || d.phase != Phase::Busy {
            self.suspension_end(now, die, s);
            return None;
        }
        let (id, begin) = (d.array, d.begin);
        let (op, span) = (&mut ops[id], now - begin);
        if op.kind != OpKind::Read {
            let (kind, next, waits) = (op.kind, d.input, d.end_write(op.kind, span));
            op.active = false;
            let power = if kind == OpKind::Program { config.power.program_uw } else { config.power.erase_uw };
            energy[kind as usize] += Energy::of_power(power * u64::from(op.plane_count), span);
            s.span(Track(dies_at + die as u32), kind.name(), begin, now);
            log.note(id, op, Step::Array, begin, now);
            return Some((OpId(id), self.write_end(now, (id, kind), die, (next, waits), s)));
        }
        d.stats.reads += 1;
        d.stats.reading += span;
        if op.plane_count > 1 {
            energy[OpKind::Read as usize] += Energy::of_power(tables.read_uw * u64::from(op.plane_count - 1), span);
        }
        s.served(Track(dies_at + die as u32), Client::Operation(id), "read", begin, Span { from: begin, to: now });
        log.note(id, op, Step::Array, begin, now);
        if d.out != NONE {
            d.phase = Phase::Holding;
            return None;
        }
        (d.out, d.out_since) = (id, now);
        (d.array, d.phase) = (NONE, Phase::Idle);
        if d.input != NONE {
            self.read_next(now, die, s);
            self.data_ready(now, die, s);
            return None;
        }
        let channel = &mut channels[d.channel as usize];
        if tables.cache_read {
            // The next read's command precedes this data.
            if d.load > 1 || self.tables.independent {
                self.advance_overlapping(now, die, s);
            }
            self.data_ready(now, die, s);
        } else if channel.is_free(now) {
            begin_transfer(now, die, id, op, d.channel, channel, tables, log, s);
        } else {
            let list = data_list(op.queue);
            self.wait(die, list, s);
        }
        None
    }

    /// Requests the channel for the data that a die holds.
    #[inline(never)]
    fn data_ready<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        if self.channels[self.dies[die].channel as usize].is_free(now) {
            self.transfer(now, die, s);
        } else {
            let queue = self.ops[self.dies[die].out].queue;
            self.wait(die, data_list(queue), s);
        }
    }

    /// Continues after the array of `die` has ended the program or erase `id`: with the program `next`, if there is one,
    /// and other operations if any `waits`. Returns the result.
    #[inline]
    fn write_end<S: Schedule<Event>>(
        &mut self,
        now: Time,
        (id, kind): (u32, OpKind),
        die: usize,
        (next, waits): (u32, bool),
        s: &mut S,
    ) -> Status {
        if kind == OpKind::Program && now >= self.second_ends {
            self.set_clock(now);
        }
        let fails = self.hazards.writes && self.hazards.write_fails(&self.ops[id], &self.store);
        let status = if fails { Status::Failed } else { Status::Ok };
        if next != NONE {
            self.program_next(now, die, next, s);
        }
        if waits {
            if self.tables.overlaps {
                self.advance(now, die, s);
            } else {
                self.go_next(now, die, s);
            }
            self.consider_suspension(now, die, s);
        }
        if kind == OpKind::Program
            && let Some(next) = self.budget.ended()
        {
            self.begin_held_back(now, next, s);
        }
        status
    }

    /// Advances the store's clock to another second.
    #[cold]
    fn set_clock(&mut self, now: Time) {
        self.store.set_clock_s(self.hazards.clock_s(now));
        self.second_ends = Time::from_ps((now.ps() / SECOND + 1) * SECOND);
    }

    /// Moves the program in the cache register into the array, once its data has arrived.
    fn program_next<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, s: &mut S) {
        let (op, d) = (&self.ops[id], &mut self.dies[die]);
        debug_assert!(op.kind == OpKind::Program);
        let kind = self.tables.page_type(op.page(), op.slc);
        let begin = now.max(d.input_ready);
        d.input = NONE;
        (d.array, d.phase, d.begin, d.end) = (id, Phase::Busy, begin, begin + self.tables.program(kind, op));
        s.at(Lane(lane::PROGRAM + kind as u8), d.end, Event::Array(die as u16));
    }

    /// Begins the read whose command arrived while the array read the previous page.
    fn read_next<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let d = &mut self.dies[die];
        let id = std::mem::replace(&mut d.input, NONE);
        let op = &self.ops[id];
        debug_assert!(op.kind == OpKind::Read);
        let slc = self.store.has_slc() && self.store.is_slc(self.tables.block_of(op));
        let kind = self.tables.page_type(op.page(), slc);
        let begin = now.max(d.input_ready);
        (d.array, d.phase, d.begin, d.end) = (id, Phase::Busy, begin, begin + self.tables.read(kind, op));
        s.at(Lane(lane::READ + kind as u8), d.end, Event::Array(die as u16));
    }

    /// Transfers the data of the read that a die holds. The channel is free.
    #[inline]
    pub(crate) fn transfer<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let Nand { tables, ops, dies, channels, log, .. } = self;
        let d = &dies[die];
        let channel = &mut channels[d.channel as usize];
        begin_transfer(now, die, d.out, &ops[d.out], d.channel, channel, tables, log, s);
    }

    /// Handles [`Event::Transfer`]. Returns the read that it ends, if any.
    #[inline]
    pub(crate) fn transferred<S: Schedule<Event>>(
        &mut self,
        now: Time,
        number: usize,
        s: &mut S,
    ) -> Option<(OpId, Status)> {
        let channel = &mut self.channels[number];
        let die = channel.moving as usize;
        debug_assert!(
            channel.moving != NONE && channel.free_at == now,
            "no transfer of channel {number} ends at {now}"
        );
        channel.moving = NONE;
        let waited_for = channel.waiting;
        let d = &mut self.dies[die];
        let id = d.out;
        d.stats.holding += now - d.out_since;
        d.out = NONE;
        d.load -= 1;
        let (waits, holds) = (d.load, d.phase == Phase::Holding);
        let op = &mut self.ops[id];
        let done = if (op.retries == 0) & !self.tables.decoded {
            Some(op.end_read(id))
        } else {
            self.decode(now, id, s);
            None
        };
        if self.tables.independent {
            self.plane_released(now, die, number, s);
        } else if waited_for | waits != 0 || done.is_none() {
            if holds {
                self.output(now, die, s);
            }
            self.released(now, die, number, s);
        }
        done
    }

    /// Moves data from the data register to the cache register, where it waits to leave.
    #[cold]
    pub(crate) fn output<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let d = &mut self.dies[die];
        (d.out, d.out_since) = (d.array, now);
        (d.array, d.phase) = (NONE, Phase::Idle);
        let queue = self.ops[d.out].queue;
        self.wait(die, data_list(queue), s);
    }

    /// Decodes the data of a read, which takes time or fails.
    #[cold]
    fn decode<S: Schedule<Event>>(&mut self, now: Time, id: u32, s: &mut S) {
        if !self.tables.decoded {
            return self.read_again(id);
        }
        let end = self.ecc.decode(now, u64::from(self.ops[id].bytes));
        s.at(Lane(lane::DECODED), end, Event::Decoded(OpId(id)));
    }

    /// Starts the next read-retry step, ahead of all operations in its queue.
    fn read_again(&mut self, id: u32) {
        let op = &mut self.ops[id];
        (op.retries, op.again) = (op.retries - 1, true);
        let (die, queue) = (op.die as usize, op.queue as usize);
        let d = &mut self.dies[die];
        d.stats.retries += 1;
        d.load += 1;
        d.queues[queue].push_front(&mut self.ops, id);
    }

    /// Ends the decoding of a read that left its die earlier: the read is done, or retried.
    #[inline(never)]
    pub(crate) fn decoded<S: Schedule<Event>>(&mut self, now: Time, id: u32, s: &mut S) -> Option<(OpId, Status)> {
        let op = &mut self.ops[id];
        let die = op.die as usize;
        if op.retries == 0 {
            return Some(op.end_read(id));
        }
        self.read_again(id);
        self.advance(now, die, s);
        self.consider_suspension(now, die, s);
        None
    }

    /// Counts an array's time and energy for an operation.
    #[inline]
    pub(crate) fn account<S: Schedule<Event>>(&mut self, die: usize, id: u32, from: Time, to: Time, s: &mut S) {
        self.spend(die, id, from, to);
        let op = &self.ops[id];
        let track = Track(self.channels.len() as u32 + die as u32);
        s.served(track, Client::Operation(id), op.kind.name(), from, Span { from, to });
        self.log.note(id, op, Step::Array, from, to);
    }

    #[inline]
    pub(crate) fn spend(&mut self, die: usize, id: u32, from: Time, to: Time) {
        let (span, stats, power) = (to - from, &mut self.dies[die].stats, &self.config.power);
        let op = &self.ops[id];
        let planes = u64::from(op.plane_count);
        let (time, power) = match op.kind {
            OpKind::Read => (&mut stats.reading, power.read_uw * (planes - 1)),
            OpKind::Program => (&mut stats.programming, power.program_uw * planes),
            OpKind::Erase => (&mut stats.erasing, power.erase_uw * planes),
        };
        *time += span;
        self.energy[op.kind as usize] += Energy::of_power(power, span);
    }
}

/// Returns the list of a channel for the data of a read from `queue`.
#[inline]
fn data_list(queue: u8) -> usize {
    if (queue as usize) < REST { READ_DATA } else { DATA }
}

/// Transfers the data of the read `op` from `die` through the free `channel`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn begin_transfer<S: Schedule<Event>>(
    now: Time,
    die: usize,
    id: u32,
    op: &Op,
    number: u32,
    channel: &mut Channel,
    tables: &mut Tables,
    log: &mut Log,
    s: &mut S,
) {
    let bytes = u64::from(op.bytes);
    let time = tables.transfer(bytes);
    let end = channel.take_out(now, time, die as u32, bytes);
    s.at(Lane(lane::TRANSFER), end, Event::Transfer(number as u16));
    s.served(Track(number), Client::Operation(id), "data out", now, Span { from: now, to: end });
    log.note(id, op, Step::DataOut, now, end);
}
