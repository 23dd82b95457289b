//! Compares UniPro over M-PHY with hand-computed figures.

use link::ufs::{Series, UPIU};
use link::{Direction, Span, Ufs, UfsConfig};
use proptest::prelude::*;
use sim::Time;

const DEVICE: Direction = Direction::ToDevice;
const HOST: Direction = Direction::ToHost;

/// Returns the time of `bytes` at HS-G3B on two lanes: 2 x 5830.4 Mb/s, 10 bits per byte.
fn at_full_rate(bytes: u64) -> Time {
    Time::from_ps((bytes as f64 * 10.0 / (2.0 * 5830.4e6) * 1e12).ceil() as u64)
}

fn near(found: Time, expected: Time) {
    let error = found.ps().abs_diff(expected.ps());
    assert!(error <= 20, "{found}, expected {expected}");
}

fn send(link: &mut Ufs, now: Time, direction: Direction, bytes: u32) -> link::Transfer {
    link.upiu(now, direction, bytes, |_, _| {})
}

#[test]
fn every_gear_and_series_has_its_rate() {
    // M-PHY: raw rate of a lane in Mb/s.
    let rates = [
        (1, Series::A, 1248.0),
        (1, Series::B, 1457.6),
        (2, Series::A, 2496.0),
        (2, Series::B, 2915.2),
        (3, Series::A, 4992.0),
        (3, Series::B, 5830.4),
        (4, Series::A, 9984.0),
        (4, Series::B, 11660.8),
        (5, Series::A, 19968.0),
        (5, Series::B, 23321.6),
    ];
    for (gear, series, mb_s) in rates {
        for lanes in [1, 2] {
            let mut link = Ufs::new(&UfsConfig { gear, series, lanes, credits: 1 << 20, ..UfsConfig::default() });
            let sent = send(&mut link, Time::ZERO, HOST, 270).sent;
            // 270 bytes of segment and 8 bytes around it, 10 bits each.
            let expected = 278.0 * 10.0 / (mb_s * 1e6 * f64::from(lanes));
            near(sent, Time::from_ps((expected * 1e12) as u64));
        }
    }
}

#[test]
fn a_command_is_one_frame() {
    let mut link = Ufs::new(&UfsConfig::default());
    let start = Time::from_us(3);
    let moved = send(&mut link, start, DEVICE, UPIU);
    near(moved.sent, start + at_full_rate(40));
    assert_eq!(moved.arrives, moved.sent + Time::from_ns(400));
    let [down, up] = link.utilization(Time::from_us(9));
    assert_eq!((down.payload, down.wire, down.packets), (32, 40, 1));
    // The only traffic is the acknowledgment.
    assert_eq!((up.payload, up.wire, up.packets), (0, 6, 0));
    near(up.busy, at_full_rate(6));
}

#[test]
fn four_kib_of_data_are_sixteen_frames() {
    let mut link = Ufs::new(&UfsConfig::default());
    // 4128 bytes: 15 segments of 272 and one of 48.
    let moved = send(&mut link, Time::ZERO, HOST, UPIU + 4096);
    near(moved.sent, at_full_rate(4128 + 16 * 8));
    let [down, up] = link.utilization(moved.arrives);
    assert_eq!((up.payload, up.wire, up.packets, down.wire), (4128, 4256, 16, 16 * 6));
    // Share of the raw rate that is left for data.
    let rate = 4096.0 / moved.sent.secs_f64() / 1e6;
    assert!((rate / (1166.08 * 4096.0 / 4256.0) - 1.0).abs() < 1e-3, "{rate} MB/s");
}

#[test]
fn an_odd_byte_is_padded() {
    let mut link = Ufs::new(&UfsConfig::default());
    send(&mut link, Time::ZERO, DEVICE, UPIU + 25);
    assert_eq!(link.utilization(Time::from_us(1))[0].wire, 57 + 8 + 1);
}

#[test]
fn few_credits_hold_the_sender_back() {
    let mut link = Ufs::new(&UfsConfig { credits: 2 * 288, ..UfsConfig::default() });
    // Two frames per round trip: a frame, 400 ns, 6 bytes of AFC, 400 ns.
    let interval = (at_full_rate(280) + at_full_rate(6) + Time::from_ns(800)) / 2;
    let sent = send(&mut link, Time::ZERO, HOST, 272 * 10).sent;
    near(sent, interval * 9 + at_full_rate(280));
    // Four frames in flight suffice: 0.24 us each against 1.05 us.
    let mut link = Ufs::new(&UfsConfig { credits: 5 * 288, ..UfsConfig::default() });
    near(send(&mut link, Time::ZERO, HOST, 272 * 10).sent, at_full_rate(2800));
}

#[test]
fn only_acknowledgments_couple_the_directions() {
    let mut link = Ufs::new(&UfsConfig::default());
    let down = send(&mut link, Time::ZERO, DEVICE, UPIU + 4096);
    let up = send(&mut link, Time::ZERO, HOST, UPIU + 4096);
    near(down.sent, at_full_rate(4256));
    // 16 frames downstream have caused sixteen AFC frames upstream.
    near(up.sent, at_full_rate(4256 + 16 * 6));
}

#[test]
fn a_power_cut_frees_the_wire() {
    let mut link = Ufs::new(&UfsConfig::default());
    send(&mut link, Time::ZERO, HOST, UPIU + 65536);
    let cut = Time::from_us(2);
    link.power_cut(cut);
    assert_eq!(link.utilization(cut)[1].busy, cut);
    near(send(&mut link, cut, HOST, UPIU).sent, cut + at_full_rate(40));
}

#[test]
#[should_panic(expected = "HS-G6, expected gear 1 to 5")]
fn gear_six_is_rejected() {
    Ufs::new(&UfsConfig { gear: 6, ..UfsConfig::default() });
}

proptest! {
    /// Each wire carries messages one at a time and in order, and is never busy for longer than the elapsed time.
    #[test]
    fn wires_stay_in_order_and_within_elapsed_time(
        steps in prop::collection::vec((any::<bool>(), 0u32..20_000, 0u64..40), 1..100),
        gear in 1u8..6,
        lanes in 1u8..3,
    ) {
        let mut link = Ufs::new(&UfsConfig { gear, lanes, ..UfsConfig::default() });
        let mut spans: [Vec<Span>; 2] = [Vec::new(), Vec::new()];
        let (mut now, mut payload) = (Time::ZERO, [0, 0]);
        for (write, bytes, pause) in steps {
            now += Time::from_us(pause);
            let direction = if write { DEVICE } else { HOST };
            link.upiu(now, direction, UPIU + bytes, |way, span| spans[way as usize].push(span));
            payload[direction as usize] += u64::from(UPIU + bytes);
            for used in link.utilization(now) {
                prop_assert!(used.busy <= now);
            }
        }
        let end = spans.iter().flatten().map(|span| span.to).max().expect("something was sent") + Time::from_ms(1);
        for (used, spans) in link.utilization(end).into_iter().zip(&spans) {
            prop_assert!(spans.windows(2).all(|pair| pair[0].to <= pair[1].from));
            let own: u64 = spans.iter().map(|span| (span.to - span.from).ps()).sum();
            prop_assert!(used.busy.ps() >= own && used.busy <= end);
            prop_assert_eq!(used.payload, payload[used.direction as usize]);
            prop_assert!(used.wire >= used.payload + 8 * used.packets);
        }
    }
}
