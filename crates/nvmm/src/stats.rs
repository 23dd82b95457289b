//! What a controller has done.

/// Counters since it was made or opened, and what it has now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads of the host.
    pub reads: u64,
    /// Writes of the host.
    pub writes: u64,
    /// Flash pages programmed for the host, for the table, for collection (by [`media::Class`]).
    pub programs: [u64; 3],
    /// Blocks collected.
    pub collected: u64,
    /// Commits.
    pub commits: u64,
    /// Of these, checkpoints of the table.
    pub checkpoints: u64,
    /// Times all pages were looked through for what nobody needs any more.
    pub sweeps: u64,
    /// Times the epochs were numbered anew.
    pub renumberings: u64,
    /// Pages of which newer versions were taken back.
    pub rolled_back: u64,
    /// Flash pages of data that are needed: by the present, the last sync and live tokens.
    pub needed: u64,
    /// Flash pages of data that may be needed at a time; wear lowers it.
    pub capacity: u64,
    /// Version entries that are free.
    pub free_versions: u32,
    /// Bytes of DRAM for the table and what is known of blocks.
    pub dram_bytes: u64,
}
