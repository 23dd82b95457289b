//! A small drive for tests of its file.

/// A drive of 24 MB, which soon collects garbage.
pub const SMALL: [(&str, &str); 9] = [
    ("flash.channels", "2"),
    ("flash.chips", "2"),
    ("flash.dies", "1"),
    ("flash.blocks", "20"),
    ("flash.pages", "16"),
    ("ftl.over_provisioning", "0.5"),
    ("ftl.gc.start", "3"),
    ("host.max_transfer", "64KiB"),
    ("device.write_cache.size", "512KiB"),
];
