//! A simulated drive at its registers: an NVMe controller as a PCI function, for a host outside the simulation.
//!
//! [`Drive`] is a library without a clock, a thread or a socket. The host reads and writes registers with the time of
//! the access, gets the time of the next event, and advances the drive to it. Guest memory is behind
//! [`GuestMemory`]. Below the registers is the machine that every simulated run uses: the same [`device::Nvme`]
//! fetches, arbitrates, decodes and completes commands, the same link carries them, and translation layer and flash
//! keep the data.
//!
//! A system with a shared buffer on the memory bus is another function, with registers of its own: `bus`.
//!
//! Section numbers refer to the NVM Express Base Specification 1.4, which Identify Controller reports, unless they
//! name another document.

mod blocks;
mod buffer;
mod bus;
pub mod controller;
pub mod drive;
mod entry;
mod error;
mod front;
mod lent;
pub mod memory;
pub mod msix;
mod nvme_front;
pub mod pci;
pub mod pointers;
mod statistics;
mod summary;

pub use blocks::{BlockError, Blocks};
pub use buffer::{Buffer, PlainBuffer};
pub use bus::{PAIRS_MAX, registers as bus_registers};
pub use controller::{Identity, NamespaceConfig, QUEUES};
pub use drive::{Drive, Flash, Inspect, Options, SaveState};
pub use error::DriveError;
pub use lent::LentStatistics;
pub use memory::{BadAddress, GuestMemory, Ram};
