//! The host's side: drivers and their processor time, notification by interrupts or polls, and the parts of a chipset
//! between processors and storage.
//!
//! A driver is a state machine without a wire. It reports when it has rung a doorbell, is notified when an entry or an
//! interrupt arrives in the host, and is handed its own events back.

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
mod slot_set;
pub mod slots;
pub mod sram;
pub mod ufs;
pub mod vector;

use media::{Request, Status};
use sim::{Lane, Time};

pub use ahci::Ahci;
pub use config::Config;
pub use config::adapter::{Aggregation, AhciConfig, UfshciConfig};
pub use config::chipset::{Chipset, ChipsetModel};
pub use config::completion::{Completion, Detection};
pub use dma::{DmaConfig, SLOTS};
pub use hmb::HmbConfig;
pub use memory::MemoryConfig;
pub use nvme::{Delivery, Entry, Nvme};
pub use shared_buffer::{SharedBuffer, SharedBufferConfig};
pub use sram::{Sram, SramConfig};
pub use ufs::Ufshci;

/// An event of a driver: it has processed the completion of a command.
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
    /// Time at which the driver writes the doorbell.
    pub at: Time,
    /// True if no later submission can write its doorbell earlier.
    pub in_order: bool,
    /// The command's operation and range.
    pub request: Request,
}

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The request.
    pub io: u32,
    /// Final status; with several commands, that of the first that failed.
    pub status: Status,
    /// Time at which the driver rang the doorbell, for the last command if there were several. Submission latency ends
    /// here.
    pub submitted: Time,
}
