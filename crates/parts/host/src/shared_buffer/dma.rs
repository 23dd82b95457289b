//! A memory-to-memory DMA engine of the host's, as a mobile processor has one for everybody.

use sim::{Schedule, Time, Track};

/// A DMA engine and what a transfer by it costs the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaConfig {
    /// Bytes a second that it moves at most; `None`: as many as the memory bus carries.
    pub bandwidth: Option<u64>,
    /// Largest transfer in bytes, a multiple of a sector: a longer one is a chain of such pieces, so that the caches'
    /// maintenance for one goes on while another is moved.
    pub piece: u64,
    /// Bytes of a descriptor's run at most: what is contiguous in memory. Each further descriptor of a piece costs
    /// [`descriptor`](Self::descriptor).
    pub run: u64,
    /// Processor time to set a transfer up and start it, its first descriptor included.
    pub setup: Time,
    /// Processor time for each further descriptor.
    pub descriptor: Time,
    /// From a transfer's end to the first instruction of the interrupt's handler.
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

/// The engine: transfers one after the other, in the order in which they are started.
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
    /// An idle engine.
    pub fn new(config: &DmaConfig) -> Dma {
        Dma { bandwidth: config.bandwidth, free: Time::ZERO, busy: Time::ZERO, bytes: 0, transfers: 0 }
    }

    /// When a transfer that is started at `at` would begin.
    pub fn begins(&self, at: Time) -> Time {
        at.max(self.free)
    }

    /// The least time of a transfer of `bytes`, had it the bus for itself.
    pub fn least(&self, bytes: u64) -> Time {
        self.bandwidth.map_or(Time::ZERO, |rate| Time::of_transfer(bytes, rate))
    }

    /// Moves `bytes` from `from` on (see [`begins`](Self::begins)), which takes `length`.
    ///
    /// # Panics
    /// If it is busy then, or faster than it can be: the caller is broken.
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

    /// Busy time until `now`.
    pub fn busy(&self, now: Time) -> Time {
        self.busy.saturating_sub(self.free.saturating_sub(now))
    }

    /// What it was to move after `now` it does not.
    pub fn power_cut(&mut self, now: Time) {
        self.busy = self.busy(now);
        self.free = self.free.min(now);
    }
}
