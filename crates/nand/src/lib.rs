//! Simulated flash chips: what they hold ([`Store`]), and what they do with it in virtual time ([`Nand`]).
//!
//! [`Nand`] performs the operations of [`media::Action`] as an array of dies on shared channels does: with the time,
//! energy, wear and errors of each. It moves no data; whoever drives it applies to the [`Store`] what is
//! [`Done`](op::Done), in the order it is reported.

mod channel;
pub mod config;
mod die;
mod endurance;
mod errors;
mod hazards;
pub mod log;
pub mod nand;
pub mod op;
pub mod power;
pub mod store;
mod suspend;

pub use channel::ChannelStats;
pub use config::{Cell, Config, Ecc, Endurance, Errors, Faults, Policy, Power, Scheduling, Spread, Timing, Wear};
pub use die::DieStats;
pub use log::{LogEntry, Step};
pub use nand::{Event, Nand};
pub use op::{Done, Kind};
pub use power::{EnergyByPart, Torn};
pub use store::{BlockView, HostData, ImageError, Order, PageView, Pages, PayloadKind, Store, TagBuffers, UnitWrite};
