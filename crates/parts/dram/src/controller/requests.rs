//! The request side of a channel: address mapping, port statistics and completions.

use sim::{Dense, Time};

use crate::controller::Config;
use crate::controller::done::Done;
use crate::device::Layout;
use crate::request::{Completion, RankKind, Request, RequestKind};
use crate::state::ChannelState;
use crate::stats::PortStats;

/// A group of identical ranks: its range of the channel's addresses, and its layout.
struct Group {
    base: u64,
    bytes: u64,
    kind: RankKind,
    layout: Layout,
}

/// Place of a request: its group of ranks, its first burst there, and the number of its bursts.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) group: u32,
    pub(crate) burst: u64,
    pub(crate) bursts: u32,
}

/// Addresses, ports and completions of a channel.
pub(crate) struct Requests {
    pub(crate) config: Config,
    groups: Dense<Group>,
    /// Base-2 logarithm of the bytes per burst.
    burst_shift: u32,
    ports: Dense<PortStats>,
    pub(crate) done: Done,
}

impl Requests {
    pub(crate) fn new(config: &Config) -> Requests {
        let (mut groups, mut base, mut ranks) = (Vec::new(), 0, 0);
        for group in &config.ranks {
            let bytes = u64::from(group.count) * config.device.rank_bytes();
            let layout = Layout::new(&config.device, config.order, ranks, group.count, config.hash);
            groups.push(Group { base, bytes, kind: group.kind, layout });
            base += bytes;
            ranks += group.count;
        }
        Requests {
            groups: Dense::new(groups),
            burst_shift: config.device.burst_bytes().trailing_zeros(),
            ports: Dense::new(vec![PortStats::default(); config.ports as usize]),
            done: Done::default(),
            config: config.clone(),
        }
    }

    /// Returns the place of a request.
    ///
    /// # Panics
    /// Panics if it is empty or not within one group of ranks.
    pub(crate) fn locate(&self, request: &Request) -> Span {
        let holds = |group: &Group| {
            let (offset, bytes) = (request.address.wrapping_sub(group.base), u64::from(request.bytes));
            offset < group.bytes && bytes <= group.bytes - offset && bytes > 0
        };
        let Some(number) = self.groups.iter().position(holds) else { self.refuse(request) };
        let offset = request.address - self.groups[number].base;
        let (first, last) = (offset >> self.burst_shift, (offset + u64::from(request.bytes) - 1) >> self.burst_shift);
        Span { group: number as u32, burst: first, bursts: (last - first + 1) as u32 }
    }

    fn refuse(&self, request: &Request) -> ! {
        panic!(
            "{request:?} is not within one of the groups of ranks {:?} of {} bytes a rank",
            self.config.ranks,
            self.config.device.rank_bytes()
        )
    }

    /// Returns the layout of a group of ranks.
    pub(crate) fn layout(&self, group: u32) -> &Layout {
        &self.groups[group as usize].layout
    }

    /// Returns the kind of rank at `address`.
    pub(crate) fn kind_at(&self, address: u64) -> RankKind {
        let span = self.locate(&Request { address, bytes: 1, ..Request::default() });
        self.groups[span.group as usize].kind
    }

    /// Returns when the data of a column command has been transferred and is at the port.
    pub(crate) fn data_end(&self, state: &ChannelState, cycle: u64, kind: RequestKind) -> Time {
        let end = state.data_end(cycle, kind);
        if kind == RequestKind::Read { end + self.config.latency } else { end }
    }

    /// Counts bursts transferred for a port.
    pub(crate) fn count(&mut self, port: u8, kind: RequestKind, bursts: u32) {
        self.ports[port as usize].bytes[kind as usize] += u64::from(bursts) << self.burst_shift;
    }

    pub(crate) fn port_stats(&self, port: u8) -> PortStats {
        self.ports[port as usize]
    }

    /// Completes a request: counts its completion and keeps it until its time. Silent writes have none.
    pub(crate) fn finish(&mut self, request: &Request, group: u32, submitted: Time, at: Time) {
        if request.is_silent() {
            return;
        }
        let Request { id, port, kind, .. } = *request;
        self.ports[port as usize].note(kind, at - submitted);
        self.done.insert(Completion { id, port, kind, rank_kind: self.groups[group as usize].kind, submitted, at });
    }
}
