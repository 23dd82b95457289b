//! Serving of a language model whose key-value (KV) cache spans GPU memory, host memory and simulated drives.
//!
//! [`run`] plays a load of chat requests on one server in virtual time. A scheduler batches prefill and decode
//! continuously; the GPU's time per step follows a roofline ([`gpu`]). KV blocks live in a GPU pool and move down the
//! tiers when they are evicted ([`blocks`]). The drives are [`storage::Machine`]s, so that offloaded blocks cause
//! collection, delay fetches and wear out flash.
//!
//! | module | subject |
//! | --- | --- |
//! | [`model`], [`gpu`] | published shapes and data sheets, time per step |
//! | [`config`] | the keys of a file with `kind = "kvcache"` |
//! | [`load`] | sessions, lengths, arrivals, arrival traces |
//! | [`blocks`] | which block is in which tier: lookup, eviction, slots |
//! | [`drives`], [`slice`] | requests to the drives; the part of a drive that sampling simulates |
//! | `engine` | the event loop: admission, fetches, steps, preemption |
//! | `results` | TTFT, TPOT, hits, wear, energy |

pub mod blocks;
pub mod config;
pub mod drives;
mod engine;
pub mod gpu;
pub mod load;
pub mod model;
mod results;
pub mod slice;

pub use config::Config;
pub use engine::run::{Outcome, ServingError, play, run};
pub use results::summary::summary;
pub use results::tally::{Flow, Tally};
