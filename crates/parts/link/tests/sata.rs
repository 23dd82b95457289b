//! Compares Serial ATA times with hand-computed figures.

use link::sata::Pace;
use link::{Config, Direction, Link, Sata, SataConfig, Span, sata};
use proptest::prelude::*;
use sim::Time;

const DEVICE: Direction = Direction::ToDevice;
const HOST: Direction = Direction::ToHost;

fn link(config: SataConfig) -> Link {
    Link::new(&Config::Sata(config))
}

/// Returns the time of a frame with a FIS of `bytes` at 6 Gb/s: 12 bytes around it, 10 bits per byte, 256 dwords for
/// 254.
fn frame(bytes: u64) -> Time {
    let bits = (bytes + 12) as f64 * 10.0 * 256.0 / 254.0;
    Time::from_ps((bits / 6e9 * 1e12).ceil() as u64) + Time::from_ns(400)
}

#[test]
fn a_command_is_one_frame() {
    let mut link = link(SataConfig::default());
    let start = Time::from_us(3);
    assert_eq!(link.frame(start, DEVICE, sata::REGISTER).to, start + frame(20));
    let [down, up] = link.utilization(Time::from_us(9));
    assert_eq!((down.payload, down.wire, down.packets, down.busy), (20, 32, 1, frame(20)));
    assert_eq!(up.packets, 0);
}

#[test]
fn a_read_of_20_kib_is_a_setup_and_three_data_fises() {
    let mut link = link(SataConfig::default());
    let end = link.data(Time::ZERO, HOST, 20 << 10, |_, _| {}).arrives;
    assert_eq!(end, frame(28) + frame(8196) * 2 + frame(4100));
    let [down, up] = link.utilization(end);
    assert_eq!((up.payload, up.packets, down.packets), (28 + 20_480 + 12, 4, 0));
}

#[test]
fn a_write_activates_each_data_fis() {
    for (auto_activate, activates) in [(true, 2), (false, 3)] {
        let mut link = link(SataConfig { auto_activate, ..SataConfig::default() });
        let end = link.data(Time::ZERO, DEVICE, 20 << 10, |_, _| {}).arrives;
        assert_eq!(end, frame(28) + frame(4) * activates + frame(8196) * 2 + frame(4100));
        let [down, up] = link.utilization(end);
        assert_eq!((down.packets, up.packets), (3, 1 + activates));
    }
}

/// 32 successive reads of 128 KiB keep the wire busy all the time, and the data rate is that of real drives.
#[test]
fn a_saturated_wire_reaches_its_bound() {
    let mut link = link(SataConfig::default());
    let end = (0..32).map(|_| link.data(Time::ZERO, HOST, 128 << 10, |_, _| {}).arrives).max().unwrap();
    let [down, up] = link.utilization(end);
    assert_eq!(down.busy + up.busy, end);
    let rate = 32.0 * 131_072.0 / end.secs_f64() / 1e6;
    assert!((555.0..580.0).contains(&rate), "{rate} MB/s");
}

#[test]
#[should_panic(expected = "SATA has no reads of host memory")]
fn a_drive_does_not_read_host_memory() {
    link(SataConfig::default()).fetch(Time::ZERO, 64);
}

proptest! {
    /// The wire never carries more than one frame at a time, in either direction.
    #[test]
    fn never_both_directions_at_once(
        steps in prop::collection::vec((any::<bool>(), 1u64..40_000, 0u64..100), 1..100),
        generation in 1u8..4,
        auto_activate: bool,
    ) {
        let mut link = link(SataConfig { generation, auto_activate, ..SataConfig::default() });
        let mut spans: Vec<(Direction, Span)> = Vec::new();
        let mut now = Time::ZERO;
        for (write, bytes, pause) in steps {
            now += Time::from_us(pause);
            let direction = if write { DEVICE } else { HOST };
            link.data(now, direction, bytes, |way, span| spans.push((way, span)));
        }
        for pair in spans.windows(2) {
            prop_assert!(pair[0].1.to <= pair[1].1.from, "{:?}", pair);
        }
        let end = spans.last().unwrap().1.to;
        for (way, used) in [DEVICE, HOST].into_iter().zip(link.utilization(end)) {
            let busy: u64 = spans.iter().filter(|(d, _)| *d == way).map(|(_, s)| (s.to - s.from).ps()).sum();
            prop_assert_eq!(used.busy.ps(), busy);
        }
    }
}

/// A host that delays every chunk by a fixed time, and counts the bytes.
struct Late(Time, u64);

impl Pace for Late {
    fn may_start(&mut self, at: Time, _: u64) -> Time {
        at + self.0
    }
    fn passed(&mut self, _: Time, bytes: u64) {
        self.1 += bytes;
    }
}

proptest! {
    /// A paced transfer without delays takes as long as an unpaced one; every delay adds to the time on the wire.
    #[test]
    fn pacing_adds_exactly_its_delays(
        sectors in 1u64..200,
        late in 0u64..2_000,
        up: bool,
        auto_activate: bool,
    ) {
        let config = SataConfig { generation: 2, auto_activate, ..SataConfig::default() };
        let direction = if up { Direction::ToHost } else { Direction::ToDevice };
        let (mut plain, mut paced) = (Sata::new(&config), Sata::new(&config));
        let whole = plain.data(Time::from_ns(5), direction, sectors * 512, |_, _| {});
        let mut pace = Late(Time::from_ns(late), 0);
        let moved = paced.data_paced(Time::from_ns(5), direction, sectors * 512, 512, &mut pace, |_, _| {});
        prop_assert_eq!(pace.1, sectors * 512);
        prop_assert_eq!(moved.sent, whole.sent + Time::from_ns(late * sectors));
        let busy = |sata: &Sata| sata.utilization(moved.sent).map(|way| (way.payload, way.packets, way.wire));
        prop_assert_eq!(busy(&plain), busy(&paced));
    }
}
