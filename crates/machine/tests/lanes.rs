//! Lanes that allocate by themselves hold no more than they can collect, however unequal what is written to them.

use machine::System;
use machine::compose::Parts;
use machine::prepare::{Preparation, prepare};
use nand::PayloadKind;
use sim::Streams;

/// Five units at a time, each durable before the next five come, over two lanes in turn: one gets programs of four units,
/// the other programs of one. The first would come to hold four fifths of the drive, more than its blocks.
#[test]
fn a_lane_that_gets_the_whole_programs_is_not_filled_up() {
    let sets = [
        ("flash.channels", "1"),
        ("flash.chips", "2"),
        ("flash.dies", "1"),
        ("flash.planes", "2"),
        ("flash.blocks", "24"),
        ("flash.pages", "12"),
        ("flash.cell", "qlc"),
        ("flash.page", "16KiB"),
        ("ftl.unit", "4KiB"),
        ("ftl.capacity", "10489856B"),
        ("ftl.over_provisioning", "auto"),
        ("ftl.group", "die"),
        ("ftl.multi_plane", "false"),
        ("ftl.gc.policy", "greedy"),
        ("ftl.gc.start", "2"),
        ("ftl.gc.copies", "4"),
        ("host.max_transfer", "16KiB"),
        ("device.write_cache.size", "20KiB"),
        ("device.write_cache.mode", "write-through"),
    ];
    let system = System::from_toml("two lanes", "title = \"two lanes\"", &sets).expect("a drive");
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Filled, &streams, None).expect("it takes all that it holds");
    let (_, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    // What is valid in each lane, of two thirds of its units that the fill makes it hold on average.
    let (per_block, blocks) = ftl.block_shape();
    let valid: u32 = ftl.closed_blocks().sum();
    assert!(valid <= parts.ftl.user_units && valid * 5 > per_block * blocks * 2, "{valid} units in closed blocks");
}
