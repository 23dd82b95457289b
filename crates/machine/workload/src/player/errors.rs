//! Jobs that end early: with an error, or together with another job.

use media::Op;
use sim::Time;

use super::{JobState, Player};
use crate::fio::{ContinueOnError, ExitAll, Job, READ, TRIM, WRITE};

/// Effect of an error on a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnError {
    continues: ContinueOnError,
    /// Jobs that end together with it.
    exit_all: Option<ExitAll>,
    /// Latencies of reads, writes and trims that end the job.
    max_latency: [Option<Time>; 3],
}

impl OnError {
    /// Creates the rules of a job without its own keys.
    pub fn new(continues: ContinueOnError) -> OnError {
        OnError { continues, exit_all: None, max_latency: [None; 3] }
    }

    /// Returns the rules from the keys of `job`, with defaults from `default`.
    pub fn of(job: &Job, default: OnError) -> OnError {
        let exit_all = job.exit_all_on_error.then_some(job.exit_what);
        let continues = job.continue_on_error.unwrap_or(default.continues);
        OnError { continues, exit_all, max_latency: job.max_latency }
    }

    /// Returns whether some latency ends the job.
    pub fn limits_latency(&self) -> bool {
        self.max_latency.iter().any(Option::is_some)
    }
}

impl Player {
    /// Returns whether the latency of a request may end its job.
    pub fn limits_latency(&self) -> bool {
        self.limits_latency
    }

    /// Reports that a request of type `op` of job `index` has failed, after [`complete`](Self::complete). Returns
    /// whether that ends the job.
    pub fn failed(&mut self, index: u16, op: Op) -> bool {
        let lifecycle = &self.jobs[index as usize].lifecycle;
        if lifecycle.over || lifecycle.stop || lifecycle.on_error.continues.covers(op) {
            return false;
        }
        self.fail_job(index);
        true
    }

    /// Reports the latency of a request of type `op` of job `index`, after [`complete`](Self::complete). Returns whether
    /// it exceeds the job's `max_latency` and thereby ends the job.
    pub fn exceeds_latency(&mut self, index: u16, op: Op, latency: Time) -> bool {
        if !self.limits_latency {
            return false;
        }
        let lifecycle = &self.jobs[index as usize].lifecycle;
        let direction = match op {
            Op::Read => READ,
            Op::Write => WRITE,
            Op::Trim => TRIM,
            _ => return false,
        };
        let exceeds = lifecycle.on_error.max_latency[direction].is_some_and(|limit| latency > limit);
        if lifecycle.over || lifecycle.stop || !exceeds {
            return false;
        }
        self.fail_job(index);
        true
    }

    fn fail_job(&mut self, index: u16) {
        let lifecycle = &self.jobs[index as usize].lifecycle;
        let (exit_all, group) = (lifecycle.on_error.exit_all, lifecycle.group);
        self.stop_job(index);
        if let Some(which) = exit_all {
            self.stop_all(which, group);
        }
    }

    /// Ends the jobs that `which` selects relative to a job of `group`.
    pub(super) fn stop_all(&mut self, which: ExitAll, group: u32) {
        let stage = self.stage;
        for index in 0..self.jobs.len() {
            let lifecycle = &self.jobs[index].lifecycle;
            let ends = match which {
                ExitAll::Group => lifecycle.group == group,
                ExitAll::Stonewall => lifecycle.stage == stage,
                ExitAll::All => true,
            };
            if ends && !lifecycle.over && !lifecycle.stop {
                self.stop_job(index as u16);
            }
        }
    }

    /// Ends a job, or prevents its start.
    fn stop_job(&mut self, index: u16) {
        let job = &mut self.jobs[index as usize];
        job.lifecycle.stop = true;
        if let Some(generated) = job.source.generated() {
            generated.stop();
        }
        let waits = match job.state {
            JobState::Timed | JobState::Delayed => true,
            JobState::Parked => job.in_flight == 0,
            JobState::Idle | JobState::Ready | JobState::Ended => false,
        };
        if waits {
            job.state = JobState::Ready;
            self.ready.push(index);
        }
    }
}
