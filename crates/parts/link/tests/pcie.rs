//! Compares PCI Express times with hand-computed figures.

use link::{Config, Direction, Link, PcieConfig};
use proptest::prelude::*;
use sim::Time;

const NONE: fn(Direction, link::Span) = |_, _| {};

fn gen3x4() -> PcieConfig {
    PcieConfig { generation: 3, lanes: 4, dllp: 0, read_completion_boundary: Some(64), ..PcieConfig::default() }
}

fn ps(n: u64) -> Time {
    Time::from_ps(n)
}

/// Byte times by generation, derived from transfer rate and encoding: one payload of 236 x 4096 bytes without packet
/// overhead.
#[test]
fn signaling_rates_by_generation() {
    // Packet bits per second and lane: rate x encoding.
    let rates = [2.5e9 * 0.8, 5e9 * 0.8, 8e9 * 128.0 / 130.0, 16e9 * 128.0 / 130.0, 32e9 * 128.0 / 130.0];
    let rates = rates.into_iter().chain([64e9 * 236.0 / 256.0]);
    for (i, rate) in rates.enumerate() {
        let generation = i as u8 + 1;
        for lanes in [1, 2, 4, 8, 16] {
            let config = PcieConfig { generation, lanes, dllp: 0, max_payload: 4096, ..PcieConfig::default() };
            let mut link = Link::new(&Config::Pcie(config));
            let bytes: u64 = 236 * 4096;
            let header = if generation == 6 { 16 } else { 24 };
            let wire = bytes + 236 * header;
            let sent = link.data(Time::ZERO, Direction::ToHost, bytes, NONE).sent;
            let expected = wire as f64 * 8.0 / rate / f64::from(lanes) * 1e12;
            assert!((sent.ps() as f64 - expected).abs() < 1.01, "generation {generation} x{lanes}: {sent}");
        }
    }
}

/// A 4 KiB write to the host, generation 3 x4, 256-byte payloads: 16 TLPs of 280 bytes at 253.90625 ps per byte.
#[test]
fn a_posted_write() {
    let mut link = Link::new(&Config::Pcie(gen3x4()));
    let moved = link.data(Time::from_us(1), Direction::ToHost, 4096, NONE);
    assert_eq!(moved.sent, Time::from_us(1) + ps(1_137_500));
    assert_eq!(moved.arrives, moved.sent + Time::from_ns(150));
    let [down, up] = link.utilization(moved.sent);
    assert_eq!((up.payload, up.wire, up.packets, up.busy), (4096, 16 * 280, 16, ps(1_137_500)));
    assert_eq!((down.wire, down.packets, down.busy), (0, 0, Time::ZERO));
}

/// A 64-byte queue entry: a request of 24 bytes up, a completion of 84 bytes down, two link latencies and host memory.
#[test]
fn a_fetch_is_a_round_trip() {
    let mut link = Link::new(&Config::Pcie(gen3x4()));
    // 24 x 253.90625 = 6093.75, 84 x 253.90625 = 21328.125: rounded up.
    let expected = ps(6_094 + 150_000 + 200_000 + 21_329 + 150_000);
    assert_eq!(link.fetch(Time::ZERO, 64), expected);
    let [down, up] = link.utilization(expected);
    assert_eq!((down.payload, down.wire, down.packets), (64, 84, 1));
    assert_eq!((up.payload, up.wire, up.packets), (0, 24, 1));
}

/// A doorbell of 28 bytes down, then the fetch; a completion entry of 40 bytes up, and an interrupt of 28 bytes behind
/// it.
#[test]
fn a_command_is_a_doorbell_and_a_fetch() {
    let mut link = Link::new(&Config::Pcie(gen3x4()));
    let (now, at) = (Time::from_us(2), Time::from_us(7));
    // 28 x 253.90625 = 7109.375, rounded up.
    let fetched = at + ps(7_110 + 150_000) + ps(6_094 + 150_000 + 200_000 + 21_329 + 150_000);
    assert_eq!(link.submission(now, at), fetched);
    // 40 x 253.90625 = 10156.25.
    let (entry, interrupt) = link.completion(now, fetched, true);
    assert_eq!(entry, fetched + ps(10_157 + 150_000));
    assert_eq!(interrupt, entry + ps(7_110));
    let [down, up] = link.utilization(interrupt);
    assert_eq!((down.payload, down.wire, down.packets), (4 + 64, 28 + 84, 2));
    assert_eq!((up.payload, up.wire, up.packets), (16 + 4, 24 + 40 + 28, 3));
    assert_eq!(down.busy, ps(7_110 + 21_329));
    assert_eq!(up.busy, ps(6_094 + 10_157 + 7_110));
}

/// 4 KiB from the host: 8 requests of 512 bytes, the first of which starts the stream, and 64 completions.
#[test]
fn the_device_reads_data_from_host_memory() {
    let mut link = Link::new(&Config::Pcie(gen3x4()));
    let moved = link.data(Time::ZERO, Direction::ToDevice, 4096, NONE);
    let stream = 64 * 84 * 25_390_625 / 100_000;
    assert_eq!(moved.sent, ps(6_094 + 350_000 + stream));
    let [down, up] = link.utilization(moved.arrives);
    assert_eq!((down.payload, down.wire, down.packets), (4096, 64 * 84, 64));
    assert_eq!((up.payload, up.wire, up.packets), (0, 8 * 24, 8));
}

#[test]
fn acknowledgments_take_the_other_direction() {
    let mut link = Link::new(&Config::Pcie(PcieConfig { dllp: 8, ..gen3x4() }));
    let end = link.data(Time::ZERO, Direction::ToHost, 4096, NONE).arrives;
    let [down, up] = link.utilization(end);
    assert_eq!((down.wire, down.packets, up.wire), (16 * 8, 0, 16 * 280));
    // 16 times 8 bytes at 253.90625 ps, rounded up.
    assert_eq!(down.busy, ps(16 * 2_032));
}

#[test]
fn a_stated_bandwidth_has_no_overhead() {
    let config = PcieConfig { bandwidth: Some(4_000_000_000), ..PcieConfig::default() };
    let mut link = Link::new(&Config::Pcie(config));
    assert_eq!(link.data(Time::ZERO, Direction::ToHost, 4096, NONE).sent, Time::from_ns(1024));
    let [down, up] = link.utilization(Time::from_us(2));
    assert_eq!((up.wire, up.payload, down.wire), (4096, 4096, 0));
}

/// With data and queue entries saturating the link, data reaches the limit set by encoding and headers, and queue
/// entries still arrive with little delay.
#[test]
fn a_saturated_link_reaches_its_bound() {
    let mut link = Link::new(&Config::Pcie(gen3x4()));
    let (mut now, mut waited) = (Time::ZERO, Time::ZERO);
    for _ in 0..10_000 {
        now = link.data(now, Direction::ToHost, 4096, NONE).sent;
        let alone = ps(10_157) + Time::from_ns(150);
        waited = waited.max(link.completion(now, now, false).0 - now - alone);
    }
    let [_, up] = link.utilization(now);
    assert!(up.fraction() > 0.999, "{}", up.fraction());
    // 4 GT/s x 4 lanes x 128/130 / 8 = 3.938 GB/s, of which 4096 / (16 x 280 + 40) is data.
    let data = 10_000.0 * 4096.0 / now.secs_f64();
    assert!((data / (8e9 * 4.0 * 128.0 / 130.0 / 8.0 * 4096.0 / 4520.0) - 1.0).abs() < 1e-3, "{data}");
    assert!(waited < Time::from_ns(40), "a queue entry waited {waited} behind data");
}

#[test]
#[should_panic(expected = "PCIe generation 7, expected 1 to 6")]
fn an_unknown_generation_is_refused() {
    Link::new(&Config::Pcie(PcieConfig { generation: 7, ..PcieConfig::default() }));
}

proptest! {
    /// Bytes and packets are counted exactly, and no direction is ever busy for longer than the elapsed time.
    #[test]
    fn every_byte_is_accounted_for(
        steps in prop::collection::vec((0u8..6, 1u64..9000, 0u64..3000, 0u64..2000), 1..200),
        dllp in 0u32..17,
    ) {
        let config = PcieConfig { dllp, ..gen3x4() };
        let mut link = Link::new(&Config::Pcie(config));
        let mut now = Time::ZERO;
        // (packets, payload, bytes) to the device and to the host.
        let mut expected = [(0u64, 0u64, 0u64); 2];
        let mut sent = |way: usize, packets: u64, payload: u64, header: u64| {
            expected[way].0 += packets;
            expected[way].1 += payload;
            expected[way].2 += payload + packets * header;
            expected[1 - way].2 += packets * u64::from(dllp);
        };
        for (kind, bytes, pause, ahead) in steps {
            now += Time::from_ns(pause);
            let at = now + Time::from_ns(ahead);
            let arrives = match kind {
                0 => {
                    sent(1, bytes.div_ceil(256), bytes, 24);
                    link.data(now, Direction::ToHost, bytes, NONE).arrives
                }
                1 => {
                    sent(1, bytes.div_ceil(512), 0, 24);
                    sent(0, bytes.div_ceil(64), bytes, 20);
                    link.data(now, Direction::ToDevice, bytes, NONE).arrives
                }
                2 => {
                    sent(1, bytes.div_ceil(512), 0, 24);
                    sent(0, bytes.div_ceil(64), bytes, 20);
                    link.fetch(now, bytes as u32)
                }
                3 => {
                    sent(0, 1, 4, 24);
                    sent(1, 1, 0, 24);
                    sent(0, 1, 64, 20);
                    link.submission(now, at)
                }
                4 => {
                    sent(1, 1, 16, 24);
                    if bytes.is_multiple_of(2) {
                        sent(1, 1, 4, 24);
                    }
                    link.completion(now, at, bytes.is_multiple_of(2)).0
                }
                _ => {
                    sent(0, 1, 4, 24);
                    sent(0, 1, 4, 24);
                    sent(1, 1, 4, 24);
                    link.head();
                    link.doorbell(now, at).max(link.interrupt(now))
                }
            };
            prop_assert!(arrives > now);
            for way in link.utilization(now) {
                prop_assert!(way.busy <= way.elapsed);
            }
        }
        let got = link.utilization(now).map(|u| (u.packets, u.payload, u.wire));
        prop_assert_eq!(got, expected);
    }
}
