//! One channel with its event-driven controller.
//!
//! Clock edges without a command are never simulated. The state is that after the last command. The next command is
//! computed from the waiting bursts and the timing rules, kept until the state changes, and issued when the channel
//! advances to its clock. While no request waits there are no events: refreshes and power-downs of idle time are
//! computed when they matter, whole intervals at once.

use std::collections::VecDeque;

use sim::{Dense, Time};

use crate::controller::candidates::{Candidates, Choice};
use crate::controller::done::Done;
use crate::controller::maintenance::{Maintenance, Need, Step};
use crate::controller::queue::{NONE, Queues};
use crate::controller::requests::Requests;
use crate::controller::train::Train;
use crate::controller::{Config, ConfigError};
use crate::request::{Completion, RankKind, Request, RequestKind};
use crate::state::{ChannelState, Command, CommandKind, EnergyByUse, NEVER, PerRank, RankActivity, class};
use crate::stats::{BankStats, ChannelStats, PortStats};

/// Marks the absence of a transfer.
pub(crate) const NO_TRANSFER: u32 = u32::MAX;

/// A request in progress.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) request: Request,
    pub(crate) submitted: Time,
    /// Cycle of its arrival.
    pub(crate) arrival: u64,
    /// Its next burst, numbered within its group of ranks, and the number of bursts that have not entered a queue.
    pub(crate) burst: u64,
    pub(crate) to_enter: u32,
    /// Number of bursts that have not been served.
    pub(crate) to_serve: u32,
    /// End of the last data so far.
    pub(crate) end: Time,
    /// Its group of ranks.
    pub(crate) group: u32,
}

impl Transfer {
    /// Returns true if it is done when its last burst has been served, rather than when that burst has entered.
    pub(crate) fn ends_served(&self) -> bool {
        self.request.ends_served()
    }
}

/// Limits of write drains and of waiting.
pub(crate) struct Settings {
    pub(crate) write_high: u32,
    pub(crate) write_low: u32,
    pub(crate) write_queue: u32,
    pub(crate) turn_min: u32,
    /// Minimum clocks from a column command to the next, and to the end of its data.
    pub(crate) gap_min: u64,
    pub(crate) shortest: u64,
}

/// One channel: ranks behind a controller that serves open rows first (FR-FCFS).
///
/// It has more fields than a struct should have, because its parts share the queues' state in every step.
pub struct Channel {
    pub(crate) settings: Settings,
    pub(crate) state: ChannelState,
    pub(crate) requests: Requests,
    pub(crate) maintenance: Maintenance,
    /// Per-rank candidates for the next command of each bank.
    pub(crate) candidates: PerRank<Candidates>,
    pub(crate) queues: Queues,
    pub(crate) transfers: Dense<Transfer>,
    /// First free transfer, or [`NO_TRANSFER`]. Free transfers are linked through `to_enter`.
    pub(crate) free_transfer: u32,
    /// Per-port transfers that have not entered the queues completely.
    pub(crate) ports: Dense<VecDeque<u32>>,
    /// Number of requests that are done with their last served burst: those with one burst left, and those with more.
    pub(crate) ending: [u32; 2],
    /// Number of requests in the ports, and of writes among them.
    pub(crate) waiting: u32,
    pub(crate) waiting_writes: u32,
    pub(crate) next_port: usize,
    /// The first cycle in which the next burst may enter a queue.
    pub(crate) enter_at: u64,
    /// The cycle after the last entry.
    pub(crate) enter_next: u64,
    /// The first cycle in which the last freed place of each queue can be taken: the clock after its command.
    pub(crate) room_at: [u64; 2],
    /// Lower bound for the next column command.
    pub(crate) column_at: u64,
    /// Current use of the bus: reads, or a drain of writes.
    pub(crate) direction: RequestKind,
    /// Bursts since the last turn.
    pub(crate) turned: u32,
    /// True if the drain continues although reads wait.
    pub(crate) draining: bool,
    /// True if the caller uses [`Channel::next_done`], so that requests of several bursts may become trains.
    pub(crate) goes_far: bool,
    /// True if there has been a write that is done when it is in the device.
    pub(crate) has_through: bool,
    /// The next step, if it is known, and its details if it is not a candidate.
    pub(crate) next: Choice,
    pub(crate) is_next_known: bool,
    pub(crate) next_need: Need,
    /// The only request in progress, while its bursts are decided as a whole.
    pub(crate) train: Option<Train>,
}

impl Channel {
    /// Creates an idle channel at time zero with all banks closed.
    ///
    /// # Errors
    /// Fails if the configuration is invalid.
    pub fn new(config: &Config) -> Result<Channel, ConfigError> {
        config.check()?;
        let state = ChannelState::new(&config.device, &config.rank_kinds(), config.refresh);
        let age_max = state.clock.at_or_after(config.age_max);
        Ok(Channel {
            settings: Settings {
                write_high: config.write_high,
                write_low: config.write_low,
                write_queue: config.write_queue,
                turn_min: config.turn_min,
                gap_min: state.column_gap_min(),
                shortest: state.data_min(),
            },
            requests: Requests::new(config),
            maintenance: Maintenance::new(config),
            candidates: PerRank::new(state.ranks.len(), |_| Candidates::EMPTY),
            queues: Queues::new(state.ranks.len(), config.read_queue, config.write_queue, age_max),
            state,
            transfers: Dense::new(Vec::new()),
            free_transfer: NO_TRANSFER,
            ports: Dense::new(vec![VecDeque::new(); config.ports as usize]),
            ending: [0; 2],
            waiting: 0,
            waiting_writes: 0,
            next_port: 0,
            enter_at: NEVER,
            enter_next: 0,
            room_at: [0; 2],
            column_at: 0,
            direction: RequestKind::Read,
            turned: 0,
            draining: false,
            goes_far: false,
            has_through: false,
            next: Choice::NONE,
            is_next_known: false,
            next_need: Need::NOTHING,
            train: None,
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.requests.config
    }

    /// Submits a read or a write of any length. Its bursts enter the queues as there is room.
    ///
    /// # Panics
    /// Panics if it is empty, its port does not exist, or it is not within one group of ranks.
    pub fn submit(&mut self, now: Time, request: Request) {
        let arrival = self.state.clock.at_or_after(now);
        if arrival == 0 {
            self.settle_train(0);
        } else if !self.stands_still_before(arrival) {
            self.run(arrival - 1);
        }
        let arrival = arrival.max(self.state.now);
        let span = self.requests.locate(&request);
        let may_be_train = self.goes_far || (span.bursts == 1 && request.kind == RequestKind::Read);
        if may_be_train && !self.has_work() && self.train.is_none() && self.start_train(now, arrival, &request, span) {
            return;
        }
        self.admit(now, arrival, &request, span);
    }

    /// Returns true if no work is left before `cycle`, as far as is known without computation.
    fn stands_still_before(&self, cycle: u64) -> bool {
        if self.train.is_some() {
            false
        } else if self.has_work() {
            self.is_next_known && self.next.cycle >= cycle && self.enter_at >= cycle
        } else {
            self.maintenance.next_at >= cycle
        }
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
        if self.train.is_some() {
            self.follow_train(now);
        } else if self.has_work() {
            self.run(self.state.clock.at_or_before(now));
        }
        &mut self.requests.done
    }

    /// Returns true if any request waits to enter or to be served.
    pub(crate) fn has_work(&self) -> bool {
        self.waiting > 0 || self.queues.length(RequestKind::Read) + self.queues.length(RequestKind::Write) > 0
    }

    /// Performs all work due until `cycle`.
    fn run(&mut self, cycle: u64) {
        self.settle_train(cycle);
        if self.work(cycle) && self.maintenance.next_at <= cycle {
            self.maintenance.idle(&mut self.state, cycle);
            self.is_next_known = false;
        }
    }

    /// Serves requests until `cycle`. Returns true if none is left.
    pub(crate) fn work(&mut self, cycle: u64) -> bool {
        while self.has_work() {
            if !self.is_next_known {
                self.choose();
            }
            let next = self.next.cycle;
            if self.enter_at.min(next) > cycle {
                return false;
            }
            if self.enter_at <= next {
                let until = cycle.min(next);
                if until == self.enter_at || !self.enter_train(until) {
                    self.enter(self.enter_at);
                }
            } else if cycle == next || !self.serve_train(cycle) {
                self.perform();
            }
        }
        true
    }

    /// Performs the next step.
    fn perform(&mut self) {
        let cycle = self.next.cycle;
        debug_assert!(cycle >= self.state.now, "a step backward from {} to {cycle}", self.state.now);
        self.is_next_known = false;
        if self.next.place == Choice::MAINTENANCE {
            self.perform_maintenance();
            return;
        }
        let (rank, bank) = (self.next.place as usize >> 8, self.next.place as usize & 0xff);
        let (class, entry) = self.candidates[rank].of(bank);
        match class {
            class::READ => self.column(cycle, RequestKind::Read, rank, bank, entry),
            class::WRITE => self.column(cycle, RequestKind::Write, rank, bank, entry),
            class::ACTIVATE => {
                let row = self.queues.get(entry).row;
                self.state.activate(cycle, rank, bank, row);
                self.maintenance.row_opened(cycle, rank, bank, row);
                self.queues.opened(rank, bank, row);
                self.consider(rank, bank);
            }
            _ => {
                self.state.count_conflict(rank, bank);
                self.state.precharge(cycle, rank, bank);
                self.queues.closed(rank, bank);
                self.consider(rank, bank);
            }
        }
    }

    fn perform_maintenance(&mut self) {
        let need = self.next_need;
        self.maintenance.perform(&mut self.state, need);
        match need.step {
            Step::Block { .. } => {}
            Step::Command { kind: CommandKind::Precharge, rank, bank } => {
                self.queues.closed(rank as usize, bank as usize);
                self.consider(rank as usize, bank as usize);
            }
            Step::Command { kind, rank, .. } => {
                if kind == CommandKind::PrechargeAll {
                    self.queues.all_closed(rank as usize);
                }
                self.consider_all(rank as usize);
            }
        }
    }

    /// Issues the column command of a queued burst.
    fn column(&mut self, cycle: u64, kind: RequestKind, rank: usize, bank: usize, entry: u8) {
        let waited = *self.queues.get(entry);
        debug_assert_eq!(self.state.bank(rank, bank).row, waited.row, "a column command for another row");
        if !self.queues.has_room(kind) {
            self.room_at[kind as usize] = cycle + 1;
        }
        self.queues.take(kind, entry, 1);
        self.maintenance.ranks[rank].demand -= 1;
        let closes = self.maintenance.rows.closes_behind() && self.queues.bank(rank, bank).hit == [NONE; 2];
        self.state.column(cycle, kind, rank, bank, 1);
        self.column_served(cycle, 1);
        self.maintenance.served(&self.state, cycle, rank, bank, 1);
        if self.state.log.kept {
            let command = match (kind, closes) {
                (RequestKind::Read, false) => CommandKind::Read,
                (RequestKind::Read, true) => CommandKind::ReadPrecharge,
                (RequestKind::Write, false) => CommandKind::Write,
                (RequestKind::Write, true) => CommandKind::WritePrecharge,
            };
            let id = self.transfers[waited.transfer as usize].request.id;
            self.state.note(cycle, command, rank, bank, (waited.row, u32::from(waited.column)), id);
        }
        if closes {
            self.state.auto_precharge(rank, bank);
        }
        self.consider(rank, bank);
        self.served(waited.transfer, self.requests.data_end(&self.state, cycle, kind), 1);
        if self.waiting > 0 {
            self.enter_at = self.enter_at.min(cycle + 1);
        }
    }

    /// Records that `bursts` column commands were issued, the last of them at `cycle`.
    pub(crate) fn column_served(&mut self, cycle: u64, bursts: u32) {
        self.turned += bursts;
        self.column_at = cycle + self.settings.gap_min;
    }

    /// Logs all commands from now on; the log grows without bound. Idle time is then simulated refresh by refresh.
    pub fn keep_log(&mut self) {
        self.state.log.kept = true;
    }

    /// Returns the commands since the last call, in order; empty if there is no log.
    pub fn take_log(&mut self) -> Vec<Command> {
        self.state.log.take()
    }

    /// Returns the counters of each rank's banks.
    pub fn bank_stats(&self) -> impl Iterator<Item = BankStats> {
        self.state.bank_stats()
    }

    /// Returns the kind of rank at the channel's own `address`.
    ///
    /// # Panics
    /// Panics if the address does not exist.
    pub fn kind_at(&self, address: u64) -> RankKind {
        self.requests.kind_at(address)
    }

    /// Returns the channel's counters.
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

    /// Returns per-rank activity until `now`, idle time included.
    pub fn activity(&mut self, now: Time) -> Vec<RankActivity> {
        self.run(self.state.clock.at_or_before(now));
        self.state.activity(now)
    }

    /// Returns the energy of each rank until `now`. The energy of a device's buffer belongs to the device and is not
    /// included.
    pub fn energy(&mut self, now: Time) -> Vec<EnergyByUse> {
        let activity = self.activity(now);
        self.state.energy(&self.requests.config.device, &activity)
    }
}
