//! Counters of a controller.

/// Counters since the memory was created or opened, and its present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads of the host.
    pub reads: u64,
    /// Writes of the host.
    pub writes: u64,
    /// Flash pages programmed for the host, the table and collection (by [`media::Class`]).
    pub programs: [u64; 3],
    /// Blocks collected.
    pub collected: u64,
    /// Pages whose versions were merged to gain version entries.
    pub gathered: u64,
    /// Version entries taken.
    pub taken_versions: u64,
    /// Commits.
    pub commits: u64,
    /// Commits that were checkpoints of the table.
    pub checkpoints: u64,
    /// Sweeps over all pages for versions that nothing needs any more.
    pub sweeps: u64,
    /// Renumberings of the epochs.
    pub renumberings: u64,
    /// Syncs that returned a token.
    pub syncs: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Pages that a rollback changed.
    pub rolled_back: u64,
    /// Flash pages of data needed by the present state, the last sync and live tokens.
    pub needed: u64,
    /// Flash pages of data that can be in use at once; wear lowers it.
    pub capacity: u64,
    /// Free version entries.
    pub free_versions: u32,
    /// Bytes of DRAM for the table and the state of blocks.
    pub dram_bytes: u64,
}

impl Stats {
    /// Returns the counters since `before`, an earlier state of the same controller; values of the present state are
    /// unchanged.
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
            gathered: self.gathered - before.gathered,
            taken_versions: self.taken_versions - before.taken_versions,
            commits: self.commits - before.commits,
            checkpoints: self.checkpoints - before.checkpoints,
            sweeps: self.sweeps - before.sweeps,
            renumberings: self.renumberings - before.renumberings,
            syncs: self.syncs - before.syncs,
            rollbacks: self.rollbacks - before.rollbacks,
            rolled_back: self.rolled_back - before.rolled_back,
            ..*self
        }
    }
}
