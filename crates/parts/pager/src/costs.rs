//! Time and energy from the four counts.

use sim::{Energy, Time};

use crate::memory::Counts;

/// What something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How long.
    pub time: Time,
    /// How much energy.
    pub energy: Energy,
}

/// What each of the four things takes, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A page from the flash array into a buffer.
    pub flash_to_buffer: Cost,
    /// A page from a buffer into SRAM.
    pub buffer_to_sram: Cost,
    /// A cache line read from a buffer.
    pub buffer_read: Cost,
    /// A cache line read from SRAM.
    pub sram_read: Cost,
}

const fn cost(ns: u64, energy_pj: u64) -> Cost {
    Cost { time: Time::from_ns(ns), energy: Energy::from_pj(energy_pj) }
}

impl Costs {
    /// A KFG5616X1A OneNAND at 50 MHz and a 64 KB SRAM of 0.18 um at 100 MHz, pages of 1 KiB, lines of 16 bytes:
    /// given by xip, Table 3 (29.33, 12.86, 0.22 and 0.04 us; 1295.48, 1056.21, 15.24 and 1.79 nJ).
    pub const ONENAND_2006: Costs = Costs {
        flash_to_buffer: cost(29_330, 1_295_480),
        buffer_to_sram: cost(12_860, 1_056_210),
        buffer_read: cost(220, 15_240),
        sram_read: cost(40, 1_790),
    };

    /// What `counts` take together, nothing overlapping (xip, 3.3).
    pub fn total(&self, counts: &Counts) -> Cost {
        let parts = [
            (self.flash_to_buffer, counts.flash_to_buffer),
            (self.buffer_to_sram, counts.buffer_to_sram),
            (self.buffer_read, counts.buffer_reads),
            (self.sram_read, counts.sram_reads),
        ];
        let mut total = Cost::default();
        for (cost, times) in parts {
            total.time += cost.time * times;
            total.energy += cost.energy * times;
        }
        total
    }
}

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
