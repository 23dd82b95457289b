//! Jobs that end early: with an error, or together with another job.

use media::Op;

use super::{JobState, Player, Source};
use crate::fio::{ContinueOnError, ExitAll, Job};

/// Effect of an error on a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnError {
    continues: ContinueOnError,
    /// Jobs that end together with it.
    exit_all: Option<ExitAll>,
}

impl OnError {
    /// Creates the rules of a job without its own keys.
    pub fn new(continues: ContinueOnError) -> OnError {
        OnError { continues, exit_all: None }
    }

    /// Returns the rules from the keys of `job`, with defaults from `default`.
    pub fn of(job: &Job, default: OnError) -> OnError {
        let exit_all = job.exit_all_on_error.then_some(job.exit_what);
        OnError { continues: job.continue_on_error.unwrap_or(default.continues), exit_all }
    }
}

impl Player {
    /// Reports that a request of type `op` of job `index` has failed, after [`complete`](Self::complete). Returns
    /// whether that ends the job.
    pub fn failed(&mut self, index: u16, op: Op) -> bool {
        let lifecycle = &self.jobs[index as usize].lifecycle;
        if lifecycle.over || lifecycle.stop || lifecycle.on_error.continues.covers(op) {
            return false;
        }
        let (exit_all, group) = (lifecycle.on_error.exit_all, lifecycle.group);
        self.stop_job(index);
        if let Some(which) = exit_all {
            self.stop_all(which, group);
        }
        true
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
        if let Source::Plain(generated) | Source::Generated(generated) = &mut job.source {
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
