//! The parameters of a processor.

use sim::Time;

/// The parameters of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Size in bytes: a power of two times [`media::LINE`] per way.
    pub bytes: u64,
    /// Lines per set, 1 to 64.
    pub ways: u32,
    /// Time from a lookup to its result.
    pub latency: Time,
}

impl CacheConfig {
    /// Returns the number of sets.
    pub fn sets(&self) -> u64 {
        self.bytes / media::LINE / u64::from(self.ways)
    }
}

/// A processor: hardware threads, each with its own window and caches, and a shared last-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuConfig {
    /// Number of hardware threads, 1 to 64.
    pub threads: u16,
    /// Number of cores that the threads share. A thread holds its core until it waits in the kernel or has ended; it keeps
    /// it while it waits for memory.
    pub cores: u16,
    /// Duration of a clock cycle.
    pub cycle: Time,
    /// Instructions that a thread dispatches and retires per cycle.
    pub width: u32,
    /// Maximum number of instructions in flight (the reorder buffer).
    pub window: u32,
    /// Maximum number of stores between the oldest that is not in the first-level cache and the youngest (the store
    /// buffer).
    pub stores: u32,
    /// Maximum number of lines that a thread waits for (miss status holding registers).
    pub misses: u32,
    /// Threads whose accesses bypass all caches, one bit each: an accelerator without caches, or a trace of cache
    /// misses. Each access then transfers one line; a store writes it back and waits for nothing.
    pub uncached: u64,
    /// Maximum number of write-backs of all threads that memory has not yet accepted; beyond it, misses wait.
    pub write_backs: u32,
    /// The first-level cache of each thread.
    pub l1: CacheConfig,
    /// The second-level cache of each thread.
    pub l2: CacheConfig,
    /// The last-level cache shared by all threads.
    pub llc: CacheConfig,
}

impl CpuConfig {
    /// Returns the dispatch time of an instruction without stalls in picoseconds: a cycle divided by the width, rounded
    /// up.
    pub fn slot(&self) -> u64 {
        self.cycle.ps().div_ceil(u64::from(self.width))
    }
}

impl Default for CpuConfig {
    /// Assumed, except for the 8 MiB: four-wide with 128 instructions in flight at 2.5 GHz corresponds to a server core
    /// of the DDR3 era, as do the sizes and latencies of the caches (32 KiB in 4 cycles, 256 KiB in 12, 8 MiB in 36).
    fn default() -> CpuConfig {
        let cycles = |n: u64| Time::from_ps(400 * n);
        CpuConfig {
            threads: 1,
            cores: u16::MAX,
            cycle: cycles(1),
            width: 4,
            window: 128,
            stores: 32,
            misses: 10,
            uncached: 0,
            write_backs: 32,
            l1: CacheConfig { bytes: 32 << 10, ways: 8, latency: cycles(4) },
            l2: CacheConfig { bytes: 256 << 10, ways: 8, latency: cycles(12) },
            llc: CacheConfig { bytes: 8 << 20, ways: 16, latency: cycles(36) },
        }
    }
}
