//! Jobs that name several drives: equal ones under one clock, which share the host's cores.

use serde_json::Value;
use storage::run::{Outcome, RunOptions, WarmUp, run};
use storage::summary::summary;
use system::System;
use workload::Workload;

/// A small drive of four dies that reads in 60 us.
fn system(sets: &[(&str, &str)]) -> System {
    let mut all = vec![
        ("flash.channels", "2"),
        ("flash.chips", "2"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "60"),
        ("flash.pages", "48"),
        ("flash.page", "16KiB"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.slc_cache.size", "0B"),
    ];
    all.extend(sets);
    System::from_toml("several", "title = \"a small drive\"", &all).expect("a drive")
}

fn play(system: &System, job: &str) -> (Outcome, Value) {
    let workload = Workload::parse_fio("job.fio", job).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { preparation: None, warm_up: WarmUp::Keep, ..RunOptions::default() };
    let outcome = run(system, &workload, &options, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let summary = summary(system, &outcome);
    (outcome, summary)
}

/// Returns the requests and the rate of a job's direction.
fn rate(summary: &Value, job: usize, direction: &str) -> (u64, f64) {
    let section = &summary["jobs"][job][direction];
    (section["total_ios"].as_u64().expect("a count"), section["iops"].as_f64().expect("a rate"))
}

const READS: &str = "[global]\nbs=16k\nrw=randread\niodepth=16\nnumber_ios=2000\n";

#[test]
fn each_drive_serves_its_job_as_if_alone() {
    let system = system(&[("host.cores", "2")]);
    let alone = play(&system, &format!("{READS}[one]\nfilename=/dev/nvme0n1\n")).1;
    let (outcome, both) =
        play(&system, &format!("{READS}[one]\nfilename=/dev/nvme0n1\n[two]\nfilename=/dev/nvme1n1\n"));
    let latencies = |summary: &Value| summary["jobs"][0]["read"]["lat_ns"].to_string();
    assert!(latencies(&both) == latencies(&alone), "every request of the first job takes the time that it takes alone");
    let (first, second) = (rate(&both, 0, "read"), rate(&both, 1, "read"));
    assert_eq!((first.0, second.0), (2000, 2000));
    assert!((second.1 / first.1 - 1.0).abs() < 0.05, "{second:?} after {first:?}");
    assert_eq!(outcome.notes[0].text(), "job.fio: two equal drives: nvme0n1, nvme1n1");
    let drives = both["nandram"]["drives"].as_array().expect("a list");
    let reads = |drive: &Value| (drive["drive"].clone(), drive["ftl"]["host_reads"].as_u64().expect("a count"));
    let found: Vec<(Value, u64)> = drives.iter().map(reads).collect();
    assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [Some("nvme0n1"), Some("nvme1n1")]);
    assert_eq!(found[0].1, found[1].1);
    assert_eq!(both["nandram"]["ftl"]["host_reads"].as_u64(), Some(found[0].1 + found[1].1));
    let energy = |section: &Value| section["energy_j"]["total"].as_f64().expect("energy");
    assert!((energy(&both["nandram"]) / (energy(&drives[0]) + energy(&drives[1])) - 1.0).abs() < 1e-12);
    assert!(alone["nandram"].get("drives").is_none());
}

#[test]
fn drives_share_the_cores_of_the_host() {
    let jobs = format!("{READS}[one]\nfilename=/dev/nvme0n1\n[two]\nfilename=/dev/nvme1n1\n").replace("16k", "4k");
    let slow = [("host.submit", "15us"), ("host.complete", "15us"), ("flash.read", "20us")];
    let total = |cores: &str| {
        let sets = [&slow[..], &[("host.cores", cores)]].concat();
        let summary = play(&system(&sets), &jobs).1;
        rate(&summary, 0, "read").1 + rate(&summary, 1, "read").1
    };
    let (one, two) = (total("1"), total("2"));
    // A core needs 30 us for a request.
    assert!((one * 30e-6 - 1.0).abs() < 0.04, "{one}");
    assert!((two / one - 2.0).abs() < 0.05, "{two} after {one}");
}

#[test]
fn a_job_on_two_drives_uses_them_in_turn() {
    let system = system(&[("host.cores", "4")]);
    let shares = |keys: &str| {
        let job = format!("[a]\nfilename=/dev/nvme0n1:/dev/nvme1n1\nbs=16k\niodepth=8\n{keys}\n");
        let summary = play(&system, &job).1;
        let drives = summary["nandram"]["drives"].as_array().expect("a list");
        let of = |drive: &Value| {
            let ftl = &drive["ftl"];
            ftl["host_reads"].as_u64().unwrap_or(0) + ftl["host_units"].as_u64().unwrap_or(0)
        };
        (drives.iter().map(of).collect::<Vec<u64>>(), rate(&summary, 0, "read"))
    };
    let (units, (requests, fast)) = shares("rw=randread\nnumber_ios=4000");
    assert_eq!((units[0], requests), (units[1], 4000));
    let alone = play(&system, "[a]\nbs=16k\niodepth=8\nrw=randread\nnumber_ios=4000\n").1;
    assert!(fast > 1.3 * rate(&alone, 0, "read").1, "{fast}");
    // As in fio, a size is that of both drives together.
    let (units, (requests, _)) = shares("rw=read\nsize=8m");
    assert_eq!((units[0], units[1], requests), (256, 256, 512));
    let (units, _) = shares("rw=write\nsize=8m\nfile_service_type=sequential\nnumber_ios=300");
    assert_eq!(units, [1024, 176]);
    let (units, _) = shares("rw=randwrite\nsize=8m\nfile_service_type=random:4\nnumber_ios=400");
    assert_eq!(units.iter().sum::<u64>(), 1600);
    assert!(units.iter().all(|units| (500..1100).contains(units)), "{units:?}");
}

#[test]
fn flushes_follow_the_job_to_its_drive() {
    let system = system(&[("host.cores", "2"), ("device.write_cache.size", "4MiB")]);
    let jobs = "[global]\nbs=4k\nrw=write\nnumber_ios=200\n[one]\nfilename=/dev/nvme0n1\nfsync=10\n[two]\n\
                filename=/dev/nvme1n1\nstonewall\nfsync=1\n";
    let summary = play(&system, jobs).1;
    let programs = |at: usize| summary["nandram"]["drives"][at]["ftl"]["programs"].as_u64().expect("a count");
    // A flush programs what is in the cache: after each write of the second job.
    assert!(programs(0) < 100 && programs(1) >= 199, "{} and {}", programs(0), programs(1));
    assert_eq!(summary["jobs"][1]["sync"]["total_ios"].as_u64().map(|count| count >= 199), Some(true));
}

#[test]
fn runs_on_several_drives_repeat() {
    let system = system(&[("host.cores", "1")]);
    let jobs = "[global]\nbs=8k\nrw=randrw\niodepth=4\nnumber_ios=500\n[one]\nfilename=/dev/sda:/dev/sdb\n[two]\n\
                filename=/dev/sdc\n[three]\nfilename=/dev/sdb\n";
    let (first, second) = (play(&system, jobs).1, play(&system, jobs).1);
    assert_eq!(first, second);
    assert_eq!(first["nandram"]["drives"].as_array().map(Vec::len), Some(3));
    assert_eq!(first["nandram"]["requests"].as_u64(), Some(1500));
}
