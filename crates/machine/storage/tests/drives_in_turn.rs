//! Jobs that visit several drives in turn, as `examples/drives_in_turn` simulates them.

#[path = "../examples/drives_in_turn/arrangement.rs"]
mod arrangement;
#[path = "../examples/drives_in_turn/drive.rs"]
mod drive;
#[path = "../examples/drives_in_turn/figures.rs"]
mod figures;
#[path = "../examples/drives_in_turn/jobs.rs"]
mod jobs;
#[path = "../examples/drives_in_turn/target.rs"]
mod target;

use std::collections::BTreeSet;

use arrangement::Arrangement;
use drive::History;
use jobs::Addresses;
use serde_json::Value;
use sim::Time;

const FITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../drives/fitted/samsung-980-pro-1tb-writers.toml");
/// A short run on four small drives.
fn short(writers: u64) -> Arrangement {
    Arrangement {
        drives: 4,
        writers,
        depth: 64,
        core_time: Time::from_ns(3214),
        own_addresses: false,
        span: 10_000,
        warm_up: Time::from_ms(20),
        measured: Time::from_ms(80),
        seed: 1,
    }
}

fn run(arrangement: &Arrangement, sets: &[(&str, &str)]) -> Value {
    let system = drive::shrunk(FITTED, sets, 384).unwrap_or_else(|error| panic!("{error}"));
    let mut target = arrangement.target(&system, None).expect("drives");
    target.run(arrangement.end());
    figures::figures(&target, arrangement.measured, arrangement.writers)
}

fn number(found: &Value, path: &str) -> f64 {
    found.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}"))
}

#[test]
fn the_same_run_gives_the_same_figures() {
    assert_eq!(run(&short(2), &[]), run(&short(2), &[]));
}

/// One core limits its writer on all drives together.
#[test]
fn a_writer_is_limited_by_its_core() {
    let core_time = Time::from_us(20);
    let found = run(&Arrangement { core_time, ..short(1) }, &[]);
    let most = 1.0 / core_time.secs_f64();
    let rate = number(&found, "/writer/rate");
    // Requests that are reaped after the end count if they completed before.
    assert!((0.99..1.02).contains(&(rate / most)), "{rate} requests a second, at most {most}");
    assert!((number(&found, "/writes") * 4.0 / rate - 1.0).abs() < 0.01, "each drive gets a quarter");
}

/// A write is programmed unless its address is written again while it is in the write cache.
#[test]
fn writers_in_step_share_programs_and_writers_apart_do_not() {
    let shared = |span| {
        let found = run(&Arrangement { span, ..short(2) }, &[]);
        number(&found, "/programmed") / number(&found, "/write_amplification") / number(&found, "/writes")
    };
    let (together, apart) = (shared(0), shared(10_000));
    assert!((0.45..0.6).contains(&together), "in step, {together} of the writes are programmed");
    assert!((0.95..1.05).contains(&apart), "apart, {apart} of the writes are programmed");
}

/// In the writes before the simulated part, a writer that is behind by any number of requests overwrites on each drive
/// what the one before it wrote there.
#[test]
fn a_writer_overwrites_the_addresses_of_the_one_before() {
    let arrangement = Arrangement { span: 101, ..short(2) };
    let same = Addresses { sequence: 1, requests: 1 << 40 };
    let apart = arrangement.apart();
    let history = History { addresses: vec![same; 2], before: 0, before_writers: 1, begun: 4_000, apart };
    for drive in 0..4 {
        let written: Vec<u64> = history.writes((drive, 4)).map(|request| request.offset).collect();
        let distinct: BTreeSet<u64> = written.iter().copied().collect();
        assert_eq!((written.len() as u64, distinct.len()), (2_000 - apart / 4, 1_000), "drive {drive}");
    }
}

/// Writers that repeat each other and an earlier run leave blocks of dead data; others do not.
#[test]
fn repeated_addresses_cost_fewer_copies_than_own_ones() {
    let copies = |own_addresses| number(&run(&Arrangement { own_addresses, ..short(4) }, &[]), "/write_amplification");
    let (common, own) = (copies(false), copies(true));
    assert!(common < 0.8 * own, "write amplification of {common} with common addresses, {own} with own ones");
}

/// Blocks that a writer overwrites in order empty themselves if collection leaves them alone.
#[test]
fn quiet_greedy_collection_copies_less_than_greedy() {
    let of = |quiet| number(&run(&short(2), &[("ftl.gc.quiet", quiet)]), "/write_amplification");
    // No block that ever lost a unit is quiet for long enough, so that collection is greedy.
    let (greedy, quiet) = (of("64"), of("0.8"));
    assert!(quiet < 0.8 * greedy, "write amplification of {quiet}, {greedy} with greedy collection");
}

/// The reader follows the writers, so that its last page often holds its next address.
#[test]
fn a_reader_that_follows_the_writers_finds_pages_in_their_registers() {
    let slow = Arrangement { core_time: Time::from_us(40), ..short(2) };
    let tenth = |reuse| number(&run(&slow, &[("flash.reuse_page", reuse)]), "/reader/percentiles/10");
    let (held, queued) = (tenth("held"), tenth("queued"));
    assert!(held < 25.0, "a tenth of the reads end within {held} us");
    assert!(queued > 40.0, "without registers a tenth of the reads end within {queued} us");
}
