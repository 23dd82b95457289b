//! The error of sampling the drives, against whole runs.

mod support;

use serde_json::Value;
use support::{SMALL, drive, run, with};

/// Figures of a run whose error is stated.
const FIGURES: [&str; 7] = [
    "/ttft_ms/mean",
    "/ttft_ms/p95",
    "/fetch_ms/mean",
    "/tpot_ms/mean",
    "/tokens_per_s",
    "/hits/drive",
    "/tiers/drive/write_amplification",
];

fn figures(text: &str) -> [f64; 7] {
    let summary = serving::summary(&drive(), &run(text, &drive()));
    FIGURES.map(|path| summary["nandram"]["serving"].pointer(path).and_then(Value::as_f64).expect("a figure"))
}

#[test]
fn a_sampled_run_differs_from_a_whole_one_by_at_most_two_percent() {
    let whole = figures(SMALL);
    for sample in ["2", "4", "8"] {
        let sampled = figures(&with(SMALL, "drive", "sample", sample));
        for ((path, whole), sampled) in FIGURES.iter().zip(whole).zip(sampled) {
            let error = sampled / whole - 1.0;
            println!("sample {sample}: {path}: {whole:.5} whole, {sampled:.5} sampled, {:+.2} %", 100.0 * error);
            assert!(error.abs() <= 0.02, "sample {sample}: {path}: {whole} whole, {sampled} sampled");
        }
    }
}
