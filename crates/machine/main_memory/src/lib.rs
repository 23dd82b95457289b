//! Main memory: what stands below the last-level cache, in virtual time.
//!
//! Whatever it is made of, it takes lines ([`LineRequest`]) and answers each once, with its number.

pub mod dram;
pub mod drive;
pub mod frames;
pub mod hybrid;
pub mod run;

use media::line::LineRequest;
use serde_json::{Map, Value};
use sim::{Energy, Streams, Time};

use system::System;
use system::memory::MainMemory as Kind;

pub use self::dram::DramMemory;
pub use self::hybrid::{HybridError, HybridMemory};
pub use system::parts::{DramConfig, HybridConfig};

/// The counters of main memory at one point in time.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Drawn until then.
    pub energy: Energy,
    hybrid: Option<hybrid::Reading>,
}

/// Main memory of any kind. Time never goes back: neither between calls of [`submit`](MainMemory::submit) nor of
/// [`advance`](MainMemory::advance).
#[allow(clippy::large_enum_variant, reason = "a machine has one")]
pub enum MainMemory {
    /// All of it is DRAM.
    Dram(DramMemory),
    /// Flash behind a cache of DRAM.
    Hybrid(Box<HybridMemory>),
}

impl MainMemory {
    /// The main memory of `system`.
    ///
    /// # Errors
    /// If its parts cannot work or do not fit.
    ///
    /// # Panics
    /// If the system simulates none.
    pub fn new(system: &System, streams: &Streams) -> Result<MainMemory, HybridError> {
        Ok(match system.memory.kind {
            Kind::None => panic!("this system simulates no main memory"),
            Kind::Dram => MainMemory::Dram(DramMemory::new(&system.memory.dram())?),
            Kind::Hybrid => MainMemory::Hybrid(Box::new(HybridMemory::new(&HybridConfig::new(system), streams)?)),
        })
    }

    /// Reads its counters at `now`, to which it comes; with its energy until then.
    pub fn reading(&mut self, now: Time) -> Reading {
        match self {
            MainMemory::Dram(dram) => Reading { energy: dram.energy(now), hybrid: None },
            MainMemory::Hybrid(hybrid) => {
                let reading = hybrid.reading(now);
                Reading { energy: reading.energy.total(), hybrid: Some(reading) }
            }
        }
    }

    /// What the memory did from an earlier reading (else from the beginning) until `end`, for a run's summary: its caches,
    /// its table, its flash. Empty where it is DRAM only.
    pub fn report(&mut self, end: &Reading, from: Option<&Reading>) -> Map<String, Value> {
        match (self, &end.hybrid) {
            (MainMemory::Hybrid(hybrid), Some(end)) => hybrid.report(end, from.and_then(|from| from.hybrid.as_ref())),
            _ => Map::new(),
        }
    }

    /// Why what it holds is not what was written any more, if it is not.
    pub fn fault(&self) -> Option<&nvmm::Error> {
        match self {
            MainMemory::Dram(_) => None,
            MainMemory::Hybrid(hybrid) => hybrid.fault(),
        }
    }

    /// Before time begins: `bytes` from `address` on were written, from their beginning to their end.
    pub fn was_written(&mut self, address: u64, bytes: u64) {
        match self {
            MainMemory::Dram(_) => {}
            MainMemory::Hybrid(hybrid) => hybrid.was_written(address, bytes),
        }
    }

    /// Before time begins: `bytes` from `address` on are allocated, and nothing was ever written to them.
    pub fn is_allocated(&mut self, address: u64, bytes: u64) {
        match self {
            MainMemory::Dram(_) => {}
            MainMemory::Hybrid(hybrid) => hybrid.is_allocated(address, bytes),
        }
    }

    /// Asks for a line at `now`.
    ///
    /// # Panics
    /// If the line is not within the memory, or not at a multiple of its length.
    pub fn submit(&mut self, now: Time, request: LineRequest) {
        match self {
            MainMemory::Dram(dram) => dram.submit(now, request),
            MainMemory::Hybrid(hybrid) => hybrid.submit(now, request),
        }
    }

    /// When [`advance`](MainMemory::advance) is to be called next at the latest; `None` while nothing is under way.
    pub fn next_event(&mut self) -> Option<Time> {
        match self {
            MainMemory::Dram(dram) => dram.next_event(),
            MainMemory::Hybrid(hybrid) => hybrid.next_event(),
        }
    }

    /// Comes to `now`; appends the numbers of the requests that are done, each with when, in order of time.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<(u32, Time)>) {
        match self {
            MainMemory::Dram(dram) => dram.advance(now, completions),
            MainMemory::Hybrid(hybrid) => hybrid.advance(now, completions),
        }
    }

    /// Comes to the first time at which requests are done, or to `until`, if that is before, and appends as
    /// [`advance`](MainMemory::advance) does: as often as that, called at each [`next_event`](MainMemory::next_event), would
    /// append nothing.
    pub fn go_on(&mut self, until: Time, completions: &mut Vec<(u32, Time)>) {
        match self {
            MainMemory::Dram(dram) => dram.go_on(until, completions),
            MainMemory::Hybrid(hybrid) => hybrid.go_on(until, completions),
        }
    }

    /// Bytes that can be addressed, from 0 on.
    pub fn bytes(&self) -> u64 {
        match self {
            MainMemory::Dram(dram) => dram.bytes(),
            MainMemory::Hybrid(hybrid) => hybrid.bytes(),
        }
    }

    /// The energy of all of it until `now`.
    pub fn energy(&mut self, now: Time) -> Energy {
        match self {
            MainMemory::Dram(dram) => dram.energy(now),
            MainMemory::Hybrid(hybrid) => hybrid.energy(now).total(),
        }
    }
}
