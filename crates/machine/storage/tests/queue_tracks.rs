//! Queue lengths on the timeline: never negative, zero at the end, consistent with the outstanding requests, and
//! without effect on results.

#[path = "support/closed_loop.rs"]
mod closed_loop;

use std::collections::BTreeMap;

use closed_loop::{Flown, fly};
use media::{Op, Request};
use nand::PayloadKind;
use sim::Streams;
use storage::Machine;
use system::System;
use system::parts::Parts;

const DEPTH: u32 = 12;

fn system(link: &str) -> System {
    let sets = [
        ("link.type", link),
        ("flash.channels", "2"),
        ("flash.chips", "1"),
        ("flash.dies", "2"),
        ("flash.blocks", "40"),
        ("flash.pages", "64"),
        ("ftl.over_provisioning", "0.4"),
        ("ftl.gc.start", "3"),
        ("ftl.slc_cache.size", "0B"),
        ("device.write_cache.size", "2MiB"),
    ];
    System::from_toml("drive", "title = \"a drive\"", &sets).expect("a drive")
}

fn play(system: &System, timeline: bool) -> (Flown, Machine) {
    let parts = Parts::new(system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let mut machine = Machine::erased(&parts, &streams).expect("a machine");
    if timeline {
        machine.keep_timeline(1 << 20);
    }
    let mut rng = streams.stream("test.queues");
    let draw = || {
        let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
        Request::new(op, rng.below(4000) * 4096, 4096)
    };
    let mut flown = fly(&mut machine, DEPTH, 3000, draw);
    // Finish the background work of the last requests: the data is written to flash.
    let last = fly(&mut machine, 1, 1, Request::flush);
    flown.end = last.end;
    (flown, machine)
}

/// Returns the steps of each counter by part and name, as time in microseconds and value.
fn counters(machine: &Machine) -> BTreeMap<(String, String), Vec<(f64, u64)>> {
    let mut text = Vec::new();
    machine.timeline().expect("a timeline").write(&mut text).expect("memory takes it");
    let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let parts: BTreeMap<u64, &str> = events
        .iter()
        .filter(|e| e["name"] == "process_name")
        .map(|e| (e["pid"].as_u64().expect("a number"), e["args"]["name"].as_str().expect("a name")))
        .collect();
    let mut found: BTreeMap<(String, String), Vec<(f64, u64)>> = BTreeMap::new();
    for event in events.iter().filter(|e| e["ph"] == "C") {
        let part = parts[&event["pid"].as_u64().expect("a number")].to_owned();
        let name = event["name"].as_str().expect("a name").to_owned();
        let step = (event["ts"].as_f64().expect("a time"), event["args"]["value"].as_u64().expect("a count"));
        found.entry((part, name)).or_default().push(step);
    }
    found
}

/// Returns the integral of a counter over time, in microseconds.
fn area(steps: &[(f64, u64)]) -> f64 {
    steps.windows(2).map(|pair| (pair[1].0 - pair[0].0) * pair[0].1 as f64).sum()
}

#[test]
fn queues_are_what_is_in_them() {
    for (link, host) in [("pcie", "submission queue 0"), ("sata", "command slots"), ("ufs", "command slots")] {
        let system = system(link);
        let (with, machine) = play(&system, true);
        let (without, _) = play(&system, false);
        assert_eq!((with.end, with.responses), (without.end, without.responses));
        let counters = counters(&machine);
        let of = |part: &str, name: &str| &counters[&(part.to_owned(), name.to_owned())];
        for (name, steps) in &counters {
            assert_eq!((steps[0], steps.last().expect("steps").1), ((0.0, 0), 0), "{name:?} begins and ends empty");
            assert!(steps.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 != pair[1].1), "{name:?}");
            assert!(steps.len() > 1 || name.0 == "host", "{name:?} is never used");
        }
        let commands = of("controller", "commands");
        assert_eq!(commands.iter().map(|step| step.1).max(), Some(u64::from(DEPTH)), "{link}");
        for die in 0..4 {
            assert!(
                of("flash dies", &format!("queue of die {die}")).iter().any(|step| step.1 > 1),
                "{link}: die {die}"
            );
        }
        // A command is in its slot longer than in the device, and a request is outstanding longer than its command is
        // in a slot.
        let slots = of("host", host);
        if link != "pcie" {
            assert!(area(commands) < area(slots), "{link}");
            assert!(area(slots) < with.responses.us_f64() + 1e5, "{link}");
        }
        assert!(area(commands) < with.responses.us_f64() + 1e5, "{link}");
    }
}
