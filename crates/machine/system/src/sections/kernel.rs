//! `[kernel]`: costs of page faults, system calls and commands to the drive, and parameters of memory management.

use host::linux::{Cost, LinuxConfig};
use sim::Time;

use keys::{BOOL, COUNT, FRACTION, SIZE, TIME, assumed, given, section};

const STEPS: &str =
    "step times of Linux in 2012 on a 2.5 GHz core, as far as papers on fast drives break them down; only sums matter";
const SPREAD: &str = "half of the mean: interrupts, caches and locks";
const READAHEAD: &str = "Linux: mm/readahead.c, VM_MAX_READAHEAD of 128 KiB and get_init_ra_size";

section! {
    /// A Linux-like kernel. Each step's duration is log-normal, with a mean and a standard deviation. If files are in
    /// memory, only system calls and first uses of pages apply.
    Kernel {
        "kernel.fault" fault: Time = TIME,
            assumed("2us", STEPS),
            "Page fault: exception, and search for the area and the page.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.map" map: Time = TIME,
            assumed("1us", STEPS),
            "Mapping of a resident page, and return to the program.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.call" call: Time = TIME,
            assumed("1us", STEPS),
            "System call: entry, path to the page cache, and return.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.page" page: Time = TIME,
            assumed("500ns", STEPS),
            "Page frame: allocation, and clearing or entry into the page cache.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.submit" submit: Time = TIME,
            assumed("4us", STEPS),
            "Submission of a command to the drive: file system, block layer, and driver up to the doorbell.",
            when "memory.files" is "drive";
        "kernel.lock" lock: Time = TIME,
            assumed("0s", "a queue for each core, without a shared lock"),
            "Time for which a submission holds the lock of the drive's only queue, while other submissions wait; 0s: every \
             core has a queue.",
            when "memory.files" is "drive";
        "kernel.complete" complete: Time = TIME,
            assumed("3us", STEPS),
            "Completion of a command: interrupt, driver, and block layer.",
            when "memory.files" is "drive";
        "kernel.vectors" vectors: u32 = COUNT.within(1.0, 64.0),
            assumed("64", "NVMe has a queue and a vector for each core"),
            "Interrupt vectors of the driver: cores that handle completions, each one after another.",
            when "memory.files" is "drive";
        "kernel.wake" wake: Time = TIME,
            assumed("3us", STEPS),
            "Wake-up of the waiting thread, with the context switch.",
            when "memory.files" is "drive";
        "kernel.spread" spread: f64 = keys::NUMBER.within(0.0, 10.0),
            assumed("0.5", SPREAD),
            "Standard deviation of each step, as a fraction of its mean.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.structures" structures: bool = BOOL,
            assumed("false", "memory of a kernel that lies elsewhere, in DRAM of its own; its accesses are part of the steps' times"),
            "Whether main memory holds the kernel's page tables, page-cache nodes and frame records, so that faults and calls \
             wait for them.",
            when "memory.type" is "hybrid";
        "kernel.readahead" readahead: u64 = SIZE.within(4096.0, 16777216.0),
            given("128KiB", READAHEAD),
            "Maximum readahead, a power of two of pages.",
            when "memory.files" is "drive";
        "kernel.readahead_initial" initial: u64 = SIZE.within(4096.0, 16777216.0),
            given("16KiB", READAHEAD),
            "Initial readahead of a one-page read.",
            when "memory.files" is "drive";
        "kernel.mapped_misses" mapped_misses: u32 = COUNT.within(0.0, 1000000.0),
            given("100", "Linux: mm/filemap.c, MMAP_LOTSAMISS"),
            "Misses minus hits of a mapped file above which a fault no longer reads around.",
            when "memory.files" is "drive";
        "kernel.swap_cluster" swap_cluster: u32 = COUNT.within(1.0, 1024.0),
            given("8", "Linux: vm.page-cluster is 3"),
            "Number of pages that are swapped in together, a power of two.",
            when "memory.files" is "drive";
        "kernel.dirty_background" dirty_background: f64 = FRACTION,
            given("0.1", "Linux: vm.dirty_background_ratio"),
            "Dirty file pages, as a fraction of memory, at which background writing starts.",
            when "memory.files" is "drive";
        "kernel.dirty" dirty: f64 = FRACTION,
            given("0.2", "Linux: vm.dirty_ratio"),
            "Dirty file pages, as a fraction of memory, at which writers wait.",
            when "memory.files" is "drive";
        "kernel.command" command: u64 = SIZE.within(4096.0, 16777216.0),
            given("128KiB", "nvmm: Effect of Prefetching, 128 KB in an access"),
            "Maximum size of a command.",
            when "memory.files" is "drive";
        "kernel.journal" journal: u64 = SIZE.within(4096.0, 1048576.0),
            assumed("8KiB", "a descriptor with a block of metadata, and a commit block"),
            "Bytes that fsync writes to the file system's journal.",
            when "memory.files" is "drive";
    }
}

impl Kernel {
    /// Returns the kernel's configuration for a memory of `bytes` bytes.
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
            lock: cost(self.lock),
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
