//! Sequential writes to empty drives until the SLC cache has long been full.

use storage::prepare::Preparation;
use storage::run::{RunOptions, WarmUp, run};
use system::System;
use workload::Workload;

const GB: f64 = 1e9;

/// A measurement by a review.
struct Review {
    preset: &'static str,
    /// Changes without which the preset is not the reviewed drive, and what they stand for.
    sets: &'static [(&'static str, &'static str)],
    host: &'static str,
    found: &'static str,
}

const REVIEWS: [Review; 3] = [
    Review {
        preset: "nvme-client-tlc",
        sets: &[],
        host: "",
        found: "4 GB/s for 113 GB, then 1.5 (TechPowerUp, Samsung 980 PRO 1 TB, 2020)",
    },
    Review {
        preset: "samsung-980-pro-1tb",
        sets: &[("link.generation", "4")],
        host: ", on PCIe 4.0",
        found: "the same",
    },
    Review {
        preset: "nvme-client-hmb",
        sets: &[],
        host: "",
        found: "2.5 GB/s for 160 GB, then 0.5 (TechPowerUp, Samsung 980 1 TB, 2021)",
    },
];

/// Returns the rows of all `drives` that have a dynamic SLC cache.
pub fn rows(drives: &[&str]) -> String {
    drives.iter().map(|preset| row(preset)).collect()
}

fn row(preset: &str) -> String {
    let review = REVIEWS.iter().find(|review| review.preset == preset);
    let sets = review.map_or(&[][..], |review| review.sets);
    let system = System::load(preset, sets).unwrap_or_else(|error| panic!("{error}"));
    if system.ftl.slc_cache.dynamic == 0 {
        return String::new();
    }
    let Burst { bytes, rate, after } = burst(&system);
    let (host, found) = review.map_or(("", ""), |review| (review.host, review.found));
    format!("| `{preset}`{host} | {:.0} GB | {:.2} GB/s | {:.2} GB/s | {found} |\n", bytes / GB, rate / GB, after / GB)
}

struct Burst {
    bytes: f64,
    /// Bytes per second of the burst, and after it.
    rate: f64,
    after: f64,
}

/// Writes twice as much as the cache holds. The burst ends where the rate first falls below three quarters of the first.
fn burst(system: &System) -> Burst {
    let cache = &system.ftl.slc_cache;
    let text = format!(
        "[job]\nioengine=libaio\nrw=write\nbs=1m\niodepth=32\nsize={}m\n",
        2 * (cache.size + cache.dynamic) / (1 << 20)
    );
    let workload = Workload::parse_fio("burst", &text).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { preparation: Some(Preparation::Erased), warm_up: WarmUp::Keep, ..RunOptions::default() };
    let outcome =
        run(system, &workload, &options, &mut |_| true).unwrap_or_else(|error| panic!("{}: {error}", system.title));
    let points = outcome.recorder.points();
    let rates: Vec<f64> = points.iter().map(|point| point.bytes as f64 / point.span.secs_f64()).collect();
    let ends = rates.iter().position(|rate| *rate < 0.75 * rates[0]).expect("the cache is full before the end");
    let sum = |from: usize, to: usize| points[from..to].iter().map(|point| point.bytes as f64).sum::<f64>();
    let seconds = |from: usize, to: usize| points[from..to].iter().map(|point| point.span.secs_f64()).sum::<f64>();
    // The window in which it ends has a part of both, and the last one few requests.
    let last = points.len() - 1;
    let (rate, after) = (sum(0, ends) / seconds(0, ends), sum(ends + 1, last) / seconds(ends + 1, last));
    let within = points[ends].bytes as f64 - after * points[ends].span.secs_f64();
    Burst { bytes: sum(0, ends) + (within / (1.0 - after / rate)).max(0.0), rate, after }
}
