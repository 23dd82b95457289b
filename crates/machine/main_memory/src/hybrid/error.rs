//! Errors in the configuration of a memory.

/// The reason why a memory cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum HybridError {
    /// The cache's configuration is invalid.
    #[error("memory.cache: {0}")]
    Cache(String),
    /// The DRAM's configuration is invalid.
    #[error("memory.dram: {0}")]
    Dram(#[from] dram::ConfigError),
    /// The DRAM is too small for the cache and its tags.
    #[error("memory.dram: found {found} bytes, expected at least {wanted} for the cache and its tags")]
    Room {
        /// Its bytes.
        found: u64,
        /// The bytes needed.
        wanted: u64,
    },
    /// The page table's configuration is invalid.
    #[error("nvmm: {0}")]
    Nvmm(#[from] nvmm::OpenError),
    /// Initial data could not be written.
    #[error("nvmm: {0}")]
    Full(#[from] nvmm::Error),
}
