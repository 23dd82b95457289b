//! Durability: the sequence of programs, flushes, the trim journal, failed programs, parity and the mount.

pub(crate) mod contradiction;
pub(crate) mod durable_queue;
pub(crate) mod fail;
pub(crate) mod flush;
pub(crate) mod journal;
pub(crate) mod mount;
pub(crate) mod parity;
pub(crate) mod rebuild;
pub(crate) mod retries;
pub(crate) mod sequence;

use std::collections::BTreeSet;

use crate::buffer::slots::Slots;
use crate::config::Config;
use crate::layout::Layout;
use durable_queue::DurableQueue;
use journal::Journal;
use parity::Parity;
use retries::Retries;
use sequence::Sequence;

/// The order in which data becomes durable, and what failures cost.
pub(crate) struct Durability {
    pub(crate) sequence: Sequence,
    pub(crate) journal: Journal,
    pub(crate) durable_queue: DurableQueue,
    parity: Option<Box<Parity>>,
    pub(crate) retries: Retries,
    /// Logical units whose data could not be read when collection moved it.
    lost: BTreeSet<u32>,
    /// Too little of the flash is usable for further writes.
    read_only: bool,
}

impl Durability {
    /// Creates the state of an empty drive; parity takes its buffers from `slots`.
    pub(crate) fn new(config: &Config, layout: &Layout, slots: &mut Slots) -> Durability {
        Durability {
            sequence: Sequence::after(0),
            journal: Journal::new(config),
            durable_queue: DurableQueue::default(),
            parity: Parity::new(config, layout, slots).map(Box::new),
            retries: Retries::new(layout.parallel_units),
            lost: BTreeSet::new(),
            read_only: false,
        }
    }

    /// Returns true if stripes are protected by parity.
    #[inline]
    pub(crate) fn has_parity(&self) -> bool {
        self.parity.is_some()
    }

    /// Returns true if the drive no longer accepts writes because too little of the flash is usable.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Makes the drive accept no further writes. Returns true if it accepted them before.
    pub(crate) fn make_read_only(&mut self) -> bool {
        !std::mem::replace(&mut self.read_only, true)
    }

    /// Returns true if any unit is lost.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Returns true if the data of `unit` is lost.
    #[inline]
    pub(crate) fn is_lost(&self, unit: u32) -> bool {
        !self.lost.is_empty() && self.lost.contains(&unit)
    }

    /// Records that the data of `unit` is lost. Returns true if it was not lost before.
    pub(crate) fn lose(&mut self, unit: u32) -> bool {
        self.lost.insert(unit)
    }

    /// Records that all data of `unit` was written again or trimmed.
    #[inline]
    pub(crate) fn replace(&mut self, unit: u32) {
        if !self.lost.is_empty() {
            self.lost.remove(&unit);
        }
    }
}
