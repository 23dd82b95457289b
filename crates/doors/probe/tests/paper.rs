//! The paper's tests step by step, on the paper's drives: knees at the sizes of the text, with and without host memory.

use probe::{Method, Options, Place, Report, Simulated, Test, plan, probe};
use storage::prepare::Preparation;
use system::System;

const CUT: [(&str, &str); 3] =
    [("ftl.capacity", "12GiB"), ("ftl.over_provisioning", "auto"), ("ftl.slc_cache.size", "0B")];

fn options(test: Test, every: u32) -> Options {
    Options { tests: vec![test], method: Method::Paper { every }, keep_samples: false, ..Options::default() }
}

fn system(name: &str, sets: &[(&str, &str)]) -> System {
    let sets: Vec<(&str, &str)> = CUT.iter().chain(sets).copied().collect();
    System::load(name, &sets).expect("a preset")
}

fn look(name: &str, sets: &[(&str, &str)], test: Test, every: u32) -> Report {
    let system = system(name, sets);
    let subject = probe::Subject::Simulated(Box::new(system.clone()));
    let plan = subject.plan(&options(test, every), true).expect("a simulated drive may be probed");
    let allowed =
        Options { read_bytes_max: plan.read_bytes_max, write_bytes_max: plan.write_bytes_max, ..options(test, every) };
    let mut target = Simulated::new(name, &system, Preparation::Filled, 1, None).expect("it fits together");
    let report = probe(&mut target, &allowed, &mut |_| true).expect("a simulated drive does not fail");
    let (spent, announced) = (report.spent, (plan.read_bytes_max, plan.write_bytes_max));
    assert_eq!((spent.read_bytes, spent.written_bytes), announced, "as the plan announced");
    report
}

/// Returns the interval of a size, in KiB or sections, with and without host memory.
fn found(report: &Report, about: &str, scale: f64) -> [Option<(f64, f64)>; 2] {
    [true, false].map(|hmb| {
        let finding = report.finding(about, Some(hmb)).expect(about);
        finding.size.map(|size| (size.low / scale, size.high / scale))
    })
}

#[test]
fn second_reads_suddenly_take_longer_beyond_the_read_cache() {
    for (drive, blocks, every, kib) in [("hmb-a", "80", 12, (32.0, 56.0)), ("hmb-c", "80", 84, (512.0, 680.0))] {
        let report = look(drive, &[("flash.blocks", blocks)], Test::ReadCache, every);
        assert_eq!(found(&report, "read_cache", 1024.0), [Some(kib); 2], "{drive}");
        assert_eq!(report.finding("read_cache", Some(true)).unwrap().place, Some(Place::Controller), "{drive}");
    }
}

#[test]
fn space_taken_on_arrival_hides_the_end_of_a_large_read_cache() {
    let fill = ("device.read_cache.allocation", "fill");
    let report = look("hmb-c", &[("flash.blocks", "80"), fill], Test::ReadCache, 84);
    assert_eq!(found(&report, "read_cache", 1024.0), [None; 2]);
}

#[test]
fn a_write_after_a_flush_suddenly_takes_longer_beyond_the_buffer() {
    let report = look("hmb-a", &[("flash.blocks", "80")], Test::WriteBuffer, 30);
    assert_eq!(found(&report, "write_buffer", 1024.0), [Some((964.0, 1024.0)); 2]);
}

#[test]
fn sections_suddenly_take_longer_beyond_the_map_in_host_memory() {
    let sets = [("flash.blocks", "80"), ("device.hmb.size", "4MiB"), ("device.hmb.minimum", "0B")];
    let report = look("hmb-a", &sets, Test::MappingCache, 4);
    assert_eq!(found(&report, "mapping_cache", 1.0), [Some((900.0, 1300.0)), None]);
}

#[test]
fn the_paper_has_three_of_the_tests() {
    let all = Options { tests: Test::ALL.to_vec(), ..options(Test::ReadCache, 1) };
    let subject = probe::Subject::Simulated(Box::new(system("hmb-a", &[("flash.blocks", "80")])));
    let plan: plan::Plan = subject.plan(&all, true).expect("a simulated drive may be probed");
    let tests: Vec<_> = plan.actions.iter().filter_map(|action| action.test).collect();
    let expected = ["read-cache", "mapping-cache", "read-cache", "mapping-cache", "write-buffer", "write-buffer"];
    assert_eq!(tests, expected);
    // 1,021 sizes of reads and 993 of writes, each after 512 MiB, and twice; of 12 GiB, sections have 8 KiB or more.
    let reads: u64 = (8..=2048).step_by(2).map(|kib| (512 << 20) + ((2 * kib) << 10)).sum();
    let sections: u64 = (1..=200).map(|count| 2 * 100 * count * 512).sum();
    let writes: u64 = (64..=2048).step_by(2).map(|kib| (512 << 20) + ((2 * kib) << 10)).sum();
    assert_eq!((plan.read_bytes_max, plan.write_bytes_max), (2 * (reads + sections), 2 * writes));
}
