//! Several equal servers with one queue.

use sim::{Span, Time};

/// Servers that accept work first come first served. The next job goes to an idle server if there is one, else to the
/// server that becomes free first. The end of a job is known as soon as it is accepted.
#[derive(Clone, Debug)]
pub struct Pool {
    first: Server,
    others: Vec<Server>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Server {
    free: Time,
    busy: Time,
}

/// A job's server and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Number of the server.
    pub server: u32,
    /// Start.
    pub from: Time,
    /// End.
    pub to: Time,
}

impl Taken {
    /// Returns its interval.
    #[inline]
    pub fn span(self) -> Span {
        Span { from: self.from, to: self.to }
    }
}

impl Pool {
    /// Creates `servers` idle servers.
    ///
    /// # Panics
    /// Panics if there are no servers.
    pub fn new(servers: u32) -> Pool {
        assert!(servers > 0, "a pool without servers");
        Pool { first: Server::default(), others: vec![Server::default(); servers as usize - 1] }
    }

    /// Accepts a job of `length` that arrives at `at`. If `at` is later than now, no later job may arrive before it.
    #[inline]
    pub fn take(&mut self, at: Time, length: Time) -> Taken {
        // All idle servers are equivalent, so try the first.
        let first = &mut self.first;
        if first.free <= at {
            first.free = at + length;
            first.busy += length;
            return Taken { server: 0, from: at, to: first.free };
        }
        let (server, from, to) = self.take_soonest(at, length);
        Taken { server, from, to }
    }

    #[inline(never)]
    fn take_soonest(&mut self, at: Time, length: Time) -> (u32, Time, Time) {
        let mut best = 0;
        let mut least = self.first.free;
        for (i, server) in self.others.iter().enumerate() {
            if least <= at {
                break;
            }
            if server.free < least {
                (best, least) = (i + 1, server.free);
            }
        }
        let server = if best == 0 { &mut self.first } else { &mut self.others[best - 1] };
        let from = at.max(least);
        server.free = from + length;
        server.busy += length;
        (best as u32, from, server.free)
    }

    /// Returns the busy time of each server until `now`.
    ///
    /// # Panics
    /// Panics if a server was busy for longer than the time passed, which means that the model is broken.
    pub fn busy(&self, now: Time) -> impl Iterator<Item = Time> + '_ {
        std::iter::once(&self.first).chain(&self.others).map(move |server| {
            let busy = server.busy.saturating_sub(server.free.saturating_sub(now));
            assert!(busy <= now, "busy for {busy} in {now}");
            busy
        })
    }

    /// Cancels work accepted for after `now`.
    pub fn power_cut(&mut self, now: Time) {
        for server in std::iter::once(&mut self.first).chain(&mut self.others) {
            server.busy = server.busy.saturating_sub(server.free.saturating_sub(now));
            server.free = server.free.min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the obvious implementation: one line of customers, and a sorted list of the times at which
        /// servers become free.
        #[test]
        fn is_a_first_come_first_served_queue(
            servers in 1u32..6,
            work in prop::collection::vec((0u64..20, 0u64..50), 1..200),
        ) {
            let mut pool = Pool::new(servers);
            let mut free = vec![0u64; servers as usize];
            let mut now = 0;
            for (pause, length) in work {
                now += pause;
                free.sort_unstable();
                let end = free[0].max(now) + length;
                free[0] = end;
                prop_assert_eq!(pool.take(Time::from_ps(now), Time::from_ps(length)).to, Time::from_ps(end));
                prop_assert!(pool.busy(Time::from_ps(now)).all(|busy| busy <= Time::from_ps(now)));
            }
        }
    }
}
