//! Black-box inference: determines which caches and buffers a block device has, and their sizes, from request
//! latencies.

mod bench;
#[cfg(target_os = "linux")]
pub mod block;
mod burst;
mod map_cache;
pub mod model;
pub mod noise;
mod options;
mod parallel;
mod place;
pub mod plan;
mod read_cache;
pub mod report;
mod retention;
mod run;
pub mod simulated;
mod stats;
pub mod stoppable;
pub mod subject;
pub mod target;
mod wire;
mod write_buffer;

pub use model::{ModelError, model};
pub use options::{Options, Test};
pub use plan::Plan;
pub use report::{Finding, Place, Report, Verdict};
pub use run::{Progress, Step, probe, probe_as_far_as_possible};
pub use simulated::Simulated;
pub use stoppable::Stoppable;
pub use subject::Subject;
pub use target::{Clock, Facts, HmbSwitch, Target, TargetError, Timed};
