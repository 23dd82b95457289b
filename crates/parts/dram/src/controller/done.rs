//! Completions, past or already known, in order of time.

use std::collections::VecDeque;

use sim::Time;

use crate::request::Completion;

#[derive(Default)]
pub(crate) struct Done {
    queue: VecDeque<Completion>,
    /// No completion is later than this.
    last: Time,
}

impl Done {
    /// Inserts a completion after all that are not later. This is nearly always the end, because data shares one bus.
    #[inline]
    pub(crate) fn insert(&mut self, completion: Completion) {
        let Done { queue, last } = self;
        if *last <= completion.at {
            *last = completion.at;
            queue.push_back(completion);
            return;
        }
        let mut at = queue.len();
        while at > 0 && queue[at - 1].at > completion.at {
            at -= 1;
        }
        queue.insert(at, completion);
    }

    /// Returns the time of the first completion, or [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> Time {
        self.queue.front().map_or(Time::MAX, |done| done.at)
    }

    /// Takes the first completion, if it is not later than `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<Completion> {
        if self.first() <= now { self.queue.pop_front() } else { None }
    }
}
