//! The memory that policies operate on, and the counts of their operations.

/// A two-level memory driven by a policy: SRAM frames, and OneNAND buffers that every page passes through and in which
/// it may be read in place.
///
/// A policy calls these methods in execution order. Implementations may count the operations ([`Counts`]), check them
/// (the auditor of the tests), or execute them on a device.
pub trait Memory {
    /// Loads `page` from the flash array into a free buffer.
    fn load(&mut self, page: u32);
    /// Moves `page` from its buffer, which becomes free, into a free SRAM frame.
    fn move_to_sram(&mut self, page: u32);
    /// Frees the buffer of `page`.
    fn discard_from_buffer(&mut self, page: u32);
    /// Frees the SRAM frame of `page`.
    fn discard_from_sram(&mut self, page: u32);
    /// Serves one request from the buffer of `page`.
    fn read_buffer(&mut self, page: u32);
    /// Serves one request from the SRAM frame of `page`.
    fn read_sram(&mut self, page: u32);
}

/// The number of operations of each of the four kinds that cost time and energy (xip, Table 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages transferred from the flash array into a buffer.
    pub flash_to_buffer: u64,
    /// Pages moved from a buffer into SRAM.
    pub buffer_to_sram: u64,
    /// Requests served from a buffer.
    pub buffer_reads: u64,
    /// Requests served from SRAM.
    pub sram_reads: u64,
}

impl Counts {
    /// Returns the counts of conventional demand paging for `requests` requests with `misses` misses: each miss is a
    /// load and a move, each request a read from SRAM.
    pub const fn conventional(requests: u64, misses: u64) -> Counts {
        Counts { flash_to_buffer: misses, buffer_to_sram: misses, buffer_reads: 0, sram_reads: requests }
    }

    /// Returns the number of requests served.
    pub const fn requests(&self) -> u64 {
        self.buffer_reads + self.sram_reads
    }
}

impl Memory for Counts {
    fn load(&mut self, _: u32) {
        self.flash_to_buffer += 1;
    }

    fn move_to_sram(&mut self, _: u32) {
        self.buffer_to_sram += 1;
    }

    fn discard_from_buffer(&mut self, _: u32) {}

    fn discard_from_sram(&mut self, _: u32) {}

    fn read_buffer(&mut self, _: u32) {
        self.buffer_reads += 1;
    }

    fn read_sram(&mut self, _: u32) {
        self.sram_reads += 1;
    }
}
