//! Recovery of a drive that was laid out: its rule is taken over, and only what was written since is scanned.
//!
//! A block that was not erased since holds what the rule says on the pages that were laid out, and its sequence numbers
//! are below all that were given later: whatever a scan finds elsewhere is newer. Of a block that was erased, the rule's
//! entries are gone: each of its units was written elsewhere before, or trimmed.

use std::sync::Arc;

use media::{Flash, PARITY};

use crate::Ftl;
use crate::laid::Laid;
use crate::location::Location;

impl Ftl {
    /// Takes over the rule that `flash` was laid out by, if it was.
    pub(crate) fn take_rule(&mut self, flash: &impl Flash) -> Option<Arc<Laid>> {
        let rule = Arc::clone(flash.laid_out()?);
        let rule = rule.into_any().downcast::<Laid>().unwrap_or_else(|_| unreachable!("no other layer lays flash out"));
        self.table.lay_out(Arc::clone(&rule));
        self.blocks.lay_out(Arc::clone(&rule));
        for block in 0..self.layout.all_blocks() {
            if rule.programs(block) > 0 {
                self.take_laid_block(block, &rule, flash);
            }
        }
        Some(rule)
    }

    fn take_laid_block(&mut self, block: u32, rule: &Laid, flash: &impl Flash) {
        // Closed then and whole now: its bits follow the rule, too.
        let mut whole = rule.programs(block) == self.programs_of(block);
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            for plane in at.planes.iter() {
                whole &= flash.is_laid_out(at.die, plane, at.block);
            }
        }
        if whole {
            self.blocks.follow_rule(block);
            return;
        }
        for program in 0..rule.programs(block) {
            let page = self.layout.page(block, program);
            let first = self.layout.unit_of(block, program);
            for (number, plane) in (0..).zip(page.planes.iter()) {
                let stands = flash.is_laid_out(page.die, plane, page.block);
                let from = first + number * self.layout.page_units;
                for physical in from..from + self.layout.page_units {
                    let unit = rule.logical(physical);
                    if unit >= PARITY {
                        continue;
                    }
                    if stands {
                        self.blocks.set_valid(block, physical);
                    } else {
                        self.table.set(unit, Location::NOWHERE);
                    }
                }
            }
        }
    }

    /// User's units that are somewhere.
    pub(crate) fn mapped_units(&self, laid: bool) -> u64 {
        let touched = self.table.iter_touched(self.config.user_units);
        if laid {
            // A rule has all of them.
            let gone = touched.filter(|(_, location)| *location == Location::NOWHERE).count() as u64;
            return u64::from(self.config.user_units) - gone;
        }
        touched.count() as u64
    }
}
