//! Latency of single reads with long pauses: memory that waits for requests must not become slower.

use main_memory::MainMemory;
use media::line::{LINE, LineKind, LineRequest};
use sim::{Streams, Time};
use system::System;

const READS: usize = 20_000;

/// Submits a read at `now` and returns its latency.
fn read(memory: &mut MainMemory, now: Time, id: u32, address: u64) -> Time {
    let mut done = Vec::new();
    memory.submit(now, LineRequest { id, address, kind: LineKind::Fill });
    while done.is_empty() {
        let next = memory.next_event().expect("a read is under way");
        memory.advance(next, &mut done);
    }
    done[0].1 - now
}

/// Reads a random line every `gap` on average, at intervals of half a `gap` to one and a half, so that reads come in
/// all phases of a refresh interval. In flash behind DRAM, all reads are from 512 pages of `page` bytes that the DRAM
/// holds. Returns the mean and the median in nanoseconds.
fn latency(system: &System, page: Option<u64>, gap: Time) -> (f64, f64) {
    let mut memory = MainMemory::new(system, &Streams::new(1)).unwrap_or_else(|error| panic!("{error}"));
    let mut now = Time::ZERO;
    if let Some(page) = page {
        for number in 0..512 {
            // In no order that a prefetcher follows.
            read(&mut memory, now, 0, number * 37 % 512 * page);
            now += Time::from_us(200);
        }
    }
    now += Time::from_ms(1);
    let bytes = page.map_or(memory.bytes(), |page| 512 * page);
    let mut rng = Streams::new(2).stream("reads");
    let (mut submitted, mut done) = (Vec::with_capacity(READS), Vec::with_capacity(READS));
    for id in 0..READS {
        while let Some(next) = memory.next_event().filter(|next| *next < now) {
            memory.advance(next, &mut done);
        }
        let address = rng.below(bytes / LINE) * LINE;
        memory.submit(now, LineRequest { id: id as u32, address, kind: LineKind::Fill });
        submitted.push(now);
        // Reads do not wait for earlier ones: after a refresh, they would all miss the next.
        now += Time::from_ps(gap.ps() / 2 + rng.below(gap.ps()));
    }
    while done.len() < READS {
        let next = memory.next_event().expect("reads are under way");
        memory.advance(next, &mut done);
    }
    let mut latencies: Vec<f64> = done.iter().map(|(id, at)| (*at - submitted[*id as usize]).us_f64() * 1e3).collect();
    let mean = latencies.iter().sum::<f64>() / READS as f64;
    latencies.sort_unstable_by(f64::total_cmp);
    (mean, latencies[READS / 2])
}

#[test]
fn latency_of_single_reads_does_not_depend_on_the_pause() {
    for (preset, page) in [
        ("dram-ddr5", None),
        ("dram-hbm4", None),
        ("cxl-ssd", Some(16384)),
        ("hbf", Some(4096)),
        ("hbf-accelerator", Some(4096)),
        ("hbf-2026", Some(4096)),
    ] {
        let load = |sets: &[(&str, &str)]| System::load(preset, sets).unwrap_or_else(|error| panic!("{error}"));
        let system = load(&[]);
        let awake = load(&[("memory.power_down", "never")]);
        let (_, unloaded) = latency(&awake, page, Time::from_us(1));
        let device = system.memory.dram.device();
        let exit = device.clock.time(device.timing.xp.into()).us_f64() * 1e3;
        let clock = device.clock.period_ps() / 1e3;
        let mut means = Vec::new();
        for nanoseconds in [100, 300, 1000, 3000, 10_000, 100_000, 1_000_000] {
            let (mean, median) = latency(&system, page, Time::from_ns(nanoseconds));
            println!("{preset}, {nanoseconds} ns apart: mean {mean:.1}, median {median:.1}, unloaded {unloaded:.1} ns");
            let wanted = unloaded + exit;
            assert!((median - wanted).abs() <= clock + 1e-6, "{preset}, {nanoseconds} ns: {median}, expected {wanted}");
            means.push(mean);
        }
        let (least, most) = means.iter().fold((f64::MAX, 0.0_f64), |(a, b), mean| (a.min(*mean), b.max(*mean)));
        assert!(most - least < 5.0, "{preset}: {means:?}");
    }
}
