//! What a policy acts upon, and the four counts of what it did.

/// The two-level memory that a policy drives: SRAM frames, and OneNAND buffers through which every page comes and in
/// which it may be read in place.
///
/// A policy calls these in the order in which things happen, so that whoever implements it can count ([`Counts`]),
/// check (the auditor of the tests), or have the moves happen on a device.
pub trait Memory {
    /// `page` goes from the flash array into a free buffer.
    fn load(&mut self, page: u32);
    /// `page` goes from its buffer, which becomes free, into a free SRAM frame.
    fn move_to_sram(&mut self, page: u32);
    /// The buffer of `page` becomes free.
    fn discard_from_buffer(&mut self, page: u32);
    /// The frame of `page` becomes free.
    fn discard_from_sram(&mut self, page: u32);
    /// One request is served from the buffer of `page`.
    fn read_buffer(&mut self, page: u32);
    /// One request is served from the frame of `page`.
    fn read_sram(&mut self, page: u32);
}

/// How often each of the four things happened that cost time and energy (xip, Table 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages from the flash array into a buffer.
    pub flash_to_buffer: u64,
    /// Pages from a buffer into SRAM.
    pub buffer_to_sram: u64,
    /// Requests served from a buffer.
    pub buffer_reads: u64,
    /// Requests served from SRAM.
    pub sram_reads: u64,
}

impl Counts {
    /// What conventional demand paging does for `requests` of which `misses` find no frame: each miss is a load and a
    /// move, each request a read of SRAM.
    pub const fn conventional(requests: u64, misses: u64) -> Counts {
        Counts { flash_to_buffer: misses, buffer_to_sram: misses, buffer_reads: 0, sram_reads: requests }
    }

    /// The requests that were served.
    pub const fn requests(&self) -> u64 {
        self.buffer_reads + self.sram_reads
    }
}

impl Memory for Counts {
    #[inline]
    fn load(&mut self, _: u32) {
        self.flash_to_buffer += 1;
    }

    #[inline]
    fn move_to_sram(&mut self, _: u32) {
        self.buffer_to_sram += 1;
    }

    #[inline]
    fn discard_from_buffer(&mut self, _: u32) {}

    #[inline]
    fn discard_from_sram(&mut self, _: u32) {}

    #[inline]
    fn read_buffer(&mut self, _: u32) {
        self.buffer_reads += 1;
    }

    #[inline]
    fn read_sram(&mut self, _: u32) {
        self.sram_reads += 1;
    }
}
