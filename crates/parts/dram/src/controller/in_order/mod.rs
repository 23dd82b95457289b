//! A controller that serves requests in order, without searching a queue.
//!
//! * A *short read*, of up to eight bursts of one row, is booked on arrival: each of its commands takes the first
//!   clocks that the device and the command bus allow, so that rows are opened while the data of earlier reads is still
//!   pending. Column commands of short reads keep the order of the reads.
//! * All other requests, longer reads and all writes, form the *backlog*. It is served in order, one command after
//!   another, while no booked command is ahead: none of its commands comes between a short read's arrival and that
//!   read's last command. If short reads leave it no time, it gets [`Config::turn_min`] bursts after every such number
//!   of theirs.
//! * A short read of data that a write in the backlog holds completely is answered from there. If the backlog holds a
//!   part of the data, the read joins the backlog after that write.
//! * A posted write is accepted when at most [`Config::write_queue`] bursts of earlier writes wait: the controller has
//!   room for these and for one more request.
//! * A due refresh comes after everything booked until then and before all else.
//!
//! In contrast to [`crate::Channel`], there is no search for open rows. If reads are short and far apart, or long, such
//! a search would find little, and a request costs a fraction of the work.

mod backlog;
mod slots;

use std::collections::VecDeque;

use sim::Time;

use backlog::{Pending, Posted};
use slots::{REACH, Slots};

use crate::controller::done::Done;
use crate::controller::maintenance::Maintenance;
use crate::controller::requests::{Requests, Span};
use crate::controller::{Config, ConfigError, PagePolicy, RefreshMode};
use crate::device::Place;
use crate::request::{Completion, Kind, RankKind, Request};
use crate::state::{CLOSED, Command, CommandKind, EnergyByUse, NEVER, PowerMode, RankActivity, State, class};
use crate::stats::{ChannelStats, PortStats};

/// Maximum number of bursts of a short read.
const SHORT: u32 = 8;

/// One channel: ranks behind a controller that serves requests in order.
pub struct InOrder {
    state: State,
    requests: Requests,
    maintenance: Maintenance,
    /// Requests that are not booked.
    backlog: VecDeque<Pending>,
    /// Requests of the backlog that are done when they have been served.
    ending: u32,
    /// Posted writes that have not been accepted.
    posted: VecDeque<Posted>,
    /// Number of write bursts requested, and of those served.
    asked: u64,
    written: u64,
    /// Number of read bursts when a write was last served, if there was one.
    read_before: Option<u64>,
    /// Bursts of short reads since the backlog was last served.
    passed: u32,
    /// Occupation of the command bus after `behind`.
    slots: Slots,
    /// Lower bound for commands of booked reads; commands of the backlog and of maintenance come before it.
    behind: u64,
    /// Cycle of the next refresh, and its rank.
    refresh_at: u64,
    refresh_rank: usize,
    /// No rank needs maintenance, a refresh or rest, before this cycle.
    needed_at: u64,
    /// Refresh interval, and whether ranks do more than refresh in idle time.
    interval: u64,
    rests: bool,
}

/// Which part of a read's data waits to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Part,
    All,
}

impl InOrder {
    /// Creates an idle channel at time zero with all banks closed.
    ///
    /// # Errors
    /// Fails if the configuration is invalid. The row policy must be `Open`, refreshes cannot be postponed, and long
    /// requests need a turn of at least one burst.
    pub fn new(config: &Config) -> Result<InOrder, ConfigError> {
        if config.page != PagePolicy::Open {
            return Err(ConfigError::new("page", &config.page, "Open where requests are served in order"));
        }
        if config.refresh_mode != RefreshMode::AllBank {
            return Err(ConfigError::new(
                "refresh_mode",
                &config.refresh_mode,
                "AllBank where requests are served in order",
            ));
        }
        if config.refresh_postpone != 0 {
            return Err(ConfigError::new(
                "refresh_postpone",
                &config.refresh_postpone,
                "0 where requests are served in order",
            ));
        }
        if config.turn_min == 0 {
            return Err(ConfigError::new("turn_min", &config.turn_min, "1 or more where requests are served in order"));
        }
        config.check()?;
        let maintenance = Maintenance::new(config);
        let mut controller = InOrder {
            state: State::new(&config.device, &config.rank_kinds(), config.refresh),
            requests: Requests::new(config),
            rests: maintenance.power.rests(),
            maintenance,
            backlog: VecDeque::new(),
            ending: 0,
            posted: VecDeque::new(),
            asked: 0,
            written: 0,
            read_before: None,
            passed: 0,
            slots: Slots::new(),
            behind: 0,
            refresh_at: 0,
            refresh_rank: 0,
            needed_at: 0,
            interval: u64::from(config.device.timing.refi),
        };
        controller.look_for_refresh();
        Ok(controller)
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.requests.config
    }

    /// Returns the counters. Those of idle time are as of the last call.
    pub fn stats(&self) -> ChannelStats {
        self.state.stats
    }

    /// Returns a port's counters.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn port_stats(&self, port: u8) -> PortStats {
        self.requests.port_stats(port)
    }

    /// Returns the kind of rank at the channel's own `address`.
    ///
    /// # Panics
    /// Panics if the address does not exist.
    pub fn kind_at(&self, address: u64) -> RankKind {
        self.requests.kind_at(address)
    }

    /// Submits a request; see [`crate::Channel::submit`].
    ///
    /// # Panics
    /// Panics like [`crate::Channel::submit`].
    pub fn submit(&mut self, now: Time, request: Request) {
        if let Some(done) = self.submit_early(now, &request) {
            self.requests.complete(done);
        }
    }

    /// Like [`InOrder::submit`], but returns the completion if it is already known. [`InOrder::advance`] does not
    /// report it again, and the caller must count it.
    pub(crate) fn submit_early(&mut self, now: Time, request: &Request) -> Option<Completion> {
        let arrival = self.state.clock.at_or_after(now);
        let span @ Span { group, burst, bursts } = self.requests.locate(request);
        let kind = request.kind;
        self.requests.count(request.port, kind, bursts);
        let layout = self.requests.layout(group);
        if kind == Kind::Read && bursts <= SHORT && layout.in_row(burst) >= bursts {
            let place = layout.place(burst);
            self.come_to(arrival);
            match self.held(group, burst, bursts) {
                Held::Nothing => {
                    let end = self.book(arrival, request, &place, bursts);
                    return Some(self.requests.completion(request, group, now, end));
                }
                Held::All => {
                    self.state.stats.forwarded += u64::from(bursts);
                    let end = self.state.clock.time(arrival + 1) + self.requests.config.latency;
                    return Some(self.requests.completion(request, group, now, end));
                }
                Held::Part => {}
            }
        }
        self.append(now, arrival, request, span)
    }

    /// Returns which part of these bursts is held by writes in the backlog.
    fn held(&self, group: u32, burst: u64, bursts: u32) -> Held {
        if self.asked == self.written { Held::Nothing } else { self.held_by_writes(group, burst, bursts) }
    }

    fn held_by_writes(&self, group: u32, burst: u64, bursts: u32) -> Held {
        let end = burst + u64::from(bursts);
        // The most recent write has the current data.
        for write in self.backlog.iter().rev().filter(|pending| pending.kind == Kind::Write) {
            let last = write.burst + u64::from(write.left);
            if write.group == group && write.burst < end && burst < last {
                return if write.burst <= burst && end <= last { Held::All } else { Held::Part };
            }
        }
        Held::Nothing
    }

    /// Books the commands of a short read. Returns the time at which its data arrives.
    fn book(&mut self, arrival: u64, request: &Request, place: &Place, bursts: u32) -> Time {
        if !self.backlog.is_empty() {
            self.passed += bursts;
            if self.passed > self.requests.config.turn_min {
                self.serve(NEVER, self.requests.config.turn_min);
            }
        }
        let (rank, bank) = (place.rank as usize, self.state.number_of(place));
        if self.state.ranks[rank].state != PowerMode::Up {
            self.wake(arrival, rank);
        }
        let ahead = self.state.bus_free;
        let from = arrival.max(self.behind).max(ahead.saturating_sub(REACH));
        self.open(from, rank, bank, place);
        let (mut column, mut burst, slots) = (from, 0, u64::from(self.state.timing.column_slots));
        while burst < bursts {
            let allowed = self.state.bank(rank, bank).next_column;
            let allowed = allowed.max(self.state.ranks[rank].constraints.allows(place.group as usize, class::READ));
            column = self.slots.take(allowed.max(from), slots);
            self.state.column(column, Kind::Read, rank, bank, 1);
            self.state.note(column, CommandKind::Read, rank, bank, (place.row, place.column + burst), request.id);
            burst += 1;
        }
        self.leave(column, rank, bank, bursts);
        // The row may have been opened before columns of other reads.
        self.state.bus_free = ahead.max(column + slots);
        self.state.now = self.state.bus_free - slots;
        self.requests.data_end(&self.state, column, Kind::Read)
    }

    /// Records `bursts` column commands of a bank, the last at `cycle`.
    fn leave(&mut self, cycle: u64, rank: usize, bank: usize, bursts: u32) {
        if self.rests {
            self.maintenance.served(&self.state, cycle, rank, bank, bursts);
            self.needed_at = self.needed_at.min(self.maintenance.next_at);
        }
    }

    /// Opens the row of a booked read if it is not open.
    fn open(&mut self, from: u64, rank: usize, number: usize, place: &Place) {
        let state = &mut self.state;
        let bank = state.bank(rank, number);
        if bank.row == place.row {
            return;
        }
        if bank.row != CLOSED {
            let limit = state.ranks[rank].constraints.allows(place.group as usize, class::PRECHARGE);
            let allowed = bank.next_precharge.max(limit).max(from);
            let at = self.slots.take(allowed, u64::from(state.timing.precharge_slots));
            state.stats.conflicts += 1;
            state.precharge(at, rank, number);
        }
        let limit = state.ranks[rank].constraints.allows(place.group as usize, class::ACTIVATE);
        let allowed = state.bank(rank, number).next_activate.max(limit).max(from);
        let at = self.slots.take(allowed, u64::from(state.timing.activate_slots));
        state.activate(at, rank, number, place.row);
    }

    /// Returns the time at which [`InOrder::advance`] must be called next: no request is done earlier. `None` if no
    /// completion is pending. The time may be too early, but is never too late.
    pub fn next_event(&mut self) -> Option<Time> {
        let done = self.requests.done.first();
        let next = if self.ending == 0 && self.posted.is_empty() { done } else { done.min(self.soonest()) };
        (next != Time::MAX).then_some(next)
    }

    /// Advances to `now`: performs all due work and appends completions to `completions` in order of time.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let done = self.advance_to(now);
        while let Some(done) = done.take(now) {
            completions.push(done);
        }
    }

    /// Performs all work due until `now`. Returns the completions.
    pub(crate) fn advance_to(&mut self, now: Time) -> &mut Done {
        if !self.backlog.is_empty() {
            self.serve(self.state.clock.at_or_before(now) + 1, u32::MAX);
        }
        &mut self.requests.done
    }

    /// Logs all commands from now on; see [`crate::Channel::keep_log`].
    pub fn keep_log(&mut self) {
        self.state.log.kept = true;
    }

    /// Returns the commands since the last call, in order, including those booked ahead.
    pub fn take_log(&mut self) -> Vec<Command> {
        let mut log = self.state.log.take();
        log.sort_by_key(|command| command.cycle);
        log
    }

    /// Returns per-rank activity; see [`crate::Channel::activity`].
    pub fn activity(&mut self, now: Time) -> Vec<RankActivity> {
        self.come_to(self.state.clock.at_or_before(now) + 1);
        self.state.activity(now)
    }

    /// Returns the energy of each rank; see [`crate::Channel::energy`].
    pub fn energy(&mut self, now: Time) -> Vec<EnergyByUse> {
        let activity = self.activity(now);
        self.state.energy(&self.requests.config.device, &activity)
    }
}
