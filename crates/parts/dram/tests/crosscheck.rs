//! Comparison with three public simulators on the same traffic (`crosscheck.toml`): bandwidth within 2 % of the nearest
//! for reads and 5 % for mixed traffic, latency with one request outstanding within 3 ns of the nearest.
//!
//! The controller is `Config::new`'s, with the mapping row:rank:bank:group:column (a plain bank number whose lowest
//! bits are its bank group) and no latency of its own. In the traffic, a request is issued one clock after the
//! completion that it depends on. Under saturation 96 are outstanding, so that one always waits for the queues. Random
//! requests cover all of memory, and the writes of `copy` are half the memory away from its reads. No parameter is
//! tuned for a row of the table.

mod support;

use dram::{Channel, Config, Device};
use sim::Streams;
use support::{Outcome, Pattern, Traffic, run, run_paced};

const REQUESTS: u64 = 200_000;

fn measure(preset: &str, pattern: &str) -> Outcome {
    let config = Config::new(Device::preset(preset).expect("a preset"));
    let mut channel = Channel::new(&config).expect("a channel");
    let mut run_of = |pattern, outstanding| {
        let mut traffic = Traffic::new(pattern, config.bytes(), Streams::new(1).stream("traffic"));
        match outstanding {
            0 => run_paced(&mut channel, &mut traffic, REQUESTS, 16),
            _ => run(&mut channel, &mut traffic, REQUESTS, outstanding),
        }
    };
    match pattern {
        "chase" => run_of(Pattern::RandomRead, 1),
        "chase_seq" => run_of(Pattern::SequentialRead, 1),
        "rand_rd" => run_of(Pattern::RandomRead, 96),
        "rand_rw" => run_of(Pattern::RandomMixed, 96),
        "seq_rd" => run_of(Pattern::SequentialRead, 96),
        "copy" => run_of(Pattern::Copy, 96),
        "paced16" => run_of(Pattern::RandomRead, 0),
        other => panic!("found the pattern {other}"),
    }
}

fn nearest(ours: f64, theirs: &[f64]) -> f64 {
    theirs.iter().copied().min_by(|a, b| (a - ours).abs().total_cmp(&(b - ours).abs())).expect("a simulator's figure")
}

#[test]
fn bandwidth_and_unloaded_latency_are_those_of_other_simulators() {
    let table: toml::Table = include_str!("crosscheck.toml").parse().expect("a TOML file");
    let mut rows = 0;
    let mut missed = Vec::new();
    for (preset, patterns) in &table {
        for (pattern, simulators) in patterns.as_table().expect("patterns") {
            let figures = |column: usize| -> Vec<f64> {
                let of = |value: &toml::Value| value[column].as_float().expect("a figure");
                simulators.as_table().expect("simulators").values().map(of).collect()
            };
            let outcome = measure(preset, pattern);
            let bandwidth = outcome.gigabytes_per_s();
            let near = nearest(bandwidth, &figures(1));
            let off = bandwidth / near - 1.0;
            let allowed = if matches!(pattern.as_str(), "rand_rw" | "copy") { 0.05 } else { 0.02 };
            let latency = outcome.latency_ns();
            let near_latency = nearest(latency, &figures(0));
            let row = format!(
                "{preset} {pattern}: {bandwidth:.3} GB/s, nearest {near:.3} ({:+.1} %); {latency:.1} ns, nearest {near_latency:.1}",
                off * 100.0
            );
            println!("{row}");
            let unloaded = pattern.starts_with("chase");
            if off.abs() > allowed || (unloaded && (latency - near_latency).abs() > 3.0) {
                missed.push(row);
            }
            rows += 1;
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    assert_eq!(rows, 11);
}
