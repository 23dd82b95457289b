//! Bursts enter the queues: at most one a clock, the ports in turn, each port's in order.

use sim::Time;

use crate::board::RANKS;
use crate::channel::{Channel, NEVER};
use crate::layout::Place;
use crate::queue::{NONE, burst};
use crate::rank::State;
use crate::request::Kind;

impl Channel {
    /// Lets one burst enter at `cycle`, if any can.
    #[inline(always)]
    pub(crate) fn enter<const FAR: bool>(&mut self, cycle: u64) {
        let ports = self.ports.len();
        let mut port = self.next_port;
        for _ in 0..ports {
            if port >= ports {
                port = 0;
            }
            if let Some(&transfer) = self.ports[port].front()
                && self.enter_from::<FAR>(cycle, transfer)
            {
                self.next_port = port + 1;
                self.now = cycle;
                self.enter_next = cycle + 1;
                self.stats.steps += 1;
                self.enter_at = if self.some_may_enter() { cycle + 1 } else { NEVER };
                return;
            }
            port += 1;
        }
        // What changes that is a burst served, or a request submitted.
        self.enter_at = self.room_at.into_iter().filter(|room_at| *room_at > cycle).min().unwrap_or(NEVER);
    }

    /// False where nothing waits, or all that waits is for a full queue.
    #[inline(always)]
    pub(crate) fn some_may_enter(&self) -> bool {
        (self.waiting > self.waiting_writes && self.queues.has_room(Kind::Read))
            || (self.waiting_writes > 0 && self.queues.has_room(Kind::Write))
    }

    /// The next burst of `transfer` enters, unless its queue is full or it would overtake.
    #[inline(always)]
    fn enter_from<const FAR: bool>(&mut self, cycle: u64, number: u32) -> bool {
        let transfer = &self.transfers[number as usize];
        debug_assert!(transfer.arrival <= cycle, "a burst enters before it arrives");
        let kind = transfer.request.kind;
        if !self.queues.has_room(kind) || cycle < self.room_at[kind as usize] {
            return false;
        }
        let place = self.regions[transfer.group as usize].layout.place(transfer.burst);
        let rank = place.rank as usize;
        let bank = ((place.group << self.settings.group_shift) | place.bank) as usize;
        // A write may not pass a read of the same burst; it enters when that is served.
        if kind == Kind::Write && self.find::<FAR>(Kind::Read, rank, bank, &place) {
            return false;
        }
        let forwarded = kind == Kind::Read && self.find::<FAR>(Kind::Write, rank, bank, &place);
        self.floor = self.floor.max(cycle);
        self.note_entries(cycle, number, 1, false);
        if forwarded {
            self.stats.forwarded += 1;
            let end = self.clock.time(cycle + 1) + self.settings.latency;
            self.served::<FAR>(number, end, 1);
        } else {
            let changes = self.queue_up::<FAR>(cycle, kind, rank, bank, place.row, place.column as u16, number);
            self.rethink(kind, rank, bank, changes);
        }
        true
    }

    /// A burst takes its place in the queue and its bank's list. True if that may change what the bank does.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "a place and whose it is")]
    pub(crate) fn queue_up<const FAR: bool>(
        &mut self,
        cycle: u64,
        kind: Kind,
        rank: usize,
        bank: usize,
        row: u32,
        column: u16,
        transfer: u32,
    ) -> bool {
        self.ranks[rank].demand += 1;
        let tail = self.bank(rank, bank).tail[kind as usize];
        if FAR
            && self.has_long
            && tail != NONE
            && self.goes_on(tail, transfer, row, column)
            && self.queues.join(kind, tail, cycle, 0, 1)
        {
            return false;
        }
        let entry = self.queues.push(kind, burst(cycle, rank, bank, row, column, transfer));
        let changes = self.boards[rank % RANKS].banks[bank % 64].append(&mut self.queues, kind, entry);
        let waiter = &mut self.ranks[rank];
        waiter.waiting[kind as usize] |= 1 << bank;
        if waiter.demand == 1 && waiter.state != State::Up {
            self.house_at = 0;
            self.is_next_known = false;
        }
        changes
    }

    /// Whether a burst of `transfer` at this place goes on where the run of `entry` ends.
    #[inline(always)]
    pub(crate) fn goes_on(&self, entry: u8, transfer: u32, row: u32, column: u16) -> bool {
        let run = self.queues.get(entry);
        run.transfer == transfer && run.row == row && u32::from(run.column) + u32::from(run.count) == u32::from(column)
    }

    /// Whether a burst of `kind` for this place waits.
    #[inline(always)]
    fn find<const FAR: bool>(&self, kind: Kind, rank: usize, bank: usize, place: &Place) -> bool {
        let mut entry = self.bank(rank, bank).head[kind as usize];
        while entry != NONE {
            let waits = self.queues.get(entry);
            let waits_for = if FAR {
                waits.covers(place.row, place.column)
            } else {
                waits.row == place.row && u32::from(waits.column) == place.column
            };
            if waits_for {
                return true;
            }
            entry = waits.next;
        }
        false
    }

    /// Bursts of a transfer are served; the data of the last are through at `end`.
    #[inline(always)]
    pub(crate) fn served<const FAR: bool>(&mut self, number: u32, end: Time, bursts: u32) {
        let transfer = &mut self.transfers[number as usize];
        transfer.end = transfer.end.max(end);
        let more = transfer.to_serve > 1;
        transfer.to_serve -= bursts;
        if transfer.to_serve == 0 {
            // Free from here on: it names the free one before it.
            transfer.to_enter = std::mem::replace(&mut self.free_transfer, number);
            if transfer.ends_served() {
                let at = transfer.end;
                if FAR {
                    self.ending[usize::from(more)] -= 1;
                }
                self.finish(number, at);
            }
        } else if FAR && transfer.to_serve == 1 && transfer.ends_served() {
            self.ending[0] += 1;
            self.ending[1] -= 1;
        }
    }
}
