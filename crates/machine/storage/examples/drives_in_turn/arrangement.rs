//! The arrangement: which jobs visit which drives, and what was written before.

use std::io;
use std::path::Path;

use media::Op;
use nand::PayloadKind;
use sim::Time;
use system::System;
use system::parts::Parts;

use crate::drive::{Drive, History};
use crate::jobs::{Addresses, BYTES, Job};
use crate::target::Target;

/// Share of a drive that the writers together write in their run before it is simulated: about its spare space, so that
/// collection finds the blocks that such a run leaves.
const BEGUN: f64 = 0.06;

/// A reader at depth 1 and writers on drives.
#[derive(Clone, Debug)]
pub struct Arrangement {
    /// Number of drives.
    pub drives: usize,
    /// Number of writers.
    pub writers: u64,
    /// Requests that a writer keeps outstanding.
    pub depth: u32,
    /// Time that a writer's core needs for a request.
    pub core_time: Time,
    /// True if each writer has addresses of its own.
    pub own_addresses: bool,
    /// Requests by which the last writer is behind the first.
    pub span: u64,
    /// Start of the measured part.
    pub warm_up: Time,
    /// Length of the measured part.
    pub measured: Time,
    /// Seed of addresses and drives.
    pub seed: u64,
}

impl Arrangement {
    /// Returns the number of requests by which each writer is behind the one before it: whole turns, so that both send an
    /// address to the same drive.
    pub fn apart(&self) -> u64 {
        (self.span / (self.writers - 1).max(1)).next_multiple_of(self.drives as u64)
    }

    /// Prepares the drives and creates the jobs: the reader, then the writers. The reader follows the first writer's
    /// addresses from the start of the run, and finds them written.
    ///
    /// # Errors
    /// If a drive cannot be prepared, or its image cannot be read or written.
    pub fn target(&self, system: &System, images: Option<&Path>) -> io::Result<Target> {
        let parts = Parts::new(system, PayloadKind::None).map_err(io::Error::other)?;
        let (drives, writers) = (self.drives as u64, self.writers);
        let sequence = |number: u64| Addresses {
            sequence: self.seed + if self.own_addresses { number << 20 } else { 0 },
            requests: parts.user_bytes / BYTES,
        };
        let apart = self.apart();
        // The first writer has written as much of its sequence when the simulated part begins; the last one has begun, too.
        let share = (BEGUN * (parts.user_bytes / BYTES) as f64 / writers as f64) as u64 * drives;
        let begun = share.max((apart * writers).next_multiple_of(drives));
        // After that it writes at most what its core allows.
        let more = (self.end().ps() / self.core_time.ps()).next_multiple_of(drives);
        let history = History {
            addresses: (0..writers).map(sequence).collect(),
            // The number of writers doubled from run to run, beginning with one.
            before: if writers > 1 { begun + more } else { 0 },
            before_writers: (writers / 2).max(1),
            begun,
            apart,
        };
        let drive = |number| Drive::new(system, self.seed + number as u64, (number, self.drives), &history, images);
        let drives = (0..self.drives).map(drive).collect::<Result<_, _>>()?;
        let cores = system.host.cores as usize;
        let reader = Job::new(Op::Read, 1, sequence(0), 0, None);
        let writer = |number: u64| {
            let next = begun - number * apart;
            Job::new(Op::Write, self.depth, sequence(number), next, Some(number as usize % cores))
        };
        let jobs = std::iter::once(reader).chain((0..writers).map(writer)).collect();
        Ok(Target::new(drives, jobs, cores, self.core_time, self.warm_up))
    }

    /// Returns the end of the simulated time.
    pub fn end(&self) -> Time {
        self.warm_up + self.measured
    }
}
