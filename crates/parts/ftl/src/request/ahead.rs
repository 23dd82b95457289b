//! Reads ahead of the host: whole pages that hold the next units of a stream.

use std::ops::Range;

use media::{Class, OpId, ReadOp};

use crate::location::DecodedLocation;
use crate::request::operation::OperationKind;
use crate::{Actions, Ftl};

/// Consecutive pages of one program: the first unit, and the number of units.
#[derive(Clone, Copy)]
struct Pages {
    unit: u32,
    count: u32,
}

impl Ftl {
    /// Appends reads of the whole pages that hold `units` to `reads`, up to the first whose map entry the controller lacks.
    /// Units that are not in flash, or beyond the capacity, are passed over. Each read must be submitted, or its end be
    /// reported at once.
    pub fn read_ahead(&mut self, units: Range<u32>, reads: &mut Vec<ReadOp>) {
        let mut pages: Option<Pages> = None;
        for unit in units.start..units.end.min(self.config.user_units) {
            if !self.map.is_at_hand(unit) {
                break;
            }
            let DecodedLocation::Flash(home) = self.place(unit) else { continue };
            let page = home - home % self.layout.page_units;
            match &mut pages {
                Some(pages) if (pages.unit..pages.unit + pages.count).contains(&page) => {}
                Some(pages) if page == pages.unit + pages.count && !page.is_multiple_of(self.layout.program_units) => {
                    pages.count += self.layout.page_units;
                }
                _ => {
                    let next = Pages { unit: page, count: self.layout.page_units };
                    if let Some(whole) = pages.replace(next) {
                        reads.push(self.read_pages(whole));
                    }
                }
            }
        }
        if let Some(whole) = pages {
            reads.push(self.read_pages(whole));
        }
    }

    fn read_pages(&mut self, Pages { unit, count }: Pages) -> ReadOp {
        let (id, operation) = self.operations.start_bare(OperationKind::Ahead, 0);
        (operation.unit, operation.count) = (unit, count);
        let (block, page) = (self.layout.block_of(unit), self.layout.span(unit, count));
        self.space.blocks.pin(block);
        self.gc.refresh.read(block, page);
        ReadOp { id, page, bytes: count << self.layout.unit_shift, class: Class::Host }
    }

    /// Handles the end of a read ahead.
    pub(crate) fn ahead_done(&mut self, id: OpId, out: &mut Actions) {
        let block = self.layout.block_of(self.operations[id].unit);
        self.operations.free(id);
        self.unpin(block, out);
    }
}
