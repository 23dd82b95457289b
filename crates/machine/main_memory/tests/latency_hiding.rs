//! The latency-hiding buffer of High-Bandwidth Flash.

use main_memory::MainMemory;
use media::line::{LineKind, LineRequest};
use sim::{Streams, Time};
use system::System;

/// A sixteenth of `hbf-2026`: 100 GB/s from one die, with a buffer of `pages` pages and a read of `us` microseconds.
fn sixteenth(pages: u64, us: u32) -> System {
    let (size, read, ways) = (format!("{}KiB", pages * 4), format!("{us}us"), (pages / 4).to_string());
    let sets = [
        ("memory.cache.size", size.as_str()),
        ("memory.cache.ways", ways.as_str()),
        ("memory.cache.cold", "2"),
        ("memory.cache.fetches", "2048"),
        ("memory.channels", "4"),
        ("memory.link.bandwidth", "100GB/s"),
        ("memory.prefetch.fetches", "2000"),
        ("nvmm.capacity", "32GiB"),
        ("nvmm.translation", "16ns"),
        ("flash.channels", "16"),
        ("flash.read", read.as_str()),
    ];
    System::load("hbf-2026", &sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the bytes per second of four sequential streams, in the second half of a run over six buffers.
fn streamed(pages: u64, us: u32) -> f64 {
    streamed_by(&sixteenth(pages, us), pages)
}

/// Likewise, by a system with a buffer of `pages` pages.
fn streamed_by(system: &System, pages: u64) -> f64 {
    const STREAMS: u64 = 4;
    let mut memory = MainMemory::new(system, &Streams::new(1)).unwrap_or_else(|error| panic!("{error}"));
    let count = 64 * pages * 6;
    let (mut at, mut done) = ([0u64; STREAMS as usize], Vec::new());
    let mut submit = |memory: &mut MainMemory, now, id: u32| {
        let stream = u64::from(id) % STREAMS;
        let place = &mut at[stream as usize];
        memory.submit(
            now,
            LineRequest { id, address: (stream << 30) + (stream << 20) + *place * 64, kind: LineKind::Fill },
        );
        *place += 1;
    };
    for id in 0..1024 {
        submit(&mut memory, Time::ZERO, id);
    }
    let (mut asked, mut ended, mut warm) = (1024, 0, Time::ZERO);
    loop {
        memory.advance_to_completion(Time::MAX, &mut done);
        for (id, now) in done.drain(..) {
            ended += 1;
            if ended == count / 2 {
                warm = now;
            }
            if ended == count {
                return (count / 2) as f64 * 64.0 / (now - warm).secs_f64();
            }
            if asked < count {
                asked += 1;
                submit(&mut memory, now, id);
            }
        }
    }
}

#[test]
fn the_knee_is_where_bandwidth_times_latency_puts_it() {
    const LINK: f64 = 100e9;
    for us in [10, 15, 20, 25] {
        // 1 MB at 10 us to 2.5 MB at 25 us; 16 times as much in a whole stack.
        let knee = LINK * f64::from(us) * 1e-6 / 4096.0;
        for eighths in [2, 4, 6, 10, 12] {
            let pages = ((knee * f64::from(eighths) / 8.0) as u64).next_multiple_of(4);
            let found = streamed(pages, us);
            let bound = (pages as f64 * 4096.0 / f64::from(us) * 1e6).min(LINK);
            println!("{us} us, {pages} pages: {:.1} GB/s of {:.1}", found / 1e9, bound / 1e9);
            // Below the knee, a page also waits for its bus and its die, and to be read.
            let least = if eighths < 8 { 0.85 } else { 0.99 };
            assert!((least..1.001).contains(&(found / bound)), "{us} us, {pages} pages: {found} of {bound} B/s");
        }
    }
}

#[test]
fn without_reading_ahead_the_latency_shows() {
    let mut system = sixteenth(640, 20);
    system.memory.cache.prefetch.kind = dram_cache::PrefetchKind::None;
    // 1,024 lines of 16 pages are outstanding, and each waits for the flash.
    let found = streamed_by(&system, 640);
    assert!(found < 10e9, "{found} B/s");
}
