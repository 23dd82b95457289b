//! Devices in virtual time for a program outside: another simulator, a serving simulator, a control loop.
//!
//! ```
//! use sim::Time;
//! use simulation::{DeviceOptions, Op, Options, Request, Simulation};
//! use system::System;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let memory = DeviceOptions::new("memory", System::load("cxl-ssd", &[])?);
//! let mut simulation = Simulation::new(vec![memory], Options::default())?;
//! let read = Request { op: Op::Read, address: 4096, bytes: 64, handle: 7, ..Request::default() };
//! let id = simulation.submit(Time::from_ns(10), read)?;
//! let completions = simulation.next_completions(None, 16)?;
//! assert_eq!((completions[0].id, completions[0].handle), (id, 7));
//! # Ok(())
//! # }
//! ```
//!
//! A device is a drive behind its host's driver, or main memory below the last-level cache (DRAM, or flash behind
//! DRAM). It takes exactly the path of a run: `storage::Machine` or `main_memory::MainMemory`.
//!
//! | call | does |
//! | --- | --- |
//! | [`Simulation::new`] | builds and prepares the devices |
//! | [`Simulation::submit`], [`submit_all`](Simulation::submit_all) | submit requests, now or at a later time |
//! | [`Simulation::room`] | back pressure: how much a device accepts now |
//! | [`Simulation::next_event`] | a lower bound of the next completion's time |
//! | [`Simulation::advance`] | advances to a time and returns all completions until then |
//! | [`Simulation::next_completions`] | advances to the first completion |
//! | [`Simulation::energy_j`], [`summary`](Simulation::summary) | energy and statistics at any time |
//! | [`Simulation::save`], [`restore`](Simulation::restore) | write the state to a file at any time, and continue from it |
//!
//! **Time** never goes back: submissions and advances into the past are refused. Several devices share the clock;
//! completions are in order of time and, at equal times, of device.
//!
//! **Limits.** At most [`DeviceOptions::outstanding`] requests of a drive, or 64-byte lines of main memory, are
//! outstanding, including those submitted for later; more are refused. Below that limit requests wait where a driver
//! or a memory controller keeps them: a drive's driver queues what exceeds the device's queue depth, first come first
//! served, as Linux does.
//!
//! **Determinism.** The same calls give the same completions on any machine. Device `i` draws from the streams of seed
//! `seed + i`, so that it equals a run with that seed.

mod device;
mod error;
mod history;
mod options;
mod pending;
mod report;
mod request;
mod simulation;
mod slots;

pub use error::Error;
pub use options::{DeviceOptions, Options};
pub use request::{Completion, Op, Request};
pub use simulation::{DEVICES_MAX, LATEST, Simulation};
