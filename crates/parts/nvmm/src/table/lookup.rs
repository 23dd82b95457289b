//! The present state of a page, for reads: found by following its versions, without taking any out of the table.

use crate::space::layout::Layout;
use crate::table::status::{EntryState, Status};
use crate::table::vector::Vector;
use crate::table::{Fault, Table};

/// The result of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// Status and owner; `None` if the page does not exist.
    pub ownership: Option<(Status, u32)>,
    /// The wanted segments that lie in flash, one bit each.
    pub found: u32,
    /// The flash page of each of these segments.
    pub places: [u64; 16],
}

impl Lookup {
    /// Finds the segments `wanted` of `page`, which has `segments` segments. Needs only those versions in DRAM that
    /// lead to them and to the page's owner.
    pub fn find(&mut self, page: u32, wanted: u32, segments: u32, table: &Table, layout: &Layout) -> Result<(), Fault> {
        if let Some(prefilled) = table.prefilled(page) {
            (self.ownership, self.found) = (Some(prefilled.ownership()), wanted);
            for segment in Vector(wanted).iter() {
                self.places[segment as usize % 16] = prefilled.place(page, segment);
            }
            return Ok(());
        }
        (self.ownership, self.found) = (None, 0);
        let (mut index, mut left, mut held) = (page, wanted, false);
        loop {
            let entry = table.entry(index)?;
            if entry.status.is_holder() {
                let deleted = entry.status.state() == EntryState::Deleted;
                if !held && !deleted {
                    self.ownership = Some((entry.status, entry.mapping as u32));
                }
                // Versions below a deletion do not exist any more.
                (held, left) = (true, if deleted { 0 } else { left });
            } else {
                let here = entry.vector.segments(segments) & left;
                for segment in Vector(here).iter() {
                    let bit = entry.vector.distance(segment, segments).expect("it has it");
                    self.places[segment as usize % 16] = layout.reach(entry.mapping, bit);
                }
                self.found |= here;
                left &= !here;
            }
            if entry.previous == 0 || (held && left == 0) {
                return Ok(());
            }
            index = entry.previous;
        }
    }
}
