//! The arrangement: which jobs visit which drives, and what was written before.

use std::io;

use media::Op;
use sim::{Streams, Time};
use system::System;
use system::parts::Parts;

use crate::drive::Drive;
use crate::history::{Past, Run};
use crate::jobs::Job;
use crate::target::Target;

/// A reader at depth 1 and writers on drives.
#[derive(Clone, Debug)]
pub struct Arrangement {
    /// Number of drives.
    pub drives: usize,
    /// Requests that a writer keeps outstanding.
    pub depth: u32,
    /// Time that a writer's core needs for a request.
    pub core_time: Time,
    /// Start of the measured part.
    pub warm_up: Time,
    /// Length of the measured part.
    pub measured: Time,
    /// Seed of addresses and drives.
    pub seed: u64,
}

impl Arrangement {
    /// Performs `run` on a drive and copies it at random moments of the run's second half, which was measured: once for each
    /// drive. Creates the jobs: the reader, then the writers. The reader follows the first writer's addresses, a quarter of a
    /// run behind at least. Also returns how many requests of the first writer `past` has performed.
    ///
    /// # Errors
    /// If the drive becomes read-only or cannot be mounted.
    pub fn target(&self, system: &System, parts: &Parts, past: &mut Past, run: Run) -> io::Result<(Target, u64)> {
        let half = run.requests / 2;
        let mut rng = Streams::new(self.seed + run.writers).stream("moments");
        // At equal distances, drives that fold whenever so much was written might all fold at the same time.
        let mut moments: Vec<u64> = (0..self.drives).map(|_| half + rng.below(half)).collect();
        moments.sort_unstable();
        let (mut drives, mut from) = (Vec::new(), 0);
        for (moment, seed) in moments.iter().zip(self.seed..) {
            past.write(run.writes(past.addresses, from, *moment))?;
            drives.push(Drive::new(past.powered_up(parts, seed)?));
            from = *moment;
        }
        let cores = system.host.cores as usize;
        let read_from = (0..self.drives as u64).map(|number| run.requests / 4 * number / self.drives as u64).collect();
        let reader = Job::new(Op::Read, 1, (past.addresses, 0), read_from, None);
        let writer = |writer: u64| {
            let first = moments.iter().map(|moment| run.sent(writer, *moment)).collect();
            Job::new(Op::Write, self.depth, (past.addresses, writer), first, Some(writer as usize % cores))
        };
        let jobs = std::iter::once(reader).chain((0..run.writers).map(writer)).collect();
        Ok((Target::new(drives, jobs, cores, self.core_time, self.warm_up), from))
    }

    /// Returns the end of the simulated time.
    pub fn end(&self) -> Time {
        self.warm_up + self.measured
    }
}
