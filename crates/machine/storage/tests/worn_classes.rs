//! Read retries of the presets that stand for classes of drives: none while they are new, and as published once they are worn.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/presets.rs"]
#[allow(dead_code, reason = "the list of drives is other tests'")]
mod presets;

use closed_loop::fly;
use media::{Op, Request};
use nand::PayloadKind;
use presets::shrunk;
use sim::Streams;
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::parts::Parts;

const CLASSES: [&str; 5] =
    ["nvme-client-tlc", "nvme-client-hmb", "nvme-enterprise-tlc", "nvme-enterprise-gen5", "nvme-qlc-61tb"];

/// Returns the retries per read of a filled drive after `cycles`, with data of `age`. Nothing may be lost.
fn retries(preset: &str, cycles: &str, age: &str) -> f64 {
    let sets =
        [("flash.cycles", cycles), ("flash.age", age), ("ftl.slc_cache.size", "0B"), ("ftl.slc_cache.dynamic", "0B")];
    let system = shrunk(preset, &sets);
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Filled, &streams, None).expect("a filled drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(&parts, ftl, nand);
    let sensed = |machine: &Machine| {
        let dies = 0..machine.nand().store().geometry().all_dies() as u16;
        let stats = dies.map(|die| machine.nand().die_stats(machine.now(), die));
        stats.fold((0, 0), |(reads, retries), die| (reads + die.reads, retries + die.retries))
    };
    let before = sensed(&machine);
    let (unit, mut rng) = (system.ftl.unit, streams.stream("test.reads"));
    let units = parts.user_bytes / unit;
    let flown = fly(&mut machine, 1, 4000, || Request::new(Op::Read, rng.below(units) * unit, unit));
    assert_eq!(flown.each.len(), 4000);
    assert_eq!(machine.ftl().stats().lost_units, 0, "{preset} after {cycles} cycles and {age}");
    let (reads, retries) = sensed(&machine);
    let (reads, retries) = (reads - before.0, retries - before.1);
    retries as f64 / (reads - retries) as f64
}

/// Ye et al. (ASPLOS 2024): more than three retries on average at 3,000 cycles with long retention.
#[test]
fn reads_of_new_drives_need_no_retry_and_those_of_worn_ones_more_than_three() {
    for preset in CLASSES {
        let (new, worn) = (retries(preset, "0", "0s"), retries(preset, "3000", "1y"));
        println!("{preset}: {new} retries a read while new, {worn} once worn");
        assert!(new == 0.0 && worn > 3.0 && worn < 5.0, "{preset}: {new} while new, {worn} once worn");
    }
}
