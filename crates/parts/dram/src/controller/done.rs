//! Completions, past or already known, in order of time.

use std::collections::VecDeque;

use sim::Time;

use crate::request::Completion;

/// An entry of a [`Done`] list.
pub(crate) trait Timed {
    /// Returns its time.
    fn at(&self) -> Time;
}

impl Timed for Completion {
    #[inline]
    fn at(&self) -> Time {
        self.at
    }
}

/// A list in order of time; entries of the same time keep the order of insertion.
pub(crate) struct Done<T = Completion> {
    queue: VecDeque<T>,
    /// No entry is later than this.
    last: Time,
}

impl<T> Default for Done<T> {
    fn default() -> Done<T> {
        Done { queue: VecDeque::new(), last: Time::ZERO }
    }
}

impl<T: Timed> Done<T> {
    /// Inserts an entry after all that are not later. This is nearly always the end, because data shares one bus.
    #[inline]
    pub(crate) fn insert(&mut self, entry: T) {
        if self.last > entry.at() {
            return self.insert_between(entry);
        }
        self.last = entry.at();
        self.queue.push_back(entry);
    }

    #[cold]
    fn insert_between(&mut self, entry: T) {
        let at = self.queue.iter().rposition(|earlier| earlier.at() <= entry.at()).map_or(0, |before| before + 1);
        self.queue.insert(at, entry);
    }

    /// Returns the first entry.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.queue.front()
    }

    /// Returns the time of the first entry, or [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> Time {
        self.front().map_or(Time::MAX, T::at)
    }

    /// Takes the first entry, if it is not later than `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<T> {
        if self.first() <= now { self.queue.pop_front() } else { None }
    }
}
