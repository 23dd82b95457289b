//! The map cache: entries or whole pages, cold or warm.

#[path = "support/play.rs"]
mod play;

use ftl::Stats;
use play::{options, play, requests, system};
use storage::prepare::Preparation;

/// 64 MiB in units of 4 KiB: 16 map pages of 1,024 entries, 64 KiB of map in flash.
const DRIVE: [(&str, &str); 10] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.dies", "1"),
    ("flash.planes", "1"),
    ("flash.blocks", "96"),
    ("flash.pages", "64"),
    ("flash.page", "8KiB"),
    ("ftl.capacity", "64MiB"),
    ("ftl.over_provisioning", "auto"),
    ("ftl.group", "plane"),
];

fn stats(sets: &[(&str, &str)], job: &str) -> Stats {
    let outcome = play(&system("", &[&DRIVE[..], sets].concat()), job, &options(Preparation::Filled));
    assert!(requests(&outcome).0 > 0);
    outcome.machine.ftl().stats()
}

const ENTRIES: [(&str, &str); 2] = [("ftl.map_cache.grain", "entry"), ("ftl.map_cache.size", "32KiB")];

#[test]
fn look_ups_join_the_read_of_their_map_page() {
    let stats = stats(&ENTRIES, "rw=read\nbs=128k\niodepth=1\nnumber_ios=8");
    assert_eq!((stats.map_misses, stats.map_hits), (8 * 32, 0), "an entry is brought in by its own look-up alone");
    assert_eq!(stats.map_reads, 8, "one read per request");
}

#[test]
fn a_cached_entry_is_found_again_and_its_neighbor_is_not() {
    let twice = "rw=randread\nbs=4k\niodepth=1\nsize=4m\nio_size=8m";
    let stats = stats(&ENTRIES, twice);
    // Each of 1,024 units is read twice, with room for 4,096 entries of 8 bytes.
    assert_eq!((stats.map_misses, stats.map_hits, stats.map_reads), (1024, 1024, 1024));
    assert_eq!(stats.programmed_system, 0, "nothing changed");
}

#[test]
fn an_evicted_change_takes_the_changes_of_its_map_page_along() {
    let small = [("ftl.map_cache.grain", "entry"), ("ftl.map_cache.size", "4KiB")];
    // There is room for 512 entries. Each round changes 1,024 in each map page.
    let stats = stats(&small, "rw=write\nbs=4k\niodepth=1\nsize=64m");
    assert_eq!(stats.host_units, 16384);
    let written = stats.programmed_system;
    assert!((16..=64).contains(&written), "{written} map pages written for 16,384 changes in 16 of them");
}

#[test]
fn a_warm_cache_hits_from_the_first_request() {
    let few = "rw=randread\nbs=4k\niodepth=1\nnumber_ios=400\nnorandommap";
    for grain in ["page", "entry"] {
        // Half of the map: 8 of 16 pages, or 8,192 of 16,384 entries of 4 bytes.
        let mut sets = vec![("ftl.map_cache.grain", grain), ("ftl.map_cache.size", "32KiB")];
        if grain == "entry" {
            sets.push(("ftl.map_cache.entry", "4B"));
        }
        sets.push(("ftl.map_cache.start", "warm"));
        let half = stats(&sets, few);
        let share = half.map_hits as f64 / (half.map_hits + half.map_misses) as f64;
        assert!((share - 0.5).abs() < 0.1, "{grain}: {share} of the look-ups hit half of the map");
        sets[1].1 = "64KiB";
        assert_eq!(stats(&sets, few).map_reads, 0, "{grain}: the whole map is cached");
        sets.pop();
        assert!(stats(&sets, few).map_reads > 0, "{grain}: a cold cache holds nothing");
    }
}

/// Each random write changes a map page. One that is not cached is read, and another that changed is programmed in
/// exchange. So the dies sense a page and program a second unit as often as a map page is not cached.
#[test]
fn the_size_of_the_cache_decides_the_rate_of_random_writes() {
    // 512 map pages on eight dies, with room for all that is written.
    let eight = [
        ("flash.channels", "4"),
        ("flash.dies", "2"),
        ("flash.planes", "1"),
        ("flash.blocks", "96"),
        ("flash.pages", "256"),
        ("flash.page", "16KiB"),
        ("ftl.capacity", "2GiB"),
        ("device.write_cache.size", "1MiB"),
    ];
    let run = |size: &str| {
        let system = system("", &[&DRIVE[..], &eight, &[("ftl.map_cache.size", size)]].concat());
        let job = "rw=randwrite\nbs=4k\niodepth=64\nnumber_ios=20000\nnorandommap";
        let outcome = play(&system, job, &options(Preparation::Filled));
        let stats = outcome.machine.ftl().stats();
        let host = stats.programmed_host as f64;
        let (programs, reads) = (stats.programmed_system as f64 / host, stats.map_reads as f64 / host);
        // Time of a die per unit of the host.
        let program = system.flash.timing.program[0].secs_f64() / 4.0;
        let busy = program * (1.0 + programs) + system.flash.timing.read[0].secs_f64() * reads;
        (20_000.0 / outcome.end.secs_f64(), programs, 8.0 / busy, outcome.machine.ftl().map_cache_use())
    };
    for (size, frames) in [("64KiB", 16), ("512KiB", 128), ("1MiB", 256)] {
        let (rate, programs, possible, held) = run(size);
        println!("{size}: {rate:.0} IOPS of {possible:.0}; {programs:.3} map pages programmed per unit");
        assert_eq!(held, Some((frames, frames)), "{size}");
        // Map pages that wait, at most 64 to be loaded and 64 to be programmed, still take changes.
        let missing = 1.0 - f64::from(frames) / 512.0;
        assert!((missing - 0.25..missing + 0.02).contains(&programs), "{size}: {programs} programmed per unit");
        assert!((0.9..1.05).contains(&(rate / possible)), "{size}: {rate} IOPS, the dies allow {possible}");
    }
}
