//! The queue of zone management: one job after the other.

use std::collections::VecDeque;

use media::Tag;
use sim::Time;

/// Zone management whose controller time passes before it takes effect on flash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// Removes this extent of a zone that was reset.
    Reset { extent: u32 },
    /// Finishes the zone of this extent, if the use of its entry is still this one.
    Finish { extent: u32, usage: u64 },
    /// Ends a command that changed a state only.
    Complete { tag: Option<Tag> },
}

/// The queue of zone management.
#[derive(Default)]
pub(crate) struct Manager {
    queue: VecDeque<(Job, Time)>,
    /// End of the first job.
    due: Option<Time>,
}

impl Manager {
    /// Forgets the commands of state changes.
    pub(crate) fn forget_commands(&mut self) {
        for (job, _) in &mut self.queue {
            if let Job::Complete { tag } = job {
                *tag = None;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a job that takes `time`.
    pub(crate) fn push(&mut self, now: Time, job: Job, time: Time) {
        self.queue.push_back((job, time));
        if self.due.is_none() {
            self.due = Some(now + time);
        }
    }

    /// Delays the job in progress.
    pub(crate) fn delay(&mut self, time: Time) {
        if let Some(due) = &mut self.due {
            *due += time;
        }
    }

    /// Returns the end of the job in progress.
    pub(crate) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Takes the job that has ended at `now`.
    pub(crate) fn take_ended(&mut self, now: Time) -> Option<Job> {
        let due = self.due.filter(|due| *due <= now)?;
        let (job, _) = self.queue.pop_front()?;
        self.due = self.queue.front().map(|(_, time)| due + *time);
        Some(job)
    }

    /// Takes the first job, ended or not.
    pub(crate) fn take(&mut self) -> Option<Job> {
        self.due = None;
        self.queue.pop_front().map(|(job, _)| job)
    }
}
