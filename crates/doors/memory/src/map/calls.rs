//! The calls of a mapped memory: those of the memory, with the mapped pages kept consistent.

use std::ops::Range;

use nvmm::{Permissions, Token};

use super::ahead::Readahead;
use super::mapping::{Cache, Mapping};
use super::pages::{Key, Saved};
use crate::device::Device;
use crate::error::Error;
use crate::{Memory, Stats};

impl<D: Device> Mapping<D> {
    /// Returns the memory, after all reads in flight have ended.
    pub fn open(&mut self) -> Result<&mut Memory<D>, Error> {
        self.settle()?;
        let memory = self.memory.as_mut().ok_or_else(|| Error::Closed { path: self.path.clone() })?;
        memory.begin_call()?;
        Ok(memory)
    }

    fn keys(&self, address: u64, bytes: u64) -> Range<Key> {
        let segment = self.memory.as_ref().map_or(1, |memory| u64::from(memory.shape().segment_bytes));
        address / segment..(address + bytes).div_ceil(segment)
    }

    /// Copies all dirty mapped segments to the cache. They are write-protected first, so that stores wait meanwhile.
    fn save(&mut self) -> Result<(), Error> {
        let mut dirty = self.pages.protect_dirty(&mut self.region);
        let memory = self.memory.as_mut().expect("it is open");
        let mut error = None;
        dirty.retain(|key| {
            loop {
                let saved = match error {
                    None => self.pages.save(*key, &mut self.region, &mut Cache(memory)),
                    Some(_) => return false,
                };
                match saved {
                    Saved::NoRoom => error = memory.make_room().err(),
                    _ => return saved == Saved::Copied,
                }
            }
        });
        self.pages.learn(&dirty);
        error.map_or(Ok(()), Err)
    }

    /// Reads; see [`Memory::read`].
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        let memory = self.open()?;
        let range = memory.check_range(address, into.len() as u64)?;
        memory.check_permissions(range, false)?;
        let segment = u64::from(memory.shape().segment_bytes);
        for (key, from, to) in split_by_segment(address, into.len() as u64, segment) {
            let into = &mut into[(from - address) as usize..(to - address) as usize];
            match self.pages.is_mapped(key) {
                true => self.region.copy_part_out(key, (from - key * segment) as usize, into),
                false => self.memory.as_mut().expect("it is open").read_unchecked(from, into)?,
            }
        }
        Ok(())
    }

    /// Writes; see [`Memory::write`].
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let memory = self.open()?;
        let range = memory.check_range(address, bytes.len() as u64)?;
        memory.check_permissions(range, true)?;
        let segment = u64::from(memory.shape().segment_bytes);
        for (key, from, to) in split_by_segment(address, bytes.len() as u64, segment) {
            let bytes = &bytes[(from - address) as usize..(to - address) as usize];
            if self.pages.is_mapped(key) {
                self.pages.make_dirty(key, &mut self.region);
                self.region.copy_part_in(key, (from - key * segment) as usize, bytes);
            } else {
                self.memory.as_mut().expect("it is open").write_unchecked(from, bytes)?;
            }
        }
        Ok(())
    }

    /// Syncs a consistent snapshot; see [`Memory::sync`]. Stores made meanwhile wait.
    pub fn sync(&mut self, name: Option<&str>) -> Result<Token, Error> {
        self.open()?;
        self.save()?;
        self.open()?.sync(name)
    }

    /// Syncs like [`sync`](Self::sync), without a token; see [`Memory::flush`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.open()?;
        self.save()?;
        self.open()?.flush()
    }

    /// Rolls back; see [`Memory::rollback`]. From then on the mapping shows the restored data.
    pub fn rollback(&mut self, token: Token) -> Result<(), Error> {
        let memory = self.open()?;
        let rolled = memory.rollback(token);
        // Drop the mapped pages in the same cases in which the memory drops its cache.
        if rolled.is_ok() || !memory.unanswered.is_empty() {
            self.plans.clear();
            self.pages.discard(0..self.pages.count(), &mut self.region);
        }
        rolled
    }

    /// Deletes pages; see [`Memory::delete`].
    pub fn delete(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        let memory = self.open()?;
        let deleted = memory.delete(address, bytes);
        if memory.check_range(address, bytes).is_err() {
            return deleted;
        }
        let (page_bytes, segments) = (memory.shape().page_bytes(), u64::from(memory.shape().segments));
        let mut gone = Vec::new();
        for page in address / page_bytes..(address + bytes).div_ceil(page_bytes) {
            if memory.ownership(page as u32)?.is_none() {
                gone.push(page * segments..(page + 1) * segments);
            }
        }
        // Discard adjacent pages in one call.
        let whole = gone.len() as u64 == (address + bytes).div_ceil(page_bytes) - address / page_bytes;
        match (whole, gone.first(), gone.last()) {
            (true, Some(first), Some(last)) => self.pages.discard(first.start..last.end, &mut self.region),
            _ => gone.into_iter().for_each(|range| self.pages.discard(range, &mut self.region)),
        }
        deleted
    }

    /// Sets permissions; see [`Memory::set_permissions`].
    pub fn set_permissions(&mut self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        self.open()?;
        self.save()?;
        let set = self.open()?.set_permissions(address, bytes, permissions);
        if self.open()?.check_range(address, bytes).is_ok() {
            // Unmap the range, so that the next access checks the new permissions.
            let keys = self.keys(address, bytes);
            self.pages.discard(keys, &mut self.region);
        }
        set
    }

    /// Starts reading a range that will be used soon.
    pub fn will_need(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.open()?.check(address, bytes)?;
        let keys = self.keys(address, bytes);
        let count = (keys.end - keys.start).min(self.pages.limit()) as u32;
        self.plan(Readahead { first: keys.start, stride: 1, count });
        Ok(())
    }

    /// Evicts a range that will not be used soon.
    pub fn not_needed(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.open()?.check(address, bytes)?;
        let keys = self.keys(address, bytes);
        loop {
            let memory = self.memory.as_mut().expect("it is open");
            if self.pages.evict_range(keys.clone(), &mut self.region, &mut Cache(memory)) {
                return Ok(());
            }
            memory.make_room()?;
        }
    }

    /// Closes the memory; see [`Memory::close`]. Touching the mapping afterwards aborts the process.
    pub fn close(&mut self) -> Result<(), Error> {
        self.settle()?;
        self.plans.clear();
        let Some(memory) = self.memory.take() else { return Ok(()) };
        self.pages.discard(0..self.pages.count(), &mut self.region);
        memory.close()
    }

    /// Returns the statistics; see [`Memory::stats`].
    pub fn stats(&mut self) -> Result<Stats, Error> {
        let memory = self.open()?;
        let segment = u64::from(memory.shape().segment_bytes);
        let mut stats = memory.stats();
        stats.dirty += self.pages.dirty();
        stats.dram_bytes += self.pages.limit() * segment;
        stats.map = self.stats;
        stats.map.mapped_bytes = self.pages.mapped() * segment;
        Ok(stats)
    }
}

/// Splits a range at segment boundaries: each segment with the start and end of its part of the range.
fn split_by_segment(address: u64, bytes: u64, segment: u64) -> impl Iterator<Item = (Key, u64, u64)> {
    let end = address + bytes;
    (address / segment..end.div_ceil(segment))
        .map(move |key| (key, address.max(key * segment), end.min((key + 1) * segment)))
}
