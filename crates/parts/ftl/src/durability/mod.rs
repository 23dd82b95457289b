//! Durability: the sequence of programs, flushes, the trim journal, failed programs, parity and the mount.

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
    pub(crate) parity: Option<Box<Parity>>,
    pub(crate) retries: Retries,
    /// Logical units whose data could not be read when collection moved it.
    pub(crate) lost: BTreeSet<u32>,
    /// Too little of the flash is usable for further writes.
    pub(crate) read_only: bool,
    /// The last dispatch left work to reconsider after the next event.
    pub(crate) work_left: bool,
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
            work_left: false,
        }
    }
}
