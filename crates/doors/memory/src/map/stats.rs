//! Statistics of a mapping.

/// Statistics of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapStats {
    /// Loads and stores that hit an unmapped page.
    pub faults: u64,
    /// First stores to a page that was mapped for a load or has been synced since the last store.
    pub store_faults: u64,
    /// Segments mapped before any access.
    pub read_ahead: u64,
    /// Segments evicted from the mapping.
    pub evicted: u64,
    /// Bytes currently mapped.
    pub mapped_bytes: u64,
}
