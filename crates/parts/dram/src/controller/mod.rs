//! The controller: the order of service, and the maintenance of idle ranks and rows.
//!
//! [`Channel`] owns a [`ChannelState`](crate::state::ChannelState), which determines when a command is allowed, and searches its
//! queues for open rows (`scheduler.rs`). In `maintenance/` each policy has a file: `refresh.rs`, `power_management.rs`,
//! `row_policy.rs`.

mod admission;
mod candidates;
mod channel;
mod config;
mod done;
mod look_ahead;
mod maintenance;
mod queue;
mod queued_train;
mod requests;
mod scheduler;
mod train;

pub use channel::Channel;
pub use config::{Config, ConfigError, Ranks};
pub(crate) use done::{Done, Timed};
pub use maintenance::{PagePolicy, RefreshMode};
