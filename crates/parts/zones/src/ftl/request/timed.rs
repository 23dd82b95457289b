//! Controller time of zone management, delayed by reads and writes.

use media::{Actions, Tag};
use sim::Time;

use crate::ftl::ZonedFtl;
use crate::ftl::request::jobs::Job;

impl ZonedFtl {
    /// Queues a job that takes `time` of the controller, or performs it at once if it takes none.
    pub(crate) fn start_job(&mut self, now: Time, job: Job, time: Time, out: &mut Actions) {
        if time == Time::ZERO && self.manager.is_empty() {
            return self.perform_job(job, out);
        }
        self.manager.push(now, job, time);
    }

    /// Delays the job in progress by a command.
    pub(crate) fn yield_to_command(&mut self) {
        self.manager.delay(self.config.times.yields);
    }

    /// Returns the time at which to call [`timer`](Self::timer) if nothing else happens before.
    pub fn next_timer(&self) -> Option<Time> {
        self.manager.due()
    }

    /// Ends the zone management whose time has passed.
    pub fn timer(&mut self, now: Time, out: &mut Actions) {
        while let Some(job) = self.manager.take_ended(now) {
            self.perform_job(job, out);
        }
    }

    /// Ends all zone management at once, for a drive that runs on without power.
    pub(crate) fn end_jobs(&mut self, out: &mut Actions) {
        while let Some(job) = self.manager.take() {
            self.perform_job(job, out);
        }
    }

    fn perform_job(&mut self, job: Job, out: &mut Actions) {
        match job {
            Job::Reset { extent } => self.record_reset(extent, out),
            Job::Finish { extent, usage } => {
                if self.extents[extent as usize].usage == usage {
                    self.go_on_finishing(extent, out);
                }
            }
            Job::Complete { tag } => self.end_state_change(tag, out),
        }
    }

    fn end_state_change(&mut self, tag: Option<Tag>, out: &mut Actions) {
        tag.into_iter().for_each(|tag| self.count_down(tag, out));
    }
}
