//! HBM stacks: organization, peak bandwidth, and what saturating reads reach.

use dram::{Channel, Config, Device, Memory, RankKind, Ranks, Request};
use sim::{Rng, Streams, Time};

/// A stack: preset, pseudo-channels, gibibytes, and JEDEC's peak in GB/s.
const STACKS: [(&str, u32, u64, f64); 3] =
    [("HBM3-6400", 32, 16, 819.2), ("HBM3E-9600", 32, 16, 1228.8), ("HBM4-8000", 64, 32, 2048.0)];

/// Returns a pseudo-channel of two stack IDs.
fn pseudo_channel(preset: &str) -> Config {
    let device = Device::preset(preset).expect("a preset");
    Config { ranks: vec![Ranks { kind: RankKind::Dram, count: 2 }], hash: true, read_queue: 64, ..Config::new(device) }
}

#[test]
fn a_stack_has_the_width_capacity_and_peak_of_its_standard() {
    for (preset, channels, gib, peak) in STACKS {
        let config = pseudo_channel(preset);
        let device = &config.device;
        assert_eq!((device.bus_width, device.burst_bytes(), device.row_bytes), (32, 32, 1024), "{preset}");
        assert_eq!(u64::from(channels) * config.bytes(), gib << 30, "{preset}");
        let stack = f64::from(channels) * device.peak_bandwidth() / 1e9;
        assert!((stack / peak - 1.0).abs() < 1e-3, "{preset}: {stack} GB/s");
    }
}

/// Returns the share of the peak that `requests` reads of `bytes` bytes reach with `outstanding` in progress.
fn share(preset: &str, channels: u32, bytes: u32, outstanding: u64, mut next: impl FnMut(u64) -> u64) -> f64 {
    let config = pseudo_channel(preset);
    let mut memory = Memory::interleaved(&config, channels, 256).expect("a memory");
    let mut read = |id: u64| Request { id, address: next(id), bytes, ..Request::default() };
    let requests = u64::from(channels) * 1_000_000 / u64::from(bytes);
    for id in 0..outstanding {
        memory.submit(Time::ZERO, read(id));
    }
    let (mut submitted, mut end, mut done) = (outstanding, Time::ZERO, Vec::new());
    while let Some(now) = memory.next_event() {
        memory.advance(now, &mut done);
        for completion in done.drain(..) {
            end = completion.at;
            if submitted < requests {
                memory.submit(now, read(submitted));
                submitted += 1;
            }
        }
    }
    let peak = f64::from(channels) * config.device.peak_bandwidth();
    requests as f64 * f64::from(bytes) / (end.ps() as f64 * 1e-12) / peak
}

/// Streams lose bandwidth to changes of row and of stack ID, for which the queue holds too few bursts: the more, the
/// more clocks tRCD, tRP and tCCD_L take. Lines of 64 bytes are two bursts in two bank groups, so that each takes two
/// activations: tFAW allows a third (HBM3) to a quarter of the peak per stack ID.
#[test]
fn saturating_reads_use_the_bandwidth_of_the_stack() {
    for ((preset, channels, gib, peak), (streams, lines)) in
        STACKS.into_iter().zip([(0.95, 0.45), (0.85, 0.3), (0.8, 0.35)])
    {
        let in_order = share(preset, channels, 4096, 16 * u64::from(channels), |id| id * 4096);
        let mut rng: Rng = Streams::new(1).stream("reads");
        let random = share(preset, channels, 64, 64 * u64::from(channels), |_| rng.below(gib << 24) * 64);
        println!("{preset}: stream {:.0} GB/s, random lines {:.0} GB/s of {peak}", in_order * peak, random * peak);
        assert!((streams..1.0).contains(&in_order), "{preset}: {in_order} of the peak in a stream");
        assert!((lines..0.68).contains(&random), "{preset}: {random} of the peak in random lines");
    }
}

/// Makers state about 4 pJ per bit for reads (HBM3E: 3.9); here with the activations of a stream, without standby.
#[test]
fn a_streamed_bit_takes_about_four_picojoules() {
    for (preset, ..) in STACKS {
        let config = pseudo_channel(preset);
        let mut channel = Channel::new(&config).expect("a channel");
        channel.submit(Time::ZERO, Request { id: 1, bytes: 1 << 20, ..Request::default() });
        let (mut now, mut done) = (Time::ZERO, Vec::new());
        while let Some(next) = channel.next_event() {
            now = next;
            channel.advance(now, &mut done);
        }
        let ranks = channel.energy(now);
        let spent: f64 = ranks.iter().map(|rank| rank.read.pj_f64() + rank.activate.pj_f64()).sum();
        let per_bit = spent / f64::from(8 << 20);
        println!("{preset}: {per_bit:.2} pJ/bit");
        assert!((3.9..4.6).contains(&per_bit), "{preset}: {per_bit} pJ/bit");
    }
}
