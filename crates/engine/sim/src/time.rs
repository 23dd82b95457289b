//! Simulated time.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An instant since the start of a run, or a span between two instants, in whole picoseconds.
///
/// 64 bits hold 213 days. The unit is picoseconds because a DDR clock is not a whole number of nanoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of a run, or an empty span.
    pub const ZERO: Time = Time(0);
    /// An instant after all events.
    pub const MAX: Time = Time(u64::MAX);

    /// Returns `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Returns `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }

    /// Returns `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    /// Returns `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Time {
        Time(ms * 1_000_000_000)
    }

    /// Returns `s` seconds.
    #[inline]
    pub const fn from_s(s: u64) -> Time {
        Time(s * 1_000_000_000_000)
    }

    /// Returns the whole picosecond nearest to `s` seconds. Meant for configuration, not for hot paths.
    ///
    /// # Panics
    /// Panics if `s` is negative, not a number, or beyond 213 days.
    pub fn from_secs_f64(s: f64) -> Time {
        let ps = (s * 1e12).round();
        assert!(ps >= 0.0 && ps < u64::MAX as f64, "{s} s is not a simulated time");
        Time(ps as u64)
    }

    /// Returns the time of `bytes` at `bytes_per_s`, rounded up to a picosecond.
    ///
    /// # Panics
    /// Panics if `bytes_per_s` is zero.
    #[inline]
    pub const fn of_transfer(bytes: u64, bytes_per_s: u64) -> Time {
        Time((bytes as u128 * 1_000_000_000_000).div_ceil(bytes_per_s as u128) as u64)
    }

    /// Returns the time in whole picoseconds.
    #[inline]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Returns the time in whole nanoseconds, rounded down.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the time in microseconds, with its fraction.
    pub fn us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the time in seconds, with its fraction.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns `self - earlier`, or zero if `earlier` is later.
    #[inline]
    pub const fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    /// Returns `self + span`, or [`Time::MAX`] on overflow.
    #[inline]
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, earlier: Time) -> Time {
        debug_assert!(self.0 >= earlier.0, "{self} is before {earlier}");
        Time(self.0.wrapping_sub(earlier.0))
    }
}

impl SubAssign for Time {
    #[inline]
    fn sub_assign(&mut self, span: Time) {
        *self = *self - span;
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    #[inline]
    fn mul(self, times: u64) -> Time {
        Time(self.0 * times)
    }
}

impl Div<u64> for Time {
    type Output = Time;
    #[inline]
    fn div(self, parts: u64) -> Time {
        Time(self.0 / parts)
    }
}

impl fmt::Display for Time {
    /// Formats in the largest unit that keeps the number at 1 or more, with at most three decimals: `25us`, `1.536ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let (scale, unit) = UNITS.into_iter().find(|(scale, _)| self.0 >= *scale).unwrap_or((1, "ps"));
        let text = format!("{:.3}", self.0 as f64 / scale as f64);
        write!(f, "{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_rounds_up_and_is_exact_where_it_can_be() {
        assert_eq!(Time::of_transfer(4096, 1_000_000_000), Time::from_ns(4096));
        assert_eq!(Time::of_transfer(1, 3_000_000_000), Time::from_ps(334));
        assert_eq!(Time::of_transfer(0, 7), Time::ZERO);
    }

    #[test]
    fn display_picks_a_readable_unit() {
        assert_eq!(Time::from_ps(1_536_000_000).to_string(), "1.536ms");
        assert_eq!(Time::from_us(25).to_string(), "25us");
        assert_eq!(Time::ZERO.to_string(), "0s");
        assert_eq!([1, 999].map(|ps| Time::from_ps(ps).to_string()), ["1ps", "999ps"]);
    }
}
