//! Machines whose programs are simulated down to their loads and stores: the tables `[cpu]` and `[memory]`.

use sim::Time;

use super::hybrid::{Cache, LineLink, Prefetching};
use super::key::{BOOL, COUNT, FREQUENCY, Kind, SIZE, TIME, assumed, given, section, words};

const CORE: &str = "a four-wide core of the time of DDR3, its caches and their latencies; the paper does not say";

words! {
    /// What main memory is made of.
    MainMemory {
        /// It is not simulated: requests come from jobs and traces, not from programs.
        None = "none",
        /// DRAM.
        Dram = "dram",
        /// Flash behind a cache of DRAM.
        Hybrid = "hybrid",
    }
}

words! {
    /// Where files are, and what does not fit into memory.
    Files {
        /// In main memory, all of them.
        Memory = "memory",
        /// On the drive behind the link, and a kernel moves pages.
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
    }
}

words! {
    /// In which order DRAM's controllers serve requests.
    Scheduler {
        /// What finds its row open first, then what came first (FR-FCFS).
        FirstReady = "first-ready",
        /// Short reads first, all else as it came.
        InOrder = "in-order",
    }
}

section! {
    /// The processor. It has as many hardware threads as the workload has threads.
    Cpu {
        "cpu.clock" clock: u64 = FREQUENCY,
            assumed("2.5GHz", CORE),
            "Clock of its cores.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.width" width: u32 = COUNT.within(1.0, 16.0),
            assumed("4", CORE),
            "Instructions dispatched, and retired, in a cycle.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.window" window: u32 = COUNT.within(1.0, 1048576.0),
            assumed("128", CORE),
            "Instructions in flight of a thread (reorder buffer).",
            when "memory.type" is "dram" | "hybrid";
        "cpu.stores" stores: u32 = COUNT.within(1.0, 1024.0),
            assumed("32", CORE),
            "Stores in flight of a thread (store buffer).",
            when "memory.type" is "dram" | "hybrid";
        "cpu.misses" misses: u32 = COUNT.within(1.0, 1023.0),
            assumed("10", "the line fill buffers of such a core"),
            "Lines that a thread waits for at once (miss status holding registers).",
            when "memory.type" is "dram" | "hybrid";
        "cpu.write_backs" write_backs: u32 = COUNT.within(1.0, 4096.0),
            assumed("32", "as many as the writes that a memory controller of the time holds"),
            "Changed lines on their way to memory, of all threads.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.caches" caches: bool = BOOL,
            assumed("true", "a processor"),
            "False: an accelerator whose threads have no caches; each access is a line of memory, and a store waits for nothing.",
            when "memory.type" is "dram" | "hybrid";
        /// The first cache of each thread.
        table l1: L1;
        /// The second.
        table l2: L2;
        /// The last, of all threads.
        table llc: Llc;
    }
}

section! {
    /// The first cache of each thread.
    L1 {
        "cpu.l1.size" size: u64 = SIZE.within(64.0, 4294967296.0),
            assumed("32KiB", CORE),
            "Bytes of a thread's first data cache.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l1.ways" ways: u32 = COUNT.within(1.0, 64.0),
            assumed("8", CORE),
            "Its lines in a set.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l1.latency" latency: u32 = COUNT.within(1.0, 1000.0),
            assumed("4", CORE),
            "Cycles from asking it to its answer.",
            when "memory.type" is "dram" | "hybrid";
    }
}

section! {
    /// The second cache of each thread.
    L2 {
        "cpu.l2.size" size: u64 = SIZE.within(64.0, 4294967296.0),
            assumed("256KiB", CORE),
            "Bytes of a thread's second cache.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l2.ways" ways: u32 = COUNT.within(1.0, 64.0),
            assumed("8", CORE),
            "Its lines in a set.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.l2.latency" latency: u32 = COUNT.within(1.0, 1000.0),
            assumed("12", CORE),
            "Cycles from asking it, once the first has missed, to its answer.",
            when "memory.type" is "dram" | "hybrid";
    }
}

section! {
    /// The last cache, of all threads.
    Llc {
        "cpu.llc.size" size: u64 = SIZE.within(64.0, 4294967296.0),
            given("8MiB", "nvmm: Performance Studies, 8 MB of SRAM"),
            "Bytes of the last cache.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.llc.ways" ways: u32 = COUNT.within(1.0, 64.0),
            assumed("16", CORE),
            "Its lines in a set.",
            when "memory.type" is "dram" | "hybrid";
        "cpu.llc.latency" latency: u32 = COUNT.within(1.0, 1000.0),
            assumed("36", CORE),
            "Cycles from asking it, once the second has missed, to its answer.",
            when "memory.type" is "dram" | "hybrid";
    }
}

section! {
    /// Main memory.
    Memory {
        "memory.type" kind: MainMemory = Kind::words(MainMemory::WORDS),
            assumed("none", "drives are measured with jobs and traces"),
            "What main memory is made of, where programs are simulated with their loads and stores.";
        "memory.files" files: Files = Kind::words(Files::WORDS),
            assumed("memory", "nothing but main memory"),
            "Where files are, and what does not fit into memory: in main memory all of it, or on the drive behind the link, to \
             and from which a kernel moves pages.",
            when "memory.type" is "dram";
        "memory.standard" standard: Standard = Kind::words(Standard::WORDS),
            given("ddr3-1600", "nvmm: Experimental Setup, DDR3 SDRAM"),
            "Standard of the DRAM.",
            when "memory.type" is "dram" | "hybrid";
        "memory.channels" channels: u32 = COUNT.within(1.0, 64.0),
            assumed("4", "a server of the time of DDR3"),
            "Channels of DRAM, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.ranks" ranks: u32 = COUNT.within(1.0, 16.0),
            assumed("2", "a module or two of one or two ranks"),
            "Ranks of each channel with a chip select, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.stack" stack: u32 = COUNT.within(1.0, 1024.0),
            assumed("1", "modules without rank multiplication"),
            "Ranks behind each chip select, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.interleave" interleave: u64 = SIZE.within(64.0, 65536.0),
            assumed("256B", "as servers spread a page over their channels"),
            "Bytes after which addresses go to the next channel, a power of two.",
            when "memory.type" is "dram" | "hybrid";
        "memory.hash" hash: bool = BOOL,
            assumed("true", "controllers XOR channel and bank bits with row bits (Zhang et al., MICRO 2000)"),
            "Higher address bits permute channels, ranks and banks, so that streams a power of two apart do not meet in one.",
            when "memory.type" is "dram" | "hybrid";
        "memory.frames" frames: Option<u64> = SIZE.within(4096.0, 1073741824.0).or("contiguous"),
            assumed("contiguous", "memory just after boot; an allocator in use scatters frames of 4 KiB, or huge pages of 2 MiB"),
            "Bytes that stay together where pages of programs and files lie anywhere in memory, a power of two; contiguous: they \
             lie one after the other. In hybrid memory at least a page of it, 64 KiB.",
            when "memory.type" is "dram" | "hybrid";
        "memory.scheduler" scheduler: Scheduler = Kind::words(Scheduler::WORDS),
            assumed("first-ready", "what controllers of DRAM do (Rixner et al., ISCA 2000)"),
            "In which order requests are served: first-ready, open rows before closed ones; in-order, short reads as they \
             come, all else behind them, which is simulated several times as fast and moves less where many short requests wait.",
            when "memory.type" is "dram" | "hybrid";
        "memory.latency" latency: Time = TIME,
            assumed("20ns", "from the last cache over the ring and the controller and back"),
            "What the way to the DRAM and back adds to a read's latency.",
            when "memory.type" is "dram" | "hybrid";
        "memory.power_down" power_down: Option<Time> = TIME.or("never"),
            assumed("1us", "unused DRAM is allowed low-power modes (nvmm: Performance, Power, and Energy Comparisons)"),
            "Idle this long, a rank is powered down.",
            when "memory.type" is "dram" | "hybrid";
        "memory.self_refresh" self_refresh: Option<Time> = TIME.or("never"),
            assumed("100us", "unused DRAM is allowed low-power modes (nvmm: Performance, Power, and Energy Comparisons)"),
            "Idle this long, a rank goes into self-refresh.",
            when "memory.type" is "dram" | "hybrid";
        "memory.size" size: Option<u64> = SIZE.least(1048576.0).or("all"),
            given("all", "nothing of it is kept back"),
            "Bytes that programs and files may be in, whole pages; all: those of the DRAM, or of nvmm.capacity.",
            when "memory.type" is "dram" | "hybrid";
        /// The way to flash behind DRAM.
        table link: LineLink;
        /// DRAM as a cache of flash.
        table cache: Cache;
        /// What it fetches unasked.
        table prefetch: Prefetching;
    }
}

impl Memory {
    /// Its configuration.
    ///
    /// # Panics
    /// If `dram` has no such preset: the words are its names.
    pub fn dram(&self) -> crate::parts::DramConfig {
        let device = dram::Device::preset(self.standard.word()).unwrap_or_else(|error| panic!("{error}"));
        crate::parts::DramConfig {
            channels: self.channels,
            ranks: self.ranks,
            stack: self.stack,
            interleave: self.interleave,
            scheduler: match self.scheduler {
                Scheduler::FirstReady => dram::Scheduler::FirstReady,
                Scheduler::InOrder => dram::Scheduler::InOrder,
            },
            latency: self.latency,
            hash: self.hash,
            power_down_after: self.power_down,
            self_refresh_after: self.self_refresh,
            ..crate::parts::DramConfig::new(device)
        }
    }
}

impl super::System {
    /// Bytes of main memory that programs and files may be in.
    pub fn usable_memory(&self) -> u64 {
        self.memory.size.unwrap_or_else(|| match self.memory.kind {
            MainMemory::Hybrid => self.nvmm.capacity,
            MainMemory::Dram | MainMemory::None => self.memory.dram().bytes(),
        })
    }
}

impl Cpu {
    /// A processor with so many hardware threads. Those in `uncached`, a bit each, and all of them if it has no caches, go past them.
    pub fn config(&self, threads: u16, uncached: u64) -> host::cpu::CpuConfig {
        let cycle = Time::from_ps(1_000_000_000_000_u64.div_ceil(self.clock));
        let cache =
            |bytes, ways, latency: u32| host::cpu::CacheConfig { bytes, ways, latency: cycle * u64::from(latency) };
        host::cpu::CpuConfig {
            threads,
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

/// Checks what depends on several keys.
pub(super) fn check(s: &super::System) -> Result<(), super::SystemError> {
    let (cpu, memory) = (&s.cpu, &s.memory);
    for (size, ways, bytes, lines) in [
        ("cpu.l1.size", "cpu.l1.ways", cpu.l1.size, cpu.l1.ways),
        ("cpu.l2.size", "cpu.l2.ways", cpu.l2.size, cpu.l2.ways),
        ("cpu.llc.size", "cpu.llc.ways", cpu.llc.size, cpu.llc.ways),
    ] {
        let way = media::LINE * u64::from(lines);
        let sound = bytes.is_multiple_of(way) && (bytes / way).is_power_of_two();
        s.expect(sound, &[size, ways], "a power of two of sets of 64-byte lines")?;
    }
    for (key, value) in [
        ("memory.channels", u64::from(memory.channels)),
        ("memory.ranks", u64::from(memory.ranks)),
        ("memory.stack", u64::from(memory.stack)),
        ("memory.interleave", memory.interleave),
    ] {
        s.expect(value.is_power_of_two(), &[key], "a power of two")?;
    }
    if let Some(frame) = memory.frames {
        s.expect(frame.is_power_of_two(), &["memory.frames"], "a power of two")?;
        let whole = memory.kind != MainMemory::Hybrid || frame >= 65536;
        s.expect(whole, &["memory.frames"], "at least 64KiB, a page of flash as main memory")?;
    }
    if memory.files == Files::Drive {
        super::kernel::check(s)?;
    }
    if let Some(size) = memory.size
        && memory.kind == MainMemory::Dram
    {
        let there = memory.dram().bytes();
        let most = format!("whole pages of 4KiB, at most the {} of DRAM", super::Value::Size(there).plain());
        let keys = ["memory.size", "memory.channels", "memory.ranks", "memory.stack", "memory.standard"];
        s.expect(size.is_multiple_of(host::cpu::PAGE) && size <= there, &keys, &most)?;
    }
    Ok(())
}
