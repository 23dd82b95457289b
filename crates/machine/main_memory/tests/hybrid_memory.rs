//! Flash as main memory, whole: a link, the cache and its DRAM, the page table, flash with what it holds.

use dram_cache::{Keys, Prefetch, PrefetchKind};
use link::LineLinkConfig;
use main_memory::{DramMemory, HybridConfig, HybridMemory, MainMemory, MemoryCall};
use media::Geometry;
use media::line::{LineKind, LineRequest};
use sim::{Rng, Streams, Time};

/// Bytes of a cache of so many sets of four pages.
fn cache_bytes(sets: u64, page_bytes: u32) -> u64 {
    sets * 4 * u64::from(page_bytes)
}

fn small(page_bytes: u32) -> HybridConfig {
    let geometry = Geometry {
        channels: 2,
        chips: 1,
        dies: 2,
        planes: 1,
        blocks: 16,
        pages: 64,
        page_bytes,
        unit_bytes: page_bytes,
    };
    let segments = 65536 / page_bytes;
    let pages = 1600 / segments;
    let timing = nand::Timing {
        read: [Time::from_us(25); nand::Cell::BITS_MAX],
        program: [Time::from_us(200); nand::Cell::BITS_MAX],
        erase: Time::from_us(1500),
        slc_read: Time::from_us(25),
        slc_program: Time::from_us(200),
        slc_erase: Time::from_us(1500),
        block_parts: 1,
        programming: nand::Programming::OnePass,
        pass_distance: 16,
        transfers_per_s: 400_000_000,
        read_command: Time::from_ns(275),
        program_command: Time::from_ns(275),
        erase_command: Time::from_ns(225),
    };
    let mut dram = dram::MemoryConfig::new(dram::Standard::Ddr3x1600);
    dram.interleave = page_bytes.into();
    HybridConfig {
        link: LineLinkConfig { latency: Time::ZERO, bandwidth: None, header: 0 },
        dram,
        cache: dram_cache::Config {
            keys: Keys {
                size: cache_bytes(16, page_bytes),
                ways: 4,
                tag_buffer: 4,
                tag_reads: 4,
                fetches: 8,
                buffers: None,
                cold: 1,
                prefetch: Prefetch { kind: PrefetchKind::None, window: 1, fetches: 4 },
            },
            page_bytes,
            pages: u64::from(pages * segments),
            buffers: 4,
            moves: false,
        },
        nvmm: nvmm::Config {
            controller: nvmm::Controller(1),
            geometry,
            segments,
            pages,
            versions: pages * (segments + 4),
            order: nvmm::Order::Ascending,
            open_blocks: 4,
            tags: 1,
            time_bits: 24,
            management: nvmm::Management {
                policy: nvmm::Policy::LongestChain,
                collect_start: 2,
                tokens: 4,
                journal_pages: 16,
            },
        },
        nand: nand::Config {
            geometry,
            span: nand::PageSpan::ONE,
            cell: nand::Cell::Slc,
            order: nand::Order::InOrder,
            payload: nand::PayloadKind::None,
            buffers: 0,
            timing,
            scheduling: nand::Scheduling::plain(),
            wear: nand::Wear::default(),
            errors: None,
            modes: false,
            ecc: nand::Ecc::default(),
            age_s: 0,
            cycles: 0,
            variation: nand::Variation::default(),
            faults: nand::Faults::default(),
            power: nand::Power::NONE,
        },
        environment: nvmm::Environment { full: false, synced: false, translation: Time::from_ns(50), die_queue: 4 },
        verify: true,
    }
}

fn made(config: &HybridConfig, seed: u64) -> HybridMemory {
    HybridMemory::new(config, &Streams::new(seed)).expect("it can work")
}

/// Requests for random lines, `depth` at a time, until nothing is under way; the time at which the last is answered.
fn play(memory: &mut MainMemory, rng: &mut Rng, requests: u32, lines: u64, writes: u64, depth: usize) -> Time {
    let (mut done, mut asked, mut now, mut under_way) = (Vec::new(), 0, Time::ZERO, 0);
    let mut free: Vec<u32> = (0..depth as u32).collect();
    while asked < requests || under_way > 0 {
        while asked < requests
            && let Some(id) = free.pop()
        {
            let kind = if rng.below(100) < writes { LineKind::WriteBack } else { LineKind::Fill };
            memory.submit(now, LineRequest { id, address: rng.below(lines) * 64, kind });
            (asked, under_way) = (asked + 1, under_way + 1);
        }
        now = memory.next_event().expect("something is under way");
        memory.advance(now, &mut done);
        for (id, at) in done.drain(..) {
            assert!(at <= now);
            free.push(id);
            under_way -= 1;
        }
    }
    let end = now;
    while let Some(next) = memory.next_event() {
        memory.advance(next, &mut done);
    }
    end
}

#[test]
fn no_line_is_lost_between_cache_collection_and_flash() {
    for (seed, page_bytes) in [(1, 4096), (2, 8192), (3, 16384), (4, 4096), (5, 16384)] {
        let config = small(page_bytes);
        let lines = config.cache.pages * u64::from(page_bytes) / 64;
        let mut memory = MainMemory::Hybrid(Box::new(made(&config, seed)));
        let mut rng = Streams::new(seed).stream("test");
        // The memory checks the data of each read.
        play(&mut memory, &mut rng, 20_000, lines, 40, 24);
        let MainMemory::Hybrid(memory) = memory else { unreachable!("it is one") };
        assert_eq!(memory.fault(), None);
        let (cache, table) = (memory.cache().stats(), memory.table().stats());
        assert!(cache.dirty_evictions + cache.cleaned > 5_000, "{cache:?}");
        assert!(table.collected > 20 && table.commits > 20, "{table:?}");
        assert!(memory.cache().is_idle());
    }
}

#[test]
fn prefetching_loses_nothing_either() {
    for (kind, window) in [(PrefetchKind::Sequential, 4), (PrefetchKind::Adaptive, 8)] {
        let mut config = small(4096);
        config.cache.keys.prefetch = Prefetch { kind, window, fetches: 4 };
        config.environment.full = true;
        config.nvmm.pages = 80;
        config.cache.pages = 80 * 16;
        config.nvmm.versions = 80 * 20;
        let mut memory = MainMemory::Hybrid(Box::new(made(&config, 5)));
        let mut rng = Streams::new(5).stream("test");
        play(&mut memory, &mut rng, 20_000, config.cache.pages * 64, 30, 8);
        let MainMemory::Hybrid(memory) = memory else { unreachable!("it is one") };
        assert_eq!(memory.fault(), None);
    }
}

#[test]
fn a_limit_of_programs_delays_writes_and_loses_nothing() {
    let ends = [None, Some(1)].map(|most| {
        let mut config = small(4096);
        config.nand.scheduling.programs_max = most;
        let mut memory = MainMemory::Hybrid(Box::new(made(&config, 6)));
        let mut rng = Streams::new(6).stream("test");
        let end = play(&mut memory, &mut rng, 20_000, config.cache.pages * 64, 60, 24);
        let MainMemory::Hybrid(hybrid) = &memory else { unreachable!("it is one") };
        assert_eq!(hybrid.fault(), None);
        assert!(hybrid.cache().is_idle());
        end
    });
    assert!(ends[0] < ends[1], "{ends:?}");
}

#[test]
fn worn_pages_lose_nothing_and_shrink_the_memory() {
    let mut config = small(8192);
    config.nand.wear.endurance =
        nand::Endurance { spread: nand::Spread::Normal, mean: Some(12), deviation: 1.0 / 3.0, slc_factor: 1.0 };
    config.nand.geometry.blocks = 20;
    config.nvmm.geometry.blocks = 20;
    let mut memory = MainMemory::Hybrid(Box::new(made(&config, 4)));
    let MainMemory::Hybrid(hybrid) = &memory else { unreachable!("it is one") };
    let before = hybrid.table().stats().capacity;
    let mut rng = Streams::new(4).stream("test");
    play(&mut memory, &mut rng, 40_000, 150 * 128, 60, 24);
    let MainMemory::Hybrid(hybrid) = &memory else { unreachable!("it is one") };
    let after = hybrid.table().stats().capacity;
    assert_eq!(hybrid.fault(), None);
    assert!(after < before, "{before} pages, then {after}");
}

/// A lone request's time.
fn alone(memory: &mut MainMemory, now: Time, address: u64, kind: LineKind) -> Time {
    let mut done = Vec::new();
    memory.submit(now, LineRequest { id: 0, address, kind });
    let mut at = None;
    while let Some(next) = memory.next_event() {
        memory.advance(next, &mut done);
        at = at.or(done.first().map(|(_, at)| *at));
    }
    at.expect("it is answered") - now
}

#[test]
fn a_miss_is_tags_translation_array_and_bus_and_a_hit_is_dram() {
    let mut config = small(8192);
    config.link = LineLinkConfig { latency: Time::from_ns(10), bandwidth: None, header: 0 };
    let mut memory = MainMemory::Hybrid(Box::new(made(&config, 1)));
    // Dirty pages leave by way of 16 others of their set, so that a page is in flash and nowhere else.
    let page = |number: u64| number * 8192;
    let mut now = Time::from_ms(1);
    for number in 0..8 {
        alone(&mut memory, now, page(number * 16), LineKind::WriteBack);
        now += Time::from_ms(5);
    }
    let MainMemory::Hybrid(hybrid) = &memory else { unreachable!("it is one") };
    assert!(hybrid.cache().stats().cleaned >= 4);
    // The tags of another set push those of this one out.
    for set in 1..9 {
        alone(&mut memory, now, page(set), LineKind::Fill);
        now += Time::from_ms(5);
    }
    let tags = Time::from_ps(26 * 1250);
    let miss = alone(&mut memory, now, page(0) + 640, LineKind::Fill);
    let flash = Time::from_ns(275) + Time::from_us(25) + Time::of_transfer(8192, 400_000_000);
    let expected = Time::from_ns(20) + tags + Time::from_ns(50) + flash;
    // Tags may find a row open, or a refresh under way.
    let slack = miss.ps().abs_diff(expected.ps());
    assert!(slack < 40_000, "{miss}, expected {expected}");
    let hit = alone(&mut memory, now + Time::from_ms(1), page(0) + 640, LineKind::Fill);
    assert!(hit >= Time::from_ns(20 + 20) && hit < Time::from_ns(20 + 60), "{hit}");
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let run = |seed| {
        let config = small(4096);
        let mut memory = MainMemory::Hybrid(Box::new(made(&config, seed)));
        let mut rng = Streams::new(seed).stream("test");
        let end = play(&mut memory, &mut rng, 3000, 20_000, 30, 16);
        let MainMemory::Hybrid(hybrid) = &memory else { unreachable!("it is one") };
        assert!(hybrid.wear().programs >= hybrid.wear().host_programs && hybrid.wear().host_programs > 0);
        (end, memory.energy(end))
    };
    assert_eq!(run(9), run(9));
}

/// Requests at random times, whether others are done or not: all answers. What is due before the next request is done event by
/// event, or by `advance_to_completion`, from answer to answer.
fn answers(memory: &mut MainMemory, seed: u64, goes_on: bool) -> Vec<(u32, Time)> {
    let mut rng = Streams::new(seed).stream("times");
    let (mut now, mut all, mut done) = (Time::ZERO, Vec::new(), Vec::new());
    let lines = memory.bytes() / 64;
    for id in 0..3000 {
        let kind = if rng.below(3) == 0 { LineKind::WriteBack } else { LineKind::Fill };
        let address = if rng.below(4) == 0 { rng.below(lines) } else { rng.below(lines.min(256)) };
        memory.submit(now, LineRequest { id, address: address * 64, kind });
        let until = if id == 2999 { Time::from_s(1) } else { now + Time::from_ns(rng.below(4) * rng.below(3000)) };
        while let Some(next) = memory.next_event().filter(|next| *next <= until) {
            if goes_on {
                memory.advance_to_completion(until, &mut done);
                let first = done.first().map_or(until, |(_, at)| *at);
                assert!(done.iter().all(|(_, at)| *at == first) && first >= next, "{done:?} after {next}");
            } else {
                memory.advance(next, &mut done);
            }
            all.append(&mut done);
        }
        now = until;
    }
    all
}

#[test]
fn going_on_to_the_next_answer_is_going_from_event_to_event() {
    for (seed, latency, full) in [(1, 0, false), (2, 30, false), (3, 7, false), (4, 7, true), (5, 100, true)] {
        let mut config = small(4096);
        (config.link.latency, config.environment.full) = (Time::from_ns(latency), full);
        config.nand.scheduling.cache_read = full;
        (config.nvmm.pages, config.cache.pages, config.nvmm.versions) = (80, 80 * 16, 80 * 20);
        let make = || MainMemory::Hybrid(Box::new(made(&config, seed)));
        let (mut stepped, mut gone_on) = (make(), make());
        let expected = answers(&mut stepped, seed, false);
        assert_eq!(expected.len(), 3000);
        assert_eq!(answers(&mut gone_on, seed, true), expected);
        let (MainMemory::Hybrid(stepped), MainMemory::Hybrid(gone_on)) = (stepped, gone_on) else { unreachable!() };
        assert_eq!(stepped.cache().stats(), gone_on.cache().stats());
        assert_eq!(stepped.table().stats(), gone_on.table().stats());
        let make = || MainMemory::Dram(DramMemory::new(&small(4096).dram).expect("it can work"));
        assert_eq!(answers(&mut make(), seed, true), answers(&mut make(), seed, false));
    }
}

#[test]
fn what_cannot_work_says_why() {
    let error = |config: &HybridConfig| match HybridMemory::new(config, &Streams::new(1)) {
        Ok(_) => panic!("it works"),
        Err(error) => error.to_string(),
    };
    let mut config = small(8192);
    config.cache.keys.size = cache_bytes(5, 8192);
    assert_eq!(error(&config), "memory.cache: sets is 5, expected a power of two");
    let mut config = small(8192);
    config.cache.keys.size = cache_bytes(1 << 20, 8192);
    let found = error(&config);
    assert!(found.starts_with("memory.dram: found 4294967296 bytes, expected at least 34426847232"), "{found}");
    let mut config = small(8192);
    config.nvmm.segments = 5;
    assert_eq!(error(&config), "nvmm: 5 segments per page, expected 4, 8 or 16");
}

/// Makes a call, and random requests meanwhile, until it is answered; then settles. Returns the time.
fn call(memory: &mut MainMemory, rng: &mut Rng, from: Time, call: MemoryCall, lines: u64, requests: u32) -> Time {
    const CALL: u32 = 1 << 20;
    let (mut done, mut now, mut answered) = (Vec::new(), from, false);
    memory.call(now, CALL, call);
    for id in 0..requests {
        let kind = if rng.below(2) == 0 { LineKind::WriteBack } else { LineKind::Fill };
        memory.submit(now, LineRequest { id, address: rng.below(lines) * 64, kind });
    }
    while let Some(next) = memory.next_event() {
        now = next;
        memory.advance(now, &mut done);
        answered |= done.drain(..).any(|(id, _)| id == CALL);
    }
    assert!(answered, "the call is not answered");
    now
}

#[test]
fn a_rollback_returns_every_line_to_the_last_sync() {
    for (seed, page_bytes) in [(1, 4096), (2, 16384)] {
        let config = small(page_bytes);
        let lines = config.cache.pages * u64::from(page_bytes) / 64 / 4;
        let mut memory = MainMemory::Hybrid(Box::new(made(&config, seed)));
        let mut rng = Streams::new(seed).stream("test");
        let mut now = Time::ZERO;
        let write = |memory: &mut MainMemory, rng: &mut Rng, now: Time, kind: LineKind| {
            let (mut done, mut now) = (Vec::new(), now);
            for id in 0..400 {
                memory.submit(now, LineRequest { id, address: rng.below(lines) * 64, kind });
            }
            while let Some(next) = memory.next_event() {
                now = next;
                memory.advance(now, &mut done);
            }
            assert_eq!(done.len(), 400);
            now
        };
        // More syncs than the four tokens that the memory keeps.
        for round in 0..9 {
            now = write(&mut memory, &mut rng, now, LineKind::WriteBack);
            now = call(&mut memory, &mut rng, now, MemoryCall::Sync, lines, 0);
            now = write(&mut memory, &mut rng, now, LineKind::WriteBack);
            if round % 2 == 1 {
                now = call(&mut memory, &mut rng, now, MemoryCall::Rollback, lines, 0);
            }
            // The memory itself compares what is read with the last write, or with the state of the token.
            now = write(&mut memory, &mut rng, now, LineKind::Fill);
        }
        let MainMemory::Hybrid(memory) = memory else { unreachable!("it is one") };
        assert_eq!(memory.fault(), None);
        let table = memory.table().stats();
        assert_eq!((table.syncs, table.rollbacks, memory.table().tokens().count()), (9, 4, 4));
        assert!(table.rolled_back > 20, "{table:?}");
    }
}

#[test]
fn requests_go_on_during_a_sync_and_wait_during_a_rollback() {
    let config = HybridConfig { verify: false, ..small(4096) };
    let lines = config.cache.pages * 64 / 2;
    let mut memory = MainMemory::Hybrid(Box::new(made(&config, 1)));
    let mut rng = Streams::new(1).stream("test");
    let mut now = Time::ZERO;
    for _ in 0..6 {
        now = call(&mut memory, &mut rng, now, MemoryCall::Sync, lines, 300);
        now = call(&mut memory, &mut rng, now, MemoryCall::Rollback, lines, 300);
    }
    let MainMemory::Hybrid(hybrid) = &mut memory else { unreachable!("it is one") };
    assert_eq!((hybrid.fault(), hybrid.table().stats().rollbacks), (None, 6));
    // Syncs that wait together are served by one; each is answered.
    let mut done = Vec::new();
    for id in 0..5 {
        memory.call(now, id, MemoryCall::Sync);
    }
    while let Some(next) = memory.next_event() {
        memory.advance(next, &mut done);
    }
    let MainMemory::Hybrid(hybrid) = &memory else { unreachable!("it is one") };
    assert_eq!((done.len(), hybrid.table().stats().syncs), (5, 8));
}

#[test]
fn setting_permissions_needs_pages_that_exist() {
    let config = small(8192);
    let mut memory = MainMemory::Hybrid(Box::new(made(&config, 1)));
    let mut rng = Streams::new(1).stream("test");
    memory.submit(Time::ZERO, LineRequest { id: 0, address: 70_016, kind: LineKind::WriteBack });
    let mut now = call(&mut memory, &mut rng, Time::ZERO, MemoryCall::Sync, 1, 0);
    let permanent = |ranges| MemoryCall::Permanent { ranges };
    now = call(&mut memory, &mut rng, now, permanent(vec![(66_000, 60_000)]), 1, 0);
    assert_eq!(memory.fault(), None);
    call(&mut memory, &mut rng, now, permanent(vec![(66_000, 80_000)]), 1, 0);
    assert!(memory.fault().is_some(), "the second page was never written");
}
