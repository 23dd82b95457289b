//! A mailbox in shared memory: one side sends a request and waits for the reply of the other.
//!
//! A side that waits sleeps at once. Only one side works at a time, so both belong on one processor, where a round trip takes
//! 4 us. Another processor would have to be woken, which can take longer than the work, and a side that spins would use up the
//! processor that the other needs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use rustix::time::Timespec;

/// Words of a request and of a reply.
pub(crate) const WORDS: usize = 4;
/// A request or reply.
pub(crate) type Words = [u64; WORDS];

/// States. Only the caller leaves `EMPTY` and `REPLY`, only the server leaves `REQUEST`.
const EMPTY: u32 = 0;
const REQUEST: u32 = 1;
const REPLY: u32 = 2;

/// The interval at which a sleeping side checks that the other still exists.
const CHECK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The other side no longer exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other side of the clock channel is gone")]
pub struct Gone;

/// A mailbox. The other process may write anything at any time, so every field is atomic and no value is trusted.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Mailbox {
    state: AtomicU32,
    /// Number of sides that sleep, or are about to.
    sleepers: AtomicU32,
    words: [AtomicU64; WORDS],
}

impl Mailbox {
    /// Sends `request` and returns the reply. `exists` is called now and then while waiting.
    ///
    /// # Errors
    /// Fails once `exists` returns false.
    pub fn call(&self, request: Words, exists: impl FnMut() -> bool) -> Result<Words, Gone> {
        self.store(request);
        self.enter(REQUEST);
        self.wait_for(REPLY, exists)?;
        let reply = self.load();
        self.state.store(EMPTY, Ordering::Release);
        Ok(reply)
    }

    /// Waits for a request and sends the reply that `answer` returns. `goes_on` is called now and then while
    /// waiting.
    ///
    /// # Errors
    /// Fails once `goes_on` returns false.
    pub fn serve(&self, answer: impl FnOnce(Words) -> Words, goes_on: impl FnMut() -> bool) -> Result<(), Gone> {
        self.wait_for(REQUEST, goes_on)?;
        let reply = answer(self.load());
        self.store(reply);
        self.enter(REPLY);
        Ok(())
    }

    /// Wakes a side that sleeps, so that it checks whether to go on.
    pub fn wake(&self) {
        // Waking fails only for a bad address.
        let _ = futex::wake(&self.state, Flags::empty(), u32::MAX >> 1);
    }

    fn store(&self, words: Words) {
        for (to, from) in self.words.iter().zip(words) {
            to.store(from, Ordering::Relaxed);
        }
    }

    fn load(&self) -> Words {
        std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed))
    }

    /// Enters `state`, which publishes the words, and wakes the other side if it sleeps.
    fn enter(&self, state: u32) {
        // A side that counts itself as a sleeper later sees the new state.
        self.state.store(state, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.wake();
        }
    }

    fn wait_for(&self, wanted: u32, mut goes_on: impl FnMut() -> bool) -> Result<(), Gone> {
        loop {
            let found = self.state.load(Ordering::Acquire);
            if found == wanted {
                return Ok(());
            }
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            let waited = futex::wait(&self.state, Flags::empty(), found, Some(&CHECK));
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
            match waited {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                Err(_) => return Err(Gone),
            }
            if self.state.load(Ordering::Acquire) != wanted && !goes_on() {
                return Err(Gone);
            }
        }
    }
}
