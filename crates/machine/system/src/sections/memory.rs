//! Machines with processors and main memory: the tables `[cpu]` and `[memory]`.

use sim::Time;

use crate::sections::hybrid::{Cache, LineLink, Prefetching};
use keys::{BOOL, COUNT, FREQUENCY, Kind, SIZE, TIME, assumed, given, section, words};

const CORE: &str = "a four-wide core of the DDR3 era, with its caches and latencies; the paper does not specify it";

words! {
    /// Type of main memory.
    MainMemory {
        /// Not simulated: requests come from jobs and traces, not from programs.
        None = "none",
        /// DRAM.
        Dram = "dram",
        /// Flash behind a DRAM cache.
        Hybrid = "hybrid",
    }
}

words! {
    /// Location of files, and of pages that do not fit into memory.
    Files {
        /// Entirely in main memory.
        Memory = "memory",
        /// On the drive behind the link; a kernel moves pages.
        Drive = "drive",
    }
}

words! {
    /// Standards of main memory.
    Standard {
        /// JESD79-2, 400 MHz.
        Ddr2x800 = "ddr2-800",
        /// JESD79-3, 800 MHz.
        Ddr3x1600 = "ddr3-1600",
        /// JESD79-4, 1200 MHz.
        Ddr4x2400 = "ddr4-2400",
        /// JESD79-4, 1600 MHz.
        Ddr4x3200 = "ddr4-3200",
        /// JESD79-5, 2400 MHz.
        Ddr5x4800 = "ddr5-4800",
        /// JESD238, 1600 MHz; a channel is a pseudo-channel of 32 bits.
        Hbm3x6400 = "hbm3-6400",
        /// JESD238 at the rate of HBM3E, 2400 MHz; likewise.
        Hbm3ex9600 = "hbm3e-9600",
        /// JESD270-4, 2000 MHz; likewise.
        Hbm4x8000 = "hbm4-8000",
        /// Banks of SRAM on a base die, 1000 MHz.
        Sram2000 = "sram-2000",
    }
}

words! {
    /// Scheduling policy of the DRAM controllers.
    Scheduler {
        /// Requests to open rows first, then in order of arrival (FR-FCFS).
        FirstReady = "first-ready",
    }
}

words! {
    /// Refresh of DRAM.
    Refresh {
        /// All banks of a rank at once (REF).
        AllBank = "all-bank",
        /// One bank of every bank group at a time (REFsb of DDR5).
        SameBank = "same-bank",
    }
}

section! {
    /// The processor. It has as many hardware threads as the workload has threads.
    Cpu {
        "cpu.clock" clock: u64 = FREQUENCY,
            assumed("2.5GHz", CORE),
            "Core clock.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.cores" cores: Option<u32> = COUNT.within(1.0, 64.0).or("auto"),
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
    }
}

section! {
    /// Second-level cache of each thread.
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
    }
}

section! {
    /// Last-level cache, shared by all threads.
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
    }
}

section! {
    /// Main memory.
    Memory {
        "memory.type" kind: MainMemory = Kind::words(MainMemory::WORDS),
            assumed("none", "drives are measured with jobs and traces"),
            "Type of main memory, for programs that are simulated with their loads and stores.";
        "memory.files" files: Files = Kind::words(Files::WORDS),
            assumed("memory", "no storage besides main memory"),
            "Location of files, and of pages that do not fit into memory: entirely in main memory, or on the drive \
             behind the link, with a kernel that moves pages.",
            when "memory.type" is "dram";
        "memory.standard" standard: Standard = Kind::words(Standard::WORDS),
            given("ddr3-1600", "nvmm: Experimental Setup, DDR3 SDRAM"),
            "Standard of the DRAM. A channel of HBM is a pseudo-channel of 32 bits: 32 of HBM3 and HBM3E, 64 of HBM4 \
             are a stack, with a rank for each stack ID.",
            when "memory.type" is "dram" | "hybrid";
        "memory.channels" channels: u32 = COUNT.within(1.0, 64.0),
            assumed("4", "a server of the DDR3 era"),
            "DRAM channels, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.ranks" ranks: u32 = COUNT.within(1.0, 16.0),
            assumed("2", "one or two modules of one or two ranks"),
            "Ranks per channel with their own chip select, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.stack" stack: u32 = COUNT.within(1.0, 1024.0),
            assumed("1", "modules without rank multiplication"),
            "Ranks behind each chip select, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.interleave" interleave: u64 = SIZE.within(64.0, 65536.0),
            assumed("256B", "typical of servers, which spread a page over their channels"),
            "Granularity in bytes at which addresses alternate between channels, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.hash" hash: bool = BOOL,
            assumed("true", "controllers XOR channel and bank bits with row bits (Zhang et al., MICRO 2000)"),
            "Higher address bits permute channels, ranks and banks, so that streams a power of two apart do not \
             collide in one.",
            when "memory.type" is "dram" | "hybrid";
        "memory.frames" frames: Option<u64> = SIZE.within(4096.0, 1073741824.0).or("contiguous"),
            assumed("contiguous", "memory just after boot; an allocator in use scatters frames of 4 KiB, or huge pages \
                of 2 MiB"),
            "Size of contiguous frames, a power of two, when pages of programs and files are scattered over memory; \
             contiguous: pages lie one after another. In hybrid memory at least one page of 64 KiB.",
            when "memory.type" is "dram" | "hybrid";
        "memory.scheduler" scheduler: Scheduler = Kind::words(Scheduler::WORDS),
            assumed("first-ready", "common in DRAM controllers (Rixner et al., ISCA 2000)"),
            "Order in which requests are served: first-ready, open rows before closed ones.",
            when "memory.type" is "dram" | "hybrid";
        "memory.refresh" refresh: Refresh = Kind::words(Refresh::WORDS),
            assumed("all-bank", "the default of memory controllers; same-bank refresh is an option of DDR5"),
            "How DRAM is refreshed: all-bank, a rank serves nothing meanwhile; same-bank, one bank of every group at a time, \
             the others are served (DDR5).",
            when "memory.type" is "dram" | "hybrid";
        "memory.latency" latency: Time = TIME,
            assumed("20ns", "from the last cache over the ring and the controller, and back"),
            "Latency that the path to the DRAM and back adds to a read.",
            when "memory.type" is "dram" | "hybrid";
        "memory.power_down" power_down: Option<Time> = TIME.or("never"),
            assumed("1us", "unused DRAM is allowed low-power modes (nvmm: Performance, Power, and Energy Comparisons)"),
            "Idle time after which a rank enters power-down.",
            when "memory.type" is "dram" | "hybrid";
        "memory.self_refresh" self_refresh: Option<Time> = TIME.or("never"),
            assumed("100us", "unused DRAM is allowed low-power modes (nvmm: Performance, Power, and Energy \
                Comparisons)"),
            "Idle time after which a rank enters self-refresh.",
            when "memory.type" is "dram" | "hybrid";
        "memory.size" size: Option<u64> = SIZE.least(1048576.0).or("all"),
            given("all", "no memory is reserved"),
            "Bytes available to programs and files, whole pages; all: the DRAM's capacity, or nvmm.capacity.",
            when "memory.type" is "dram" | "hybrid";
        /// The link to flash behind DRAM.
        table link: LineLink;
        /// DRAM as a cache of flash.
        table cache: Cache;
        /// Prefetching into the DRAM cache.
        table prefetch: Prefetching;
    }
}

impl Memory {
    /// Returns the DRAM's configuration.
    ///
    /// # Panics
    /// If `dram` has no such preset, which cannot happen because the words are its names.
    pub fn dram(&self) -> crate::parts::DramConfig {
        let device = dram::Device::preset(self.standard.word()).unwrap_or_else(|error| panic!("{error}"));
        crate::parts::DramConfig {
            channels: self.channels,
            ranks: self.ranks,
            stack: self.stack,
            interleave: self.interleave,
            refresh: match self.refresh {
                Refresh::AllBank => dram::RefreshMode::AllBank,
                Refresh::SameBank => dram::RefreshMode::SameBank,
            },
            latency: self.latency,
            hash: self.hash,
            power_down_after: self.power_down,
            self_refresh_after: self.self_refresh,
            ..crate::parts::DramConfig::new(device)
        }
    }
}

impl Cpu {
    /// Returns the configuration of a processor with `threads` hardware threads. The threads in the bit mask `uncached`
    /// bypass the caches, as do all threads of a processor without caches.
    pub fn config(&self, threads: u16, uncached: u64) -> host::cpu::CpuConfig {
        let cycle = Time::from_ps(1_000_000_000_000_u64.div_ceil(self.clock));
        let cache =
            |bytes, ways, latency: u32| host::cpu::CacheConfig { bytes, ways, latency: cycle * u64::from(latency) };
        host::cpu::CpuConfig {
            threads,
            cores: self.cores.map_or(u16::MAX, |cores| cores as u16),
            cycle,
            width: self.width,
            window: self.window,
            stores: self.stores,
            misses: self.misses,
            uncached: if self.caches { uncached } else { u64::MAX },
            write_backs: self.write_backs,
            l1: cache(self.l1.size, self.l1.ways, self.l1.latency),
            l2: cache(self.l2.size, self.l2.ways, self.l2.latency),
            llc: cache(self.llc.size, self.llc.ways, self.llc.latency),
        }
    }
}
