//! Several equal servers and one queue.

use sim::Time;

/// Servers that take work first come first served: an idle one if there is one, else whoever is free soonest, takes
/// the next piece. The end of a piece is known as soon as it is accepted.
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

/// Who does a piece of work, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Number of the server.
    pub server: u32,
    /// Start.
    pub from: Time,
    /// End.
    pub to: Time,
}

impl Pool {
    /// `servers` idle servers.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(servers: u32) -> Pool {
        assert!(servers > 0, "a pool without servers");
        Pool { first: Server::default(), others: vec![Server::default(); servers as usize - 1] }
    }

    /// Accepts work of `length` that is there at `at`. If that is later than now, whatever comes after must not be
    /// there before it.
    #[inline(always)]
    pub fn take(&mut self, at: Time, length: Time) -> Taken {
        // An idle server is as good as any other.
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

    /// Busy time of each server until `now`.
    ///
    /// # Panics
    /// If one was busy for longer than has passed: the model is broken.
    pub fn busy(&self, now: Time) -> impl Iterator<Item = Time> + '_ {
        std::iter::once(&self.first).chain(&self.others).map(move |server| {
            let busy = server.busy.saturating_sub(server.free.saturating_sub(now));
            assert!(busy <= now, "busy for {busy} in {now}");
            busy
        })
    }

    /// What is accepted for later than `now` is not done.
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
        /// Against the obvious: customers in one line, served at the times at which servers become free, sorted.
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
