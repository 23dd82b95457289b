//! Parallel units that allocate independently must hold no more data than they can collect, however unevenly they are
//! written.

use nand::PayloadKind;
use sim::Streams;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

/// Writes five units at a time, each batch durable before the next, alternating between two parallel units: one gets
/// programs of four units, the other programs of one. The first used to grow to four fifths of the drive, and its
/// collection never ended.
#[test]
fn a_drive_of_unequal_lanes_can_be_filled() {
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
        ("ftl.gc.start", "3"),
        ("ftl.gc.copies", "4"),
        ("ftl.map_cache.size", "8KiB"),
        ("ftl.wear_leveling.dynamic", "false"),
        ("ftl.wear_leveling.static", "off"),
        ("host.max_transfer", "16KiB"),
        ("device.write_cache.size", "20KiB"),
        ("device.write_cache.mode", "write-through"),
    ];
    let system = System::from_toml("two lanes", "title = \"two lanes\"", &sets).expect("a drive");
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Filled, &streams, None).expect("it takes all that it holds");
    let (_, _, found) = parts.mount(store, &streams).expect("it mounts");
    assert_eq!(found.mapped_units, u64::from(parts.ftl.user_units));
}
