//! `[kernel]`: what a page fault, a call and a command to the drive cost, and how memory is managed.

use host::linux::{Cost, LinuxConfig};
use sim::Time;

use super::key::{COUNT, FRACTION, SIZE, TIME, assumed, given, section};

const STEPS: &str =
    "steps of a Linux of 2012 on a core of 2.5 GHz, as far as papers on fast drives take them apart; sums matter";
const SPREAD: &str = "half of the mean: interrupts, caches and locks";
const READAHEAD: &str = "Linux: mm/readahead.c, VM_MAX_READAHEAD of 128 KiB and get_init_ra_size";

section! {
    /// A Linux-like kernel. Each step has a mean and a standard deviation, and is log-normal. Where files are in memory, calls
    /// and the first use of a page are all that is left of it.
    Kernel {
        "kernel.fault" fault: Time = TIME,
            assumed("2us", STEPS),
            "A page fault: exception, finding the area and the page.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.map" map: Time = TIME,
            assumed("1us", STEPS),
            "Mapping a page that is there, and the return to the program.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.call" call: Time = TIME,
            assumed("1us", STEPS),
            "A system call: entry, the way to the page cache, return.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.page" page: Time = TIME,
            assumed("500ns", STEPS),
            "A frame: allocated, cleared or entered into the page cache.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.submit" submit: Time = TIME,
            assumed("4us", STEPS),
            "A command to the drive: file system, block layer, driver up to the doorbell.",
            when "memory.files" is "drive";
        "kernel.complete" complete: Time = TIME,
            assumed("3us", STEPS),
            "A command's end: interrupt, driver, block layer.",
            when "memory.files" is "drive";
        "kernel.vectors" vectors: u32 = COUNT.within(1.0, 64.0),
            assumed("64", "NVMe has a queue and a vector for each core"),
            "Interrupt vectors of the driver: cores that commands' ends come to, one after another on each.",
            when "memory.files" is "drive";
        "kernel.wake" wake: Time = TIME,
            assumed("3us", STEPS),
            "The wake-up of the thread that waits for it, and the context switch.",
            when "memory.files" is "drive";
        "kernel.spread" spread: f64 = super::key::NUMBER.within(0.0, 10.0),
            assumed("0.5", SPREAD),
            "Standard deviation of each step, by its mean.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.readahead" readahead: u64 = SIZE.within(4096.0, 16777216.0),
            given("128KiB", READAHEAD),
            "The longest readahead, a power of two of pages.",
            when "memory.files" is "drive";
        "kernel.readahead_initial" initial: u64 = SIZE.within(4096.0, 16777216.0),
            given("16KiB", READAHEAD),
            "The first readahead of a read of a page.",
            when "memory.files" is "drive";
        "kernel.mapped_misses" mapped_misses: u32 = COUNT.within(0.0, 1000000.0),
            given("100", "Linux: mm/filemap.c, MMAP_LOTSAMISS"),
            "Misses of a mapped file less its hits, beyond which a fault does not read around.",
            when "memory.files" is "drive";
        "kernel.swap_cluster" swap_cluster: u32 = COUNT.within(1.0, 1024.0),
            given("8", "Linux: vm.page-cluster is 3"),
            "Pages that are swapped in together, a power of two.",
            when "memory.files" is "drive";
        "kernel.dirty_background" dirty_background: f64 = FRACTION,
            given("0.1", "Linux: vm.dirty_background_ratio"),
            "Part of memory that dirty pages of files may be before they are written.",
            when "memory.files" is "drive";
        "kernel.dirty" dirty: f64 = FRACTION,
            given("0.2", "Linux: vm.dirty_ratio"),
            "Part of memory that dirty pages of files may be before writers wait.",
            when "memory.files" is "drive";
        "kernel.command" command: u64 = SIZE.within(4096.0, 16777216.0),
            given("128KiB", "nvmm: Effect of Prefetching, 128 KB in an access"),
            "Bytes of a command at most.",
            when "memory.files" is "drive";
        "kernel.journal" journal: u64 = SIZE.within(4096.0, 1048576.0),
            assumed("8KiB", "a descriptor with a block of metadata, and a commit block"),
            "Bytes that fsync writes to the file system's journal.",
            when "memory.files" is "drive";
    }
}

impl Kernel {
    /// The kernel of a memory of `bytes`.
    pub fn config(&self, bytes: u64) -> LinuxConfig {
        const PAGE: u64 = host::cpu::PAGE;
        let cost = |mean: Time| Cost { mean, deviation: Time::from_ps((mean.ps() as f64 * self.spread) as u64) };
        let pages = |bytes: u64| (bytes / PAGE) as u32;
        LinuxConfig {
            frames: pages(bytes),
            fault: cost(self.fault),
            map: cost(self.map),
            call: cost(self.call),
            page: cost(self.page),
            submit: cost(self.submit),
            complete: cost(self.complete),
            vectors: self.vectors as u16,
            wake: cost(self.wake),
            readahead: (pages(self.initial), pages(self.readahead)),
            mapped_misses: self.mapped_misses,
            swap_cluster: self.swap_cluster,
            dirty: ((self.dirty_background * 1024.0) as u32, (self.dirty * 1024.0) as u32),
            command_pages: pages(self.command),
            journal_pages: pages(self.journal),
        }
    }
}

/// Checks what depends on several keys.
pub(super) fn check(s: &super::System) -> Result<(), super::SystemError> {
    let k = &s.kernel;
    for (key, bytes) in [
        ("kernel.readahead", k.readahead),
        ("kernel.readahead_initial", k.initial),
        ("kernel.command", k.command),
        ("kernel.journal", k.journal),
    ] {
        let pages = bytes.is_multiple_of(host::cpu::PAGE) && (bytes / host::cpu::PAGE).is_power_of_two();
        s.expect(pages, &[key], "a power of two of pages of 4KiB")?;
    }
    s.expect(k.swap_cluster.is_power_of_two(), &["kernel.swap_cluster"], "a power of two")?;
    s.expect(k.initial <= k.readahead, &["kernel.readahead_initial", "kernel.readahead"], "at most kernel.readahead")?;
    s.expect(k.dirty_background <= k.dirty, &["kernel.dirty_background", "kernel.dirty"], "at most kernel.dirty")?;
    s.expect(
        s.link.kind == super::link::LinkType::Pcie,
        &["memory.files", "link.type"],
        "\"memory\" where link.type is not \"pcie\"",
    )
}
