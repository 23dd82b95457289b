//! The memory of a shared buffer.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use shared_buffer::{Region, WORD};

/// Memory that the device reaches through [`Region`] and the guest as BAR 2, at any time. Neither side trusts what it
/// finds there.
pub trait Buffer: Region + Debug + Send + Sync {}

impl<T: Region + Debug + Send + Sync> Buffer for T {}

/// Memory of this process.
#[derive(Debug)]
pub struct PlainBuffer(Box<[AtomicU64]>);

impl PlainBuffer {
    /// Creates at least `bytes` bytes of zeros.
    pub fn new(bytes: u64) -> PlainBuffer {
        PlainBuffer((0..bytes.div_ceil(WORD as u64)).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Region for PlainBuffer {
    fn words(&self) -> usize {
        self.0.len()
    }

    fn load(&self, at: usize, order: Ordering) -> u64 {
        self.0.load(at, order)
    }

    fn store(&self, at: usize, value: u64, order: Ordering) {
        self.0.store(at, value, order);
    }
}
