//! Machines: system files, the composition of parts they describe, and runs of workloads on them.

pub mod counters;
mod course;
pub mod failed;
pub mod fast;
pub mod fio_json;
mod machine;
pub mod manifest;
pub mod measured;
pub mod prepare;
mod prepared_cache;
pub mod record;
mod rest;
pub mod run;
pub mod series;
pub mod summary;
pub mod verify;
pub mod warm_up;

pub use machine::{Completion, Machine, PowerCut};
