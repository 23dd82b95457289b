//! Programs on machines that simulate their loads and stores.

use std::path::PathBuf;

use main_memory::run::{MemoryOutcome, run};
use storage::run::RunOptions;
use system::System;

/// A file of programs that is gone when the test is over.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> File {
        let folder = std::env::temp_dir().join(format!("nandram-programs-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join(format!("{name}.toml"));
        std::fs::write(&path, text).expect("a temporary file");
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().expect("it is in a folder"));
    }
}

fn play(system: &str, sets: &[(&str, &str)], name: &str, text: &str) -> MemoryOutcome {
    let system = System::load(system, sets).unwrap_or_else(|error| panic!("{error}"));
    let file = File::new(name, text);
    run(&system, &file.0, &RunOptions::default(), &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

fn number(outcome: &MemoryOutcome, path: &str) -> f64 {
    outcome.inside.pointer(path).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("no number {path}"))
}

#[test]
fn an_update_of_all_dram_is_a_way_to_it_and_back() {
    let text = "kind = \"gups\"\ntable = \"512MiB\"\nupdates = 2000\ncreated = true\n";
    let outcome = play("dram-only", &[], "ordered", text);
    assert_eq!(number(&outcome, "/cpu/instructions"), 2000.0 * 63.0);
    // Closed banks: row, column and burst of DDR3-1600 and the 20 ns of the way; a conflict or a refresh now and then.
    let mean = outcome.summary().pointer("/jobs/0/read/lat_ns/mean").and_then(serde_json::Value::as_f64);
    let mean = mean.expect("a mean");
    assert!((26.0 * 1.25 + 20.0..75.0).contains(&mean), "{mean} ns a line");
    // Each update is 60 instructions, the way through the caches, the line; a cycle is 0.4 ns.
    let cycles = number(&outcome, "/cpu/cycles") / 2000.0;
    assert!((mean / 0.4 + 52.0 + 15.0 - cycles).abs() < 4.0, "{cycles} cycles an update, {mean} ns a line");
    // Without order they overlap.
    let free = play("dram-only", &[], "free", &format!("{text}ordered = false\n"));
    assert!(number(&free, "/cpu/ipc") > 1.8 * number(&outcome, "/cpu/ipc"));
}

#[test]
fn what_is_measured_of_a_table_that_was_created_first_is_counted_whole() {
    // A measured part much shorter than the windows of the statistics, after a longer one.
    let outcome =
        play("dram-only", &[], "created", "kind = \"gups\"\ntable = \"64MiB\"\nupdates = 2000\ncreate = true\n");
    assert!(number(&outcome, "/warm_up/cut_s") > 10.0 * number(&outcome, "/measured_s"));
    let summary = outcome.summary();
    let read = |key: &str| summary.pointer(&format!("/jobs/0/read/{key}")).and_then(serde_json::Value::as_f64);
    let (lines, mean) = (read("total_ios").expect("a number"), read("lat_ns/mean").expect("a mean"));
    // But for those on their way to memory as measuring began.
    let requests = number(&outcome, "/requests");
    assert!((0.0..=10.0).contains(&(lines - requests)), "{lines} lines, {requests} requests");
    assert!(lines > 1000.0 && (46.0..80.0).contains(&mean), "{lines} lines of {mean} ns");
    // One at a time: they take less than all of the time that is measured.
    assert!(lines * mean * 1e-9 < number(&outcome, "/measured_s"));
    let span = number(&outcome, "/measured_s");
    assert!((read("iops").expect("a rate") * span / lines - 1.0).abs() < 0.01);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let text = "kind = \"varmail\"\nfiles = 50\noperations = 40\nthreads = 4\n";
    let bytes = || play("dram-only", &[], "same", text).summary().to_string();
    assert_eq!(bytes(), bytes());
}

#[test]
fn what_does_not_fit_is_refused() {
    let system = System::load("dram-only", &[("memory.size", "64MiB")]).expect("a system");
    let file = File::new("room", "kind = \"gups\"\ntable = \"65MiB\"\nupdates = 1\n");
    let error = run(&system, &file.0, &RunOptions::default(), &mut |_| true).err().expect("it does not fit");
    let message = error.to_string();
    assert!(message.ends_with(
        "room.toml: found programs that use 65MiB, expected at most the 64MiB of main memory (memory.size)"
    ));
}

const SMALL_DRIVE: [(&str, &str); 8] = [
    ("memory.size", "32MiB"),
    ("flash.channels", "4"),
    ("flash.chips", "1"),
    ("flash.dies", "1"),
    ("flash.blocks", "128"),
    ("flash.pages", "64"),
    ("memory.channels", "1"),
    ("memory.ranks", "1"),
];

#[test]
fn a_mapped_file_larger_than_memory_is_read_from_the_drive() {
    let text = "kind = \"mmap\"\nfile = \"64MiB\"\nreads = 600\n";
    // Without reading around, which takes the drive longer.
    let sets = [&SMALL_DRIVE[..], &[("kernel.mapped_misses", "0")]].concat();
    let outcome = play("dram-ssd", &sets, "mapped", text);
    let (major, minor) = (number(&outcome, "/linux/major_faults"), number(&outcome, "/linux/minor_faults"));
    assert!(major > 450.0 && major + minor > 550.0 && major + minor <= 600.0, "{major} and {minor} faults");
    // A read of flash, its transfer at 400 MB/s, and a few microseconds of link and controller.
    let hardware = number(&outcome, "/linux/hardware_ns/mean");
    assert!((75_000.0 + 10_240.0..100_000.0).contains(&hardware), "{hardware} ns");
    let access = number(&outcome, "/linux/access_ns/mean");
    let (seconds, kernel) = (number(&outcome, "/measured_s"), number(&outcome, "/cpu/kernel_s"));
    assert!(major * access * 1e-9 <= kernel && kernel < seconds, "{kernel} s of {seconds} s in the kernel");
}

#[test]
fn swap_readahead_and_fsync_reach_the_drive() {
    let swapped = "kind = \"gups\"\ntable = \"48MiB\"\nupdates = 300\ncreate = true\nthreads = 2\n";
    let outcome = play("dram-ssd", &SMALL_DRIVE, "swapped", swapped);
    assert!(number(&outcome, "/linux/pages_swapped_in") > number(&outcome, "/linux/major_faults"));
    // Of the window's pages some are still on their way to the drive at its end.
    let (written, swapped) =
        (number(&outcome, "/whole_run/drive/host_units"), number(&outcome, "/linux/pages_swapped_out"));
    assert!(written >= swapped, "{written} units written for {swapped} pages swapped out");
    let streamed = play("dram-ssd", &SMALL_DRIVE, "streamed", "kind = \"dd-read\"\nfile = \"16MiB\"\n");
    // Windows of 128 KiB, but for the first few.
    assert!(number(&streamed, "/linux/commands") < 140.0);
    assert_eq!(number(&streamed, "/linux/pages_read"), 4096.0);
    let synced =
        play("dram-ssd", &SMALL_DRIVE, "synced", "kind = \"varmail\"\nfiles = 20\noperations = 10\nthreads = 2\n");
    assert!(number(&synced, "/linux/commands") >= 40.0 && number(&synced, "/drive/host_units") > 0.0);
}

#[test]
fn a_drive_that_is_too_small_is_refused() {
    let system = System::load("dram-ssd", &SMALL_DRIVE).expect("a system");
    let file = File::new("drive", "kind = \"mmap\"\nfile = \"1GiB\"\nreads = 1\n");
    let error = run(&system, &file.0, &RunOptions::default(), &mut |_| true).err().expect("it does not fit");
    let message = error.to_string();
    assert!(
        message.starts_with("found a drive of ") && message.contains("expected at least 2084MiB for files"),
        "{message}"
    );
}
