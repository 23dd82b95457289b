//! Keys of the kernel: table `[kernel]`. The cost of its steps and its memory management.

use keys::{BOOL, COUNT, Conflict, Kind, NUMBER, SIZE, TIME, assumed, expect, given, power_of_two, section, words};
use sim::{Rng, Time};

use crate::cpu::PAGE;

const STEPS: &str =
    "step times of Linux in 2012 on a 2.5 GHz core, as far as papers on fast drives break them down; only sums matter";
const SPREAD: &str = "half of the mean: interrupts, caches and locks";

words! {
    /// The effect of fsync on a file in flash as memory.
    Fsync {
        /// It syncs the memory as a whole.
        Sync = "sync",
        /// It returns: a memory that is not volatile needs no file system's work.
        Call = "call",
    }
}

section! {
    /// A kernel that manages memory like Linux. Each step's duration is log-normal, with a mean and a standard deviation.
    /// If files are in memory, only system calls and first uses of pages apply.
    #[derive(Copy)]
    LinuxConfig {
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
        "kernel.write" write: Time = TIME,
            assumed("1us", "as much as a system call: lock the page, mark it as modified, update the file's times, and check \
                the limits of modified pages"),
            "Writing of a page by a system call, in addition to kernel.call and the copy.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.fsync" fsync: Fsync = Kind::words(Fsync::WORDS),
            assumed("sync", "a file in flash as memory is durable when the page table is"),
            "What fsync of a file does: a sync of the memory, or a system call that only returns. A program's own sync always \
             reaches the memory.",
            when "memory.type" is "hybrid";
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
        "kernel.vectors" vectors: u16 = COUNT.within(1.0, 64.0),
            assumed("64", "NVMe has a queue and a vector for each core"),
            "Interrupt vectors of the driver: cores that handle completions, each one after another.",
            when "memory.files" is "drive";
        "kernel.wake" wake: Time = TIME,
            assumed("3us", STEPS),
            "Wake-up of the waiting thread, with the context switch.",
            when "memory.files" is "drive";
        "kernel.spread" spread: f64 = NUMBER.within(0.0, 10.0),
            assumed("0.5", SPREAD),
            "Standard deviation of each step, as a fraction of its mean.",
            when "memory.type" is "dram" | "hybrid";
        "kernel.structures" structures: bool = BOOL,
            assumed("false", "memory of a kernel that lies elsewhere, in DRAM of its own; its accesses are part of the steps' times"),
            "Whether main memory holds the kernel's page tables, page-cache nodes and frame records, so that faults and calls \
             wait for them.",
            when "memory.type" is "hybrid";
        "kernel.mapped_misses" mapped_misses: u32 = COUNT.within(0.0, 1000000.0),
            given("100", "Linux: mm/filemap.c, MMAP_LOTSAMISS"),
            "Misses minus hits of a mapped file above which a fault no longer reads around.",
            when "memory.files" is "drive";
        "kernel.swap_cluster" swap_cluster: u32 = COUNT.within(1.0, 1024.0),
            given("8", "Linux: vm.page-cluster is 3"),
            "Number of pages that are swapped in together, a power of two.",
            when "memory.files" is "drive";
        "kernel.swap_merge" swap_merge: bool = BOOL,
            assumed("true", "their slots are adjacent and are read at the same time; Linux 3.6 plugs the queue around them, and \
                before that AHCI's handler completes all commands that have finished in one interrupt"),
            "Whether the pages that are swapped in together form one command with one completion, or one command each. Each \
             page is submitted on its own either way.",
            when "memory.files" is "drive";
        "kernel.journal" journal: u64 = SIZE.within(4096.0, 1048576.0),
            assumed("8KiB", "a descriptor with a block of metadata, and a commit block"),
            "Bytes that fsync writes to the file system's journal.",
            when "memory.files" is "drive";

        check several;
    }
}

impl LinuxConfig {
    fn several(&self) -> Result<(), Conflict> {
        let pages = self.journal.is_multiple_of(PAGE) && (self.journal / PAGE).is_power_of_two();
        expect(pages, &["kernel.journal"], "a power of two of pages of 4KiB")?;
        power_of_two("kernel.swap_cluster", self.swap_cluster.into())
    }

    /// Draws the duration of a step with this mean.
    pub(super) fn draw(&self, mean: Time, rng: &mut Rng) -> Time {
        let deviation = Time::from_ps((mean.ps() as f64 * self.spread) as u64);
        if deviation == Time::ZERO || mean == Time::ZERO {
            return mean;
        }
        let (mean, deviation) = (mean.ps() as f64, deviation.ps() as f64);
        let variance = libm::log(1.0 + (deviation / mean) * (deviation / mean));
        let draw = libm::exp(libm::log(mean) - variance / 2.0 + libm::sqrt(variance) * rng.normal());
        Time::from_ps(draw as u64)
    }

    /// Returns the number of pages that an fsync adds to the journal.
    pub(super) fn journal_pages(&self) -> u32 {
        (self.journal / PAGE) as u32
    }
}
