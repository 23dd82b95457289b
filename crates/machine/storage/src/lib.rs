//! Simulated drives: composes the parts that a system file describes and runs workloads on them.

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
