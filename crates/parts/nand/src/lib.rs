//! Simulated flash chips: their content ([`Store`]), and their operations in virtual time ([`Nand`]).
//!
//! [`Nand`] performs the operations of [`media::Action`] like an array of dies on shared channels, with the time,
//! energy, wear and errors of each. It moves no data; its caller applies each [`Done`] operation to the [`Store`], in
//! the reported order.

mod channel;
mod config;
mod die;
mod log;
mod nand;
mod power;
mod reliability;
mod schedule;
mod store;
mod tables;
mod variation;

pub use channel::ChannelStats;
pub use config::{
    Cell, Config, Ecc, Endurance, ErrorLaw, Errors, Faults, Flash, Order, PageSpan, Policy, Power, Programming, Reuse,
    Scheduling, Spread, Timing, Variation, Wear,
};
pub use die::DieStats;
pub use log::{LogEntry, Step};
pub use nand::{Event, Nand};
pub use power::{EnergyByPart, Torn};
pub use reliability::ecc::EccStats;
pub use schedule::op::{Done, OpKind, Outcome};
pub use store::{
    BlockRecord, BlockView, HostData, IMAGE_VERSION, ImageError, PageRecord, PageView, Pages, PayloadKind, Store,
    TagBuffers, UnitWrite,
};
