//! On-chip SRAM whose frames hold pages of code.

use keys::{POWER, SIZE, TIME, given, section};
use sim::{Energy, Time};

const SRAM: &str = "xip: Table 3, a line of 16 bytes from SRAM in 40 ns at 100 MHz";

section! {
    /// On-chip SRAM with one port, into which pages are moved.
    #[derive(Copy, Eq)]
    SramConfig {
        "host.sram.size" size: u64 = SIZE.within(512.0, 1073741824.0),
            given("4KiB", "xip: 5.1, the smallest of 4, 8, 16 and 32 KB"),
            "Total size of the page frames in bytes.",
            when "link.type" is "onenand";
        "host.sram.access" access: Time = TIME.within(1.0, 1e9),
            given("10ns", SRAM),
            "Access time.",
            when "link.type" is "onenand";
        "host.sram.width" width: u64 = SIZE.within(1.0, 64.0),
            given("4B", SRAM),
            "Bytes per access.",
            when "link.type" is "onenand";
        "host.sram.power" power_uw: u64 = POWER,
            given("44.75mW", "xip: Table 3, 1.79 nJ per line"),
            "Power during accesses.",
            when "link.type" is "onenand";
    }
}

impl SramConfig {
    /// Returns the number of frames for pages of `page` bytes.
    pub fn frames(&self, page: u64) -> u32 {
        u32::try_from(self.size / page).expect("SRAM is at most 1 GiB")
    }
}

/// The frames and the cost of accesses to them.
#[derive(Clone, Debug)]
pub struct Sram {
    config: SramConfig,
    frames: u32,
    /// True for pages that have a frame.
    holds: Vec<bool>,
    used: u32,
    busy: Time,
}

impl Sram {
    /// Creates empty frames for pages of `page` bytes.
    ///
    /// # Panics
    /// Panics if there are no frames or the width is zero.
    pub fn new(config: &SramConfig, page: u64) -> Sram {
        let frames = config.frames(page);
        assert!(frames > 0 && config.width > 0, "no SRAM: {config:?}");
        Sram { config: *config, frames, holds: Vec::new(), used: 0, busy: Time::ZERO }
    }

    /// Returns true if `page` is in a frame.
    pub fn holds(&self, page: u32) -> bool {
        self.holds.get(page as usize).is_some_and(|&holds| holds)
    }

    /// Assigns a frame to `page`.
    ///
    /// # Panics
    /// Panics if the page already has one, or none is free.
    pub fn put(&mut self, page: u32) {
        assert!(!self.holds(page), "page {page} is in SRAM twice");
        assert!(self.used < self.frames, "no frame is free for page {page}");
        if page as usize >= self.holds.len() {
            self.holds.resize(page as usize + 1, false);
        }
        self.holds[page as usize] = true;
        self.used += 1;
    }

    /// Frees the frame of `page`.
    ///
    /// # Panics
    /// Panics if the page has none.
    pub fn discard(&mut self, page: u32) {
        assert!(self.holds(page), "page {page} is not in SRAM");
        self.holds[page as usize] = false;
        self.used -= 1;
    }

    /// Reads or writes `bytes`. Returns the time for which the port is busy.
    pub fn access(&mut self, bytes: u64) -> Time {
        let time = self.config.access * bytes.div_ceil(self.config.width);
        self.busy += time;
        time
    }

    /// Returns the busy time of the port.
    pub fn busy(&self) -> Time {
        self.busy
    }

    /// Returns the energy of all accesses.
    pub fn energy(&self) -> Energy {
        Energy::of_power(self.config.power_uw, self.busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_and_freed_and_accesses_add_up() {
        let mut sram = Sram::new(&SramConfig { size: 512, access: Time::from_ns(10), width: 4, power_uw: 44_750 }, 512);
        assert!(!sram.holds(3));
        sram.put(3);
        assert!(sram.holds(3));
        sram.discard(3);
        sram.put(4);
        assert_eq!((sram.holds(3), sram.holds(4)), (false, true));
        assert_eq!(sram.access(16), Time::from_ns(40));
        assert_eq!(sram.energy(), Energy::from_pj(1_790));
        assert_eq!(sram.access(1), Time::from_ns(10));
        assert_eq!(sram.busy(), Time::from_ns(50));
    }

    #[test]
    #[should_panic(expected = "no frame is free for page 1")]
    fn a_full_sram_takes_nothing() {
        let mut sram = Sram::new(&SramConfig { size: 512, access: Time::from_ns(10), width: 4, power_uw: 0 }, 512);
        sram.put(0);
        sram.put(1);
    }
}
