//! Main memory: what stands below the last-level cache, in virtual time.
//!
//! Whatever it is made of, it takes lines ([`LineRequest`]) and answers each once, with its number.

pub mod dram;
pub mod hybrid;
pub mod run;

use media::line::LineRequest;
use sim::{Energy, Time};

pub use self::dram::{DramConfig, DramMemory};
pub use self::hybrid::{HybridConfig, HybridError, HybridMemory};

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
