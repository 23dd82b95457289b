//! A storage device on a DDR port of the memory controller, whose data comes when the device says so.
//!
//! DDR memory answers a read a fixed number of clocks after its command (CAS latency). A storage device cannot: it
//! raises the data strobe, DQS, when the first data is there, and the controller waits for it (Kim et al., Solid-State
//! Disk with Double Data Rate DRAM Interface for High-Performance PCs, IEICE Trans. E92-D, 2009, 4.2). From then on a
//! burst follows a burst: column commands have wires of their own, so that the data bus is the resource that is shared.

use sim::{Serial, Span, Time};

use crate::{Direction, Utilisation};

/// A DDR port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdrConfig {
    /// Transfers a second: 800 million on DDR2-800.
    pub transfers_per_s: u64,
    /// Bytes of a transfer: 8 on a port of 64 bits.
    pub width: u32,
    /// Transfers of a burst: 4 or 8.
    pub burst_length: u32,
    /// From the data's being in the device to the first edge of DQS at the controller.
    pub dqs: Time,
}

impl Default for DdrConfig {
    /// DDR2-800, x64. Assumed: DQS comes as soon as a memory's would, five clocks after.
    fn default() -> Self {
        DdrConfig { transfers_per_s: 800_000_000, width: 8, burst_length: 8, dqs: Time::from_ps(12_500) }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Way {
    busy: Time,
    payload: u64,
    bursts: u64,
}

/// A DDR port: one data bus for both directions.
#[derive(Clone, Debug)]
pub struct Ddr {
    bus: Serial,
    /// To the device, to the host.
    ways: [Way; 2],
    burst: Time,
    burst_bytes: u64,
    dqs: Time,
}

impl Ddr {
    /// An idle port.
    ///
    /// # Panics
    /// If it has no such burst length, no width or no rate.
    pub fn new(config: &DdrConfig) -> Ddr {
        let DdrConfig { transfers_per_s, width, burst_length, dqs } = *config;
        assert!(matches!(burst_length, 4 | 8), "bursts of {burst_length} transfers, expected 4 or 8");
        assert!(width > 0 && transfers_per_s > 0, "a port of {width} bytes at {transfers_per_s} transfers a second");
        Ddr {
            bus: Serial::default(),
            ways: [Way::default(); 2],
            burst: Time::of_transfer(u64::from(burst_length), transfers_per_s),
            burst_bytes: u64::from(burst_length) * u64::from(width),
            dqs,
        }
    }

    /// Bytes of a burst.
    #[inline]
    pub fn burst_bytes(&self) -> u64 {
        self.burst_bytes
    }

    /// From the data's being in the device to the first edge of DQS.
    #[inline]
    pub fn dqs(&self) -> Time {
        self.dqs
    }

    /// A burst with `payload` bytes of a transfer's data, due at `at`, after all that was accepted before.
    #[inline]
    pub fn burst(&mut self, at: Time, direction: Direction, payload: u64) -> Span {
        debug_assert!(payload <= self.burst_bytes, "{payload} bytes in a burst");
        self.count(direction, payload);
        self.bus.take(at, self.burst)
    }

    /// A burst that is a command or a status, due at `at` (now or later), between those of the data. Returns its
    /// arrival.
    #[inline]
    pub fn message(&mut self, now: Time, at: Time, direction: Direction, payload: u64) -> Time {
        self.count(direction, payload);
        let end = self.bus.due(at, self.burst / 2) + self.burst;
        self.bus.charge_urgent(now, self.burst);
        end
    }

    #[inline]
    fn count(&mut self, direction: Direction, payload: u64) {
        let way = &mut self.ways[direction as usize];
        way.busy += self.burst;
        way.payload += payload;
        way.bursts += 1;
    }

    /// What each direction has carried; see [`Link::utilisation`](crate::Link::utilisation).
    pub fn utilisation(&self, now: Time) -> [Utilisation; 2] {
        let both = self.bus.busy(now);
        let accepted = self.ways[0].busy + self.ways[1].busy;
        // Bursts that are accepted and not yet over: shared out to the directions as all bursts so far are.
        let part = |way: Way| {
            let share = u128::from(way.busy.ps()) * u128::from(both.ps()) / u128::from(accepted.ps().max(1));
            Time::from_ps(share as u64)
        };
        let of = |direction, way: Way| Utilisation {
            direction,
            busy: part(way),
            elapsed: now,
            payload: way.payload,
            wire: way.bursts * self.burst_bytes,
            packets: way.bursts,
        };
        let result = [of(Direction::ToDevice, self.ways[0]), of(Direction::ToHost, self.ways[1])];
        assert!(result[0].busy + result[1].busy <= now, "a data bus busy both ways at once");
        result
    }

    /// What is accepted for later than `now` is lost.
    pub fn power_cut(&mut self, now: Time) {
        let [down, up] = self.utilisation(now);
        (self.ways[0].busy, self.ways[1].busy) = (down.busy, up.busy);
        self.bus.power_cut(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_takes_what_ddr2_800_takes() {
        for (burst_length, bytes, ns) in [(4, 32, 5), (8, 64, 10)] {
            let mut port = Ddr::new(&DdrConfig { burst_length, ..DdrConfig::default() });
            assert_eq!(port.burst_bytes(), bytes);
            let mut at = Time::ZERO;
            for n in 1..=100 {
                at = port.burst(at, Direction::ToHost, bytes).to;
                assert_eq!(at, Time::from_ns(ns * n));
            }
            // 6,400 MB/s, and nothing the other way.
            let [down, up] = port.utilisation(at);
            assert_eq!((down.busy, up.busy, up.payload), (Time::ZERO, at, 100 * bytes));
            assert_eq!(up.payload as f64 / at.secs_f64() / 1e6, 6400.0);
        }
    }

    #[test]
    fn a_message_goes_between_bursts_and_takes_its_time_from_the_next() {
        let mut port = Ddr::new(&DdrConfig::default());
        port.burst(Time::ZERO, Direction::ToHost, 64);
        let arrives = port.message(Time::from_ns(4), Time::from_ns(4), Direction::ToDevice, 20);
        assert_eq!(arrives, Time::from_ns(4 + 5 + 10));
        assert_eq!(port.burst(Time::from_ns(10), Direction::ToHost, 64).from, Time::from_ns(20));
        assert_eq!(port.utilisation(Time::from_ns(30)).map(|way| way.packets), [1, 2]);
    }
}
