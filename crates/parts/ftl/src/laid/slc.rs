//! The SLC cache of a drive in steady state: its blocks, and how many of their units are still valid.

use crate::laid::aged::{Load, whole_blocks};
use crate::laid::shape::Drive;

impl Drive<'_> {
    /// Returns the full SLC blocks of `pu` with the number of their valid units, of `units` each, the oldest first.
    ///
    /// Folding waits where collection never pauses: the whole cache is full of old data. Two kinds of drive keep fresh data:
    ///
    /// - Those that fold in batches, which keep some blocks free and take the oldest first.
    /// - Those whose blocks rest before they are collected: with old data their first writes paused for 100 ms, for a reason
    ///   that is not known (calibrated to that).
    pub(super) fn full_slc_blocks(
        &self,
        pu: u32,
        units: u32,
        usable: &impl Fn(u16, u32, u32) -> bool,
    ) -> Vec<(u32, u32)> {
        let Some(slc) = self.config.slc.filter(|_| self.load == Load::Busy) else { return Vec::new() };
        let copies = self.config.read_copies.map_or(0, |copies| copies.blocks);
        let mut blocks = whole_blocks(self.layout, pu, copies..slc.blocks, usable);
        if self.host.is_some_and(|host| host.resting > 0) {
            return blocks.into_iter().map(|block| (block, units)).collect();
        }
        if slc.batch > 0 {
            blocks.truncate(blocks.len().saturating_sub(slc.fold as usize));
            return blocks.into_iter().map(|block| (block, units)).collect();
        }
        let valid = old(blocks.len(), units);
        blocks.into_iter().zip(valid).collect()
    }
}

/// Returns the valid units of `blocks` blocks of `units` units that are full and not folded, the oldest first. A block is
/// reused once its last unit has been overwritten, after ln(`units`) drive writes on average; the ages of the blocks are
/// spread evenly over that time.
fn old(blocks: usize, units: u32) -> impl Iterator<Item = u32> {
    let life = f64::from(units.max(1)).ln();
    let age = move |number: usize| life * (number as f64 + 0.5) / blocks as f64;
    (0..blocks).rev().map(move |number| (f64::from(units) * (-age(number)).exp()).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::old;

    #[test]
    fn older_blocks_have_fewer_valid_units_down_to_the_last() {
        let valid: Vec<u32> = old(5, 1000).collect();
        assert!(valid.is_sorted() && valid[0] >= 1 && valid[4] < 1000, "{valid:?}");
        // The mean of exp(-t) over the life, 1 / ln(1000).
        let mean = f64::from(old(1000, 1000).sum::<u32>()) / 1e6;
        assert!((mean - 0.999 / 1000.0_f64.ln()).abs() < 0.001, "{mean}");
    }
}
