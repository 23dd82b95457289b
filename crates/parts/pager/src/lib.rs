//! Demand paging from flash with execute-in-place.
//!
//! Pages are transferred from the flash array through a OneNAND buffer. Conventional paging then moves them into SRAM;
//! a policy that manages the buffers may leave a page there and have it read in place.
//!
//! * [`policy`]: LRU, FIFO, CLOCK, MIN, 2Q, ARC, S3-FIFO, PM-XIP, and rent-or-buy, a policy of this project.
//! * [`Counts`] and [`Costs`]: the operations of a policy, and their time and energy.
//! * [`bound`]: cost bounds for any schedule, online or offline.
//! * [`Numbering`]: dense page numbers, assigned once before any policy runs.
//! * [`sweep`]: LRU at every SRAM size and PM-XIP at every threshold in a single pass; other sweeps on all cores.
//! * [`synthetic`]: seeded traces with the locality of code.
//! * [`future`]: next uses, in memory or in two passes over a file.
//!
//! A trace is one slice of page numbers or a sequence of slices ([`policy::serve`]). The state of an online policy is
//! proportional to the number of distinct pages, regardless of the length of the trace.

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
