//! Demand paging from flash that can be executed in.
//!
//! A page comes from the flash array through a OneNAND buffer. Conventional paging moves it on into SRAM; a policy
//! that knows the buffers may leave it there and have it read in place.
//!
//! * [`policy`]: LRU, FIFO, CLOCK, MIN, 2Q, ARC, S3-FIFO, PM-XIP, and rent-or-buy, which is ours.
//! * [`Counts`] and [`Costs`]: what a policy did, and what that takes in time and energy.
//! * [`bound`]: what no schedule, on line or off, can beat.
//! * [`Numbering`]: pages numbered densely, once, before any policy sees them.
//! * [`sweep`]: LRU at every SRAM size and PM-XIP at every threshold in one pass; the rest on all cores.
//! * [`synthetic`]: traces with the locality of code, from a seed.
//! * [`future`]: next uses, in memory or in two passes over a file.
//!
//! A trace is a slice of page numbers, or many slices one after another ([`policy::serve`]): on-line policies keep
//! state in proportion to the number of different pages, whatever the length of the trace.

pub mod bound;
pub mod costs;
pub mod future;
mod history;
mod lists;
pub mod memory;
mod numbering;
pub mod policy;
pub mod sweep;
pub mod synthetic;

pub use costs::{Cost, Costs, Weights};
pub use memory::{Counts, Memory};
pub use numbering::Numbering;
pub use policy::Policy;
