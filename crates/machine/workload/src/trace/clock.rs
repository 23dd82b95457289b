//! Converts a trace's timestamps to time since its first record.

use sim::Time;

/// Converts ticks of the trace's clock to [`Time`] and keeps it from running backwards.
///
/// Real traces contain small inversions, because requests are logged at completion or by several processors. A record
/// with an earlier timestamp than a preceding record gets that record's time, and is counted.
pub(crate) struct Clock {
    tick: Time,
    ticks_max: u64,
    first: Option<u64>,
    latest: u64,
    reordered: u64,
    // Whether all records so far were at whole seconds.
    whole: bool,
    // Records with the same time as the preceding one.
    together: u64,
}

impl Clock {
    /// Creates a clock whose zero is the first record.
    pub fn since_first(tick: Time) -> Clock {
        assert!(tick > Time::ZERO);
        Clock { tick, ticks_max: u64::MAX / tick.ps(), first: None, latest: 0, reordered: 0, whole: true, together: 0 }
    }

    /// Creates a clock whose zero is the trace's own zero.
    pub fn since_zero(tick: Time) -> Clock {
        Clock { first: Some(0), ..Clock::since_first(tick) }
    }

    /// Returns the time of a record at `ticks`, or `None` if it is more than 213 days from zero.
    pub fn at(&mut self, ticks: u64) -> Option<Time> {
        if self.whole {
            self.whole =
                (u128::from(ticks) * u128::from(self.tick.ps())).is_multiple_of(u128::from(Time::from_s(1).ps()));
        }
        let first = *self.first.get_or_insert(ticks);
        self.together += u64::from(self.latest > 0 && ticks.wrapping_sub(first) == self.latest);
        let since = ticks.saturating_sub(first);
        if ticks < first || since < self.latest {
            self.reordered += 1;
        } else {
            self.latest = since;
        }
        (self.latest <= self.ticks_max).then(|| self.tick * self.latest)
    }

    /// Returns the unit of the trace's clock.
    pub fn tick(&self) -> Time {
        self.tick
    }

    /// Returns whether the clock has seen a record.
    pub fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// Returns whether all records so far were at whole seconds, in more than one second, with some in the same second.
    pub fn counts_whole_seconds(&self) -> bool {
        self.whole && self.latest > 0 && self.together > 0
    }

    /// Returns the number of records that were moved forward.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_moved_forward_and_counted() {
        let mut clock = Clock::since_first(Time::from_us(1));
        let at: Vec<u64> = [100, 103, 101, 103, 90, 110].iter().map(|t| clock.at(*t).unwrap().ns() / 1000).collect();
        assert_eq!(at, [0, 3, 3, 3, 3, 10]);
        assert_eq!(clock.reordered(), 2);
    }

    #[test]
    fn the_first_record_may_have_the_later_timestamp() {
        let mut clock = Clock::since_first(Time::from_ns(1));
        assert_eq!(clock.at(5), Some(Time::ZERO));
        assert_eq!(clock.at(4), Some(Time::ZERO));
        assert_eq!(clock.reordered(), 1);
    }

    #[test]
    fn whole_seconds_are_detected() {
        let found = |ticks: &[u64], tick: Time| {
            let mut clock = Clock::since_first(tick);
            ticks.iter().for_each(|at| _ = clock.at(*at));
            clock.counts_whole_seconds()
        };
        let (s, us) = (Time::from_s(1), Time::from_us(1));
        assert!(found(&[7, 7, 8, 8], s) && found(&[0, 2_000_000, 2_000_000], us));
        assert!(!found(&[7, 7, 7], s), "simultaneous requests may be intended");
        assert!(!found(&[1, 2, 3], s), "one request per second lost no precision");
        assert!(!found(&[0, 2_000_000, 2_000_001], us));
    }

    #[test]
    fn times_beyond_the_run_clock_are_rejected() {
        let mut clock = Clock::since_first(Time::from_us(1));
        assert_eq!(clock.at(7), Some(Time::ZERO));
        assert_eq!(clock.at(u64::MAX / 1_000_000 + 8), None);
        let mut clock = Clock::since_zero(Time::from_us(1));
        assert_eq!(clock.at(7), Some(Time::from_us(7)));
    }
}
