//! Tests of the whole path of a request, from the program to the translation layer and back, composed like in a
//! machine.

mod bridges;
mod conservation;
mod handling;
mod interrupts;
mod latency;
mod sharing;
mod support;
mod ufs;
