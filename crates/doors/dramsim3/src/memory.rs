//! Main memory in cycles of its DRAM's clock.

use dram::Clock;
use sim::Time;
use simulation::{Completion, DeviceOptions, Op, Options, Request, Simulation};
use system::System;
use system::memory::MainMemory;

use crate::stats::Stats;

/// Bytes of a transaction: a line.
pub(crate) const LINE: u64 = 64;
/// Transactions per DRAM channel that may be outstanding: four full read queues, so that random traffic leaves none idle.
const QUEUE: u32 = 256;
/// Marks the handle of a write; the other bits are the address.
const WRITE: u64 = 1 << 63;

/// A completed transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Done {
    /// The address that was added.
    pub address: u64,
    /// 1 for a write, 0 for a read.
    pub is_write: u64,
}

/// Returns the first edge that is not before `at`. Times of edges are whole picoseconds, rounded up.
pub fn first_edge(clock: Clock, at: Time) -> u64 {
    let before = clock.at_or_before(at);
    if clock.time(before) < at { before + 1 } else { before }
}

/// A memory and the clock in which its caller counts.
pub struct Memory {
    simulation: Simulation,
    clock: Clock,
    queue: u32,
    bytes: u64,
    stats: Stats,
    completions: Vec<Completion>,
}

impl Memory {
    /// Creates the memory of a system: a file, or a preset's name.
    ///
    /// # Errors
    /// One line, if the system is invalid or has no main memory.
    pub fn new(config: &str) -> Result<Memory, String> {
        let system = System::load(config, &[]).map_err(|error| error.to_string())?;
        if system.memory.kind == MainMemory::None {
            return Err(format!("{config}: memory.type: found none, expected dram or hybrid"));
        }
        let (clock, queue) = (system.memory.dram.device().clock, QUEUE * system.memory.dram.channels);
        let device = DeviceOptions { outstanding: queue, ..DeviceOptions::new("memory", system) };
        // A history would grow with every transaction.
        let options = Options { history: 0, ..Options::default() };
        let simulation = Simulation::new(vec![device], options).map_err(|error| format!("{config}: {error}"))?;
        let bytes = simulation.bytes(0).map_err(|error| error.to_string())?;
        Ok(Memory { simulation, clock, queue, bytes, stats: Stats::default(), completions: Vec::new() })
    }

    /// Returns the clock: its edge `n` is the time after `n` ticks.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the maximum number of outstanding transactions.
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// Returns whether there is room for one more transaction.
    pub fn has_room(&self) -> bool {
        self.simulation.room(0).is_ok_and(|room| room > 0)
    }

    /// Adds a transaction after `cycle` ticks, and returns the first cycle in which something may happen.
    ///
    /// # Errors
    /// One line, if the address is beyond the memory or there is no room.
    pub fn add(&mut self, cycle: u64, address: u64, is_write: bool) -> Result<u64, String> {
        let (op, mark) = if is_write { (Op::Write, WRITE) } else { (Op::Read, 0) };
        if address >= self.bytes {
            return Err(format!(
                "address: found {address:#x}, expected less than {:#x}, the memory's bytes",
                self.bytes
            ));
        }
        let request =
            Request { op, address: address / LINE * LINE, bytes: LINE, handle: address | mark, ..Request::default() };
        self.simulation.submit(self.clock.time(cycle), request).map_err(|error| error.to_string())?;
        Ok(self.due(cycle))
    }

    /// Advances to edge `cycle`, appends what has completed to `done`, and returns the next cycle in which something may
    /// happen; the maximum if nothing is outstanding.
    ///
    /// # Panics
    /// If `cycle` is less than in an earlier call.
    pub fn tick(&mut self, cycle: u64, done: &mut Vec<Done>) -> u64 {
        self.completions.clear();
        let advanced = self.simulation.advance(self.clock.time(cycle), &mut self.completions);
        advanced.unwrap_or_else(|error| panic!("{error}"));
        for Completion { handle, submitted, completed, .. } in self.completions.drain(..) {
            let is_write = handle & WRITE != 0;
            self.stats.ended(is_write, completed - submitted);
            done.push(Done { address: handle & !WRITE, is_write: is_write.into() });
        }
        self.due(cycle)
    }

    /// Returns the first cycle after `cycle` in which something may happen.
    fn due(&mut self, cycle: u64) -> u64 {
        match self.simulation.next_event() {
            Some(at) => first_edge(self.clock, at).max(cycle + 1),
            None => u64::MAX,
        }
    }

    /// Returns the summary since the last reset, at edge `cycle`.
    pub fn summary(&mut self, cycle: u64) -> serde_json::Value {
        let energy = self.simulation.energy_j(0).unwrap_or(0.0);
        self.stats.summary(cycle, self.clock.time(cycle), energy)
    }

    /// Forgets the counts so far, at edge `cycle`.
    pub fn reset(&mut self, cycle: u64) {
        let energy = self.simulation.energy_j(0).unwrap_or(0.0);
        self.stats = Stats::since(cycle, self.clock.time(cycle), energy);
    }
}
