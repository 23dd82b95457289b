//! System files whose main memory is flash behind DRAM: the presets work, and impossible ones are refused in one line.

use main_memory::{HybridConfig, MainMemory};
use media::line::{LineKind, LineRequest};
use sim::{Streams, Time};
use system::{System, memory};

const PRESETS: [&str; 9] =
    ["nvmm", "nvmm-slc", "nvmm-slc2", "nvmm-slc4", "nvmm-slc8", "nvmm-pcm", "nvmm-pcm-optimistic", "cxl-ssd", "hbf"];

fn load(name: &str, sets: &[(&str, &str)]) -> System {
    System::load(name, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// When the first of some reads is answered, and when all are.
fn read(memory: &mut MainMemory, now: Time, addresses: &[u64]) -> (Time, Time) {
    for (id, address) in (0..).zip(addresses) {
        memory.submit(now, LineRequest { id, address: *address, kind: LineKind::Fill });
    }
    let mut done = Vec::new();
    while done.len() < addresses.len() {
        let next = memory.next_event().expect("something is under way");
        memory.advance(next, &mut done);
    }
    (done[0].1 - now, done[done.len() - 1].1 - now)
}

#[test]
fn every_preset_opens_whole_and_reads_at_both_ends() {
    for name in PRESETS {
        let system = load(name, &[("memory.prefetch.type", "none")]);
        assert_eq!(system.memory.kind, memory::MainMemory::Hybrid);
        let mut memory = MainMemory::new(&system, &Streams::new(1)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((memory.bytes(), system.user_bytes), (system.nvmm.capacity, system.nvmm.capacity));
        let end = memory.bytes() - 64;
        let (first, last) = read(&mut memory, Time::ZERO, &[0, end]);
        let array = *system.flash.timing.read.iter().min().expect("a time");
        assert!(first > array && last < array * 2 + Time::from_us(60), "{name}: {first} and {last}");
        assert!(memory.fault().is_none());
    }
}

#[test]
fn a_faster_medium_answers_sooner() {
    let names = ["nvmm-pcm-optimistic", "nvmm-pcm", "nvmm-slc8", "nvmm-slc4", "nvmm-slc2", "nvmm-slc", "nvmm"];
    let times = names.map(|name| {
        let system = load(name, &[("memory.prefetch.type", "none")]);
        let mut memory = MainMemory::new(&system, &Streams::new(1)).expect("a preset works");
        read(&mut memory, Time::ZERO, &[1 << 30]).0
    });
    // All but the array is the same.
    let arrays = [50, 125, 3125, 6250, 12_500, 25_000, 50_000].map(Time::from_ns);
    let rest = times[0] - arrays[0];
    for (number, name) in names.iter().enumerate() {
        assert_eq!(times[number], arrays[number] + rest, "{name}");
    }
}

#[test]
fn neighbors_are_read_side_by_side() {
    // Sixteen pages in a row take little more than one: they lie on different channels.
    let system = load("nvmm", &[("memory.prefetch.type", "none")]);
    let mut memory = MainMemory::new(&system, &Streams::new(1)).expect("a preset works");
    let one = read(&mut memory, Time::ZERO, &[1 << 34]).1;
    let pages: Vec<u64> = (0..16).map(|page| (2 << 34) + page * 8192).collect();
    let all = read(&mut memory, Time::from_ms(1), &pages).1;
    assert!(all < one + Time::from_us(3), "one in {one}, sixteen in {all}");
}

#[test]
fn prefetching_hides_what_is_read_in_order() {
    let time = |kind: &str| {
        let system = load("nvmm", &[("memory.prefetch.type", kind)]);
        let mut memory = MainMemory::new(&system, &Streams::new(1)).expect("a preset works");
        let mut now = Time::ZERO;
        for page in 0..256 {
            now += read(&mut memory, now, &[(1 << 33) + page * 8192]).1;
        }
        now.us_f64()
    };
    let (none, sequential, adaptive) = (time("none"), time("sequential"), time("adaptive"));
    assert!(none / sequential > 5.0, "{none} us without, {sequential} us with");
    assert!(none / adaptive > 5.0, "{none} us without, {adaptive} us adaptive");
}

#[test]
fn an_adaptive_prefetcher_leaves_random_reads_alone() {
    let prefetches = |kind: &str| {
        let system = load("nvmm", &[("memory.prefetch.type", kind)]);
        let mut memory = MainMemory::new(&system, &Streams::new(1)).expect("a preset works");
        let mut rng = Streams::new(2).stream("reads");
        let mut now = Time::ZERO;
        for _ in 0..200 {
            now += read(&mut memory, now, &[rng.below(1 << 34) << 6]).1;
        }
        let MainMemory::Hybrid(hybrid) = &memory else { unreachable!("it is one") };
        hybrid.cache().stats().prefetches
    };
    assert!(prefetches("sequential") > 2000);
    assert!(prefetches("adaptive") < 10);
}

#[test]
fn what_cannot_work_is_told_in_one_line() {
    let cases: [(&[&str], &str); 16] = [
        (
            &["[memory]", r#"type = "hybird""#],
            r#"bad.toml:3:8: memory.type: found "hybird", expected "none", "dram" or "hybrid"; the nearest is "hybrid""#,
        ),
        (
            &["[link]", r#"type = "pcie""#],
            r#"bad.toml:3:1: link.type is "pcie", expected "none" where memory.type is "hybrid""#,
        ),
        (&["[flash]", r#"page = "32KiB""#], r#"bad.toml:3:1: flash.page is "32KiB", expected 4KiB, 8KiB or 16KiB"#),
        (
            &["[nvmm]", r#"capacity = "100KiB""#],
            r#"bad.toml:3:1: nvmm.capacity is "100KiB", expected a multiple of 64KiB"#,
        ),
        (&["[nvmm]", r#"capacity = "2TiB""#], r#"bad.toml:3:1: nvmm.capacity is "2TiB", expected at most"#),
        (
            &["[nvmm]", "versions = 1000"],
            "bad.toml:3:1: nvmm.versions is 1000, expected at least 134217760 where nvmm.full is true",
        ),
        (
            &["[nvmm]", "versions = 1073741824"],
            "bad.toml:3:1: nvmm: 1073741824 version entries, expected 32 to 2^30 - 16777216 pages",
        ),
        (&["[nvmm]", "die_queue = 0"], "bad.toml:3:13: nvmm.die_queue: found 0, expected 1 to 65535"),
        (
            &["[nvmm]", r#"policy = "gredy""#],
            r#"bad.toml:3:10: nvmm.policy: found "gredy", expected "longest-chain", "greedy" or "cost-benefit"; the nearest is "greedy""#,
        ),
        (
            &["[memory.cache]", r#"size = "64GiB""#],
            r#"bad.toml:3:1: memory.cache.size is "64GiB", expected with its tags at most 64GiB, the capacity given by memory.channels, ranks and stack"#,
        ),
        (
            &["[memory.cache]", "ways = 12"],
            r#"bad.toml:3:1: memory.cache.size is "32GiB", expected a power of two of sets"#,
        ),
        (
            &["[memory.cache]", "tag_buffer = 1000"],
            "bad.toml:3:1: memory.cache.tag_buffer is 1000, expected a power of two",
        ),
        (&["[memory.cache]", "cold = 17"], "bad.toml:3:1: memory.cache.cold is 17, expected at most memory.cache.ways"),
        (
            &["[memory.prefetch]", "fetches = 64"],
            "bad.toml:3:1: memory.prefetch.fetches is 64, expected fewer than memory.cache.fetches",
        ),
        (
            &["[memory.prefetch]", r#"type = "none""#, "window = 4"],
            r#"bad.toml:4:1: memory.prefetch.window: set where memory.prefetch.type is "none", expected only where it is "sequential", "adaptive" or "ahead""#,
        ),
        (&["[memory]", r#"size = "2TiB""#], r#"bad.toml:3:1: memory.size is "2TiB", expected at most nvmm.capacity"#),
    ];
    for (lines, expected) in cases {
        let text = format!("extends = \"nvmm\"\n{}\n", lines.join("\n"));
        let error = System::from_toml("bad.toml", &text, &[]).expect_err("it cannot work").to_string();
        assert!(error.starts_with(expected), "{lines:?}\n  found    {error}\n  expected {expected}");
    }
}

#[test]
fn a_file_without_the_kind_has_none_of_its_keys() {
    let error = System::from_toml("bad.toml", "[nvmm]\nfull = true\n", &[]).expect_err("it is no such machine");
    let expected = r#"bad.toml:2:1: nvmm.full: set where memory.type is "none", expected only where it is "hybrid""#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_cache_has_the_sets_that_the_file_says() {
    let config = HybridConfig::new(&load("nvmm", &[]));
    assert_eq!((config.cache.sets(), config.cache.keys.ways, config.cache.page_bytes), (1 << 18, 16, 8192));
    assert_eq!((config.nvmm.segments, config.nvmm.pages, config.nvmm.open_blocks), (8, 1 << 24, 1024));
    assert_eq!(config.dram.bytes(), 64 << 30);
}
