//! The channel over which a drive and a virtual machine monitor share the monitor's virtual clock: a file that both
//! map, with one mailbox per direction.
//!
//! The drive reads the clock and arms the monitor's timer while the guest's processor waits for a register access. The
//! timer's callback reports that its time has come while the processor is stopped, and receives the interrupts to raise
//! and the next time. Times are nanoseconds of the virtual clock.
#![cfg(target_os = "linux")]

mod channel;
mod mailbox;

pub use channel::{Channel, ChannelError, Due, VECTORS_MAX};
pub use mailbox::Gone;
