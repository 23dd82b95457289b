//! Mount of a laid-out drive: takes over its rule and scans only data written since.
//!
//! A block that was not erased since still holds the content given by the rule on the laid-out pages, with sequence
//! numbers below all later ones: any copy that a scan finds elsewhere is newer. For an erased block the rule's entries
//! are void: each of its units was written elsewhere before, or trimmed.

use std::sync::Arc;

use media::{Flash, PARITY};

use crate::Ftl;
use crate::laid::Laid;
use crate::location::Location;

impl Ftl {
    /// Takes over the rule of `flash`, if it was laid out.
    pub(crate) fn take_rule(&mut self, flash: &impl Flash) -> Option<Arc<Laid>> {
        let rule = Arc::clone(flash.laid_out()?);
        let rule =
            rule.into_any().downcast::<Laid>().unwrap_or_else(|_| unreachable!("flash laid out by another layer"));
        self.map.table.lay_out(Arc::clone(&rule));
        self.space.blocks.lay_out(Arc::clone(&rule));
        for block in 0..self.layout.all_blocks() {
            if rule.programs(block) > 0 {
                self.take_laid_block(block, &rule, flash);
            }
        }
        Some(rule)
    }

    /// Lets the blocks rest that rest by `rule`. Only for a drive that was not written since: where the host's blocks
    /// were filled later, the ages by the rule are void.
    pub(crate) fn rest_as_laid_out(&mut self, rule: &Laid) {
        for block in rule.resting() {
            let pu = self.layout.pu_of(*block);
            self.rest(pu, *block);
            self.withhold_resting(pu, *block);
        }
    }

    /// Goes on with the collections that `rule` describes as begun. Only for a drive that was not written since: a mount
    /// cannot tell how far the collection of a block has come.
    pub(crate) fn collect_as_laid_out(&mut self, rule: &Laid) {
        for victim in rule.victims() {
            self.resume_victim(self.layout.pu_of(victim.block), victim.block, victim.valid);
        }
    }

    fn take_laid_block(&mut self, block: u32, rule: &Laid, flash: &impl Flash) {
        // The block was laid out full and is still complete: its bits follow the rule.
        let mut whole = rule.programs(block) == self.programs_of(block);
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            for plane in at.planes.iter() {
                whole &= flash.is_laid_out(at.die, plane, at.block);
            }
        }
        if whole {
            self.space.blocks.follow_rule(block);
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
                        self.space.blocks.set_valid(block, physical);
                    } else {
                        self.map.table.set(unit, Location::NOWHERE);
                    }
                }
            }
        }
    }

    /// Returns the number of user units that have a location.
    pub(crate) fn mapped_units(&self, laid: bool) -> u64 {
        let touched = self.map.table.iter_touched(self.config.user_units);
        if laid {
            // A rule covers every user unit.
            let gone = touched.filter(|(_, location)| *location == Location::NOWHERE).count() as u64;
            return u64::from(self.config.user_units) - gone;
        }
        touched.count() as u64
    }
}
