//! The page of standard jobs: its drives are all drives, and rates do not fall as depth grows unless it says why.

#[path = "../examples/standard_jobs/jobs.rs"]
#[allow(dead_code, reason = "the page's")]
mod jobs;
#[path = "support/presets.rs"]
mod presets;
#[path = "../examples/standard_jobs/reasons.rs"]
#[allow(dead_code, reason = "the page's")]
mod reasons;

use jobs::{CURVES, DEPTHS, falls, measure};
use presets::{drives, shrunk};
use reasons::Reasons;

#[test]
fn the_page_has_every_drive() {
    let page = include_str!("../../../../docs/standard-jobs.md");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    assert_eq!(sections, drives(), "docs/standard-jobs.md is older than the presets: make standard-jobs");
}

/// At a sixty-fourth of the size, where the write cache and the SLC cache hold a larger part of what a job writes.
#[test]
fn rates_grow_with_depth_unless_the_page_says_why() {
    let reasons = Reasons::read();
    for preset in drives() {
        let system = shrunk(preset, &[("device.write_cache.size", "2MiB")]);
        for job in &CURVES {
            let rates = DEPTHS.map(|depth| measure(&system, job, depth, 16_000).iops);
            let explained = reasons::find(&reasons.fall, preset, job.name).is_some();
            let falling = falls(&rates);
            assert!(falling.is_empty() || explained, "{preset}, {}: {rates:.0?} falls at {falling:?}", job.name);
        }
    }
}
