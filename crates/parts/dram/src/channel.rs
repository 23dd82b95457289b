//! One channel: its controller, which goes from event to event.
//!
//! Nothing happens on a clock edge without a command, and the time between is never walked through. The state is that
//! after the last command; the next one is found from what waits and the times that the rules allow, kept until the state
//! changes, and issued when the clock of whoever drives the channel has come to it. While nothing waits there is nothing to
//! drive: refreshes and power-downs of idle time are caught up with when they matter, whole intervals at once.

use std::collections::VecDeque;

use sim::Time;

use crate::alone::Alone;
use crate::bank::{Bank, Gaps};
use crate::board::{Board, Choice, RANKS};
use crate::clock::Clock;
use crate::command::{Command, CommandKind, Log};
use crate::config::{Config, ConfigError, PagePolicy};
use crate::done::Done;
use crate::early::Early;
use crate::layout::Layout;
use crate::plan::Plan;
use crate::power::{EnergyByUse, RankActivity};
use crate::queue::Queues;
use crate::rank::{Rank, RankTable};
use crate::request::{Completion, Kind, RankKind, Request};
use crate::select::Do;
use crate::stats::{ChannelStats, PortStats};

/// No transfer.
const NO_TRANSFER: u32 = u32::MAX;
/// Later than any command.
pub(crate) const NEVER: u64 = u64::MAX;

/// A request under way.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) request: Request,
    pub(crate) submitted: Time,
    /// The cycle it came in.
    pub(crate) arrival: u64,
    /// Its next burst, numbered within its group of ranks, and how many are still to enter a queue.
    pub(crate) burst: u64,
    pub(crate) to_enter: u32,
    /// Bursts that are still to be served.
    pub(crate) to_serve: u32,
    /// When the last data so far are through.
    pub(crate) end: Time,
    /// Which group of ranks it goes to.
    pub(crate) group: u32,
}

impl Transfer {
    /// It is done when its last burst is served, not when that has entered.
    #[inline(always)]
    pub(crate) fn ends_served(&self) -> bool {
        self.request.ends_served()
    }
}

/// A group of like ranks: where it lies in the channel's addresses, and how.
pub(crate) struct Region {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: RankKind,
    pub(crate) layout: Layout,
}

/// What of the configuration the hot paths need, in clocks.
pub(crate) struct Settings {
    pub(crate) banks: usize,
    /// Banks of a group, and bytes of a burst, as powers of two.
    pub(crate) group_shift: u32,
    pub(crate) burst_shift: u32,
    pub(crate) write_high: u32,
    pub(crate) write_low: u32,
    pub(crate) write_queue: u32,
    pub(crate) turn_min: u32,
    pub(crate) age_max: u64,
    pub(crate) close_after: u64,
    pub(crate) closed_page: bool,
    /// Rows stay open.
    pub(crate) plain_page: bool,
    pub(crate) postpone: u64,
    pub(crate) column_slots: u64,
    pub(crate) power_down_after: u64,
    /// The shorter of when an idle rank is powered down and when it goes into self-refresh.
    pub(crate) rest_after: u64,
    pub(crate) self_refresh_after: u64,
    pub(crate) latency: Time,
    /// From a column command to another at least.
    pub(crate) gap_min: u64,
    /// From a column command to its data's end at least.
    pub(crate) shortest: u64,
}

/// One channel: ranks behind a controller.
pub struct Channel {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) gaps: Gaps,
    pub(crate) settings: Settings,
    pub(crate) regions: Vec<Region>,
    pub(crate) ranks: RankTable,
    /// Of each rank what its banks would do next, and when it allows that.
    pub(crate) boards: Box<[Board; RANKS]>,
    pub(crate) queues: Queues,
    pub(crate) transfers: Vec<Transfer>,
    /// One that is free, or [`NO_TRANSFER`]; each names the next in `to_enter`.
    pub(crate) free_transfer: u32,
    /// Of each port what has not entered the queues yet.
    pub(crate) ports: Vec<VecDeque<u32>>,
    /// Requests that are done with their last burst: those of which one is left to be served, and those of which more are.
    /// Counted where the channel `goes_far`.
    pub(crate) ending: [u32; 2],
    /// Requests in the ports, and how many of these are writes.
    pub(crate) waiting: u32,
    pub(crate) waiting_writes: u32,
    pub(crate) next_port: usize,
    /// When the next burst may enter a queue.
    pub(crate) enter_at: u64,
    /// The first cycle after the last one did.
    pub(crate) enter_next: u64,
    /// From when on the last place that became free in each queue can be taken: the clock after its command.
    pub(crate) room_at: [u64; 2],
    /// The cycle of the last step.
    pub(crate) now: u64,
    /// No column command comes before this.
    pub(crate) column_at: u64,
    /// The first cycle with room on the command bus.
    pub(crate) floor: u64,
    /// What the bus does: reads, or a drain of writes.
    pub(crate) direction: Kind,
    /// Bursts since it turned.
    pub(crate) served: u32,
    /// The drain goes on although reads wait.
    pub(crate) draining: bool,
    /// Who drives the channel goes by [`Channel::next_done`], so that it comes far enough at a time for runs to pay; and a
    /// request of more than one burst has come, so that there may be some.
    pub(crate) goes_far: bool,
    pub(crate) has_long: bool,
    /// A write has come that is done when it is in the device.
    pub(crate) has_through: bool,
    /// The next step, if it is known.
    pub(crate) next: Choice,
    pub(crate) is_next_known: bool,
    /// What it is, if it is no candidate.
    pub(crate) next_house: Do,
    /// Before this no rank needs anything but service.
    pub(crate) house_at: u64,
    /// The only request, while it is that.
    pub(crate) alone: Alone,
    pub(crate) is_alone: bool,
    /// What the only transfer will do.
    pub(crate) plan: Plan,
    pub(crate) is_planned: bool,
    /// What is planned, while it has no place in a queue.
    pub(crate) early: Early,
    pub(crate) done: Done,
    pub(crate) port_stats: Vec<PortStats>,
    pub(crate) stats: ChannelStats,
    pub(crate) log: Log,
}

impl Channel {
    /// A channel at time zero: all banks closed, nothing asked for.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn new(config: &Config) -> Result<Channel, ConfigError> {
        config.check()?;
        let (device, clock) = (&config.device, config.device.clock);
        let mut ranks: Vec<Rank> = Vec::new();
        let (mut regions, mut base) = (Vec::new(), 0);
        let interval = u64::from(device.timing.refi);
        for group in &config.ranks {
            let bytes = u64::from(group.count) * device.rank_bytes();
            let layout = Layout::new(device, config.order, ranks.len() as u32, group.count, config.hash);
            regions.push(Region { base, bytes, kind: group.kind, layout });
            base += bytes;
            for _ in 0..group.count {
                // Staggered, so that no two ranks refresh at a time.
                let due = interval + interval * ranks.len() as u64 / config.rank_count() as u64;
                let refreshes = config.refresh && group.kind == RankKind::Dram;
                ranks.push(Rank::new(group.kind, refreshes, due));
            }
        }
        let gaps = Gaps::new(device);
        let in_clocks = |span: Option<Time>| span.map_or(NEVER, |span| clock.at_or_after(span));
        let t = &device.timing;
        // A refresh that can be put off no longer waits until all banks have recovered and closed, behind other ranks.
        let closing = 4 * u64::from(t.rc + t.cwl + t.wr + t.rpab + t.xp);
        let settings = Settings {
            banks: device.banks() as usize,
            group_shift: device.banks_per_group.trailing_zeros(),
            burst_shift: device.burst_bytes().trailing_zeros(),
            write_high: config.write_high,
            write_low: config.write_low,
            write_queue: config.write_queue,
            turn_min: config.turn_min,
            age_max: clock.at_or_after(config.age_max),
            close_after: match config.page {
                PagePolicy::Timeout(span) => clock.at_or_after(span),
                PagePolicy::Open | PagePolicy::Closed => NEVER,
            },
            closed_page: config.page == PagePolicy::Closed,
            plain_page: config.page == PagePolicy::Open,
            postpone: (u64::from(config.refresh_postpone) * interval).saturating_sub(closing),
            column_slots: u64::from(t.column_slots),
            power_down_after: in_clocks(config.power_down_after),
            rest_after: in_clocks(config.power_down_after).min(in_clocks(config.self_refresh_after)),
            self_refresh_after: in_clocks(config.self_refresh_after),
            latency: config.latency,
            gap_min: gaps.least(ranks.len()).max(u64::from(t.column_slots)),
            shortest: gaps.to_end[0].min(gaps.to_end[1]),
        };
        Ok(Channel {
            clock,
            gaps,
            regions,
            boards: Box::new([const { Board::EMPTY }; RANKS]),
            ranks: RankTable::new(ranks),
            queues: Queues::new(config.read_queue, config.write_queue, settings.age_max),
            settings,
            transfers: Vec::new(),
            free_transfer: NO_TRANSFER,
            ports: vec![VecDeque::new(); config.ports as usize],
            ending: [0; 2],
            waiting: 0,
            waiting_writes: 0,
            next_port: 0,
            enter_at: NEVER,
            enter_next: 0,
            room_at: [0; 2],
            now: 0,
            column_at: 0,
            floor: 0,
            direction: Kind::Read,
            served: 0,
            draining: false,
            goes_far: false,
            has_long: false,
            has_through: false,
            next: Choice::NONE,
            is_next_known: false,
            next_house: Do::Block { rank: 0 },
            house_at: 0,
            alone: Alone::default(),
            is_alone: false,
            plan: Plan::default(),
            is_planned: false,
            early: Early::default(),
            done: Done::default(),
            port_stats: vec![PortStats::default(); config.ports as usize],
            stats: ChannelStats::default(),
            log: Log::default(),
            config: config.clone(),
        })
    }

    /// How it was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Asks for a read or a write. It may have any length; as much of it as has room enters the queues.
    ///
    /// # Panics
    /// If it is empty, its port does not exist, or it does not lie within one group of ranks.
    #[inline]
    pub fn submit(&mut self, now: Time, request: Request) {
        let arrival = self.clock.at_or_after(now);
        if arrival > 0 && !self.stands_still_before(arrival) {
            self.run(arrival - 1);
        }
        self.is_planned = false;
        let arrival = arrival.max(self.now);
        let (group, bursts, burst) = self.locate(&request);
        let lone = bursts == 1 && request.kind == Kind::Read && !self.is_alone && !self.has_work();
        if lone && self.take_alone(now, arrival, &request, group, burst) {
            return;
        }
        if self.goes_far && !self.is_alone && !self.has_work() && self.take_early(now, arrival, &request) {
            return;
        }
        let posts = u32::from(request.kind == Kind::Write);
        let port = request.port as usize;
        let transfer =
            Transfer { request, submitted: now, arrival, burst, to_enter: bursts, to_serve: bursts, end: now, group };
        let number = self.keep_transfer(transfer);
        self.ports[port].push_back(number);
        self.waiting += 1;
        self.waiting_writes += posts;
        if self.some_may_enter() {
            self.enter_at = self.enter_at.min(arrival.max(self.enter_next));
            // A first burst enters at once: no command before the arrival is left that could come between.
            if self.enter_at == arrival {
                self.enter_now();
            }
        }
    }

    /// Whether nothing is left to do before `cycle`, as far as can be told at once.
    #[inline(always)]
    fn stands_still_before(&self, cycle: u64) -> bool {
        if self.is_alone || (self.is_planned && (self.plan.told || self.plan.early)) {
            false
        } else if self.has_work() {
            self.is_next_known && self.next.cycle >= cycle && self.enter_at >= cycle
        } else {
            self.house_at >= cycle
        }
    }

    #[inline(never)]
    fn enter_now(&mut self) {
        if self.goes_far {
            self.enter::<true>(self.enter_at);
        } else {
            self.enter::<false>(self.enter_at);
        }
    }

    /// Gives a transfer its number.
    #[inline(always)]
    pub(crate) fn keep_transfer(&mut self, transfer: Transfer) -> u32 {
        if self.goes_far {
            self.count_far(&transfer);
        }
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

    /// The group of ranks, the number of bursts and the first of them within the group.
    #[inline(always)]
    pub(crate) fn locate(&self, request: &Request) -> (u32, u32, u64) {
        let holds = |region: &Region| {
            let (offset, bytes) = (request.address.wrapping_sub(region.base), u64::from(request.bytes));
            offset < region.bytes && bytes <= region.bytes - offset && bytes > 0
        };
        // Most channels have ranks of one kind.
        let number = match &self.regions[..] {
            [only] if holds(only) => 0,
            regions => regions.iter().position(holds).unwrap_or_else(|| self.refuse(request)),
        };
        let shift = self.settings.burst_shift;
        let offset = request.address - self.regions[number].base;
        let (first, last) = (offset >> shift, (offset + u64::from(request.bytes) - 1) >> shift);
        (number as u32, (last - first + 1) as u32, first)
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, request: &Request) -> ! {
        panic!(
            "{request:?} is not within one of the groups of ranks {:?} of {} bytes a rank",
            self.config.ranks,
            self.config.device.rank_bytes()
        )
    }

    /// Comes to `now`: does all that is due, and appends what is done to `completions`, in order of time.
    #[inline]
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
        if self.is_alone {
            if self.alone.end <= now {
                let completion = self.serve_alone();
                if self.done.is_empty() {
                    completions.push(completion);
                    return;
                }
                self.done.insert(completion);
            }
        } else if self.is_planned {
            if self.plan.at <= now {
                self.follow_plan(now);
            }
        } else if self.has_work() {
            self.run(self.clock.at_or_before(now));
        }
        while let Some(done) = self.done.take(now) {
            completions.push(done);
        }
    }

    /// Whether anything waits to enter or to be served.
    #[inline(always)]
    pub(crate) fn has_work(&self) -> bool {
        self.waiting > 0 || self.queues.length(Kind::Read) + self.queues.length(Kind::Write) > 0
    }

    /// Does what is due until `cycle`.
    pub(crate) fn run(&mut self, cycle: u64) {
        if self.is_alone {
            self.settle_alone(cycle);
        }
        if self.is_planned {
            self.settle_plan(cycle);
        }
        // Who does not go far does not pay for runs.
        let done = if self.goes_far { self.work::<true>(cycle) } else { self.work::<false>(cycle) };
        if done {
            self.idle(cycle);
        }
    }

    /// Serves what is asked for until `cycle`. True if nothing is left.
    #[inline(always)]
    fn work<const FAR: bool>(&mut self, cycle: u64) -> bool {
        while self.has_work() {
            if !self.is_next_known {
                self.choose();
            }
            let next = self.next.cycle;
            if self.enter_at.min(next) > cycle {
                return false;
            }
            if self.enter_at <= next {
                if !FAR || !self.enter_run(next.min(cycle)) {
                    self.enter::<FAR>(self.enter_at);
                }
            } else {
                self.perform::<FAR>(cycle);
            }
        }
        true
    }

    /// Clocks from a column command of a bank to another of its kind.
    #[inline(always)]
    pub(crate) fn gap_of(&self, kind: Kind) -> u64 {
        let k = kind as usize;
        self.gaps.same_group[k][k].max(self.gaps.same_rank[k][k]).max(self.settings.column_slots)
    }

    #[inline(always)]
    pub(crate) fn bank(&self, rank: usize, bank: usize) -> &Bank {
        &self.boards[rank % RANKS].banks[bank % 64]
    }

    #[inline(always)]
    pub(crate) fn bank_mut(&mut self, rank: usize, bank: usize) -> &mut Bank {
        &mut self.boards[rank % RANKS].banks[bank % 64]
    }

    /// Notes that a request is done.
    #[inline(always)]
    pub(crate) fn finish(&mut self, number: u32, at: Time) {
        let Transfer { request, group, submitted, .. } = self.transfers[number as usize];
        self.finish_request(&request, group, submitted, at);
    }

    /// The same for one that is not kept among those under way. Of one that nobody is told of only the bytes are counted.
    #[inline(always)]
    pub(crate) fn finish_request(&mut self, request: &Request, group: u32, submitted: Time, at: Time) {
        if !request.ends_untold() {
            self.tell(self.completion(request, group, submitted, at));
        }
    }

    /// Counts and keeps what is to be told.
    #[inline(always)]
    pub(crate) fn tell(&mut self, done: Completion) {
        self.port_stats[done.port as usize].note(done.kind, done.at - done.submitted);
        self.done.insert(done);
    }

    /// Of a request that is, or will be, done.
    #[inline(always)]
    pub(crate) fn completion(&self, request: &Request, group: u32, submitted: Time, at: Time) -> Completion {
        let Request { id, port, kind, .. } = *request;
        let rank_kind = self.regions[group as usize].kind;
        Completion { id, port, kind, rank_kind, submitted, at }
    }

    /// Keeps all commands from now on; grows without bound. Idle time is then walked through, refresh by refresh.
    pub fn keep_log(&mut self) {
        self.log.kept = true;
    }

    /// The commands since the last call, in order; empty if none are kept.
    pub fn take_log(&mut self) -> Vec<Command> {
        self.log.take()
    }

    /// What the channel's own `address` is in.
    ///
    /// # Panics
    /// If nothing is there.
    pub fn kind_at(&self, address: u64) -> RankKind {
        let (group, ..) = self.locate(&Request { address, bytes: 1, ..Request::default() });
        self.regions[group as usize].kind
    }

    /// What it did.
    pub fn stats(&self) -> ChannelStats {
        self.stats
    }

    /// What a port asked for and got.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn port_stats(&self, port: u8) -> PortStats {
        self.port_stats[port as usize]
    }

    /// What each rank did until `now`, idle time included.
    pub fn activity(&mut self, now: Time) -> Vec<RankActivity> {
        self.run(self.clock.at_or_before(now));
        self.activity_so_far(now)
    }

    /// What each rank did, as far as the channel has come.
    pub(crate) fn activity_so_far(&self, now: Time) -> Vec<RankActivity> {
        let cycle = self.clock.at_or_before(now);
        self.ranks.iter().map(|rank| rank.activity_at(cycle)).collect()
    }

    /// The energy of each rank until `now`. That of a device's buffer is its device's: none here.
    pub fn energy(&mut self, now: Time) -> Vec<EnergyByUse> {
        let activity = self.activity(now);
        self.energy_of(&activity)
    }

    /// The energy of each rank that did so much.
    pub(crate) fn energy_of(&self, activity: &[RankActivity]) -> Vec<EnergyByUse> {
        let of = |(rank, activity): (&Rank, &RankActivity)| match rank.kind {
            RankKind::Dram => activity.energy(&self.config.device),
            RankKind::Buffer => EnergyByUse::default(),
        };
        self.ranks.iter().zip(activity).map(of).collect()
    }

    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        cycle: u64,
        kind: CommandKind,
        rank: usize,
        bank: usize,
        row_column: (u32, u32),
        id: u64,
    ) {
        let shift = self.settings.group_shift;
        self.log.note(|| Command {
            cycle,
            kind,
            rank: rank as u8,
            group: (bank >> shift) as u8,
            bank: (bank & ((1 << shift) - 1)) as u8,
            row: row_column.0,
            column: row_column.1,
            request: id,
        });
    }
}
