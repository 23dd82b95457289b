//! Changes that a commit makes before it writes. It first loads everything that it needs into DRAM; until then nothing
//! is changed.

use media::Tag;

use crate::durability::progress::Cause;
use crate::request::{Answer, Application, Error};
use crate::table::entry::Entry;
use crate::table::status::EntryState;
use crate::table::{Chunk, Data, Fault};
use crate::{Nvmm, Token};

impl Nvmm {
    /// Applies the change of the commit's cause. Returns false if there is nothing to write.
    pub(crate) fn prepare(&mut self) -> Result<bool, Fault> {
        let cause = self.durable.commit.cause.expect("a commit under way");
        if !self.durable.commit.changed {
            match cause {
                Cause::Sync(_) => self.sync(None)?,
                Cause::Flush(_) => self.flush()?,
                Cause::Replace(_, token) => self.sync(Some(token))?,
                Cause::Rollback(_, token) => self.rollback(token)?,
                Cause::Drop(_, token) => match self.epochs.find(token) {
                    Some(_) => {
                        self.epochs.drop(token);
                        self.durable.due.stale = true;
                    }
                    None => self.unknown(token),
                },
                Cause::End(tag) => self.end(tag)?,
                Cause::Sweep => self.sweep()?,
                Cause::Collection => {}
                Cause::Open => self.durable.commit.whole = true,
            }
            self.durable.commit.changed = true;
            // A commit for collection changes nothing: a search that copies cause would never end.
            if cause != Cause::Collection {
                self.gathering.allow(cause != Cause::Sweep);
            }
        }
        let refused = matches!(self.durable.commit.answer, Some(Answer::Refused(_)));
        if refused || matches!(cause, Cause::Sweep | Cause::End(_)) {
            return Ok(false);
        }
        self.queue_commit()?;
        Ok(true)
    }

    fn unknown(&mut self, token: Token) {
        let newest = self.epochs.tokens.last().map(|(token, _)| *token);
        self.durable.commit.answer = Some(Answer::Refused(Error::UnknownToken { token, newest }));
    }

    /// Ends the present epoch, and releases the state of `old` if given.
    fn sync(&mut self, old: Option<Token>) -> Result<(), Fault> {
        if let Some(token) = old
            && self.epochs.find(token).is_none()
        {
            self.unknown(token);
            return Ok(());
        }
        if self.epochs.tokens.len() - usize::from(old.is_some()) >= self.config.management.tokens as usize {
            let live = self.config.management.tokens;
            self.durable.commit.answer = Some(Answer::Refused(Error::TooManyTokens { live }));
            return Ok(());
        }
        self.ensure_epoch()?;
        if let Some(old) = old {
            self.epochs.drop(old);
            self.durable.due.stale = true;
        }
        self.stats.syncs += 1;
        let (token, dropped) = self.epochs.sync();
        self.durable.due.stale |= dropped;
        self.durable.commit.answer = Some(Answer::Token(token));
        Ok(())
    }

    /// Ends the present epoch without a token for it.
    fn flush(&mut self) -> Result<(), Fault> {
        self.ensure_epoch()?;
        self.durable.due.stale |= self.epochs.flush();
        Ok(())
    }

    /// Renumbers the epochs if there is no number for another one.
    fn ensure_epoch(&mut self) -> Result<(), Fault> {
        if self.epochs.now + 1 >= 1 << self.config.time_bits {
            self.renumber()?;
            self.durable.commit.whole = true;
        }
        Ok(())
    }

    /// Renumbers the epochs before the 24-bit time wraps: every entry's time becomes the number of the oldest kept
    /// epoch that sees it.
    fn renumber(&mut self) -> Result<(), Fault> {
        let chunks = self.config.table_chunks();
        (0..chunks).try_for_each(|chunk| self.table.ensure(chunk))?;
        for index in 0..self.config.pages + self.config.versions {
            if matches!(self.table.chunks[self.table.chunk_of(index) as usize].data, Data::Nothing) {
                continue;
            }
            let entry = self.table.entry(index)?;
            if matches!(entry.status.state(), EntryState::Live | EntryState::Deleted) {
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

    /// Calls `each` for every page in a `wanted` chunk whose entry satisfies `and`, with its chain fetched. Continues
    /// where a chunk missing from DRAM stopped the last call.
    fn for_pages(
        &mut self,
        wanted: impl Fn(&Chunk) -> bool,
        and: impl Fn(&Entry) -> bool,
        mut each: impl FnMut(&mut Nvmm),
    ) -> Result<(), Fault> {
        while self.durable.commit.cursor < self.table.page_chunks() {
            let chunk = self.durable.commit.cursor;
            if wanted(&self.table.chunks[chunk as usize]) {
                self.table.ensure(chunk)?;
                // Fetch all chains first, then change: a chunk's pages are changed only once.
                for page in self.table.pages_of(chunk) {
                    let entry = self.table.entry(page)?;
                    if entry.status.state() != EntryState::Nothing && and(&entry) {
                        self.chain.fetch(page, &self.table)?;
                    }
                }
                for page in self.table.pages_of(chunk) {
                    let entry = self.table.entry(page)?;
                    if entry.status.state() != EntryState::Nothing && and(&entry) {
                        self.chain.fetch(page, &self.table)?;
                        each(self);
                    }
                }
            }
            self.durable.commit.cursor += 1;
        }
        self.durable.commit.cursor = 0;
        Ok(())
    }

    fn rollback(&mut self, token: Token) -> Result<(), Fault> {
        let Some(epoch) = self.epochs.find(token) else {
            self.unknown(token);
            return Ok(());
        };
        self.for_pages(|chunk| chunk.newest > epoch, |entry| entry.time > epoch, |_| {})?;
        self.stats.rollbacks += 1;
        self.roll_back(epoch)
    }

    /// Removes versions newer than `epoch`.
    pub(crate) fn roll_back(&mut self, epoch: u32) -> Result<(), Fault> {
        self.epochs.rollback(epoch);
        self.durable.due.stale = true;
        let newer = move |chunk: &Chunk| chunk.newest > epoch;
        self.for_pages(
            newer,
            |entry| entry.time > epoch,
            |nvmm| {
                nvmm.chain.roll_back(epoch);
                nvmm.prune();
                nvmm.chain.store(&mut nvmm.table, &mut nvmm.blocks, &nvmm.layout);
                nvmm.stats.rolled_back += 1;
            },
        )?;
        for chunk in &mut self.table.chunks {
            chunk.newest = chunk.newest.min(epoch);
        }
        Ok(())
    }

    /// Deletes the temporary pages of the application of request `tag`.
    fn end(&mut self, tag: Tag) -> Result<(), Fault> {
        let application = self.requests.application(tag);
        let (wanted, and) = (|chunk: &Chunk| chunk.temporary > 0, |entry: &Entry| entry.status.is_temporary());
        let mut count = 0;
        let cursor = self.durable.commit.cursor;
        // Counting starts over after each missing chunk.
        self.durable.commit.cursor = 0;
        let counted = self.for_pages(wanted, and, |nvmm| {
            count += u32::from(nvmm.chain.ownership().is_some_and(|(_, owner)| Application(owner) == application));
        });
        self.durable.commit.cursor = if counted.is_err() { 0 } else { cursor };
        counted?;
        if count > self.table.available {
            let free = self.table.available;
            self.durable.commit.answer = Some(Answer::Refused(Error::NoVersions { wanted: count, free }));
            return Ok(());
        }
        self.table.ensure_free(count)?;
        self.durable.commit.cursor = 0;
        self.for_pages(wanted, and, |nvmm| {
            if let Some((status, owner)) = nvmm.chain.ownership()
                && Application(owner) == application
            {
                nvmm.push_holder(EntryState::Deleted, status.permissions(), application);
                nvmm.put_back();
            }
        })
    }

    /// Searches all pages for versions that nothing needs any more.
    fn sweep(&mut self) -> Result<(), Fault> {
        self.for_pages(
            |chunk| chunk.used > 0,
            |_| true,
            |nvmm| {
                if nvmm.prune() {
                    nvmm.chain.store(&mut nvmm.table, &mut nvmm.blocks, &nvmm.layout);
                }
            },
        )?;
        self.durable.due.stale = false;
        self.stats.sweeps += 1;
        Ok(())
    }

    /// Requests a sweep, if it could find anything. The caller tries again after it.
    pub(crate) fn sweep_first(&mut self) -> bool {
        let requested = self.durable.request_sweep();
        self.wake |= requested;
        requested
    }
}
