//! Jobs that visit several drives in turn, as `examples/drives_in_turn` simulates them.

#[path = "../examples/drives_in_turn/arrangement.rs"]
mod arrangement;
#[path = "../examples/drives_in_turn/drive.rs"]
mod drive;
#[path = "../examples/drives_in_turn/figures.rs"]
mod figures;
#[path = "../examples/drives_in_turn/history.rs"]
mod history;
#[path = "../examples/drives_in_turn/jobs.rs"]
mod jobs;
#[path = "../examples/drives_in_turn/target.rs"]
mod target;

use std::collections::BTreeSet;

use arrangement::Arrangement;
use figures::Figures;
use history::{Past, Run};
use jobs::{Addresses, BYTES};
use nand::PayloadKind;
use serde_json::Value;
use sim::Time;
use system::parts::Parts;

const FITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../drives/fitted/samsung-980-pro-1tb-writers.toml");
/// A short run on four small drives.
const SHORT: Arrangement = Arrangement {
    drives: 4,
    depth: 64,
    core_time: Time::from_ns(3214),
    warm_up: Time::from_ms(20),
    measured: Time::from_ms(80),
    seed: 1,
};

/// What the writers do before and during a simulated run.
struct Writers {
    number: u64,
    lag: f64,
    own: bool,
}

impl Writers {
    fn new(number: u64) -> Writers {
        Writers { number, lag: 0.1, own: false }
    }
}

/// Simulates a run of writers, after one with half as many.
fn run(arrangement: &Arrangement, writers: &Writers, sets: &[(&str, &str)]) -> Value {
    measured(arrangement, writers, sets).json()
}

fn measured(arrangement: &Arrangement, writers: &Writers, sets: &[(&str, &str)]) -> Figures {
    let system = drive::shrunk(FITTED, sets, 128).unwrap_or_else(|error| panic!("{error}"));
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let addresses = Addresses { sequence: 1, own: writers.own, requests: parts.user_bytes / BYTES };
    let mut past = Past::begin(&system, &parts, 1, addresses).expect("a steady drive");
    let of = |number| Run { writers: number, requests: 40_000, lag: writers.lag };
    let (before, now) = (of((writers.number / 2).max(1)), of(writers.number));
    past.write(before.writes(addresses, 0, before.requests)).expect("writes");
    let (mut target, _) = arrangement.target(&system, &parts, &mut past, now).expect("drives");
    target.run(arrangement.end());
    Figures::new(target, arrangement.measured)
}

fn number(found: &Value, path: &str) -> f64 {
    found.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}"))
}

#[test]
fn the_same_run_gives_the_same_figures() {
    let of = || run(&SHORT, &Writers::new(2), &[]);
    assert_eq!(of(), of());
}

/// Pooled figures are those of one run that does both: equal runs have the figures of either.
#[test]
fn pooled_runs_count_together() {
    let mut pooled = measured(&SHORT, &Writers::new(2), &[]);
    pooled.add(measured(&SHORT, &Writers::new(2), &[]));
    assert_eq!(pooled.json(), run(&SHORT, &Writers::new(2), &[]));
    let mut pooled = measured(&SHORT, &Writers::new(2), &[]);
    let other = Arrangement { seed: 2, ..SHORT };
    pooled.add(measured(&other, &Writers::new(2), &[]));
    let (pooled, runs) = (pooled.json(), [SHORT, other].map(|each| run(&each, &Writers::new(2), &[])));
    for path in ["/reader/rate", "/writes", "/programmed", "/dies_busy"] {
        let mean = runs.iter().map(|run| number(run, path)).sum::<f64>() / 2.0;
        assert!((number(&pooled, path) / mean - 1.0).abs() < 1e-9, "{path}");
    }
}

/// One core limits its writer on all drives together.
#[test]
fn a_writer_is_limited_by_its_core() {
    let core_time = Time::from_us(20);
    let found = run(&Arrangement { core_time, ..SHORT }, &Writers::new(1), &[]);
    let most = 1.0 / core_time.secs_f64();
    let rate = number(&found, "/writer/rate");
    // Requests that are reaped after the end count if they completed before.
    assert!((0.99..1.02).contains(&(rate / most)), "{rate} requests a second, at most {most}");
    assert!((number(&found, "/writes") * 4.0 / rate - 1.0).abs() < 0.01, "each drive gets a quarter");
}

/// A write is programmed unless its address is written again while it is in the write cache. (Without batches of folding, so
/// that the write cache is as empty at the start of the short run as at its end.)
#[test]
fn writers_in_step_share_programs_and_writers_apart_do_not() {
    let shared = |lag| {
        let found = run(&SHORT, &Writers { lag, ..Writers::new(2) }, &[("ftl.slc_cache.batch", "0B")]);
        number(&found, "/programmed") / number(&found, "/write_amplification") / number(&found, "/writes")
    };
    let (together, apart) = (shared(0.0), shared(0.2));
    println!("{together} of the writes are programmed in step, {apart} apart");
    assert!((0.45..0.6).contains(&together), "in step, {together} of the writes are programmed");
    assert!((0.95..1.05).contains(&apart), "apart, {apart} of the writes are programmed");
}

/// The writers of a run send the same addresses in the same order, the last one a tenth behind the first, and a run can be
/// performed piece by piece.
#[test]
fn a_writer_overwrites_the_addresses_of_the_one_before() {
    let addresses = Addresses { sequence: 1, own: false, requests: 1 << 40 };
    let run = Run { writers: 3, requests: 4_000, lag: 0.1 };
    let written = |from, to| run.writes(addresses, from, to).map(|request| request.offset).collect::<Vec<u64>>();
    let whole = written(0, 4_000);
    let distinct: BTreeSet<u64> = whole.iter().copied().collect();
    assert_eq!((whole.len(), distinct.len()), (4_000 + 3_800 + 3_600, 4_000));
    assert_eq!(whole, [written(0, 1_234), written(1_234, 4_000)].concat());
}

/// The real runs are performed in order, and scaled with the drives.
#[test]
fn the_runs_are_those_of_the_artifact() {
    let runs: Vec<Run> = Run::all(64, 0.02).collect();
    assert_eq!(runs.iter().map(|run| run.writers).step_by(4).collect::<Vec<_>>(), [1, 2, 4, 8, 16]);
    assert!(Run::exists(16) && !Run::exists(3));
    for (run, thousands) in [(runs[0], 47_338), (runs[4], 90_517), (runs[19], 223_673)] {
        let sent: u64 = (0..run.writers).map(|writer| run.sent(writer, run.requests)).sum();
        let of_all = sent as f64 * 64.0 / (f64::from(thousands) * 1e3);
        assert!((of_all - 1.0).abs() < 1e-3, "{} writers send {of_all} of their writes", run.writers);
    }
}

/// Writers that repeat each other and an earlier run leave blocks of dead data; others do not.
#[test]
fn repeated_addresses_cost_fewer_copies_than_own_ones() {
    let copies = |own| number(&run(&SHORT, &Writers { own, ..Writers::new(4) }, &[]), "/write_amplification");
    let (common, own) = (copies(false), copies(true));
    assert!(common < 0.8 * own, "write amplification of {common} with common addresses, {own} with own ones");
}

/// Blocks that a writer overwrites in order empty themselves if collection leaves them alone.
#[test]
fn quiet_greedy_collection_copies_less_than_greedy() {
    let of = |quiet| {
        let sets = [("ftl.gc.policy", "quiet-greedy"), ("ftl.gc.quiet", quiet), ("ftl.slc_cache.size", "0B")];
        number(&run(&SHORT, &Writers::new(2), &sets), "/write_amplification")
    };
    // No block that ever lost a unit is quiet for long enough, so that collection is greedy.
    let (greedy, quiet) = (of("64"), of("0.8"));
    assert!(quiet < 0.8 * greedy, "write amplification of {quiet}, {greedy} with greedy collection");
}

/// The reader follows the writers, so that its last page often holds its next address.
#[test]
fn a_reader_that_follows_the_writers_finds_pages_in_their_registers() {
    let slow = Arrangement { core_time: Time::from_us(40), ..SHORT };
    let tenth = |reuse| number(&run(&slow, &Writers::new(2), &[("flash.reuse_page", reuse)]), "/reader/percentiles/10");
    let (held, queued) = (tenth("held"), tenth("queued"));
    assert!(held < 25.0, "a tenth of the reads end within {held} us");
    assert!(queued > 40.0, "without registers a tenth of the reads end within {queued} us");
}
