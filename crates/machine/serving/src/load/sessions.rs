//! Sessions drawn at random.

use std::collections::HashMap;
use std::sync::Arc;

use sim::{Rng, Streams, Time};

use super::lengths::exponential;
use super::{Load, Request, Source};

/// Draws sessions and their turns.
pub struct Generator {
    load: Load,
    streams: Streams,
    arrivals: Rng,
    /// Time of the last session's arrival in seconds.
    last: f64,
    opened: u64,
    /// Sessions that have another turn: their streams and the number of turns left.
    open: HashMap<u64, (Rng, u64)>,
    /// First turns that were longer than the context.
    cut: u64,
}

impl Generator {
    pub(super) fn new(load: &Load, streams: Streams) -> Generator {
        let arrivals = streams.stream("serving.arrivals");
        Generator { load: load.clone(), streams, arrivals, last: 0.0, opened: 0, open: HashMap::new(), cut: 0 }
    }

    /// Returns the first request of the next session, if it arrives before the load ends.
    pub(super) fn open_session(&mut self) -> Option<Request> {
        let Source::Sessions { rate, turns, prefixes, prompt, output, .. } = self.load.source else {
            unreachable!("only sessions are generated")
        };
        self.last += exponential(&mut self.arrivals) / rate;
        if self.last >= self.load.duration.secs_f64() {
            return None;
        }
        let session = self.opened;
        self.opened += 1;
        let mut rng = self.streams.stream(&format!("serving.session.{session}"));
        let more = match turns {
            1.0 => 0.0,
            // Geometric: a further turn follows with probability 1 - 1 / turns.
            _ => (-exponential(&mut rng) / libm::log(1.0 - 1.0 / turns)).floor(),
        };
        let prefix = rng.below(prefixes);
        let request = Request {
            session,
            prefix,
            prompt: self.load.prefix_tokens + prompt.draw(&mut rng),
            output: output.draw(&mut rng),
            at: Time::from_secs_f64(self.last),
            hashes: Arc::default(),
        };
        self.open.insert(session, (rng, more as u64));
        Some(self.cut(request))
    }

    /// Returns the turn that follows `request`, answered at `now`.
    pub(super) fn next_turn(&mut self, request: &Request, now: Time) -> Option<Request> {
        let Source::Sessions { think, prompt, output, .. } = self.load.source else {
            unreachable!("only sessions are generated")
        };
        let (rng, left) = self.open.get_mut(&request.session)?;
        if *left == 0 {
            self.open.remove(&request.session);
            return None;
        }
        *left -= 1;
        let at = now + Time::from_secs_f64(think.secs_f64() * exponential(rng));
        let history = request.prompt + request.output;
        let next = Request { prompt: history + prompt.draw(rng), output: output.draw(rng), at, ..request.clone() };
        if at >= self.load.duration || next.prompt + next.output > self.load.context_max {
            self.open.remove(&request.session);
            return None;
        }
        Some(next)
    }

    /// Returns the number of first turns that were longer than the context and were cut.
    pub(super) fn cut_turns(&self) -> u64 {
        self.cut
    }

    /// Cuts a first turn that is longer than the context.
    fn cut(&mut self, mut request: Request) -> Request {
        self.cut += u64::from(request.prompt + request.output > self.load.context_max);
        let most = self.load.context_max;
        request.output = request.output.min(most.saturating_sub(1)).max(1);
        request.prompt = request.prompt.min(most.saturating_sub(request.output)).max(1);
        request
    }
}
