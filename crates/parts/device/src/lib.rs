//! Storage controllers as their host sees them: command queues, tags, firmware and data buffers. What is behind them
//! (translation layer, flash) is not known here.
//!
//! A front end is a state machine without a wire: it says what is to be fetched, moved or posted, is told when that
//! will be done, and hands itself the events that follow.

pub mod arbiter;
pub mod config;
pub mod emulated_dram;
pub mod engine;
pub mod handling;
pub mod hmb;
pub mod nvme;
pub mod onenand;
mod pair;
pub mod pool;
pub mod sata;
pub mod shared_buffer;
pub mod ufs;

use sim::Lane;

pub use config::{Arbitration, Coalescing, Config, Firmware, Priority, Utp};
pub use emulated_dram::{EmulatedDram, EmulatedDramConfig};
pub use handling::{Handling, Waits};
pub use nvme::Nvme;
pub use onenand::{OneNand, OneNandConfig};
pub use pair::{Completion, Ended, Fetch};
pub use sata::Sata;
pub use shared_buffer::{ControllerPower, Cycles, SharedBuffer, SharedBufferConfig};
pub use ufs::Ufs;

/// What a controller waits for. The number is a command's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The command, and those chained to it, have arrived from the host.
    Fetched(u16),
    /// The list that the command points to has arrived from the host: addresses of its buffers, ranges to trim.
    Listed(u16),
    /// The firmware has decoded the command.
    Decoded(u16),
    /// A write's data is in the controller's buffer.
    Arrived(u16),
    /// Firmware and data are done: the host can be told.
    Ended(u16),
    /// The aggregation time of a queue's interrupt is over, if the epoch is still the same.
    Coalesced {
        /// The queue pair.
        queue: u16,
        /// Which interrupt it was for.
        epoch: u16,
    },
}

/// Number of event lanes of a controller.
pub const LANES: u8 = 5;

const FETCHED: Lane = Lane(0);
const DECODED: Lane = Lane(1);
const ARRIVED: Lane = Lane(2);
const ENDED: Lane = Lane(3);
const COALESCED: Lane = Lane(4);
