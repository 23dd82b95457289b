//! Files and drives as targets: what is refused, what is read and written, and that what was switched is put back. What the
//! kernel says of drives is made up, in folders of the tests' own; files are real.
#![cfg(target_os = "linux")]

mod files;
mod hmb;
mod kernel;
mod refusals;
mod requests;
