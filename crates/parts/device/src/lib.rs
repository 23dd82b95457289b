//! Front ends of storage controllers: command queues, tags, firmware and data buffers. The translation layer and the
//! flash behind them are not part of this crate.
//!
//! A front end is a state machine without a wire. Its owner transfers the data and completions that it requests,
//! reports when they arrive, and passes its events back to it.

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

use media::Request;
use sim::{Lane, Time};

pub use config::emulated::{ControllerPower, Cycles, SharedBufferConfig};
pub use config::firmware::Firmware;
pub use config::queues::{Arbitration, Coalescing, Priority, Weights};
pub use config::{Buffering, Config, Utp};
pub use emulated_dram::{EmulatedDram, EmulatedDramConfig};
pub use handling::{Handling, Waits};
pub use nvme::{InvalidDoorbell, LastData, Nvme};
pub use onenand::{OneNand, OneNandConfig};
pub use pair::{Completion, Ended, Fetch};
pub use sata::Sata;
pub use shared_buffer::SharedBuffer;
pub use ufs::Ufs;

/// An event of a controller. The number is a command's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A command has arrived from the host.
    Fetched(u16),
    /// The list that a command points to has arrived from the host: buffer addresses or ranges to trim.
    Listed(u16),
    /// The firmware has decoded a command.
    Decoded(u16),
    /// A write's data is in the controller's buffer.
    Arrived(u16),
    /// A command's firmware work and data transfer are done, and the host can be notified.
    Ended(u16),
    /// The aggregation time of a queue's interrupt is over. Ignored if the epoch has changed.
    Coalesced {
        /// The queue pair.
        queue: u16,
        /// Epoch of the interrupt.
        epoch: u16,
    },
}

/// An output of a controller to the path between it and its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The controller needs the list that the command points to before it can decode it.
    List {
        /// The command.
        tag: u16,
        /// Bytes of the list.
        bytes: u64,
    },
    /// The command is decoded and goes to the translation layer.
    Command {
        /// The command.
        tag: u16,
        /// The queue pair it came from; zero if there is only one.
        queue: u16,
        /// Its number in the queue, or its slot.
        cid: u16,
        /// Its request.
        request: Request,
    },
    /// A write's data is in the controller.
    Arrived(u16),
    /// The host is to be notified of a command's end.
    Ended {
        /// The command.
        tag: u16,
        /// Time at which its completion is posted.
        at: Time,
    },
    /// An interrupt of the queue pair is due, for completions posted before.
    Interrupt(u16),
}

/// Number of event lanes of a controller.
pub const LANES: u8 = 5;

const FETCHED: Lane = Lane(0);
const DECODED: Lane = Lane(1);
const ARRIVED: Lane = Lane(2);
const ENDED: Lane = Lane(3);
const COALESCED: Lane = Lane(4);
