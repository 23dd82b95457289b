//! Space in the read cache that reads of flash take when they begin. Space is claimed in the order in which units are
//! looked up, and evicts the data or claim that was used least recently, as if the data were there already. A claim whose
//! read ends without data therefore ends itself, when it is the oldest.

use std::collections::VecDeque;
use std::ops::Range;

use crate::Ftl;
use crate::buffer::Buffer;
use crate::buffer::slots::NIL;

/// Claims of reads in progress, oldest first: units, and their places in the order of the clean data.
#[derive(Default)]
pub(super) struct Claims(VecDeque<(u32, u64)>);

impl Claims {
    /// Returns the number of claims.
    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Drops all claims, whose reads were dropped.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Buffer {
    /// Ends the claim for `unit`, whose data arrived, and returns its place in the order of the clean data; `None` if
    /// it was evicted.
    pub(crate) fn end_claim(&mut self, unit: u32) -> Option<u64> {
        let at = self.claims.0.iter().position(|(claimed, _)| *claimed == unit)?;
        self.claims.0.remove(at).map(|(_, place)| place)
    }

    /// Drops the claims for `units`, if there are any: they are not cached.
    pub(crate) fn drop_claims(&mut self, units: Range<u32>) {
        for unit in units {
            self.end_claim(unit);
        }
    }
}

impl Ftl {
    /// Claims room for `unit`, whose read begins.
    pub(crate) fn claim_clean(&mut self, unit: u32) {
        let place = self.buffer.next_use();
        self.buffer.claims.0.push_back((unit, place));
        self.evict_to(self.clean_limit());
    }

    /// Evicts the least recently used data and claims until they take at most `limit` units.
    pub(crate) fn evict_to(&mut self, limit: u32) {
        while self.buffer.clean.len + self.buffer.claims.len() > limit {
            let head = self.buffer.clean.head;
            let clean = (head != NIL).then(|| self.buffer.slots[head].epoch);
            let claimed = self.buffer.claims.0.front().map(|(_, place)| *place);
            if clean.is_none() || claimed.is_some_and(|claimed| clean > Some(claimed)) {
                self.buffer.claims.0.pop_front();
            } else {
                self.drop_clean(head);
            }
        }
    }
}
