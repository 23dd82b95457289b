//! The map goes back to flash once for each change, whatever of it waits for its program already.

use media::{Op, Request, Status};
use nand::PayloadKind;
use sim::Streams;
use storage::fast::Fast;
use system::System;
use system::parts::Parts;

const UNIT: u64 = 4096;
/// User's units that a translation unit maps, at 4 bytes each.
const MAPPED: u64 = UNIT / 4;

/// A cache of one translation unit evicts one for the other; those wait for a whole program of eight units, and are
/// changed, and at hand, again. Switching off must write each to one place.
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
        // Of several translation units by turns, and one program of them all. The cache evicts one for the other; what
        // it evicts waits, being less than a program, and comes back to be changed once more.
        for unit in [0, MAPPED, 2 * MAPPED, 1, MAPPED + 1, 2 * MAPPED + 1, 2, MAPPED + 2] {
            assert_eq!(fast.request(Request::new(Op::Write, (unit + round) * UNIT, UNIT)), Status::Ok);
        }
        let before = fast.ftl().stats().programmed_system;
        fast.write_back_map();
        let written = fast.ftl().stats().programmed_system - before;
        assert_eq!(written, 3, "one program each of three translation units, in round {round}");
    }
}
