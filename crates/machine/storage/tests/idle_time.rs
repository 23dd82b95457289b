//! Work done in idle time: the SLC cache is folded, and space is collected ahead.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/eight_dies.rs"]
mod eight_dies;

use closed_loop::fly;
use eight_dies::drive;
use media::{Op, Request};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const STEP: u64 = 128 << 10;

fn machine(system: &System, preparation: Preparation) -> (Machine, u64) {
    let parts = Parts::new(system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(system, &parts, preparation, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    (Machine::new(&parts, ftl, nand), u64::from(parts.ftl.user_units) * 4096)
}

/// Lets the drive idle for `pause`.
fn rest(machine: &mut Machine, pause: Time) {
    let until = machine.now() + pause;
    let mut none = Vec::new();
    while machine.next_event().is_some_and(|at| at <= until) {
        machine.advance(until, &mut none);
    }
    assert!(none.is_empty());
}

/// Writes `bytes` sequentially from `offset` and returns the bytes per second.
fn burst(machine: &mut Machine, offset: u64, bytes: u64) -> f64 {
    let begin = machine.now();
    let mut next = offset;
    let flown = fly(machine, 16, (bytes / STEP) as u32, || {
        next += STEP;
        Request::new(Op::Write, next - STEP, STEP)
    });
    bytes as f64 / (flown.end - begin).secs_f64()
}

#[test]
fn a_pause_empties_the_slc_cache() {
    let size = 96 << 20;
    let system = drive(&[("ftl.over_provisioning", "0.3"), ("ftl.slc_cache.size", "96MiB")]);
    let (mut machine, _) = machine(&system, Preparation::Filled);
    let first = burst(&mut machine, 0, size);
    let beyond = burst(&mut machine, size, size);
    assert!(beyond < 0.6 * first, "{beyond} B/s without the cache, {first} B/s with it");
    rest(&mut machine, Time::from_ms(5000));
    let second = burst(&mut machine, 2 * size, size);
    assert!(second > 0.95 * first, "{first} B/s at first, {second} B/s after a pause");
}

#[test]
fn a_pause_collects_ahead() {
    let written = |pause: Time| {
        let system = drive(&[("ftl.over_provisioning", "0.3"), ("ftl.group", "drive"), ("ftl.gc.ahead", "6")]);
        let (mut machine, capacity) = machine(&system, Preparation::Steady);
        let mut rng = Streams::new(2).stream("test.writes");
        let mut draw = || Request::new(Op::Write, rng.below(capacity / 4096) * 4096, 4096);
        fly(&mut machine, 64, 60_000, &mut draw);
        rest(&mut machine, pause);
        let begin = machine.now();
        let flown = fly(&mut machine, 64, 20_000, &mut draw);
        20_000.0 / (flown.end - begin).secs_f64()
    };
    // Six superblocks are 73,728 units: the whole burst fits in space collected before.
    let (without, with) = (written(Time::from_ms(1)), written(Time::from_ms(5000)));
    assert!(with > 2.0 * without, "{without} IOPS without a pause, {with} after one");
}

/// A drive with slow flash receives no new command for longer than `ftl.gc.idle`, because all commands wait for it.
/// This does not count as a pause of the host, and collection does not work ahead.
#[test]
fn commands_that_wait_for_room_are_no_pause() {
    let copied = |ahead: &str| {
        let system = drive(&[
            ("ftl.over_provisioning", "0.3"),
            ("ftl.group", "drive"),
            ("ftl.gc.ahead", ahead),
            ("ftl.gc.idle", "1ms"),
            ("flash.program", "8ms"),
            ("device.write_cache.size", "2MiB"),
            ("device.write_cache.resume", "0.9"),
        ]);
        let (mut machine, capacity) = machine(&system, Preparation::Steady);
        let mut rng = Streams::new(2).stream("test.writes");
        fly(&mut machine, 16, 20_000, || Request::new(Op::Write, rng.below(capacity / 4096) * 4096, 4096));
        machine.ftl().stats().programmed_copy
    };
    let (none, six) = (copied("0"), copied("6"));
    assert!(none > 5_000, "{none} units copied");
    assert_eq!(six, none, "units copied with and without blocks to collect ahead");
}
