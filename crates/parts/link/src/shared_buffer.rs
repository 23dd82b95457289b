//! Link parameters of a storage device on a memory channel. The `dram` crate models the bus itself.

/// Position and size of the shared buffer on the memory bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBufferConfig {
    /// Bytes of the data buffer; a multiple of the sector size.
    pub data_buffer: u64,
    /// Memory standard of the bus, by the name of its `dram` preset.
    pub memory: String,
    /// Whether the DRAM is on the same channel; otherwise it has its own.
    pub shared: bool,
    /// Bytes per second that other programs read and write in DRAM.
    pub traffic: u64,
}

impl Default for SharedBufferConfig {
    /// The prototype of Seo et al.: LPDDR3 at 600 MHz with its own channel.
    fn default() -> Self {
        SharedBufferConfig { data_buffer: 1 << 20, memory: "lpddr3-1200".to_owned(), shared: false, traffic: 0 }
    }
}
