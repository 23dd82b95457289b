//! Main memory as seen by the chipset's DMA: one channel with a serial data bus, and its refresh.
//!
//! A DMA walks through memory in order. Rows of other banks are opened in the background and column commands have their
//! own wires, so transfers only share the data bus. A first access waits for its row and CAS latency, and nothing
//! proceeds while all banks are refreshed. A DMA that accesses memory in order cannot see more of a DRAM channel than
//! this; a channel with several competing streams needs a controller with banks.

use keys::{Conflict, RATE, TIME, assumed, expect, given, section};
use media::SECTOR;
use sim::{Serial, Span, Time};

section! {
    /// Main memory as seen by the chipset's DMA engine: an in-order channel with refresh.
    #[derive(Eq)]
    MemoryConfig {
        "host.memory.bandwidth" bandwidth: u64 = RATE,
            given("6.4GB/s", "ddrssd, 5: DDR2-800, x64"),
            "Bandwidth of its data bus.",
            when "host.chipset" is "bridges";
        "host.memory.latency" latency: Time = TIME,
            assumed("60ns", "precharge, row and column access of DDR2-800 at 12.5 ns each, and about as much in the \
                controller"),
            "Time from a first access to its first data.",
            when "host.chipset" is "bridges";
        "host.memory.refresh_interval" refresh_interval: Time = TIME,
            given("7.8us", "JESD79-2: tREFI up to 85 C"),
            "Time between refreshes; 0s: none.",
            when "host.chipset" is "bridges";
        "host.memory.refresh" refresh: Time = TIME,
            given("127.5ns", "JESD79-2: tRFC of 1 Gb"),
            "Duration of a refresh.",
            when "host.chipset" is "bridges";

        check refreshes;
    }
}

impl MemoryConfig {
    fn refreshes(&self) -> Result<(), Conflict> {
        let (interval, refresh) = ("host.memory.refresh_interval", "host.memory.refresh");
        let works = self.refresh_interval == Time::ZERO || self.refresh * 2 <= self.refresh_interval;
        expect(works, &[refresh, interval], format!("at most half of {interval}"))?;
        // A refresh does not interrupt the transfer of a sector, so a sector must fit between two refreshes.
        let sector = Time::of_transfer(SECTOR, self.bandwidth) + self.refresh;
        let fits = self.refresh_interval == Time::ZERO || sector <= self.refresh_interval;
        expect(fits, &["host.memory.bandwidth", interval], "a sector between two refreshes")
    }
}

impl Default for MemoryConfig {
    /// The defaults of the keys where `link.type` is `ddr`.
    fn default() -> MemoryConfig {
        crate::config::default_where("ddr")
    }
}

/// Maximum bytes of a short access: two bursts.
const SHORT: u64 = 128;

/// A channel of main memory.
#[derive(Clone, Debug)]
pub struct Memory {
    bus: Serial,
    config: MemoryConfig,
    /// The interval between refreshes used last.
    clear: Span,
    /// Bytes and time of the last access, because most accesses have the same size.
    last: (u64, Time),
    bytes: u64,
}

impl Memory {
    /// Creates an idle channel.
    ///
    /// # Panics
    /// Panics if refreshes leave too little time for accesses.
    pub fn new(config: &MemoryConfig) -> Memory {
        let MemoryConfig { bandwidth, refresh_interval, refresh, .. } = *config;
        assert!(bandwidth > 0, "memory of no bandwidth");
        let works = refresh_interval == Time::ZERO || refresh * 2 <= refresh_interval;
        assert!(works, "a refresh of {refresh} every {refresh_interval}");
        let clear = if refresh_interval == Time::ZERO {
            Span { from: Time::ZERO, to: Time::MAX }
        } else {
            Span { from: Time::ZERO, to: refresh_interval }
        };
        Memory { bus: Serial::default(), config: config.clone(), clear, last: (0, Time::ZERO), bytes: 0 }
    }

    /// Returns the time from a first access to its first data.
    #[inline]
    pub fn latency(&self) -> Time {
        self.config.latency
    }

    #[inline]
    fn length(&mut self, bytes: u64) -> Time {
        if self.last.0 != bytes {
            self.last = (bytes, Time::of_transfer(bytes, self.config.bandwidth));
        }
        self.last.1
    }

    /// Returns the earliest start at or after `at` for `length` on the bus without interruption by a refresh.
    #[inline]
    fn between_refreshes(&mut self, at: Time, length: Time) -> Time {
        if at >= self.clear.from && at + length <= self.clear.to {
            return at;
        }
        self.next_clear(at, length)
    }

    fn next_clear(&mut self, at: Time, length: Time) -> Time {
        let (every, takes) = (self.config.refresh_interval, self.config.refresh);
        assert!(length + takes <= every, "{length} on the bus between refreshes every {every}");
        let of = |n: u64| Span { from: if n == 0 { Time::ZERO } else { every * n + takes }, to: every * (n + 1) };
        let n = at.ps() / every.ps();
        self.clear = of(n);
        let from = at.max(self.clear.from);
        if from + length <= self.clear.to {
            return from;
        }
        self.clear = of(n + 1);
        self.clear.from
    }

    /// Transfers `bytes` on the data bus, due at `at`, after everything accepted before.
    #[inline]
    pub fn stream(&mut self, at: Time, bytes: u64) -> Span {
        let length = self.length(bytes);
        let from = self.between_refreshes(at.max(self.bus.all_free()), length);
        self.bytes += bytes;
        self.bus.take(from, length)
    }

    /// Reads `bytes` of a descriptor in a first access, requested at `at` (now or later), between the bursts of
    /// transfers. Returns the time of arrival.
    #[inline]
    pub fn look(&mut self, now: Time, at: Time, bytes: u64) -> Time {
        debug_assert!(bytes <= SHORT, "a descriptor of {bytes} bytes");
        let length = self.length(bytes);
        let from = self.bus.due(at + self.config.latency, length / 2);
        let from = self.between_refreshes(from, length);
        self.bus.charge_urgent(now, length);
        self.bytes += bytes;
        from + length
    }

    /// Returns the bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the busy time of the data bus until `now`.
    ///
    /// # Panics
    /// Panics if it exceeds the time passed, which means that the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        self.bus.busy(now)
    }

    /// Cancels work accepted for after `now`.
    pub fn power_cut(&mut self, now: Time) {
        self.bus.power_cut(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stream_loses_to_refresh_what_refresh_takes() {
        let mut memory = Memory::new(&MemoryConfig::default());
        let mut at = Time::ZERO;
        for _ in 0..1_000_000 {
            at = memory.stream(at, 64).to;
        }
        let rate = 64e6 / at.secs_f64();
        let expected = 6.4e9 * (1.0 - 127.5 / 7800.0);
        // Up to a burst before each refresh is lost too.
        assert!(rate <= expected && rate > expected * (1.0 - 10.0 / 7800.0), "{rate}, expected {expected}");
        assert_eq!(memory.busy(at), Time::from_ns(10_000_000));
    }

    proptest! {
        /// Compares with a bus that is checked nanosecond by nanosecond.
        #[test]
        fn streams_keep_off_refreshes(work in prop::collection::vec((0u64..900, 1u64..60), 1..60)) {
            let config = MemoryConfig {
                bandwidth: 1_000_000_000,
                latency: Time::ZERO,
                refresh_interval: Time::from_ns(400),
                refresh: Time::from_ns(100),
            };
            let mut memory = Memory::new(&config);
            let refreshed = |ns: u64| ns >= 400 && ns % 400 < 100;
            let (mut now, mut free) = (0, 0);
            for (pause, bytes) in work {
                now += pause;
                let mut from = free.max(now);
                while (from..from + bytes).any(refreshed) {
                    from += 1;
                }
                free = from + bytes;
                prop_assert_eq!(memory.stream(Time::from_ns(now), bytes).to, Time::from_ns(free));
            }
        }
    }
}
