//! DRAM devices and their controllers in virtual time.
//!
//! * [`Device`]: organization, JEDEC timing and currents of a device, from a preset file:
//!   `Device::preset("LPDDR3-1600")`. Every value has a [`Basis`].
//! * [`Config`]: a channel's ranks ([`RankKind::Dram`], or a device's [`RankKind::Buffer`] that answers like DRAM), its
//!   queues and policies. `Config::new(device)` is a simple configuration.
//! * [`Channel`]: one channel with a controller that searches for open rows; [`Memory`]: several behind one address
//!   space, with interleaved [`Region`]s.
//! * [`MemoryConfig`]: the keys of DRAM as main memory or as a cache, from which the configuration of a channel follows.
//! * [`strobed`]: a rank of variable latency, which raises the data strobe when its data is ready.
//!
//! A memory is a state machine, like every part. Requests have any length and carry their port; the controller splits
//! them into bursts as its queues have room, so that a DMA of many KiB is one request:
//!
//! ```
//! use dram::{Config, Device, RequestKind, Memory, Request};
//! use sim::Time;
//!
//! let config = Config::new(Device::preset("DDR4-2400")?);
//! let mut memory = Memory::interleaved(&config, 2, 256)?;
//! memory.submit(Time::ZERO, Request { id: 7, kind: RequestKind::Read, address: 4096, bytes: 64, ..Request::default() });
//! let mut done = Vec::new();
//! while let Some(now) = memory.next_event() {
//!     memory.advance(now, &mut done);
//! }
//! // A closed bank: tRCD, CL and a burst, 17 + 17 + 4 clocks of 0.833 ns.
//! assert_eq!((done[0].id, done[0].at), (7, Time::from_ps(31_667)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In an event loop, call [`Memory::submit`], then [`Memory::arm`], which schedules a [`Wake`] through
//! [`sim::Schedule`]; pass each wake to [`Memory::handle`]. A [`Completion`] contains the request's id and port, its
//! kind, the kind of rank, and the time. Reads are done when their last data has arrived; writes when the controller
//! has accepted them, or when they are in the device ([`Ack`]).
//!
//! While nothing is requested there are no events: refresh, power-down and self-refresh of idle time are computed at
//! the next request or query, such as [`Channel::energy`].

mod controller;
mod device;
mod interleave;
mod memory;
mod memory_config;
mod merge;
mod request;
mod state;
mod stats;
pub mod strobed;

pub use controller::{Channel, Config, ConfigError, PagePolicy, Ranks, RefreshMode};
pub use device::{Basis, Clock, DecodedAddress, Device, DeviceError, Field, Order, OrderError, Rail, Timing};
pub use interleave::{Local, Region};
pub use memory::{Memory, Wake};
pub use memory_config::{MemoryConfig, RowPolicy, Standard};
pub use request::{Ack, Completion, RankKind, Request, RequestKind};
pub use state::{Command, CommandKind, EnergyByUse, PowerState, RankActivity};
pub use stats::{BankStats, ChannelStats, PortStats};
