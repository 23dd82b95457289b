//! Making the state durable: commits, the pages that they write, and opening a memory from them.

pub(crate) mod codec;
mod commit;
pub(crate) mod format;
pub(crate) mod medium;
mod open;
mod pages;
mod places;
mod prepare;
pub(crate) mod progress;

use media::OpId;

use places::{Anchors, Journal, Log};
use progress::Commit;

/// The commit under way, commits that are due, and where their pages are written.
#[derive(Default)]
pub(crate) struct Durable {
    commit: Commit,
    due: Due,
    journal: Journal,
    log: Log,
    anchors: Anchors,
    /// Flash pages of the directory, first to last, and those of the directory that it replaces.
    directory: Vec<u64>,
    old_directory: Vec<u64>,
    /// Flash pages worn out, and blocks gone bad, since the last root.
    worn_since: Vec<u64>,
    newly_bad: Vec<u32>,
    /// The newest durable commit: root and group.
    committed: (u64, u64),
}

/// Commits that are due for reasons other than a request.
#[derive(Default)]
struct Due {
    open: bool,
    sweep: bool,
    collection: bool,
    /// Versions may be held that nothing needs any more: a sweep would find them.
    stale: bool,
}

impl Durable {
    /// Returns whether no commit is under way.
    pub fn is_idle(&self) -> bool {
        self.commit.is_idle()
    }

    /// Returns whether the table must not change except by the commit under way.
    pub fn holds_table(&self) -> bool {
        self.commit.holds_table()
    }

    /// Returns whether a commit is due.
    pub fn is_due(&self) -> bool {
        self.due.open | self.due.sweep | self.due.collection
    }

    /// Requests a commit that frees the blocks emptied so far.
    pub fn request_commit(&mut self) {
        self.due.collection = true;
    }

    /// Requests a sweep, if it could find anything. Returns whether it was requested.
    pub fn request_sweep(&mut self) -> bool {
        self.due.sweep |= self.due.stale;
        self.due.stale
    }

    /// Records a block that went bad, for the next commit.
    pub fn add_bad_block(&mut self, block: u32) {
        self.newly_bad.push(block);
    }

    /// Returns the content of a page that the commit is programming.
    ///
    /// # Panics
    /// If `id` is no such program.
    pub fn page_under_way(&self, id: OpId) -> &[u8] {
        self.commit.page_under_way(id)
    }

    /// Returns the newest durable commit: the number of its root, and of its last journal group.
    pub fn committed(&self) -> (u64, u64) {
        self.committed
    }
}
