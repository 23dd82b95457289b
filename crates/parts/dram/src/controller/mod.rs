//! Controllers: the order of service, and the maintenance of idle ranks and rows.
//!
//! A controller owns a [`State`](crate::state::State), which determines when a command is allowed. [`Channel`] searches
//! its queues for open rows (`scheduler.rs`); [`InOrder`] serves requests in order of arrival. Both share `requests.rs`
//! and `maintenance/`, where each policy has a file: `refresh.rs`, `power_management.rs`, `row_policy.rs`.

mod admission;
mod candidates;
mod channel;
mod config;
mod done;
mod in_order;
mod look_ahead;
mod maintenance;
mod queue;
mod queued_train;
mod requests;
mod scheduler;
mod train;

pub use channel::Channel;
pub use config::{Config, ConfigError, Ranks, Scheduler};
pub(crate) use done::{Done, Timed};
pub use in_order::InOrder;
pub use maintenance::{PagePolicy, RefreshMode};

use sim::Time;

use crate::request::{Completion, RankKind, Request};
use crate::state::EnergyByUse;
use crate::stats::{ChannelStats, PortStats};

/// A channel with either controller.
pub enum Controller {
    /// Open rows first.
    FirstReady(Box<Channel>),
    /// Requests in order of arrival.
    InOrder(Box<InOrder>),
}

impl Controller {
    pub(crate) fn new(config: &Config) -> Result<Controller, ConfigError> {
        Ok(match config.scheduler {
            Scheduler::FirstReady => Controller::FirstReady(Box::new(Channel::new(config)?)),
            Scheduler::InOrder => Controller::InOrder(Box::new(InOrder::new(config)?)),
        })
    }

    /// Submits a request. If its completion is already known, it is returned and not counted at its port.
    #[inline]
    pub(crate) fn submit(&mut self, now: Time, request: &Request) -> Option<Completion> {
        match self {
            Controller::FirstReady(channel) => {
                channel.accept(now, request);
                None
            }
            Controller::InOrder(channel) => channel.submit_early(now, request),
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<Time> {
        match self {
            Controller::FirstReady(channel) => channel.next_event(),
            Controller::InOrder(channel) => channel.next_event(),
        }
    }

    pub(crate) fn next_done(&mut self) -> Option<Time> {
        match self {
            Controller::FirstReady(channel) => channel.next_done(),
            Controller::InOrder(channel) => channel.next_event(),
        }
    }

    /// Performs all work due until `now`. Returns the completions.
    pub(crate) fn advance_to(&mut self, now: Time) -> &mut Done {
        match self {
            Controller::FirstReady(channel) => channel.advance_to(now),
            Controller::InOrder(channel) => channel.advance_to(now),
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        match self {
            Controller::FirstReady(channel) => channel.config(),
            Controller::InOrder(channel) => channel.config(),
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> ChannelStats {
        match self {
            Controller::FirstReady(channel) => channel.stats(),
            Controller::InOrder(channel) => channel.stats(),
        }
    }

    /// Returns a port's counters.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn port_stats(&self, port: u8) -> PortStats {
        match self {
            Controller::FirstReady(channel) => channel.port_stats(port),
            Controller::InOrder(channel) => channel.port_stats(port),
        }
    }

    /// Returns the kind of rank at the channel's own `address`.
    pub(crate) fn kind_at(&self, address: u64) -> RankKind {
        match self {
            Controller::FirstReady(channel) => channel.kind_at(address),
            Controller::InOrder(channel) => channel.kind_at(address),
        }
    }

    /// Returns the energy of each rank until `now`.
    pub(crate) fn energy(&mut self, now: Time) -> Vec<EnergyByUse> {
        match self {
            Controller::FirstReady(channel) => channel.energy(now),
            Controller::InOrder(channel) => channel.energy(now),
        }
    }
}
