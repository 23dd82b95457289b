//! Calls that concern main memory as a whole.

/// A call that concerns the memory as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryCall {
    /// Make all accepted write-backs durable and keep this state.
    Sync,
    /// Restore the state of the last sync.
    Rollback,
    /// Make the pages of these bytes permanent.
    Permanent {
        /// First byte and number of bytes of each range.
        ranges: Vec<(u64, u64)>,
    },
}
