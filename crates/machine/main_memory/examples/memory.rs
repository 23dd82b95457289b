//! Cost of a line from flash behind DRAM: `memory KIND REQUESTS PAGE`, for callgrind with
//! `--toggle-collect='*measured*'` (`bench/nvmm.sh`): random reads of 64 bytes, 8 GiB of flash behind 512 MiB. `memory open`
//! opens a tebibyte.
//!
//! Kinds: `miss` (anywhere, 32 outstanding), `hit` (in DRAM, their tags in the controller, 32 outstanding), `lone` (the
//! same, one outstanding), `tags` (in DRAM, their tags mostly there too, 32 outstanding).

use dram_cache::{Keys, Prefetch, PrefetchKind};
use link::LineLinkConfig;
use main_memory::{HybridConfig, HybridMemory, MainMemory};
use media::Geometry;
use media::line::{LineKind, LineRequest};
use sim::{Streams, Time};

const USAGE: &str = "expected miss, hit, lone or tags, a number of requests and bytes of a page; or open";

/// So many bytes of SLC flash behind so many of DRAM.
fn config(bytes: u64, cache: u64, page: u32, channels: u32) -> HybridConfig {
    let dies = channels * 4;
    let block = u64::from(page) * 128;
    let geometry = Geometry {
        channels,
        chips: 4,
        dies: 1,
        planes: 1,
        // A tenth more than what is addressed, and room for the table.
        blocks: ((bytes + bytes / 10) / block / u64::from(dies)) as u32 + 40,
        pages: 128,
        page_bytes: page,
        unit_bytes: page,
    };
    let segments = 65536 / page;
    let pages = (bytes / 65536) as u32;
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
    (dram.channels, dram.ranks, dram.interleave) = (2, if bytes > 1 << 38 { 8 } else { 1 }, u64::from(page));
    HybridConfig {
        link: LineLinkConfig { latency: Time::from_ns(10), bandwidth: None, header: 0 },
        dram,
        cache: dram_cache::Config {
            keys: Keys {
                size: cache / (16 * u64::from(page)) * 16 * u64::from(page),
                ways: 16,
                tag_buffer: 1024,
                tag_reads: 32,
                fetches: 64,
                buffers: None,
                cold: 4,
                prefetch: Prefetch { kind: PrefetchKind::None, window: 1, fetches: 32 },
            },
            page_bytes: page,
            pages: bytes / u64::from(page),
            buffers: 16,
            moves: false,
        },
        nvmm: nvmm::Config {
            controller: nvmm::Controller(1),
            geometry,
            segments,
            pages,
            versions: pages * (segments + 4),
            order: nvmm::Order::Ascending,
            open_blocks: dies,
            tags: 1,
            time_bits: 24,
            management: nvmm::Management {
                policy: nvmm::Policy::LongestChain,
                collect_start: 4,
                tokens: 4,
                journal_pages: 64,
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
            scheduling: nand::Scheduling { cache_read: true, ..nand::Scheduling::plain() },
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
        environment: nvmm::Environment { full: true, synced: false, translation: Time::from_ns(50), die_queue: 16 },
        verify: false,
    }
}

/// The measured operations, by name.
#[inline(never)]
fn measured(memory: &mut MainMemory, start: Time, lines: &[u64], depth: u32) -> Time {
    play(memory, start, lines, depth)
}

/// Reads the lines, `depth` at a time; when the last is there.
fn play(memory: &mut MainMemory, start: Time, lines: &[u64], depth: u32) -> Time {
    let (mut now, mut next, mut left) = (start, 0, lines.len());
    let mut done: Vec<(u32, Time)> = Vec::with_capacity(64);
    let mut ask = |memory: &mut MainMemory, now: Time, id: u32| {
        if let Some(address) = lines.get(next) {
            memory.submit(now, LineRequest { id, address: *address, kind: LineKind::Fill });
            next += 1;
        }
    };
    for id in 0..depth {
        ask(memory, now, id);
    }
    while left > 0 {
        memory.advance_to_completion(Time::MAX, &mut done);
        now = done.last().expect("something is under way").1;
        left -= done.len();
        for (id, _) in done.drain(..) {
            ask(memory, now, id);
        }
    }
    now
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let make = |config: &HybridConfig| HybridMemory::new(config, &Streams::new(1)).map_err(|error| error.to_string());
    match arguments.first().map(String::as_str) {
        Some("open") => {
            let memory = make(&config(1 << 40, 32 << 30, 8192, 16))?;
            println!("{} bytes, of which nothing is touched", memory.bytes());
        }
        Some(kind @ ("miss" | "hit" | "lone" | "tags")) => {
            let (Some(requests), Some(page)) = (number(1), number(2)) else { return Err(USAGE.to_owned()) };
            let (bytes, cache) = (8 << 30, 512 << 20);
            let mut memory = MainMemory::Hybrid(Box::new(make(&config(bytes, cache, page as u32, 8))?));
            let mut rng = Streams::new(1).stream("lines");
            let room = match kind {
                "miss" => bytes,
                "tags" => 4096 * page,
                _ => 512 * page,
            };
            let mut start = Time::ZERO;
            if kind != "miss" {
                // Brings in first, in order, all that is read later.
                let lines: Vec<u64> = (0..room / page).map(|number| number * page).collect();
                start = play(&mut memory, start, &lines, 32);
            }
            let lines: Vec<u64> = (0..requests).map(|_| rng.below(room >> 6) << 6).collect();
            let end = measured(&mut memory, start, &lines, if kind == "lone" { 1 } else { 32 });
            let MainMemory::Hybrid(memory) = &memory else { unreachable!("it is one") };
            println!("{} lines in {}: {:?}", requests, end - start, memory.cache().stats());
        }
        _ => return Err(USAGE.to_owned()),
    }
    Ok(())
}
