//! Black-box inference: determines which caches and buffers a block device has, and their sizes, from request
//! latencies.

pub mod block;
#[cfg(target_os = "linux")]
mod measure;
pub mod model;
mod options;
mod place;
pub mod plan;
pub mod report;
mod run;
mod stats;
pub mod target;

pub use model::{ModelError, model};
pub use options::{Method, Options, Test};
pub use plan::Plan;
pub use report::{Finding, Place, Report, Verdict};
pub use run::{Progress, Step, probe, probe_as_far_as_possible};
pub use target::simulated::Simulated;
pub use target::stoppable::Stoppable;
pub use target::subject::Subject;
pub use target::{Clock, Facts, HmbSwitch, Target, TargetError, Timed};
pub use target::{noise, simulated, stoppable, subject};
