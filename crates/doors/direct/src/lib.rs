//! Asynchronous I/O to files and drives that bypasses the page cache: io_uring, discard, marks and aligned buffers.
//! This crate contains the low-level kernel interfaces that the probe and the persistent memory share.
#![cfg(target_os = "linux")]

mod aligned;
mod discard;
mod marks;
mod ring;
mod slice;

pub use aligned::{ALIGNMENT, Aligned, aligned};
pub use discard::{discard, punch};
pub use marks::{mark, marked, unmark};
pub use ring::{Ring, Transfer};
pub use slice::request_short_slices;
