//! The load: who sends which request when.
//!
//! Sessions arrive as a Poisson process. A session has one or more turns; a turn's prompt is the session's history (all
//! earlier prompts and outputs) and new tokens, and the next turn follows its answer after a think time. Every session
//! begins with one of a number of shared prefixes (system prompts). All draws of session N come from the stream
//! `serving.session.N`, so that they do not depend on the system under load.

mod lengths;
mod public;
mod sessions;
mod trace;

use std::path::PathBuf;
use std::sync::Arc;

use sim::{Streams, Time};
use workload::Error;

pub use lengths::Lengths;
pub use sessions::Generator;

/// Source of the requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Sessions drawn at random.
    Sessions {
        /// Mean number of sessions per second.
        rate: f64,
        /// Mean number of turns, geometrically distributed.
        turns: f64,
        /// Mean think time between an answer and the next turn, exponentially distributed.
        think: Time,
        /// Number of shared prefixes, each equally likely.
        prefixes: u64,
        /// New tokens of a turn.
        prompt: Lengths,
        /// Tokens of an answer.
        output: Lengths,
    },
    /// A file of arrivals.
    Trace(PathBuf),
}

/// A load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Source of the requests.
    pub source: Source,
    /// Tokens of a shared prefix.
    pub prefix_tokens: u64,
    /// Largest number of tokens of a sequence; a session ends before it would grow longer.
    pub context_max: u64,
    /// No request arrives after this time.
    pub duration: Time,
    /// Start of the statistics.
    pub warm_up: Time,
}

/// Tokens that an identifier of [`Request::hashes`] stands for: the block size of Mooncake's traces.
pub const HASHED_TOKENS: u64 = 512;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Session to which it belongs.
    pub session: u64,
    /// Shared prefix of the session.
    pub prefix: u64,
    /// Tokens of the prompt, with prefix and history.
    pub prompt: u64,
    /// Tokens to generate.
    pub output: u64,
    /// Arrival.
    pub at: Time,
    /// Identifiers of the prompt's first [`HASHED_TOKENS`] tokens, of the next, and so on, each of the content and
    /// all before it: requests with the same share these tokens. Empty if a trace has none.
    pub hashes: Arc<[u32]>,
}

/// The requests of a load, in the order in which they arrive.
pub enum Arrivals {
    /// Generated sessions.
    Generated(Box<Generator>),
    /// The rows of a trace, last first.
    Traced(Vec<Request>),
}

impl Arrivals {
    /// Opens a load.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub fn new(load: &Load, streams: &Streams) -> Result<Arrivals, Error> {
        Ok(match &load.source {
            Source::Sessions { .. } => Arrivals::Generated(Box::new(Generator::new(load, *streams))),
            Source::Trace(path) => {
                let mut rows = trace::read(path, load)?;
                rows.reverse();
                Arrivals::Traced(rows)
            }
        })
    }

    /// Returns the next request that depends on no answer.
    pub fn next_request(&mut self) -> Option<Request> {
        match self {
            Arrivals::Generated(generator) => generator.open_session(),
            Arrivals::Traced(rows) => rows.pop(),
        }
    }

    /// Returns the number of requests so far that were cut to `load.context_max`.
    pub fn cut_requests(&self) -> u64 {
        match self {
            Arrivals::Generated(generator) => generator.cut_turns(),
            Arrivals::Traced(_) => 0,
        }
    }

    /// Returns the next turn of the session whose `request` was answered at `now`, if there is one.
    pub fn answered(&mut self, request: &Request, now: Time) -> Option<Request> {
        match self {
            Arrivals::Generated(generator) => generator.next_turn(request, now),
            Arrivals::Traced(_) => None,
        }
    }
}
