//! A DDR port of the North Bridge: the DMA of the DRAM controller moves each burst in and then out.

use link::{Ddr, DdrConfig, Direction, Transfer, Utilisation};
use sim::{Schedule, Span, Time};

use super::{Event, Shared, Spans};

/// Rows of the chipset.
const NAMES: [&str; 2] = ["memory", "dma"];
/// Bytes of a command and of a status, the same as on SATA.
const COMMAND: u64 = link::sata::REGISTER as u64;
const STATUS: u64 = link::sata::SET_DEVICE_BITS as u64;

/// The port. Its DMA has a single data path that every burst uses twice: on its way in, at the pace of its source, and
/// on its way out. Phases D and E of a transfer therefore never overlap, whatever the speed of the two buses.
#[derive(Clone, Debug)]
pub(super) struct North {
    port: Ddr,
}

impl North {
    pub fn new(config: &DdrConfig) -> North {
        North { port: Ddr::new(config) }
    }

    pub fn names(&self) -> &'static [&'static str] {
        &NAMES
    }

    pub fn utilisation(&self, now: Time) -> [Utilisation; 2] {
        self.port.utilisation(now)
    }

    pub fn power_cut(&mut self, now: Time) {
        self.port.power_cut(now);
    }

    /// Sends the command to the drive, after the processor has written the DMA's registers. Returns its arrival.
    pub fn command<S: Schedule<Event>>(&mut self, now: Time, _queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let to = self.port.message(now, now, Direction::ToDevice, COMMAND);
        spans.link(Direction::ToDevice, "command", Span { from: now, to });
        to
    }

    /// Receives the drive's report of a command's end. Returns the time at which the driver can see it.
    pub fn status<S: Schedule<Event>>(&mut self, now: Time, _queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let to = self.port.message(now, now, Direction::ToHost, STATUS);
        spans.link(Direction::ToHost, "status", Span { from: now, to });
        to
    }

    /// Moves data to memory: a DQS preamble, then for each burst D, B at the start of a region, and E.
    pub fn receive<S: Schedule<Event>>(
        &mut self,
        now: Time,
        slot: u16,
        bytes: u64,
        shared: &mut Shared,
        spans: &mut Spans<'_, S>,
    ) -> Transfer {
        let from = shared.path.begin(now + self.port.dqs());
        let (mut at, mut sent, mut moving, mut left) = (from, from, Time::ZERO, bytes);
        while left > 0 {
            let part = left.min(self.port.burst_bytes());
            let burst = self.port.burst(at, Direction::ToHost, part);
            sent = burst.to;
            let look = shared.walk.step(slot, part);
            let ready = if look { shared.memory.look(now, sent, shared.look) } else { sent };
            let stored = shared.memory.stream(ready, self.port.burst_bytes());
            moving += (burst.to - burst.from) + (stored.to - stored.from);
            at = stored.to;
            left -= part;
        }
        self.moved(Direction::ToHost, Held { from, sent, to: at, moving }, shared, spans);
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
        self.moved(Direction::ToDevice, Held { from, sent: at, to: at, moving }, shared, spans);
        Transfer { sent: at, arrives: at }
    }

    /// Records the end of a transfer.
    fn moved<S: Schedule<Event>>(&self, way: Direction, held: Held, shared: &mut Shared, spans: &mut Spans<'_, S>) {
        let Held { from, sent, to, moving } = held;
        shared.path.end(from, to, moving);
        spans.link(way, "data", Span { from, to: sent });
        spans.chipset(0, "data", from, to);
        spans.chipset(1, "data", from, to);
    }
}

/// Resources of a transfer: the DMA from `from` to `to`, with data moving for `moving`, and the port until `sent`.
struct Held {
    from: Time,
    sent: Time,
    to: Time,
    moving: Time,
}
