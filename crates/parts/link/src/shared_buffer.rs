//! A storage device on a memory channel: what of it is the link's. The bus itself is a DRAM's, with a DRAM's times.

/// The shared buffer's place on the memory bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBufferConfig {
    /// Bytes of the data buffer, whole sectors.
    pub data_buffer: u64,
    /// The memory standard of the bus, as the presets of `dram` call it.
    pub memory: String,
    /// The DRAM is on the same channel; else on one of its own.
    pub shared: bool,
    /// Bytes a second that other programs read and write in DRAM.
    pub traffic: u64,
}

impl Default for SharedBufferConfig {
    /// The prototype of Seo et al.: LPDDR3 at 600 MHz, a channel of its own.
    fn default() -> Self {
        SharedBufferConfig { data_buffer: 1 << 20, memory: "lpddr3-1200".to_owned(), shared: false, traffic: 0 }
    }
}
