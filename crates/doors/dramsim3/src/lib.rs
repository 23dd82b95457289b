//! Main memory behind the C++ interface of DRAMsim3, for simulators that are built against it (gem5, SST, RTL).
//!
//! `cpp/dramsim3.h` declares the class, and `cpp/dramsim3.cc` implements it with the C functions of [`calls`]. Here is what
//! they do: [`Memory`] translates between cycles of the host's clock and the simulation's picoseconds.
//!
//! A transaction that is added after `n` ticks is submitted at the time of edge `n`; its callback is called in the first tick
//! whose edge is not before its completion. Between events a tick costs a comparison, because each call returns the next
//! cycle in which something may happen.

mod calls;
mod memory;
mod stats;

pub use memory::{Done, Memory, first_edge};
