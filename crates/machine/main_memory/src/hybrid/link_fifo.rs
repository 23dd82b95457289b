//! One direction of the link: messages arrive in the order in which they were sent.

use std::collections::VecDeque;

use sim::Time;

pub(super) struct LinkFifo<T> {
    /// The first message, usually the only one, and when it arrives: [`Time::MAX`] if there is none.
    first: T,
    first_at: Time,
    /// The messages behind it.
    others: VecDeque<(T, Time)>,
}

impl<T: Copy + Default> LinkFifo<T> {
    pub fn new() -> LinkFifo<T> {
        LinkFifo { first: T::default(), first_at: Time::MAX, others: VecDeque::new() }
    }

    /// Returns when the first message arrives; [`Time::MAX`] if there is none.
    pub fn first_at(&self) -> Time {
        self.first_at
    }

    /// Sends a message that arrives at `at`, not before any other.
    pub fn send(&mut self, message: T, at: Time) {
        if self.first_at == Time::MAX {
            (self.first, self.first_at) = (message, at);
        } else {
            self.others.push_back((message, at));
        }
    }

    /// Takes the first message, which has arrived.
    ///
    /// # Panics
    /// If there is no message.
    pub fn take(&mut self) -> (T, Time) {
        let taken = (self.first, self.first_at);
        assert!(taken.1 != Time::MAX, "a message has come");
        match self.others.pop_front() {
            Some(next) => (self.first, self.first_at) = next,
            None => self.first_at = Time::MAX,
        }
        taken
    }
}
