//! Real targets: a plain file or a Linux block device, accessed with direct I/O and timed by the monotonic clock.
//!
//! [`Found::inspect`] decides whether a path may be probed at all; [`Block::open`] opens it. Access is read-only unless
//! the user has typed the key of the target ([`Found::confirm`]).

mod buffers;
mod content;
mod disk;
mod engine;
mod environment;
mod file;
mod found;
mod hmb;
mod refusal;
mod ring;
mod roots;
mod threads;
mod usage;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use media::{Op, Request};
use sim::Time;

pub use disk::Disk;
pub use found::{Confirmed, Found};
pub use hmb::{Switch, limit_mib, other_sizes};
pub use refusal::Refusal;
pub use roots::Roots;
pub use usage::{check_drive, check_loop};

use self::buffers::Buffers;
use self::engine::{Batch, DEPTH_MAX, Engine, Unfinished};
use crate::{Clock, Facts, HmbSwitch, Target, TargetError, Timed};

/// Interval at which an idle wait checks the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Options for opening a target.
#[derive(Debug)]
pub struct Options {
    /// The user's confirmation; required for writing.
    pub write: Option<Confirmed>,
    /// Whether the host memory buffer may be switched.
    pub switch_hmb: bool,
    /// Seed of the written data.
    pub seed: u64,
    /// Ends a batch early when set.
    pub stop: Arc<AtomicBool>,
}

/// An open file or drive.
#[derive(Debug)]
pub struct Block {
    file: File,
    facts: Facts,
    engine: Engine,
    buffers: Buffers,
    stop: Arc<AtomicBool>,
    hmb: Option<Switch>,
}

impl Block {
    /// Opens a target.
    ///
    /// # Errors
    /// If the target changed since its inspection or cannot be opened. An unusable host memory buffer switch is treated
    /// as absent; `environment` records the reason.
    pub fn open(found: &Found, options: Options) -> Result<Block, Refusal> {
        let file = found.open(options.write.as_ref())?;
        let writable = options.write.is_some();
        let engine = Engine::new();
        let mut environment = environment::environment(found);
        environment.insert("engine".to_owned(), engine.name().to_owned());
        let mut note = |text: String| environment.insert("hmb".to_owned(), text);
        let hmb = match found.disk().map(|disk| Switch::find(found.roots(), found.path(), disk)) {
            // The drive below a file serves other users, who must not lose its host memory.
            None => None,
            Some(Ok(None)) => {
                note("none".to_owned());
                None
            }
            Some(Ok(Some(switch))) => {
                note(if switch.found() { "on" } else { "off" }.to_owned());
                options.switch_hmb.then_some(switch)
            }
            Some(Err(error)) => {
                note(error.to_string());
                None
            }
        };
        let trims = writable
            && found.disk().is_some_and(|disk| disk.queue_number("discard_max_bytes").is_some_and(|bytes| bytes > 0));
        let facts = Facts {
            name: found.path().to_owned(),
            capacity_bytes: found.capacity_bytes(),
            block_bytes: found.block_bytes(),
            writable,
            // Trimming a file makes a hole, and the file system serves reads of holes itself.
            trims,
            depth_max: DEPTH_MAX,
            clock: Clock::Real,
            environment,
        };
        Ok(Block { file, facts, engine, buffers: Buffers::new(options.seed), stop: options.stop, hmb })
    }

    /// Returns the command with which a user restores the host memory buffer if this process is killed. `None` if it is
    /// not switched.
    pub fn restore_command(&self) -> Option<String> {
        self.hmb.as_ref().map(Switch::restore_command)
    }

    /// Restores everything that was switched, like dropping would, but reports a failure.
    ///
    /// # Errors
    /// If the host memory buffer could not be restored.
    pub fn close(mut self) -> Result<(), TargetError> {
        self.hmb.as_mut().map_or(Ok(()), Switch::restore)
    }

    fn check(&self, request: &Request) {
        let facts = &self.facts;
        let (block, end) = (facts.block_bytes, request.end());
        let aligned = request.offset.is_multiple_of(block) && request.bytes.is_multiple_of(block);
        assert!(aligned && end <= facts.capacity_bytes, "{request:?} on {} bytes of {block}", facts.capacity_bytes);
        let allowed = match request.op {
            Op::Read | Op::Flush => true,
            Op::Write => facts.writable,
            Op::Trim => facts.trims,
            Op::Append | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => false,
        };
        assert!(allowed, "{request:?} is not permitted on this target");
    }

    fn failed(&self, request: &Request, cause: &std::io::Error) -> TargetError {
        let (name, cause) = (self.facts.name.clone(), cause.to_string());
        TargetError::Failed { name, op: request.op, offset: request.offset, bytes: request.bytes, cause }
    }
}

impl Target for Block {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(&mut self, requests: &[Request], depth: u32, timed: &mut Vec<Timed>) -> Result<Time, TargetError> {
        assert!((1..=DEPTH_MAX).contains(&depth), "{depth} requests at a time");
        requests.iter().for_each(|request| self.check(request));
        timed.clear();
        timed.resize(requests.len(), Timed { submitted: Time::ZERO, ended: Time::ZERO });
        let (file, buffers, stop) = (&self.file, &mut self.buffers, &*self.stop);
        let ran = self.engine.run(&mut Batch { file, buffers, requests, depth, stop, timed });
        ran.map_err(|unfinished| match unfinished {
            Unfinished::Failed(index, error) => self.failed(&requests[index], &error),
            Unfinished::Interrupted => TargetError::Interrupted,
        })
    }

    fn wait(&mut self, idle: Time) -> Result<(), TargetError> {
        let (start, idle) = (Instant::now(), Duration::from_nanos(idle.ns()));
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(TargetError::Interrupted);
            }
            match idle.checked_sub(start.elapsed()) {
                None | Some(Duration::ZERO) => return Ok(()),
                Some(left) => thread::sleep(left.min(POLL_INTERVAL)),
            }
        }
    }

    fn hmb(&mut self) -> Option<&mut dyn HmbSwitch> {
        self.hmb.as_mut().map(|switch| switch as &mut dyn HmbSwitch)
    }
}
