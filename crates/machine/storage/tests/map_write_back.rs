//! Each change of the map is written to flash once, even if its translation unit is already waiting for a program.

use media::{Op, Request, Status};
use nand::PayloadKind;
use sim::Streams;
use storage::fast::Fast;
use system::System;
use system::parts::Parts;

const UNIT: u64 = 4096;
/// User units mapped by one translation unit, at 4 bytes each.
const MAPPED: u64 = UNIT / 4;

/// A cache of one translation unit evicts each unit for the next. Evicted units wait until eight fill a program;
/// meanwhile they are loaded and changed again. A shutdown must write each of them exactly once.
#[test]
fn a_translation_unit_that_waits_is_not_written_twice() {
    let sets = [
        ("flash.channels", "1"),
        ("flash.chips", "1"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "64"),
        ("flash.pages", "32"),
        ("flash.cell", "slc"),
        ("flash.page", "32KiB"),
        ("ftl.unit", "4KiB"),
        ("ftl.capacity", "16MiB"),
        ("ftl.over_provisioning", "auto"),
        ("ftl.map_cache.size", "4KiB"),
    ];
    let system = System::from_toml("small", "title = \"small\"", &sets).expect("a drive");
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (nand, mut ftl, _) = parts.mount(parts.erased_store(&streams), &streams).expect("it mounts");
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    for round in 0..4 {
        // The writes alternate between translation units that fit in one program. The cache evicts one for the next; an
        // evicted unit waits, because there is less than a program, and comes back to be changed once more.
        for unit in [0, MAPPED, 2 * MAPPED, 1, MAPPED + 1, 2 * MAPPED + 1, 2, MAPPED + 2] {
            assert_eq!(fast.request(Request::new(Op::Write, (unit + round) * UNIT, UNIT)), Status::Ok);
        }
        let before = fast.ftl().stats().programmed_system;
        fast.write_back_map();
        let written = fast.ftl().stats().programmed_system - before;
        assert_eq!(written, 3, "one program each of three translation units, in round {round}");
    }
}
