//! Admission of bursts to the queues: at most one per clock, with the ports in turn and each port's bursts in order.

use sim::Time;

use crate::controller::channel::{Channel, NO_TRANSFER, Transfer};
use crate::controller::requests::Span;
use crate::device::DecodedAddress;
use crate::request::{Ack, Request, RequestKind};
use crate::state::{NEVER, PowerMode};

impl Channel {
    /// Makes a transfer of a request in the given span of bursts.
    pub(crate) fn admit(
        &mut self,
        submitted: Time,
        arrival: u64,
        request: &Request,
        Span { group, burst, bursts }: Span,
    ) {
        let posts = u32::from(request.kind == RequestKind::Write);
        let number = self.keep_transfer(Transfer {
            request: *request,
            submitted,
            arrival,
            burst,
            to_enter: bursts,
            to_serve: bursts,
            end: submitted,
            group,
        });
        self.ports[request.port as usize].push_back(number);
        self.waiting += 1;
        self.waiting_writes += posts;
        if self.some_may_enter() {
            self.enter_at = self.enter_at.min(arrival.max(self.enter_next));
            // A first burst enters immediately, because no command can come between.
            if self.enter_at == arrival {
                self.enter(arrival);
            }
        }
    }

    /// Assigns a number to a transfer.
    pub(crate) fn keep_transfer(&mut self, transfer: Transfer) -> u32 {
        self.ending[usize::from(transfer.to_serve > 1)] += u32::from(transfer.ends_served());
        self.has_through |= transfer.request.ack == Ack::Written && transfer.request.kind == RequestKind::Write;
        let number = self.free_transfer;
        if number == NO_TRANSFER {
            self.transfers.push(transfer);
            return self.transfers.len() as u32 - 1;
        }
        let place = &mut self.transfers[number as usize];
        self.free_transfer = place.to_enter;
        *place = transfer;
        number
    }

    /// Admits one burst at `cycle`, if any can enter.
    pub(crate) fn enter(&mut self, cycle: u64) {
        let Some((port, number, place)) = self.next_entry(cycle) else {
            // Only a served burst or a new request can change that.
            self.enter_at = self.room_at.into_iter().filter(|room_at| *room_at > cycle).min().unwrap_or(NEVER);
            return;
        };
        self.enter_at_place(cycle, number, &place);
        self.next_port = port + 1;
        self.state.now = cycle;
        self.enter_next = cycle + 1;
        self.state.stats.steps += 1;
        self.enter_at = if self.some_may_enter() { cycle + 1 } else { NEVER };
    }

    /// Returns the next port of which a burst may enter at `cycle`, its transfer, and the burst's place.
    #[inline]
    fn next_entry(&self, cycle: u64) -> Option<(usize, u32, DecodedAddress)> {
        let ports = self.ports.len();
        let mut port = self.next_port;
        for _ in 0..ports {
            if port >= ports {
                port = 0;
            }
            if let Some(&number) = self.ports[port].front()
                && let Some(place) = self.may_enter(cycle, number)
            {
                return Some((port, number, place));
            }
            port += 1;
        }
        None
    }

    /// Returns false if no burst waits, or all waiting bursts are for a full queue.
    pub(crate) fn some_may_enter(&self) -> bool {
        (self.waiting > self.waiting_writes && self.queues.has_room(RequestKind::Read))
            || (self.waiting_writes > 0 && self.queues.has_room(RequestKind::Write))
    }

    /// Returns the place of the next burst of `transfer`, unless its queue is full or it would overtake.
    #[inline]
    fn may_enter(&self, cycle: u64, number: u32) -> Option<DecodedAddress> {
        let transfer = &self.transfers[number as usize];
        debug_assert!(transfer.arrival <= cycle, "a burst enters before it arrives");
        let kind = transfer.request.kind;
        if !self.queues.has_room(kind) || cycle < self.room_at[kind as usize] {
            return None;
        }
        let place = self.requests.layout(transfer.group).place(transfer.burst);
        // A write may not pass a read of the same burst; it enters when the read has been served.
        let passes =
            kind == RequestKind::Write && self.queues.holds(RequestKind::Read, &place, self.state.number_of(&place));
        (!passes).then_some(place)
    }

    /// Admits the next burst of `transfer`, which may enter and has this place.
    #[inline]
    fn enter_at_place(&mut self, cycle: u64, number: u32, place: &DecodedAddress) {
        let kind = self.transfers[number as usize].request.kind;
        let bank = self.state.number_of(place);
        let forwarded = kind == RequestKind::Read && self.queues.holds(RequestKind::Write, place, bank);
        self.state.bus_free = self.state.bus_free.max(cycle);
        self.note_entries(cycle, number, 1);
        if forwarded {
            self.state.stats.forwarded += 1;
            let end = self.state.clock.time(cycle + 1) + self.requests.config.latency;
            self.served(number, end, 1);
        } else {
            self.enqueue(cycle, kind, place, bank, number);
        }
    }

    /// Inserts a burst into its queue.
    fn enqueue(&mut self, cycle: u64, kind: RequestKind, place: &DecodedAddress, bank: usize, transfer: u32) {
        let rank = place.rank as usize;
        let changes = self.queues.push(kind, cycle, place, bank, self.state.bank(rank, bank).row, transfer);
        let usage = &mut self.maintenance.ranks[rank];
        usage.demand += 1;
        if usage.demand == 1 && self.state.ranks[rank].state != PowerMode::Up {
            self.maintenance.next_at = 0;
            self.is_next_known = false;
        }
        self.rethink(kind, rank, bank, changes);
    }

    /// Records that bursts of a transfer have left its port, the last at `cycle`. A posted write is done with its
    /// last burst.
    ///
    /// A part of each caller, which has found the transfer: a call would save more registers than this needs.
    #[inline(always)]
    pub(crate) fn note_entries(&mut self, cycle: u64, number: u32, bursts: u32) {
        let entered = &mut self.transfers[number as usize];
        let Request { port, kind, ack, .. } = entered.request;
        entered.burst += u64::from(bursts);
        entered.to_enter -= bursts;
        let (last, submitted) = (entered.to_enter == 0, entered.submitted);
        self.requests.count(port, kind, bursts);
        if last {
            self.ports[port as usize].pop_front();
            self.waiting -= 1;
            self.waiting_writes -= u32::from(kind == RequestKind::Write);
            if kind == RequestKind::Write && ack == Ack::Accepted {
                self.finish(number, self.state.clock.time(cycle).max(submitted));
            }
        }
    }

    /// Records that bursts of a transfer have been served, with the last data transferred at `end`.
    pub(crate) fn served(&mut self, number: u32, end: Time, bursts: u32) {
        let transfer = &mut self.transfers[number as usize];
        let large = usize::from(transfer.to_serve > 1);
        transfer.end = transfer.end.max(end);
        transfer.to_serve -= bursts;
        let (left, at) = (transfer.to_serve, transfer.end);
        if transfer.ends_served() && left <= 1 {
            self.ending[large] -= 1;
            self.ending[0] += left;
        }
        if left == 0 {
            // The place is free now; it links to the previous free one.
            transfer.to_enter = std::mem::replace(&mut self.free_transfer, number);
            if transfer.ends_served() {
                self.requests.finish(&transfer.request, transfer.group, transfer.submitted, at);
            }
        }
    }

    fn finish(&mut self, number: u32, at: Time) {
        let Transfer { request, group, submitted, .. } = self.transfers[number as usize];
        self.requests.finish(&request, group, submitted, at);
    }
}
