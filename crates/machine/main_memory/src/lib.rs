//! Main memory below the last-level cache, in virtual time.
//!
//! All kinds accept requests for lines ([`LineRequest`]) and answer each once, by its number.

mod calls;
pub mod dram;
pub mod drive;
pub mod frames;
pub mod hybrid;
mod in_memory;
mod memory_call;
mod outcome;
pub mod run;
mod traffic;
mod traffic_report;

use media::line::LineRequest;
use serde_json::{Map, Value};
use sim::{Energy, Streams, Time};

use system::System;
use system::memory::MainMemory as Kind;

pub use self::dram::DramMemory;
pub use self::hybrid::{HybridError, HybridMemory};
pub use self::memory_call::MemoryCall;
pub use system::parts::HybridConfig;

/// The counters of main memory at one point in time.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Energy drawn so far.
    pub energy: Energy,
    hybrid: Option<hybrid::Reading>,
}

/// Main memory of any kind. Time must not decrease between calls of [`submit`](MainMemory::submit), nor of
/// [`advance`](MainMemory::advance).
#[allow(clippy::large_enum_variant, reason = "a machine has one")]
pub enum MainMemory {
    /// DRAM alone.
    Dram(DramMemory),
    /// Flash behind a DRAM cache.
    Hybrid(Box<HybridMemory>),
}

impl MainMemory {
    /// Creates the main memory of `system`.
    ///
    /// # Errors
    /// If its parts are invalid or do not fit together.
    ///
    /// # Panics
    /// If the system has no main memory.
    pub fn new(system: &System, streams: &Streams) -> Result<MainMemory, HybridError> {
        Ok(match system.memory.kind {
            Kind::None => panic!("this system simulates no main memory"),
            Kind::Dram => MainMemory::Dram(DramMemory::new(&system.memory.dram)?),
            Kind::Hybrid => MainMemory::Hybrid(Box::new(HybridMemory::new(&HybridConfig::new(system), streams)?)),
        })
    }

    /// Advances to `now` and reads the counters and the energy so far.
    pub fn reading(&mut self, now: Time) -> Reading {
        match self {
            MainMemory::Dram(dram) => Reading { energy: dram.energy(now), hybrid: None },
            MainMemory::Hybrid(hybrid) => {
                let reading = hybrid.reading(now);
                Reading { energy: reading.energy.total(), hybrid: Some(reading) }
            }
        }
    }

    /// Returns the memory's section of a run's summary (caches, page table, flash) from an earlier reading, or from the
    /// beginning, until `end`. Empty for DRAM alone.
    pub fn report(&mut self, end: &Reading, from: Option<&Reading>) -> Map<String, Value> {
        match (self, &end.hybrid) {
            (MainMemory::Hybrid(hybrid), Some(end)) => hybrid.report(end, from.and_then(|from| from.hybrid.as_ref())),
            _ => Map::new(),
        }
    }

    /// Returns the number of dirty pages in the cache in front of flash, and the number of dirty pages written to flash
    /// until `end` from an earlier reading, or from the beginning; `None` for DRAM alone.
    pub fn dirty_and_written(&self, end: &Reading, from: Option<&Reading>) -> Option<(u64, u64)> {
        match (self, &end.hybrid) {
            (MainMemory::Hybrid(hybrid), Some(end)) => {
                Some(hybrid.dirty_and_written(end, from.and_then(|from| from.hybrid.as_ref())))
            }
            _ => None,
        }
    }

    /// Returns why the content is no longer what was written, if so.
    pub fn fault(&self) -> Option<&nvmm::Error> {
        match self {
            MainMemory::Dram(_) => None,
            MainMemory::Hybrid(hybrid) => hybrid.fault(),
        }
    }

    /// Marks `bytes` from `address` on as written sequentially, before the simulation begins.
    pub fn was_written(&mut self, address: u64, bytes: u64) {
        match self {
            MainMemory::Dram(_) => {}
            MainMemory::Hybrid(hybrid) => hybrid.was_written(address, bytes),
        }
    }

    /// Marks `bytes` from `address` on as allocated and never written, before the simulation begins.
    pub fn is_allocated(&mut self, address: u64, bytes: u64) {
        match self {
            MainMemory::Dram(_) => {}
            MainMemory::Hybrid(hybrid) => hybrid.is_allocated(address, bytes),
        }
    }

    /// Makes what was allocated durable, after the last allocation and before the simulation begins, so that the first sync
    /// of a program does not write it.
    pub fn is_set_up(&mut self) {
        match self {
            MainMemory::Dram(_) => {}
            MainMemory::Hybrid(hybrid) => hybrid.is_set_up(),
        }
    }

    /// Requests a line at `now`.
    ///
    /// # Panics
    /// If the line is outside the memory, or its address is no multiple of its length.
    pub fn submit(&mut self, now: Time, request: LineRequest) {
        match self {
            MainMemory::Dram(dram) => dram.submit(now, request),
            MainMemory::Hybrid(hybrid) => hybrid.submit(now, request),
        }
    }

    /// Makes a call at `now`, which is answered with its number like a line request.
    ///
    /// # Panics
    /// If this is DRAM, which keeps no states.
    pub fn call(&mut self, now: Time, id: u32, call: MemoryCall) {
        match self {
            MainMemory::Dram(_) => panic!("DRAM keeps no states, and cannot serve {call:?}"),
            MainMemory::Hybrid(hybrid) => hybrid.call(now, id, call),
        }
    }

    /// Returns when [`advance`](MainMemory::advance) must be called at the latest; `None` while nothing is under way.
    pub fn next_event(&mut self) -> Option<Time> {
        match self {
            MainMemory::Dram(dram) => dram.next_event(),
            MainMemory::Hybrid(hybrid) => hybrid.next_event(),
        }
    }

    /// Advances to `now` and appends the numbers of completed requests with their times, in order.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<(u32, Time)>) {
        match self {
            MainMemory::Dram(dram) => dram.advance(now, completions),
            MainMemory::Hybrid(hybrid) => hybrid.advance(now, completions),
        }
    }

    /// Advances to the first completion, or to `until` if that is earlier, and appends completed requests like
    /// [`advance`](MainMemory::advance). Equivalent to calling that at each [`next_event`](MainMemory::next_event)
    /// until it appends something.
    pub fn advance_to_completion(&mut self, until: Time, completions: &mut Vec<(u32, Time)>) {
        match self {
            MainMemory::Dram(dram) => dram.advance_to_completion(until, completions),
            MainMemory::Hybrid(hybrid) => hybrid.advance_to_completion(until, completions),
        }
    }

    /// Returns the addressable bytes, from 0 on.
    pub fn bytes(&self) -> u64 {
        match self {
            MainMemory::Dram(dram) => dram.bytes(),
            MainMemory::Hybrid(hybrid) => hybrid.bytes(),
        }
    }

    /// Returns the total energy until `now`.
    pub fn energy(&mut self, now: Time) -> Energy {
        match self {
            MainMemory::Dram(dram) => dram.energy(now),
            MainMemory::Hybrid(hybrid) => hybrid.energy(now).total(),
        }
    }
}

impl sim::Machine for MainMemory {
    type Request = LineRequest;
    /// The request's number, and when it was done.
    type Completion = (u32, Time);

    fn submit(&mut self, now: Time, request: LineRequest) {
        MainMemory::submit(self, now, request);
    }

    fn next_event(&mut self) -> Option<Time> {
        MainMemory::next_event(self)
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<(u32, Time)>) {
        self.advance_to_completion(until, completions);
    }
}

/// Main memory keeps the contract of a machine.
const _: () = sim::contract::assert_machine::<MainMemory>();
