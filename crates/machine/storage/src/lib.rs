//! Simulated drives: composes the parts that a system file describes and runs workloads on them.

mod machine;
pub mod prepare;
mod results;
pub mod run;
pub mod trace;

pub use machine::{Completion, Machine, Mirror, PlacementBytes, PowerCut};
pub use prepare::fast;
pub use results::{counters, fio_json, manifest, measured, notes, series, summary};
pub use run::{failed, intervals, reached, record, verify, warm_up};
