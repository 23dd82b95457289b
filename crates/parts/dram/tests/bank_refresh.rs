//! The benefits of same-bank and per-bank refresh: bandwidth, and the tail of latency during a refresh.

use dram::{Channel, CommandKind, Config, Device, RefreshMode, Request};
use sim::{Streams, Time};

/// Returns a rank behind a queue of 64, like main memory.
fn config(mode: RefreshMode) -> Config {
    let device = Device::preset("DDR5-4800").expect("a preset");
    Config { refresh_mode: mode, read_queue: 64, hash: true, ..Config::new(device) }
}

/// Submits reads at random addresses or of eight sequential streams, one every `pause`. Returns the bandwidth in GB/s
/// and the 99th percentile of latency.
fn reads(mode: RefreshMode, streams: bool, pause: Time) -> (f64, Time) {
    let mut channel = Channel::new(&config(mode)).expect("a channel");
    let mut rng = Streams::new(1).stream("reads");
    let (mut done, mut now, count) = (Vec::new(), Time::ZERO, 60_000);
    for id in 0..count {
        while let Some(next) = channel.next_event().filter(|next| *next < now) {
            channel.advance(next, &mut done);
        }
        let address = if streams { id % 8 * (1 << 28) + id / 8 * 64 } else { rng.below(1 << 26) * 64 };
        channel.submit(now, Request { id, address, bytes: 64, ..Request::default() });
        now += pause;
    }
    while let Some(next) = channel.next_event() {
        channel.advance(next, &mut done);
    }
    let end = done.last().expect("reads are done").at;
    let mut latencies: Vec<Time> = done.iter().map(|done| done.at - done.submitted).collect();
    latencies.sort_unstable();
    (64.0 * count as f64 / end.ps() as f64 * 1000.0, latencies[latencies.len() * 99 / 100])
}

/// Eight streams keep the full bus bandwidth. Random reads gain less, because a quarter of the banks is unavailable for
/// a quarter of the time.
#[test]
fn same_bank_refresh_gives_bandwidth_and_shortens_the_tail() {
    for (streams, gain) in [(false, 1.02), (true, 1.08)] {
        let of = |pause| {
            [RefreshMode::AllBank, RefreshMode::SameBank].map(|mode| reads(mode, streams, Time::from_ps(pause)))
        };
        let ([all, same], [tail_all, tail_same]) = (of(1000), of(5000));
        let what = if streams { "streams" } else { "random" };
        println!(
            "{what}: {:.2} and {:.2} GB/s saturated; p99 at 12.8 GB/s {} and {}",
            all.0, same.0, tail_all.1, tail_same.1
        );
        assert!(same.0 > gain * all.0, "{what}: {} GB/s, {} with all banks", same.0, all.0);
        assert!(tail_same.1 * 3 < tail_all.1 * 2, "{what}: p99 of {}, {} with all banks", tail_same.1, tail_all.1);
    }
}

#[test]
fn every_bank_is_refreshed_twice_in_an_interval() {
    let config = config(RefreshMode::SameBank);
    let intervals = 1000;
    let span = config.device.clock.time(u64::from(config.device.timing.refi) * (intervals + 1));
    // Idle time is counted, or simulated if commands are logged.
    for log in [false, true] {
        let mut channel = Channel::new(&config).expect("a channel");
        if log {
            channel.keep_log();
        }
        let activity = channel.activity(span)[0];
        let due = 2 * u64::from(config.device.banks_per_group) * intervals;
        assert!((due..=due + 1).contains(&activity.same_bank_refreshes), "{activity:?}, {due} due");
        assert_eq!(activity.refreshes, 0);
    }
}

/// Eight sequential streams of reads: with REF, HBM4 serves nothing for a ninth of the time.
#[test]
fn per_bank_refresh_serves_the_other_banks() {
    let bandwidth = |refresh_mode| {
        let device = Device::preset("HBM4-8000").expect("a preset");
        let config = Config { refresh_mode, read_queue: 128, hash: true, ..Config::new(device) };
        let mut channel = Channel::new(&config).expect("a channel");
        let (mut done, count) = (Vec::new(), 40_000);
        for id in 0..count {
            channel.submit(
                Time::ZERO,
                Request { id, address: id % 8 * (1 << 24) + id / 8 * 64, bytes: 64, ..Request::default() },
            );
        }
        while let Some(next) = channel.next_event() {
            channel.advance(next, &mut done);
        }
        let end = done.last().expect("reads are done").at;
        let activity = channel.activity(end)[0];
        (64.0 * count as f64 / end.ps() as f64 * 1000.0, activity, end)
    };
    let ((all, ..), (per_bank, activity, end)) = (bandwidth(RefreshMode::AllBank), bandwidth(RefreshMode::PerBank));
    println!("{per_bank:.2} GB/s, {all:.2} with all banks");
    assert!(per_bank > 1.05 * all, "{per_bank} GB/s, {all} with all banks");
    // All 16 banks once in 3.9 us, after the first interval.
    let due = (end.ps() - 3_900_000) * 16 / 3_900_000;
    assert!(activity.bank_refreshes >= due && activity.refreshes == 0, "{activity:?}, {due} due");
}

#[test]
fn the_log_has_each_refresh_of_a_bank_in_turn() {
    let device = Device::preset("HBM4-8000").expect("a preset");
    let banks = device.banks();
    let config = Config { refresh_mode: RefreshMode::PerBank, read_queue: 128, ..Config::new(device) };
    let mut channel = Channel::new(&config).expect("a channel");
    channel.keep_log();
    let mut done = Vec::new();
    for id in 0..4000 {
        channel.submit(Time::ZERO, Request { id, address: id * 64, bytes: 64, ..Request::default() });
    }
    while let Some(next) = channel.next_event() {
        channel.advance(next, &mut done);
    }
    let log = channel.take_log();
    let refreshed: Vec<_> = log.iter().filter(|command| command.kind == CommandKind::RefreshBank).collect();
    assert!(refreshed.len() as u32 > banks, "{} refreshes", refreshed.len());
    assert!(refreshed.iter().all(|command| (command.row, command.column) == (0, 0)), "a bank is refreshed, no row");
    let per_group = config.device.banks_per_group;
    for (turn, command) in (0..).zip(&refreshed) {
        assert_eq!(u32::from(command.group) * per_group + u32::from(command.bank), turn % banks);
    }
}

#[test]
fn an_unused_rank_is_refreshed_as_a_whole_and_powers_down() {
    let device = Device::preset("HBM4-8000").expect("a preset");
    let config = Config {
        refresh_mode: RefreshMode::PerBank,
        power_down_after: Some(Time::from_ns(160)),
        ..Config::new(device)
    };
    for log in [false, true] {
        let mut channel = Channel::new(&config).expect("a channel");
        if log {
            channel.keep_log();
        }
        channel.submit(Time::ZERO, Request { bytes: 64, ..Request::default() });
        let activity = channel.activity(Time::from_us(3900))[0];
        assert!((999..=1000).contains(&activity.refreshes) && activity.bank_refreshes <= 16, "{activity:?}");
        let down = activity.clocks_in(dram::PowerState::PrechargePowerDown);
        let all: u64 = activity.clocks.iter().sum();
        assert!(down * 10 > 8 * all, "{down} of {all} clocks");
    }
}

#[test]
fn only_devices_with_the_command_refresh_so() {
    let device = Device::preset("DDR4-2400").expect("a preset");
    let error = Channel::new(&Config { refresh_mode: RefreshMode::SameBank, ..Config::new(device) }).err();
    let text = error.expect("an error").to_string();
    assert_eq!(text, "refresh_mode: found SameBank, expected AllBank, where the device has no same-bank refresh");
    let device = Device::preset("DDR5-4800").expect("a preset");
    let error = Channel::new(&Config { refresh_mode: RefreshMode::PerBank, ..Config::new(device) }).err();
    let text = error.expect("an error").to_string();
    assert_eq!(text, "refresh_mode: found PerBank, expected AllBank, where the device has no per-bank refresh");
    let device = Device::preset("HBM4-8000").expect("a preset");
    let wrong = Config { refresh_mode: RefreshMode::PerBank, refresh_postpone: 1, ..Config::new(device) };
    let text = Channel::new(&wrong).err().expect("an error").to_string();
    assert_eq!(text, "refresh_postpone: found 1, expected 0 with same-bank or per-bank refresh");
}
