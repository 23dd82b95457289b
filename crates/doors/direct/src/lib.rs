//! Requests to files and drives past the page cache, several at a time: io_uring, discard, marks, aligned memory. All that needs the
//! kernel's own calls, for whoever has a file: probes time them, memories keep data by them.
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
pub use slice::ask_for_short_slices;
