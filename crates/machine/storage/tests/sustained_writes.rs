//! Random writes that go on for ever: collection is paced, so that no write waits for a whole block to be collected.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/eight_dies.rs"]
mod eight_dies;

use closed_loop::{Flown, fly};
use eight_dies::drive;
use media::{Op, Request};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const DEPTH: u32 = 64;
const DIES: u32 = 8;
const PROGRAM_US: f64 = 500.0;
const READ_US: f64 = 50.0;
const ERASE_US: f64 = 3500.0;

/// Writes a drive at random from steady state; returns what came of it, and write amplification.
fn write(system: &System, parts: &Parts, count: u32) -> (Flown, f64) {
    let streams = Streams::new(1);
    let (store, _) = prepare(system, parts, Preparation::Steady, &streams, None).expect("a steady drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(parts, ftl, nand);
    let mut rng = streams.stream("test.writes");
    let units = u64::from(parts.ftl.user_units);
    let mut draw = || Request::new(Op::Write, rng.below(units) * 4096, 4096);
    // The caches fill.
    fly(&mut machine, DEPTH, 20_000, &mut draw);
    let before = *machine.ftl().stats();
    let begin = machine.now();
    let mut flown = fly(&mut machine, DEPTH, count, &mut draw);
    flown.end -= begin;
    let now = machine.ftl().stats();
    let host = (now.programmed_host - before.programmed_host) as f64;
    let copies = (now.programmed_copy - before.programmed_copy) as f64;
    (flown, 1.0 + copies / host)
}

fn at(flown: &Flown, part: f64) -> Time {
    let mut times: Vec<Time> = flown.each.iter().map(|(_, time)| *time).collect();
    times.sort();
    times[(part * (times.len() - 1) as f64) as usize]
}

#[test]
fn collection_never_stops_the_host_whatever_group_and_policy() {
    for group in ["drive", "die", "plane"] {
        for policy in ["greedy", "cost-benefit", "fifo", "d-choices"] {
            let system = drive(&[("ftl.over_provisioning", "0.2"), ("ftl.group", group), ("ftl.gc.policy", policy)]);
            let parts = Parts::new(&system, PayloadKind::None).expect("parts");
            let (flown, amplification) = write(&system, &parts, 60_000);
            let name = format!("{group}, {policy}");
            assert!(amplification > 3.0, "{name}: write amplification {amplification}: hardly anything is collected");
            assert!(flown.silence < Time::from_ms(10), "{name}: no write ended for {}", flown.silence);
            assert!(at(&flown, 0.999) < Time::from_ms(50), "{name}: p99.9 is {}", at(&flown, 0.999));
            // A die programs one program's units at a time, and reads a page for each program of copies that its victim held.
            let units = if group == "plane" { 4.0 } else { 8.0 };
            let transfer = units * 4096.0 / 1400.0;
            let each = amplification * PROGRAM_US + amplification * (READ_US + transfer);
            let allowed = f64::from(DIES) * units / (each * 1e-6);
            let found = flown.each.len() as f64 / flown.end.secs_f64();
            assert!(found > 0.9 * allowed, "{name}: {found} IOPS, the dies allow {allowed}");
            if policy == "greedy" {
                // All that waits goes first; an erase, and what each die has queued, may come on top.
                let programmed = ftl::programmed_before(&parts.ftl, u64::from(DEPTH) + units as u64) as f64;
                let bound_us = programmed / units / f64::from(DIES) * (PROGRAM_US + READ_US + transfer)
                    + ERASE_US
                    + 2.0 * (PROGRAM_US + transfer);
                let longest = at(&flown, 1.0).us_f64();
                assert!(longest < bound_us, "{name}: a write took {longest} us, {bound_us} us at most are expected");
                assert!(longest > bound_us / 8.0, "{name}: a bound of {bound_us} us says nothing of {longest} us");
            }
        }
    }
}
