//! Units of reads that wait for their translation unit, or for a slot to be filled.

use media::Tag;

use crate::buffer::slots::NIL;

/// A unit of a read that waits for its translation unit, or for a slot to be filled.
#[derive(Clone, Copy)]
pub(crate) struct Fragment {
    pub(crate) tag: Tag,
    pub(crate) unit: u32,
    pub(crate) next: u32,
}

/// Waiting fragments, in chains.
pub(crate) struct Fragments {
    all: Vec<Fragment>,
    free: u32,
}

impl Fragments {
    pub(crate) fn new() -> Fragments {
        Fragments { all: Vec::new(), free: NIL }
    }

    /// Prepends a fragment to `chain` and returns the new chain.
    pub(crate) fn chain(&mut self, tag: Tag, unit: u32, chain: u32) -> u32 {
        let fragment = Fragment { tag, unit, next: chain };
        if self.free == NIL {
            self.all.push(fragment);
            return self.all.len() as u32 - 1;
        }
        let id = self.free;
        let place = &mut self.all[id as usize];
        self.free = place.next;
        *place = fragment;
        id
    }

    /// Returns the unit of the first fragment in `chain`, and the rest of the chain.
    pub(crate) fn waiting(&self, chain: u32) -> (u32, u32) {
        let Fragment { unit, next, .. } = self.all[chain as usize];
        (unit, next)
    }

    pub(crate) fn take(&mut self, chain: u32) -> Fragment {
        let place = &mut self.all[chain as usize];
        let fragment = *place;
        place.next = std::mem::replace(&mut self.free, chain);
        fragment
    }
}
