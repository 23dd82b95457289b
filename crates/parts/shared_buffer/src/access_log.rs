//! Records which words each step of the protocol touches, to compute its cost on a bus.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use crate::region::{Region, WORD};

/// One access to the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether the access is a store rather than a load.
    pub store: bool,
    /// Offset of the first byte.
    pub offset: usize,
    /// Length in bytes: 8, or the length of a copy.
    pub bytes: usize,
    /// `Relaxed`; `Acquire`, for which later accesses wait; or `Release`, which waits for earlier ones (a preceding
    /// barrier).
    pub order: Ordering,
}

/// The totals of a list of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of loads; a copy counts as one.
    pub loads: u64,
    /// Number of stores; a copy counts as one.
    pub stores: u64,
    /// Bytes loaded.
    pub load_bytes: u64,
    /// Bytes stored.
    pub store_bytes: u64,
}

/// A list of accesses. Clearing it keeps the allocation.
#[derive(Debug, Default)]
pub struct AccessLog {
    list: RefCell<Vec<Access>>,
}

impl AccessLog {
    /// Creates an empty log.
    pub fn new() -> AccessLog {
        AccessLog::default()
    }

    /// Wraps `region` so that every access is recorded in this log.
    pub fn over<'a, R: Region + ?Sized>(&'a self, region: &'a R) -> Logged<'a, R> {
        Logged { region, log: self }
    }

    /// Discards all recorded accesses.
    pub fn clear(&mut self) {
        self.list.get_mut().clear();
    }

    /// Returns the accesses since the log was last cleared, in order.
    pub fn accesses(&mut self) -> &[Access] {
        self.list.get_mut()
    }

    /// Returns the totals of the recorded accesses.
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

/// A region whose accesses are recorded.
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
