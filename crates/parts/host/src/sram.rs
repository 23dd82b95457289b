//! On-chip SRAM whose frames hold pages of code.

use sim::{Energy, Time};

/// An SRAM with one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SramConfig {
    /// Page frames.
    pub frames: u32,
    /// Time of an access.
    pub access: Time,
    /// Bytes of an access.
    pub width: u64,
    /// Power while it is accessed, in microwatts.
    pub power_uw: u64,
}

/// The frames, and what accesses to them take.
#[derive(Clone, Debug)]
pub struct Sram {
    config: SramConfig,
    /// Whether page `p` has a frame.
    holds: Vec<bool>,
    used: u32,
    busy: Time,
}

impl Sram {
    /// Empty frames.
    ///
    /// # Panics
    /// If there is none, or an access is of no byte.
    pub fn new(config: &SramConfig) -> Sram {
        assert!(config.frames > 0 && config.width > 0, "no SRAM: {config:?}");
        Sram { config: *config, holds: Vec::new(), used: 0, busy: Time::ZERO }
    }

    /// Whether `page` is in a frame.
    pub fn holds(&self, page: u32) -> bool {
        self.holds.get(page as usize).is_some_and(|&holds| holds)
    }

    /// `page` has a frame.
    ///
    /// # Panics
    /// If it had one, or none is free.
    pub fn put(&mut self, page: u32) {
        assert!(!self.holds(page), "page {page} is in SRAM twice");
        assert!(self.used < self.config.frames, "no frame is free for page {page}");
        if page as usize >= self.holds.len() {
            self.holds.resize(page as usize + 1, false);
        }
        self.holds[page as usize] = true;
        self.used += 1;
    }

    /// The frame of `page` is free.
    ///
    /// # Panics
    /// If it has none.
    pub fn discard(&mut self, page: u32) {
        assert!(self.holds(page), "page {page} is not in SRAM");
        self.holds[page as usize] = false;
        self.used -= 1;
    }

    /// `bytes` are read or written: returns how long the port is busy with them.
    pub fn access(&mut self, bytes: u64) -> Time {
        let time = self.config.access * bytes.div_ceil(self.config.width);
        self.busy += time;
        time
    }

    /// How long the port was busy.
    pub fn busy(&self) -> Time {
        self.busy
    }

    /// What its accesses took.
    pub fn energy(&self) -> Energy {
        Energy::of_power(self.config.power_uw, self.busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_and_freed_and_accesses_add_up() {
        let mut sram = Sram::new(&SramConfig { frames: 1, access: Time::from_ns(10), width: 4, power_uw: 44_750 });
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
        let mut sram = Sram::new(&SramConfig { frames: 1, access: Time::from_ns(10), width: 4, power_uw: 0 });
        sram.put(0);
        sram.put(1);
    }
}
