//! The whole path of a request, from the program to the translation layer and back, put together as a machine does.

mod bridges;
mod conservation;
mod handling;
mod interrupts;
mod latency;
mod sharing;
mod shortcuts;
mod support;
mod ufs;
