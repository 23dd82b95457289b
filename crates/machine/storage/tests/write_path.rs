//! Flash costs of writes: padding, write-through, trims, and drives without a write cache.

#[path = "support/play.rs"]
mod play;

use play::{options, play, requests, system};
use storage::prepare::Preparation;
use storage::run::Outcome;

/// 64 MiB in units of 4 KiB, with programs of 32 KiB.
const DRIVE: [(&str, &str); 10] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.dies", "1"),
    ("flash.planes", "2"),
    ("flash.blocks", "48"),
    ("flash.pages", "48"),
    ("flash.page", "16KiB"),
    ("ftl.capacity", "64MiB"),
    ("ftl.over_provisioning", "auto"),
    ("ftl.group", "die"),
];

fn run(sets: &[(&str, &str)], job: &str) -> Outcome {
    play(&system("", &[&DRIVE[..], sets].concat()), job, &options(Preparation::Filled))
}

#[test]
fn a_unit_that_is_being_completed_does_not_close_a_page() {
    let outcome = run(&[], "rw=write\nbs=512\niodepth=8\nsize=4m");
    let stats = outcome.machine.ftl().stats();
    let share = stats.programmed_padding as f64 / stats.programmed_host as f64;
    assert!(share < 0.05, "{} units of padding for {} written", stats.programmed_padding, stats.programmed_host);
}

#[test]
fn queued_writes_share_programs_with_write_through() {
    let through = [("device.write_cache.mode", "write-through")];
    let outcome = run(&through, "rw=randwrite\nbs=4k\niodepth=32\nnumber_ios=4000");
    let stats = outcome.machine.ftl().stats();
    let share = stats.programmed_padding as f64 / stats.programmed_host as f64;
    assert!(share < 0.5, "{} units of padding for {} written", stats.programmed_padding, stats.programmed_host);
    // A single write has a program of its own.
    let outcome = run(&through, "rw=randwrite\nbs=4k\niodepth=1\nnumber_ios=400");
    let stats = outcome.machine.ftl().stats();
    assert_eq!((requests(&outcome).0, stats.programmed_padding), (400, 400 * 7));
}

/// Returns the mean latency in microseconds of trims of `bytes`, with `sets`, and the counters.
fn trims(sets: &[(&str, &str)], bytes: &str) -> (f64, ftl::Stats) {
    let outcome = run(sets, &format!("rw=trim\nbs={bytes}\niodepth=1\nnumber_ios=8"));
    (requests(&outcome).1 * 1e6, outcome.machine.ftl().stats())
}

#[test]
fn a_larger_trim_takes_longer() {
    let (small, large) = (trims(&[], "4k").0, trims(&[], "8m").0);
    // 1 ms per GiB.
    let expected = 1000.0 * (8.0 * 1024.0 - 4.0) / (1024.0 * 1024.0);
    assert!((large - small - expected).abs() < 0.1, "{large} us for 8 MiB, {small} us for 4 KiB");
    let flat = [("device.firmware.trim_gib", "0s")];
    assert!((trims(&flat, "8m").0 - trims(&flat, "4k").0).abs() < 0.1);
}

#[test]
fn a_trim_changes_its_map_pages() {
    for grain in ["page", "entry"] {
        let sets = [("ftl.map_cache.size", "4KiB"), ("ftl.map_cache.grain", grain)];
        // In 16 map pages of 1,024 entries, of which one fits in the cache.
        let outcome = run(&sets, "rw=randtrim\nbs=4k\niodepth=1\nnumber_ios=40");
        let reads = outcome.machine.ftl().stats().map_reads;
        assert!((10..=40).contains(&reads), "{grain}: {reads} map pages read for 40 trims");
        // A map page that a trim covers completely is discarded without a read; a partly covered one is read.
        assert_eq!(trims(&sets, "4m").1.map_reads, 0, "{grain}");
        assert_eq!(trims(&sets, "6m").1.map_reads, 4, "{grain}");
    }
}

#[test]
fn a_drive_without_a_write_cache_ends_writes_in_flash() {
    let one = "rw=randwrite\nbs=4k\niodepth=1\nnumber_ios=100";
    let none = [("device.write_cache.size", "0B")];
    let outcome = run(&none, one);
    let program = system("", &DRIVE).flash.timing.program.into_iter().min().expect("a program time");
    assert!(requests(&outcome).1 > program.secs_f64(), "a write ended before its program");
    // A write costs the same as with a write-through cache.
    let through = [("device.write_cache.mode", "write-through")];
    assert_eq!(requests(&outcome).1, requests(&run(&through, one)).1);
    // Capacitors protect a cache, but not a transfer buffer.
    let protected = [none[0], ("device.power_loss_protection", "true")];
    assert_eq!(requests(&outcome).1, requests(&run(&protected, one)).1);
    // Large writes keep both dies busy.
    let large = "rw=write\nbs=512k\niodepth=4\nsize=32m";
    let (without, with) = (requests(&run(&none, large)).1, requests(&run(&through, large)).1);
    assert!((without / with - 1.0).abs() < 0.1, "{without} s for 512 KiB, {with} with a cache");
}

#[test]
fn write_amplification_by_bytes_counts_what_the_host_wrote() {
    let both = |job: &str| {
        let stats = run(&[("device.write_cache.size", "1MiB")], job).machine.ftl().stats();
        let by_units = stats.write_amplification().expect("units in flash");
        (by_units, stats.write_amplification_by_bytes(4096).expect("bytes written"), stats)
    };
    // With whole units, none of them overwritten in RAM, both values are equal.
    let (units, bytes, stats) = both("rw=write\nbs=4k\niodepth=8\nsize=32m");
    assert_eq!((stats.overwritten_in_ram, stats.host_bytes), (0, 32 << 20));
    assert!((bytes / units - 1.0).abs() < 1e-9, "{units} by units, {bytes} by bytes");
    // With an eighth of a unit per write, the value by bytes is eight times as high.
    let (units, bytes, stats) = both("rw=randwrite\nbs=512\niodepth=8\nnumber_ios=4000");
    let share = stats.programmed_host as f64 / stats.host_units as f64;
    assert!((bytes / (8.0 * units * share) - 1.0).abs() < 1e-9, "{units} by units, {bytes} by bytes");
    assert!(bytes > 6.0 * units, "{units} by units, {bytes} by bytes");
}
