//! The end of a drive's life must follow from its parameters: program failures, wear and read disturb. A worn SLC cache
//! must not end it.

#[path = "support/plain.rs"]
mod plain;
#[allow(dead_code)]
#[path = "support/play.rs"]
mod play;

use media::{Op, Request, Status};
use nand::PayloadKind;
use plain::PLAIN;
use play::{options, system};
use sim::{Rng, Streams, Time};
use storage::prepare::{Preparation, prepare};
use storage::record::Direction;
use storage::run::{Outcome, RunOptions, run};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;
use workload::Workload;

/// Eight dies of two planes with 28 % spare capacity.
const SMALL: [(&str, &str); 9] = [
    ("flash.channels", "4"),
    ("flash.chips", "1"),
    ("flash.blocks", "60"),
    ("flash.pages", "24"),
    ("host.max_transfer", "64KiB"),
    ("device.write_cache.size", "128KiB"),
    ("ftl.capacity", "auto"),
    ("ftl.over_provisioning", "0.28"),
    ("ftl.slc_cache.size", "0B"),
];

fn small(sets: &[(&str, &str)]) -> System {
    system("nvme-client-tlc", &[&PLAIN[..], &SMALL, sets].concat())
}

/// Returns the number of retired blocks of single planes, and the number of all blocks.
fn bad(machine: &Machine) -> (usize, usize) {
    let blocks = machine.nand().store().blocks();
    blocks.fold((0, 0), |(bad, all), block| (bad + usize::from(block.bad), all + 1))
}

/// Overwrites a filled drive at random until it is read-only, then reads all of it.
fn worn_out(sets: &[(&str, &str)], payload: PayloadKind) -> Outcome {
    let jobs =
        "[global]\nbs=4k\n[write]\nrw=randwrite\niodepth=16\nnorandommap\nio_size=100g\n[read]\nstonewall\nrw=read\n";
    let workload = Workload::parse_fio("job.fio", jobs).expect("two jobs");
    let options = RunOptions { payload, ..options(Preparation::Filled) };
    let outcome = run(&small(sets), &workload, &options, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let ftl = outcome.machine.ftl();
    assert!(ftl.is_read_only(), "the drive was meant to end");
    let [failed] = outcome.failed.as_slice() else { panic!("one job ends by an error: {:?}", outcome.failed) };
    assert_eq!((failed.job, failed.status), (0, Some(Status::NoSpace)));
    let read = outcome.measured().totals(1, Direction::Read);
    assert_eq!((read.errors, read.bytes), (0, u64::from(ftl.user_units()) * 4096), "all data can be read");
    outcome
}

/// With any group, at least nine tenths of the spare blocks are retired before the drive is read-only, and no data is
/// lost.
#[test]
fn program_failures_use_up_the_spare() {
    for group in ["drive", "die", "plane"] {
        let outcome = worn_out(&[("ftl.group", group), ("flash.failures.program", "0.001")], PayloadKind::Stamp);
        let (bad, all) = bad(&outcome.machine);
        let part = bad as f64 / all as f64 / (1.0 - 1.0 / 1.28);
        println!("group {group}: {bad} of {all} blocks retired, {part:.3} of the spare, by {}", outcome.end);
        assert!(part >= 0.9, "group {group}: {part:.3} of the spare retired");
    }
}

#[test]
fn endurance_ends_a_drive_at_its_cycles() {
    let cycles = |mean: &str| {
        let sets = [("flash.endurance.mean", mean), ("flash.endurance.deviation", "0.05")];
        let outcome = worn_out(&sets, PayloadKind::None);
        outcome.machine.ftl().wear().1
    };
    let (twenty, forty) = (cycles("20"), cycles("40"));
    println!("mean erases at the end: {twenty} of 20, {forty} of 40");
    // A block fails by its worst page, some deviations below the mean.
    for (found, mean) in [(twenty, 20.0), (forty, 40.0)] {
        assert!((0.8 * mean..1.05 * mean).contains(&found), "{found} erases, {mean} endured");
    }
}

#[test]
fn a_worn_cache_ends_no_drive() {
    let sets = [
        ("ftl.slc_cache.size", "4MiB"),
        ("flash.endurance.mean", "3000"),
        ("flash.endurance.slc_factor", "0.01"),
        ("ftl.over_provisioning", "0.5"),
    ];
    let mut drive = Drive::new(&small(&sets), Preparation::Erased);
    for _ in 0..3 * drive.units {
        let request = Request::new(Op::Write, drive.rng.below(drive.units) * 4096, 4096);
        assert_eq!(drive.serve(request), Status::Ok, "{:?} blocks are worn", bad(&drive.machine));
    }
    let (bad, all) = bad(&drive.machine);
    let cached = drive.machine.nand().store().blocks().filter(|block| block.slc).count();
    println!("{bad} of {all} blocks are worn, {cached} are a cache");
    assert!(bad > 0 && cached == bad, "{bad} blocks are worn, {cached} are a cache");
    for unit in 0..drive.units {
        assert_eq!(drive.serve(Request::new(Op::Read, unit * 4096, 4096)), Status::Ok);
    }
}

#[test]
fn reads_that_disturb_lose_data_when_their_rate_says() {
    let reads = |disturb: &str| {
        let sets = [
            ("flash.errors.model", "power-law"),
            ("flash.errors.base", "0"),
            ("flash.errors.wear", "0"),
            ("flash.errors.retention", "0"),
            ("flash.errors.disturb", disturb),
            ("flash.cycles", "3000"),
        ];
        let mut drive = Drive::new(&small(&sets), Preparation::Filled);
        (1..200_000).find(|_| drive.serve(Request::new(Op::Read, 0, 4096)) != Status::Ok).expect("a read is lost")
    };
    let (often, seldom) = (reads("0.00002"), reads("0.00001"));
    println!("reads of a block before data is lost: {often} at 2e-5 a read, {seldom} at 1e-5");
    assert!((f64::from(seldom) / f64::from(often) - 2.0).abs() < 0.2, "{often} {seldom}");
    // 72 of 8,192 bits can be corrected, and a tenth of the errors remains after each retry.
    let expected = 72.0 / 8192.0 / 0.1 / 1e-5;
    assert!((0.6 * expected..1.1 * expected).contains(&f64::from(seldom)), "{seldom} reads, {expected} expected");
}

/// A machine that serves one request at a time.
struct Drive {
    machine: Machine,
    units: u64,
    rng: Rng,
    ends: Vec<Completion>,
}

impl Drive {
    fn new(system: &System, preparation: Preparation) -> Drive {
        let parts = Parts::new(system, PayloadKind::None).expect("parts");
        let streams = Streams::new(1);
        let (store, _) = prepare(system, &parts, preparation, &streams, None).expect("a prepared drive");
        let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
        let machine = Machine::new(&parts, ftl, nand);
        Drive { machine, units: u64::from(parts.ftl.user_units), rng: streams.stream("test"), ends: Vec::new() }
    }

    fn serve(&mut self, request: Request) -> Status {
        let now = self.machine.now();
        self.machine.submit(now, 0, 0, request);
        while self.ends.is_empty() {
            assert!(self.machine.advance(Time::MAX, &mut self.ends), "a request never ends");
        }
        self.ends.pop().expect("just ended").status
    }
}
