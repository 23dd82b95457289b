//! Time, events, random numbers and measurements: the basis of every simulated part.
//!
//! This crate knows nothing about flash chips or queue pairs.

pub mod client;
pub mod contract;
pub mod dense;
pub mod energy;
pub mod histogram;
pub mod injected;
pub mod permutation;
pub mod queue;
pub mod rarely;
pub mod rng;
pub mod serial;
pub mod time;
pub mod timeline;
pub mod units;

pub use client::Client;
pub use contract::{Machine, Part, Timer};
pub use dense::{Dense, Number};
pub use energy::Energy;
pub use histogram::{Compact, Histogram};
pub use injected::Injected;
pub use permutation::{Pass, Permutation};
pub use queue::{EventQueue, Lane, Schedule};
pub use rarely::rarely;
pub use rng::{Rng, Streams};
pub use serial::{Serial, Span};
pub use time::Time;
pub use timeline::{Timeline, Track};
