//! Main memory as the chipset's DMA sees it: one channel whose data bus is a serial resource, and its refresh.
//!
//! A DMA walks through memory in order. Rows of other banks are opened meanwhile and column commands have wires of
//! their own, so that the data bus is what transfers share; a first access waits for a row and its CAS latency; and
//! while all banks are refreshed nothing goes. This is all of a DRAM channel that a DMA in order can tell; a channel
//! that several streams compete for needs a controller with banks.

use sim::{Serial, Span, Time};

/// A channel of main memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Bytes a second of its data bus.
    pub bandwidth: u64,
    /// From a first access at the controller to its first data: the row, the column, the controller.
    pub latency: Time,
    /// Time between refreshes (tREFI); zero: no refresh.
    pub refresh_interval: Time,
    /// Time that one takes, with nothing else going on (tRFC).
    pub refresh: Time,
}

impl Default for MemoryConfig {
    /// DDR2-800, x64, of 1 Gb chips (JESD79-2: tREFI 7.8 us, tRFC 127.5 ns). Assumed: the latency of a row miss, 12.5 ns
    /// each for precharge, row and column, and about as much in the controller.
    fn default() -> Self {
        MemoryConfig {
            bandwidth: 6_400_000_000,
            latency: Time::from_ns(60),
            refresh_interval: Time::from_ns(7_800),
            refresh: Time::from_ps(127_500),
        }
    }
}

/// Bytes that a short access moves at most: two bursts.
const SHORT: u64 = 128;

/// A channel of main memory.
#[derive(Clone, Debug)]
pub struct Memory {
    bus: Serial,
    config: MemoryConfig,
    /// The stretch between two refreshes that was looked at last.
    clear: Span,
    /// Bytes of the last access and their time: most are alike.
    last: (u64, Time),
    bytes: u64,
}

impl Memory {
    /// An idle channel.
    ///
    /// # Panics
    /// If it is never done with refreshing.
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

    /// From a first access to its first data.
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

    /// When `length` on the bus may begin, at `at` or later, so that no refresh cuts it.
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

    /// `bytes` of a transfer on the data bus, due at `at`, after all that was accepted before.
    #[inline]
    pub fn stream(&mut self, at: Time, bytes: u64) -> Span {
        let length = self.length(bytes);
        let from = self.between_refreshes(at.max(self.bus.all_free()), length);
        self.bytes += bytes;
        self.bus.take(from, length)
    }

    /// A first access: `bytes` of a descriptor, asked for at `at` (now or later), between the bursts of transfers.
    /// Returns when they are there.
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

    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Busy time of the data bus until `now`.
    ///
    /// # Panics
    /// If that is more than has passed: the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        self.bus.busy(now)
    }

    /// What is accepted for later than `now` does not happen.
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
        /// Against a bus that is looked at nanosecond by nanosecond.
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
