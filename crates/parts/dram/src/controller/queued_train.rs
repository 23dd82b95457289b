//! Burst trains among queued requests: the entries and the column commands of one run that nothing can come between.
//!
//! Both functions stand for as many single steps ([`Channel::enter`], [`Channel::perform`]) and leave the same state.
//! They stop before the first step that may differ: a command of another bank that is ready as early, a maintenance
//! step, an overdue burst, a turn of the bus, a row that closes, or a burst that does not continue a run.

use crate::controller::candidates::Choice;
use crate::controller::channel::Channel;
use crate::controller::queue::{Arrivals, Entry, NONE};
use crate::request::RequestKind;
use crate::state::NEVER;

/// Shorter runs cost less to serve than to examine.
const SHORTEST: u32 = 4;

/// The only request that waits to enter, if its next bursts continue the last run of their bank.
struct Entering {
    transfer: u32,
    kind: RequestKind,
    rank: usize,
    /// Number of its next bursts that continue the run.
    bursts: u32,
}

impl Channel {
    /// Admits bursts of one request, one per clock, until `until`, which is no later than the next command. Returns
    /// false if none can enter like that.
    pub(crate) fn enter_train(&mut self, until: u64) -> bool {
        let from = self.enter_at;
        if until <= from {
            return false;
        }
        let Some(entering) = self.entering() else { return false };
        let kind = entering.kind;
        let clocks = u32::try_from(until - from + 1).unwrap_or(u32::MAX);
        let mut bursts = entering.bursts.min(self.queues.room(kind)).min(clocks);
        if kind == RequestKind::Write && self.direction == RequestKind::Read && self.turned >= self.settings.turn_min {
            // So many writes turn the bus, and so do overdue ones.
            bursts = bursts.min(self.settings.write_high.saturating_sub(self.queues.length(kind) + 1));
            if self.state.bus_free.max(until) >= self.queues.overdue_at(kind) {
                return false;
            }
        }
        if bursts == 0 || from < self.room_at[kind as usize] {
            return false;
        }
        let arrivals = Arrivals { cycle: from, apart: 1, bursts };
        self.enter_bursts(&entering, arrivals);
        self.enter_at = if self.some_may_enter() { self.enter_next } else { NEVER };
        true
    }

    /// Issues the next step, a column command, and those that follow it in its run, until `until`. A burst of the same
    /// kind enters behind each command if the queue was full. Returns false if it cannot issue at least two.
    pub(crate) fn serve_train(&mut self, until: u64) -> bool {
        let (cycle, kind) = (self.next.cycle, self.direction);
        if until <= cycle || self.next.place == Choice::MAINTENANCE {
            return false;
        }
        let (rank, bank) = (self.next.place as usize >> 8, self.next.place as usize & 0xff);
        let (class, entry) = self.candidates[rank].of(bank);
        if class != kind as usize || self.queues.get(entry).arrivals.bursts < SHORTEST {
            return false;
        }
        let run = *self.queues.get(entry);
        let mut change = self.maintenance.next_at.min(self.queues.overdue_at(kind));
        if self.queues.length(RequestKind::Write) > 0 {
            change = change.min(self.queues.overdue_at(RequestKind::Write));
        }
        let (full, waits) = (!self.queues.has_room(kind), self.waiting > 0 && self.some_wait(kind));
        // A burst that enters does so in the clock after a command.
        let latest = (until - u64::from(waits)).min(change.saturating_sub(1));
        let (latest, older) = self.before_others(rank, bank, run.order, latest);
        let gap = self.state.column_gap(kind);
        if latest < cycle + gap {
            return false;
        }
        let bursts = ((latest - cycle) / gap + 1).min(older).min(self.before_turn().into());
        let mut bursts = u32::try_from(bursts).unwrap_or(u32::MAX);
        let entering = if waits { self.entering() } else { None };
        // The bursts that enter may join the run that is served.
        let mut grows = false;
        match &entering {
            Some(entering) if full && entering.kind == kind => {
                grows = self.queues.is_newest(entry) && run.arrivals.goes_on(cycle + 1, gap);
                bursts = bursts.min(entering.bursts);
            }
            _ if waits || (self.waiting > 0 && self.some_may_enter()) => return false,
            _ => {}
        }
        if !grows {
            bursts = bursts.min(run.arrivals.bursts - u32::from(self.keeps_last(&run, waits)));
        }
        if bursts < 2 {
            return false;
        }
        let last = cycle + u64::from(bursts - 1) * gap;
        let (place, id) = ((run.row, run.column.into()), self.transfers[run.transfer as usize].request.id);
        self.state.note_columns(kind, (cycle, gap, bursts), rank, bank, place, id);
        if full {
            self.room_at[kind as usize] = if entering.is_some() { last } else { cycle } + 1;
        }
        self.state.column(last, kind, rank, bank, bursts);
        self.column_served(last, bursts);
        if !grows {
            self.queues.take(kind, entry, bursts);
        }
        if let Some(entering) = &entering {
            self.enter_bursts(entering, Arrivals { cycle: cycle + 1, apart: gap, bursts });
        }
        if grows {
            self.queues.take(kind, entry, bursts);
        }
        self.maintenance.ranks[rank].demand -= bursts;
        self.maintenance.served(&self.state, last, rank, bank, bursts);
        self.consider(rank, bank);
        self.served(run.transfer, self.requests.data_end(&self.state, last, kind), bursts);
        if self.waiting > 0 {
            self.enter_at =
                if entering.is_none() || self.some_may_enter() { self.enter_next.max(last + 1) } else { NEVER };
        }
        self.is_next_known = false;
        true
    }

    /// Returns true if requests of `kind` wait to enter.
    fn some_wait(&self, kind: RequestKind) -> bool {
        if kind == RequestKind::Write { self.waiting_writes > 0 } else { self.waiting > self.waiting_writes }
    }

    /// Returns the request that waits to enter, unless several ports have one or its next burst does not continue the
    /// newest run.
    fn entering(&self) -> Option<Entering> {
        // The port that entered last, if no other has any.
        let port = &self.ports[self.next_port.checked_sub(1)?];
        let number = *port.front()?;
        let transfer = &self.transfers[number as usize];
        if transfer.to_enter < 2 || port.len() != self.waiting as usize {
            return None;
        }
        let (kind, layout) = (transfer.request.kind, self.requests.layout(transfer.group));
        let run = self.queues.newest_run(kind).filter(|run| run.transfer == number)?;
        let (rank, bank) = (run.rank as usize, run.bank as usize);
        let (row, column) = layout.row_and_column(transfer.burst);
        // Behind a burst of the other kind it may have to wait, or is answered from the queue.
        if (run.row, u32::from(run.column) + run.arrivals.bursts) != (row, column)
            || layout.in_row(transfer.burst - 1) == 1
            || self.queues.bank(rank, bank).head[1 - kind as usize] != NONE
        {
            return None;
        }
        let bursts = transfer.to_enter.min(layout.in_row(transfer.burst));
        Some(Entering { transfer: number, kind, rank, bursts })
    }

    /// Queues bursts that continue a run, which changes no bank's candidate.
    fn enter_bursts(&mut self, entering: &Entering, arrivals: Arrivals) {
        let &Entering { transfer, kind, rank, .. } = entering;
        let last = arrivals.last();
        self.queues.extend_newest(kind, arrivals);
        self.draining |= kind == RequestKind::Write
            && self.direction == RequestKind::Write
            && self.queues.length(kind) >= self.settings.write_high;
        self.maintenance.ranks[rank].demand += arrivals.bursts;
        self.note_entries(last, transfer, arrivals.bursts);
        (self.state.now, self.enter_next) = (last, last + 1);
        self.state.bus_free = self.state.bus_free.max(last);
        self.state.stats.steps += u64::from(arrivals.bursts);
    }

    /// Returns true if the last burst of a run needs a single step: it closes its row, or other bursts continue the run.
    fn keeps_last(&self, run: &Entry, waits: bool) -> bool {
        let is_last = run.next == NONE || self.queues.get(run.next).row != run.row;
        is_last && (waits || self.maintenance.rows.closes_behind())
    }
}
