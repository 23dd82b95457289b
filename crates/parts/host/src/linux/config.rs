//! What a kernel's steps cost, and how it manages memory.

use sim::{Rng, Time};

/// A step's processor time: log-normal, by mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Mean.
    pub mean: Time,
    /// Standard deviation; zero: always the mean.
    pub deviation: Time,
}

impl Cost {
    /// Always the same.
    pub fn fixed(mean: Time) -> Cost {
        Cost { mean, deviation: Time::ZERO }
    }

    /// A draw.
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

/// A kernel that manages memory as Linux does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxConfig {
    /// Page frames for programs and files.
    pub frames: u32,
    /// A fault: exception, finding the area and the page.
    pub fault: Cost,
    /// Mapping a page that is there, and the return to the program.
    pub map: Cost,
    /// A system call: entry, the file system's path to the page cache, return.
    pub call: Cost,
    /// A frame: allocated, cleared or entered into the page cache.
    pub page: Cost,
    /// A command to the drive: file system, block layer, driver up to the doorbell.
    pub submit: Cost,
    /// A command's end: interrupt, driver, block layer, unlocking its pages.
    pub complete: Cost,
    /// Cores that ends of commands come to, one after another on each: the interrupt vectors of the driver.
    pub vectors: u16,
    /// The wake-up of who waits for it, and the switch to it.
    pub wake: Cost,
    /// Pages of the first readahead, and of the longest.
    pub readahead: (u32, u32),
    /// Misses of a mapped file, less its hits, beyond which faults do not read around.
    pub mapped_misses: u32,
    /// Pages that are swapped in together, a power of two.
    pub swap_cluster: u32,
    /// Dirty pages of files, of 1,024 frames, beyond which they are written back, and beyond which writers wait.
    pub dirty: (u32, u32),
    /// Pages of a command at most.
    pub command_pages: u32,
    /// Pages that fsync adds to the journal.
    pub journal_pages: u32,
}

impl LinuxConfig {
    /// Free frames below which memory is reclaimed, and up to which: as Linux derives them from `min_free_kbytes`, the square
    /// root of 16 times the kilobytes of memory.
    pub fn watermarks(&self) -> (u32, u32) {
        let kilobytes = u64::from(self.frames) * 4;
        let min = ((kilobytes * 16).isqrt() / 4).clamp(8, u64::from(self.frames / 16).max(8)) as u32;
        (min + min / 4, min + min / 2)
    }
}
