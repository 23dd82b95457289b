//! Drives prepared as `steady` are steady from their first request on.

#[path = "../examples/steady_start/measure.rs"]
mod measure;

use measure::measure;
use storage::prepare::Preparation;
use storage::run::{RunOptions, run};
use system::System;
use workload::Workload;

#[test]
fn each_tenth_of_the_first_writes_has_the_rate_and_the_tail_of_the_long_run() {
    // Of the last one, the write cache would take in a quarter of an interval.
    for (preset, part) in [("nvme-client-tlc", 0.05), ("samsung-980-pro-1tb", 0.05), ("hmb-d", 0.02)] {
        let system = System::load(preset, &[("scale", "1/16")]).expect("a preset");
        let [first, long] = measure(&system, part).expect("a drive");
        let (rate, tail) = (long.mean(|each| each.iops), long.mean(|each| each.tail_us));
        for (number, each) in first.0.iter().enumerate() {
            let iops = each.iops / rate;
            assert!((0.9..1.1).contains(&iops), "{preset}, interval {number}: {iops:.2} of the rate");
            let tail = each.tail_us / tail;
            assert!((1.0 / 1.5..1.5).contains(&tail), "{preset}, interval {number}: {tail:.2} of the tail");
        }
    }
}

#[test]
fn a_write_cache_has_no_room_at_the_start() {
    // It would take in all writes of the first three tenths, at the rate of the link.
    let system = System::load("mqsim-ideal-map", &[("scale", "1/16")]).expect("a preset");
    let [first, long] = measure(&system, 0.02).expect("a drive");
    let rate = long.mean(|each| each.iops);
    for (number, each) in first.0.iter().enumerate() {
        assert!((0.8..1.2).contains(&(each.iops / rate)), "interval {number}: {:.2} of the rate", each.iops / rate);
    }
}

#[test]
fn a_map_cache_holds_changes_at_the_start() {
    // A limit that is never reached makes the job one that does not flood the drive: its caches begin empty, and the map cache
    // has room for all that 600 writes and the copies for them change. Single entries, and units of the map.
    let drives: [(&str, &[(&str, &str)]); 2] = [
        ("mqsim-default", &[]),
        ("nvme-client-tlc", &[("ftl.map_cache.size", "512MiB"), ("ftl.slc_cache.size", "0B")]),
    ];
    for (preset, sets) in drives {
        let small = [("device.write_cache.size", "1MiB"), ("scale", "1/16")];
        let system = System::load(preset, &[sets, &small].concat()).expect("a drive");
        let map = |limit: &str| {
            let job = format!("[job]\nrw=randwrite\nbs=4k\niodepth=32\nnorandommap\nnumber_ios=600\n{limit}\n");
            let workload = Workload::parse_fio("job.fio", &job).expect("a job");
            let options = RunOptions { preparation: Some(Preparation::Steady), ..RunOptions::default() };
            let outcome = run(&system, &workload, &options, &mut |_| true).expect("a run");
            outcome.whole_run().ftl.programmed_system
        };
        let (flooded, limited) = (map(""), map("rate_iops=1000000000"));
        println!("{preset}: {flooded} {limited}");
        assert!(limited == 0 && flooded > 100, "{preset}: {flooded} and {limited} units of the map");
    }
}
