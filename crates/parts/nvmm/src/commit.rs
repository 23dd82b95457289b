//! Commits: what makes the state durable. All commits write the table as it is; what a power cut leads back to is the last
//! sync all the same, since versions newer than that are taken back when the memory is opened. So collection may commit at
//! any time.
//!
//! One at a time: what is being programmed is waited for, the table stands still (reads go on), what was programmed is made
//! durable by a barrier, then a group of the journal is written (or, if it has become long, the chunks that changed, the
//! directory and the root), each behind a barrier. Only then may blocks that it emptied be erased.

use std::collections::VecDeque;

use media::{Action, Class, EraseOp, OpId, ProgramOp, Status, Tag};

use crate::operations::Kind;
use crate::request::{Answer, Error};
use crate::table::NOWHERE;
use crate::{Actions, InjectedFault, Nvmm, Token};

/// Why there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A request.
    Sync(Tag),
    Rollback(Tag, Token),
    Drop(Tag, Token),
    End(Tag),
    /// Blocks are to become free.
    Collection,
    /// The memory was opened.
    Open,
    /// What only seems needed is to be found. Writes nothing.
    Sweep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Idle,
    /// Programs under way end.
    Drain,
    /// The state becomes what it is to be.
    Prepare,
    /// What was programmed becomes durable.
    DataBarrier,
    /// Pages are written; behind them a barrier.
    Journal,
    Chunks,
    Directory,
    Root,
    /// The barrier behind a journal group, behind chunks and directory, behind a root.
    JournalBarrier,
    DirectoryBarrier,
    RootBarrier,
}

/// What a page of a commit is.
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

#[derive(Default)]
pub(crate) struct Commit {
    pub phase: Phase,
    pub cause: Option<Cause>,
    /// The table is checkpointed, else the journal is written.
    pub whole: bool,
    /// How far preparations went.
    pub cursor: u32,
    /// The cause's own change is made.
    pub changed: bool,
    /// Pages that are to be written.
    pub queue: VecDeque<Page>,
    /// Pages that are being written.
    pub flying: Vec<(OpId, Page)>,
    /// What is answered.
    pub answer: Option<Answer>,
}

impl Commit {
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// The table must not change for any other reason.
    pub fn holds_the_table(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Drain)
    }
}

impl Nvmm {
    /// Begins a commit; there is none under way.
    pub(crate) fn begin(&mut self, cause: Cause) {
        assert!(self.commit.is_idle());
        self.commit.phase = Phase::Drain;
        self.commit.cause = Some(cause);
        (self.commit.cursor, self.commit.whole, self.commit.changed) = (0, false, false);
        self.wake = true;
    }

    pub(crate) fn run_commit(&mut self, out: &mut Actions) {
        loop {
            let phase = self.commit.phase;
            match phase {
                Phase::Idle if self.want_open => {
                    self.want_open = false;
                    self.begin(Cause::Open);
                }
                Phase::Idle if self.want_sweep => {
                    self.want_sweep = false;
                    self.begin(Cause::Sweep);
                }
                Phase::Idle if self.want_commit && !self.must_not_commit() => {
                    self.want_commit = false;
                    if !self.worn_out {
                        self.begin(Cause::Collection);
                    }
                }
                Phase::Drain
                    if self.page_writes.iter().all(|page_write| !page_write.active || page_write.flying == 0) =>
                {
                    self.commit.phase = Phase::Prepare;
                }
                Phase::Prepare => match self.prepare() {
                    Ok(true) => {
                        self.commit.phase = Phase::DataBarrier;
                        self.barrier(out);
                        if self.injected == InjectedFault::BarrierSkipped {
                            self.start_writing(out);
                        }
                    }
                    Ok(false) => self.end_commit(false, out),
                    Err(crate::table::Fault::Missing(chunk)) => self.load(chunk, out),
                    Err(crate::table::Fault::Broken) => {
                        // A sweep that cannot see everything finds nothing: nobody is to wait for it.
                        self.stale &= self.commit.cause != Some(Cause::Sweep);
                        self.commit.answer = Some(Answer::Refused(Error::TableUnreadable));
                        self.end_commit(false, out);
                    }
                },
                Phase::Journal | Phase::Chunks | Phase::Directory | Phase::Root => {
                    if !self.write_pages(out) {
                        self.wear_out(out);
                    } else if self.commit.queue.is_empty() && self.commit.flying.is_empty() {
                        self.pages_written(out);
                    }
                }
                _ => {}
            }
            if self.commit.phase == phase {
                return;
            }
            self.wake = true;
        }
    }

    fn barrier(&mut self, out: &mut Actions) {
        let id = self.operations.start(Kind::Barrier);
        out.actions.push(Action::Barrier(id));
    }

    /// What was programmed before is durable.
    fn start_writing(&mut self, out: &mut Actions) {
        if self.commit.whole {
            // The root will name it.
            self.spare_journal(out);
            self.queue_chunks();
            self.commit.phase = Phase::Chunks;
        } else {
            self.commit.phase = Phase::Journal;
        }
    }

    fn pages_written(&mut self, out: &mut Actions) {
        self.commit.phase = match self.commit.phase {
            Phase::Journal => Phase::JournalBarrier,
            Phase::Chunks => {
                self.queue_directory();
                Phase::Directory
            }
            Phase::Directory if self.injected == InjectedFault::RootBarrierSkipped => {
                self.queue_root();
                self.commit.phase = Phase::Root;
                return;
            }
            Phase::Directory => Phase::DirectoryBarrier,
            Phase::Root => Phase::RootBarrier,
            other => unreachable!("{other:?} writes no pages"),
        };
        if self.commit.phase != Phase::Directory {
            self.barrier(out);
        }
    }

    pub(crate) fn barrier_done(&mut self, out: &mut Actions) {
        self.wake = true;
        match self.commit.phase {
            Phase::DataBarrier => self.start_writing(out),
            Phase::DirectoryBarrier => {
                self.queue_root();
                self.commit.phase = Phase::Root;
            }
            Phase::JournalBarrier => self.end_commit(true, out),
            Phase::RootBarrier => {
                self.root_written();
                self.end_commit(true, out);
            }
            // The planted bug does not wait for it.
            _ => assert_eq!(self.injected, InjectedFault::BarrierSkipped),
        }
    }

    /// Writes what waits, as far as there are erased blocks for it. False if there is no block any more.
    fn write_pages(&mut self, out: &mut Actions) -> bool {
        while let Some(page) = self.commit.queue.pop_front() {
            // Pages of the directory lead to the one that was written before.
            let waits = page.content == Content::Directory && !self.commit.flying.is_empty();
            let flash = if waits { Some(NOWHERE) } else { self.position(page.content, out) };
            match flash {
                None => return false,
                Some(NOWHERE) => {
                    self.commit.queue.push_front(page);
                    return true;
                }
                Some(flash) => {
                    let mut page = page;
                    self.complete_page(&mut page, flash);
                    self.sequence += 1;
                    let id = self.operations.start(Kind::Commit { flash });
                    self.commit.flying.push((id, page));
                    self.stats.programs[Class::Map as usize] += 1;
                    let page = self.layout.page(flash);
                    let program = ProgramOp { id, page, sequence: self.sequence, class: Class::Map, slc: false };
                    out.actions.push(Action::Program(program));
                }
            }
        }
        true
    }

    pub(crate) fn page_written(&mut self, id: OpId, flash: u64, status: Status) {
        self.wake = true;
        let at = self.commit.flying.iter().position(|(flying, _)| *flying == id).expect("a page of this commit");
        let (_, page) = self.commit.flying.swap_remove(at);
        let block = self.layout.block_of(flash);
        if status != Status::Ok {
            self.blocks.wear_out(block, (flash - self.layout.flash_page(block, 0)) as u32);
            self.commit.queue.push_front(page);
            return;
        }
        match page.content {
            Content::Chunk(chunk) => {
                let home = std::mem::replace(&mut self.table.chunks[chunk as usize].home, flash);
                self.blocks.gain(block, 1);
                if home != NOWHERE {
                    self.blocks.lose(self.layout.block_of(home), 1);
                }
            }
            Content::Directory => {
                self.blocks.gain(block, 1);
                self.directory.push(flash);
            }
            Content::Journal => self.journal.used += 1,
            Content::Root => {}
        }
    }

    pub(crate) fn erase_for_commit(&mut self, block: u32, out: &mut Actions) {
        let id = self.operations.start(Kind::Prepare { block });
        out.actions.push(Action::Erase(EraseOp { id, block: self.layout.block(block), class: Class::Map }));
    }

    /// Nothing can be committed any more.
    fn wear_out(&mut self, out: &mut Actions) {
        self.worn_out = true;
        self.commit.queue.clear();
        self.commit.answer = Some(Answer::Refused(Error::WornOut));
        self.end_commit(false, out);
    }

    /// It is over: `written`, or without anything to write.
    fn end_commit(&mut self, written: bool, out: &mut Actions) {
        let cause = self.commit.cause.take().expect("a commit under way");
        if written {
            self.blocks.release_emptied();
            self.stats.commits += 1;
            self.committed = (self.anchors.root, self.journal.group);
        }
        self.commit.phase = Phase::Idle;
        self.starved = false;
        self.wake = true;
        let answer = self.commit.answer.take();
        if let Cause::Sync(tag) | Cause::Rollback(tag, _) | Cause::Drop(tag, _) | Cause::End(tag) = cause {
            self.reply(tag, answer.unwrap_or(Answer::Done), out);
        }
    }
}
