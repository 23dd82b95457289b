//! A plug-in for QEMU's TCG that lets a drive in another process act in exact virtual time.
//!
//! The plug-in takes over the registers of the drive's device: an access passes to the drive, with its time on the virtual
//! clock, while the guest's processor waits. The plug-in arms a timer for the drive's next event. The timer's callback runs
//! with the processor stopped: the drive does its work for that time, and the callback raises the interrupts and arms the
//! timer again.
//!
//! The plug-in interface of QEMU has neither timers nor a clock that can be read, nor devices. The functions used instead
//! are those that QEMU's own modules link to; [`qemu::Functions`], [`registers::Functions`] and [`halts::Functions`] check at
//! the start that all exist.
#![cfg(target_os = "linux")]

mod halts;
mod install;
mod qemu;
mod registers;
mod timer;
