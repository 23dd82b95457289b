//! Files and drives as targets: which are refused, how they are read and written, and that the host memory buffer is
//! restored. Drives are described by simulated sysfs trees in temporary folders; files are real.
#![cfg(target_os = "linux")]

mod files;
mod hmb;
mod kernel;
mod refusals;
mod requests;
