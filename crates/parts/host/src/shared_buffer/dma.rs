//! A memory-to-memory DMA engine of the host, the general-purpose kind found in mobile processors.

use sim::{Schedule, Time, Track};

/// Configuration of a DMA engine and its processor costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaConfig {
    /// Maximum bandwidth in bytes per second; `None` if only the memory bus limits it.
    pub bandwidth: Option<u64>,
    /// Maximum bytes per transfer, a multiple of a sector. A longer transfer is a chain of such fragments, so that
    /// cache maintenance for one overlaps with the transfer of another.
    pub piece: u64,
    /// Maximum bytes per descriptor, the contiguous run in memory. Each further descriptor of a fragment costs
    /// [`descriptor`](Self::descriptor).
    pub run: u64,
    /// Processor time to set up and start a transfer, including its first descriptor.
    pub setup: Time,
    /// Processor time per further descriptor.
    pub descriptor: Time,
    /// Time from a transfer's end to the first instruction of the interrupt handler.
    pub delivery: Time,
    /// Processor time of the handler.
    pub handler: Time,
}

impl Default for DmaConfig {
    /// Assumed: see the table of keys.
    fn default() -> Self {
        DmaConfig {
            bandwidth: Some(450_000_000),
            piece: 64 << 10,
            run: u64::MAX,
            setup: Time::from_us(5),
            descriptor: Time::from_ns(200),
            delivery: Time::from_us(4),
            handler: Time::from_us(5),
        }
    }
}

/// The engine, which performs transfers in the order in which they are started.
#[derive(Clone, Debug)]
pub struct Dma {
    bandwidth: Option<u64>,
    free: Time,
    busy: Time,
    /// Bytes moved or accepted.
    pub bytes: u64,
    /// Transfers started.
    pub transfers: u64,
}

impl Dma {
    /// Creates an idle engine.
    pub fn new(config: &DmaConfig) -> Dma {
        Dma { bandwidth: config.bandwidth, free: Time::ZERO, busy: Time::ZERO, bytes: 0, transfers: 0 }
    }

    /// Returns the time at which a transfer started at `at` would begin.
    pub fn begins(&self, at: Time) -> Time {
        at.max(self.free)
    }

    /// Returns the minimum time of a transfer of `bytes`, with the bus otherwise idle.
    pub fn least(&self, bytes: u64) -> Time {
        self.bandwidth.map_or(Time::ZERO, |rate| Time::of_transfer(bytes, rate))
    }

    /// Moves `bytes` in `length`, starting at `from` (see [`begins`](Self::begins)). Returns the end.
    ///
    /// # Panics
    /// Panics if the engine is busy at `from` or `length` is too short, which means that the caller is broken.
    pub fn transfer<E>(
        &mut self,
        from: Time,
        bytes: u64,
        length: Time,
        track: Track,
        s: &mut impl Schedule<E>,
    ) -> Time {
        assert!(from >= self.free, "a transfer begins at {from}, and the engine is busy until {}", self.free);
        assert!(length >= self.least(bytes), "{bytes} bytes in {length}");
        self.free = from + length;
        self.busy += length;
        self.bytes += bytes;
        self.transfers += 1;
        s.span(track, "transfer", from, self.free);
        self.free
    }

    /// Returns the busy time until `now`.
    pub fn busy(&self, now: Time) -> Time {
        self.busy.saturating_sub(self.free.saturating_sub(now))
    }

    /// Cancels work accepted for after `now`.
    pub fn power_cut(&mut self, now: Time) {
        self.busy = self.busy(now);
        self.free = self.free.min(now);
    }
}
