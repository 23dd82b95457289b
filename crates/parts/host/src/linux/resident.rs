//! A kernel whose files are memory, and which nothing ever has to leave: what is left of the software.

use media::Step;
use sim::{Rng, Streams, Time};

use super::config::LinuxConfig;
use super::{Area, AreaKind};
use crate::cpu::Kernel;

/// What its pages are before they are first used.
const UNMAPPED: u8 = 1;
const ABSENT: u8 = 2;

/// Calls cost what they cost elsewhere, and so does the first use of a page: of a mapped file's it is mapped, of a program's own
/// a frame is found for it too. Of [`LinuxConfig`] it heeds `call`, `fault`, `map` and `page`.
#[derive(Clone, Debug)]
pub struct Resident {
    config: LinuxConfig,
    rng: Rng,
    /// Of each page what is still to be done: nothing, [`UNMAPPED`] or [`ABSENT`].
    pages: Vec<u8>,
    faults: u64,
    calls: u64,
}

impl Resident {
    /// A kernel for these areas.
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

    /// Memory from page `first` on was written before, and is mapped.
    pub fn was_written(&mut self, first: u64, pages: u64) {
        self.pages[first as usize..(first + pages) as usize].fill(0);
    }

    /// What was done so far is not to be counted.
    pub fn reset_stats(&mut self) {
        (self.faults, self.calls) = (0, 0);
    }

    /// Faults, and calls.
    pub fn counted(&self) -> (u64, u64) {
        (self.faults, self.calls)
    }
}

impl Kernel for Resident {
    #[inline(always)]
    fn translate(&mut self, _: u16, page: u64, _: bool) -> Option<u64> {
        // Beyond the areas there are the ends of their last pages.
        (self.pages.get(page as usize).copied().unwrap_or(0) == 0).then_some(page)
    }

    fn fault(&mut self, now: Time, _: u16, page: u64, _: bool) -> Option<Time> {
        self.faults += 1;
        let state = std::mem::take(&mut self.pages[page as usize]);
        let mut at = now + self.config.fault.draw(&mut self.rng) + self.config.map.draw(&mut self.rng);
        if state == ABSENT {
            at += self.config.page.draw(&mut self.rng);
        }
        Some(at)
    }

    fn call(&mut self, now: Time, _: u16, _: &Step) -> Option<Time> {
        self.calls += 1;
        Some(now + self.config.call.draw(&mut self.rng))
    }
}
