//! Garbage collection: victims, copies, folding of SLC blocks, refresh, wear leveling, and its pace.

pub(crate) mod collection;
pub(crate) mod copy;
pub(crate) mod fold;
pub(crate) mod pacing;
pub(crate) mod refresh;
pub(crate) mod short;
pub(crate) mod victim;

use sim::{Dense, Rng, Streams};

use crate::config::Config;
use crate::layout::Layout;
use collection::Collection;
use pacing::Pace;
use refresh::Refresh;
use short::ShortUnits;

/// Garbage collection of all parallel units.
pub(crate) struct Collector {
    pub(crate) units: Dense<Collection>,
    pub(crate) short: ShortUnits,
    pub(crate) pace: Pace,
    pub(crate) refresh: Refresh,
    /// Random numbers for the choice of victims.
    pub(crate) rng: Rng,
}

impl Collector {
    /// Creates a collector that has nothing to collect; a parallel unit has at most `quota` units in flight.
    pub(crate) fn new(config: &Config, layout: &Layout, quota: u32, streams: &Streams) -> Collector {
        Collector {
            // SAFETY: parallel unit numbers come from the layout, or from operations that carry such a number.
            units: unsafe { Dense::new((0..layout.parallel_units).map(|_| Collection::new(quota)).collect()) },
            short: ShortUnits::default(),
            pace: Pace::new(config, layout),
            refresh: Refresh::new(config, layout),
            rng: streams.stream("ftl.collection"),
        }
    }
}
