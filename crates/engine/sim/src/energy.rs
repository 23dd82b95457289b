//! Energy without rounding: whole attojoules in 128 bits.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

use crate::Time;

/// An amount of energy. One microwatt for one picosecond is one attojoule, so power times time is exact, and 10^12
/// events of one joule each still fit with several decimal digits to spare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Energy {
    attojoules: u128,
}

impl Energy {
    /// Zero energy.
    pub const ZERO: Energy = Energy { attojoules: 0 };

    /// Returns the energy of `microwatts` drawn for `span`.
    #[inline]
    pub const fn of_power(microwatts: u64, span: Time) -> Energy {
        Energy { attojoules: microwatts as u128 * span.ps() as u128 }
    }

    /// Returns `pj` picojoules.
    #[inline]
    pub const fn from_pj(pj: u64) -> Energy {
        Energy { attojoules: pj as u128 * 1_000_000 }
    }

    /// Returns `aj` attojoules.
    #[inline]
    pub const fn from_aj(aj: u128) -> Energy {
        Energy { attojoules: aj }
    }

    /// Returns `part` of `whole` equal shares, rounded down.
    pub const fn share(self, part: u64, whole: u64) -> Energy {
        let (all, part, whole) = (self.attojoules, part as u128, whole as u128);
        Energy { attojoules: all / whole * part + all % whole * part / whole }
    }

    /// Returns the energy in picojoules, with its fraction.
    pub fn pj_f64(self) -> f64 {
        self.attojoules as f64 / 1e6
    }

    /// Returns the energy in joules, with its fraction.
    pub fn joules(self) -> f64 {
        self.attojoules as f64 / 1e18
    }
}

impl Add for Energy {
    type Output = Energy;
    #[inline]
    fn add(self, more: Energy) -> Energy {
        Energy { attojoules: self.attojoules + more.attojoules }
    }
}

impl AddAssign for Energy {
    #[inline]
    fn add_assign(&mut self, more: Energy) {
        self.attojoules += more.attojoules;
    }
}

impl Sub for Energy {
    type Output = Energy;

    /// Returns the energy drawn between two readings of the same counter.
    fn sub(self, earlier: Energy) -> Energy {
        Energy { attojoules: self.attojoules - earlier.attojoules }
    }
}

impl Mul<u64> for Energy {
    type Output = Energy;
    #[inline]
    fn mul(self, times: u64) -> Energy {
        Energy { attojoules: self.attojoules * u128::from(times) }
    }
}

impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pj = self.pj_f64();
        let (scale, unit) = match pj {
            x if x >= 1e12 => (1e12, "J"),
            x if x >= 1e9 => (1e9, "mJ"),
            x if x >= 1e6 => (1e6, "uJ"),
            x if x >= 1e3 => (1e3, "nJ"),
            _ => (1.0, "pJ"),
        };
        write!(f, "{:.3}{unit}", pj / scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trillion_small_events_add_up_exactly() {
        let one = Energy::of_power(3, Time::from_ps(7));
        let mut sum = Energy::ZERO;
        for _ in 0..1000 {
            sum += one;
        }
        assert_eq!(sum, Energy::of_power(3000, Time::from_ps(7)));
        assert_eq!(one * 1000, sum);
        assert_eq!(Energy::of_power(1_000_000, Time::from_s(1)).joules(), 1.0);
    }

    #[test]
    fn an_energy_is_shown_in_the_largest_unit_of_which_it_has_one() {
        let shown = |pj: u64| Energy::of_power(pj, Time::from_us(1)).to_string();
        assert_eq!([1, 999, 1000].map(shown), ["1.000pJ", "999.000pJ", "1.000nJ"]);
        assert_eq!([999_999, 1_000_000].map(shown), ["999.999nJ", "1.000uJ"]);
        assert_eq!([1_000_000_000, 1_000_000_000_000].map(shown), ["1.000mJ", "1.000J"]);
    }
}
