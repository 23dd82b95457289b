//! The pool of cores: a thread holds one until it waits in the kernel, reaches the start of the measurement, or has ended.
//! Threads that are ready wait for a core in the order in which they became ready.

use std::collections::VecDeque;

use sim::Time;

/// The cores, and the threads that wait for one.
pub(super) struct Pool {
    free: u16,
    /// Threads that hold a core, one bit each.
    holders: u64,
    /// Threads that are ready, each with the time from which it is.
    ready: VecDeque<(u16, Time)>,
}

impl Pool {
    /// Creates a pool of `cores` free cores.
    pub fn new(cores: u16) -> Pool {
        Pool { free: cores, holders: 0, ready: VecDeque::new() }
    }

    /// A thread is ready from `at` on. Returns whether it has a core then; otherwise it gets one from
    /// [`release`](Self::release).
    pub fn acquire(&mut self, thread: u16, at: Time) -> bool {
        assert!(self.holders & 1 << thread == 0, "thread {thread} holds a core");
        let has_core = self.free > 0;
        if has_core {
            self.free -= 1;
            self.holders |= 1 << thread;
        } else {
            self.ready.push_back((thread, at));
        }
        has_core
    }

    /// Returns whether the thread holds a core.
    pub fn holds(&self, thread: u16) -> bool {
        self.holders & 1 << thread != 0
    }

    /// A thread gives up its core at `now`. Returns the thread that gets it, and from when it runs.
    pub fn release(&mut self, thread: u16, now: Time) -> Option<(u16, Time)> {
        self.holders &= !(1 << thread);
        let Some((next, at)) = self.ready.pop_front() else {
            self.free += 1;
            return None;
        };
        self.holders |= 1 << next;
        Some((next, at.max(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_get_cores_in_the_order_in_which_they_became_ready() {
        let (mut pool, at) = (Pool::new(2), Time::from_ns);
        assert!(pool.acquire(0, at(0)) && pool.acquire(1, at(0)));
        assert!(!pool.acquire(2, at(5)) && !pool.acquire(3, at(30)));
        assert_eq!(pool.release(1, at(20)), Some((2, at(20))));
        assert_eq!(pool.release(0, at(25)), Some((3, at(30))));
        assert!(pool.holds(2) && pool.holds(3) && !pool.holds(0));
        assert_eq!(pool.release(3, at(40)), None);
        assert!(pool.acquire(0, at(41)));
    }
}
