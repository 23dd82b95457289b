//! A page as it is now, for reads: found on the way through its versions, none of which is taken out of the table.

use crate::layout::Layout;
use crate::status::{State, Status};
use crate::table::{Fault, Table};
use crate::vector::Vector;

/// What a read finds of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// State and permissions, and the owner; none: the page is not there.
    pub ownership: Option<(Status, u32)>,
    /// Of the segments that are wanted those that lie in flash, a bit each.
    pub found: u32,
    /// Flash page of each of these.
    pub places: [u64; 16],
}

impl Lookup {
    /// Looks for the segments `wanted` of `page`, of `segments`. Of the versions it needs those only that lead to them, and
    /// to the page's owner.
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
                let deleted = entry.status.state() == State::Deleted;
                if !held && !deleted {
                    self.ownership = Some((entry.status, entry.mapping as u32));
                }
                // What is below a deletion is not there any more.
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
