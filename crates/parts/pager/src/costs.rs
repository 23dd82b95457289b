//! Time and energy of the four counted operations.

use sim::{Energy, Time};

use crate::memory::Counts;

/// The time and energy of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Duration.
    pub time: Time,
    /// Energy.
    pub energy: Energy,
}

/// The cost of one operation of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Transfer of a page from the flash array into a buffer.
    pub flash_to_buffer: Cost,
    /// Transfer of a page from a buffer into SRAM.
    pub buffer_to_sram: Cost,
    /// Read of a cache line from a buffer.
    pub buffer_read: Cost,
    /// Read of a cache line from SRAM.
    pub sram_read: Cost,
}

const fn cost(ns: u64, energy_pj: u64) -> Cost {
    Cost { time: Time::from_ns(ns), energy: Energy::from_pj(energy_pj) }
}

impl Costs {
    /// Costs of a KFG5616X1A OneNAND at 50 MHz and a 64 KB SRAM in 0.18 um at 100 MHz, with 1 KiB pages and 16-byte
    /// lines: given by xip, Table 3 (29.33, 12.86, 0.22 and 0.04 us; 1295.48, 1056.21, 15.24 and 1.79 nJ).
    pub const ONENAND_2006: Costs = Costs {
        flash_to_buffer: cost(29_330, 1_295_480),
        buffer_to_sram: cost(12_860, 1_056_210),
        buffer_read: cost(220, 15_240),
        sram_read: cost(40, 1_790),
    };

    /// Returns the total cost of `counts`, without overlap between operations (xip, 3.3).
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

/// The cost of one operation of each kind, as integers in the unit to be minimized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Transfer of a page from the flash array into a buffer.
    pub load: u64,
    /// Transfer of a page from a buffer into SRAM.
    pub moved: u64,
    /// Request served from a buffer.
    pub buffer_read: u64,
    /// Request served from SRAM.
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

    /// Returns the costs in picoseconds.
    pub fn time(costs: &Costs) -> Weights {
        Weights::of(costs, |cost| cost.time.ps())
    }

    /// Returns the costs in picojoules, rounded down so that lower bounds remain valid.
    pub fn energy(costs: &Costs) -> Weights {
        Weights::of(costs, |cost| cost.energy.pj_f64() as u64)
    }

    /// Returns the total cost of `counts`.
    pub fn total(&self, counts: &Counts) -> u64 {
        self.load * counts.flash_to_buffer
            + self.moved * counts.buffer_to_sram
            + self.buffer_read * counts.buffer_reads
            + self.sram_read * counts.sram_reads
    }
}
