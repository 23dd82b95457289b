//! Burst trains amid other requests: commands, cycles, completions and counters must equal those of a channel that is
//! called at every clock and therefore decides one step at a time.

mod support;

use dram::{
    Ack, Channel, ChannelStats, Command, CommandKind, Completion, Config, Device, PagePolicy, RankKind, Ranks,
    RefreshMode, Request, RequestKind,
};
use proptest::prelude::*;
use sim::Time;
use support::audit::{Checker, Violation};

const PORTS: u8 = 3;

/// Generates channels with various queues, drain limits, ranks, refreshes and policies.
fn configs() -> impl Strategy<Value = Config> {
    let preset = prop::sample::select(vec!["DDR3-1600", "DDR4-2400", "LPDDR3-1600", "DDR5-4800", "HBM4-8000"]);
    let page = prop::sample::select(PagePolicy::EXAMPLES);
    let order = prop::sample::select(vec!["row:rank:bank:group:column", "row:column:rank:bank:group"]);
    let queues = (2u32..=128, 2u32..=127, 0u32..100, 0u32..100, 1u32..40);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (preset, prop::sample::select(vec![1, 2, 4]), page, order, queues, flags).prop_map(
        |(preset, count, page, order, (reads, writes, high, low, turn_min), (rests, sleeps, hash, by_bank))| {
            let device = Device::preset(preset).expect("a preset");
            let age_max = device.clock.time(u64::from(device.timing.refi)) / 4 + Time::from_ns(10);
            let write_high = (writes * high / 100).max(1);
            let refresh_mode = match () {
                () if by_bank && device.timing.rfc_sb > 0 => RefreshMode::SameBank,
                () if by_bank && device.timing.rfc_pb > 0 => RefreshMode::PerBank,
                () => RefreshMode::AllBank,
            };
            let may_postpone = rests && refresh_mode == RefreshMode::AllBank;
            Config {
                ranks: vec![Ranks { kind: RankKind::Dram, count }],
                order: order.parse().expect("an order"),
                hash,
                ports: PORTS,
                read_queue: reads,
                write_queue: writes,
                write_high,
                write_low: write_high * low / 101,
                turn_min,
                page,
                age_max,
                // The first refresh of a second rank is due half an interval late, so eight more would be too late.
                refresh_postpone: if may_postpone { device.timing.refresh_postpone_max - 1 } else { 0 },
                refresh_mode,
                power_down_after: rests.then(|| Time::from_ns(100)),
                self_refresh_after: sleeps.then(|| Time::from_us(10)),
                ..Config::new(device)
            }
        },
    )
}

/// A request: nanoseconds after the previous one, port, write or not, when a write is done, page of 4 KiB, and first line
/// and number of lines in it.
type Ask = (u64, u8, bool, Ack, u64, u64, u64);

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let pause = prop_oneof![4 => Just(0u64), 4 => 0u64..60, 2 => 0u64..600, 1 => 0u64..4000];
    let ack = prop::sample::select(vec![Ack::Accepted, Ack::Written, Ack::Silent]);
    let lines =
        prop_oneof![3 => Just((0u64, 64u64)), 3 => (0u64..64).prop_map(|line| (line, 1)), 1 => (0u64..64, 1u64..200)];
    let ask = (pause, 0..PORTS, any::<bool>(), ack, 0u64..24, lines);
    prop::collection::vec(ask, 1..60).prop_map(|asks| {
        asks.into_iter()
            .map(|(pause, port, write, ack, page, (line, lines))| (pause, port, write, ack, page, line, lines))
            .collect()
    })
}

fn requests(asks: &[Ask]) -> Vec<(Time, Request)> {
    let mut now = Time::ZERO;
    let request = |(number, (pause, port, write, ack, page, line, lines)): (usize, &Ask)| {
        now += Time::from_ns(*pause);
        let kind = if *write { RequestKind::Write } else { RequestKind::Read };
        let (address, bytes) = (page * 4096 + line * 64, *lines as u32 * 64);
        (now, Request { id: number as u64, port: *port, kind, address, bytes, ack: *ack })
    };
    asks.iter().enumerate().map(request).collect()
}

/// When the channel is called.
#[derive(Clone, Copy, PartialEq)]
enum Call {
    /// When a request may be done.
    Done,
    /// When an event may come.
    Event,
    /// Advances at every clock.
    Clock,
}

struct Outcome {
    done: Vec<Completion>,
    log: Vec<Command>,
    stats: ChannelStats,
    activity: Vec<dram::RankActivity>,
    ports: Vec<dram::PortStats>,
    calls: u64,
}

fn drive(config: &Config, requests: &[(Time, Request)], call: Call, log: bool) -> Outcome {
    let mut channel = Channel::new(config).expect("a channel");
    if log {
        channel.keep_log();
    }
    let (mut done, mut calls, mut cycle) = (Vec::new(), 0, 0);
    let clock = config.device.clock;
    let all = requests.iter().map(|(at, request)| (*at, Some(*request))).chain([(Time::MAX, None)]);
    for (at, request) in all {
        loop {
            let next = match call {
                Call::Done => channel.next_done(),
                Call::Event => channel.next_event(),
                // Idle time does not matter here.
                Call::Clock => channel.next_event().map(|next| next.min(clock.time(cycle))),
            };
            let Some(next) = next.filter(|next| *next < at) else { break };
            let seen = done.len();
            channel.advance(next, &mut done);
            if call == Call::Clock {
                // Settles trains, so that every command is decided by itself.
                channel.activity(next);
            }
            assert!(done[seen..].iter().all(|completion| completion.at == next), "called too late, at {next}");
            calls += 1;
            cycle = clock.at_or_before(next) + 1;
        }
        if let Some(request) = request {
            channel.submit(at, request);
            cycle = cycle.max(clock.at_or_before(at));
        }
    }
    let later = requests.last().map_or(Time::ZERO, |(at, _)| *at) + Time::from_us(200);
    Outcome {
        done,
        activity: channel.activity(later),
        log: channel.take_log(),
        stats: ChannelStats { steps: 0, ..channel.stats() },
        ports: (0..PORTS).map(|port| channel.port_stats(port)).collect(),
        calls,
    }
}

fn rules(config: &Config, log: &[Command]) -> Vec<Violation> {
    let refreshed = vec![true; config.rank_count()];
    let (mut checker, mut violations) = (Checker::new(&config.device, &refreshed), Vec::new());
    for command in log {
        checker.check(command, &mut violations);
    }
    violations
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    #[test]
    fn trains_issue_what_single_steps_issue(config in configs(), asks in asks()) {
        let requests = requests(&asks);
        let single = drive(&config, &requests, Call::Clock, true);
        let silent = |request: &Request| request.kind == RequestKind::Write && request.ack == Ack::Silent;
        let awaited = requests.iter().filter(|(_, request)| !silent(request)).count();
        prop_assert_eq!(single.done.len(), awaited);
        prop_assert_eq!(rules(&config, &single.log), []);
        for (call, log) in [(Call::Done, true), (Call::Done, false), (Call::Event, true)] {
            let many = drive(&config, &requests, call, log);
            prop_assert_eq!(&many.done, &single.done);
            if log {
                prop_assert_eq!(&many.log, &single.log);
            }
            prop_assert_eq!(&many.activity, &single.activity);
            prop_assert_eq!((many.stats, &many.ports), (single.stats, &single.ports));
        }
    }
}

/// A page planned from its first to its last burst, with another request in the middle of it: for the same line, the
/// other half of the row, another bank, another row of the bank, or another page.
#[test]
fn what_comes_while_a_page_is_under_way_comes_as_it_would_one_by_one() {
    for preset in ["DDR3-1600", "DDR4-2400"] {
        let config = Config { ports: PORTS, ..Config::new(Device::preset(preset).expect("a preset")) };
        let bank = u64::from(config.device.row_bytes);
        let row = bank * u64::from(config.device.banks());
        for (kind, ack) in [
            (RequestKind::Read, Ack::Accepted),
            (RequestKind::Write, Ack::Accepted),
            (RequestKind::Write, Ack::Written),
        ] {
            let page = Request { id: 1, port: 2, kind, address: 0, bytes: 4096, ack };
            for (other, address, bytes) in [
                (RequestKind::Read, 2048, 64),
                (RequestKind::Write, 2048, 64),
                (RequestKind::Read, 4096, 64),
                (RequestKind::Read, bank, 64),
                (RequestKind::Write, row, 64),
                (RequestKind::Write, bank, 4096),
            ] {
                for pause in (0..480).step_by(13) {
                    let port = if bytes > 64 { 2 } else { 1 };
                    let second = Request { id: 2, port, kind: other, address, bytes, ..Request::default() };
                    let requests = [(Time::from_ns(10), page), (Time::from_ns(10 + pause), second)];
                    let [many, single] = [Call::Done, Call::Clock].map(|call| drive(&config, &requests, call, true));
                    let case = format!("{preset}, {page:?}, {pause} ns later {second:?}");
                    assert_eq!((many.done, many.log), (single.done, single.log), "{case}");
                    assert_eq!((many.stats, many.ports), (single.stats, single.ports), "{case}");
                    assert_eq!(many.activity, single.activity, "{case}");
                }
            }
        }
    }
}

/// A caller is notified that a page is accepted, and submits another request at that very time.
#[test]
fn what_is_asked_for_when_a_page_is_accepted_comes_after_it() {
    let config = Config::new(Device::preset("DDR3-1600").expect("a preset"));
    let page = Request { id: 1, kind: RequestKind::Write, bytes: 4096, ..Request::default() };
    let read = Request { id: 2, address: 16384, bytes: 64, ..Request::default() };
    let [many, single] = [true, false].map(|far| {
        let mut channel = Channel::new(&config).expect("a channel");
        channel.keep_log();
        let mut done = Vec::new();
        assert_eq!(if far { channel.next_done() } else { channel.next_event() }, None);
        channel.submit(Time::from_ns(10), page);
        while done.len() < 2 {
            let seen = done.len();
            let next = if far { channel.next_done() } else { channel.next_event() }.expect("work is left");
            channel.advance(next, &mut done);
            if seen == 0 && done.len() == 1 {
                channel.submit(next, read);
            }
        }
        channel.activity(Time::from_us(5));
        (done, channel.take_log())
    });
    assert_eq!(many, single);
}

#[test]
fn a_page_takes_few_calls_and_all_its_commands_are_there() {
    for kind in [RequestKind::Read, RequestKind::Write] {
        let config = Config { ports: PORTS, ..Config::new(Device::preset("DDR3-1600").expect("a preset")) };
        let page = Request { id: 1, kind, address: 8192, bytes: 4096, ..Request::default() };
        let outcome = drive(&config, &[(Time::from_ns(3), page)], Call::Done, true);
        let column = if kind == RequestKind::Read { CommandKind::Read } else { CommandKind::Write };
        let bursts: Vec<&Command> = outcome.log.iter().filter(|command| command.kind == column).collect();
        let columns: Vec<u32> = bursts.iter().map(|command| command.column).collect();
        assert_eq!(columns, (0..64).collect::<Vec<_>>(), "{kind:?}");
        let gap = u64::from(config.device.timing.ccd_l);
        assert!(bursts.windows(2).all(|pair| pair[1].cycle == pair[0].cycle + gap), "{kind:?}");
        let activity = &outcome.activity[0];
        assert_eq!(
            [activity.reads, activity.writes],
            [u64::from(kind == RequestKind::Read) * 64, u64::from(kind == RequestKind::Write) * 64]
        );
        assert!(outcome.calls <= 2, "{} calls for a page, {kind:?}", outcome.calls);
    }
}

#[test]
fn a_refresh_that_is_due_while_a_page_is_under_way_comes_when_it_would() {
    let device = Device::preset("DDR5-4800").expect("a preset");
    let age_max = device.clock.time(u64::from(device.timing.refi)) / 4 + Time::from_ns(10);
    let config = Config {
        ports: PORTS,
        read_queue: 2,
        write_queue: 3,
        write_high: 1,
        write_low: 0,
        turn_min: 29,
        age_max,
        ..Config::new(device)
    };
    let asks: Vec<Ask> = vec![
        (17, 0, false, Ack::Accepted, 0, 0, 64),
        (42, 0, false, Ack::Accepted, 2, 0, 64),
        (58, 0, false, Ack::Accepted, 0, 0, 64),
        (17, 0, false, Ack::Accepted, 0, 0, 64),
        (507, 0, false, Ack::Accepted, 8, 0, 64),
        (48, 0, false, Ack::Accepted, 0, 0, 64),
        (37, 0, false, Ack::Accepted, 0, 0, 64),
        (2373, 0, false, Ack::Accepted, 8, 0, 64),
        (303, 0, false, Ack::Accepted, 0, 0, 64),
        (403, 1, false, Ack::Accepted, 1, 0, 5),
        (7, 0, false, Ack::Accepted, 0, 0, 1),
        (48, 0, true, Ack::Accepted, 0, 0, 64),
        (3, 0, false, Ack::Accepted, 0, 0, 64),
    ];
    let requests = requests(&asks);
    let single = drive(&config, &requests, Call::Clock, true);
    let event = drive(&config, &requests, Call::Event, true);
    let many = drive(&config, &requests, Call::Done, true);
    assert!(many.log == single.log && event.log == single.log);
}
