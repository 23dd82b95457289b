//! A kernel that keeps all files in memory and evicts nothing, which leaves only the cost of the software.

use media::{Act, Step};
use sim::{Rng, Streams, Time};

use super::config::LinuxConfig;
use super::{Area, AreaKind};
use crate::cpu::{Kernel, PAGE};

/// State of a page of a mapped file before its first use. Other states are 0 (mapped) and the following one.
const UNMAPPED: u8 = 1;
const ABSENT: u8 = 2;

/// A kernel whose memory is always resident. System calls cost the same as elsewhere, and so does the first use of a
/// page: mapping it, and also allocating a frame if it is a program's own. Uses only `call`, `write`, `fault`, `map` and
/// `page` of [`LinuxConfig`].
#[derive(Clone, Debug)]
pub struct Resident {
    config: LinuxConfig,
    rng: Rng,
    /// The state of each page: 0, [`UNMAPPED`] or [`ABSENT`].
    pages: Vec<u8>,
    faults: u64,
    calls: u64,
}

impl Resident {
    /// Creates a kernel for the given areas.
    pub fn new(config: LinuxConfig, areas: &[Area], streams: &Streams) -> Resident {
        let end = areas.iter().map(|area| area.first + area.pages).max().unwrap_or(0);
        let mut pages = vec![0; end as usize];
        for area in areas {
            let state = match area.kind {
                AreaKind::Anonymous => ABSENT,
                AreaKind::Mapped => UNMAPPED,
                AreaKind::File => 0,
            };
            pages[area.first as usize..(area.first + area.pages) as usize].fill(state);
        }
        Resident { config, rng: streams.stream("host.linux"), pages, faults: 0, calls: 0 }
    }

    /// Sets up memory that was written before, and is mapped.
    pub fn was_written(&mut self, first: u64, pages: u64) {
        self.pages[first as usize..(first + pages) as usize].fill(0);
    }

    /// Resets the statistics.
    pub fn reset_stats(&mut self) {
        (self.faults, self.calls) = (0, 0);
    }

    /// Returns the number of faults and of system calls.
    pub fn counted(&self) -> (u64, u64) {
        (self.faults, self.calls)
    }
}

impl Kernel for Resident {
    fn translate(&mut self, _: u16, page: u64, _: bool) -> Option<u64> {
        // Addresses beyond the areas belong to the ends of their last pages.
        (self.pages.get(page as usize).copied().unwrap_or(0) == 0).then_some(page)
    }

    fn fault(&mut self, now: Time, _: u16, page: u64, _: bool) -> Option<Time> {
        self.faults += 1;
        let state = std::mem::take(&mut self.pages[page as usize]);
        let mut at =
            now + self.config.draw(self.config.fault, &mut self.rng) + self.config.draw(self.config.map, &mut self.rng);
        if state == ABSENT {
            at += self.config.draw(self.config.page, &mut self.rng);
        }
        Some(at)
    }

    fn call(&mut self, now: Time, _: u16, step: &Step) -> Option<Time> {
        self.calls += 1;
        let mut at = now + self.config.draw(self.config.call, &mut self.rng);
        if step.act == Act::Write && step.bytes > 0 {
            for _ in step.address / PAGE..(step.address + u64::from(step.bytes)).div_ceil(PAGE) {
                at += self.config.draw(self.config.write, &mut self.rng);
            }
        }
        Some(at)
    }
}
