//! The page of standard jobs must cover all drives, and rates must not fall with depth unless the page gives a reason.

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

/// Runs at 1/64 of the size, where the write cache and the SLC cache hold a larger share of a job's writes.
#[test]
fn rates_grow_with_depth_unless_the_page_says_why() {
    let reasons = Reasons::read();
    for preset in drives() {
        let system = shrunk(preset, &[("device.write_cache.size", "2MiB")]);
        for job in &CURVES {
            let rates = DEPTHS.map(|depth| measure(&system, job, depth, 16_000).iops);
            let lists = [&reasons.fall, &reasons.fall_scaled];
            let explained = lists.iter().any(|list| reasons::find(list, preset, job.name).is_some());
            let falling = falls(&rates);
            assert!(falling.is_empty() || explained, "{preset}, {}: {rates:.0?} falls at {falling:?}", job.name);
        }
    }
}
