//! Main memory against first principles: bandwidths, what a run that writes nothing counts, and sums of energy.

use std::path::PathBuf;

use main_memory::run::{MemoryOutcome, run};
use main_memory::{HybridMemory, MainMemory};
use media::line::{LineKind, LineRequest};
use sim::{Streams, Time};
use storage::run::RunOptions;
use system::System;

fn load(name: &str, sets: &[(&str, &str)]) -> System {
    System::load(name, sets).unwrap_or_else(|error| panic!("{error}"))
}

fn open(name: &str, sets: &[(&str, &str)]) -> MainMemory {
    MainMemory::new(&load(name, sets), &Streams::new(1)).unwrap_or_else(|error| panic!("{error}"))
}

fn hybrid(memory: &mut MainMemory) -> &mut HybridMemory {
    match memory {
        MainMemory::Hybrid(hybrid) => hybrid,
        MainMemory::Dram(_) => panic!("this memory is all DRAM"),
    }
}

/// Keeps `outstanding` requests of each agent in progress, `count` in total, from `now` on. Returns when the last
/// completes. `next` returns the next address of an agent.
fn drive(
    memory: &mut MainMemory,
    now: Time,
    (agents, outstanding, count): (u32, u32, u32),
    kind: LineKind,
    mut next: impl FnMut(u32) -> u64,
) -> Time {
    let (mut done, mut asked, mut ended, mut now) = (Vec::new(), 0, 0, now);
    for id in 0..(agents * outstanding).min(count) {
        memory.submit(now, LineRequest { id, address: next(id % agents), kind });
        asked += 1;
    }
    while ended < count {
        memory.advance_to_completion(Time::MAX, &mut done);
        for (id, at) in done.drain(..) {
            now = now.max(at);
            ended += 1;
            if asked < count {
                asked += 1;
                memory.submit(now, LineRequest { id, address: next(id % agents), kind });
            }
        }
    }
    now
}

/// Reads of sequential streams side by side, each over its part of `bytes`, in bytes a second.
fn sequential(memory: &mut MainMemory, now: Time, bytes: u64, agents: u32, count: u32) -> (f64, Time) {
    let part = bytes / u64::from(agents);
    let mut at = vec![0; agents as usize];
    let end = drive(memory, now, (agents, 16, count), LineKind::Fill, |agent| {
        let place = &mut at[agent as usize];
        *place += 64;
        u64::from(agent) * part + (*place - 64) % part
    });
    (f64::from(count) * 64.0 / (end - now).secs_f64(), end)
}

/// Random reads of `bytes`, in bytes a second.
fn random(memory: &mut MainMemory, now: Time, bytes: u64, agents: u32, count: u32) -> (f64, Time) {
    let mut rng = Streams::new(7).stream("addresses");
    let end = drive(memory, now, (agents, 16, count), LineKind::Fill, |_| rng.below(bytes / 64) * 64);
    (f64::from(count) * 64.0 / (end - now).secs_f64(), end)
}

#[test]
fn sequential_streams_of_any_power_of_two_keep_up_with_random_reads() {
    for name in ["dram-only", "dram-ddr5"] {
        let config = load(name, &[]).memory.dram;
        let peak = config.device().peak_bandwidth() * f64::from(config.channels) / 1e9;
        for shift in [24, 26, 28, 30, 34] {
            let mut before = 0.0;
            for agents in [1, 2, 4, 8, 16, 32] {
                let count = 30_000;
                let random = random(&mut open(name, &[]), Time::ZERO, 1 << shift, agents, count).0 / 1e9;
                let streams = sequential(&mut open(name, &[]), Time::ZERO, 1 << shift, agents, count).0 / 1e9;
                println!("{name} {shift} {agents}: {streams:.1} GB/s in order, {random:.1} at random");
                assert!(streams >= 0.9 * random, "{name}, 2^{shift} B, {agents}: {streams} and {random} GB/s");
                // Near the peak the bus loses two clocks (tRTRS) each time it changes rank, at worst every 32 bursts of four:
                // `streams_lose_bandwidth_only_to_changes_of_rank` in the DRAM's `tests/bounds.rs` counts them.
                let floor = if before > 0.96 * peak { 128.0 / 130.0 } else { 0.995 };
                assert!(streams >= floor * before, "{name}, 2^{shift} B, {agents}: {streams} after {before} GB/s");
                before = streams;
            }
        }
    }
}

#[test]
fn without_a_change_of_rank_streams_side_by_side_lose_nothing() {
    let bandwidth = |agents| {
        let one = [("memory.ranks", "1"), ("memory.stack", "1")];
        sequential(&mut open("dram-only", &one), Time::ZERO, 1 << 30, agents, 60_000).0 / 1e9
    };
    let found = [4, 8, 16, 32].map(bandwidth);
    println!("{found:.2?} GB/s");
    assert!(found.windows(2).all(|pair| pair[1] >= 0.995 * pair[0]), "{found:.2?} GB/s of 4 to 32 streams");
}

#[test]
fn without_hashing_streams_a_power_of_two_apart_meet_in_one_bank() {
    let streams =
        |hash| sequential(&mut open("dram-only", &[("memory.hash", hash)]), Time::ZERO, 1 << 30, 16, 30_000).0;
    let (plain, hashed) = (streams("false"), streams("true"));
    assert!(hashed > 1.5 * plain, "{plain} B/s without, {hashed} B/s with");
}

#[test]
fn hits_of_a_cache_that_is_nearly_empty_have_the_bandwidth_of_a_full_one() {
    for name in ["hbf", "cxl-ssd", "nvmm"] {
        // Tags of all sets fit into the controller, or of hardly any: else how many sets a table is in would count too.
        for (size, buffer) in [(1_u64 << 28, "1048576"), (1 << 30, "1048576"), (1 << 32, "64")] {
            let bandwidth = |table: u64| {
                let size = size.to_string() + "B";
                let sets = [
                    ("memory.cache.size", &*size),
                    ("memory.cache.tag_buffer", buffer),
                    ("memory.prefetch.type", "none"),
                ];
                let mut memory = open(name, &sets);
                memory.was_written(0, table);
                // A warm-up brings tags of pages and rows of DRAM into their steady state.
                let (_, now) = random(&mut memory, Time::ZERO, table, 16, 50_000);
                let before = *hybrid(&mut memory).cache().stats();
                let found = random(&mut memory, now, table, 16, 50_000).0;
                assert_eq!(hybrid(&mut memory).cache().stats().misses, before.misses, "{name}");
                found / 1e9
            };
            let full = bandwidth(size);
            for part in [4, 16] {
                let found = bandwidth(size / part);
                println!("{name} {size}, a {part}th of it: {found:.1} GB/s of {full:.1}");
                assert!(found > 0.95 * full, "{name}, {size} B, a {part}th of it: {found} GB/s, {full} GB/s full");
            }
        }
    }
}

#[test]
fn scattered_frames_keep_streams_apart_without_hashing() {
    let text = "kind = \"stream\"\nkernel = \"copy\"\narray = \"16MiB\"\nthreads = 16\n";
    let bandwidth = |frames| {
        let sets = [("memory.hash", "false"), ("memory.frames", frames)];
        let outcome = play("dram-only", &sets, &format!("frames-{frames}"), text);
        let lines = number(&outcome, "/cpu/fills") + number(&outcome, "/cpu/write_backs");
        lines * 64.0 / number(&outcome, "/measured_s") / 1e9
    };
    let (contiguous, scattered) = (bandwidth("contiguous"), bandwidth("4KiB"));
    println!("{contiguous:.1} GB/s contiguous, {scattered:.1} GB/s scattered");
    assert!(scattered > 1.2 * contiguous, "{contiguous} GB/s contiguous, {scattered} GB/s scattered");
}

#[test]
fn scattered_frames_are_found_as_they_were_left() {
    // The program's earlier writes are in the cache wherever its frames lie, so that reading them hits.
    let text = "kind = \"gups\"\ntable = \"64MiB\"\nupdates = 2000\ncreated = true\n";
    for frames in ["contiguous", "64KiB", "2MiB"] {
        let outcome = play("hbf", &[("memory.frames", frames)], &format!("left-{frames}"), text);
        assert_eq!(number(&outcome, "/cache/misses"), 0.0, "{frames}");
    }
    let error = System::load("hbf", &[("memory.frames", "4KiB")]).expect_err("too small").to_string();
    assert!(error.contains("memory.frames") && error.contains("at least 64KiB"), "{error}");
}

/// Bytes a second of pages that are written back, where every page of a stretch is changed once.
fn write_back(sets: &[(&str, &str)], pages: u32) -> f64 {
    let mut memory = open("nvmm", sets);
    let mut page = 0;
    let end = drive(&mut memory, Time::ZERO, (32, 4, pages), LineKind::WriteBack, |_| {
        page += 1;
        (page - 1) * 8192 % (1 << 34)
    });
    let written = hybrid(&mut memory).table().stats().writes;
    assert!(memory.fault().is_none() && written > u64::from(pages) / 2, "{written} pages of {pages}");
    written as f64 * 8192.0 / end.secs_f64()
}

#[test]
fn write_back_bandwidth_grows_with_channels_and_dies() {
    let of = |channels: &str, chips: &str| {
        let sets = [
            ("memory.ranks", "1"),
            ("memory.cache.size", "16MiB"),
            ("memory.prefetch.type", "none"),
            ("memory.cache.fetches", "512"),
            ("nvmm.translation", "5ns"),
            ("nvmm.die_queue", "64"),
            ("nvmm.capacity", "16GiB"),
            ("flash.channels", channels),
            ("flash.chips", chips),
            ("flash.dies", "1"),
            ("flash.blocks", "20000"),
            ("flash.read", "1us"),
        ];
        write_back(&sets, 30_000) / 1e6
    };
    let (one, channels, chips, both) = (of("2", "2"), of("4", "2"), of("2", "4"), of("8", "4"));
    println!("{one:.0} MB/s of 2 x 2 dies, {channels:.0} of 4 x 2, {chips:.0} of 2 x 4, {both:.0} of 8 x 4");
    // A die programs 8 KiB in 1.2 ms.
    let bound = |dies: f64| dies * 8192.0 / 1.2;
    assert!(channels > 1.7 * one && chips > 1.7 * one && both > 6.0 * one);
    assert!(one < bound(4.0) / 1e3 && both < bound(32.0) / 1e3 && both > 0.7 * bound(32.0) / 1e3);
}

/// A file of a program that is gone when the test is over.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn play_file(system: &System, name: &str, text: &str) -> MemoryOutcome {
    let file = File(std::env::temp_dir().join(format!("nandram-main-memory-{}-{name}", std::process::id())));
    std::fs::write(&file.0, text).expect("a temporary file");
    run(system, &file.0, &RunOptions::default(), &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

fn play(name: &str, sets: &[(&str, &str)], program: &str, text: &str) -> MemoryOutcome {
    play_file(&load(name, sets), &format!("{program}.toml"), text)
}

fn number(outcome: &MemoryOutcome, path: &str) -> f64 {
    outcome.inside.pointer(path).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("no number {path}"))
}

#[test]
fn a_run_that_writes_nothing_counts_no_program_and_no_commit() {
    for name in ["nvmm", "cxl-ssd", "hbf"] {
        let outcome = play(name, &[], &format!("reads-{name}"), "kind = \"mmap\"\nfile = \"1GiB\"\nreads = 500\n");
        assert!(number(&outcome, "/nvmm/reads") > 400.0);
        for counter in ["programs_host", "programs_table", "programs_collection", "commits", "writes"] {
            assert_eq!(number(&outcome, &format!("/nvmm/{counter}")), 0.0, "{name}: {counter}");
        }
        assert_eq!(outcome.inside.pointer("/lifetime_days/half"), Some(&serde_json::Value::Null), "{name}");
    }
}

#[test]
fn the_total_of_energy_is_the_sum_of_all_parts() {
    let text = "kind = \"dd-write\"\nfile = \"4MiB\"\n";
    let small =
        [("flash.blocks", "32"), ("ftl.over_provisioning", "auto"), ("ftl.capacity", "4GiB"), ("memory.size", "64MiB")];
    let outcome = play("dram-ssd", &small, "drive", text);
    let (memory, drive) = (number(&outcome, "/energy_j/memory"), number(&outcome, "/energy_j/drive"));
    assert!(memory > 0.0 && drive > 0.0);
    assert_eq!(drive, number(&outcome, "/drive/energy_j"));
    assert!((number(&outcome, "/energy_j/total") / (memory + drive) - 1.0).abs() < 1e-12);
    let outcome = play("nvmm", &[], "hybrid", text);
    let parts = outcome.inside.pointer("/memory_energy_j").and_then(serde_json::Value::as_object).expect("parts");
    let sum: f64 = parts.values().filter_map(serde_json::Value::as_f64).sum();
    assert!((number(&outcome, "/energy_j/total") / sum - 1.0).abs() < 1e-9);
}

#[test]
fn idle_power_is_of_the_dram_that_a_cache_needs() {
    // The ranks in use hold four times as much as the cache of hbf needs.
    let power = |name: &str, sets: &[(&str, &str)]| {
        let mut memory = open(name, sets);
        hybrid(&mut memory).energy(Time::from_ms(100)).cache.joules() / 0.1
    };
    let (all, half) = (power("cxl-ssd", &[]), power("cxl-ssd", &[("memory.cache.size", "8GiB")]));
    assert!((all / half - 2.0).abs() < 0.01, "{all} W and {half} W");
    // As much as all ranks of an all-DRAM machine draw, by the byte, but for its tags.
    let ranks =
        [("memory.channels", "2"), ("memory.ranks", "4"), ("memory.stack", "1"), ("memory.standard", "ddr5-4800")];
    let mut whole = open("dram-only", &ranks);
    let each = whole.energy(Time::from_ms(100)).joules() / 0.1 / whole.bytes() as f64;
    let found = all / f64::from(1 << 30) / 16.0;
    assert!((found / each - 1.0).abs() < 0.01, "{found} W a byte, {each} W in all-DRAM");
}

/// Nanoseconds per line of each token of `hbf`, but for the first, in which the cache fills.
fn tokens(sets: &[(&str, &str)], count: usize) -> Vec<f64> {
    const CONTEXT: u64 = 16;
    let text = format!(
        "kind = \"inference\"\nweights = \"24MiB\"\nlayers = 4\nkv = \"4KiB\"\ncontext = {CONTEXT}\ntokens = {}\nthreads = 16\n",
        count + 2
    );
    let path = std::env::temp_dir().join(format!("nandram-main-memory-{}-tokens.toml", std::process::id()));
    let file = File(path);
    std::fs::write(&file.0, text).expect("a temporary file");
    let sizes = [("memory.cache.size", "16MiB"), ("cpu.l2.size", "32KiB"), ("cpu.llc.size", "256KiB")];
    let system = load("hbf", &[&sizes, sets].concat());
    let mut points = vec![(0.0, 0.0)];
    run(&system, &file.0, &RunOptions::default(), &mut |at| {
        points.push((at.done as f64, at.now.secs_f64() * 1e9));
        true
    })
    .unwrap_or_else(|error| panic!("{error}"));
    // The context grows: a token reads a little more than the one before.
    let lines = |token: u64| (24.0 * 1048576.0 + (CONTEXT + token) as f64 * 4096.0) / 64.0;
    let (mut end, mut ends) = (0.0, Vec::new());
    for token in 0..=count as u64 {
        end += lines(token);
        let after = points.iter().position(|(done, _)| *done >= end).expect("tokens go on");
        let [(from, begun), (to, ended)] = [points[after - 1], points[after]];
        ends.push(begun + (ended - begun) * (end - from) / (to - from));
    }
    ends.windows(2).zip(1..).map(|(pair, token)| (pair[1] - pair[0]) / lines(token)).collect()
}

#[test]
fn inference_is_steady_from_the_first_token_that_is_counted() {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    // The cache is a thousandth of the preset's: sixteen threads' windows of 512 pages would be twice as large.
    for (prefetch, sets) in [("adaptive", ("memory.prefetch.window", "32")), ("none", ("memory.prefetch.type", "none"))]
    {
        let tokens = tokens(&[sets], 10);
        let later = mean(&tokens[5..]);
        println!("{prefetch}: {tokens:.3?} ns a line");
        let steady = tokens.iter().all(|each| (each / later - 1.0).abs() < 0.03);
        assert!(steady, "{prefetch}: {tokens:.3?} ns a line, {later:.3} later");
    }
}

#[test]
fn a_trace_of_misses_goes_past_the_caches() {
    // The same sixteen lines, over and over: caches have missed them each time, or have them all but the first time.
    let lines: String = (0..4000).map(|n| format!("20 {:#x}\n", 0x10000 + n % 16 * 64)).collect();
    let system = load("dram-only", &[]);
    let misses = play_file(&system, "misses.trace", &lines);
    assert_eq!(number(&misses, "/requests"), 4000.0);
    assert_eq!(number(&misses, "/cpu/l1_hits") + number(&misses, "/cpu/llc_hits"), 0.0);
    // A write of such a trace is a write-back, and reads nothing before.
    let stores: String = (0..1000).map(|n| format!("ST {:#x}\n", 0x10000 + n * 64)).collect();
    let stores = play_file(&system, "stores.trace", &stores);
    assert_eq!((number(&stores, "/cpu/fills"), number(&stores, "/cpu/write_backs")), (0.0, 1000.0));
    // Loads and stores that a tool recorded above all caches go through them.
    let loads: String = (0..4000).map(|n| format!("I  400000,4\n L {:x},8\n", 0x10000 + n % 16 * 64)).collect();
    let loads = play_file(&system, "loads.lackey", &loads);
    assert_eq!((number(&loads, "/requests"), number(&loads, "/cpu/l1_hits")), (16.0, 3984.0));
}

#[test]
fn a_trace_of_misses_can_be_given_caches() {
    let folder = std::env::temp_dir();
    let trace = File(folder.join(format!("nandram-main-memory-{}-again.trace", std::process::id())));
    let lines: String = (0..400).map(|n| format!("20 {:#x}\n", 0x10000 + n % 16 * 64)).collect();
    std::fs::write(&trace.0, lines).expect("a temporary file");
    let name = trace.0.file_name().expect("a name").to_string_lossy().into_owned();
    let fills = |cached: &str| {
        let outcome = play("dram-only", &[], "again", &format!("kind = \"trace\"\nfile = \"{name}\"\n{cached}"));
        number(&outcome, "/requests")
    };
    assert_eq!((fills(""), fills("cached = true\n"), fills("cached = false\n")), (400.0, 16.0, 400.0));
}

#[test]
fn an_accelerator_has_thousands_of_reads_under_way() {
    let sets = [
        ("cpu.caches", "false"),
        ("cpu.misses", "256"),
        ("cpu.window", "4096"),
        ("cpu.write_backs", "4096"),
        ("memory.latency", "2us"),
    ];
    let text = "kind = \"stream\"\nkernel = \"copy\"\narray = \"16MiB\"\nthreads = 64\n";
    let outcome = play("dram-ddr5", &sets, "accelerator", text);
    let lines = 16.0 * 1048576.0 / 64.0;
    assert_eq!((number(&outcome, "/cpu/fills"), number(&outcome, "/cpu/write_backs")), (lines, lines));
    // Little's law: what is under way is the rate times the latency, which alone is 2 us.
    let latency =
        outcome.summary().pointer("/jobs/0/read/lat_ns/mean").and_then(serde_json::Value::as_f64).expect("it");
    let under_way = lines / number(&outcome, "/measured_s") * latency * 1e-9;
    assert!(latency > 2000.0 && under_way > 4000.0, "{under_way} reads of {latency} ns under way");
}

#[test]
fn stream_moves_what_its_kernels_touch() {
    // A store reads its line first: copy and scale move three lines for two that they count, add and triad four for three.
    for (kernel, read) in [("copy", 2.0), ("scale", 2.0), ("add", 3.0), ("triad", 3.0)] {
        let text = format!("kind = \"stream\"\nkernel = \"{kernel}\"\narray = \"32MiB\"\nthreads = 8\nwarm = 1\n");
        let outcome = play("dram-ddr5", &[], kernel, &text);
        let lines = 32.0 * 1048576.0 / 64.0;
        assert_eq!(number(&outcome, "/cpu/fills"), read * lines, "{kernel}");
        assert!((number(&outcome, "/cpu/write_backs") / lines - 1.0).abs() < 0.02, "{kernel}");
    }
}

#[test]
fn a_chase_waits_for_each_line() {
    let of = |threads: u32| {
        let text = format!("kind = \"chase\"\ntable = \"256MiB\"\nloads = 4000\nthreads = {threads}\n");
        let outcome = play("dram-ddr5", &[], &format!("chase-{threads}"), &text);
        let mean = outcome.summary().pointer("/jobs/0/read/lat_ns/mean").and_then(serde_json::Value::as_f64);
        (number(&outcome, "/measured_s") * 1e9 / 4000.0, mean.expect("a mean"))
    };
    let ((span, mean), (eight, _)) = (of(1), of(8));
    // The way through three caches takes 52 cycles of 0.4 ns.
    assert!((span - mean - 20.8).abs() < 2.0, "{span} ns a load, {mean} ns of them for its line");
    assert!((span / eight - 8.0).abs() < 1.0, "{span} ns a load alone, {eight} ns of eight threads");
}

#[test]
fn every_flash_main_memory_says_how_long_it_lasts_and_why() {
    use system::memory::MainMemory as Kind;
    for (name, _) in system::presets() {
        let system = load(name, &[]);
        if system.memory.kind != Kind::Hybrid {
            continue;
        }
        assert!(system.flash.wear.endurance.mean.is_some(), "{name} has no endurance");
        let resolved = system.resolved_toml();
        let endurance = resolved.split_once("[flash.endurance]").expect("a table").1;
        let mean = endurance.lines().find(|line| line.starts_with("mean")).expect("a key");
        assert!(mean.contains("assumed") || mean.contains("given"), "{name}: {mean}");
        assert!(!mean.contains("default"), "{name}: {mean}");
    }
    // Phase-change memory is not flash: a thousand times the cycles of MLC, which lasts as much longer.
    let days = |name: &str| {
        let text = "kind = \"gups\"\ntable = \"64MiB\"\nupdates = 3000\ncreated = true\n";
        let outcome = play(name, &[("memory.cache.size", "16MiB")], &format!("life-{name}"), text);
        let written = number(&outcome, "/nvmm/programs_host") / number(&outcome, "/simulated_s");
        number(&outcome, "/lifetime_days/all") * written
    };
    let ratio = days("nvmm-pcm") / days("nvmm");
    assert!((ratio / (1e7 / 3000.0) - 1.0).abs() < 0.05, "{ratio} times the writes");
}

/// All programs and memory traces that come with the project.
fn bundled_programs() -> Vec<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples"));
    let files = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<PathBuf>>()
    };
    // Other TOML files are systems, and jobs of drives.
    let has_kind = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("readable");
        let kinds = text.lines().filter_map(|line| line.strip_prefix("kind = "));
        kinds.map(|kind| kind.trim_matches('"')).any(workload::program::is_kind)
    };
    let is_program = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".memory.zst") || (name.ends_with(".toml") && has_kind(path))
    };
    let mut found: Vec<PathBuf> = files(folder).into_iter().flat_map(files).filter(is_program).collect();
    found.sort();
    found
}

#[test]
fn dram_of_today_is_at_least_as_fast_as_flash_behind_it() {
    let programs = bundled_programs();
    assert!(programs.len() >= 2, "{programs:?}");
    for path in programs {
        let ipc = |name: &str| {
            let outcome = run(&load(name, &[]), &path, &RunOptions::default(), &mut |_| true);
            number(&outcome.unwrap_or_else(|error| panic!("{error}")), "/cpu/ipc")
        };
        let (dram, cxl, hbf) = (ipc("dram-ddr5"), ipc("cxl-ssd"), ipc("hbf"));
        println!("{}: {dram} all DRAM, {cxl} cxl-ssd, {hbf} hbf", path.display());
        assert!(dram >= cxl && dram >= hbf, "{}: {dram} all DRAM, {cxl} cxl-ssd, {hbf} hbf", path.display());
    }
}
