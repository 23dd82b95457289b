//! Audits the controllers' commands under random traffic, on every preset and with every policy.
//!
//! `DRAM_COMMANDS=10000000 cargo test --release -p dram --test audit` audits that many commands of each preset.

mod support;

use std::collections::BTreeMap;
use std::mem::discriminant;

use dram::{Ack, Channel, CommandKind, Config, Device, PagePolicy, RankKind, Ranks, RefreshMode, Request, RequestKind};
use sim::{Rng, Streams, Time};
use support::audit::{Checker, Violation};

/// Returns the policies for the audit of a preset, each of which gets a share of the commands.
fn configs(device: &Device) -> Vec<Config> {
    let plain = || Config::new(device.clone());
    let ranks = |kind, count| Ranks { kind, count };
    let mut configs = vec![
        plain(),
        Config { ranks: vec![ranks(RankKind::Dram, 2)], page: PagePolicy::Closed, ..plain() },
        Config {
            ranks: vec![ranks(RankKind::Dram, 2), ranks(RankKind::Buffer, 1)],
            page: PagePolicy::Timeout(Time::from_ns(300)),
            refresh_postpone: device.timing.refresh_postpone_max,
            order: "row:column:rank:bank:group".parse().expect("an order"),
            ..plain()
        },
        Config {
            ranks: vec![ranks(RankKind::Dram, 4)],
            power_down_after: Some(Time::from_ns(100)),
            self_refresh_after: Some(Time::from_us(30)),
            age_max: Time::from_us(2),
            order: "rank:row:bank:column:group".parse().expect("an order"),
            ..plain()
        },
    ];
    for page in PagePolicy::EXAMPLES {
        if configs.iter().all(|config| discriminant(&config.page) != discriminant(page)) {
            configs.push(Config { page: *page, ..plain() });
        }
    }
    configs
}

/// Generates requests with changing character: random or sequential, reads or writes, dense or with pauses.
struct Moods {
    rng: Rng,
    left: u64,
    writes: u64,
    sequential: bool,
    large: bool,
    pause_ns: u64,
    next: u64,
    id: u64,
}

impl Moods {
    fn new(rng: Rng) -> Moods {
        Moods { rng, left: 0, writes: 0, sequential: false, large: false, pause_ns: 0, next: 0, id: 0 }
    }

    /// Returns the next request and its time after the previous one.
    fn next(&mut self, bytes: u64) -> (Time, Request) {
        if self.left == 0 {
            self.left = 1 + self.rng.below(400);
            self.writes = self.rng.below(11);
            self.sequential = self.rng.chance(0.3);
            self.large = self.rng.chance(0.1);
            self.pause_ns = [0, 3, 10, 30, 100, 1000, 5_000, 40_000][self.rng.below(8) as usize];
        }
        self.left -= 1;
        self.id += 1;
        let kind = if self.rng.below(10) < self.writes { RequestKind::Write } else { RequestKind::Read };
        let length = if self.large { 4096 } else { 64 };
        let address = if self.sequential { self.next } else { self.rng.below(bytes / length) * length };
        self.next = (address + length) % (bytes / 4 * 3);
        self.next -= self.next % length;
        let ack = if self.rng.chance(0.5) { Ack::Accepted } else { Ack::Written };
        let pause = Time::from_ps(self.rng.below(2 * self.pause_ns * 1000 + 1));
        (pause, Request { id: self.id, kind, address, bytes: length as u32, ack, port: (self.id % 3) as u8 })
    }
}

/// Audits at least `commands` commands of a channel. Returns the violations and counts the commands by kind.
fn audit(config: &Config, commands: u64, seed: u64, kinds: &mut BTreeMap<CommandKind, u64>) -> Vec<Violation> {
    let config = Config { ports: 3, ..config.clone() };
    let mut channel = Channel::new(&config).expect("a channel");
    channel.keep_log();
    let refreshed: Vec<bool> = config
        .ranks
        .iter()
        .flat_map(|group| std::iter::repeat_n(group.kind == RankKind::Dram, group.count as usize))
        .collect();
    let mut checker = Checker::new(&config.device, &refreshed);
    let mut moods = Moods::new(Streams::new(seed).stream("audit"));
    let (mut now, mut open) = (Time::ZERO, 0u64);
    let (mut done, mut log, mut violations) = (Vec::new(), Vec::new(), Vec::new());
    while (log.len() as u64) < commands {
        let (pause, request) = moods.next(config.bytes() / 7 * 6);
        now += pause;
        while open >= 200 || channel.next_event().is_some_and(|next| next <= now) {
            let next = channel.next_event().expect("requests are open");
            now = now.max(next);
            channel.advance(next, &mut done);
            open -= done.len() as u64;
            done.clear();
        }
        channel.submit(now, request);
        open += 1;
        log.extend(channel.take_log());
    }
    for command in log {
        checker.check(&command, &mut violations);
        *kinds.entry(command.kind).or_default() += 1;
    }
    violations
}

fn commands() -> u64 {
    std::env::var("DRAM_COMMANDS").ok().map_or(60_000, |text| text.parse().expect("a number of commands"))
}

/// Audits every preset. Twelve kinds of commands must occur, so that no rule goes untested.
#[test]
fn no_rule_is_broken_under_random_traffic() {
    for preset in Device::presets() {
        let configs = configs(&Device::preset(preset).expect("a preset"));
        let mut seen = BTreeMap::new();
        for (number, config) in configs.iter().enumerate() {
            let violations = audit(config, commands() / configs.len() as u64, number as u64, &mut seen);
            assert_eq!(violations, [], "{preset}, policy {number}");
        }
        assert!(seen.len() == 12 && seen.values().all(|count| *count >= 5), "{preset}: {seen:?}");
        println!("{preset}: {seen:?}");
    }
}

#[test]
fn no_rule_is_broken_with_same_bank_refresh() {
    let device = Device::preset("DDR5-4800").expect("a preset");
    let mut seen = BTreeMap::new();
    for (number, config) in configs(&device).into_iter().enumerate() {
        let config = Config { refresh_mode: RefreshMode::SameBank, refresh_postpone: 0, ..config };
        assert_eq!(audit(&config, 10_000, number as u64, &mut seen), [], "policy {number}");
    }
    assert!(seen[&CommandKind::RefreshSameBank] > 1000 && !seen.contains_key(&CommandKind::Refresh), "{seen:?}");
}

#[test]
fn no_rule_is_broken_with_per_bank_refresh() {
    let device = Device::preset("HBM4-8000").expect("a preset");
    let mut seen = BTreeMap::new();
    for (number, config) in configs(&device).into_iter().enumerate() {
        let config = Config { refresh_mode: RefreshMode::PerBank, refresh_postpone: 0, ..config };
        assert_eq!(audit(&config, 40_000, number as u64, &mut seen), [], "policy {number}");
    }
    // Idle ranks are refreshed as a whole.
    assert!(seen[&CommandKind::RefreshBank] > 1000 && seen[&CommandKind::Refresh] > 100, "{seen:?}");
}

/// Tests the audit itself: a controller that uses a shorter timing parameter must be caught.
#[test]
fn a_controller_that_is_a_clock_too_fast_is_caught() {
    type Shorten = fn(&mut dram::Timing) -> &mut u32;
    let shorten: [(&str, Shorten); 14] = [
        ("tRCD", |t| &mut t.rcd),
        ("tRP", |t| &mut t.rp),
        ("tRAS", |t| &mut t.ras),
        ("tRRD_S", |t| &mut t.rrd_s),
        ("tRRD_L", |t| &mut t.rrd_l),
        ("tFAW", |t| &mut t.faw),
        ("tCCD_L", |t| &mut t.ccd_l),
        ("tWTR_S", |t| &mut t.wtr_s),
        ("tWTR_L", |t| &mut t.wtr_l),
        ("tRTP", |t| &mut t.rtp),
        ("tWR", |t| &mut t.wr),
        ("tRTW", |t| &mut t.rtw),
        ("tRFC", |t| &mut t.rfc),
        ("tRTRS", |t| &mut t.rtrs),
    ];
    let device = Device::preset("DDR4-2400").expect("a preset");
    for (name, field) in shorten {
        let mut fast = device.clone();
        *field(&mut fast.timing) -= 1;
        let config = Config { ranks: vec![Ranks { kind: RankKind::Dram, count: 2 }], ..Config::new(fast) };
        let mut channel = Channel::new(&config).expect("a channel");
        channel.keep_log();
        let mut traffic =
            support::Traffic::new(support::Pattern::RandomMixed, 1 << 24, Streams::new(3).stream("traffic"));
        support::run(&mut channel, &mut traffic, 20_000, 64);
        let mut checker = Checker::new(&device, &[true, true]);
        let mut violations = Vec::new();
        for command in channel.take_log() {
            checker.check(&command, &mut violations);
        }
        assert!(!violations.is_empty(), "{name} was a clock short and nothing was found");
    }
}
