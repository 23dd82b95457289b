//! Simulated flash chips: their content ([`Store`]), and their operations in virtual time ([`Nand`]).
//!
//! [`Nand`] performs the operations of [`media::Action`] like an array of dies on shared channels, with the time,
//! energy, wear and errors of each. It moves no data; its caller applies each [`Done`] operation to the [`Store`], in
//! the reported order.

mod channel;
mod config;
mod die;
mod ecc;
mod endurance;
mod errors;
mod hazards;
mod independent;
mod log;
mod nand;
mod op;
mod power;
mod schedule;
mod start;
mod steps;
mod store;
mod suspend;
mod tables;
mod variation;

pub use channel::ChannelStats;
pub use config::{
    Cell, Config, Ecc, Endurance, Errors, Faults, Policy, Power, Reuse, Scheduling, Spread, Timing, Variation, Wear,
};
pub use die::DieStats;
pub use ecc::EccStats;
pub use log::{LogEntry, Step};
pub use nand::{Event, Nand};
pub use op::{Done, Kind};
pub use power::{EnergyByPart, Torn};
pub use store::{
    BlockView, HostData, IMAGE_VERSION, ImageError, Order, PageView, Pages, PayloadKind, Store, TagBuffers, UnitWrite,
};
