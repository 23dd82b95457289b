//! What a commit changes before it writes. All that it needs is brought into DRAM first: until then nothing is changed.

use media::Tag;

use crate::commit::Cause;
use crate::entry::Entry;
use crate::request::{Answer, Application, Error};
use crate::status::State;
use crate::table::{Chunk, Data, Fault};
use crate::{Nvmm, Token, retained};

impl Nvmm {
    /// Makes the change of the commit's cause. False if nothing is to be written.
    pub(crate) fn prepare(&mut self) -> Result<bool, Fault> {
        let cause = self.commit.cause.expect("a commit under way");
        if !self.commit.changed {
            match cause {
                Cause::Sync(_) => self.sync()?,
                Cause::Rollback(_, token) => self.rollback(token)?,
                Cause::Drop(_, token) => match self.epochs.find(token) {
                    Some(_) => {
                        self.epochs.drop(token);
                        self.stale = true;
                    }
                    None => self.unknown(token),
                },
                Cause::End(tag) => self.end(tag)?,
                Cause::Sweep => self.sweep()?,
                Cause::Collection => {}
                Cause::Open => self.commit.whole = true,
            }
            self.commit.changed = true;
            self.gathering_is_futile = false;
        }
        let refused = matches!(self.commit.answer, Some(Answer::Refused(_)));
        if refused || matches!(cause, Cause::Sweep | Cause::End(_)) {
            return Ok(false);
        }
        self.queue_commit()?;
        Ok(true)
    }

    fn unknown(&mut self, token: Token) {
        let newest = self.epochs.tokens.last().map(|(token, _)| *token);
        self.commit.answer = Some(Answer::Refused(Error::UnknownToken { token, newest }));
    }

    fn sync(&mut self) -> Result<(), Fault> {
        if self.epochs.tokens.len() >= self.config.tokens as usize {
            let live = self.config.tokens;
            self.commit.answer = Some(Answer::Refused(Error::TooManyTokens { live }));
            return Ok(());
        }
        if self.epochs.now + 1 >= 1 << self.config.time_bits {
            self.renumber()?;
            self.commit.whole = true;
        }
        let (token, dropped) = self.epochs.sync();
        self.stale |= dropped;
        self.commit.answer = Some(Answer::Token(token));
        Ok(())
    }

    /// Before the 24 bits wrap: every entry's time becomes the number of the oldest kept epoch that sees it.
    fn renumber(&mut self) -> Result<(), Fault> {
        let chunks = self.config.table_chunks();
        (0..chunks).try_for_each(|chunk| self.table.ensure(chunk))?;
        for index in 0..self.config.pages + self.config.versions {
            if matches!(self.table.chunks[self.table.chunk_of(index) as usize].data, Data::Nothing) {
                continue;
            }
            let entry = self.table.entry(index)?;
            if matches!(entry.status.state(), State::Live | State::Deleted) {
                let time = self.epochs.renumbered(entry.time);
                self.table.set(index, Entry { time, ..entry }, &mut self.blocks, &self.layout);
            }
        }
        self.epochs.renumber();
        for chunk in &mut self.table.chunks {
            chunk.newest = chunk.newest.min(self.epochs.now);
        }
        self.stats.renumberings += 1;
        Ok(())
    }

    /// Calls `each` with every page of the chunks that are `wanted` whose entry is `wanted` too, its chain fetched, from
    /// where the last call was stopped by a chunk that is not in DRAM.
    fn for_pages(
        &mut self,
        wanted: impl Fn(&Chunk) -> bool,
        and: impl Fn(&Entry) -> bool,
        mut each: impl FnMut(&mut Nvmm),
    ) -> Result<(), Fault> {
        while self.commit.cursor < self.table.page_chunks() {
            let chunk = self.commit.cursor;
            if wanted(&self.table.chunks[chunk as usize]) {
                self.table.ensure(chunk)?;
                // First all chains, then all changes: a chunk's pages are done once.
                for page in self.table.pages_of(chunk) {
                    let entry = self.table.entry(page)?;
                    if entry.status.state() != State::Nothing && and(&entry) {
                        self.chain.fetch(page, &self.table)?;
                    }
                }
                for page in self.table.pages_of(chunk) {
                    let entry = self.table.entry(page)?;
                    if entry.status.state() != State::Nothing && and(&entry) {
                        self.chain.fetch(page, &self.table)?;
                        each(self);
                    }
                }
            }
            self.commit.cursor += 1;
        }
        self.commit.cursor = 0;
        Ok(())
    }

    fn rollback(&mut self, token: Token) -> Result<(), Fault> {
        let Some(epoch) = self.epochs.find(token) else {
            self.unknown(token);
            return Ok(());
        };
        self.for_pages(|chunk| chunk.newest > epoch, |entry| entry.time > epoch, |_| {})?;
        self.roll_back(epoch)
    }

    /// Takes back what is newer than `epoch`.
    pub(crate) fn roll_back(&mut self, epoch: u32) -> Result<(), Fault> {
        self.epochs.rollback(epoch);
        self.stale = true;
        let newer = move |chunk: &Chunk| chunk.newest > epoch;
        self.for_pages(
            newer,
            |entry| entry.time > epoch,
            |nvmm| {
                nvmm.chain.roll_back(epoch);
                nvmm.chain.prune(retained(&nvmm.epochs, nvmm.injected), nvmm.config.segments);
                nvmm.chain.store(&mut nvmm.table, &mut nvmm.blocks, &nvmm.layout);
                nvmm.stats.rolled_back += 1;
            },
        )?;
        for chunk in &mut self.table.chunks {
            chunk.newest = chunk.newest.min(epoch);
        }
        Ok(())
    }

    /// Deletes the temporary pages of the application that `tag` says ends.
    fn end(&mut self, tag: Tag) -> Result<(), Fault> {
        let application = self.requests[tag.0 as usize].application;
        let (wanted, and) = (|chunk: &Chunk| chunk.temporary > 0, |entry: &Entry| entry.status.is_temporary());
        let mut count = 0;
        let cursor = self.commit.cursor;
        // Counted in one go, or again.
        self.commit.cursor = 0;
        let counted = self.for_pages(wanted, and, |nvmm| {
            count += u32::from(nvmm.chain.ownership().is_some_and(|(_, owner)| Application(owner) == application));
        });
        self.commit.cursor = if counted.is_err() { 0 } else { cursor };
        counted?;
        if count > self.table.available {
            let free = self.table.available;
            self.commit.answer = Some(Answer::Refused(Error::NoVersions { wanted: count, free }));
            return Ok(());
        }
        self.table.ensure_free(count)?;
        self.commit.cursor = 0;
        self.for_pages(wanted, and, |nvmm| {
            if let Some((status, owner)) = nvmm.chain.ownership()
                && Application(owner) == application
            {
                nvmm.push_holder(State::Deleted, status.permissions(), application);
                nvmm.put_back();
            }
        })
    }

    /// Looks through all pages for what nobody needs any more.
    fn sweep(&mut self) -> Result<(), Fault> {
        self.for_pages(
            |chunk| chunk.used > 0,
            |_| true,
            |nvmm| {
                if nvmm.chain.prune(retained(&nvmm.epochs, nvmm.injected), nvmm.config.segments) {
                    nvmm.chain.store(&mut nvmm.table, &mut nvmm.blocks, &nvmm.layout);
                }
            },
        )?;
        self.stale = false;
        self.stats.sweeps += 1;
        Ok(())
    }

    /// Asks for a sweep, if it can find anything. Whoever asked tries again after it.
    pub(crate) fn sweep_first(&mut self) -> bool {
        let stale = self.stale;
        if stale {
            (self.want_sweep, self.wake) = (true, true);
        }
        stale
    }
}
