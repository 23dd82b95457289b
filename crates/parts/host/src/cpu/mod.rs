//! Processors: hardware threads that execute a stream of steps out of order, their caches, and their requests for lines
//! of main memory.
//!
//! A thread dispatches [`CpuConfig::width`] instructions per cycle into a window of [`CpuConfig::window`], and retires
//! as many in order. An unfinished load blocks retirement and, once the window is full, dispatch; meanwhile younger
//! loads proceed as far as there are miss registers. A store leaves the window at once for the store buffer, which
//! drains in order, so that a store that misses blocks those behind it, and also dispatch once the buffer is full.
//!
//! Caches are write-back and write-allocate, have lines of 64 bytes and use LRU replacement; the first two levels are
//! private to a thread, the last is shared. No level is inclusive: a modified line that is evicted moves to the next
//! level. The content of the caches is determined at dispatch, in program order; a line whose fill is in flight is
//! marked, and another access to it waits for the same fill. A hit in a first-level cache costs no more than its
//! dispatch slot, because the window hides its latency.
//!
//! Threads may share fewer cores ([`CpuConfig::cores`]): a thread that waits in the kernel for a device frees its core, one
//! that waits for memory holds it. No thread is preempted, and each keeps its private caches.
//!
//! An uncached thread ([`Cpu::new`]) has the window and the miss registers but no caches: an accelerator with
//! arbitrarily many of both, or a trace of cache misses.
//!
//! Not modeled: branches and mispredictions, instruction fetches, coherence misses between threads that write to the
//! same lines, and hardware prefetching.
//!
//! The [`Cpu`] is a state machine: [`Cpu::advance`] executes until it issues a request to memory or to the [`Kernel`],
//! which the caller then handles. The kernel determines the backing of virtual pages; [`Bare`] has all pages in memory.

mod cache;
mod config;
mod pool;
mod thread;
mod units;

use media::{LINE, LineKind, LineRequest, Step, Steps};
use sim::Time;

pub use cache::{Cache, Lookup, Victim};
pub use config::{CpuConfig, L1, L2, Llc};
pub use thread::ThreadStats;

use pool::Pool;
use thread::Thread;
use units::Shared;

/// Bytes per page of virtual memory.
pub const PAGE: u64 = 4096;

/// The operating system, which maps virtual addresses to memory.
pub trait Kernel {
    /// Returns the physical page of a virtual page and marks it as used, and as modified if `store` is set. Returns
    /// `None` if the access requires a call of [`Kernel::fault`].
    fn translate(&mut self, thread: u16, page: u64, store: bool) -> Option<u64>;

    /// Handles a page fault of a thread. Returns when the thread continues, or `None` if that is unknown until
    /// [`Cpu::resume`].
    fn fault(&mut self, now: Time, thread: u16, page: u64, store: bool) -> Option<Time>;

    /// Handles a system call of a thread. The result is the same as for a fault.
    fn call(&mut self, now: Time, thread: u16, step: &Step) -> Option<Time>;

    /// Returns whether a thread that has just begun to wait in the kernel keeps its core: it waits for memory rather than a
    /// device.
    fn holds_core(&self, _thread: u16) -> bool {
        false
    }
}

/// The effects of a kernel on the processor and on memory.
#[derive(Debug, Default)]
pub struct Effects {
    /// Threads that continue, and when.
    pub resumed: Vec<(u16, Time)>,
    /// Virtual pages whose translations are invalidated.
    pub forgotten: Vec<u64>,
    /// Physical pages that a device has written, whose lines are removed from the caches.
    pub overwritten: Vec<u64>,
    /// Lines that a device reads or writes in memory, by address.
    pub lines: Vec<(u64, LineKind)>,
    /// Calls that main memory serves: the threads, and what they called.
    pub calls: Vec<(u16, Step)>,
    /// Lines of its own memory that the kernel accesses for a thread: address, and whether it modifies them.
    pub accesses: Vec<(u16, u64, bool)>,
}

impl Effects {
    /// Returns whether there are no effects.
    pub fn is_empty(&self) -> bool {
        self.resumed.is_empty()
            && self.forgotten.is_empty()
            && self.overwritten.is_empty()
            && self.lines.is_empty()
            && self.calls.is_empty()
            && self.accesses.is_empty()
    }
}

/// A machine without a kernel: all memory is present at its own address, files are in memory, and calls take no time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bare;

impl Kernel for Bare {
    fn translate(&mut self, _: u16, page: u64, _: bool) -> Option<u64> {
        Some(page)
    }
    fn fault(&mut self, _: Time, thread: u16, page: u64, _: bool) -> Option<Time> {
        unreachable!("thread {thread} faults at page {page:#x}, but all memory is present")
    }
    fn call(&mut self, now: Time, _: u16, _: &Step) -> Option<Time> {
        Some(now)
    }
}

/// Statistics of the parts that all threads share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedStats {
    /// Hits in the last-level cache.
    pub llc_hits: u64,
    /// Accesses that joined a fill in flight in the last-level cache.
    pub llc_merged: u64,
    /// Lines that programs read from memory.
    pub fills: u64,
    /// Lines written back to memory.
    pub write_backs: u64,
}

/// A completed fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The thread that requested the line first.
    pub thread: u16,
    /// Time of that request.
    pub requested: Time,
    /// The threads for which the kernel waits, one bit each. If any, no program waits: the line is the kernel's own.
    pub kernel: u64,
}

/// IDs of write-backs start here; lower IDs are those of fills.
const WRITE_BACK: u32 = 1 << 16;

/// A processor.
pub struct Cpu {
    threads: Vec<Thread>,
    /// Time at which each thread continues; `Time::MAX` if it waits.
    wakes: Vec<Time>,
    shared: Shared,
    pool: Pool,
    begun: Time,
}

impl Cpu {
    /// Creates a processor of `threads` hardware threads, which start at time zero. The accesses of the threads in the bit
    /// mask `uncached` bypass all caches, like those of all threads of a processor without caches: an accelerator, or a
    /// trace of cache misses. Each access then transfers one line; a store writes it back and waits for nothing.
    ///
    /// # Panics
    /// If the number of threads is not in 1 to 64, or there is no core.
    pub fn new(config: CpuConfig, threads: u16, uncached: u64) -> Cpu {
        assert!((1..=64).contains(&threads), "{threads} threads, expected 1 to 64");
        let cores = config.cores.unwrap_or(u16::MAX);
        assert!(cores > 0, "a processor without cores");
        let bypasses = |id: u16| !config.caches || uncached >> id & 1 != 0;
        let mut cpu = Cpu {
            threads: (0..threads).map(|id| Thread::new(id, &config, bypasses(id))).collect(),
            wakes: vec![Time::MAX; usize::from(threads)],
            shared: Shared::new(config),
            pool: Pool::new(cores),
            begun: Time::ZERO,
        };
        for thread in 0..threads {
            cpu.make_ready(thread, Time::ZERO);
        }
        cpu
    }

    /// Lets a thread run from `at` on, as soon as it has a core.
    fn make_ready(&mut self, thread: u16, at: Time) {
        let has_core = self.pool.acquire(thread, at);
        self.wakes[usize::from(thread)] = if has_core { at } else { Time::MAX };
    }

    /// Takes the core of a thread that waits in the kernel or at the start of the measurement, or has ended.
    fn take_core(&mut self, thread: u16) {
        if self.pool.holds(thread)
            && let Some((next, at)) = self.pool.release(thread, self.shared.now)
        {
            self.threads[usize::from(next)].starts_at(at);
            self.wakes[usize::from(next)] = at;
        }
    }

    /// Returns the time of the next event, or `None` while all threads wait or have ended.
    pub fn next_event(&self) -> Option<Time> {
        self.wakes.iter().copied().min().filter(|at| *at < Time::MAX)
    }

    /// Returns whether all threads have ended.
    pub fn ended(&self) -> bool {
        self.threads.iter().all(Thread::ended)
    }

    /// Executes events before `until`, up to the first that issues requests to memory or calls `kernel`. Appends the
    /// requests to `requests`, which must be empty, with their times, which never decrease.
    pub fn advance<K: Kernel, S: Steps>(
        &mut self,
        until: Time,
        kernel: &mut K,
        steps: &mut S,
        requests: &mut Vec<(Time, LineRequest)>,
    ) {
        assert!(requests.is_empty(), "unprocessed memory requests");
        let begun = self.begun;
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
            self.shared.kernel_called = false;
            self.wakes[next] = self.threads[next].run(until.min(second), &mut self.shared, kernel, steps, requests);
            if self.threads[next].needs_no_core() {
                self.take_core(next as u16);
            }
            if self.threads[next].at_begin() || self.threads[next].ended() {
                self.begin_when_all_ready();
            }
            // The caller begins to count with the measurement.
            if self.shared.kernel_called || !requests.is_empty() || self.begun != begun {
                return;
            }
        }
    }

    /// Lets the threads continue once all of them have reached the start of the measurement or have ended.
    fn begin_when_all_ready(&mut self) {
        if !self.threads.iter().all(|thread| thread.at_begin() || thread.ended()) {
            return;
        }
        let last = self.threads.iter().filter(|thread| thread.at_begin()).map(|thread| thread.stats().end).max();
        let Some(last) = last else { return };
        let at = last.max(self.shared.now);
        self.begun = at;
        self.shared.stats = SharedStats::default();
        for thread in 0..self.threads.len() as u16 {
            if self.threads[usize::from(thread)].at_begin() {
                self.threads[usize::from(thread)].begin(at);
                self.make_ready(thread, at);
            }
        }
    }

    /// Returns when the measurement began: at a [`media::Act::Begin`] of all threads, or at zero without one.
    pub fn begun(&self) -> Time {
        self.begun
    }

    /// Completes a memory request at time `at`, now or later. If it was a fill, returns information about it.
    pub fn complete(&mut self, id: u32, at: Time) -> Option<Filled> {
        if id >= WRITE_BACK {
            self.shared.taken(id - WRITE_BACK);
            for (thread, wake) in self.threads.iter_mut().zip(&mut self.wakes) {
                if thread.waits_for_write_back() {
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
        Some(Filled { thread: fill.first, requested: fill.requested, kernel: fill.kernel })
    }

    /// Accesses a line of the kernel's own memory for a thread that is in the kernel, through the last-level cache.
    /// Returns when the access is done, or `None` if [`Cpu::complete`] reports that.
    pub fn access_for_kernel(
        &mut self,
        now: Time,
        (thread, address, store): (u16, u64, bool),
        requests: &mut Vec<(Time, LineRequest)>,
    ) -> Option<Time> {
        self.shared.now = self.shared.now.max(now);
        let latency = self.threads[usize::from(thread)].latency();
        self.shared.access_for_kernel(thread, address / LINE, store, requests).then(|| self.shared.now + latency)
    }

    /// Lets a thread that waits for the kernel continue at time `at`.
    ///
    /// # Panics
    /// If the thread does not wait for the kernel.
    pub fn resume(&mut self, thread: u16, at: Time) {
        self.threads[usize::from(thread)].resume(at);
        if self.pool.holds(thread) {
            self.wakes[usize::from(thread)] = at;
        } else {
            self.make_ready(thread, at);
        }
    }

    /// Invalidates the translation of a virtual page, because it has moved or its next use must be observed.
    pub fn forget_translation(&mut self, page: u64) {
        for thread in &mut self.threads {
            thread.forget_translation(page);
        }
    }

    /// Writes all modified lines back that are not in flight, and keeps them. Returns their addresses in ascending order;
    /// the caller passes them to memory.
    pub fn write_back_all(&mut self) -> Vec<u64> {
        let mut lines = Vec::new();
        self.shared.clean(&mut lines);
        for thread in &mut self.threads {
            thread.clean(&mut lines);
        }
        lines.sort_unstable();
        lines.dedup();
        lines.iter_mut().for_each(|line| *line *= LINE);
        lines
    }

    /// Returns the number of modified lines in all caches. A line that is modified in two caches counts twice.
    pub fn modified_lines(&self) -> u64 {
        let of_threads: usize = self.threads.iter().map(|thread| thread.modified_lines()).sum();
        (self.shared.modified_lines() + of_threads) as u64
    }

    /// Removes all lines from the caches, modified or not, except those in flight.
    pub fn forget_lines(&mut self) {
        self.shared.forget_lines();
        for thread in &mut self.threads {
            thread.forget_lines();
        }
    }

    /// Removes the lines of a physical page that a device has overwritten from all caches.
    pub fn overwritten(&mut self, page: u64) {
        let lines = PAGE / LINE;
        for line in page * lines..(page + 1) * lines {
            self.shared.drop_line(line);
            for thread in &mut self.threads {
                thread.drop_line(line);
            }
        }
    }

    /// Returns the number of instructions that all threads have executed.
    pub fn instructions(&self) -> u64 {
        self.threads.iter().map(|thread| thread.stats().instructions).sum()
    }

    /// Returns the statistics of each thread.
    pub fn thread_stats(&self) -> Vec<ThreadStats> {
        self.threads.iter().map(Thread::stats).collect()
    }

    /// Returns the statistics of the shared parts.
    pub fn stats(&self) -> SharedStats {
        self.shared.stats
    }

    /// Returns the parameters of the processor.
    pub fn config(&self) -> &CpuConfig {
        &self.shared.config
    }
}

/// Creates a request for a line.
fn request(id: u32, line: u64, kind: LineKind) -> LineRequest {
    LineRequest { id, address: line * LINE, kind }
}
