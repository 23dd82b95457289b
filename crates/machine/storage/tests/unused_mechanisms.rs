//! A mechanism that nothing in a run calls for changes no byte of its summary, even where its keys are set. (Parity,
//! which takes capacity as soon as it is set, is tested off in `parity.rs`; erases and journal pages have no key.)

#[path = "support/plain.rs"]
mod plain;
#[path = "support/play.rs"]
mod play;

use plain::PLAIN;
use play::{options, play, requests, system};
use storage::prepare::Preparation;
use storage::summary::summary;

/// A small drive with the client preset's link and dies, whose pages are alike.
const SMALL: [(&str, &str); 7] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.blocks", "32"),
    ("flash.pages", "48"),
    ("ftl.capacity", "auto"),
    ("ftl.over_provisioning", "0.4"),
    ("ftl.slc_cache.size", "0B"),
];

const MIXED: &str = "rw=randrw\nbs=4k\niodepth=8\nnumber_ios=20000\nnorandommap";
const READS: &str = "rw=randread\nbs=16k\niodepth=8\nnumber_ios=4000\nnorandommap";

/// Keys with values.
type Sets<'a> = &'a [(&'a str, &'a str)];

/// Returns the summary of `job` on a filled drive, without the hash of the system, and without the counters that appear
/// where a mechanism is modeled, which must be zero.
fn bytes(sets: Sets<'_>, job: &str) -> String {
    let system = system("nvme-client-tlc", &[&PLAIN[..], &SMALL, sets].concat());
    let outcome = play(&system, job, &options(Preparation::Filled));
    assert!(requests(&outcome).0 > 0, "no requests");
    let mut all = summary(&system, &outcome);
    let inside = all["nandram"].as_object_mut().expect("the counters of the simulator");
    assert!(inside.remove("system_hash").is_some());
    let refreshed = inside["ftl"].as_object_mut().expect("counters").remove("refreshed");
    assert!(refreshed.is_none_or(|units| units == 0));
    let text = format!("{all:#}");
    let is_idle = |line: &str| line.contains("controller staging") && line.contains(": 0.0");
    text.lines().filter(|line| !is_idle(line)).map(|line| line.trim_end_matches(',')).collect::<Vec<_>>().join("\n")
}

#[test]
fn mechanisms_that_are_not_called_for_change_no_byte() {
    let one_plane = ("flash.planes", "1");
    let cases: [(&str, &str, Sets<'_>, Sets<'_>); 11] = [
        ("independent reads of single planes", READS, &[one_plane], &[("flash.independent_reads", "true")]),
        (
            "waits of requests of several units",
            MIXED,
            &[],
            &[("device.firmware.wait.split", "38us"), ("device.firmware.wait.unit", "1us")],
        ),
        // A path for reads also changes the order in which data that is ready at the same time leaves.
        ("staging of writes, among reads", READS, &[], &[("device.staging.write", "200MB/s")]),
        (
            "staging of writes of several units",
            MIXED,
            &[],
            &[("device.staging.write", "200MB/s"), ("device.staging.single_units", "false")],
        ),
        ("two passes, among reads", READS, &[], &[("flash.programming", "two-pass")]),
        ("jumps of writes, among reads", READS, &[], &[("device.firmware.jump", "480ns")]),
        (
            "array times by page type, all alike",
            MIXED,
            &[],
            &[("flash.read", "[\"50us\", \"50us\", \"50us\"]"), ("flash.program", "[\"500us\", \"500us\", \"500us\"]")],
        ),
        ("unequal dies without bad blocks", MIXED, &[], &[("flash.variation.bad_blocks", "1.0")]),
        ("a dynamic SLC cache, among reads", READS, &[], &[("ftl.slc_cache.dynamic", "1GiB")]),
        ("folding without an SLC cache", MIXED, &[], &[("ftl.slc_cache.fold", "5"), ("ftl.slc_cache.keep", "0.5")]),
        (
            "refresh of data neither old nor much read",
            MIXED,
            &[],
            &[("ftl.refresh.reads", "4000000"), ("ftl.refresh.age", "10y")],
        ),
    ];
    for (what, job, base, sets) in cases {
        let (without, with) = (bytes(base, job), bytes(&[base, sets].concat(), job));
        let differs = without.lines().zip(with.lines()).find(|(one, other)| one != other);
        assert!(without == with, "{what}: {differs:?}");
    }
}
