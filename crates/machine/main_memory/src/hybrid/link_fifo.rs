//! One direction of the link: messages arrive in the order in which they were sent.

use std::collections::VecDeque;

use sim::Time;

pub(super) struct LinkFifo<T> {
    /// The first message, usually the only one, and those behind it.
    first: Option<T>,
    first_at: Time,
    others: VecDeque<(T, Time)>,
}

impl<T: Copy> LinkFifo<T> {
    pub fn new() -> LinkFifo<T> {
        LinkFifo { first: None, first_at: Time::MAX, others: VecDeque::new() }
    }

    /// Returns when the first message arrives; [`Time::MAX`] if there is none.
    pub fn first_at(&self) -> Time {
        self.first_at
    }

    /// Sends a message that arrives at `at`, not before any other.
    pub fn send(&mut self, message: T, at: Time) {
        if self.first.is_some() {
            self.others.push_back((message, at));
        } else {
            (self.first, self.first_at) = (Some(message), at);
        }
    }

    /// Takes the first message, which has arrived.
    ///
    /// # Panics
    /// If there is no message.
    pub fn take(&mut self) -> (T, Time) {
        let taken = (self.first.take().expect("a message has come"), self.first_at);
        self.first_at = Time::MAX;
        if let Some((message, at)) = self.others.pop_front() {
            (self.first, self.first_at) = (Some(message), at);
        }
        taken
    }
}
