//! Requests that are done, or whose end is known, in order of time.

use std::collections::VecDeque;

use sim::Time;

use crate::request::Completion;

#[derive(Default)]
pub(crate) struct Done {
    queue: VecDeque<Completion>,
    /// None ends after this.
    last: Time,
}

impl Done {
    /// Behind all that end no later: nearly always the last, since data come through one bus.
    #[inline(always)]
    pub(crate) fn insert(&mut self, completion: Completion) {
        let Done { queue, last } = self;
        let mut at = queue.len();
        queue.push_back(completion);
        if *last <= completion.at {
            *last = completion.at;
            return;
        }
        while at > 0 && queue[at - 1].at > completion.at {
            queue[at] = queue[at - 1];
            at -= 1;
        }
        queue[at] = completion;
    }

    /// When the first ends; [`Time::MAX`] where there is none.
    #[inline(always)]
    pub(crate) fn first(&self) -> Time {
        self.queue.front().map_or(Time::MAX, |done| done.at)
    }

    /// Takes the first, if it ends by `now`.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Time) -> Option<Completion> {
        if self.first() <= now { self.queue.pop_front() } else { None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
