//! The three drives of Kim and Kim (PLOS ONE 15(3), 2020), cut to 12 GiB: what their tests found is found.

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
fn read_caches_are_where_the_paper_sees_them_with_host_memory_and_without() {
    for (drive, blocks, kib) in [("hmb-a", "80", 32.0), ("hmb-b", "160", 768.0), ("hmb-c", "80", 512.0)] {
        let report = look(drive, &[("flash.blocks", blocks)], &[Test::ReadCache]);
        for hmb in [true, false] {
            assert_eq!(size(&report, "read_cache", hmb) / 1024.0, kib, "{drive}, {hmb}");
            assert_eq!(report.finding("read_cache", Some(hmb)).unwrap().place, Some(Place::Controller), "{drive}");
        }
    }
}

#[test]
fn the_write_buffer_of_the_first_is_where_the_paper_sees_it() {
    let report = look("hmb-a", &[("flash.blocks", "80")], &[Test::WriteBuffer]);
    for hmb in [true, false] {
        let kib = size(&report, "write_buffer", hmb) / 1024.0;
        assert!((kib - 964.0).abs() <= 8.0, "{kib} KiB, {hmb}");
    }
}

#[test]
fn sections_at_hand_are_those_that_host_memory_has_room_for_and_few_without() {
    for (hmb, sections) in [("4MiB", 1000.0), ("8MiB", 2000.0)] {
        let sets = [("flash.blocks", "80"), ("device.hmb.size", hmb), ("device.hmb.minimum", "0B")];
        let report = look("hmb-a", &sets, &[Test::MappingCache]);
        let found = size(&report, "mapping_cache", true);
        // The paper's step.
        assert!((found - sections).abs() <= 100.0, "{found} sections in {hmb}");
        assert!(size(&report, "mapping_cache", false) < 100.0);
        assert_eq!(report.finding("mapping_cache", Some(true)).unwrap().place, Some(Place::HostMemory));
        let unit = report.finding("mapping_unit", Some(true)).unwrap().numbers["unit_bytes_assumed"];
        assert_eq!(unit, 4096.0);
    }
}

#[test]
fn a_cache_that_makes_way_in_segments_has_fewer_sections_that_are_spread() {
    // Segments of 16 units: a few hundred of them, more than which lie side by side.
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
    // One unit each: the same wherever they are.
    let sets = [("flash.blocks", "160"), ("device.hmb.size", "2MiB"), ("device.hmb.minimum", "0B")];
    let report = look("hmb-a", &sets, &[Test::MappingCache]);
    let found = report.finding("mapping_cache", Some(true)).unwrap();
    assert_eq!(found.size.expect("it is there").value, found.numbers["spread_sections"], "{}", found.evidence);
}
