//! Write volume and idle gaps of a trace.

use sim::Time;

/// Gaps between a trace's requests, grouped by length, and the number of bytes written.
#[derive(Clone, Debug)]
pub struct Pauses {
    /// Bytes written.
    pub written: u64,
    /// Number and sum of the gaps from 2^i up to 2^(i+1) picoseconds.
    gaps: Vec<(u64, Time)>,
    last: Time,
}

impl Pauses {
    pub(crate) fn new() -> Pauses {
        Pauses { written: 0, gaps: vec![(0, Time::ZERO); 64], last: Time::ZERO }
    }

    /// Records a request at `at` that writes `written` bytes.
    pub(crate) fn add(&mut self, at: Time, written: u64) {
        let gap = at.saturating_sub(self.last);
        self.last = self.last.max(at);
        self.written += written;
        if gap > Time::ZERO {
            let (count, sum) = &mut self.gaps[gap.ps().ilog2() as usize];
            (*count, *sum) = (*count + 1, *sum + gap);
        }
    }

    /// Returns the total of all gaps beyond the first `idle` of each. This is a lower bound: gaps are grouped by
    /// octave.
    pub fn beyond(&self, idle: Time) -> Time {
        let longer = self.gaps.iter().skip(idle.ps().max(1).next_power_of_two().ilog2() as usize);
        longer.fold(Time::ZERO, |all, (count, sum)| all + sum.saturating_sub(idle * *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_gaps_are_pauses() {
        let mut pauses = Pauses::new();
        for ms in [1, 2, 3, 103, 104, 204] {
            pauses.add(Time::from_ms(ms), 4096);
        }
        assert_eq!(pauses.written, 6 * 4096);
        assert_eq!(pauses.beyond(Time::from_ms(10)), Time::from_ms(180));
        assert_eq!(pauses.beyond(Time::from_ms(1000)), Time::ZERO);
    }
}
