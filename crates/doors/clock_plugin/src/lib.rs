//! A plug-in for QEMU's TCG that lets a drive in another process act in exact virtual time.
//!
//! A thread of the plug-in reads the virtual clock and arms a timer on behalf of the drive, which asks while the guest's
//! processor waits for a register access. The timer's callback runs with the processor stopped: the drive does its work
//! for that time, and the callback raises the interrupts and arms the timer again.
//!
//! The plug-in interface of QEMU has neither timers nor a clock that can be read. The functions used instead are those
//! that QEMU's own modules link to; [`qemu::Functions`] checks at the start that all exist.
#![cfg(target_os = "linux")]

mod install;
mod qemu;
mod timer;
