//! What no schedule can beat in the two-level memory where pages may be read in place.
//!
//! MIN is not it: it moves every page that it misses, and reading in place beats it. A *schedule* here is anything that
//! serves the requests in their order: it may know the future, load pages before they are asked for, and go on using
//! the copy in a buffer after the page was copied into SRAM. It pays a [`Weights::load`] for each page from the flash
//! array into a buffer, a [`Weights::moved`] for each copy from a buffer into SRAM, and for each request a read of
//! where the page lies. At any moment `frames` pages are in SRAM and `buffers` in buffers, at most.
//!
//! * [`optimum`] is the least cost of all schedules, exactly, by dynamic programming over what is where. The states are
//!   all pairs of sets of pages, so that it is for a few pages: it is what the bound is checked against.
//! * [`lower_bound`] is a bound for traces of any size. Which pages to keep where is a choice for each interval between
//!   two requests for a page, with two capacities over time: packing intervals on machines of two kinds, which is
//!   hard in general (Arkin and Silverberg, 1987), hence a bound and not the optimum.

mod exact;
mod relaxed;

pub use exact::optimum;
pub use relaxed::lower_bound;

use crate::costs::{Cost, Costs};
use crate::memory::Counts;

/// What each of the four things costs, in whole units of whatever is to be minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// A page from the flash array into a buffer.
    pub load: u64,
    /// A page from a buffer into SRAM.
    pub moved: u64,
    /// A request served from a buffer.
    pub buffer_read: u64,
    /// A request served from SRAM.
    pub sram_read: u64,
}

impl Weights {
    fn of(costs: &Costs, unit: impl Fn(Cost) -> u64) -> Weights {
        Weights {
            load: unit(costs.flash_to_buffer),
            moved: unit(costs.buffer_to_sram),
            buffer_read: unit(costs.buffer_read),
            sram_read: unit(costs.sram_read),
        }
    }

    /// Picoseconds.
    pub fn time(costs: &Costs) -> Weights {
        Weights::of(costs, |cost| cost.time.ps())
    }

    /// Picojoules, rounded down, so that a bound stays one.
    pub fn energy(costs: &Costs) -> Weights {
        Weights::of(costs, |cost| cost.energy.pj_f64() as u64)
    }

    /// What `counts` cost.
    pub fn total(&self, counts: &Counts) -> u64 {
        self.load * counts.flash_to_buffer
            + self.moved * counts.buffer_to_sram
            + self.buffer_read * counts.buffer_reads
            + self.sram_read * counts.sram_reads
    }
}
