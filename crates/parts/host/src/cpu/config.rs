//! Keys of a processor: table `[cpu]`.

use keys::{BOOL, COUNT, Conflict, FREQUENCY, SIZE, assumed, expect, given, section};
use media::LINE;
use sim::Time;

const CORE: &str = "a four-wide core of the DDR3 era, with its caches and latencies; the paper does not specify it";

section! {
    /// A processor: hardware threads, each with its own window and caches, and a shared last-level cache. It has as many
    /// hardware threads as the workload has threads.
    #[derive(Copy, Eq)]
    CpuConfig {
        "cpu.clock" clock: u64 = FREQUENCY,
            assumed("2.5GHz", CORE),
            "Core clock.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.cores" cores: Option<u16> = COUNT.within(1.0, 64.0).or("auto"),
            assumed("auto", "a core for every thread"),
            "Cores that the threads share: a thread that waits for the drive frees its core, one that waits for memory \
             holds it; auto: one for every thread.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.width" width: u32 = COUNT.within(1.0, 16.0),
            assumed("4", CORE),
            "Instructions dispatched, and retired, per cycle.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.window" window: u32 = COUNT.within(1.0, 1048576.0),
            assumed("128", CORE),
            "Instructions in flight per thread (reorder buffer).",
            when "memory.type" is "dram" | "hybrid";
        "cpu.stores" stores: u32 = COUNT.within(1.0, 1024.0),
            assumed("32", CORE),
            "Stores in flight per thread (store buffer).",
            when "memory.type" is "dram" | "hybrid";
        "cpu.misses" misses: u32 = COUNT.within(1.0, 1023.0),
            assumed("10", "the line fill buffers of such a core"),
            "Maximum number of outstanding misses per thread (miss status holding registers).",
            when "memory.type" is "dram" | "hybrid";
        "cpu.write_backs" write_backs: u32 = COUNT.within(1.0, 4096.0),
            assumed("32", "the write capacity of a memory controller of that era"),
            "Maximum number of dirty lines on their way to memory, across all threads.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.caches" caches: bool = BOOL,
            assumed("true", "a processor"),
            "False models an accelerator whose threads have no caches: each access is a memory line, and stores do not \
             wait.",
            when "memory.type" is "dram" | "hybrid";
        /// First-level cache of each thread.
        table l1: L1;
        /// Second-level cache of each thread.
        table l2: L2;
        /// Last-level cache, shared by all threads.
        table llc: Llc;
    }
}

section! {
    /// First-level cache of each thread.
    #[derive(Copy, Eq)]
    L1 {
        "cpu.l1.size" size: u64 = SIZE.within(64.0, 4294967296.0),
            assumed("32KiB", CORE),
            "Size of a thread's first-level data cache in bytes.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l1.ways" ways: u32 = COUNT.within(1.0, 64.0),
            assumed("8", CORE),
            "Associativity of the first-level cache.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l1.latency" latency: u32 = COUNT.within(1.0, 1000.0),
            assumed("4", CORE),
            "Latency of the first-level cache in cycles.",
            when "memory.type" is "dram" | "hybrid";

        check sets;
    }
}

section! {
    /// Second-level cache of each thread.
    #[derive(Copy, Eq)]
    L2 {
        "cpu.l2.size" size: u64 = SIZE.within(64.0, 4294967296.0),
            assumed("256KiB", CORE),
            "Size of a thread's second-level cache in bytes.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l2.ways" ways: u32 = COUNT.within(1.0, 64.0),
            assumed("8", CORE),
            "Associativity of the second-level cache.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l2.latency" latency: u32 = COUNT.within(1.0, 1000.0),
            assumed("12", CORE),
            "Latency of the second-level cache in cycles, after a miss in the first.",
            when "memory.type" is "dram" | "hybrid";

        check sets;
    }
}

section! {
    /// Last-level cache, shared by all threads.
    #[derive(Copy, Eq)]
    Llc {
        "cpu.llc.size" size: u64 = SIZE.within(64.0, 4294967296.0),
            given("8MiB", "nvmm: Performance Studies, 8 MB of SRAM"),
            "Size of the last-level cache in bytes.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.llc.ways" ways: u32 = COUNT.within(1.0, 64.0),
            assumed("16", CORE),
            "Associativity of the last-level cache.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.llc.latency" latency: u32 = COUNT.within(1.0, 1000.0),
            assumed("36", CORE),
            "Latency of the last-level cache in cycles, after a miss in the second.",
            when "memory.type" is "dram" | "hybrid";

        check sets;
    }
}

impl CpuConfig {
    /// Returns the duration of a clock cycle.
    pub fn cycle(&self) -> Time {
        Time::from_ps(1_000_000_000_000_u64.div_ceil(self.clock))
    }

    /// Returns the dispatch time of an instruction without stalls in picoseconds: a cycle divided by the width, rounded
    /// up.
    pub fn slot(&self) -> u64 {
        self.cycle().ps().div_ceil(u64::from(self.width))
    }

    /// Returns the time from a lookup in the first-level cache to the second-level cache's result, and to the last-level
    /// cache's.
    pub fn latencies(&self) -> (Time, Time) {
        let cycles = |count: u32| self.cycle() * u64::from(count);
        let to_l2 = cycles(self.l1.latency) + cycles(self.l2.latency);
        (to_l2, to_l2 + cycles(self.llc.latency))
    }
}

impl L1 {
    fn sets(&self) -> Result<(), Conflict> {
        power_of_two_of_sets(&["cpu.l1.size", "cpu.l1.ways"], self.size, self.ways)
    }
}

impl L2 {
    fn sets(&self) -> Result<(), Conflict> {
        power_of_two_of_sets(&["cpu.l2.size", "cpu.l2.ways"], self.size, self.ways)
    }
}

impl Llc {
    fn sets(&self) -> Result<(), Conflict> {
        power_of_two_of_sets(&["cpu.llc.size", "cpu.llc.ways"], self.size, self.ways)
    }
}

fn power_of_two_of_sets(keys: &[&'static str], size: u64, ways: u32) -> Result<(), Conflict> {
    let way = LINE * u64::from(ways);
    let sound = size.is_multiple_of(way) && (size / way).is_power_of_two();
    expect(sound, keys, "a power of two of sets of 64-byte lines")
}
