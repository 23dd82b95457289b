//! Memory traces with cycles: arrivals are honored, the queue pushes back, and the counters add up.

use std::fmt::Write;
use std::path::PathBuf;

use main_memory::run::{MemoryOutcome, run};
use serde_json::Value;
use storage::run::RunOptions;
use system::System;

/// A trace in a file of its own, which is removed with it.
struct Trace(PathBuf);

impl Trace {
    fn new(name: &str, text: &str) -> Trace {
        let path = std::env::temp_dir().join(format!("nandram-traffic-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("a file in the temporary folder");
        Trace(path)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn load(name: &str, sets: &[(&str, &str)]) -> System {
    System::load(name, sets).unwrap_or_else(|error| panic!("{error}"))
}

fn play(system: &System, name: &str, text: &str) -> MemoryOutcome {
    let trace = Trace::new(name, text);
    run(system, &trace.0, &RunOptions::default(), &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads of consecutive lines, `gap` cycles apart.
fn reads(count: u64, gap: u64) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        writeln!(text, "{:#x} READ {}", 0x1000_0000 + 64 * n, gap * n).expect("memory");
        text
    })
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn traces_a_thousandfold_apart_in_time_differ_in_time_bandwidth_and_energy() {
    let system = load("dram-only", &[]);
    let (dense, sparse) = (play(&system, "dense", &reads(5000, 4)), play(&system, "sparse", &reads(5000, 4000)));
    let of = |outcome: &MemoryOutcome| {
        let all = outcome.summary();
        let inside = &all["nandram"];
        assert!(inside.get("kernel").is_none(), "no page faults");
        (number(&inside["traffic"]["read_bytes_s"]), number(&inside["energy_j"]["total"]))
    };
    let ((fast, little), (slow, much)) = (of(&dense), of(&sparse));
    let clock = system.memory.dram.device().clock.period_ps();
    // The last access arrives after 4,999 gaps.
    let last = |gap: f64| 4999.0 * gap * clock;
    assert!((sparse.end.ps() as f64 / last(4000.0) - 1.0).abs() < 0.001, "{}", sparse.end);
    assert!(dense.end.ps() as f64 > last(4.0) && (dense.end.ps() as f64) < 1.2 * last(4.0), "{}", dense.end);
    assert!((fast / slow / 1000.0 - 1.0).abs() < 0.2, "{fast} and {slow} B/s");
    assert!(much > 5.0 * little, "{little} and {much} J");
}

#[test]
fn accesses_that_arrive_together_wait_for_room_in_the_queue() {
    let system = load("dram-only", &[]);
    let text = (0..20_000u64).fold(String::new(), |mut text, n| {
        writeln!(text, "{:#x} {} 7", 64 * n, if n % 4 == 0 { "WRITE" } else { "READ" }).expect("memory");
        text
    });
    let outcome = play(&system, "burst", &text);
    let all = outcome.summary();
    let (traffic, jobs) = (&all["nandram"]["traffic"], &all["jobs"][0]);
    let limit = 256.0 * f64::from(system.memory.dram.channels);
    assert_eq!((number(&traffic["queue"]["limit"]), number(&traffic["queue"]["max"])), (limit, limit));
    assert!(number(&traffic["queue"]["mean"]) > 0.5 * limit && number(&traffic["queue"]["full_s"]) > 0.0);
    // One access per cycle at most, so all but the first wait.
    assert_eq!(number(&traffic["queue"]["delayed"]), 19_999.0);
    assert_eq!((&jobs["read"]["total_ios"], &jobs["write"]["total_ios"]), (&15_000.into(), &5_000.into()));
    let peak = system.memory.dram.device().peak_bandwidth() * f64::from(system.memory.dram.channels);
    let rate = number(&traffic["read_bytes_s"]) + number(&traffic["write_bytes_s"]);
    assert!(rate > 0.6 * peak && rate <= peak, "{rate} of {peak} B/s");
    let notes = all["nandram"]["notes"].to_string();
    assert!(notes.contains("accesses arrived before they were accepted"), "{notes}");
}

#[test]
fn rows_and_commands_of_all_banks_add_up() {
    let system = load("dram-only", &[]);
    let mut text = reads(3000, 8);
    // Two rows of one bank in turn, each read alone: every read but the first closes the other row.
    let row = system.memory.dram.bytes() / 2;
    for n in 0..200u64 {
        writeln!(text, "{:#x} READ {}", (n % 2) * row, 100_000 + 200 * n).expect("memory");
    }
    let all = play(&system, "rows", &text).summary();
    let traffic = &all["nandram"]["traffic"];
    let banks = traffic["banks"].as_array().expect("banks");
    assert!(banks.len() >= 16);
    for name in ["reads", "writes", "row_hits", "row_misses", "row_conflicts", "activates"] {
        let sum: f64 = banks.iter().map(|bank| number(&bank[name])).sum();
        assert_eq!(sum, number(&traffic["dram"][name]), "{name}");
    }
    let dram = |name: &str| number(&traffic["dram"][name]);
    assert_eq!((dram("reads"), dram("writes")), (3200.0, 0.0));
    assert_eq!(dram("row_hits") + dram("row_misses") + dram("row_conflicts"), 3200.0);
    assert!(dram("row_hits") > 2500.0, "consecutive lines share rows: {traffic:#}");
    let commands = |name: &str| number(&traffic["commands"][name]);
    assert_eq!((commands("RD"), commands("WR"), commands("ACT")), (3200.0, 0.0, dram("activates")));
    assert!(commands("REF") + commands("REFsb") > 0.0);
}

#[test]
fn relative_cycles_count_from_the_end_of_the_access_before() {
    let system = load("dram-only", &[]);
    let trace = |name: &str| {
        let lines = ["100: read 0x0", "100: read 0x40", "100: write 0x80"].join("\n");
        play(&system, name, &lines)
    };
    let (absolute, relative) = (trace("a.stl"), trace("a.rstl"));
    let clock = system.memory.dram.device().clock.period_ps();
    assert!((absolute.end.ps() as f64) < 100.0 * clock, "the first arrives at zero, the others with it");
    assert!(relative.end.ps() as f64 > 300.0 * clock, "{}", relative.end);
    let all = relative.summary();
    assert_eq!((&all["jobs"][0]["read"]["total_ios"], &all["jobs"][0]["write"]["total_ios"]), (&2.into(), &1.into()));
}

#[test]
fn addresses_beyond_the_memory_are_noted() {
    let system = load("dram-only", &[]);
    let all = play(&system, "beyond", "0x7fff00000000 READ 0\n0x40 READ 10\n0x80 WRITE 5\n").summary();
    let notes = all["nandram"]["notes"].to_string();
    assert!(notes.contains("1 of 3 accesses lie beyond the memory's"), "{notes}");
    assert!(notes.contains("1 of 3 accesses have earlier cycles"), "{notes}");
}

#[test]
fn flash_behind_a_cache_takes_traffic_too() {
    let system = load("nvmm", &[]);
    let outcome = play(&system, "flash", &reads(200, 4000));
    let all = outcome.summary();
    assert_eq!(all["jobs"][0]["read"]["total_ios"], 200);
    assert!(all["nandram"]["traffic"].get("banks").is_none());
}

#[test]
fn cycles_beyond_the_clock_of_a_run_are_refused() {
    let trace = Trace::new("late", "0x0 READ 0\n0x40 READ 18446744073709551615\n");
    let found = run(&load("dram-only", &[]), &trace.0, &RunOptions::default(), &mut |_| true);
    let message = found.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(message.ends_with("cycles from the first access to the last, expected at most 8796093022208"), "{message}");
}
