//! A plain drive, for tests of one mechanism at a time: `nvme-client-tlc` without the other mechanisms of its class.

/// A static SLC cache alone, pages and dies that are alike, and no errors or housekeeping.
pub const PLAIN: [(&str, &str); 11] = [
    ("ftl.slc_cache.dynamic", "0B"),
    ("flash.read", "50us"),
    ("flash.variation.dies", "0"),
    ("flash.variation.blocks", "0"),
    ("flash.variation.word_lines", "0"),
    ("flash.errors.model", "none"),
    ("flash.ecc.retries", "7"),
    ("flash.ecc.retry_floor", "0.1"),
    ("ftl.refresh.reads", "off"),
    ("ftl.refresh.age", "off"),
    ("ftl.wear_leveling.static", "off"),
];
