//! A DDR port of the North Bridge: the DMA of the DRAM controller moves a burst in, and then out.

use link::{Ddr, DdrConfig, Direction, Transfer, Utilisation};
use sim::{Schedule, Span, Time};

use super::{Event, Shared, Spans};

/// Rows of the chipset.
const NAMES: [&str; 2] = ["memory", "dma"];
/// Bytes of a command and of a status: what a SATA drive is sent and sends.
const COMMAND: u64 = link::sata::REGISTER as u64;
const STATUS: u64 = link::sata::SET_DEVICE_BITS as u64;

/// The port. Its DMA has one path for data, which a burst takes twice: on its way in, at the pace of the side that it
/// comes from, and on its way out. So D and E of a transfer never overlap, whatever the two buses could do.
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

    /// The DMA, whose registers the processor has written, hands the command to the drive. Returns its arrival.
    pub fn command<S: Schedule<Event>>(&mut self, now: Time, _queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let to = self.port.message(now, now, Direction::ToDevice, COMMAND);
        spans.link(Direction::ToDevice, "command", Span { from: now, to });
        to
    }

    /// The drive tells of a command's end. Returns when the driver can know.
    pub fn status<S: Schedule<Event>>(&mut self, now: Time, _queued: bool, spans: &mut Spans<'_, S>) -> Time {
        let to = self.port.message(now, now, Direction::ToHost, STATUS);
        spans.link(Direction::ToHost, "status", Span { from: now, to });
        to
    }

    /// DQS, then D, B where a region begins, and E, for each burst.
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

    /// B where a region begins, E, and D, for each burst. Column commands run ahead within what the table has said, so
    /// that memory's latency is waited for once after each look at the table, the first of which begins the transfer.
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

    /// A transfer is over.
    fn moved<S: Schedule<Event>>(&self, way: Direction, held: Held, shared: &mut Shared, spans: &mut Spans<'_, S>) {
        let Held { from, sent, to, moving } = held;
        shared.path.end(from, to, moving);
        spans.link(way, "data", Span { from, to: sent });
        spans.chipset(0, "data", from, to);
        spans.chipset(1, "data", from, to);
    }
}

/// What a transfer had: the DMA from the start to the end, for some of which data moved, and the port until it was sent.
struct Held {
    from: Time,
    sent: Time,
    to: Time,
    moving: Time,
}
