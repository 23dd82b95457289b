//! The state of garbage collection in one parallel unit.

use crate::gc::fold::ReadOrder;
use crate::gc::pending::{Pending, Purpose};
use crate::gc::resting::Resting;
use crate::gc::share::Share;
use crate::gc::victims::Victims;
use crate::space::blocks::Blocks;

/// Progress of reading the valid units of a block: the first `cursor` programs in the order of the scan have been read.
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

/// A program at which the scan of collection has stopped because its copies have no room: its first unit, and the
/// number of its valid units, which is 0 if nothing is known of the scan's next program.
#[derive(Clone, Copy, Default)]
pub(super) struct Stop {
    pub(super) unit: u32,
    pub(super) valid: u32,
}

/// A block being emptied in the background: an SLC block, or one whose data is refreshed.
#[derive(Default)]
pub(crate) struct Background {
    pub(super) scan: Option<GcScan>,
    /// The scan waits for idle time, or for collection.
    pub(super) waits: bool,
    /// Its reads, in order of issue.
    pub(super) order: ReadOrder,
    /// Purpose of its copies.
    pub(super) purpose: Purpose,
}

impl Background {
    /// Returns true if more of the block is about to be read.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.scan.is_some() && !self.waits
    }
}

/// Garbage collection in one parallel unit.
pub(crate) struct Collection {
    pub(super) scan: Option<GcScan>,
    pub(super) background: Background,
    /// Blocks being collected or not yet erased, including the block of `scan`.
    pub(crate) victims: Victims,
    /// Shortage in units when the latest victim was chosen.
    pub(super) short_by: i64,
    pub(super) share: Share,
    pub(super) resting: Resting,
    /// No block could be collected; opening or erasing a block may change that.
    pub(super) barren: bool,
    pending: [Pending; 2],
    /// Units being read, pending or being programmed.
    pub(super) in_flight: u32,
    pub(super) quota: u32,
    /// The next program of `scan`, which has no room.
    pub(super) stop: Stop,
    /// Block chosen by the policy, until it is collected.
    pub(super) chosen: Option<u32>,
    /// Blocks to collect regardless of the policy.
    pub(super) forced: Vec<u32>,
    /// The emergency reserve may be used.
    pub(super) emergency: bool,
    /// Even the room kept for a program failure may be used.
    pub(super) reckless: bool,
    /// Blocks chosen since anything other than collection took room.
    pub(super) fruitless: u64,
    /// Count of such events at that time.
    pub(super) taken: u64,
    /// Erases since wear was last checked.
    pub(super) since_wear: u32,
}

impl Collection {
    /// Creates the state of a parallel unit with `block_units` units per block, which may have `quota` units in flight.
    /// Work in the background has the purpose `background`.
    pub(super) fn new(quota: u32, block_units: u32, background: Purpose) -> Collection {
        Collection {
            scan: None,
            background: Background { purpose: background, ..Background::default() },
            victims: Victims::new(block_units),
            short_by: 0,
            share: Share::default(),
            resting: Resting::default(),
            barren: false,
            pending: Default::default(),
            in_flight: 0,
            quota,
            stop: Stop::default(),
            chosen: None,
            forced: Vec::new(),
            emergency: false,
            reckless: false,
            fruitless: 0,
            taken: 0,
            since_wear: 0,
        }
    }

    #[inline]
    pub(super) fn pending(&self, purpose: Purpose) -> &Pending {
        &self.pending[purpose as usize]
    }

    #[inline]
    pub(super) fn pending_mut(&mut self, purpose: Purpose) -> &mut Pending {
        &mut self.pending[purpose as usize]
    }

    /// Returns true if reads for some purpose are in progress.
    pub(super) fn is_reading_any(&self) -> bool {
        self.pending.iter().any(|pending| pending.reading > 0)
    }

    /// Returns the number of copies that were read and are not yet in a program.
    pub(super) fn count_pending(&self) -> u32 {
        self.pending.iter().map(|pending| pending.slots.len() as u32).sum()
    }

    /// Returns true if more copies for `purpose` are about to arrive.
    #[inline]
    pub(super) fn will_add(&self, purpose: Purpose) -> bool {
        let collects = purpose == Purpose::Collection && self.scan.is_some();
        let in_background = purpose == self.background.purpose && self.background.is_active();
        self.pending(purpose).reading > 0 || (collects || in_background) && !self.is_stuck()
    }

    /// Returns true if copies for both purposes wait for more of their kind, and hold the slots that these would need.
    fn is_stuck(&self) -> bool {
        self.pending.iter().all(|pending| !pending.slots.is_empty() && pending.reading == 0)
            && self.count_pending() == self.in_flight
    }

    /// Returns true if copies are in flight or will follow.
    #[inline]
    pub(crate) fn is_copying(&self) -> bool {
        self.scan.is_some() || self.in_flight > 0
    }

    /// Returns true if a limit of `copies` in flight leaves room for a batch of reads.
    #[inline]
    pub(super) fn takes(&self, batch: Option<u32>, copies: u32) -> bool {
        batch.is_none_or(|units| self.in_flight + units <= copies)
    }

    /// Returns true if no block is collected or waits for its erase.
    #[inline]
    pub(crate) fn has_no_victim(&self) -> bool {
        self.victims.is_empty()
    }

    /// Returns true if operations in progress will free room, and need not be helped by the emergency reserve.
    #[inline]
    pub(crate) fn waits_for_room(&self) -> bool {
        (self.in_flight > 0 || !self.victims.is_empty()) && !self.emergency
    }

    /// Returns true if the emergency reserve may be used.
    #[inline]
    pub(crate) fn is_in_emergency(&self) -> bool {
        self.emergency
    }

    /// Returns true if even the room kept for a program failure may be used.
    pub(crate) fn uses_all_room(&self) -> bool {
        self.reckless
    }

    /// Returns true if more of `block` is to be read.
    pub(crate) fn is_reading(&self, block: u32) -> bool {
        [self.scan, self.background.scan].iter().flatten().any(|scan| scan.block == block)
    }

    /// Returns an upper bound on the room in units that the blocks being collected will take.
    pub(crate) fn demand(&self, blocks: &Blocks) -> i64 {
        let left: u32 = [self.scan, self.background.scan].iter().flatten().map(|scan| blocks.valid(scan.block)).sum();
        i64::from(left.max(self.in_flight))
    }
}
