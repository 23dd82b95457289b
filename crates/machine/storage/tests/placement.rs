//! Flexible Data Placement: write amplification by handle, compared with theory and with a drive without handles.

use media::{Op, Request, Status};
use nand::{PayloadKind, Store};
use sim::Streams;
use steady::{HotCold, Pool};
use storage::fast::Fast;
use system::System;
use system::parts::Parts;

const BLOCKS: u32 = 1024;
const PAGES: u32 = 32;
const UNIT: u64 = 4096;
/// Blocks drawn by d-choices collection.
const CHOICES: u32 = 10;

/// Creates a drive of one die with a minimal controller, so that the translation layer decides everything.
fn drive(sets: &[(&str, &str)]) -> Parts {
    let (blocks, pages, choices) = (BLOCKS.to_string(), PAGES.to_string(), CHOICES.to_string());
    let mut all = vec![
        ("flash.channels", "1"),
        ("flash.chips", "1"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", blocks.as_str()),
        ("flash.pages", pages.as_str()),
        ("flash.page", "4KiB"),
        ("ftl.unit", "4KiB"),
        ("ftl.group", "drive"),
        ("ftl.gc.start", "3"),
        ("ftl.over_provisioning", "0.15"),
        ("ftl.wear_leveling.static", "off"),
        ("ftl.slc_cache.size", "0B"),
        ("device.read_cache.size", "0B"),
        ("device.write_cache.size", "1MiB"),
        ("host.max_transfer", "128KiB"),
    ];
    if !sets.contains(&("ftl.gc.policy", "greedy")) {
        all.extend([("ftl.gc.policy", "d-choices"), ("ftl.gc.choices", choices.as_str())]);
    }
    all.extend(sets);
    let system = System::from_toml("drive", "title = \"a drive\"", &all).expect("a drive");
    Parts::new(&system, PayloadKind::None).expect("parts")
}

/// Runs `writes` on a new drive that `begin` filled: each is the next unit to be written and its placement identifier.
/// Returns the counters of the layer and of each handle.
fn run(
    parts: &Parts,
    begin: &mut dyn Iterator<Item = (u64, u16)>,
    writes: &mut dyn Iterator<Item = (u64, u16)>,
) -> (ftl::Stats, Vec<ftl::HandleStats>) {
    let store = Store::new(&parts.nand.geometry, parts.nand.payload, parts.nand.order, 0);
    let (nand, mut ftl, _) = parts.mount(store, &Streams::new(1)).expect("it mounts");
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    let mut write = |(unit, placement): (u64, u16)| {
        let request = Request { placement, ..Request::new(Op::Write, unit * UNIT, UNIT) };
        assert_eq!(fast.request(request), Status::Ok);
    };
    begin.for_each(&mut write);
    let before = (fast.ftl().stats(), fast.ftl().handle_stats().to_vec());
    let mut write = |(unit, placement): (u64, u16)| {
        let request = Request { placement, ..Request::new(Op::Write, unit * UNIT, UNIT) };
        assert_eq!(fast.request(request), Status::Ok);
    };
    writes.for_each(&mut write);
    let handles = fast.ftl().handle_stats().iter().zip(&before.1).map(|(now, then)| now.since(then)).collect();
    (fast.ftl().stats().since(&before.0), handles)
}

/// Rates of the circular logs.
const RATES: [u64; 4] = [8, 4, 2, 1];

/// Writes four circular logs of equal size, each as often in a round as its rate, at random within the round. Returns
/// write amplification and the counters of each handle.
fn circular_logs(sets: &[(&str, &str)], handles: bool) -> (f64, Vec<ftl::HandleStats>) {
    let parts = drive(sets);
    let size = u64::from(parts.ftl.user_units) / 4;
    let unit = |log: u64, at: u64| (log * size + at % size, if handles { log as u16 } else { 0 });
    let mut rng = Streams::new(7).stream("test.logs");
    let mut next = [0; 4];
    let mut draw = || {
        let mut at = rng.below(RATES.iter().sum());
        let log = RATES
            .iter()
            .position(|rate| {
                at < *rate || {
                    at -= *rate;
                    false
                }
            })
            .expect("a log") as u64;
        next[log as usize] += 1;
        unit(log, next[log as usize] - 1)
    };
    // Each log is written once, then the slowest three times more.
    let mut fill = (0..4).flat_map(|log| (0..size).map(move |at| unit(log, at)));
    let rounds = 3 * size * RATES.iter().sum::<u64>();
    let (stats, of_handles) = run(&parts, &mut fill, &mut (0..rounds).map(|_| draw()));
    (stats.write_amplification().expect("it was written to"), of_handles)
}

#[test]
fn circular_logs_of_different_rates_cost_no_copies_with_handles() {
    for isolation in ["initial", "persistent"] {
        let sets =
            [("ftl.placement.isolation", isolation), ("ftl.placement.handles", "4"), ("ftl.gc.policy", "greedy")];
        let (amplification, handles) = circular_logs(&sets, true);
        println!("four circular logs, {isolation}: write amplification {amplification:.4}");
        assert!(amplification <= 1.05, "{isolation}: {amplification}");
        for (handle, stats) in handles.iter().enumerate() {
            let of_handle = stats.write_amplification().expect("every handle was written to");
            assert!(of_handle <= 1.05, "{isolation}: {of_handle} of handle {handle}");
            assert!(stats.host_bytes / UNIT >= stats.programmed_host && stats.opened > 10, "{stats:?}");
        }
    }
    let (without, _) = circular_logs(&[("ftl.gc.policy", "greedy")], false);
    println!("four circular logs without handles: write amplification {without:.4}");
    assert!(without > 1.3, "without handles: {without}");
}

/// Writes hot data (a tenth of the units, nine tenths of the writes), and cold data: each uniform. Returns write
/// amplification, and the counters of each handle.
fn hot_and_cold(parts: &Parts, handles: bool) -> (f64, Vec<ftl::HandleStats>) {
    let units = u64::from(parts.ftl.user_units);
    let hot = units / 10;
    let mut rng = Streams::new(3).stream("test.hot");
    let mut draw = move || {
        let is_hot = rng.below(10) < 9;
        let unit = if is_hot { rng.below(hot) } else { hot + rng.below(units - hot) };
        (unit, u16::from(handles && !is_hot))
    };
    let mut fill = (0..units).map(|unit| (unit, u16::from(handles && unit >= hot)));
    // A cold unit is written once in nine times as many writes as there are units.
    let mut warm_up: Vec<(u64, u16)> = (0..12 * units).map(|_| draw()).collect();
    let (stats, of_handles) =
        run(parts, &mut fill.by_ref().chain(warm_up.drain(..)), &mut (0..12 * units).map(|_| draw()));
    (stats.write_amplification().expect("it was written to"), of_handles)
}

/// Returns the theory of a drive that has `free` free blocks when it chooses a victim, and two open ones.
fn theory(parts: &Parts, free: f64) -> HotCold {
    let pool = Pool {
        blocks: f64::from(BLOCKS),
        free_blocks: free,
        open_blocks: 2.0,
        open_fill: 0.5,
        live_units: f64::from(parts.ftl.user_units),
        units_per_block: PAGES,
    };
    HotCold {
        occupancy: pool.occupancy().expect("a pool"),
        units_per_block: PAGES,
        choices: CHOICES,
        hot_data: 0.1,
        hot_writes: 0.9,
    }
}

fn near(found: f64, expected: f64, what: &str) {
    println!("{what}: write amplification {found:.4}, mean field {expected:.4}");
    assert!((found / expected - 1.0).abs() < 0.05, "{what}: write amplification {found}, mean field {expected}");
}

#[test]
fn mixed_hot_and_cold_data_cost_the_copies_of_the_mean_field() {
    // A victim is chosen when the free blocks and the rest of the two open ones are four and an eighth.
    let parts = drive(&[("ftl.gc.streams", "true")]);
    let expected = theory(&parts, 3.125).mixed().expect("a steady state");
    near(hot_and_cold(&parts, false).0, expected.write_amplification, "hot and cold data mixed");
}

#[test]
fn separated_hot_and_cold_data_cost_the_copies_of_the_mean_field() {
    // The second handle's open block raises the space that collection maintains by one block.
    let isolated =
        [("ftl.placement.isolation", "persistent"), ("ftl.placement.handles", "2"), ("ftl.gc.streams", "false")];
    let parts = drive(&isolated);
    let expected = theory(&parts, 4.125).separated().expect("a steady state");
    let (found, handles) = hot_and_cold(&parts, true);
    near(found, expected.write_amplification, "hot and cold data separated");
    for (class, name) in ["hot", "cold"].into_iter().enumerate() {
        let of_handle = handles[class].write_amplification().expect("every handle was written to");
        near(of_handle, expected.by_class[class], &format!("{name} data alone"));
        assert_eq!(handles[class].mixed, 0, "no copy leaves its handle");
    }
}

/// Runs a job file on a small drive of eight dies; returns the summary's section on the simulator.
fn simulate(job: &str, sets: &[(&str, &str)]) -> serde_json::Value {
    let mut all = vec![
        ("flash.channels", "2"),
        ("flash.chips", "2"),
        ("flash.dies", "2"),
        ("flash.blocks", "64"),
        ("flash.pages", "48"),
        ("ftl.gc.start", "3"),
        ("ftl.capacity", "auto"),
        ("ftl.over_provisioning", "0.4"),
        ("device.write_cache.size", "8MiB"),
    ];
    all.extend(sets);
    let system = System::load("nvme-enterprise-tlc", &all).unwrap_or_else(|error| panic!("{error}"));
    let workload = workload::Workload::parse_fio("test.fio", job).expect("a valid job file");
    let options = storage::run::RunOptions { warm_up: storage::run::WarmUp::Keep, ..Default::default() };
    let outcome = storage::run::run(&system, &workload, &options, &mut |_| true).expect("a run");
    storage::summary::summary(&system, &outcome)["nandram"].take()
}

/// Two jobs that overwrite halves of the drive, one four times as fast as the other.
const TWO_JOBS: &str = "[global]\nrw=write\nbs=64k\nsize=50%\niodepth=8\nflow_id=1\n\
                        [fast]\nflow=4\nloops=4\n[slow]\noffset=50%\nflow=1\n";

#[test]
fn a_run_reports_the_statistics_log_and_each_handle() {
    let jobs = TWO_JOBS.replace("[fast]\n", "[fast]\nfdp=1\nplids=1\n").replace("[slow]\n", "[slow]\nfdp=1\nplids=2\n");
    let all = simulate(&jobs, &[("ftl.placement.isolation", "persistent"), ("ftl.placement.handles", "3")]);
    let (placement, ftl) = (&all["placement"], &all["ftl"]);
    let number = |value: &serde_json::Value| value.as_u64().unwrap_or_else(|| panic!("{value} is no number"));
    let handles: Vec<&serde_json::Value> = placement["handles"].as_array().expect("a list").iter().collect();
    assert_eq!(handles.len(), 3);
    let host: Vec<u64> = handles.iter().map(|handle| number(&handle["host_bytes"])).collect();
    let ratio = host[1] as f64 / host[2] as f64;
    assert!(host[0] == 0 && (3.99..4.01).contains(&ratio), "each job has its handle: {host:?}");
    assert_eq!(host.iter().sum::<u64>(), number(&placement["host_bytes"]));
    let programmed = ["programmed_host", "programmed_copy", "programmed_system", "programmed_padding"];
    let units: u64 = programmed.iter().map(|key| number(&ftl[*key])).sum();
    assert_eq!(number(&placement["media_bytes"]), units * 4096);
    assert!(number(&placement["erased_bytes"]) > 0);
    for (handle, of) in handles[1..].iter().enumerate() {
        let amplification = of["write_amplification"].as_f64().expect("a number");
        assert!(amplification < 1.02, "handle {}: {amplification}", handle + 1);
        assert_eq!(number(&of["copies_mixed"]), 0);
    }
    assert!(handles[0]["write_amplification"].is_null(), "nothing was written with the first handle");
}

#[test]
fn a_drive_without_placement_is_the_drive_that_it_was() {
    let all = simulate(TWO_JOBS, &[]);
    assert!(all.get("placement").is_none() && all["whole_run"].get("placement").is_none());
    let hash = |sets: &[(&str, &str)]| System::load("nvme-enterprise-tlc", sets).expect("a drive").content_hash();
    assert_eq!(hash(&[]), hash(&[("ftl.placement.isolation", "off")]));
    assert_ne!(hash(&[]), hash(&[("ftl.placement.isolation", "initial")]));
}
