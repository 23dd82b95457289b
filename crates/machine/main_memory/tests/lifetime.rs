//! A lifetime is shown only where a longer run would show the same.

use main_memory::run::run;
use storage::run::RunOptions;
use system::System;

/// Runs random updates of a 2 MiB table on flash behind 512 KiB of DRAM and a last-level cache of 2,048 lines. Returns the
/// days in which all of the flash wears out, and whether a note withholds them.
fn lifetime(creates: &str, updates: u32) -> (f64, bool) {
    let caches = [
        ("cpu.l1.size", "4KiB"),
        ("cpu.l2.size", "32KiB"),
        ("cpu.llc.size", "128KiB"),
        ("memory.cache.size", "512KiB"),
        ("nvmm.capacity", "8GiB"),
        ("flash.channels", "2"),
        ("flash.chips", "4"),
        ("flash.dies", "1"),
    ];
    let system = System::load("nvmm", &caches).unwrap_or_else(|error| panic!("{error}"));
    let path = std::env::temp_dir().join(format!("nandram-lifetime-{}-{updates}.toml", std::process::id()));
    let text = format!("kind = \"gups\"\ntable = \"2MiB\"\nthreads = 4\n{creates} = true\nupdates = {updates}\n");
    std::fs::write(&path, text).expect("a temporary file");
    let outcome = run(&system, &path, &RunOptions::default(), &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_file(&path).expect("it is there");
    let days = outcome.inside.pointer("/lifetime_days/all").and_then(serde_json::Value::as_f64).expect("a number");
    let notes = outcome.inside["notes"].as_array().expect("a list");
    let withheld = notes.iter().any(|note| note["withholds"].as_array().expect("a list").contains(&"lifetime".into()));
    println!("{creates}, {updates} updates: {days:.6} days, withheld: {withheld}, {notes:?}");
    (days, withheld)
}

#[test]
fn lifetimes_agree_for_all_lengths_of_a_run_or_are_withheld() {
    for (creates, lengths) in [("created", vec![1500, 3000]), ("create", vec![1500, 40_000, 80_000])] {
        let found: Vec<(f64, bool)> = lengths.into_iter().map(|updates| lifetime(creates, updates)).collect();
        let shown: Vec<f64> = found.iter().filter(|(_, withheld)| !withheld).map(|(days, _)| *days).collect();
        let (least, most) = shown.iter().fold((f64::MAX, 0.0_f64), |(a, b), days| (a.min(*days), b.max(*days)));
        assert!(shown.is_empty() || most < 1.1 * least, "{creates}: {found:?}");
        if creates == "created" {
            // Most of the first 2,048 modified lines stay in the last-level cache.
            assert!(found[0].1 && found[1].1, "{found:?}");
        } else {
            assert!(!shown.is_empty(), "{found:?}");
        }
    }
}
