//! The calls of a memory that is mapped: the same, and what is mapped goes with them.

use std::ops::Range;

use nvmm::{Permissions, Token};

use super::ahead::Plan;
use super::core::{Cache, Core};
use super::pages::Key;
use crate::device::Device;
use crate::error::Error;
use crate::{Memory, Stats};

impl<D: Device> Core<D> {
    /// The memory, unless it was closed; nothing is being read.
    pub fn open(&mut self) -> Result<&mut Memory<D>, Error> {
        self.settle()?;
        let memory = self.memory.as_mut().ok_or_else(|| Error::Closed { path: self.path.clone() })?;
        memory.enter()?;
        Ok(memory)
    }

    fn keys(&self, address: u64, bytes: u64) -> Range<Key> {
        let segment = self.memory.as_ref().map_or(1, |memory| u64::from(memory.shape().segment_bytes));
        address / segment..(address + bytes).div_ceil(segment)
    }

    /// What is dirty in the mapping is below, as it is now: stores wait meanwhile.
    fn save(&mut self) -> Result<(), Error> {
        let held = self.pages.hold(&mut self.region);
        for key in held {
            let memory = self.memory.as_mut().expect("it is open");
            while !self.pages.save(key, &mut self.region, &mut Cache(memory)) {
                memory.make_room()?;
            }
        }
        Ok(())
    }

    /// As [`Memory::read`].
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        let memory = self.open()?;
        let range = memory.check_range(address, into.len() as u64)?;
        memory.permitted(range, false)?;
        let segment = u64::from(memory.shape().segment_bytes);
        for (key, from, to) in pieces(address, into.len() as u64, segment) {
            let into = &mut into[(from - address) as usize..(to - address) as usize];
            match self.pages.is_mapped(key) {
                true => self.region.copy_part_out(key, (from - key * segment) as usize, into),
                false => self.memory.as_mut().expect("it is open").read_unchecked(from, into)?,
            }
        }
        Ok(())
    }

    /// As [`Memory::write`].
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let memory = self.open()?;
        let range = memory.check_range(address, bytes.len() as u64)?;
        memory.permitted(range, true)?;
        let segment = u64::from(memory.shape().segment_bytes);
        for (key, from, to) in pieces(address, bytes.len() as u64, segment) {
            let bytes = &bytes[(from - address) as usize..(to - address) as usize];
            if self.pages.is_mapped(key) {
                self.pages.dirty_now(key, &mut self.region);
                self.region.copy_part_in(key, (from - key * segment) as usize, bytes);
            } else {
                self.memory.as_mut().expect("it is open").write_unchecked(from, bytes)?;
            }
        }
        Ok(())
    }

    /// As [`Memory::sync`], of one instant: stores that come while it is being made wait.
    pub fn sync(&mut self, name: Option<&str>) -> Result<Token, Error> {
        self.open()?;
        self.save()?;
        self.open()?.sync(name)
    }

    /// As [`Memory::rollback`]. What is mapped shows the restored values from then on.
    pub fn rollback(&mut self, token: Token) -> Result<(), Error> {
        let memory = self.open()?;
        let rolled = memory.rollback(token);
        // As it does with what it has in DRAM.
        if rolled.is_ok() || !memory.unanswered.is_empty() {
            self.plans.clear();
            self.pages.discard(0..self.pages.count(), &mut self.region);
        }
        rolled
    }

    /// As [`Memory::delete`].
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
        // Neighbours at once.
        let whole = gone.len() as u64 == (address + bytes).div_ceil(page_bytes) - address / page_bytes;
        match (whole, gone.first(), gone.last()) {
            (true, Some(first), Some(last)) => self.pages.discard(first.start..last.end, &mut self.region),
            _ => gone.into_iter().for_each(|range| self.pages.discard(range, &mut self.region)),
        }
        deleted
    }

    /// As [`Memory::set_permissions`].
    pub fn set_permissions(&mut self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        self.open()?;
        self.save()?;
        let set = self.open()?.set_permissions(address, bytes, permissions);
        if self.open()?.check_range(address, bytes).is_ok() {
            // Whatever is touched next is asked about.
            let keys = self.keys(address, bytes);
            self.pages.discard(keys, &mut self.region);
        }
        set
    }

    /// A range will be used soon: it is read.
    pub fn will_need(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.open()?.check(address, bytes)?;
        let keys = self.keys(address, bytes);
        let count = (keys.end - keys.start).min(self.pages.limit()) as u32;
        self.plan(Plan { first: keys.start, stride: 1, count });
        Ok(())
    }

    /// A range will not be used soon: it leaves the mapping.
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

    /// As [`Memory::close`]. Whoever touches the mapping afterwards ends the process.
    pub fn close(&mut self) -> Result<(), Error> {
        self.settle()?;
        self.plans.clear();
        let Some(memory) = self.memory.take() else { return Ok(()) };
        self.pages.discard(0..self.pages.count(), &mut self.region);
        memory.close()
    }

    /// As [`Memory::stats`].
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

/// A range by segments: each with the addresses that are in the range.
fn pieces(address: u64, bytes: u64, segment: u64) -> impl Iterator<Item = (Key, u64, u64)> {
    let end = address + bytes;
    (address / segment..end.div_ceil(segment))
        .map(move |key| (key, address.max(key * segment), end.min((key + 1) * segment)))
}
