//! Requests that will arrive.

use std::collections::HashMap;

use sim::Time;

use crate::load::{Arrivals, Request};

/// The source of requests, and the requests whose arrival has been announced.
pub(super) struct Expected {
    arrivals: Arrivals,
    /// The next request that depends on no answer.
    next: Option<Request>,
    /// Turns of sessions, by number.
    turns: HashMap<u32, Request>,
    turn_numbers: u32,
}

impl Expected {
    pub(super) fn new(arrivals: Arrivals) -> Expected {
        Expected { arrivals, next: None, turns: HashMap::new(), turn_numbers: 0 }
    }

    /// Returns the number of requests that were cut to the longest sequence.
    pub(super) fn cut_requests(&self) -> u64 {
        self.arrivals.cut_requests()
    }

    /// Draws the next request that depends on no answer, and returns its arrival time.
    pub(super) fn draw(&mut self) -> Option<Time> {
        self.next = self.arrivals.next_request();
        self.next.as_ref().map(|request| request.at)
    }

    /// Returns the request drawn last, at its arrival.
    pub(super) fn take_next(&mut self) -> Request {
        self.next.take().expect("an announced request")
    }

    /// Returns the number and arrival time of the turn that follows `request`, answered at `now`, if there is one.
    pub(super) fn answered(&mut self, request: &Request, now: Time) -> Option<(u32, Time)> {
        let next = self.arrivals.answered(request, now)?;
        let (number, at) = (self.turn_numbers, next.at);
        self.turns.insert(number, next);
        self.turn_numbers += 1;
        Some((number, at))
    }

    /// Returns the turn `number`, at its arrival.
    pub(super) fn take_turn(&mut self, number: u32) -> Request {
        self.turns.remove(&number).expect("an announced turn")
    }
}
