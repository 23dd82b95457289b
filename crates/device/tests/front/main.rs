//! The whole path of a request, from the program to the translation layer and back, put together as a machine does.

#[allow(dead_code)]
#[path = "../../../machine/src/front.rs"]
mod front;

mod bridges;
mod conservation;
mod handling;
mod interrupts;
mod latency;
mod sharing;
mod shortcuts;
mod support;
mod ufs;
