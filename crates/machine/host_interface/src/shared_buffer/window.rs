//! Differences between two reports of a path through a shared buffer.

use device::emulated_dram::BankStats;
use device::shared_buffer::ControllerEnergy;
use host::shared_buffer::Counts;

use super::{BusReport, Report};

impl Report {
    /// Returns the difference from an earlier report. Fields that are not counters keep their current values.
    pub fn since(&self, earlier: &Report) -> Report {
        Report {
            host: counts(&self.host, &earlier.host),
            dma_bytes: self.dma_bytes - earlier.dma_bytes,
            dma_transfers: self.dma_transfers - earlier.dma_transfers,
            // Work accepted ahead of time is apportioned by estimate, so a reading may be lower than an earlier one.
            dma_busy: self.dma_busy.saturating_sub(earlier.dma_busy),
            banks: banks(&self.banks, &earlier.banks),
            interrupts: self.interrupts - earlier.interrupts,
            energy: energy(&self.energy, &earlier.energy),
            buses: self.buses.iter().zip(&earlier.buses).map(|(now, then)| bus(now, then)).collect(),
            ..*self
        }
    }
}

fn counts(now: &Counts, then: &Counts) -> Counts {
    Counts {
        requests: now.requests - then.requests,
        commands: now.commands - then.commands,
        bytes: now.bytes - then.bytes,
        response: now.response - then.response,
        interface: now.interface - then.interface,
        words: now.words - then.words,
        waited: now.waited - then.waited,
        handled: now.handled - then.handled,
        booted: now.booted - then.booted,
    }
}

fn banks(now: &BankStats, then: &BankStats) -> BankStats {
    BankStats {
        accesses: now.accesses - then.accesses,
        beside_host: now.beside_host - then.beside_host,
        conflicts: now.conflicts - then.conflicts,
        held_up: now.held_up - then.held_up,
        busy: now.busy.saturating_sub(then.busy),
        host_lines: now.host_lines - then.host_lines,
        activations: now.activations - then.activations,
    }
}

fn energy(now: &ControllerEnergy, then: &ControllerEnergy) -> ControllerEnergy {
    ControllerEnergy {
        always: now.always - then.always,
        cores: now.cores - then.cores,
        interface: now.interface - then.interface,
        buffer: now.buffer - then.buffer,
        decode: now.decode - then.decode,
        encode: now.encode - then.encode,
    }
}

fn bus(now: &BusReport, then: &BusReport) -> BusReport {
    BusReport {
        busy: now.busy.saturating_sub(then.busy),
        word_bytes: now.word_bytes - then.word_bytes,
        buffer_bytes: now.buffer_bytes - then.buffer_bytes,
        dram_bytes: now.dram_bytes - then.dram_bytes,
        traffic_bytes: now.traffic_bytes - then.traffic_bytes,
        traffic_lines: now.traffic_lines - then.traffic_lines,
        traffic_waits: now.traffic_waits - then.traffic_waits,
        ..*now
    }
}
