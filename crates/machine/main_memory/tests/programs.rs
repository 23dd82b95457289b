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
    // Some of the window's pages are still on their way to the drive at its end.
    let (written, swapped) =
        (number(&outcome, "/whole_run/drive/host_units"), number(&outcome, "/linux/pages_swapped_out"));
    assert!(written >= swapped, "{written} units written for {swapped} pages swapped out");
    let streamed = play("dram-ssd", &SMALL_DRIVE, "streamed", "kind = \"dd-read\"\nfile = \"16MiB\"\n");
    // Windows of 128 KiB, but for the first few.
    assert!(number(&streamed, "/linux/commands") < 140.0);
    assert_eq!(number(&streamed, "/linux/pages_read"), 4096.0);
    let text = "kind = \"varmail\"\nfiles = 20\noperations = 10\nthreads = 2\n";
    let synced = play("dram-ssd", &SMALL_DRIVE, "synced", text);
    let written = number(&synced, "/drive/host_units");
    assert!(number(&synced, "/linux/commands") >= 40.0 && written > 0.0);
    // Each of the 20 operations syncs at least one file, and a sync writes 14 more pages of journal.
    let journaled = [&SMALL_DRIVE[..], &[("kernel.journal", "64KiB")]].concat();
    let journaled = play("dram-ssd", &journaled, "journaled", text);
    assert!(number(&journaled, "/drive/host_units") >= written + 20.0 * 14.0);
}

#[test]
fn a_journal_is_whole_pages() {
    for size in ["12KiB", "6KiB"] {
        let error = System::load("dram-ssd", &[("kernel.journal", size)]).expect_err("no power of two of pages");
        let expected = format!("kernel.journal is \"{size}\", expected a power of two of pages of 4KiB");
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
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

const SMALL_NVMM: [(&str, &str); 9] = [
    ("memory.ranks", "1"),
    ("memory.cache.size", "8MiB"),
    ("nvmm.capacity", "64MiB"),
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.dies", "1"),
    ("flash.planes", "1"),
    ("flash.blocks", "160"),
    ("flash.pages", "64"),
];

fn checkpoints(method: &str, more: &str) -> String {
    format!(
        "kind = \"checkpoint\"\ntable = \"2MiB\"\nupdates = 6000\ninterval = 500\ndirty = \"256KiB\"\nmethod = \
         \"{method}\"\n{more}"
    )
}

#[test]
fn a_sync_writes_the_dirty_pages_of_flash_memory_and_keeps_versions() {
    let none = play("nvmm", &SMALL_NVMM, "none", &checkpoints("none", ""));
    assert_eq!((number(&none, "/nvmm/syncs"), number(&none, "/nvmm/writes")), (0.0, 0.0));
    let synced = play("nvmm", &SMALL_NVMM, "synced", &checkpoints("sync", ""));
    let of = |key: &str| number(&synced, key);
    assert_eq!((of("/nvmm/syncs"), of("/kernel/sync_ns/N"), of("/nvmm/rollbacks")), (12.0, 12.0, 0.0));
    // Each interval changes almost all 32 pages of 8 KiB in its part, and sometimes one more at the end.
    assert!((12.0 * 28.0..=12.0 * 33.0).contains(&of("/nvmm/writes")), "{} pages", of("/nvmm/writes"));
    assert!(of("/nvmm/versions") > 200.0, "{} versions", of("/nvmm/versions"));
    // Programs of 200 us on two dies at a time, and the journal.
    assert!(of("/kernel/sync_ns/mean") > 14.0 * 200e3, "{} ns", of("/kernel/sync_ns/mean"));
    assert!(of("/measured_s") > number(&none, "/measured_s") + 12.0 * of("/kernel/sync_ns/mean") * 0.9e-9);
    // With few kept states and little space, blocks are collected.
    let sets = [&SMALL_NVMM[..], &[("nvmm.tokens", "2"), ("nvmm.capacity", "16MiB"), ("flash.blocks", "50")]].concat();
    let more = checkpoints("sync", "").replace("6000", "30000").replace("256KiB", "1MiB");
    let collected = play("nvmm", &sets, "collected", &more);
    let (blocks, syncs) = (number(&collected, "/nvmm/collected"), number(&collected, "/nvmm/syncs"));
    assert!(blocks > 0.0 && syncs == 60.0, "{blocks} blocks collected, {syncs} syncs");
}

#[test]
fn old_states_are_released_before_versions_or_flash_run_out() {
    // 60 copies of 256 pages: kept until nothing is free, they would end the run.
    let more = checkpoints("copy", "").replace("6000", "30000");
    for (what, set) in [("entries", ("nvmm.versions", "4096")), ("flash", ("flash.blocks", "56"))] {
        let sets = [&SMALL_NVMM[..], &[("nvmm.capacity", "16MiB"), set]].concat();
        let outcome = play("nvmm", &sets, what, &more);
        assert_eq!(number(&outcome, "/nvmm/syncs"), 60.0, "{what}");
        assert!(number(&outcome, "/nvmm/versions") > 1_000.0, "{what}: some states are kept");
    }
}

#[test]
fn a_copy_writes_the_whole_table_and_a_rollback_reads_less_than_a_restart_from_it() {
    let of = |system: &str, sets: &[(&str, &str)], method: &str, faults: u32| {
        play(system, sets, method, &checkpoints(method, &format!("faults = {faults}\n")))
    };
    let pages = |outcome: &MemoryOutcome| number(outcome, "/nvmm/writes");
    let (synced, copied) = (of("nvmm", &SMALL_NVMM, "sync", 0), of("nvmm", &SMALL_NVMM, "copy", 0));
    assert!(pages(&copied) > 6.0 * pages(&synced), "{} and {} pages", pages(&copied), pages(&synced));
    // The same programs over a drive: msync writes what changed, a copy everything.
    let (synced, copied) = (of("dram-ssd", &SMALL_DRIVE, "sync", 0), of("dram-ssd", &SMALL_DRIVE, "copy", 0));
    let written = |outcome: &MemoryOutcome| number(outcome, "/linux/pages_written");
    assert_eq!((number(&synced, "/linux/sync_ns/N"), number(&copied, "/linux/sync_ns/N")), (12.0, 12.0));
    assert_eq!(written(&copied), 12.0 * 512.0);
    assert!((12.0 * 60.0..=12.0 * 65.0).contains(&written(&synced)), "{} pages", written(&synced));
    // A fault: pages are read again on demand, or the whole copy at once.
    for (system, sets) in [("nvmm", &SMALL_NVMM[..]), ("dram-ssd", &SMALL_DRIVE[..])] {
        let (synced, copied) = (of(system, sets, "sync", 3), of(system, sets, "copy", 3));
        if system == "nvmm" {
            assert_eq!((number(&synced, "/nvmm/rollbacks"), number(&synced, "/kernel/rollback_ns/N")), (3.0, 3.0));
            assert!(number(&synced, "/nvmm/rolled_back") == 0.0, "nothing newer than the sync had left the cache");
            assert!(number(&synced, "/nvmm/reads") > number(&copied, "/nvmm/reads") / 10.0);
        } else {
            assert!(number(&synced, "/linux/pages_read") < number(&copied, "/linux/pages_read"));
            assert_eq!(number(&copied, "/linux/pages_read"), 3.0 * 512.0);
        }
    }
}

#[test]
fn fsync_of_a_file_in_flash_memory_waits_for_flash() {
    let text = "kind = \"varmail\"\nfiles = 20\noperations = 10\nthreads = 2\n";
    let outcome = play("nvmm", &SMALL_NVMM, "mail", text);
    assert_eq!(number(&outcome, "/kernel/sync_ns/N"), 20.0);
    // Two threads may be served by one sync.
    let syncs = number(&outcome, "/nvmm/syncs");
    assert!((10.0..=20.0).contains(&syncs) && number(&outcome, "/nvmm/writes") >= syncs, "{syncs} syncs");
    assert!(number(&outcome, "/kernel/sync_ns/mean") > 400e3, "a page and the journal, one after the other");
    assert!(outcome.inside.pointer("/kernel/sync_ns").is_some());
    assert!(play("dram-only", &[], "mail", text).inside.pointer("/kernel/sync_ns").is_none());
}

#[test]
fn fsync_of_a_file_only_returns_where_no_file_system_works() {
    let text = "kind = \"varmail\"\nfiles = 20\noperations = 10\nthreads = 2\n";
    let outcome = play("nvmm", &[&SMALL_NVMM[..], &[("kernel.fsync", "call")]].concat(), "mail", text);
    assert_eq!((number(&outcome, "/kernel/sync_ns/N"), number(&outcome, "/nvmm/syncs")), (0.0, 0.0));
    // A program's own sync is no fsync.
    let text = "kind = \"checkpoint\"\ntable = \"64KiB\"\nupdates = 30\ninterval = 10\n";
    let outcome = play("nvmm", &[&SMALL_NVMM[..], &[("kernel.fsync", "call")]].concat(), "check", text);
    assert!(number(&outcome, "/nvmm/syncs") >= 3.0);
}

#[test]
fn each_page_that_a_call_writes_costs_the_time_of_a_write() {
    for system in ["dram-only", "dram-ssd"] {
        let small: &[(&str, &str)] = if system == "dram-ssd" { &SMALL_DRIVE } else { &[] };
        let span = |kind: &str, write: &str| {
            let text = format!("kind = \"{kind}\"\nfile = \"1MiB\"\nblock = \"8KiB\"\n");
            let keys = [small, &[("kernel.spread", "0"), ("kernel.write", write)]].concat();
            number(&play(system, &keys, &format!("{kind}-{system}-{write}"), &text), "/measured_s")
        };
        let wrote = span("dd-write", "100us") - span("dd-write", "0s");
        assert!((0.0250..0.0262).contains(&wrote), "{system}: 256 pages took {wrote} s longer");
        assert_eq!(span("dd-read", "100us"), span("dd-read", "0s"), "{system}");
    }
}

#[test]
fn the_first_sync_does_not_write_what_was_allocated_before_the_run() {
    // The log of 256 MiB is 4,096 pages of 64 KB, of which the program touches a few.
    let sets = [&SMALL_NVMM[..], &[("nvmm.capacity", "1GiB"), ("flash.blocks", "2048")]].concat();
    let text = "kind = \"oltp\"\noperations = 1280\n";
    let outcome = play("nvmm", &sets, "oltp", text);
    let syncs = number(&outcome, "/nvmm/syncs");
    assert!(syncs > 0.0, "no sync");
    let table = number(&outcome, "/nvmm/programs_table");
    assert!(table <= 4.0 * syncs, "{table} pages of the table in {syncs} syncs");
}

#[test]
fn faults_and_calls_wait_for_the_kernel_s_own_memory_where_that_is_flash() {
    let of = |structures: &str, text: &str| {
        let more =
            [("memory.cache.size", "32MiB"), ("memory.prefetch.type", "none"), ("kernel.structures", structures)];
        play("nvmm", &[&SMALL_NVMM[..], &more].concat(), "structures", text)
    };
    let mapped = "kind = \"mmap\"\nfile = \"48MiB\"\nreads = 300\n";
    let (apart, within) = (of("false", mapped), of("true", mapped));
    assert!(apart.inside.pointer("/kernel/structure_ns").is_none());
    let faults = number(&within, "/kernel/faults");
    assert_eq!(number(&apart, "/kernel/faults"), faults);
    // The node, the frame's record and the entry, of 4 KiB pages in random order. Nearly each record is on a page of its own
    // of 128 records in 8 KiB; 96 pages hold all records, 12 all entries, and 14 all nodes.
    assert_eq!(number(&within, "/kernel/structure_ns/N"), 3.0 * faults);
    let more = number(&within, "/nvmm/reads") - number(&apart, "/nvmm/reads");
    assert!((100.0..=125.0).contains(&more), "{more} more reads of flash");
    let time = number(&within, "/measured_s") - number(&apart, "/measured_s");
    let waited = number(&within, "/kernel/structure_ns/mean") * 3.0 * faults * 1e-9;
    assert!((0.95..=1.05).contains(&(time / waited)), "{time} s longer, {waited} s waited");
    // Calls that read 1,024 pages, whose records are on pages of flash with those of 127 others each; and the program's own
    // buffer, which has no nodes.
    let read = of("true", "kind = \"dd-read\"\nfile = \"4MiB\"\n");
    assert_eq!(number(&read, "/kernel/structure_ns/N"), 2.0 * (1024.0 + number(&read, "/kernel/faults")));
    assert!(number(&read, "/kernel/structure_ns/mean") < 5_000.0);
}

#[test]
fn the_kernel_s_own_memory_leaves_less_to_programs() {
    let text = "kind = \"mmap\"\nfile = \"64MiB\"\nreads = 1\n";
    let sets = |structures| [&SMALL_NVMM[..], &[("kernel.structures", structures)]].concat();
    play("nvmm", &sets("false"), "whole", text);
    let system = System::load("nvmm", &sets("true")).expect("a system");
    let file = File::new("left", text);
    let error = run(&system, &file.0, &RunOptions::default(), &mut |_| true).err().expect("it does not fit");
    let message = error.to_string();
    assert!(message.contains("left.toml: found programs that use 64MiB, expected at most the 64192KiB"), "{message}");
}

#[test]
fn a_thread_that_waits_for_the_kernel_s_memory_keeps_its_core() {
    let text = "kind = \"mmap\"\nfile = \"48MiB\"\nreads = 200\nthreads = 4\n";
    let waits_over_time = |cores: &str| {
        let more = [("memory.cache.size", "32MiB"), ("memory.prefetch.type", "none"), ("cpu.cores", cores)];
        let outcome = play("nvmm", &[&SMALL_NVMM[..], &more].concat(), "core", text);
        let summary = outcome.summary();
        let read = |key: &str| summary.pointer(&format!("/jobs/0/read/{key}")).and_then(serde_json::Value::as_f64);
        let data = read("lat_ns/mean").expect("a mean") * read("total_ios").expect("a number");
        let own = number(&outcome, "/kernel/structure_ns/mean") * number(&outcome, "/kernel/structure_ns/N");
        (data + own) * 1e-9 / number(&outcome, "/measured_s")
    };
    // Of one core's threads only one waits at a time, be it for data or in the kernel.
    let (one, four) = (waits_over_time("1"), waits_over_time("4"));
    assert!((0.8..=1.0).contains(&one) && four > 1.5, "{one} with one core, {four} with four");
}
