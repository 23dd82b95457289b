//! Write amplification of the first 2 % of a drive-write after `steady`, in simulated time: requests overlap, and
//! collection is paced by the host's programs.

#[path = "support/closed_loop.rs"]
mod closed_loop;

use closed_loop::fly;
use media::{Op, Request};
use nand::PayloadKind;
use sim::Streams;
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const UNIT: u64 = 4096;

/// Returns the measured write amplification and the mean-field value that the layout assumed.
fn amplification(sets: &[(&str, &str)], depth: u32) -> (f64, f64) {
    let mut all = vec![
        ("flash.channels", "2"),
        ("flash.chips", "1"),
        ("flash.dies", "2"),
        ("flash.planes", "2"),
        ("flash.blocks", "512"),
        ("flash.pages", "64"),
        ("flash.page", "4KiB"),
        ("ftl.unit", "4KiB"),
        ("ftl.gc.start", "3"),
        ("ftl.slc_cache.size", "0B"),
        ("device.write_cache.size", "1MiB"),
        ("host.max_transfer", "128KiB"),
    ];
    all.retain(|(key, _)| sets.iter().all(|(other, _)| key != other));
    all.extend(sets);
    let system = System::from_toml("drive", "title = \"drive\"", &all).unwrap_or_else(|error| panic!("{error}"));
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, prepared) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(&parts, ftl, nand);
    let (units, mut rng) = (parts.user_bytes / UNIT, streams.stream("test.overwrite"));
    fly(&mut machine, depth, (units / 50) as u32, || Request::new(Op::Write, rng.below(units) * UNIT, UNIT));
    let found = machine.ftl().stats().write_amplification().expect("it was written to");
    (found, prepared.write_amplification.expect("theory has one"))
}

#[test]
fn over_provisioning_amplifies_as_the_mean_field_says() {
    let groups: [&[(&str, &str)]; 2] =
        [&[("ftl.group", "die")], &[("ftl.group", "drive"), ("flash.blocks", "2048"), ("flash.pages", "24")]];
    for (group, depth) in groups.into_iter().zip([16, 64]) {
        for over in ["0.07", "0.12", "0.2", "0.28", "0.4", "0.6"] {
            let (found, expected) = amplification(&[group, &[("ftl.over_provisioning", over)]].concat(), depth);
            let off = (found / expected - 1.0).abs();
            assert!(off < 0.05, "{group:?}, over-provisioning {over}: {found:.3}, mean field {expected:.3}");
        }
    }
}

/// 7 % spare capacity on blocks of 64 units: greedy 7.01 (Bux and Iliadis 2010), FIFO 7.82 (Desnoyers, ACM TOS 2014).
#[test]
fn policies_come_out_in_the_order_of_theory() {
    let of = |policy: &str, theory: f64| {
        let sets = [
            ("flash.channels", "1"),
            ("flash.dies", "1"),
            ("flash.planes", "1"),
            ("flash.blocks", "8192"),
            ("ftl.over_provisioning", "0.07"),
            ("ftl.gc.policy", policy),
        ];
        let (found, _) = amplification(&sets, 16);
        assert!((found / theory - 1.0).abs() < 0.05, "{policy}: {found}, theory {theory}");
        found
    };
    let (greedy, choices, fifo) = (of("greedy", 7.0099), of("d-choices", 7.3230), of("fifo", 7.8172));
    assert!(greedy < choices && choices < fifo, "greedy {greedy}, 10 choices {choices}, FIFO {fifo}");
}
