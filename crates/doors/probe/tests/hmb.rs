//! The probe reproduces the findings of Kim and Kim (PLOS ONE 15(3), 2020) on their three drives, cut to 12 GiB.

use probe::{Options, Place, Report, Simulated, Test, Verdict, probe};
use storage::prepare::Preparation;
use system::System;

fn look(system: &str, sets: &[(&str, &str)], tests: &[Test]) -> Report {
    let cut = [("ftl.capacity", "12GiB"), ("ftl.over_provisioning", "auto"), ("ftl.slc_cache.size", "0B")];
    let sets: Vec<(&str, &str)> = cut.iter().chain(sets).copied().collect();
    let system = System::load(system, &sets).expect("a preset");
    let mut target = Simulated::new("hmb", &system, Preparation::Filled, 1, None).expect("it fits together");
    let options = Options { tests: tests.to_vec(), keep_samples: false, ..Options::default() };
    let report = probe(&mut target, &options, &mut |_| true).expect("a simulated drive does not fail");
    assert!(probe::HmbSwitch::enabled(&mut target).expect("it is simulated"), "it was on before");
    report
}

fn size(report: &Report, about: &str, hmb: bool) -> f64 {
    let finding = report.finding(about, Some(hmb)).expect(about);
    assert_eq!(finding.verdict, Verdict::Supported, "{}", finding.evidence);
    finding.size.unwrap_or_else(|| panic!("{}", finding.evidence)).value
}

#[test]
fn read_cache_sizes_match_the_paper_with_and_without_host_memory() {
    for (drive, blocks, kib) in [("hmb-a", "80", 32.0), ("hmb-b", "160", 768.0), ("hmb-c", "80", 512.0)] {
        let report = look(drive, &[("flash.blocks", blocks)], &[Test::ReadCache]);
        for hmb in [true, false] {
            assert_eq!(size(&report, "read_cache", hmb) / 1024.0, kib, "{drive}, {hmb}");
            assert_eq!(report.finding("read_cache", Some(hmb)).unwrap().place, Some(Place::Controller), "{drive}");
        }
    }
}

#[test]
fn the_write_buffer_size_of_the_first_drive_matches_the_paper() {
    let report = look("hmb-a", &[("flash.blocks", "80")], &[Test::WriteBuffer]);
    for hmb in [true, false] {
        let kib = size(&report, "write_buffer", hmb) / 1024.0;
        assert!((kib - 964.0).abs() <= 8.0, "{kib} KiB, {hmb}");
    }
}

#[test]
fn cached_sections_match_the_size_of_host_memory() {
    for (hmb, sections) in [("4MiB", 1000.0), ("8MiB", 2000.0)] {
        let sets = [("flash.blocks", "80"), ("device.hmb.size", hmb), ("device.hmb.minimum", "0B")];
        let report = look("hmb-a", &sets, &[Test::MappingCache]);
        let found = size(&report, "mapping_cache", true);
        // The tolerance is the step of the paper.
        assert!((found - sections).abs() <= 100.0, "{found} sections in {hmb}");
        assert!(size(&report, "mapping_cache", false) < 100.0);
        assert_eq!(report.finding("mapping_cache", Some(true)).unwrap().place, Some(Place::HostMemory));
        let unit = report.finding("mapping_unit", Some(true)).unwrap().numbers["unit_bytes_assumed"];
        assert_eq!(unit, 4096.0);
    }
}

/// `hmb-c`, cut so that its read cache has room for a block in each second unit of the map, and its own map cache for
/// three units.
fn small(tests: &[Test]) -> Report {
    let hmb = [("device.hmb.size", "512KiB"), ("device.hmb.minimum", "512KiB")];
    look("hmb-c", &[&hmb[..], &[("flash.blocks", "20"), ("ftl.capacity", "1GiB")]].concat(), tests)
}

/// Of more sections than it has room for, read in turn, a least recently used cache keeps none.
fn check_small(report: &Report) {
    let found = report.finding("mapping_cache", Some(false)).unwrap();
    assert_eq!(found.size.map(|size| (size.low, size.high)), Some((3.0, 4.0)), "{}", found.evidence);
    for point in found.curve.as_ref().expect("it was measured").points.iter().filter(|point| point.x > 3.0) {
        assert_eq!(point.y, 0.0, "{} sections", point.x);
    }
}

#[test]
fn blocks_still_in_a_read_cache_do_not_pass_for_entries_of_the_map() {
    check_small(&small(&[Test::MappingCache, Test::Stripe]));
}

#[test]
fn changes_of_the_map_after_writes_do_not_pass_for_a_larger_map_cache() {
    let report = small(&[Test::MappingCache, Test::WriteBuffer]);
    check_small(&report);
    // The report has both states in order, whatever the order of the tests.
    let states: Vec<Option<bool>> = report.findings.iter().map(|finding| finding.hmb).collect();
    assert!(states.is_sorted_by(|one, other| one >= other), "{states:?}");
}

#[test]
fn a_segmented_cache_holds_fewer_spread_sections() {
    // With segments of 16 units, far fewer spread sections than adjacent ones are cached.
    let sets = [
        ("flash.blocks", "160"),
        ("device.hmb.size", "4MiB"),
        ("device.hmb.minimum", "0B"),
        ("device.hmb.unit", "64KiB"),
    ];
    let report = look("hmb-a", &sets, &[Test::MappingCache]);
    let found = report.finding("mapping_cache", Some(true)).unwrap();
    let (together, spread) = (found.size.expect("it is there").value, found.numbers["spread_sections"]);
    assert!((1000.0 - together).abs() <= 100.0 && (62.0..=66.0).contains(&spread), "{together} and {spread}");
    // With segments of one unit, the location of the sections is irrelevant.
    let sets = [("flash.blocks", "160"), ("device.hmb.size", "2MiB"), ("device.hmb.minimum", "0B")];
    let report = look("hmb-a", &sets, &[Test::MappingCache]);
    let found = report.finding("mapping_cache", Some(true)).unwrap();
    assert_eq!(found.size.expect("it is there").value, found.numbers["spread_sections"], "{}", found.evidence);
}
