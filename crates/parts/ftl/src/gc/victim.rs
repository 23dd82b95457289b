//! Victim selection: the block to collect next, and whether collecting it can complete.

use crate::Ftl;
use crate::config::Policy;
use crate::gc::collection::GcScan;
use crate::gc::victims::Victim;
use crate::space::blocks::{Blocks, Use};
use crate::space::parallel_unit::Stream;

/// Collection works ahead only if a victim gives back at least one part in this many of its block. Assumed: seven
/// copies per unit of space wear the flash more than a burst of writes gains.
pub(crate) const AHEAD_GAIN: i64 = 8;

impl Ftl {
    /// Returns the block that `pu` should collect now, if any, and true if it is collected even when space is not
    /// `short`.
    #[inline]
    pub(crate) fn next_victim(&mut self, pu: u32, short: bool) -> Option<(u32, bool)> {
        let due = short || !self.gc.units[pu as usize].forced.is_empty();
        if due { self.find_victim(pu, short) } else { None }
    }

    fn find_victim(&mut self, pu: u32, short: bool) -> Option<(u32, bool)> {
        let l = &self.space.parallel_units[pu as usize];
        let collection = &self.gc.units[pu as usize];
        if l.free().is_empty() && !collection.victims.is_empty() {
            // The last room is reserved for the block being emptied, and for the journal pages that its erase waits
            // for.
            return None;
        }
        let collection = &mut self.gc.units[pu as usize];
        if let Some(block) = collection.forced.pop() {
            if self.space.blocks.usage(block) == Use::Closed && self.fits(pu, block) {
                return Some((block, true));
            }
            if self.space.blocks.usage(block) == Use::Closed {
                self.gc.units[pu as usize].forced.insert(0, block);
            }
        }
        let mut victim = if short { self.next_lent(pu).or_else(|| self.gainful(pu)) } else { None };
        while short && victim.is_none() && !self.gc.unit(pu).waits_for_room() && self.end_rest(pu) {
            victim = self.gainful(pu);
        }
        let pays = |block: &u32| self.pays_ahead(*block) || !self.is_only_ahead(pu);
        victim.filter(pays).map(|block| (block, false))
    }

    /// Returns the policy's victim or, if collecting that would gain nothing or its data does not fit, the block that
    /// frees the most room.
    pub(crate) fn gainful(&mut self, pu: u32) -> Option<u32> {
        // A choice stands until it is collected: if a new one were made whenever the block does not fit, fuller blocks
        // would never be collected.
        let stands = |block: &u32| self.space.blocks.usage(*block) == Use::Closed;
        let chosen = match self.gc.units[pu as usize].chosen.filter(stands) {
            Some(chosen) => chosen,
            None => self.choose(pu)?,
        };
        self.gc.units[pu as usize].chosen = Some(chosen);
        if self.gains(chosen) && self.fits(pu, chosen) {
            self.gc.units[pu as usize].chosen = None;
            return Some(chosen);
        }
        // Operations in progress will free room: wait for the policy's choice.
        if self.gc.unit(pu).waits_for_room() {
            return None;
        }
        if self.space.blocks.is_whole() {
            return self.least_valid(pu).filter(|block| self.gains(*block) && self.fits(pu, *block));
        }
        // The block that frees the most room may hold more data than fits, since blocks differ in size.
        let ranks = self.space.blocks.ranks(&self.layout, pu);
        let collectable = (pu * self.layout.blocks..).zip(ranks).filter(|(_, rank)| Blocks::collectable(**rank));
        let limit = self.pool_limit(pu);
        let collectable = collectable.filter(|(block, _)| i64::from(self.space.blocks.valid(*block)) <= limit);
        let movable = |block: &u32| self.gains(*block) && (self.fits(pu, *block) || self.fits_elsewhere(pu, *block));
        collectable.map(|(block, _)| block).filter(movable).min_by_key(|block| -self.spare(*block))
    }

    /// Returns true if collecting `block` frees room. The last program of its copies may be padded, so less than a
    /// program is no gain: collecting such victims could loop forever.
    pub(crate) fn gains(&self, block: u32) -> bool {
        self.spare(block) >= i64::from(self.layout.program_units)
    }

    /// Returns true if `block` is worth collecting before its space is needed.
    fn pays_ahead(&self, block: u32) -> bool {
        self.space.lent.holds(block) || self.spare(block) * AHEAD_GAIN >= i64::from(self.layout.block_units)
    }

    /// Returns the units of `block` that are not valid, not counting unusable planes.
    fn spare(&self, block: u32) -> i64 {
        self.capacity(block, self.programs_of(block)) - i64::from(self.space.blocks.valid(block))
    }

    /// Returns the collectable block that frees the most room: with unusable planes, a block with few valid units may
    /// still be full.
    fn most_spare(&self, pu: u32) -> Option<u32> {
        if self.space.blocks.is_whole() {
            return self.least_valid(pu);
        }
        let ranks = self.space.blocks.ranks(&self.layout, pu);
        let collectable = (pu * self.layout.blocks..).zip(ranks).filter(|(_, rank)| Blocks::collectable(**rank));
        collectable.map(|(block, _)| block).min_by_key(|block| -self.spare(*block))
    }

    /// Returns the collectable block that frees the most room among those that are empty, or quiet and worth collecting.
    fn quiet_block(&self, pu: u32) -> Option<u32> {
        let next = self.durability.sequence.next();
        let ranks = self.space.blocks.ranks(&self.layout, pu);
        let collectable = (pu * self.layout.blocks..).zip(ranks).filter(|(_, rank)| Blocks::collectable(**rank));
        let quiet = collectable.filter(|(block, rank)| **rank == 0 || self.gc.losses.is_quiet(*block, next));
        quiet.map(|(block, _)| block).filter(|block| self.pays_ahead(*block)).min_by_key(|block| -self.spare(*block))
    }

    /// Returns the collectable block with the fewest valid units.
    pub(crate) fn least_valid(&self, pu: u32) -> Option<u32> {
        let ranks = self.space.blocks.ranks(&self.layout, pu);
        let least = ranks.iter().copied().min().filter(|rank| Blocks::collectable(*rank))?;
        Some(pu * self.layout.blocks + ranks.iter().position(|rank| *rank == least)? as u32)
    }

    /// Returns true if the valid units of `block`, and all copies in flight, fit into the open block and the free ones:
    /// collection never starts a block that it may be unable to complete.
    pub(crate) fn fits(&self, pu: u32, block: u32) -> bool {
        let needed = self.space.blocks.valid(block) + self.gc.units[pu as usize].in_flight;
        if needed == 0 {
            return true;
        }
        let l = &self.space.parallel_units[pu as usize];
        let collection = &self.gc.units[pu as usize];
        // Room is set aside, except in an emergency, for a partly filled program at the end of a scan and for programs
        // that a power cut may damage. Room for journal pages, which may have to go where copies go, is set aside even
        // then unless the trims of `block` are durable.
        let mut programs = 0;
        if !collection.emergency {
            let spoiled = collection.quota / self.layout.program_units;
            programs = (2 + spoiled).min(self.layout.block_programs / 3);
        }
        if !(collection.emergency && self.durability.journal.is_durable(self.space.blocks.trimmed(block))) {
            programs += self.journal_programs();
        }
        let mut room = -i64::from(programs * self.layout.program_units);
        if let Some(write_point) = l.write_point(Stream::Copy) {
            room += self.capacity(write_point.block, write_point.end - write_point.next);
        }
        for free in l.free() {
            if room >= i64::from(needed) {
                break;
            }
            room += self.capacity(*free, self.layout.block_programs);
        }
        i64::from(needed.next_multiple_of(self.layout.program_units)) <= room && self.fits_in_pool(pu, block)
    }

    /// Returns the capacity in units of the last `programs` programs of `block`, without parity and unusable planes.
    pub(crate) fn capacity(&self, block: u32, programs: u32) -> i64 {
        let planes = self.space.blocks.usable_planes(&self.layout, block);
        let all = i64::from(programs / self.layout.per_row) * i64::from(planes * self.layout.page_units);
        let parity = (programs - self.layout.data_after(programs)) * self.layout.program_units;
        (all - i64::from(parity)).max(0)
    }

    /// Returns the policy's victim among the collectable blocks of a parallel unit. The rank of a collectable block is
    /// the number of its valid units. `most_spare` finds the block from which most space is gained, which is the one with
    /// the fewest valid units unless bad planes or parity make blocks differ in size.
    pub(crate) fn choose(&mut self, pu: u32) -> Option<u32> {
        let first = pu * self.layout.blocks;
        let ranks = self.space.blocks.ranks(&self.layout, pu);
        let collectable = || ranks.iter().enumerate().filter(|(_, rank)| Blocks::collectable(**rank));
        let at = match self.config.collection.policy {
            Policy::Greedy => return self.most_spare(pu),
            Policy::QuietGreedy => return self.quiet_block(pu).or_else(|| self.most_spare(pu)),
            Policy::Fifo => {
                collectable().map(|(i, _)| i).min_by_key(|i| self.space.blocks.closed_at(first + *i as u32))?
            }
            Policy::CostBenefit => {
                let (now, whole) = (self.durability.sequence.next(), u64::from(self.layout.data_units));
                let benefit = |i: usize| {
                    let (valid, age) = (u64::from(ranks[i]), now - self.space.blocks.closed_at(first + i as u32));
                    // (1 - u) x age / 2u as integers scaled by 2^32; an empty block is best.
                    if valid == 0 {
                        u128::MAX
                    } else {
                        ((u128::from(whole - valid.min(whole)) * u128::from(age)) << 31) / u128::from(valid)
                    }
                };
                collectable().map(|(i, _)| i).max_by_key(|i| (benefit(*i), std::cmp::Reverse(*i)))?
            }
            Policy::DChoices => {
                let choices = self.config.collection.choices;
                let mut best: Option<usize> = None;
                let mut tries = 0;
                let mut drawn = 0;
                while drawn < choices && tries < 64 * choices {
                    tries += 1;
                    let i = self.gc.rng.below(ranks.len() as u64) as usize;
                    if Blocks::collectable(ranks[i]) {
                        drawn += 1;
                        best = if best.is_some_and(|b| ranks[b] <= ranks[i]) { best } else { Some(i) };
                    }
                }
                // Very few blocks are closed: consider all of them.
                match best {
                    Some(best) => best,
                    None => collectable().min_by_key(|(_, rank)| **rank)?.0,
                }
            }
        };
        Some(first + at as u32)
    }

    /// Starts to collect or fold `block`; returns its scan.
    pub(crate) fn start_victim(&mut self, pu: u32, block: u32, forced: bool) -> GcScan {
        let (valid, slc, lent) = (self.space.blocks.valid(block), self.is_slc(block), self.space.lent.holds(block));
        let short_by = self.shortage(pu);
        self.space.blocks.set_usage(block, Use::Victim);
        self.stats.victims += 1;
        self.stats.folded += u64::from(slc);
        self.stats.victim_units += u64::from(valid);
        let taking = self.stats.programmed_host + self.stats.programmed_system + self.stats.failures;
        let most = 2 * u64::from(self.layout.blocks) * u64::from(self.layout.block_units);
        let l = &mut self.space.parallel_units[pu as usize];
        let collection = &mut self.gc.units[pu as usize];
        collection.fruitless = if collection.taken == taking { collection.fruitless + 1 } else { 0 };
        collection.taken = taking;
        // Each victim, except the few forced ones, frees room for at least one unit, which nothing has taken since.
        assert!(collection.fruitless <= most, "collection of parallel unit {pu} makes no progress");
        collection.victims.add(Victim { block, valid, slc: slc && !lent });
        if slc {
            l.remove_closed_slc(block);
        }
        if !slc || lent {
            collection.short_by = short_by;
        }
        GcScan { block, cursor: 0, end: self.programs_of(block) * self.layout.program_reads, valid, forced }
    }

    /// Goes on to collect `block`, which had `valid` valid units when it was chosen.
    pub(crate) fn resume_victim(&mut self, pu: u32, block: u32, valid: u32) {
        let (left, end) = (self.space.blocks.valid(block), self.programs_of(block) * self.layout.program_reads);
        assert!(
            left <= valid && self.gc.unit(pu).victims.is_empty(),
            "block {block} had {valid} units, and has {left}"
        );
        self.space.blocks.set_usage(block, Use::Victim);
        let collection = &mut self.gc.units[pu as usize];
        collection.victims.add(Victim { block, valid, slc: false });
        collection.victims.shrank(block, left);
        collection.scan = Some(GcScan { block, cursor: 0, end, valid, forced: false });
        let short_by = self.shortage(pu);
        self.gc.units[pu as usize].short_by = short_by;
        // The first dispatch goes on with it.
        self.gc.short.report(pu);
    }

    /// Static wear leveling: forces the collection of the least worn block, whose cold data would otherwise never
    /// move.
    pub(crate) fn level_wear(&mut self, pu: u32) {
        let Some(threshold) = self.config.wear.static_threshold else { return };
        let collection = &mut self.gc.units[pu as usize];
        collection.since_wear += 1;
        if collection.since_wear < 16 || !collection.forced.is_empty() {
            return;
        }
        collection.since_wear = 0;
        let from = pu * self.layout.blocks;
        // Blocks of the SLC cache wear by themselves: no data that moves would make room for theirs.
        let blocks = || (from..from + self.layout.blocks).filter(|b| !self.is_slc(*b));
        let closed = |b: &u32| self.space.blocks.usage(*b) == Use::Closed;
        let least = blocks().filter(closed).min_by_key(|b| self.space.blocks.erases(*b));
        let most = blocks().map(|b| self.space.blocks.erases(b)).max();
        if let (Some(least), Some(most)) = (least, most)
            && most - self.space.blocks.erases(least) > threshold
        {
            self.gc.units[pu as usize].forced.push(least);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
