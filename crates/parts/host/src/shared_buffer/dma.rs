//! A memory-to-memory DMA engine of the host, the general-purpose kind found in mobile processors.

use keys::{Conflict, RATE, SIZE, TIME, assumed, expect, given, section};
use media::SECTOR;
use sim::{Client, Schedule, Span, Time, Track};

const ENGINE: &str = "a general DMA engine that runs programs (PL330), behind the DMA framework of a kernel of 2012, \
    which runs callbacks in a tasklet";

section! {
    /// A DMA engine and its processor costs. A transfer longer than a piece is a chain of pieces, so that cache maintenance
    /// for one overlaps with the transfer of another.
    #[derive(Copy, Eq)]
    DmaConfig {
        "host.mover.bandwidth" bandwidth: Option<u64> = RATE.or("unlimited"),
            given("450MB/s", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 6.2"),
            "Maximum bytes per second of the DMA engine; unlimited: only the bus limits it.",
            when "host.mover.transfer" is "dma";
        "host.mover.piece" piece: u64 = SIZE.within(4096.0, 1073741824.0),
            assumed("64KiB", "the power of two with the least total wait of a 512 KiB request for invalidations and \
                transfer setup"),
            "Maximum size of a DMA transfer; larger ones are split, so that cache maintenance overlaps with them.",
            when "host.mover.transfer" is "dma";
        "host.mover.setup" setup: Time = TIME,
            assumed("5us", ENGINE),
            "CPU time to set up and start a DMA transfer.",
            when "host.mover.transfer" is "dma";
        "host.mover.descriptor" descriptor: Time = TIME,
            assumed("300ns", "about 32 bytes of program, written uncached for the PL330 engine"),
            "CPU time for each further part of a transfer that is not contiguous in the buffer.",
            when "host.mover.transfer" is "dma";
        "host.mover.delivery" delivery: Time = TIME,
            assumed("4us", ENGINE),
            "Time from a transfer's end to the first instruction of its interrupt handler.",
            when "host.mover.transfer" is "dma";
        "host.mover.handler" handler: Time = TIME,
            assumed("5us", ENGINE),
            "CPU time of the transfer's interrupt handler.",
            when "host.mover.transfer" is "dma";
        "link.interleave" run: Option<u64>;

        check sectors;
    }
}

impl DmaConfig {
    /// Returns the number of further descriptors for `bytes`, of which runs are contiguous in the buffer.
    pub(super) fn further_descriptors(&self, bytes: u64) -> u64 {
        self.run.map_or(0, |run| bytes.div_ceil(run) - 1)
    }

    fn sectors(&self) -> Result<(), Conflict> {
        expect(self.piece.is_multiple_of(SECTOR), &["host.mover.piece"], "a multiple of 512B")
    }
}

impl Default for DmaConfig {
    /// The defaults of the keys where `link.type` is `shared-buffer`.
    fn default() -> DmaConfig {
        crate::config::default_where("shared-buffer")
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

    /// Moves `bytes` of request `io` in `length`, starting at `from` (see [`begins`](Self::begins)); the request has waited
    /// since `since`. Returns the end.
    ///
    /// # Panics
    /// Panics if the engine is busy at `from` or `length` is too short, which means that the caller is broken.
    pub fn transfer<E>(
        &mut self,
        (since, from): (Time, Time),
        bytes: u64,
        length: Time,
        (track, io): (Track, u32),
        s: &mut impl Schedule<E>,
    ) -> Time {
        assert!(from >= self.free, "a transfer begins at {from}, and the engine is busy until {}", self.free);
        assert!(length >= self.least(bytes), "{bytes} bytes in {length}");
        self.free = from + length;
        self.busy += length;
        self.bytes += bytes;
        self.transfers += 1;
        s.served(track, Client::Request(io), "transfer", since, Span { from, to: self.free });
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
