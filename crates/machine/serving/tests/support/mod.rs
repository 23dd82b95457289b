//! A small server whose whole run takes a second.
#![allow(dead_code, reason = "each test uses its part")]

use serving::{Config, Outcome};
use storage::prepare::Preparation;
use storage::run::RunOptions;
use system::System;

/// A model with a block of 256 KiB, on a small GPU.
pub const SMALL: &str = r#"
kind = "kvcache"
[model]
parameters = 100_000_000
layers = 8
heads = 8
kv_heads = 8
head_dim = 64
[gpu]
flops = "10TFLOP/s"
bandwidth = "200GB/s"
memory = "1GB"
power = "100W"
pool = "96MiB"
[scheduler]
batch = 32
[tiers]
host = "32MiB"
link = "16GB/s"
[drive]
used = 0.9
request = "256KiB"
staging = "64MiB"
[load]
rate = "8/s"
duration = "20s"
warm_up = "2s"
turns = 4
think = "1s"
context_max = 2048
prefix = { tokens = 64, count = 4 }
prompt = { tokens = 150, distribution = "lognormal", deviation = 0.6 }
output = { tokens = 40, distribution = "exponential" }
"#;

/// A drive of 8 channels and about 2 GiB.
pub fn drive() -> System {
    let sets = [
        ("flash.blocks", "40"),
        ("flash.pages", "48"),
        ("ftl.capacity", "auto"),
        ("ftl.slc_cache.size", "0B"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.gc.start", "4"),
        ("flash.endurance.mean", "3000"),
        // Pages are alike, so that requests that are left out take as long as the others.
        ("flash.read", "50us"),
        ("flash.variation.blocks", "0"),
        ("flash.variation.word_lines", "0"),
    ];
    System::load("nvme-client-tlc", &sets).expect("a drive")
}

/// Replaces a line's value, or adds the line to a table.
pub fn with(text: &str, table: &str, key: &str, value: &str) -> String {
    let header = format!("[{table}]\n");
    let (before, after) = text.split_once(&header).expect("the table");
    let end = after.find("\n[").map_or(after.len(), |at| at + 1);
    let lines: String = after[..end]
        .lines()
        .filter(|line| line.split('=').next().unwrap_or_default().trim() != key)
        .map(|line| format!("{line}\n"))
        .collect();
    format!("{before}{header}{key} = {value}\n{lines}{}", &after[end..])
}

/// Runs a file's text on a drive in steady state.
pub fn run(text: &str, system: &System) -> Outcome {
    let config = Config::parse("chat.toml", text).expect("a valid file");
    let options = RunOptions { preparation: Some(Preparation::Steady), ..RunOptions::default() };
    serving::play(system, "chat.toml", config, &options, &mut |_| true).expect("a run")
}
