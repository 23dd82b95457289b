//! Commits make the state durable. Each commit writes the table as it is. A power cut still leads back to the last
//! sync, because opening removes versions newer than that, so collection may commit at any time.
//!
//! One commit runs at a time. It waits for programs under way, and the table stays unchanged until the commit ends
//! (reads continue). A barrier makes the programmed data durable. Then a journal group is written or, if the journal
//! has become long, the changed chunks, the directory and the root, each followed by a barrier. Only then may the
//! blocks that it emptied be erased.

use media::{Action, Class, EraseOp, OpId, ProgramOp, Status};

use crate::durability::progress::{Cause, Content, Phase};
use crate::operations::OperationKind;
use crate::request::{Answer, Error};
use crate::table::NOWHERE;
use crate::{Actions, InjectedFault, Nvmm};

impl Nvmm {
    /// Begins a commit; none is under way.
    pub(crate) fn begin_commit(&mut self, cause: Cause) {
        assert!(self.durable.commit.is_idle());
        self.durable.commit.phase = Phase::Drain;
        self.durable.commit.cause = Some(cause);
        (self.durable.commit.cursor, self.durable.commit.whole, self.durable.commit.changed) = (0, false, false);
        self.wake = true;
    }

    pub(crate) fn run_commit(&mut self, out: &mut Actions) {
        loop {
            let phase = self.durable.commit.phase;
            match phase {
                Phase::Idle if self.durable.due.open => {
                    self.durable.due.open = false;
                    self.begin_commit(Cause::Open);
                }
                Phase::Idle if self.durable.due.sweep => {
                    self.durable.due.sweep = false;
                    self.begin_commit(Cause::Sweep);
                }
                Phase::Idle if self.durable.due.collection && !self.must_not_commit() => {
                    self.durable.due.collection = false;
                    if !self.worn_out {
                        self.begin_commit(Cause::Collection);
                    }
                }
                Phase::Drain if !self.writes.any_program() => self.durable.commit.phase = Phase::Prepare,
                Phase::Prepare => match self.prepare() {
                    Ok(true) => {
                        self.durable.commit.phase = Phase::DataBarrier;
                        self.barrier(out);
                        if self.injected.is(InjectedFault::BarrierSkipped) {
                            self.start_writing(out);
                        }
                    }
                    Ok(false) => self.end_commit(false, out),
                    Err(crate::table::Fault::Missing(chunk)) => self.load(chunk, out),
                    Err(crate::table::Fault::Broken) => {
                        // A sweep that cannot read everything finds nothing: requests must not wait for it.
                        self.durable.due.stale &= self.durable.commit.cause != Some(Cause::Sweep);
                        self.durable.commit.answer = Some(Answer::Refused(Error::TableUnreadable));
                        self.end_commit(false, out);
                    }
                },
                Phase::Journal | Phase::Chunks | Phase::Directory | Phase::Root => {
                    if !self.write_pages(out) {
                        self.wear_out(out);
                    } else if self.durable.commit.queue.is_empty() && self.durable.commit.flying.is_empty() {
                        self.pages_written(out);
                    }
                }
                _ => {}
            }
            if self.durable.commit.phase == phase {
                return;
            }
            self.wake = true;
        }
    }

    fn barrier(&mut self, out: &mut Actions) {
        let id = self.operations.start(OperationKind::Barrier);
        out.actions.push(Action::Barrier(id));
    }

    /// Begins to write pages: all data programmed before is durable.
    fn start_writing(&mut self, out: &mut Actions) {
        if self.durable.commit.whole {
            // The root names the next journal block.
            self.spare_journal(out);
            self.queue_chunks();
            self.durable.commit.phase = Phase::Chunks;
        } else {
            self.durable.commit.phase = Phase::Journal;
        }
    }

    fn pages_written(&mut self, out: &mut Actions) {
        self.durable.commit.phase = match self.durable.commit.phase {
            Phase::Journal => Phase::JournalBarrier,
            Phase::Chunks => {
                self.queue_directory();
                Phase::Directory
            }
            Phase::Directory if self.injected.is(InjectedFault::RootBarrierSkipped) => {
                self.queue_root();
                self.durable.commit.phase = Phase::Root;
                return;
            }
            Phase::Directory => Phase::DirectoryBarrier,
            Phase::Root => Phase::RootBarrier,
            other => unreachable!("{other:?} writes no pages"),
        };
        if self.durable.commit.phase != Phase::Directory {
            self.barrier(out);
        }
    }

    pub(crate) fn barrier_done(&mut self, out: &mut Actions) {
        self.wake = true;
        match self.durable.commit.phase {
            Phase::DataBarrier => self.start_writing(out),
            Phase::DirectoryBarrier => {
                self.queue_root();
                self.durable.commit.phase = Phase::Root;
            }
            Phase::JournalBarrier => self.end_commit(true, out),
            Phase::RootBarrier => {
                self.root_written();
                self.end_commit(true, out);
            }
            // With the injected fault, the commit has already moved on.
            _ => assert!(self.injected.is(InjectedFault::BarrierSkipped), "a barrier ended that no phase waits for"),
        }
    }

    /// Writes waiting pages while erased blocks are available. Returns false if no block is left.
    fn write_pages(&mut self, out: &mut Actions) -> bool {
        while let Some(page) = self.durable.commit.queue.pop_front() {
            // Each directory page names the one written before it.
            let waits = page.content == Content::Directory && !self.durable.commit.flying.is_empty();
            let flash = if waits { Some(NOWHERE) } else { self.position(page.content, out) };
            match flash {
                None => return false,
                Some(NOWHERE) => {
                    self.durable.commit.queue.push_front(page);
                    return true;
                }
                Some(flash) => {
                    let mut page = page;
                    self.complete_page(&mut page, flash);
                    self.sequence += 1;
                    let id = self.operations.start(OperationKind::Commit { flash });
                    self.durable.commit.flying.push((id, page));
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
        let at =
            self.durable.commit.flying.iter().position(|(flying, _)| *flying == id).expect("a page of this commit");
        let (_, page) = self.durable.commit.flying.swap_remove(at);
        let block = self.layout.block_of(flash);
        if !status.is_ok() {
            self.blocks.wear_out(block, (flash - self.layout.flash_page(block, 0)) as u32);
            self.durable.commit.queue.push_front(page);
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
                self.durable.directory.push(flash);
            }
            Content::Journal => self.durable.journal.used += 1,
            Content::Root => {}
        }
    }

    pub(crate) fn erase_for_commit(&mut self, block: u32, out: &mut Actions) {
        let id = self.operations.start(OperationKind::Prepare { block });
        out.actions.push(Action::Erase(EraseOp { id, block: self.layout.block(block), class: Class::Map }));
    }

    /// Ends the commit: no block is left, so nothing can be committed any more.
    fn wear_out(&mut self, out: &mut Actions) {
        self.worn_out = true;
        self.durable.commit.queue.clear();
        self.durable.commit.answer = Some(Answer::Refused(Error::WornOut));
        self.end_commit(false, out);
    }

    /// Ends the commit; `written` is false if it had nothing to write.
    fn end_commit(&mut self, written: bool, out: &mut Actions) {
        let cause = self.durable.commit.cause.take().expect("a commit under way");
        if written {
            self.blocks.release_emptied();
            self.stats.commits += 1;
            self.durable.committed = (self.durable.anchors.root, self.durable.journal.group);
        }
        self.durable.commit.phase = Phase::Idle;
        self.writes.starved = false;
        self.wake = true;
        let answer = self.durable.commit.answer.take();
        if let Cause::Sync(tag)
        | Cause::Flush(tag)
        | Cause::Replace(tag, _)
        | Cause::Rollback(tag, _)
        | Cause::Drop(tag, _)
        | Cause::End(tag) = cause
        {
            self.reply(tag, answer.unwrap_or(Answer::Done), out);
        }
    }
}
