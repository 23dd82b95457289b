//! A drive of eight TLC dies whose superblock has 12,288 units. Copying the valid ones takes a tenth of a second.

use system::System;

/// Creates the drive with `sets` in addition.
pub fn drive(sets: &[(&str, &str)]) -> System {
    let mut all = vec![
        ("flash.channels", "4"),
        ("flash.chips", "1"),
        ("flash.dies", "2"),
        ("flash.planes", "2"),
        ("flash.blocks", "72"),
        ("flash.pages", "192"),
        ("flash.page", "16KiB"),
        ("flash.cell", "tlc"),
        ("flash.read", "50us"),
        ("flash.program", "500us"),
        ("flash.erase", "3.5ms"),
        ("flash.rate", "1400MT/s"),
        ("ftl.unit", "4KiB"),
        ("device.write_cache.size", "4MiB"),
    ];
    all.extend(sets);
    System::from_toml("drive", "title = \"a drive\"", &all).expect("a drive")
}
