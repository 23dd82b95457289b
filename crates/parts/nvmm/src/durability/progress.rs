//! The progress of a commit.

use std::collections::VecDeque;

use media::{OpId, Tag};

use crate::Token;
use crate::request::Answer;

/// The reason for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Requested by the host.
    Sync(Tag),
    Flush(Tag),
    Replace(Tag, Token),
    Rollback(Tag, Token),
    Drop(Tag, Token),
    End(Tag),
    /// Frees blocks that collection emptied.
    Collection,
    /// The memory was created or opened.
    Open,
    /// Finds versions that nothing needs any more. Writes nothing.
    Sweep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Idle,
    /// Waits for programs under way.
    Drain,
    /// Applies the cause's change to the table.
    Prepare,
    /// Waits until programmed data is durable.
    DataBarrier,
    /// Writes pages, each kind followed by a barrier.
    Journal,
    Chunks,
    Directory,
    Root,
    /// Waits for the barrier behind a journal group, behind chunks and directory, behind a root.
    JournalBarrier,
    DirectoryBarrier,
    RootBarrier,
}

/// The kind of a commit's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Chunk(u32),
    Directory,
    Journal,
    Root,
}

/// A page that a commit writes.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub content: Content,
    pub bytes: Box<[u8]>,
}

/// The commit under way.
#[derive(Default)]
pub(crate) struct Commit {
    pub phase: Phase,
    pub cause: Option<Cause>,
    /// Checkpoints the table instead of writing a journal group.
    pub whole: bool,
    /// The next chunk to prepare.
    pub cursor: u32,
    /// The cause's change is applied.
    pub changed: bool,
    /// Pages that wait to be written.
    pub queue: VecDeque<Page>,
    /// Pages being written.
    pub flying: Vec<(OpId, Page)>,
    /// The answer to the host, if not `Done`.
    pub answer: Option<Answer>,
}

impl Commit {
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Returns whether the table must not change for any other reason.
    pub fn holds_table(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Drain)
    }

    /// See [`Durable::page_under_way`](super::Durable::page_under_way).
    pub fn page_under_way(&self, id: OpId) -> &[u8] {
        let page = self.flying.iter().find(|(flying, _)| *flying == id).expect("a page of the commit");
        &page.1.bytes
    }
}
