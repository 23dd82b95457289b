//! The state of garbage collection in one parallel unit.

use std::collections::VecDeque;

use crate::gc::fold::ReadOrder;
use crate::gc::pacing::Victim;

/// Progress of reading the valid units of a block: programs before `cursor` have been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GcScan {
    pub(crate) block: u32,
    pub(crate) cursor: u32,
    pub(crate) end: u32,
    /// Number of valid units when the block was chosen.
    pub(crate) valid: u32,
    /// Collected whether or not the parallel unit is short of space.
    pub(crate) forced: bool,
}

/// A block being emptied in the background: an SLC block, or one whose data is refreshed.
#[derive(Default)]
pub(crate) struct Background {
    pub(crate) scan: Option<GcScan>,
    /// The scan waits for idle time, or for collection.
    pub(crate) waits: bool,
    /// Its reads, in order of issue.
    pub(crate) order: ReadOrder,
}

impl Background {
    /// Returns true if more of the block is about to be read.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.scan.is_some() && !self.waits
    }
}

/// Copies that are read and not yet in a program.
pub(crate) struct Pending {
    /// Their slots, to be programmed in read order: neighbors stay neighbors.
    pub(crate) slots: VecDeque<u32>,
    /// The unit of some slot may be superseded.
    pub(crate) superseded: bool,
}

/// Garbage collection in one parallel unit.
pub(crate) struct Collection {
    pub(crate) scan: Option<GcScan>,
    pub(crate) background: Background,
    /// Blocks being collected or not yet erased, including the block of `scan`.
    pub(crate) victims: Vec<Victim>,
    /// Shortage in units when the latest victim was chosen.
    pub(crate) short_by: i64,
    /// No block could be collected; opening or erasing a block may change that.
    pub(crate) barren: bool,
    pub(crate) pending: Pending,
    /// Units being read, pending or being programmed.
    pub(crate) in_flight: u32,
    pub(crate) quota: u32,
    /// Reads in progress.
    pub(crate) reading: u32,
    /// Block chosen by the policy, until it is collected.
    pub(crate) chosen: Option<u32>,
    /// Blocks to collect regardless of the policy.
    pub(crate) forced: Vec<u32>,
    /// The emergency reserve may be used.
    pub(crate) emergency: bool,
    /// Even the room kept for a program failure may be used.
    pub(crate) reckless: bool,
    /// Blocks chosen since anything other than collection took room.
    pub(crate) fruitless: u64,
    /// Count of such events at that time.
    pub(crate) taken: u64,
    /// Erases since wear was last checked.
    pub(crate) since_wear: u32,
}

impl Collection {
    pub(crate) fn new(quota: u32) -> Collection {
        Collection {
            scan: None,
            background: Background::default(),
            victims: Vec::new(),
            short_by: 0,
            barren: false,
            pending: Pending { slots: VecDeque::with_capacity(quota as usize), superseded: false },
            in_flight: 0,
            quota,
            reading: 0,
            chosen: None,
            forced: Vec::new(),
            emergency: false,
            reckless: false,
            fruitless: 0,
            taken: 0,
            since_wear: 0,
        }
    }
}
