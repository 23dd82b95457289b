//! The channel over which a drive and a virtual machine monitor share the monitor's virtual clock: a file that both
//! map, with one mailbox per direction.
//!
//! The monitor passes on the guest's register accesses, each with its time, while the processor waits, and receives the
//! time of the drive's next event. The callback of the monitor's timer reports that this time has come while the processor
//! is stopped, and receives the interrupts to raise and the next time. Times are nanoseconds of the virtual clock.
#![cfg(target_os = "linux")]

mod channel;
mod mailbox;

pub use channel::{Access, Answer, Channel, ChannelError, Due, Handler, REGISTER_BYTES, VECTORS_MAX};
pub use mailbox::Gone;
