//! Starting an operation, on a die that can and with a free channel.

use sim::{Client, Lane, Schedule, Span, Time, Track};

use crate::channel::Channel;
use crate::die::{Die, NOWHERE, Phase};
use crate::log::{Log, Step};
use crate::nand::{Event, Nand, lane};
use crate::reliability::ecc::Engines;
use crate::schedule::op::{HOST, NONE, Op, OpKind};
use crate::tables::Tables;

/// Where an operation waited until its start.
enum Origin {
    Outside,
    /// First in its queue.
    Queue,
    /// First in the queue of the host's reads.
    HostQueue,
}

impl Nand {
    /// Starts the read `id`.
    #[inline]
    pub(crate) fn start_read<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, s: &mut S) {
        self.start(now, die, id, OpKind::Read, s);
    }

    /// Starts the operation `id`, the first of its queue.
    #[inline]
    pub(crate) fn start_first<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, s: &mut S) {
        self.start_of(now, die, id, None, Origin::Queue, s);
    }

    /// Starts the operation `id` of this `kind`, which is in no queue.
    #[inline]
    pub(crate) fn start<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, kind: OpKind, s: &mut S) {
        self.start_of(now, die, id, Some(kind), Origin::Outside, s);
    }

    /// Starts the host's read `id`, the first in its queue, which overtakes none.
    #[inline(always)]
    pub(crate) fn start_next_read<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, s: &mut S) {
        self.start_of(now, die, id, Some(OpKind::Read), Origin::HostQueue, s);
    }

    /// Starts the operation `id` of this `kind`, if it is known, that comes from `origin`.
    #[inline(always)]
    fn start_of<S: Schedule<Event>>(
        &mut self,
        now: Time,
        die: usize,
        id: u32,
        kind: Option<OpKind>,
        origin: Origin,
        s: &mut S,
    ) {
        let Nand { tables, ops, dies, channels, store, hazards, log, ecc, config, .. } = self;
        let (op, d) = (&mut ops[id], &mut dies[die]);
        let channel = &mut channels[d.channel as usize];
        let kind = kind.unwrap_or(op.kind);
        match origin {
            Origin::Outside => {}
            Origin::Queue => d.leave_queue(op),
            Origin::HostQueue => (d.queues[HOST].head, d.host_overtaken) = (op.next, 0),
        }
        if kind == OpKind::Read && hazards.reads | store.has_torn() && !op.faced {
            hazards.face_read(now, op, store);
        }
        let start = Start { id, die, op, d, channel, tables, log };
        match kind {
            OpKind::Program => start.program(now, ecc, s),
            OpKind::Read => {
                let slc = store.has_slc() && store.is_slc(tables.block_of(op));
                start.read(now, slc, s);
            }
            OpKind::Erase => {
                let slc = store.has_slc() && store.is_slc(tables.block_of(op));
                let time = if slc { config.timing.slc_erase } else { config.timing.erase };
                // The blocks that stand for one of the whole drive are erased in its time.
                let takes_time = start.d.stats.erases.is_multiple_of(u64::from(config.timing.block_parts));
                start.erase(now, if takes_time { time } else { Time::ZERO }, s);
            }
        }
    }
}

/// An operation and its costs. Its longer methods are always parts of their callers: it has seven words, which a call would
/// pass through memory.
struct Start<'a> {
    id: u32,
    die: usize,
    op: &'a Op,
    d: &'a mut Die,
    channel: &'a mut Channel,
    tables: &'a Tables,
    log: &'a mut Log,
}

impl Start<'_> {
    #[inline(always)]
    fn read<S: Schedule<Event>>(mut self, now: Time, slc: bool, s: &mut S) {
        let kind = self.tables.page_type(self.op.page(), slc);
        let begin = now + self.tables.read_command * u64::from(self.op.plane_count);
        if self.d.phase == Phase::Busy {
            self.d.sensed = self.op.place();
            (self.d.input, self.d.input_ready) = (self.id, begin);
            return self.occupy(now, begin, ("command", Step::Command), s);
        }
        self.d.read_cached = self.d.out != NONE;
        let mut end = begin + self.tables.read(kind, self.op);
        if self.tables.reuse_page {
            let place = self.op.place();
            if self.d.sensed == place && !self.op.again {
                // Nothing has used the register since.
                end = begin;
            }
            self.d.sensed = place;
        }
        self.occupy(now, begin, ("command", Step::Command), s);
        self.work(begin, end, lane::READ + kind as u8, s);
    }

    #[inline]
    fn erase<S: Schedule<Event>>(mut self, now: Time, time: Time, s: &mut S) {
        self.d.sensed = NOWHERE;
        let begin = now + self.tables.erase_command * u64::from(self.op.plane_count);
        self.occupy(now, begin, ("command", Step::Command), s);
        self.work(begin, begin + time, lane::ERASE, s);
    }

    /// Data goes into the array's register or, while the array works, into the other.
    #[inline(always)]
    fn program<S: Schedule<Event>>(mut self, now: Time, ecc: &mut Engines, s: &mut S) {
        self.d.sensed = NOWHERE;
        let (tables, planes) = (self.tables, u64::from(self.op.plane_count));
        let pages = planes * tables.passes;
        let (data, bytes) = (tables.page_transfer * pages, tables.page_bytes * pages);
        let mut begin = now + tables.program_command * pages + data;
        if let Some(encoded) = ecc.encode(now, tables.page_bytes * planes) {
            begin = begin.max(encoded);
        }
        self.channel.take_in(now, begin, data, bytes);
        self.show(now, begin, ("data in", Step::DataIn), s);
        if self.d.phase == Phase::Busy {
            (self.d.input, self.d.input_ready) = (self.id, begin);
        } else {
            let kind = tables.page_type(self.op.page(), self.op.slc);
            let end = begin + tables.program(kind, self.op);
            self.work(begin, end, lane::PROGRAM + kind as u8, s);
        }
    }

    /// The channel is busy until the array begins.
    #[inline]
    fn occupy<S: Schedule<Event>>(&mut self, now: Time, begin: Time, what: (&'static str, Step), s: &mut S) {
        self.channel.take(now, begin);
        self.show(now, begin, what, s);
    }

    /// Reports the channel's use to the timeline.
    #[inline(always)]
    fn show<S: Schedule<Event>>(&mut self, now: Time, begin: Time, what: (&'static str, Step), s: &mut S) {
        s.served(Track(self.d.channel), Client::Operation(self.id), what.0, now, Span { from: now, to: begin });
        self.log.note(self.id, self.op, what.1, now, begin);
    }

    /// Occupies the array.
    #[inline]
    fn work<S: Schedule<Event>>(self, begin: Time, end: Time, lane: u8, s: &mut S) {
        let d = self.d;
        (d.array, d.phase, d.begin, d.end) = (self.id, Phase::Busy, begin, end);
        s.at(Lane(lane), end, Event::Array(self.die as u16));
    }
}
