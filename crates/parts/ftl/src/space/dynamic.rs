//! The dynamic part of the SLC cache: blocks in SLC mode for as long as the drive is not full.
//!
//! A parallel unit may lend blocks to the cache as long as logical capacity is unused: the valid units outside lent
//! blocks plus the full capacity of all lent blocks stay within the parallel unit's share of the logical units. Neither
//! over-provisioning nor the free blocks that collection maintains are ever lent. A lent block is in SLC mode from its
//! first program to its erase. The spare area of its pages records the mode, where a mount finds it.

use crate::Ftl;
use crate::config::Config;
use crate::layout::Layout;

/// Blocks that are lent to the SLC cache.
#[derive(Default)]
pub(crate) struct Lent {
    /// One flag per block; empty if blocks are never lent.
    of: Vec<bool>,
    parallel_units: Vec<ParallelUnit>,
}

#[derive(Clone, Default)]
struct ParallelUnit {
    lent: u32,
    /// No capacity is left to lend; checked again when a block is closed or erased.
    used_up: bool,
}

impl Lent {
    pub(crate) fn new(config: &Config, layout: &Layout) -> Lent {
        if config.slc.is_none_or(|slc| slc.dynamic == 0) {
            return Lent::default();
        }
        Lent {
            of: vec![false; layout.all_blocks() as usize],
            parallel_units: vec![ParallelUnit::default(); layout.parallel_units as usize],
        }
    }

    /// Returns true if `block` is lent.
    #[inline]
    pub(crate) fn holds(&self, block: u32) -> bool {
        !self.of.is_empty() && self.of[block as usize]
    }
}

impl Ftl {
    /// Returns true if `pu` may have one more block in SLC mode.
    pub(crate) fn may_lend(&self, pu: u32) -> bool {
        let (Some(slc), Some(of)) = (self.config.slc, self.space.lent.parallel_units.get(pu as usize)) else {
            return false;
        };
        !of.used_up && of.lent < slc.dynamic && self.space.parallel_units[pu as usize].free.len() > self.kept_free()
    }

    /// Returns true if `pu` has no free static SLC block and may lend a block to the cache.
    pub(crate) fn lends(&mut self, pu: u32) -> bool {
        if !self.space.parallel_units[pu as usize].slc_free.is_empty() || !self.may_lend(pu) {
            return false;
        }
        let fits = self.lent_fits(pu);
        self.space.lent.parallel_units[pu as usize].used_up = !fits;
        fits
    }

    /// Returns true if one more lent block leaves room for the rest of the parallel unit's share of the logical units.
    fn lent_fits(&self, pu: u32) -> bool {
        let outside: u64 = (pu * self.layout.blocks..(pu + 1) * self.layout.blocks)
            .filter(|block| !self.space.lent.holds(*block))
            .map(|block| u64::from(self.space.blocks.valid(block)))
            .sum();
        let share = crate::sizes::all_units(&self.config) / u64::from(self.layout.parallel_units);
        let lent = u64::from(self.space.lent.parallel_units[pu as usize].lent) + 1;
        outside + lent * u64::from(self.layout.block_units) <= share
    }

    /// Puts `block` into SLC mode.
    pub(crate) fn lend(&mut self, block: u32) {
        self.space.lent.of[block as usize] = true;
        self.space.lent.parallel_units[self.layout.pu_of(block) as usize].lent += 1;
    }

    /// Records that a mount found `block` in SLC mode.
    pub(crate) fn found_slc(&mut self, block: u32) {
        if !self.is_slc(block) && !self.space.lent.of.is_empty() {
            self.lend(block);
        }
    }

    /// Returns the erased `block` to its normal mode.
    pub(crate) fn give_back(&mut self, block: u32) {
        if self.space.lent.of.is_empty() {
            return;
        }
        let pu = &mut self.space.lent.parallel_units[self.layout.pu_of(block) as usize];
        pu.used_up = false;
        if std::mem::take(&mut self.space.lent.of[block as usize]) {
            pu.lent -= 1;
        }
    }

    /// Allows another check of the capacity of `pu` that may be lent, after one of its blocks was filled.
    pub(crate) fn look_at_lent_again(&mut self, pu: u32) {
        if let Some(pu) = self.space.lent.parallel_units.get_mut(pu as usize) {
            pu.used_up = false;
        }
    }

    /// Returns the oldest full lent block of `pu`, whose folding frees the most room for the fewest copies.
    pub(crate) fn next_lent(&self, pu: u32) -> Option<u32> {
        if self.space.lent.of.is_empty() {
            return None;
        }
        let lent = |block: &&u32| self.space.lent.holds(**block);
        self.space.parallel_units[pu as usize]
            .slc_closed
            .iter()
            .find(lent)
            .copied()
            .filter(|block| self.fits(pu, *block))
    }

    /// Returns the capacity of the lent blocks in units.
    pub fn dynamic_slc_units(&self) -> u64 {
        let lent: u64 = self.space.lent.parallel_units.iter().map(|pu| u64::from(pu.lent)).sum();
        lent * u64::from(self.slc_programs() * self.layout.program_units)
    }
}
