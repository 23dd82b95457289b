//! The exact memory clock: its period is a ratio of picoseconds, so that DDR4-2400 does not drift from 1200 MHz.

use sim::{Energy, Time};

/// A clock whose edge `n` is at `n * numerator / denominator` picoseconds, rounded up to a whole picosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    numerator: u64,
    denominator: u64,
}

impl Clock {
    /// Creates a clock with a period of `numerator / denominator` picoseconds.
    ///
    /// # Panics
    /// Panics if either is zero, the numerator exceeds a million, or the period exceeds 100 ns.
    pub fn new(numerator: u64, denominator: u64) -> Clock {
        assert!(numerator > 0 && denominator > 0, "a clock of {numerator}/{denominator} ps");
        assert!(
            numerator <= 1_000_000 && numerator / denominator <= 100_000,
            "a clock of {numerator}/{denominator} ps"
        );
        Clock { numerator, denominator }
    }

    /// Returns the time of edge `cycle`.
    #[inline]
    pub fn time(self, cycle: u64) -> Time {
        if self.denominator == 1 {
            return Time::from_ps(cycle * self.numerator);
        }
        Time::from_ps((cycle * self.numerator).div_ceil(self.denominator))
    }

    /// Returns the first edge at or after `time`.
    #[inline]
    pub fn at_or_after(self, time: Time) -> u64 {
        self.scaled(time).div_ceil(self.numerator)
    }

    /// Returns the last edge at or before `time`.
    #[inline]
    pub fn at_or_before(self, time: Time) -> u64 {
        self.scaled(time) / self.numerator
    }

    #[inline]
    fn scaled(self, time: Time) -> u64 {
        time.ps() * self.denominator
    }

    /// Returns the period in picoseconds, with its fraction.
    pub fn period_ps(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Returns the energy of `devices` that each draw `nanowatt_clocks` (a power times clocks).
    pub(crate) fn energy(self, nanowatt_clocks: u128, devices: u32) -> Energy {
        // A nanowatt for a picosecond is a thousandth of an attojoule.
        let over = nanowatt_clocks * u128::from(devices) * u128::from(self.numerator);
        Energy::from_aj(over / (u128::from(self.denominator) * 1000))
    }

    /// Returns the clocks that cover `ps`, of which `guardband_permille` of a clock may be missing (JESD79-4B 13.5:
    /// 25).
    pub(crate) fn covering(self, ps: u64, guardband_permille: u64) -> u64 {
        let (clocks, guard) = (ps * self.denominator * 1000, self.numerator * guardband_permille);
        clocks.saturating_sub(guard).div_ceil(self.numerator * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_and_times_agree() {
        for clock in [Clock::new(2500, 3), Clock::new(1250, 1), Clock::new(1875, 4)] {
            for cycle in (0..10_000).chain(1_000_000_000_000..1_000_000_000_100) {
                let time = clock.time(cycle);
                assert_eq!(
                    (clock.at_or_before(time), clock.at_or_after(time)),
                    (cycle, cycle + u64::from(time.ps() * clock.denominator > cycle * clock.numerator))
                );
            }
        }
    }
}
