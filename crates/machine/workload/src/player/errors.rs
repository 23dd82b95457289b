//! Jobs that end before their work is done: by an error, or with another job.

use media::Op;

use super::{Player, Source, State};
use crate::fio::{ContinueOnError, ExitAll, Job};

/// What an error does to a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnError {
    goes_on: ContinueOnError,
    /// Jobs that end with it.
    exit_all: Option<ExitAll>,
}

impl OnError {
    /// A job without keys of its own.
    pub fn new(goes_on: ContinueOnError) -> OnError {
        OnError { goes_on, exit_all: None }
    }

    /// What the keys of `job` say, and `default` where they say nothing.
    pub fn of(job: &Job, default: OnError) -> OnError {
        let exit_all = job.exit_all_on_error.then_some(job.exit_what);
        OnError { goes_on: job.continue_on_error.unwrap_or(default.goes_on), exit_all }
    }
}

impl Player {
    /// A request of kind `op` of job number `index` has ended with an error, after [`complete`](Self::complete) or
    /// [`replace`](Self::replace). Returns true if that ends the job: it issues nothing more.
    #[cold]
    pub fn failed(&mut self, index: u16, op: Op) -> bool {
        let course = &self.jobs[index as usize].course;
        if course.over || course.stop || course.on_error.goes_on.covers(op) {
            return false;
        }
        let (exit_all, group) = (course.on_error.exit_all, course.group);
        self.stop_job(index);
        if let Some(which) = exit_all {
            self.stop_all(which, group);
        }
        true
    }

    /// The jobs that `which` names, seen from a job of `group`, end.
    pub(super) fn stop_all(&mut self, which: ExitAll, group: u32) {
        let stage = self.stage;
        for index in 0..self.jobs.len() {
            let course = &self.jobs[index].course;
            let ends = match which {
                ExitAll::Group => course.group == group,
                ExitAll::Stonewall => course.stage == stage,
                ExitAll::All => true,
            };
            if ends && !course.over && !course.stop {
                self.stop_job(index as u16);
            }
        }
    }

    /// A job issues nothing more, or does not begin.
    fn stop_job(&mut self, index: u16) {
        let job = &mut self.jobs[index as usize];
        job.course.stop = true;
        if let Source::Plain(generated) | Source::Generated(generated) = &mut job.source {
            generated.stop();
        }
        let waits = match job.state {
            State::Timed | State::Held => true,
            State::Parked => job.in_flight == 0,
            State::Idle | State::Ready | State::Ended => false,
        };
        if waits {
            job.state = State::Ready;
            self.ready.push(index);
        }
    }
}
