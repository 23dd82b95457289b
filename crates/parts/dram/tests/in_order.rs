//! The in-order controller must follow the standards, and its behavior must not depend on when it is called.

mod support;

use dram::{Command, CommandKind, Completion, Config, Device, InOrder, Kind, RankKind, Ranks, Request};
use proptest::prelude::*;
use sim::{Streams, Time};
use support::streams::{asks, configs, is_told, requests, violations};
use support::{Pattern, Traffic, run};

#[derive(Debug, PartialEq)]
struct Outcome {
    done: Vec<Completion>,
    log: Vec<Command>,
    activity: Vec<dram::RankActivity>,
}

/// Plays the requests, calling the controller at every clock or when it asks to be called.
fn drive(config: &Config, requests: &[(Time, Request)], every_clock: bool) -> Outcome {
    let mut channel = InOrder::new(config).expect("a channel");
    channel.keep_log();
    let (mut done, mut cycle) = (Vec::new(), 0);
    let clock = config.device.clock;
    let all = requests.iter().map(|(at, request)| (*at, Some(*request))).chain([(Time::MAX, None)]);
    for (at, request) in all {
        while let Some(next) = channel.next_event() {
            // Idle time does not matter here.
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
    // Completions at the same time may be reported in any order.
    done.sort_by_key(|completion| (completion.at, completion.id));
    Outcome { done, log: channel.take_log(), activity }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(384) })]

    #[test]
    fn it_keeps_the_rules_whenever_it_is_called((config, _) in configs(), asks in asks()) {
        let requests = requests(&config, &asks);
        let seldom = drive(&config, &requests, false);
        prop_assert_eq!(violations(&config, &seldom.log), []);
        prop_assert_eq!(seldom.done.len(), requests.iter().filter(|(_, request)| is_told(request)).count());
        prop_assert_eq!(drive(&config, &requests, true), seldom);
    }
}

fn reads(from: Time, count: u64, bytes: u32) -> Vec<(Time, Request)> {
    let read = |id| Request { id, address: id * u64::from(bytes), bytes, ..Request::default() };
    (0..count).map(|id| (from, read(id))).collect()
}

#[test]
fn a_rank_that_slept_is_refreshed_while_there_is_work() {
    let config = Config {
        self_refresh_after: Some(Time::from_us(1)),
        ..Config::new(Device::preset("DDR4-2400").expect("a preset"))
    };
    // 4 MiB in sequence take more than 200 us, 25 refresh intervals of 7.8 us.
    let outcome = drive(&config, &reads(Time::from_us(50), 64, 1 << 16), false);
    assert_eq!(violations(&config, &outcome.log), []);
    assert!(outcome.activity[0].refreshes >= 25, "{:?}", outcome.activity);
}

#[test]
fn a_rank_rests_no_sooner_than_it_has_been_idle_for_so_long() {
    let rest = Time::from_us(1);
    let config = Config {
        ranks: vec![Ranks { kind: RankKind::Dram, count: 2 }],
        order: "row:column:rank:bank:group".parse().expect("an order"),
        power_down_after: Some(rest),
        ..Config::new(Device::preset("DDR4-2400").expect("a preset"))
    };
    let outcome = drive(&config, &reads(Time::from_us(20), 1, 4096), false);
    for rank in 0..2 {
        let of = |kind| outcome.log.iter().filter(move |command| (command.kind, command.rank) == (kind, rank));
        let last = of(CommandKind::Read).next_back().expect("a read");
        let next = of(CommandKind::PowerDown).find(|down| down.cycle > last.cycle).expect("it rests");
        assert_eq!(next.cycle, last.cycle + config.device.clock.at_or_after(rest), "rank {rank}");
    }
}

#[test]
fn reads_are_booked_between_others_though_a_rank_may_rest() {
    let last = |power_down_after| {
        let plain = Config::new(Device::preset("DDR4-2400").expect("a preset"));
        let requests: Vec<_> = reads(Time::ZERO, 64, 8192)
            .iter()
            .map(|(at, read)| (*at + Time::from_ns(7 * read.id), Request { bytes: 64, ..*read }))
            .collect();
        drive(&Config { power_down_after, ..plain }, &requests, false).done.last().map(|done| done.at)
    };
    assert_eq!(last(Some(Time::from_ns(5))), last(None));
}

#[test]
fn more_outstanding_reads_are_no_slower() {
    let config = Config::new(Device::preset("DDR4-2400").expect("a preset"));
    let [few, many, most] = [16, 64, 512].map(|outstanding| {
        let mut traffic = Traffic::new(Pattern::RandomRead, config.bytes(), Streams::new(1).stream("traffic"));
        run(&mut InOrder::new(&config).expect("a channel"), &mut traffic, 20_000, outstanding).gigabytes_per_s()
    });
    assert!(many > few * 0.99 && most > few * 0.99, "{few}, {many}, {most} GB/s");
}

#[test]
fn the_last_write_answers_or_nobody() {
    let config = Config::new(Device::preset("DDR4-2400").expect("a preset"));
    let ask = |id, kind, address, bytes| Request { id, kind, address, bytes, ..Request::default() };
    // The first write covers both lines of the read; the second covers one of them, later.
    let requests = [ask(0, Kind::Write, 0, 128), ask(1, Kind::Write, 64, 64), ask(2, Kind::Read, 0, 128)];
    let outcome = drive(&config, &requests.map(|request| (Time::ZERO, request)), false);
    let columns = outcome.log.iter().filter(|command| matches!(command.kind, CommandKind::Read | CommandKind::Write));
    assert_eq!(columns.map(|command| command.request).collect::<Vec<_>>(), [0, 0, 1, 2, 2]);
}
