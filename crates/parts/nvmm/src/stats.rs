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

impl Stats {
    /// Counters since `before`, an earlier state of the same controller; what it has now is left as it is.
    #[must_use]
    pub fn since(&self, before: &Stats) -> Stats {
        let mut programs = self.programs;
        for (now, before) in programs.iter_mut().zip(before.programs) {
            *now -= before;
        }
        Stats {
            reads: self.reads - before.reads,
            writes: self.writes - before.writes,
            programs,
            collected: self.collected - before.collected,
            commits: self.commits - before.commits,
            checkpoints: self.checkpoints - before.checkpoints,
            sweeps: self.sweeps - before.sweeps,
            renumberings: self.renumberings - before.renumberings,
            rolled_back: self.rolled_back - before.rolled_back,
            ..*self
        }
    }
}
