//! Main memory: the table `[memory]`.

use dram::MemoryConfig;
use keys::{Conflict, Kind, SIZE, Value, assumed, expect, given, power_of_two, section, words};

use link::LineLinkConfig;

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
        "memory.size" size: Option<u64> = SIZE.least(1048576.0).or("all"),
            given("all", "no memory is reserved"),
            "Bytes available to programs and files, whole pages; all: the DRAM's capacity, or nvmm.capacity.",
            when "memory.type" is "dram" | "hybrid";
        "memory.frames" frames: Option<u64> = SIZE.within(4096.0, 1073741824.0).or("contiguous"),
            assumed("contiguous", "memory just after boot; an allocator in use scatters frames of 4 KiB, or huge pages \
                of 2 MiB"),
            "Size of contiguous frames, a power of two, when pages of programs and files are scattered over memory; \
             contiguous: pages lie one after another. In hybrid memory at least one page of 64 KiB.",
            when "memory.type" is "dram" | "hybrid";
        /// The DRAM: all of main memory, or the cache in front of flash.
        table dram: MemoryConfig;
        /// The link to flash behind DRAM.
        table link: LineLinkConfig;
        /// DRAM as a cache of flash.
        table cache: dram_cache::Keys;

        check several;
    }
}

impl Memory {
    fn several(&self) -> Result<(), Conflict> {
        if let Some(frame) = self.frames {
            power_of_two("memory.frames", frame)?;
            let whole = self.kind != MainMemory::Hybrid || frame >= 65536;
            expect(whole, &["memory.frames"], "at least 64KiB, a page of flash as main memory")?;
        }
        if let Some(size) = self.size
            && self.kind == MainMemory::Dram
        {
            let found = self.dram.bytes();
            let most = format!("whole pages of 4KiB, at most {}, the DRAM's capacity", Value::Size(found).plain());
            let keys = ["memory.size", "memory.channels", "memory.ranks", "memory.stack", "memory.standard"];
            expect(size.is_multiple_of(host::cpu::PAGE) && size <= found, &keys, most)?;
        }
        Ok(())
    }
}
