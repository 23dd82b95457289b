//! A trace in DRAMsim3's format is the same traffic as its accesses through the library.

use main_memory::run::run;
use nandram_dramsim3::Memory;
use serde_json::Value;
use storage::run::RunOptions;
use system::System;

/// Accesses in runs and jumps, bursts and pauses: cycle, address, and whether it is a write.
fn accesses() -> Vec<(u64, u64, bool)> {
    let mut seed = 7_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let (mut cycle, mut line) = (0, 0);
    let next = |_| {
        cycle += if draw(50) == 0 { draw(2_000) } else { draw(3) };
        line = if draw(4) == 0 { draw(1 << 20) } else { line + 1 };
        (cycle, 64 * line, draw(3) == 0)
    };
    (0..20_000).map(next).collect()
}

/// Adds each access at its cycle, one per cycle, as soon as there is room. Returns the library's summary.
fn through_the_library(name: &str, accesses: &[(u64, u64, bool)]) -> Value {
    let mut memory = Memory::new(name).unwrap_or_else(|error| panic!("{error}"));
    let (mut cycle, mut next, mut done, mut answered) = (0, 0, Vec::new(), 0);
    let first = accesses[0].0;
    while answered < accesses.len() {
        if let Some((at, address, write)) = accesses.get(next)
            && at - first <= cycle
            && memory.has_room()
        {
            memory.add(cycle, *address, *write).unwrap_or_else(|error| panic!("{error}"));
            next += 1;
        }
        cycle += 1;
        memory.tick(cycle, &mut done);
        answered += done.len();
        done.clear();
    }
    memory.summary(cycle)
}

#[test]
fn latency_and_counts_are_equal() {
    for name in ["dram-only", "dram-ddr5"] {
        let accesses = accesses();
        let library = through_the_library(name, &accesses);
        let line = |(cycle, address, write): &(u64, u64, bool)| {
            format!("{address:#x} {} {cycle}\n", if *write { "WRITE" } else { "READ" })
        };
        let path = std::env::temp_dir().join(format!("nandram-dramsim3-{}-{name}.trace", std::process::id()));
        std::fs::write(&path, accesses.iter().map(line).collect::<String>()).expect("a temporary file");
        let system = System::load(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&system, &path, &RunOptions::default(), &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
        let _ = std::fs::remove_file(&path);
        let all = outcome.summary();
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
        for (section, of) in [("read", "reads"), ("write", "writes")] {
            let (trace, library) = (&all["jobs"][0][section], &library[of]);
            assert_eq!(trace["total_ios"], library["transactions"], "{name}, {of}");
            let (trace, library) = (number(&trace["clat_ns"]["mean"]), number(&library["latency_ns"]["mean"]));
            // A write is accepted at once, so that its latency may be 0.
            assert!((trace - library).abs() <= 1e-9 * library, "{name}, {of}: {trace} and {library} ns");
        }
        // The library counts whole cycles until the last answer.
        let (trace, library) = (number(&all["nandram"]["simulated_s"]), number(&library["seconds"]));
        assert!((trace / library - 1.0).abs() < 1e-3, "{name}: {trace} and {library} s");
    }
}
