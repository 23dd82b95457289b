//! Comparison with the simulator MQSim (CMU-SAFARI/MQSim, 2022-10; Tavakkol et al., FAST 2018) on its default drive: 4
//! KiB random reads over a full drive, 32 outstanding. The preset is shrunk to fewer blocks, which does not change the
//! mean of a random read: dies, channels and everything else stay.

#[path = "support/play.rs"]
mod play;

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::path::PathBuf;

use play::{options, play, requests, system};
use sim::Time;
use storage::prepare::Preparation;
use storage::record::Direction;
use storage::run::{Outcome, run};
use workload::Workload;

const JOB: &str = "rw=randread\nbs=4k\niodepth=32\nnumber_ios=60000\nnorandommap";
/// 64 blocks per plane instead of 2048.
const SHRUNK: [(&str, &str); 3] = [("flash.blocks", "64"), ("ftl.gc.start", "3"), ("ftl.over_provisioning", "0.2")];

#[test]
fn random_reads_with_the_whole_map_take_as_long_as_in_mqsim() {
    let outcome = play(&system("mqsim-ideal-map", &SHRUNK), JOB, &options(Preparation::Filled));
    let (ios, mean) = requests(&outcome);
    println!("mqsim-ideal-map: mean response {:.2} us over {ios} reads; MQSim 166 us", mean * 1e6);
    assert_eq!((ios, outcome.machine.ftl().stats().map_reads), (60000, 0));
    assert!((mean / 166e-6 - 1.0).abs() < 0.05, "mean response {} us, MQSim has 166 us", mean * 1e6);
}

/// The preset's 2 MiB hold under 1 % of the map, so demand loading reads about one map page per request and transfers
/// one sector of it.
///
/// In a closed network, if the work at every queue grows by one factor, so does the response time. Here a request
/// changes from one read of 4 KiB to a read of 4 KiB and one of 512 B. MQSim itself counts 424 reads of mapping pages
/// per thousand requests and 209 us: see `pages_being_written_back_explain_why_mqsim_reads_so_few`.
#[test]
fn a_small_map_cache_costs_one_map_read_a_request() {
    let over = |preset, more: &[(&'static str, &'static str)]| {
        let outcome = play(&system(preset, &[&SHRUNK[..], more].concat()), JOB, &options(Preparation::Filled));
        let (ios, mean) = requests(&outcome);
        (mean, outcome.machine.ftl().stats().map_reads as f64 / ios as f64)
    };
    let (ideal, _) = over("mqsim-ideal-map", &[]);
    // The same fraction of the map as 2 MiB of the whole drive's.
    let (mean, each) = over("mqsim-default", &[("ftl.map_cache.size", "56KiB")]);
    println!(
        "mqsim-default: mean response {:.2} us, {each:.3} map reads a request; ideal {:.2}",
        mean * 1e6,
        ideal * 1e6
    );
    assert!((0.9..=1.01).contains(&each), "{each} map reads a request");
    let read = |bytes: f64| 75e-6 + 290e-9 + bytes / 333e6;
    let expected = ideal * (1.0 + each * read(512.0) / read(4096.0));
    assert!((mean / expected - 1.0).abs() < 0.15, "mean response {mean}, by the work of a request {expected}");
}

/// The rules of MQSim's published source, counted for its million random reads. MQSim invents an entry for a page that
/// was never written and marks it dirty. Evicting the entry writes its map page back, which first reads that page.
/// Writes wait behind all reads, and a map page counts as cached until its write has ended.
#[test]
fn pages_being_written_back_explain_why_mqsim_reads_so_few() {
    const UNITS: u64 = 62_411_243;
    /// A page of 8 KiB holds entries of 6 bytes; 2 MiB hold cached entries of 9 bytes.
    const PER_PAGE: u64 = 8192 / 6;
    const CACHED: usize = (2 << 20) / 9;
    let mut rng = sim::Streams::new(1).stream("test.mqsim");
    let mut order = VecDeque::new();
    let mut changed: HashMap<u64, bool> = HashMap::new();
    let mut written_back = vec![false; (UNITS / PER_PAGE + 1) as usize];
    let mut of_page: Vec<Vec<u64>> = vec![Vec::new(); written_back.len()];
    let mut reads = 0;
    for _ in 0..1_000_000 {
        let unit = rng.below(UNITS);
        if changed.contains_key(&unit) {
            // There are so few hits that LRU order equals the order of arrival.
            continue;
        }
        if order.len() == CACHED {
            let evicted: u64 = order.pop_front().expect("a full cache");
            let page = (evicted / PER_PAGE) as usize;
            of_page[page].retain(|unit| *unit != evicted);
            if changed.remove(&evicted).expect("an entry") {
                reads += 1;
                written_back[page] = true;
                for unit in &of_page[page] {
                    changed.insert(*unit, false);
                }
            }
        }
        let page = (unit / PER_PAGE) as usize;
        reads += u64::from(!written_back[page]);
        order.push_back(unit);
        changed.insert(unit, true);
        of_page[page].push(unit);
    }
    println!("map reads by MQSim's rules: {reads}; MQSim 424,000");
    assert!((reads as f64 / 424e3 - 1.0).abs() < 0.05, "{reads} map reads, MQSim has 424,000");
}

/// Plays MQSim's own trace if `NANDRAM_TRACES` names the folder that contains it. With `split`, each request is split
/// at page boundaries of the drive, because MQSim reports the mean of a flash transaction and a request may consist of
/// several.
fn tpcc(split: bool) -> Option<Outcome> {
    const PAGE: u64 = 16;
    let folder = std::env::var_os("NANDRAM_TRACES").map(PathBuf::from)?;
    let text = std::fs::read_to_string(folder.join("tpcc-small.trace")).expect("the trace");
    let mut requests = String::new();
    for line in text.lines() {
        let fields: Vec<u64> = line.split(' ').map(|field| field.parse().expect("a number")).collect();
        let (end, mut at) = (fields[2] + fields[3], fields[2]);
        while at < end {
            let to = if split { ((at / PAGE + 1) * PAGE).min(end) } else { end };
            writeln!(requests, "{} {} {at} {} {}", fields[0], fields[1], to - at, fields[4]).expect("a string");
            at = to;
        }
    }
    let path = std::env::temp_dir().join(format!("nandram-tpcc-{}-{split}.trace", std::process::id()));
    std::fs::write(&path, requests).expect("a temporary file");
    let workload = Workload::open(&path, None).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&system("mqsim-default", &[]), &workload, &options(Preparation::Filled), &mut |_| true);
    std::fs::remove_file(&path).expect("a temporary file");
    Some(outcome.unwrap_or_else(|error| panic!("{error}")))
}

/// MQSim reads 6,921 map pages for this trace, and its mean read transaction takes 910 us.
#[test]
fn a_trace_reads_as_many_map_pages_as_in_mqsim() {
    let (Some(whole), Some(split)) = (tpcc(false), tpcc(true)) else { return };
    let map_reads = whole.machine.ftl().stats().map_reads;
    let mean = (0..split.jobs.len())
        .map(|job| split.recorder.totals(job, Direction::Read, Time::ZERO).latencies.total.mean_ns() / 1e3)
        .sum::<f64>()
        / split.jobs.len() as f64;
    println!("tpcc-small: {map_reads} map reads (MQSim 6921), {mean:.0} us per page read (MQSim 910 us)");
    assert!((map_reads as f64 / 6921.0 - 1.0).abs() < 0.15, "{map_reads} map reads");
    assert!((mean / 910.0 - 1.0).abs() < 0.15, "{mean} us per read transaction");
}
