//! A rank of variable latency: the device raises the data strobe (DQS) when its data is ready.
//!
//! A memory answers a READ a fixed number of clocks after the command. A storage device cannot: its data may be in a
//! buffer or still in flash. Kim et al. (Solid-State Disk with Double Data Rate DRAM Interface for High-Performance
//! PCs, IEICE Trans. E92-D, 2009, 4.2) let the controller wait for the strobe. It issues a READ, and the device drives
//! the preamble when it has the data, no earlier than a memory would.
//!
//! [`StrobedRank`] is the controller's view of such a rank: which READ waits, whether it holds the data bus, when the
//! first data of an answer arrives, and when a READ is given up. It moves no data and has no events of its own; the
//! path of a machine asks it for times. Without the strobe ([`Answer::Fixed`]) it answers like a memory whose latency
//! is that of its slowest read.

mod clocks;
mod rank;

use sim::Time;

pub use rank::{StrobeStats, StrobedRank, Waveform};

/// How the controller learns that data is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The device raises the strobe.
    Strobe,
    /// Data is sampled at a fixed time after each READ, as in a memory. A READ whose data is not ready is repeated.
    Fixed(Time),
}

/// Use of the data bus while a READ waits for the strobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The bus stays reserved for the answer, since the device may drive it at any time.
    Held,
    /// Other transfers use the bus, and the device waits for a gap: this needs a signal besides the strobe.
    Released,
}

/// Configuration of a rank of variable latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrobedConfig {
    /// Transfers per second, two for each clock.
    pub transfers_per_s: u64,
    /// Clocks from a READ to its first data, if that is ready: RL of a memory.
    pub cas_latency: u32,
    /// How the controller learns that data is ready.
    pub answer: Answer,
    /// Use of the data bus while a READ waits.
    pub waiting: Waiting,
    /// Time after which the controller gives up a READ, lets others use the bus, and issues it again.
    pub timeout: Time,
}
