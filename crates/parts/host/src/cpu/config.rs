//! What a processor is made of.

use sim::Time;

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Bytes: a power of two times [`media::LINE`] for each way.
    pub bytes: u64,
    /// Lines of a set, 1 to 64.
    pub ways: u32,
    /// From asking it to its answer.
    pub latency: Time,
}

impl CacheConfig {
    /// Sets.
    pub fn sets(&self) -> u64 {
        self.bytes / media::LINE / u64::from(self.ways)
    }
}

/// A processor: hardware threads, each with a window and caches of its own, and a last-level cache for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuConfig {
    /// Hardware threads, 1 to 64.
    pub threads: u16,
    /// Time of a clock cycle.
    pub cycle: Time,
    /// Instructions that a thread dispatches, and that it retires, in a cycle.
    pub width: u32,
    /// Instructions between the oldest that has not retired and the youngest (the reorder buffer).
    pub window: u32,
    /// Stores between the oldest that is not in the first cache and the youngest (the store buffer).
    pub stores: u32,
    /// Lines that a thread waits for at once (miss status holding registers).
    pub misses: u32,
    /// Threads whose accesses go past all caches, a bit each: those of an accelerator without any, or what a cache has missed
    /// already. Each access is then a line of memory; a store writes it back and waits for nothing.
    pub uncached: u64,
    /// Lines that memory has not yet taken back, of all threads; beyond it misses wait.
    pub write_backs: u32,
    /// The first cache of a thread.
    pub l1: CacheConfig,
    /// The second.
    pub l2: CacheConfig,
    /// The last, of all threads.
    pub llc: CacheConfig,
}

impl CpuConfig {
    /// Dispatch of an instruction takes this, if nothing stalls: a cycle over the width, rounded up to picoseconds.
    pub fn slot(&self) -> u64 {
        self.cycle.ps().div_ceil(u64::from(self.width))
    }
}

impl Default for CpuConfig {
    /// Assumed, but for the 8 MiB: four-wide with 128 instructions in flight at 2.5 GHz is a server core of the time of DDR3;
    /// sizes and latencies of its caches are those of such cores (32 KiB in 4 cycles, 256 KiB in 12, 8 MiB in 36).
    fn default() -> CpuConfig {
        let cycles = |n: u64| Time::from_ps(400 * n);
        CpuConfig {
            threads: 1,
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
