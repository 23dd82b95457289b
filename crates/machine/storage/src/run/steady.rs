//! Whether a drive is steady: the headroom that it began and ended with, and the blocks that it collected.

use ftl::{Headroom, Stats};
use sim::units;
use system::parts::Translation;

use crate::prepare::Preparation;

/// Change of the headroom, as a part of what the run wrote, from which its rate is not that of a steady drive.
const STEADY: f64 = 0.02;

/// Blocks collected in the part of a run that statistics cover.
pub(crate) struct Collected {
    blocks: u64,
    units: u64,
    /// Whether the host writes to a drive that collects.
    collects: bool,
}

impl Collected {
    /// Counts the blocks of `window`. `is_full`: the drive was prepared as one that collects.
    pub(crate) fn new(ftl: &Translation, whole_run: &Stats, window: &Stats, is_full: bool) -> Collected {
        let units = u64::from(ftl.collecting_units());
        let collects = is_full || whole_run.victims > whole_run.folded;
        Collected {
            blocks: window.victims - window.folded,
            units,
            collects: collects && window.host_units > 0 && units > 0,
        }
    }

    /// Returns the number of collected blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the number of parallel units, which collect on their own.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Returns whether the drive collects, and parallel units collected fewer than `cycles` blocks on average.
    pub(crate) fn fewer_than(&self, cycles: u64) -> bool {
        self.collects && self.blocks < cycles * self.units
    }

    /// Returns the number of blocks per parallel unit, if the drive collects.
    pub(crate) fn cycles(&self) -> Option<f64> {
        self.collects.then(|| self.blocks as f64 / self.units as f64)
    }
}

/// Returns whether preparation leaves a drive that collects.
pub(crate) fn is_full(preparation: Preparation) -> bool {
    !matches!(preparation, Preparation::Erased | Preparation::Filled)
}

/// Returns whether the headroom changed by at most [`STEADY`] of what the host wrote, or read where it wrote nothing.
pub(crate) fn is_steady(change: &Headroom, window: &Stats) -> bool {
    let (traffic, _) = traffic(window);
    traffic == 0 || changes(change, traffic, 1).is_empty()
}

/// Returns the units that the host wrote, or those that it read if it wrote none.
pub(crate) fn traffic(stats: &Stats) -> (u64, &'static str) {
    match stats.host_units {
        0 => (stats.read_misses + stats.read_hits, "read"),
        written => (written, "wrote"),
    }
}

/// Returns what changed by more than [`STEADY`] of `traffic` units of `unit` bytes, in words.
pub(crate) fn changes(change: &Headroom, traffic: u64, unit: u64) -> Vec<String> {
    let parts = [
        ("free space", change.free_units),
        ("SLC room", change.slc_units),
        ("write cache room", change.write_cache_units),
        ("cached map", change.cached_map),
    ];
    let notable = parts.into_iter().filter(|(_, units)| units.unsigned_abs() as f64 > STEADY * traffic as f64);
    let line = |(name, units): (&str, i64)| {
        let (verb, part) = (if units < 0 { "shrank" } else { "grew" }, units.unsigned_abs());
        let amount = match name {
            "cached map" => format!("{part} parts"),
            _ => units::decimal(part * unit),
        };
        format!("{name} {verb} by {amount}")
    };
    notable.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_of_more_than_two_percent_are_named() {
        let change = Headroom { free_units: -21, slc_units: 20, write_cache_units: 0, cached_map: 30 };
        let found = changes(&change, 1000, 4096);
        assert_eq!(found, ["free space shrank by 86.0 kB", "cached map grew by 30 parts"]);
        assert!(changes(&change, 1500, 4096).is_empty());
    }

    #[test]
    fn a_run_that_writes_nothing_is_measured_by_its_reads() {
        let stats = Stats { read_misses: 7, read_hits: 2, ..Stats::default() };
        assert_eq!(traffic(&stats), (9, "read"));
        assert_eq!(traffic(&Stats { host_units: 3, ..stats }), (3, "wrote"));
    }
}
