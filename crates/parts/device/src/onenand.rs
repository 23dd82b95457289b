//! The buffers of a OneNAND: SRAM on the flash chip, filled from its array page by page and read by the host like
//! memory.

use keys::{COUNT, given, section};
use sim::{Energy, Time};

section! {
    /// The SRAM buffers of a OneNAND, through which all pages pass, and its bus: words of `word_bytes` at `words_per_s`
    /// after a `burst_latency`. The power during that latency, and during the transfer of words, is in microwatts.
    #[derive(Copy, Eq)]
    OneNandConfig {
        "device.onenand.buffers" buffers: u32 = COUNT.within(1.0, 16.0),
            given("2", "xip: 3.1"),
            "Number of page buffers, which the host can read in place.",
            when "link.type" is "onenand";
        "link.width" word_bytes: u64;
        "link.rate" words_per_s: u64;
        "link.burst_latency" burst_latency: Time;
        "link.latency_power" latency_uw: u64;
        "link.transfer_power" transfer_uw: u64;
    }
}

/// State of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffer {
    Free,
    /// The array is loading this page.
    Loading(u32),
    Ready(u32),
}

/// The buffers of a OneNAND: their pages and the cost of reading them. The owner lets the array load pages and reports
/// when they are loaded; it also serializes the use of the single bus.
#[derive(Clone, Debug)]
pub struct OneNand {
    config: OneNandConfig,
    buffers: Vec<Buffer>,
    busy: Time,
    energy: Energy,
    bursts: u64,
}

impl OneNand {
    /// Creates empty buffers.
    ///
    /// # Panics
    /// Panics if there are no buffers, or the bus has no width or rate.
    pub fn new(config: &OneNandConfig) -> OneNand {
        assert!(config.buffers > 0 && config.word_bytes > 0 && config.words_per_s > 0, "no OneNAND: {config:?}");
        OneNand {
            config: *config,
            buffers: vec![Buffer::Free; config.buffers as usize],
            busy: Time::ZERO,
            energy: Energy::ZERO,
            bursts: 0,
        }
    }

    fn find(&self, buffer: Buffer) -> Option<usize> {
        self.buffers.iter().position(|&other| other == buffer)
    }

    /// Returns true if a page can be loaded.
    pub fn has_free_buffer(&self) -> bool {
        self.find(Buffer::Free).is_some()
    }

    /// Returns true if `page` is completely in a buffer.
    pub fn is_ready(&self, page: u32) -> bool {
        self.find(Buffer::Ready(page)).is_some()
    }

    /// Assigns a free buffer to `page`, which the array begins to load.
    ///
    /// # Panics
    /// Panics if no buffer is free, or the page already has one.
    pub fn load(&mut self, page: u32) {
        assert!(!self.is_ready(page) && self.find(Buffer::Loading(page)).is_none(), "page {page} is loaded twice");
        let buffer = self.find(Buffer::Free).unwrap_or_else(|| panic!("no buffer is free for page {page}"));
        self.buffers[buffer] = Buffer::Loading(page);
    }

    /// Records that the array has loaded `page`.
    ///
    /// # Panics
    /// Panics if the page was not being loaded.
    pub fn loaded(&mut self, page: u32) {
        let buffer = self.find(Buffer::Loading(page)).unwrap_or_else(|| panic!("page {page} was not being loaded"));
        self.buffers[buffer] = Buffer::Ready(page);
    }

    /// Frees the buffer of `page`.
    ///
    /// # Panics
    /// Panics if the page is not completely in a buffer.
    pub fn discard(&mut self, page: u32) {
        let buffer = self.find(Buffer::Ready(page)).unwrap_or_else(|| panic!("page {page} is in no buffer"));
        self.buffers[buffer] = Buffer::Free;
    }

    /// Reads a burst of `bytes` from a buffer. Returns the time for which the bus is busy.
    pub fn burst(&mut self, bytes: u64) -> Time {
        let OneNandConfig { burst_latency, latency_uw, transfer_uw, .. } = self.config;
        let words = bytes.div_ceil(self.config.word_bytes);
        let transfer = Time::of_transfer(words, self.config.words_per_s);
        self.bursts += 1;
        self.busy += burst_latency + transfer;
        self.energy += Energy::of_power(latency_uw, burst_latency) + Energy::of_power(transfer_uw, transfer);
        burst_latency + transfer
    }

    /// Returns the busy time of the bus.
    pub fn busy(&self) -> Time {
        self.busy
    }

    /// Returns the energy of bus and buffers.
    pub fn energy(&self) -> Energy {
        self.energy
    }

    /// Returns the number of bursts read.
    pub fn bursts(&self) -> u64 {
        self.bursts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_filled_read_and_freed() {
        let config = OneNandConfig {
            buffers: 2,
            word_bytes: 2,
            words_per_s: 50_000_000,
            burst_latency: Time::from_ns(60),
            latency_uw: 10,
            transfer_uw: 100,
        };
        let mut onenand = OneNand::new(&config);
        onenand.load(7);
        onenand.load(8);
        assert!(!onenand.has_free_buffer() && !onenand.is_ready(7));
        onenand.loaded(7);
        assert!(onenand.is_ready(7) && !onenand.is_ready(8));
        assert_eq!(onenand.burst(16), Time::from_ns(220));
        assert_eq!(onenand.burst(15), Time::from_ns(220));
        assert_eq!((onenand.busy(), onenand.bursts()), (Time::from_ns(440), 2));
        let both = Energy::of_power(10, Time::from_ns(120)) + Energy::of_power(100, Time::from_ns(320));
        assert_eq!(onenand.energy(), both);
        onenand.discard(7);
        assert!(onenand.has_free_buffer() && !onenand.is_ready(7));
    }

    #[test]
    #[should_panic(expected = "no buffer is free for page 9")]
    fn a_full_onenand_loads_nothing() {
        let config = OneNandConfig {
            buffers: 1,
            word_bytes: 2,
            words_per_s: 1,
            burst_latency: Time::ZERO,
            latency_uw: 0,
            transfer_uw: 0,
        };
        let mut onenand = OneNand::new(&config);
        onenand.load(8);
        onenand.load(9);
    }
}
