//! Which words each step of the protocol touches, for who must know what it costs on a bus.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use crate::region::{Region, WORD};

/// One access to the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// A store, not a load.
    pub store: bool,
    /// First byte.
    pub offset: usize,
    /// Bytes: 8, or those of a copy.
    pub bytes: usize,
    /// `Relaxed`; `Acquire`: later accesses wait for it; `Release`: it waits for earlier ones (a barrier before it).
    pub order: Ordering,
}

/// What was touched, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Loads, a copy counted as one.
    pub loads: u64,
    /// Stores, a copy counted as one.
    pub stores: u64,
    /// Bytes loaded.
    pub load_bytes: u64,
    /// Bytes stored.
    pub store_bytes: u64,
}

/// A list of accesses. It keeps its memory when it is cleared, so that after the first few steps nothing is allocated.
#[derive(Debug, Default)]
pub struct AccessLog {
    list: RefCell<Vec<Access>>,
}

impl AccessLog {
    /// An empty one.
    pub fn new() -> AccessLog {
        AccessLog::default()
    }

    /// The same region, with every access noted here.
    pub fn over<'a, R: Region + ?Sized>(&'a self, region: &'a R) -> Logged<'a, R> {
        Logged { region, log: self }
    }

    /// Forgets what was noted.
    pub fn clear(&mut self) {
        self.list.get_mut().clear();
    }

    /// What was noted since it was last cleared, in order.
    pub fn accesses(&mut self) -> &[Access] {
        self.list.get_mut()
    }

    /// The same, summed up.
    pub fn counts(&mut self) -> Counts {
        self.accesses().iter().fold(Counts::default(), |mut counts, access| {
            if access.store {
                counts.stores += 1;
                counts.store_bytes += access.bytes as u64;
            } else {
                counts.loads += 1;
                counts.load_bytes += access.bytes as u64;
            }
            counts
        })
    }

    fn note(&self, store: bool, at: usize, bytes: usize, order: Ordering) {
        self.list.borrow_mut().push(Access { store, offset: at * WORD, bytes, order });
    }
}

/// A region whose accesses are noted.
#[derive(Debug)]
pub struct Logged<'a, R: ?Sized> {
    region: &'a R,
    log: &'a AccessLog,
}

impl<R: Region + ?Sized> Region for Logged<'_, R> {
    fn words(&self) -> usize {
        self.region.words()
    }

    fn load(&self, at: usize, order: Ordering) -> u64 {
        self.log.note(false, at, WORD, order);
        self.region.load(at, order)
    }

    fn store(&self, at: usize, value: u64, order: Ordering) {
        self.log.note(true, at, WORD, order);
        self.region.store(at, value, order);
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        self.log.note(false, at, into.len(), Ordering::Relaxed);
        self.region.read(at, into);
    }

    fn write(&self, at: usize, from: &[u8]) {
        self.log.note(true, at, from.len(), Ordering::Relaxed);
        self.region.write(at, from);
    }
}
