//! The parameters of the kernel: the cost of its steps and its memory management.

use sim::{Rng, Time};

/// The processor time of a step: log-normally distributed, given by mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Mean.
    pub mean: Time,
    /// Standard deviation; zero for a constant time.
    pub deviation: Time,
}

impl Cost {
    /// Returns a constant cost.
    pub fn fixed(mean: Time) -> Cost {
        Cost { mean, deviation: Time::ZERO }
    }

    /// Draws a random time.
    pub fn draw(&self, rng: &mut Rng) -> Time {
        if self.deviation == Time::ZERO || self.mean == Time::ZERO {
            return self.mean;
        }
        let (mean, deviation) = (self.mean.ps() as f64, self.deviation.ps() as f64);
        let variance = libm::log(1.0 + (deviation / mean) * (deviation / mean));
        let draw = libm::exp(libm::log(mean) - variance / 2.0 + libm::sqrt(variance) * rng.normal());
        Time::from_ps(draw as u64)
    }
}

/// The parameters of a kernel that manages memory like Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxConfig {
    /// Number of page frames for programs and files.
    pub frames: u32,
    /// Start of a fault: the exception and the lookup of the area and the page.
    pub fault: Cost,
    /// Mapping a page that is in memory, and returning to the program.
    pub map: Cost,
    /// A system call: entry, the file system's path to the page cache, and return.
    pub call: Cost,
    /// Allocating a frame, and clearing it or adding it to the page cache.
    pub page: Cost,
    /// Submitting a command to the drive: file system, block layer, and driver up to the doorbell.
    pub submit: Cost,
    /// Holding the lock of the drive's only queue for a submission; zero if every core has a queue.
    pub lock: Cost,
    /// Completing a command: interrupt, driver, block layer, and unlocking its pages.
    pub complete: Cost,
    /// Number of cores that handle completions, one at a time each: the interrupt vectors of the driver.
    pub vectors: u16,
    /// Waking up and switching to the waiting thread.
    pub wake: Cost,
    /// Size of the first and of the longest readahead window, in pages.
    pub readahead: (u32, u32),
    /// Number of misses minus hits of mapped files beyond which faults no longer read around.
    pub mapped_misses: u32,
    /// Number of pages that are swapped in together, a power of two.
    pub swap_cluster: u32,
    /// Dirty file pages per 1,024 frames beyond which write-back starts, and beyond which writers wait.
    pub dirty: (u32, u32),
    /// Maximum number of pages per command.
    pub command_pages: u32,
    /// Number of pages that an fsync adds to the journal.
    pub journal_pages: u32,
}

impl LinuxConfig {
    /// Returns the number of free frames below which reclaim starts, and up to which it continues. Linux derives them
    /// from `min_free_kbytes`, the square root of 16 times the memory size in kilobytes.
    pub fn watermarks(&self) -> (u32, u32) {
        let kilobytes = u64::from(self.frames) * 4;
        let min = ((kilobytes * 16).isqrt() / 4).clamp(8, u64::from(self.frames / 16).max(8)) as u32;
        (min + min / 4, min + min / 2)
    }
}
