//! A controller that serves what it is asked for in order, without a queue to search.
//!
//! * A *short read*, of up to eight bursts of one row, is booked when it comes: each of its commands takes the first clocks
//!   that the device and the command bus allow, so that rows are opened while data of the reads before it are still to
//!   come. Column commands of short reads come in the order of the reads.
//! * All else, longer reads and all writes, is the *backlog*. It is served in order, a command after the one before it,
//!   while no booked command lies ahead: none of its commands comes between a short read's arrival and the read's last
//!   command. If short reads leave it no time, it has [`Config::turn_min`] bursts whenever that many of theirs went ahead.
//! * A short read of what a write in the backlog holds is answered from there. One of which the backlog holds a part joins
//!   it, behind that write.
//! * A posted write is accepted when no more than [`Config::write_queue`] bursts of writes before it wait: the controller
//!   has room for these and for one request more.
//! * A refresh comes when it is due: behind what was booked until then, before all else.
//!
//! What this leaves out of [`Channel`] is the search for rows that are open. Where reads are short and far apart, or long,
//! there is little to be found, and a request costs a fraction of what it costs there.

mod backlog;
mod slots;

use std::collections::VecDeque;

use sim::Time;

use crate::bank::CLOSED;
use crate::board::{RANKS, class};
use crate::channel::{Channel, NEVER};
use crate::command::{Command, CommandKind};
use crate::config::{Config, ConfigError, PagePolicy};
use crate::layout::Place;
use crate::power::{EnergyByUse, RankActivity};
use crate::rank::State;
use crate::request::{Completion, Kind, Request};
use backlog::{Pending, Posted};
use slots::{REACH, Slots};

/// Bursts of a short read at most.
const SHORT: u32 = 8;

/// One channel: ranks behind a controller that serves in order.
pub struct InOrder {
    /// The ranks and banks, what timing asks of the next command, counters. Its own queues stay empty.
    channel: Channel,
    /// What is not booked.
    backlog: VecDeque<Pending>,
    /// Requests of the backlog that are done when they are served.
    ending: u32,
    /// Posted writes that are not accepted.
    posted: VecDeque<Posted>,
    /// Write bursts that came, and those of them that were served.
    asked: u64,
    written: u64,
    /// Read bursts when a write was last served, and whether one was.
    read_before: Option<u64>,
    /// Bursts of short reads since the backlog was last served.
    passed: u32,
    /// The command bus behind `behind`.
    slots: Slots,
    /// Booked reads have no command before this: the backlog's, and those for ranks, are.
    behind: u64,
    /// No refresh is due before this, and then this rank's.
    refresh_at: u64,
    refresh_rank: usize,
    /// No rank needs anything before this, a refresh or rest.
    needed_at: u64,
    /// From one to the next, and that ranks do more than refresh in idle time.
    interval: u64,
    rests: bool,
}

/// What waits to be written of what is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Part,
    All,
}

impl InOrder {
    /// A channel at time zero: all banks closed, nothing asked for.
    ///
    /// # Errors
    /// If the configuration cannot work: of the policies for rows, `Open` alone, refreshes are not postponed, and long requests
    /// have a turn.
    pub fn new(config: &Config) -> Result<InOrder, ConfigError> {
        if config.page != PagePolicy::Open {
            return Err(ConfigError::new("page", &config.page, "Open where requests are served in order"));
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
        let mut controller = InOrder {
            channel: Channel::new(config)?,
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
            rests: config.power_down_after.is_some() || config.self_refresh_after.is_some(),
        };
        controller.look_for_refresh();
        Ok(controller)
    }

    /// The ranks, for configuration and counters. Of its counters those of idle time are as of the last call.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// See [`Channel::submit`].
    ///
    /// # Panics
    /// As there.
    pub fn submit(&mut self, now: Time, request: Request) {
        if let Some(done) = self.submit_early(now, request) {
            self.channel.tell(done);
        }
    }

    /// As [`InOrder::submit`]; if it is known when the request is done, it is said at once instead of by
    /// [`InOrder::advance`], and is to be counted by who hears it.
    #[inline(always)]
    pub(crate) fn submit_early(&mut self, now: Time, request: Request) -> Option<Completion> {
        let arrival = self.channel.clock.at_or_after(now);
        let (group, bursts, burst) = self.channel.locate(&request);
        let Request { port, kind, .. } = request;
        self.channel.port_stats[port as usize].bytes[kind as usize] +=
            u64::from(bursts) << self.channel.settings.burst_shift;
        let layout = &self.channel.regions[group as usize].layout;
        if kind == Kind::Read && bursts <= SHORT && layout.in_row(burst) >= bursts {
            let place = layout.place(burst);
            self.come_to(arrival);
            match self.held(group, burst, bursts) {
                Held::Nothing => {
                    let end = self.book(arrival, &request, &place, bursts);
                    return Some(self.channel.completion(&request, group, now, end));
                }
                Held::All => {
                    self.channel.stats.forwarded += u64::from(bursts);
                    let end = self.channel.clock.time(arrival + 1) + self.channel.settings.latency;
                    return Some(self.channel.completion(&request, group, now, end));
                }
                Held::Part => {}
            }
        }
        self.append(now, arrival, request, group, burst, bursts)
    }

    /// What of these bursts writes of the backlog hold.
    #[inline(always)]
    fn held(&self, group: u32, burst: u64, bursts: u32) -> Held {
        if self.asked == self.written { Held::Nothing } else { self.held_by_writes(group, burst, bursts) }
    }

    #[inline(never)]
    fn held_by_writes(&self, group: u32, burst: u64, bursts: u32) -> Held {
        let end = burst + u64::from(bursts);
        // The last to write is the first to answer.
        for write in self.backlog.iter().rev().filter(|pending| pending.kind == Kind::Write) {
            let last = write.burst + u64::from(write.left);
            if write.group == group && write.burst < end && burst < last {
                return if write.burst <= burst && end <= last { Held::All } else { Held::Part };
            }
        }
        Held::Nothing
    }

    /// A short read takes its clocks: when its data are there.
    #[inline(always)]
    fn book(&mut self, arrival: u64, request: &Request, place: &Place, bursts: u32) -> Time {
        if !self.backlog.is_empty() {
            self.passed += bursts;
            if self.passed > self.channel.settings.turn_min {
                self.serve(NEVER, self.channel.settings.turn_min);
            }
        }
        let (rank, bank) = (place.rank as usize, self.channel.number_of(place));
        if self.channel.ranks[rank].state != State::Up {
            self.wake(arrival, rank);
        }
        let ahead = self.channel.floor;
        let from = arrival.max(self.behind).max(ahead.saturating_sub(REACH));
        self.open(from, rank, bank, place);
        let (mut column, mut burst, slots) = (from, 0, self.channel.settings.column_slots);
        while burst < bursts {
            let allowed = self.channel.bank(rank, bank).next_column;
            let allowed = allowed.max(self.channel.boards[rank % RANKS].allows(place.group as usize, class::READ));
            column = self.slots.take(allowed.max(from), slots);
            self.channel.transfer_data::<false>(column, Kind::Read, rank, bank, 1);
            self.channel.note(column, CommandKind::Read, rank, bank, (place.row, place.column + burst), request.id);
            burst += 1;
        }
        self.leave(column, rank);
        self.channel.stats.steps += u64::from(bursts);
        // Rows may have been opened before columns of other reads.
        self.channel.floor = ahead.max(column + slots);
        self.channel.now = self.channel.floor - slots;
        self.channel.data_end(column, Kind::Read)
    }

    /// A rank was served at `cycle`.
    #[inline(always)]
    fn leave(&mut self, cycle: u64, rank: usize) {
        if self.rests {
            self.channel.leave_rank(cycle, rank);
            self.needed_at = self.needed_at.min(self.channel.house_at);
        }
    }

    /// The row of a booked read is opened, if it is not open.
    #[inline(always)]
    fn open(&mut self, from: u64, rank: usize, number: usize, place: &Place) {
        let channel = &mut self.channel;
        let bank = channel.bank(rank, number);
        if bank.row == place.row {
            return;
        }
        if bank.row != CLOSED {
            let limit = channel.boards[rank % RANKS].allows(place.group as usize, class::PRECHARGE);
            let allowed = bank.next_precharge.max(limit).max(from);
            let at = self.slots.take(allowed, u64::from(channel.config.device.timing.precharge_slots));
            channel.stats.conflicts += 1;
            channel.stats.steps += 1;
            channel.precharge(at, rank, number);
        }
        let limit = channel.boards[rank % RANKS].allows(place.group as usize, class::ACTIVATE);
        let allowed = channel.bank(rank, number).next_activate.max(limit).max(from);
        let at = self.slots.take(allowed, u64::from(channel.config.device.timing.activate_slots));
        channel.stats.steps += 1;
        channel.activate(at, rank, number, place.row);
    }

    /// When [`InOrder::advance`] is to be called next at the latest: no request is done before. `None` while none that is
    /// asked for is to be told of. The time may turn out to be too early; it is never too late.
    #[inline]
    pub fn next_event(&mut self) -> Option<Time> {
        let done = self.channel.done.first();
        let next = if self.ending == 0 && self.posted.is_empty() { done } else { done.min(self.soonest()) };
        (next != Time::MAX).then_some(next)
    }

    /// Comes to `now`: does all that is due, and appends what is done to `completions`, in order of time.
    #[inline]
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
        if !self.backlog.is_empty() {
            self.serve(self.channel.clock.at_or_before(now) + 1, u32::MAX);
        }
        while let Some(done) = self.channel.done.take(now) {
            completions.push(done);
        }
    }

    /// Keeps all commands from now on; see [`Channel::keep_log`].
    pub fn keep_log(&mut self) {
        self.channel.keep_log();
    }

    /// The commands since the last call, in order; those that are booked ahead are among them.
    pub fn take_log(&mut self) -> Vec<Command> {
        let mut log = self.channel.take_log();
        log.sort_by_key(|command| command.cycle);
        log
    }

    /// See [`Channel::activity`].
    pub fn activity(&mut self, now: Time) -> Vec<RankActivity> {
        self.come_to(self.channel.clock.at_or_before(now) + 1);
        self.channel.activity_so_far(now)
    }

    /// See [`Channel::energy`].
    pub fn energy(&mut self, now: Time) -> Vec<EnergyByUse> {
        let activity = self.activity(now);
        self.channel.energy_of(&activity)
    }
}

impl Channel {
    /// A bank's number in its rank.
    #[inline(always)]
    pub(crate) fn number_of(&self, place: &Place) -> usize {
        (place.group << self.settings.group_shift | place.bank) as usize
    }
}
