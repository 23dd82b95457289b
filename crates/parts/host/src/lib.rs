//! The host's side: drivers, the processor time that they cost, the interrupts or polls by which they learn of
//! completions, and the parts of a chipset between them and the storage.
//!
//! A driver is a state machine without a wire: it says when it has rung a doorbell, is told when an entry or an
//! interrupt is in the host, and hands itself the ends of requests.

pub mod ahci;
pub mod caches;
mod config;
pub mod cores;
pub mod cpu;
pub mod dma;
pub mod hmb;
pub mod linux;
pub mod memory;
pub mod nvme;
pub mod requests;
pub mod shared_buffer;
pub mod slots;
pub mod sram;
pub mod ufs;
pub mod vector;

use media::{Request, Status};
use sim::{Lane, Time};

pub use ahci::Ahci;
pub use config::{Aggregation, AhciConfig, Chipset, Completion, Config, UfshciConfig};
pub use dma::DmaConfig;
pub use hmb::HmbConfig;
pub use memory::MemoryConfig;
pub use nvme::{Delivery, Entry, Nvme, Reaped};
pub use shared_buffer::{SharedBuffer, SharedBufferConfig};
pub use sram::{Sram, SramConfig};
pub use ufs::Ufshci;

/// What a driver waits for: it has processed the completion of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The queue pair; zero for AHCI and UFSHCI.
    pub queue: u16,
    /// The command's number within its queue; for AHCI and UFSHCI its slot.
    pub cid: u16,
}

/// Number of event lanes of a driver.
pub const LANES: u8 = 1;

const REAPED: Lane = Lane(0);

/// A command that the driver hands to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The command's number within its queue; for AHCI and UFSHCI its slot.
    pub cid: u16,
    /// When the driver writes the doorbell.
    pub at: Time,
    /// No doorbell that is not known yet can be written earlier.
    pub prompt: bool,
    /// What the command asks.
    pub request: Request,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The request.
    pub io: u32,
    /// How it ended; of several commands, the first that did not end well.
    pub status: Status,
    /// When the driver rang the doorbell, for its last command if there were several: submission latency ends here.
    pub submitted: Time,
}
