//! A drive for the guest of a virtual machine monitor, over a vfio-user socket.
//!
//! [`Service`] is a process around a [`guest::Drive`]: it owns the socket, the mappings of the guest's memory, the
//! interrupts and the clock. The clock is the host's, or the virtual clock of a QEMU that has loaded the plug-in.
#![cfg(target_os = "linux")]

mod backend;
mod clock;
mod interrupts;
mod memory;
mod real_clock;
mod service;
mod shared_memory;
mod socket;
mod virtual_clock;

pub use memory::Mappings;
pub use service::{ClockKind, Service, Stop};
pub use socket::SocketError;

/// Reasons why a drive cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The socket cannot be created.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The clock channel cannot be created.
    #[error("clock channel {0}")]
    Channel(#[from] guest_clock::ChannelError),
    /// The monitor accessed the drive, but has not loaded the clock plug-in.
    #[error("the guest accessed the drive, but QEMU has not loaded the clock plug-in: add -plugin and the channel")]
    NoPlugin,
    /// The connection failed.
    #[error("vfio-user connection: {0}")]
    Connection(vfio_user::Error),
}
