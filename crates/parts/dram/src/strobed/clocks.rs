//! Edges of a clock of any rate.

use sim::Time;

/// Two transfers per clock.
const PS_PER_TWO_S: u128 = 2_000_000_000_000;

/// The clock of a bus, by its transfer rate. Edge `n` is at `2n / rate`, rounded up to a picosecond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    transfers_per_s: u64,
}

impl Clocks {
    pub fn new(transfers_per_s: u64) -> Clocks {
        // Edges at least a picosecond apart.
        let valid = 1..=2_000_000_000_000;
        assert!(valid.contains(&transfers_per_s), "a bus of {transfers_per_s} transfers per second");
        Clocks { transfers_per_s }
    }

    /// Returns the time of an edge.
    pub fn time(self, edge: u64) -> Time {
        Time::from_ps((u128::from(edge) * PS_PER_TWO_S).div_ceil(u128::from(self.transfers_per_s)) as u64)
    }

    /// Returns the first edge at or after `time`.
    pub fn at_or_after(self, time: Time) -> u64 {
        time.ps().checked_sub(1).map_or(0, |before| self.at_or_before(Time::from_ps(before)) + 1)
    }

    /// Returns the last edge at or before `time`.
    pub fn at_or_before(self, time: Time) -> u64 {
        (u128::from(time.ps()) * u128::from(self.transfers_per_s) / PS_PER_TWO_S) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_edge_is_found_again(rate in 1_000_000u64..10_000_000_000, edge in 0u64..1_000_000_000) {
            let clocks = Clocks::new(rate);
            let at = clocks.time(edge);
            prop_assert_eq!((clocks.at_or_before(at), clocks.at_or_after(at)), (edge, edge));
            let later = at + Time::from_ps(1);
            prop_assert_eq!((clocks.at_or_before(later), clocks.at_or_after(later)), (edge, edge + 1));
        }
    }

    #[test]
    fn ddr2_800_has_edges_every_2500_ps() {
        let clocks = Clocks::new(800_000_000);
        assert_eq!(clocks.time(3), Time::from_ps(7_500));
        assert_eq!([7_500, 7_501].map(|ps| clocks.at_or_after(Time::from_ps(ps))), [3, 4]);
        assert_eq!([7_499, 7_500].map(|ps| clocks.at_or_before(Time::from_ps(ps))), [2, 3]);
    }
}
