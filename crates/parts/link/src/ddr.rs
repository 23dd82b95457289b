//! A storage device on a DDR port of the memory controller. The device signals when its data is ready.
//!
//! It answers READs when its data is ready (Kim et al., Solid-State Disk with Double Data Rate DRAM Interface for
//! High-Performance PCs, IEICE Trans. E92-D, 2009, 4.2); `dram::strobed` decides when. This is the data bus: bursts of
//! both directions one after another. Column commands have their own wires.

use keys::{
    COUNT, Conflict, Fallback, Kind, SIZE, TIME, TRANSFERS, assumed, by_given, expect, given, power_of_two, section,
    words,
};
use sim::{Serial, Span, Time};

use crate::{Direction, Utilization};

words! {
    /// Ways in which the controller of a DDR port learns that data is ready.
    Strobe {
        /// The device raises the data strobe.
        Dqs = "dqs",
        /// Data follows each READ after a fixed time.
        Fixed = "fixed",
    }
}

words! {
    /// Data bus while a READ waits.
    Waiting {
        /// Reserved for the answer.
        Held = "held",
        /// Open to other transfers.
        Released = "released",
    }
}

section! {
    /// Configuration of a DDR port.
    #[derive(Eq)]
    DdrConfig {
        "link.rate" transfers_per_s: u64 = TRANSFERS,
            Fallback::By("link.type", &[
                by_given("ddr", "800MT/s", "JESD79-2: DDR2-800"),
                by_given("onenand", "50MT/s", "xip: 5.1, 50 MHz"),
            ]),
            "Transfers per second of a DDR port, or of a OneNAND's bus.",
            when "link.type" is "ddr" | "onenand";
        "link.width" width: u32 = SIZE.within(1.0, 64.0),
            Fallback::By("link.type", &[
                by_given("ddr", "8B", "a DIMM's 64 data bits"),
                by_given("onenand", "2B", "xip: reference 4, the specification of the x16 KFG5616x1A"),
            ]),
            "Bytes per transfer of a DDR port, or of a OneNAND's bus.",
            when "link.type" is "ddr" | "onenand";
        "link.burst_length" burst_length: u32 = COUNT.within(4.0, 8.0),
            given("8", "JESD79-2: 4 or 8"),
            "Transfers per burst of a DDR port, 4 or 8; its DMA engine moves data in bursts.",
            when "link.type" is "ddr";
        "link.cas_latency" cas_latency: u32 = COUNT.within(1.0, 64.0),
            given("5", "JESD79-2F: DDR2-800D, 5-5-5"),
            "Clocks from a READ on a DDR port to its first data, if the device has that ready.",
            when "link.type" is "ddr";
        "link.strobe" strobe: Strobe = Kind::words(Strobe::WORDS),
            given("dqs", "ddrssd, 4.2"),
            "How a DDR port's controller learns that data is ready.",
            when "link.type" is "ddr";
        "link.fixed_latency" fixed_latency: Time = TIME,
            assumed("2ms", "a memory controller that waits a fixed time must wait for the slowest read: 64 KiB from \
                flash take 1.2 ms in a drive of 2007"),
            "Without DQS: time from a READ to its data. A READ that finds none is repeated.",
            when "link.strobe" is "fixed";
        "link.waiting" waiting: Waiting = Kind::words(Waiting::WORDS),
            assumed("held", "the paper's only signal is DQS: the device could not tell when a bus in use is free"),
            "Data bus of a DDR port while a READ waits for DQS.",
            when "link.strobe" is "dqs";
        "link.timeout" timeout: Time = TIME,
            assumed("10ms", "longer than a block erase and any queue of reads before it"),
            "Time after which a DDR port's controller gives up a READ that waits for DQS, lets other transfers use the \
             bus, and issues it again.",
            when "link.strobe" is "dqs";
    }
}

impl DdrConfig {
    /// Checks the keys of a DDR port, some of which a OneNAND's bus shares.
    pub(crate) fn port(&self) -> Result<(), Conflict> {
        expect(matches!(self.burst_length, 4 | 8), &["link.burst_length"], "4 or 8")?;
        power_of_two("link.width", u64::from(self.width))?;
        // Clock edges at least a picosecond apart.
        expect(self.transfers_per_s <= 2_000_000_000_000, &["link.rate"], "at most 2000GT/s")?;
        // Two transfers per clock.
        let cas = Time::of_transfer(2 * u64::from(self.cas_latency), self.transfers_per_s);
        let (waits, key) = match self.strobe {
            Strobe::Dqs => (self.timeout, "link.timeout"),
            Strobe::Fixed => (self.fixed_latency, "link.fixed_latency"),
        };
        let least = format!("at least the {} clocks of link.cas_latency ({} ns)", self.cas_latency, cas.ps() / 1000);
        expect(waits >= cas, &[key, "link.cas_latency"], least)
    }
}

impl Default for DdrConfig {
    /// The defaults of the keys where `link.type` is `ddr`.
    fn default() -> DdrConfig {
        crate::config::default_where("ddr")
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    busy: Time,
    payload: u64,
    bursts: u64,
}

/// A DDR port: one data bus for both directions.
#[derive(Clone, Debug)]
pub struct Ddr {
    bus: Serial,
    /// To the device, to the host.
    traffic: [Traffic; 2],
    burst: Time,
    burst_bytes: u64,
}

impl Ddr {
    /// Creates an idle port.
    ///
    /// # Panics
    /// If the burst length, width or rate is invalid.
    pub fn new(config: &DdrConfig) -> Ddr {
        let DdrConfig { transfers_per_s, width, burst_length, .. } = *config;
        assert!(matches!(burst_length, 4 | 8), "bursts of {burst_length} transfers, expected 4 or 8");
        assert!(width > 0 && transfers_per_s > 0, "a port of {width} bytes at {transfers_per_s} transfers per second");
        Ddr {
            bus: Serial::default(),
            traffic: [Traffic::default(); 2],
            burst: Time::of_transfer(u64::from(burst_length), transfers_per_s),
            burst_bytes: u64::from(burst_length) * u64::from(width),
        }
    }

    /// Returns the bytes of a burst.
    pub fn burst_bytes(&self) -> u64 {
        self.burst_bytes
    }

    /// Transfers a burst with `payload` bytes of data, due at `at`, behind all bursts accepted before.
    pub fn burst(&mut self, at: Time, direction: Direction, payload: u64) -> Span {
        debug_assert!(payload <= self.burst_bytes, "{payload} bytes in a burst");
        self.count(direction, payload);
        self.bus.take(at, self.burst)
    }

    /// Transfers a command or status in one burst, due at `at` (now or later), between the bursts of data. Returns the
    /// arrival time.
    pub fn message(&mut self, now: Time, at: Time, direction: Direction, payload: u64) -> Time {
        self.count(direction, payload);
        let end = self.bus.due(at, self.burst / 2) + self.burst;
        self.bus.charge_urgent(now, self.burst);
        end
    }

    fn count(&mut self, direction: Direction, payload: u64) {
        let way = &mut self.traffic[direction as usize];
        way.busy += self.burst;
        way.payload += payload;
        way.bursts += 1;
    }

    /// Returns the traffic of each direction; see [`Link::utilization`](crate::Link::utilization).
    pub fn utilization(&self, now: Time) -> [Utilization; 2] {
        let both = self.bus.busy(now);
        let accepted = self.traffic[0].busy + self.traffic[1].busy;
        // The directions share the time of unfinished bursts in proportion to all bursts accepted so far.
        let part = |way: Traffic| {
            let share = u128::from(way.busy.ps()) * u128::from(both.ps()) / u128::from(accepted.ps().max(1));
            Time::from_ps(share as u64)
        };
        let of = |direction, way: Traffic| Utilization {
            direction,
            busy: part(way),
            elapsed: now,
            payload: way.payload,
            wire: way.bursts * self.burst_bytes,
            packets: way.bursts,
        };
        let result = [of(Direction::ToDevice, self.traffic[0]), of(Direction::ToHost, self.traffic[1])];
        assert!(result[0].busy + result[1].busy <= now, "a data bus busy both traffic at once");
        result
    }

    /// Discards everything that was accepted for a time later than `now`.
    pub fn power_cut(&mut self, now: Time) {
        let [down, up] = self.utilization(now);
        (self.traffic[0].busy, self.traffic[1].busy) = (down.busy, up.busy);
        self.bus.power_cut(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_take_the_time_of_ddr2_800() {
        for (burst_length, bytes, ns) in [(4, 32, 5), (8, 64, 10)] {
            let mut port = Ddr::new(&DdrConfig { burst_length, ..DdrConfig::default() });
            assert_eq!(port.burst_bytes(), bytes);
            let mut at = Time::ZERO;
            for n in 1..=100 {
                at = port.burst(at, Direction::ToHost, bytes).to;
                assert_eq!(at, Time::from_ns(ns * n));
            }
            // 6,400 MB/s in one direction, nothing in the other.
            let [down, up] = port.utilization(at);
            assert_eq!((down.busy, up.busy, up.payload), (Time::ZERO, at, 100 * bytes));
            assert_eq!(up.payload as f64 / at.secs_f64() / 1e6, 6400.0);
        }
    }

    #[test]
    fn a_message_goes_between_bursts_and_delays_the_next() {
        let mut port = Ddr::new(&DdrConfig::default());
        port.burst(Time::ZERO, Direction::ToHost, 64);
        let arrives = port.message(Time::from_ns(4), Time::from_ns(4), Direction::ToDevice, 20);
        assert_eq!(arrives, Time::from_ns(4 + 5 + 10));
        assert_eq!(port.burst(Time::from_ns(10), Direction::ToHost, 64).from, Time::from_ns(20));
        assert_eq!(port.utilization(Time::from_ns(30)).map(|way| way.packets), [1, 2]);
    }
}
