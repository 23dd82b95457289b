//! A DDR port of the North Bridge: the DMA of the DRAM controller moves each burst in and then out.

use std::collections::VecDeque;

use dram::strobed::{Answer, StrobeStats, StrobedConfig, StrobedRank, Waiting};
use host::SLOTS;
use link::{Ddr, DdrConfig, Direction, Transfer, Utilization, ddr};
use sim::{Schedule, Span, Time};

use super::{Shared, Spans};
use crate::event::Event;

/// Rows of the chipset.
const NAMES: [&str; 2] = ["memory", "dma"];
/// Bytes of a command and of a status, the same as on SATA.
const COMMAND: u64 = link::sata::REGISTER as u64;
const STATUS: u64 = link::sata::SET_DEVICE_BITS as u64;

/// The port. Its DMA has a single data path that every burst uses twice: on its way in, at the pace of its source, and
/// on its way out. Phases D and E of a transfer therefore never overlap, whatever the speed of the two buses.
///
/// A READ waits for the drive's data (`dram::strobed`). If it holds the bus, transfers to the drive are kept until the
/// data arrives or the READ is given up.
#[derive(Clone, Debug)]
pub(super) struct North {
    port: Ddr,
    rank: StrobedRank,
    /// Per slot, the bytes that the drive owes.
    owed: [u64; SLOTS as usize],
    /// Transfers to the drive that found the bus held, in order.
    blocked: VecDeque<Blocked>,
}

/// A transfer to the drive that waits for the bus.
#[derive(Clone, Copy, Debug)]
pub(super) enum Blocked {
    /// The command in this slot.
    Command(u16),
    /// A write's data, for which the drive has room at `staged`.
    Data { tag: u16, bytes: u64, staged: Time },
    /// The list of ranges that a command points to.
    List { tag: u16, bytes: u64 },
}

impl North {
    pub fn new(config: &DdrConfig) -> North {
        let DdrConfig { transfers_per_s, cas_latency, timeout, .. } = *config;
        let answer = match config.strobe {
            ddr::Strobe::Dqs => Answer::Strobe,
            ddr::Strobe::Fixed => Answer::Fixed(config.fixed_latency),
        };
        let waiting = match config.waiting {
            ddr::Waiting::Held => Waiting::Held,
            ddr::Waiting::Released => Waiting::Released,
        };
        let rank = StrobedRank::new(&StrobedConfig { transfers_per_s, cas_latency, answer, waiting, timeout });
        North { port: Ddr::new(config), rank, owed: [0; SLOTS as usize], blocked: VecDeque::new() }
    }

    /// Keeps a transfer to the drive if the bus is held. Returns the time-out of the READ that holds it, and the
    /// number of its wait.
    pub fn block(&mut self, now: Time, transfer: Blocked) -> Option<(Time, u32)> {
        let until = self.rank.held(now)?;
        self.blocked.push_back(transfer);
        Some((until, self.rank.block()))
    }

    /// Returns the number of the current wait.
    pub fn wait(&self) -> u32 {
        self.rank.wait()
    }

    /// Takes the transfers that waited for the bus.
    pub fn unblock(&mut self) -> VecDeque<Blocked> {
        std::mem::take(&mut self.blocked)
    }

    /// Issues a READ for the data of a command that reaches the drive at `at`, unless one waits.
    pub fn expect(&mut self, at: Time, slot: u16, bytes: u64, shared: &Shared) {
        self.owed[slot as usize] = bytes;
        self.rank.expect(shared.path.begin(at), bytes);
    }

    /// Forgets the data that a command has not delivered at its end.
    pub fn ended(&mut self, slot: u16) {
        let rest = std::mem::take(&mut self.owed[slot as usize]);
        self.rank.cancel(rest);
    }

    pub fn strobe(&self) -> &StrobeStats {
        self.rank.stats()
    }

    pub fn names(&self) -> &'static [&'static str] {
        &NAMES
    }

    pub fn utilization(&self, now: Time) -> [Utilization; 2] {
        self.port.utilization(now)
    }

    pub fn power_cut(&mut self, now: Time) {
        self.port.power_cut(now);
        self.rank.power_cut();
        self.owed.fill(0);
        self.blocked.clear();
    }

    /// Sends the command to the drive, after the processor has written the DMA's registers. Returns its arrival.
    pub fn command<S: Schedule<Event>>(&mut self, now: Time, _queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let to = self.port.message(now, now, Direction::ToDevice, COMMAND);
        self.rank.give_way(now, to);
        spans.link(Direction::ToDevice, "command", Span { from: now, to });
        to
    }

    /// Receives the drive's report of a command's end, which answers a READ that waits. Returns the time at which the
    /// driver can see it.
    pub fn status<S: Schedule<Event>>(&mut self, now: Time, _queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let to = self.port.message(now, now, Direction::ToHost, STATUS);
        self.rank.give_way(now, to);
        spans.link(Direction::ToHost, "status", Span { from: now, to });
        to
    }

    /// Moves data to memory: the answer of the waiting READ, then for each burst D, B at the start of a region, and E.
    /// READs of later bursts are issued ahead, since column commands have their own wires.
    pub fn receive<S: Schedule<Event>>(
        &mut self,
        now: Time,
        slot: u16,
        bytes: u64,
        shared: &mut Shared,
        spans: &mut Spans<'_, S>,
    ) -> Transfer {
        let signals = self.rank.answer(now);
        let from = shared.path.begin(signals.data);
        let (mut at, mut sent, mut moving, mut left) = (from, from, Time::ZERO, bytes);
        let mut first = None;
        while left > 0 {
            let part = left.min(self.port.burst_bytes());
            let burst = self.port.burst(at, Direction::ToHost, part);
            first.get_or_insert(burst.from);
            sent = burst.to;
            let look = shared.walk.step(slot, part);
            let ready = if look { shared.memory.look(now, sent, shared.look) } else { sent };
            let stored = shared.memory.stream(ready, self.port.burst_bytes());
            moving += (burst.to - burst.from) + (stored.to - stored.from);
            at = stored.to;
            left -= part;
        }
        self.owed[slot as usize] -= bytes;
        self.rank.answered(signals, first.expect("a transfer has data"), bytes, at);
        self.moved(Direction::ToHost, Reservation { from, sent, to: at, moving }, shared, spans);
        Transfer { sent, arrives: at }
    }

    /// Moves data to the drive: for each burst B at the start of a region, E, and D. Column commands run ahead within
    /// the table entries already read, so memory latency is paid once after each read of the table, including the
    /// first.
    pub fn send<S: Schedule<Event>>(
        &mut self,
        now: Time,
        slot: u16,
        bytes: u64,
        shared: &mut Shared,
        spans: &mut Spans<'_, S>,
    ) -> Transfer {
        let from = shared.path.begin(now);
        let (mut at, mut moving, mut left) = (from, Time::ZERO, bytes);
        while left > 0 {
            let part = left.min(self.port.burst_bytes());
            if shared.walk.step(slot, part) {
                at = shared.memory.look(now, at, shared.look) + shared.memory.latency();
            }
            let loaded = shared.memory.stream(at, self.port.burst_bytes());
            let burst = self.port.burst(loaded.to, Direction::ToDevice, part);
            moving += (loaded.to - loaded.from) + (burst.to - burst.from);
            at = burst.to;
            left -= part;
        }
        self.rank.give_way(now, at);
        self.moved(Direction::ToDevice, Reservation { from, sent: at, to: at, moving }, shared, spans);
        Transfer { sent: at, arrives: at }
    }

    /// Records the end of a transfer.
    fn moved<S: Schedule<Event>>(
        &self,
        way: Direction,
        held: Reservation,
        shared: &mut Shared,
        spans: &mut Spans<'_, S>,
    ) {
        let Reservation { from, sent, to, moving } = held;
        shared.path.end(from, to, moving);
        spans.link(way, "data", Span { from, to: sent });
        spans.chipset(0, "data", from, to);
        spans.chipset(1, "data", from, to);
    }
}

/// Resources of a transfer: the DMA from `from` to `to`, with data moving for `moving`, and the port until `sent`.
struct Reservation {
    from: Time,
    sent: Time,
    to: Time,
    moving: Time,
}
