//! A second in-order controller, written to be obvious: one list of commands, searched from its beginning for each new
//! one. `twin_in_order.rs` states its rules.
#![allow(dead_code, reason = "each test uses its part")]

pub mod activity;
mod rules;

use std::collections::VecDeque;

use dram::{
    Ack, ChannelStats, Command, CommandKind as K, Completion, Config, Kind, PortStats, RankActivity, RankKind, Request,
};
use sim::Time;

use rules::Rules;

/// A cycle after every command.
const NEVER: u64 = u64::MAX;
/// Maximum number of bursts of a short read.
const SHORT: usize = 8;
/// A command of a short read comes at most this many clocks before the end of all others.
const BACK: u64 = 2048;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Power {
    Up,
    Down,
    Asleep,
}

struct Rank {
    power: Power,
    /// The open row of each bank.
    rows: Vec<Option<u32>>,
    /// True if it has cells to refresh, and the cycle of the next refresh.
    refreshes: bool,
    due: u64,
    refreshed_since_awake: bool,
    idle_since: u64,
}

/// A request of the backlog and its remaining bursts.
struct Waiting {
    request: Request,
    submitted: Time,
    arrival: u64,
    bursts: VecDeque<u64>,
    /// True for a posted write that was accepted.
    accepted: bool,
}

pub struct Twin {
    config: Config,
    /// The fields of an address and the size of each, lowest first.
    fields: Vec<(String, u64)>,
    rules: Rules,
    ranks: Vec<Rank>,
    backlog: VecDeque<Waiting>,
    /// Commands in the order of decision, and those that may still matter.
    pub decided: Vec<Command>,
    near: Vec<Command>,
    /// The first clock after all commands.
    end: u64,
    /// Lower bound for commands of short reads.
    behind: u64,
    /// Bursts of short reads that went ahead of the backlog since it was last served.
    passed: u32,
    pub done: Vec<Completion>,
    stats: ChannelStats,
    pub ports: Vec<PortStats>,
}

impl Twin {
    /// Creates a controller. `order` is `config.order` as text.
    pub fn new(config: &Config, order: &str) -> Twin {
        let device = &config.device;
        let size = |field: &str| match field {
            "row" => device.rows,
            "bank" => device.banks_per_group,
            "group" => device.bank_groups,
            "column" => device.row_bytes / device.burst_bytes(),
            _ => 0,
        };
        let (interval, count) = (u64::from(device.timing.refi), config.rank_count() as u64);
        let kinds = config.ranks.iter().flat_map(|group| (0..group.count).map(|_| group.kind));
        let rank = |(number, kind)| {
            let refreshes = config.refresh && kind == RankKind::Dram;
            Rank {
                power: Power::Up,
                rows: vec![None; device.banks() as usize],
                refreshes,
                due: if refreshes { interval + interval * number as u64 / count } else { NEVER },
                refreshed_since_awake: true,
                idle_since: 0,
            }
        };
        Twin {
            fields: order.rsplit(':').map(|field| (field.to_owned(), u64::from(size(field)))).collect(),
            rules: Rules::new(device),
            ranks: kinds.enumerate().map(rank).collect(),
            backlog: VecDeque::new(),
            decided: Vec::new(),
            near: Vec::new(),
            end: 0,
            behind: 0,
            passed: 0,
            done: Vec::new(),
            stats: ChannelStats::default(),
            ports: vec![PortStats::default(); config.ports as usize],
            config: config.clone(),
        }
    }

    pub fn submit(&mut self, now: Time, request: Request) {
        let arrival = self.config.device.clock.at_or_after(now);
        self.come_to(arrival);
        let size = u64::from(self.config.device.burst_bytes());
        let last = (request.address + u64::from(request.bytes) - 1) / size;
        let bursts: VecDeque<u64> = (request.address / size..=last).collect();
        self.ports[request.port as usize].bytes[request.kind as usize] += bursts.len() as u64 * size;
        let row = |burst: &u64| Command { column: 0, ..self.place(*burst) };
        let is_short = bursts.len() <= SHORT && bursts.iter().all(|burst| row(burst) == row(&bursts[0]));
        if request.kind == Kind::Read && is_short {
            let holds = |waiting: &&Waiting| {
                waiting.request.kind == Kind::Write && bursts.iter().any(|burst| waiting.bursts.contains(burst))
            };
            match self.backlog.iter().rev().find(holds) {
                None => return self.book(now, arrival, request, bursts),
                Some(write) if bursts.iter().all(|burst| write.bursts.contains(burst)) => {
                    self.stats.forwarded += bursts.len() as u64;
                    return self.finish(now, request, self.config.device.clock.time(arrival + 1) + self.config.latency);
                }
                Some(_) => {}
            }
        }
        self.backlog.push_back(Waiting { request, submitted: now, arrival, bursts, accepted: false });
        self.accept(self.config.device.clock.time(arrival).max(now));
    }

    /// Performs the work that is decided by `now`.
    pub fn advance(&mut self, now: Time) {
        self.serve(self.config.device.clock.at_or_before(now) + 1, u32::MAX);
    }

    pub fn activity(&mut self, now: Time) -> Vec<RankActivity> {
        let cycle = self.config.device.clock.at_or_before(now);
        self.come_to(cycle + 1);
        activity::activity(&self.sorted(), self.ranks.len(), cycle)
    }

    /// Returns the counters. The bus starts in the direction of reads.
    pub fn stats(&self) -> ChannelStats {
        let sorted = self.sorted();
        let columns = sorted.iter().map(|command| command.kind).filter(|kind| matches!(kind, K::Read | K::Write));
        let columns: Vec<K> = std::iter::once(K::Read).chain(columns).collect();
        let turns = columns.windows(2).filter(|pair| *pair == [K::Read, K::Write]).count() as u64;
        ChannelStats { turns, ..self.stats }
    }

    /// Returns all commands in order of their clocks.
    pub fn sorted(&self) -> Vec<Command> {
        let mut commands = self.decided.clone();
        commands.sort_by_key(|command| command.cycle);
        commands
    }

    fn come_to(&mut self, cycle: u64) {
        self.serve(cycle, u32::MAX);
        if self.backlog.is_empty() {
            self.rest(cycle);
        }
        while let Some(rank) = self.first_due(cycle) {
            self.refresh(rank);
        }
    }

    /// Books the first clocks that are free and allowed for a short read.
    fn book(&mut self, now: Time, arrival: u64, request: Request, bursts: VecDeque<u64>) {
        if !self.backlog.is_empty() {
            self.passed += bursts.len() as u32;
            if self.passed > self.config.turn_min {
                self.serve(NEVER, self.config.turn_min);
            }
        }
        while let Some(exit) = self.exit(self.place(bursts[0]).rank) {
            self.decide_at_end(arrival, exit);
        }
        let from = arrival.max(self.behind).max(self.end.saturating_sub(BACK));
        let mut cycle = 0;
        for burst in bursts {
            loop {
                let command = self.next_for(burst, &request);
                cycle = self.decide(from, command);
                if command.kind == K::Read {
                    break;
                }
            }
        }
        self.finish_read(now, request, cycle);
    }

    /// Serves at most `most` bursts of the backlog, as far as their commands come before `until`.
    fn serve(&mut self, until: u64, most: u32) {
        let mut served = 0;
        while served < most
            && let Some(first) = self.backlog.front()
        {
            let (request, from) = (first.request, first.arrival.max(self.end));
            let burst = first.bursts[0];
            let command = self.exit(self.place(burst).rank).unwrap_or_else(|| self.next_for(burst, &request));
            let cycle = self.earliest(&command, from);
            if cycle >= until {
                return;
            } else if let Some(rank) = self.first_due(cycle + 1) {
                self.refresh(rank);
            } else {
                self.decide_at_end(from, command);
                if matches!(command.kind, K::Read | K::Write) {
                    served += 1;
                    self.passed = 0;
                    self.served(cycle);
                }
            }
        }
    }

    /// Records that the first burst of the backlog was served.
    fn served(&mut self, cycle: u64) {
        let clock = self.config.device.clock;
        self.backlog[0].bursts.pop_front();
        self.accept(clock.time(cycle + 1));
        if self.backlog[0].bursts.is_empty()
            && let Some(Waiting { request, submitted, .. }) = self.backlog.pop_front()
        {
            if request.kind == Kind::Read {
                self.finish_read(submitted, request, cycle);
            } else if request.ack == Ack::Written {
                self.finish(submitted, request, clock.time(cycle + self.rules.data(K::Write)));
            }
        }
    }

    /// Accepts posted writes if there is room for the remaining bursts of earlier ones.
    fn accept(&mut self, at: Time) {
        let (mut bursts, mut accepted) = (0, Vec::new());
        for waiting in self.backlog.iter_mut().filter(|waiting| waiting.request.kind == Kind::Write) {
            let posted = waiting.request.ack == Ack::Accepted;
            if posted && !waiting.accepted && bursts <= self.config.write_queue as usize {
                waiting.accepted = true;
                accepted.push((waiting.submitted, waiting.request));
            }
            bursts += waiting.bursts.len();
        }
        for (submitted, request) in accepted {
            self.finish(submitted, request, at);
        }
    }

    /// Performs the ranks' maintenance before `until` while no request waits.
    fn rest(&mut self, until: u64) {
        while let Some((cycle, command)) =
            (0..self.ranks.len()).filter_map(|rank| self.need(rank)).min_by_key(|need| need.0)
            && cycle < until
        {
            self.decide_at_end(cycle, command);
        }
    }

    /// Returns the next need of a rank and its cycle.
    fn need(&self, number: usize) -> Option<(u64, Command)> {
        let rank = &self.ranks[number];
        let after = |span: Option<Time>| {
            span.map_or(NEVER, |span| rank.idle_since + self.config.device.clock.at_or_after(span))
        };
        let sleep = if rank.refreshed_since_awake { after(self.config.self_refresh_after) } else { NEVER };
        let down = after(self.config.power_down_after);
        let awake = rank.due.min(sleep);
        let wishes = match rank.power {
            Power::Asleep => vec![],
            Power::Down => vec![(awake, K::PowerUp)],
            Power::Up if down < awake => {
                vec![
                    (rank.due, self.closed(number, K::Refresh)),
                    (sleep, self.closed(number, K::SelfRefresh)),
                    (down, K::PowerDown),
                ]
            }
            Power::Up => {
                vec![(rank.due, self.closed(number, K::Refresh)), (sleep, self.closed(number, K::SelfRefresh))]
            }
        };
        let wishes = wishes.into_iter().filter(|(from, _)| *from != NEVER).map(|(from, kind)| {
            let command = Command { kind, rank: number as u8, ..Command::default() };
            (self.earliest(&command, from.max(self.end)), command)
        });
        wishes.min_by_key(|wish| wish.0)
    }

    /// Returns `kind` if all banks are closed, else the command that closes them.
    fn closed(&self, rank: usize, kind: K) -> K {
        if self.ranks[rank].rows.iter().all(Option::is_none) { kind } else { K::PrechargeAll }
    }

    /// Returns the rank whose refresh has been due longest, of those due before `cycle`.
    fn first_due(&self, cycle: u64) -> Option<usize> {
        let rank = (0..self.ranks.len()).min_by_key(|rank| self.ranks[*rank].due)?;
        (self.ranks[rank].due < cycle).then_some(rank)
    }

    fn refresh(&mut self, rank: usize) {
        let due = self.ranks[rank].due;
        while self.ranks[rank].due == due {
            let kind = if self.ranks[rank].power == Power::Up { self.closed(rank, K::Refresh) } else { K::PowerUp };
            self.decide_at_end(due, Command { kind, rank: rank as u8, ..Command::default() });
        }
    }

    /// Returns the command that wakes a resting rank.
    fn exit(&self, rank: u8) -> Option<Command> {
        let kind = match self.ranks[rank as usize].power {
            Power::Up => return None,
            Power::Down => K::PowerUp,
            Power::Asleep => K::SelfRefreshExit,
        };
        Some(Command { kind, rank, ..Command::default() })
    }

    /// Returns the next command on the way to a burst.
    fn next_for(&self, burst: u64, request: &Request) -> Command {
        let place = self.place(burst);
        match self.ranks[place.rank as usize].rows[self.bank(&place)] {
            Some(row) if row == place.row => {
                let kind = if request.kind == Kind::Read { K::Read } else { K::Write };
                Command { kind, request: request.id, ..place }
            }
            Some(_) => Command { kind: K::Precharge, row: 0, column: 0, ..place },
            None => Command { kind: K::Activate, column: 0, ..place },
        }
    }

    /// Returns the first clock from `from` on at which no earlier command forbids this one and the bus is free.
    fn earliest(&self, command: &Command, from: u64) -> u64 {
        let forbids = |past: &Command| self.rules.gap(past, command).map(|gap| past.cycle + gap);
        let mut cycle = self.near.iter().filter_map(forbids).fold(from, u64::max);
        if command.kind == K::Activate {
            let opens = |past: &&Command| past.kind == K::Activate && past.rank == command.rank;
            cycle = self
                .near
                .iter()
                .rev()
                .filter(opens)
                .nth(3)
                .map_or(0, |past| past.cycle + self.rules.window())
                .max(cycle);
        }
        let slots = self.rules.slots(command.kind);
        let overlaps =
            |past: &Command, cycle| past.cycle < cycle + slots && cycle < past.cycle + self.rules.slots(past.kind);
        while self.near.iter().any(|past| overlaps(past, cycle)) {
            cycle += 1;
        }
        cycle
    }

    /// Decides a command after all others; no later short read passes it.
    fn decide_at_end(&mut self, from: u64, command: Command) {
        self.decide(from.max(self.end), command);
        self.behind = self.end;
        // All later commands come after this.
        self.near.retain(|past| past.cycle + self.rules.longest() > self.behind);
    }

    fn decide(&mut self, from: u64, command: Command) -> u64 {
        let cycle = self.earliest(&command, from);
        let command = Command { cycle, ..command };
        self.end = self.end.max(cycle + self.rules.slots(command.kind));
        let bank = self.bank(&command);
        let rank = &mut self.ranks[command.rank as usize];
        match command.kind {
            K::Activate => {
                rank.rows[bank] = Some(command.row);
                self.stats.activates += 1;
            }
            K::Precharge => {
                rank.rows[bank] = None;
                self.stats.conflicts += 1;
            }
            K::PrechargeAll => rank.rows.fill(None),
            K::Read | K::Write => {
                rank.idle_since = cycle;
                self.stats.bursts[usize::from(command.kind == K::Write)] += 1;
            }
            K::Refresh => {
                rank.due += u64::from(self.config.device.timing.refi);
                rank.refreshed_since_awake = true;
            }
            K::PowerDown => rank.power = Power::Down,
            K::PowerUp => rank.power = Power::Up,
            K::SelfRefresh => (rank.power, rank.due) = (Power::Asleep, NEVER),
            K::SelfRefreshExit => {
                rank.power = Power::Up;
                rank.refreshed_since_awake = false;
                rank.due = if rank.refreshes { cycle + u64::from(self.config.device.timing.refi) } else { NEVER };
            }
            K::ReadPrecharge | K::WritePrecharge => unreachable!("rows stay open"),
            K::RefreshSameBank => unreachable!("all banks are refreshed"),
        }
        self.decided.push(command);
        self.near.push(command);
        cycle
    }

    fn finish_read(&mut self, submitted: Time, request: Request, cycle: u64) {
        let at = self.config.device.clock.time(cycle + self.rules.data(K::Read)) + self.config.latency;
        self.finish(submitted, request, at);
    }

    fn finish(&mut self, submitted: Time, request: Request, at: Time) {
        let Request { id, port, kind, .. } = request;
        let (stats, k) = (&mut self.ports[port as usize], kind as usize);
        stats.requests[k] += 1;
        stats.latency[k] += at - submitted;
        stats.latency_max[k] = stats.latency_max[k].max(at - submitted);
        let rank_kind = self.group_of(request.address).2;
        self.done.push(Completion { id, port, kind, rank_kind, submitted, at });
    }

    /// Returns the ranks that contain an address: the first, their number, their kind and the start of their addresses.
    fn group_of(&self, address: u64) -> (u64, u64, RankKind, u64) {
        let mut first = 0;
        for group in &self.config.ranks {
            let count = u64::from(group.count);
            let begin = first * self.config.device.rank_bytes();
            if address < begin + count * self.config.device.rank_bytes() {
                return (first, count, group.kind, begin);
            }
            first += count;
        }
        panic!("nothing is at {address}");
    }

    /// Returns the place of a burst of the channel, as a column command.
    fn place(&self, burst: u64) -> Command {
        let size = u64::from(self.config.device.burst_bytes());
        let (first, ranks, _, begin) = self.group_of(burst * size);
        let mut rest = burst - begin / size;
        let mut place = Command { kind: K::Read, rank: first as u8, ..Command::default() };
        for (field, count) in &self.fields {
            let count = if field == "rank" { ranks } else { *count };
            let part = rest % count;
            rest /= count;
            match field.as_str() {
                "row" => place.row = part as u32,
                "rank" => place.rank += part as u8,
                "group" => place.group = part as u8,
                "bank" => place.bank = part as u8,
                _ => place.column = part as u32,
            }
        }
        place
    }

    fn bank(&self, place: &Command) -> usize {
        place.group as usize * self.config.device.banks_per_group as usize + place.bank as usize
    }
}
