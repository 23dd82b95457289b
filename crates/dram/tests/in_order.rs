//! The controller that serves in order: what the standards say of its commands, and that it does not matter when it is called.

use dram::{Ack, Checker, Command, Completion, Config, Device, InOrder, Kind, RankKind, Ranks, Request, Violation};
use proptest::prelude::*;
use sim::Time;

const PORTS: u8 = 3;

/// Channels of which the devices, the ranks, the queue and the policies differ.
fn configs() -> impl Strategy<Value = Config> {
    let preset = prop::sample::select(vec!["DDR3-1600", "DDR4-2400", "LPDDR3-1600", "LPDDR5-6400", "DDR5-4800"]);
    let order = prop::sample::select(vec!["row:rank:bank:group:column", "row:column:rank:bank:group"]);
    let rests = prop::sample::select(vec![None, Some(Time::from_ns(100)), Some(Time::from_us(3))]);
    let sleeps = prop::sample::select(vec![None, Some(Time::from_us(30))]);
    (preset, prop::sample::select(vec![1, 2, 4]), order, 1u32..=64, 1u32..40, rests, sleeps).prop_map(
        |(preset, count, order, write_queue, turn_min, power_down_after, self_refresh_after)| Config {
            ranks: vec![Ranks { kind: RankKind::Dram, count }],
            order: order.parse().expect("an order"),
            ports: PORTS,
            write_queue,
            write_high: write_queue,
            write_low: 0,
            turn_min,
            power_down_after,
            self_refresh_after,
            ..Config::new(Device::preset(preset).expect("a preset"))
        },
    )
}

/// A request: nanoseconds after the one before it, port, write or not, when a write is done, page of 4 KiB, and line and
/// lines of it.
type Ask = (u64, u8, bool, Ack, u64, u64, u64);

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let pause = prop_oneof![6 => Just(0u64), 6 => 0u64..60, 2 => 0u64..600, 1 => 0u64..4000, 1 => 0u64..60_000];
    let lines = prop_oneof![
        3 => Just((0u64, 64u64)),
        6 => (0u64..64).prop_map(|line| (line, 1)),
        2 => (0u64..64, 1u64..5),
        1 => (0u64..64, 1u64..200)
    ];
    let ack = prop::sample::select(vec![Ack::Accepted, Ack::Written, Ack::Untold]);
    let ask = (pause, 0..PORTS, any::<bool>(), ack, 0u64..24, lines);
    prop::collection::vec(ask, 1..120).prop_map(|asks| {
        asks.into_iter()
            .map(|(pause, port, write, ack, page, (line, lines))| (pause, port, write, ack, page, line, lines))
            .collect()
    })
}

fn requests(asks: &[Ask]) -> Vec<(Time, Request)> {
    let mut now = Time::ZERO;
    let request = |(number, (pause, port, write, ack, page, line, lines)): (usize, &Ask)| {
        now += Time::from_ns(*pause);
        let kind = if *write { Kind::Write } else { Kind::Read };
        let (address, bytes) = (page * 4096 + line * 64, *lines as u32 * 64);
        (now, Request { id: number as u64, port: *port, kind, address, bytes, ack: *ack })
    };
    asks.iter().enumerate().map(request).collect()
}

#[derive(Debug, PartialEq)]
struct Outcome {
    done: Vec<Completion>,
    log: Vec<Command>,
    activity: Vec<dram::RankActivity>,
}

/// Plays the requests; calls it at every clock, or when it asks for it.
fn drive(config: &Config, requests: &[(Time, Request)], every_clock: bool) -> Outcome {
    let mut channel = InOrder::new(config).expect("a channel");
    channel.keep_log();
    let (mut done, mut cycle) = (Vec::new(), 0);
    let clock = config.device.clock;
    let all = requests.iter().map(|(at, request)| (*at, Some(*request))).chain([(Time::MAX, None)]);
    for (at, request) in all {
        while let Some(next) = channel.next_event() {
            // Idle time is not of interest here.
            let next = if every_clock { next.min(clock.time(cycle)) } else { next };
            if next >= at {
                break;
            }
            let seen = done.len();
            channel.advance(next, &mut done);
            assert!(done[seen..].iter().all(|completion| completion.at == next), "called too late, at {next}");
            cycle = clock.at_or_before(next) + 1;
        }
        if let Some(request) = request {
            channel.submit(at, request);
            cycle = cycle.max(clock.at_or_before(at));
        }
    }
    let later = requests.last().map_or(Time::ZERO, |(at, _)| *at) + Time::from_us(200);
    let activity = channel.activity(later);
    // Of those that end at one time any may be told first.
    done.sort_by_key(|completion| (completion.at, completion.id));
    Outcome { done, log: channel.take_log(), activity }
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(384) })]

    #[test]
    fn it_keeps_the_rules_whenever_it_is_called(config in configs(), asks in asks()) {
        let requests = requests(&asks);
        let seldom = drive(&config, &requests, false);
        prop_assert_eq!(rules(&config, &seldom.log), []);
        let told = requests.iter().filter(|(_, request)| request.kind == Kind::Read || request.ack != Ack::Untold);
        prop_assert_eq!(seldom.done.len(), told.count());
        prop_assert_eq!(drive(&config, &requests, true), seldom);
    }
}
