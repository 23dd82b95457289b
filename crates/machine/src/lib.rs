//! Machines: system files, the composition of parts they describe, and runs of workloads on them.

pub mod compose;
pub mod counters;
pub mod fast;
pub mod front;
mod machine;
pub mod manifest;
pub mod measured;
pub mod memory;
pub mod paging;
pub mod prepare;
pub mod record;
pub mod run;
pub mod series;
pub mod summary;
pub mod system;
pub mod verify;
pub mod warm_up;

pub use machine::{Completion, Machine, PowerCut};
pub use system::System;
