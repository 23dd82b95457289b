//! One direction of the link: what is on its way comes in the order in which it was sent.

use std::collections::VecDeque;

use sim::Time;

pub(super) struct Way<T> {
    messages: VecDeque<(T, Time)>,
    first_at: Time,
}

impl<T: Copy> Way<T> {
    pub fn new() -> Way<T> {
        Way { messages: VecDeque::new(), first_at: Time::MAX }
    }

    /// When the first message comes; [`Time::MAX`]: never.
    #[inline(always)]
    pub fn first_at(&self) -> Time {
        self.first_at
    }

    /// A message that comes at `at`, not before any other.
    #[inline]
    pub fn send(&mut self, message: T, at: Time) {
        if self.messages.is_empty() {
            self.first_at = at;
        }
        self.messages.push_back((message, at));
    }

    /// Takes the first message, which has come.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn take(&mut self) -> (T, Time) {
        let first = self.messages.pop_front().expect("a message has come");
        self.first_at = self.messages.front().map_or(Time::MAX, |(_, at)| *at);
        first
    }
}
