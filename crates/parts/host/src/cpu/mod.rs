//! Processors: hardware threads that execute a stream of steps out of order, their caches, and the lines that they ask of
//! main memory.
//!
//! A thread dispatches [`CpuConfig::width`] instructions a cycle into a window of [`CpuConfig::window`], and retires as many in
//! order. A load that is not done blocks retirement, and so, once the window is full, dispatch; meanwhile younger loads go
//! ahead, as far as there are registers for misses. A store leaves the window at once for the store buffer, which is emptied
//! in order, so that a store that misses blocks those behind it, and dispatch once the buffer is full.
//!
//! Caches write back and allocate on a write, have lines of 64 bytes and replace the least recently used; the first two are
//! a thread's own, the last is everyone's. None includes another by rule: a changed line that has to go is taken by the next
//! cache. What a cache holds is decided when an access is dispatched, in the order of the program; a line that memory has
//! not sent yet is marked, and who asks for it again waits for the same fill. A hit in a first cache costs no more than its
//! slot: its latency is shorter than the window, which hides it.
//!
//! A thread that is [uncached](CpuConfig::uncached) has the window and the registers for misses, and no cache: an accelerator
//! with as many of both as it takes, or a trace of what caches have missed.
//!
//! Not modelled: branches and their mispredictions, fetches of instructions, coherence misses between threads that write
//! the same lines, hardware prefetching.
//!
//! The [`Cpu`] is a state machine: [`Cpu::advance`] executes until it asks memory or the [`Kernel`] for something, which the
//! caller then sees to. What a program's pages are backed by is the kernel's: [`Bare`] has them all in memory.

mod cache;
mod config;
mod thread;
mod units;

use media::{LINE, LineKind, LineRequest, Step, Steps};
use sim::Time;

pub use cache::{Cache, Look, Victim};
pub use config::{CacheConfig, CpuConfig};
pub use thread::ThreadStats;

use thread::Thread;
use units::Shared;

/// Bytes of a page of virtual memory.
pub const PAGE: u64 = 4096;

/// What lies between virtual addresses and memory.
pub trait Kernel {
    /// The physical page that a virtual one is in, which is now used, and changed if `store`; `None` if it has to be asked
    /// for with [`Kernel::fault`].
    fn translate(&mut self, thread: u16, page: u64, store: bool) -> Option<u64>;

    /// A thread needs a page that it cannot use so. When it goes on; `None` if that is not known yet: [`Cpu::resume`].
    fn fault(&mut self, now: Time, thread: u16, page: u64, store: bool) -> Option<Time>;

    /// A thread calls the system. As for a fault.
    fn call(&mut self, now: Time, thread: u16, step: &Step) -> Option<Time>;
}

/// What a kernel did that concerns the processor and memory.
#[derive(Debug, Default)]
pub struct Effects {
    /// Threads that go on, and when.
    pub resumed: Vec<(u16, Time)>,
    /// Virtual pages whose translation is to be forgotten.
    pub forgotten: Vec<u64>,
    /// Physical pages that a device has written: their lines are dropped from caches.
    pub overwritten: Vec<u64>,
    /// Lines that a device reads or writes in memory, by address.
    pub lines: Vec<(u64, LineKind)>,
}

impl Effects {
    /// Nothing was done.
    pub fn is_empty(&self) -> bool {
        self.resumed.is_empty() && self.forgotten.is_empty() && self.overwritten.is_empty() && self.lines.is_empty()
    }
}

/// No kernel: all memory is there, at its address, files are memory, and calls cost nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bare;

impl Kernel for Bare {
    #[inline(always)]
    fn translate(&mut self, _: u16, page: u64, _: bool) -> Option<u64> {
        Some(page)
    }
    fn fault(&mut self, _: Time, thread: u16, page: u64, _: bool) -> Option<Time> {
        unreachable!("thread {thread} lacks page {page:#x} of a memory that has all")
    }
    #[inline(always)]
    fn call(&mut self, now: Time, _: u16, _: &Step) -> Option<Time> {
        Some(now)
    }
}

/// What all threads did together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedStats {
    /// Accesses that the last cache had.
    pub llc_hits: u64,
    /// Accesses that joined a fill under way in the last cache.
    pub llc_merged: u64,
    /// Lines asked of memory.
    pub fills: u64,
    /// Lines given back.
    pub write_backs: u64,
}

/// A line that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The thread that asked for it first.
    pub thread: u16,
    /// When it did.
    pub asked: Time,
}

/// The first number of a line that is given back; those of fills are below.
const WRITE_BACK: u32 = 1 << 16;

/// A processor.
pub struct Cpu {
    threads: Vec<Thread>,
    /// When each goes on; never, where it waits.
    wakes: Vec<Time>,
    shared: Shared,
    begun: Time,
}

impl Cpu {
    /// A processor whose threads begin at time zero.
    ///
    /// # Panics
    /// If it has no thread, or more than 64.
    pub fn new(config: CpuConfig) -> Cpu {
        assert!((1..=64).contains(&config.threads), "{} threads, expected 1 to 64", config.threads);
        let threads = (0..config.threads).map(|id| Thread::new(id, &config)).collect();
        Cpu {
            threads,
            wakes: vec![Time::ZERO; usize::from(config.threads)],
            shared: Shared::new(config),
            begun: Time::ZERO,
        }
    }

    /// When it has something to do; `None` while all threads wait, or have ended.
    pub fn next_event(&self) -> Option<Time> {
        self.wakes.iter().copied().min().filter(|at| *at < Time::MAX)
    }

    /// All threads have ended.
    pub fn ended(&self) -> bool {
        self.threads.iter().all(Thread::ended)
    }

    /// Executes what is due before `until`, at most to the first request of memory or of `kernel`. The requests are put into `requests`,
    /// which is empty before, each with when it is made; those times never go back.
    pub fn advance<K: Kernel, S: Steps>(
        &mut self,
        until: Time,
        kernel: &mut K,
        steps: &mut S,
        requests: &mut Vec<(Time, LineRequest)>,
    ) {
        assert!(requests.is_empty(), "requests that memory has not seen");
        loop {
            let (mut next, mut first, mut second) = (0, Time::MAX, Time::MAX);
            for (thread, wake) in self.wakes.iter().enumerate() {
                if *wake < first {
                    (next, first, second) = (thread, *wake, first);
                } else if *wake < second {
                    second = *wake;
                }
            }
            if first >= until {
                return;
            }
            self.shared.now = self.shared.now.max(first);
            self.shared.kernel_asked = false;
            self.wakes[next] = self.threads[next].run(until.min(second), &mut self.shared, kernel, steps, requests);
            if self.threads[next].at_begin() || self.threads[next].ended() {
                self.begin_if_all();
            }
            if self.shared.kernel_asked || !requests.is_empty() {
                return;
            }
        }
    }

    /// If all threads have come to where they begin to be measured, or have ended, they go on.
    fn begin_if_all(&mut self) {
        if !self.threads.iter().all(|thread| thread.at_begin() || thread.ended()) {
            return;
        }
        let last = self.threads.iter().filter(|thread| thread.at_begin()).map(|thread| thread.stats().end).max();
        let Some(last) = last else { return };
        let at = last.max(self.shared.now);
        self.begun = at;
        self.shared.stats = SharedStats::default();
        for (thread, wake) in self.threads.iter_mut().zip(&mut self.wakes).filter(|(thread, _)| thread.at_begin()) {
            thread.begin(at);
            *wake = at;
        }
    }

    /// When measuring began: at a [`media::Act::Begin`] of all threads; without one, at zero.
    pub fn begun(&self) -> Time {
        self.begun
    }

    /// Memory is done with a request, at `at`, now or later. What became of it, if it was a fill.
    pub fn answered(&mut self, id: u32, at: Time) -> Option<Filled> {
        if id >= WRITE_BACK {
            self.shared.taken(id - WRITE_BACK);
            for (thread, wake) in self.threads.iter_mut().zip(&mut self.wakes) {
                if thread.waits_for_room() {
                    *wake = at;
                }
            }
            return None;
        }
        let fill = self.shared.filled(id as u16);
        for (thread, wake) in self.threads.iter_mut().zip(&mut self.wakes) {
            if fill.threads & 1 << thread.id() != 0 && thread.arrived(&fill, id as u16, at) {
                *wake = at;
            }
        }
        Some(Filled { thread: fill.first, asked: fill.asked })
    }

    /// A thread that waited for the kernel goes on at `at`.
    ///
    /// # Panics
    /// If it did not wait for it.
    pub fn resume(&mut self, thread: u16, at: Time) {
        self.threads[usize::from(thread)].resume(at);
        self.wakes[usize::from(thread)] = at;
    }

    /// A virtual page is somewhere else, or its use is to be noticed again.
    pub fn forget_translation(&mut self, page: u64) {
        for thread in &mut self.threads {
            thread.forget_translation(page);
        }
    }

    /// A physical page is overwritten by a device: its lines are dropped.
    pub fn overwritten(&mut self, page: u64) {
        let lines = PAGE / LINE;
        for line in page * lines..(page + 1) * lines {
            self.shared.drop_line(line);
            for thread in &mut self.threads {
                thread.drop_line(line);
            }
        }
    }

    /// Instructions of all programs so far.
    pub fn instructions(&self) -> u64 {
        self.threads.iter().map(|thread| thread.stats().instructions).sum()
    }

    /// What each thread did.
    pub fn thread_stats(&self) -> Vec<ThreadStats> {
        self.threads.iter().map(Thread::stats).collect()
    }

    /// What they did together.
    pub fn stats(&self) -> SharedStats {
        self.shared.stats
    }

    /// What it is made of.
    pub fn config(&self) -> &CpuConfig {
        &self.shared.config
    }
}

/// A request of a line.
fn request(id: u32, line: u64, kind: LineKind) -> LineRequest {
    LineRequest { id, address: line * LINE, kind }
}
