//! DRAM: what the devices allow, and what a controller makes of it, in virtual time.
//!
//! * [`Device`]: organisation, JEDEC timing and currents of a device, from a preset file: `Device::preset("LPDDR3-1600")`.
//!   Every value has a [`Basis`].
//! * [`Config`]: a channel's ranks ([`RankKind::Dram`], or a device's [`RankKind::Buffer`] that answers as DRAM does), its
//!   queues and policies. `Config::new(device)` is a plain one.
//! * [`Channel`]: one channel and a controller that looks for open rows; [`InOrder`]: one that serves requests as they come,
//!   for a fraction of the work; [`Memory`]: several of either behind one address space ([`Region`]s with their interleaving).
//!
//! A state machine, like every part. Requests have any length and carry their port; the controller makes bursts of them as
//! its queues have room, so that a DMA of many KiB is one request:
//!
//! ```
//! use dram::{Config, Device, Kind, Memory, Request};
//! use sim::Time;
//!
//! let config = Config::new(Device::preset("DDR4-2400")?);
//! let mut memory = Memory::interleaved(&config, 2, 256)?;
//! memory.submit(Time::ZERO, Request { id: 7, kind: Kind::Read, address: 4096, bytes: 64, ..Request::default() });
//! let mut done = Vec::new();
//! while let Some(now) = memory.next_event() {
//!     memory.advance(now, &mut done);
//! }
//! // A closed bank: tRCD, CL and a burst, 17 + 17 + 4 clocks of 0.833 ns.
//! assert_eq!((done[0].id, done[0].at), (7, Time::from_ps(31_667)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In an event loop: [`Memory::submit`], then [`Memory::arm`], which asks the [`sim::Schedule`] for a [`Wake`]; each goes to
//! [`Memory::handle`]. A [`Completion`] tells the request's id, port, kind, what answered, and when. Reads are done when
//! their last data have arrived; writes when the controller has them or when they are in the device ([`Ack`]).
//!
//! While nothing is asked for there are no events: refresh, power-down and self-refresh of idle time are caught up with when
//! somebody asks again, or asks for [`Channel::energy`].

mod ahead;
mod alone;
mod bank;
mod board;
mod channel;
mod checker;
mod clock;
mod command;
mod config;
mod device;
mod done;
mod early;
mod enter;
mod hash;
mod house;
mod in_order;
mod interleave;
mod layout;
mod memory;
mod perform;
mod plan;
mod power;
mod queue;
mod rank;
mod request;
mod run;
mod select;
mod stats;
mod timing;

pub use channel::Channel;
pub use checker::{Checker, Rule, Violation};
pub use clock::Clock;
pub use command::{Command, CommandKind};
pub use config::{Config, ConfigError, PagePolicy, Ranks, Scheduler};
pub use device::{Basis, Device, DeviceError};
pub use in_order::InOrder;
pub use interleave::{Local, Region};
pub use layout::{Field, Order, OrderError, Place};
pub use memory::{Memory, Wake};
pub use power::{EnergyByUse, PowerState, Rail, RankActivity};
pub use request::{Ack, Completion, Kind, RankKind, Request};
pub use stats::{ChannelStats, PortStats};
pub use timing::Timing;
