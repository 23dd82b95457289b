//! A run of a load on a server.

use std::path::Path;

use sim::{Streams, Time};
use storage::prepare::Prepared;
use storage::record::Recorder;
use storage::run::Measured;
use storage::run::{Progress, RunOptions};
use system::System;
use workload::JobInfo;

use super::Server;
use crate::blocks::{Blocks, Capacities};
use crate::config::{Config, Reuse, WeightSource};
use crate::drives::{DriveError, Drives, Use};
use crate::load::Arrivals;
use crate::results::tally::{Snapshot, Tally};

/// Reasons why a run did not start or finish.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// The file is invalid.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// The drives cannot be built.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The drives have no room for a block.
    #[error("{file}: drive.used: found drives with room for no KV block, expected room for one of {block}")]
    Room {
        /// The file.
        file: String,
        /// Size of a block.
        block: String,
    },
    /// No request arrives.
    #[error("{file}: found no request to play")]
    Empty {
        /// The file.
        file: String,
    },
    /// The watcher stopped the run.
    #[error("interrupted")]
    Interrupted,
}

/// Results of a completed run.
pub struct Outcome {
    /// The configuration.
    pub config: Config,
    /// The drives at the end.
    pub drives: Drives,
    /// Preparation of the drives; `None` without drives.
    pub prepared: Option<Prepared>,
    /// The drives' requests within the statistics.
    pub recorder: Recorder,
    /// The jobs of the recorder: [`Use::NAMES`].
    pub jobs: Vec<JobInfo>,
    /// Counts over the whole run.
    pub tally: Tally,
    /// Requests that were cut to `load.context_max` tokens.
    pub cut_requests: u64,
    /// Counts at the start and at the end of the statistics.
    pub(crate) window: (Snapshot, Snapshot),
    /// End of the run.
    pub end: Time,
    /// Number of events.
    pub events: u64,
}

impl Outcome {
    /// Returns the measurements of the drives' requests.
    pub fn measured(&self) -> Measured<'_> {
        Measured::new(&self.recorder, &self.jobs, self.end, self.window.0.at)
    }
}

/// Events between two calls of the watcher.
const WATCH_EVERY: u64 = 1 << 12;

/// Plays a file with `kind = "kvcache"` on a server whose drives are those of `system`. `watch` receives the progress
/// and returns false to stop the run.
///
/// # Errors
/// Fails if the file or an arrival trace is invalid, or the drives cannot be built.
///
/// # Panics
/// Panics if the model violates one of its own invariants.
pub fn run(
    system: &System,
    path: &Path,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, ServingError> {
    let file = path.display().to_string();
    play(system, &file, Config::open(path)?, options, watch)
}

/// Like [`run`], with a configuration that was read before; `file` is used in messages.
///
/// # Errors
/// See [`run`].
///
/// # Panics
/// See [`run`].
pub fn play(
    system: &System,
    file: &str,
    config: Config,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, ServingError> {
    let streams = Streams::new(options.seed);
    let arrivals = Arrivals::new(&config.load, &streams)?;
    let weights = match config.weights.source {
        WeightSource::Drive => config.streamed_bytes(),
        WeightSource::Host => 0,
    };
    let drives = Drives::new(system, &config.drive, config.block_bytes(), weights, options)?;
    if config.drive.count > 0 && drives.slots() == 0 {
        let block = sim::units::show_size(config.block_bytes());
        return Err(ServingError::Room { file: file.to_owned(), block });
    }
    // Blocks that are never fetched need not be kept.
    let below = |blocks: u64| if config.tiers.reuse == Reuse::Recompute { 0 } else { blocks };
    let blocks = Blocks::new(Capacities {
        gpu: config.gpu_blocks(),
        host: below(config.tiers.host / config.block_bytes()),
        drive: below(drives.slots()),
        staging: below(config.drive.staging / config.block_bytes()),
        memory_eviction: config.tiers.eviction,
        drive_eviction: config.drive.eviction,
    });
    let prepared = drives.prepared().cloned();
    let mut server = Server::new(config, blocks, drives, arrivals);
    let mut events = 0;
    while server.advance() {
        events += 1;
        if events % WATCH_EVERY == 0 {
            let length = server.config.load.duration;
            let fraction = if length < Time::MAX { server.now.secs_f64() / length.secs_f64() } else { 0.0 };
            let done = server.tally.finished;
            if !watch(Progress { fraction: fraction.min(1.0), now: server.now, done }) {
                return Err(ServingError::Interrupted);
            }
        }
    }
    if server.tally.arrived == 0 {
        return Err(ServingError::Empty { file: file.to_owned() });
    }
    let last = server.snapshot();
    let begin = server.begin.take().unwrap_or_else(|| last.clone());
    let end = server.end.take().unwrap_or(last);
    let mut recorder = server.recorder;
    recorder.finish();
    Ok(Outcome {
        jobs: jobs(&server.config),
        config: server.config,
        prepared,
        drives: server.drives,
        recorder,
        tally: server.tally,
        cut_requests: server.expected.cut_requests(),
        window: (begin, end),
        end: server.now,
        events,
    })
}

fn jobs(config: &Config) -> Vec<JobInfo> {
    let job = |name: &str| JobInfo {
        name: name.to_owned(),
        group: 0,
        starts_later: false,
        options: config.options.clone(),
        inherited: 0,
    };
    // Without streamed weights their job is left out.
    let used = if config.streamed_bytes() > 0 { Use::NAMES.len() } else { Use::Weights as usize };
    Use::NAMES[..used].iter().map(|name| job(name)).collect()
}
