//! Turns of the parallel units at programs of the host, without the parallel units where the host is known to wait for copies.

/// Parallel units in rotation.
///
/// A parallel unit in which the host waits for copies leaves the rotation until something that may change this happens there, so
/// that a search for room costs what the other parallel units cost. A parallel unit may rejoin without cause: the next search finds out.
pub(crate) struct Turns {
    next: u32,
    parallel_units: u32,
    /// One bit per parallel unit: set where the host waits.
    waiting: Vec<u64>,
}

impl Turns {
    /// All of `parallel_units` take part; the first is next.
    pub(crate) fn new(parallel_units: u32) -> Turns {
        Turns { next: 0, parallel_units, waiting: vec![0; parallel_units.div_ceil(64) as usize] }
    }

    /// The parallel units that one search looks through, as two ranges: those from the next one on, then the others.
    #[inline]
    pub(crate) fn search(&self) -> [(u32, u32); 2] {
        [(self.next, self.parallel_units), (0, self.next)]
    }

    /// The first parallel unit in the rotation from `from` on and below `end`.
    #[inline]
    pub(crate) fn first(&self, mut from: u32, end: u32) -> Option<u32> {
        while from < end {
            let open = !self.waiting[from as usize / 64] >> (from % 64);
            if open != 0 {
                return Some(from + open.trailing_zeros()).filter(|pu| *pu < end);
            }
            from = (from / 64 + 1) * 64;
        }
        None
    }

    /// `pu` took a program: the one after it is next.
    #[inline]
    pub(crate) fn took(&mut self, pu: u32) {
        self.next = if pu + 1 == self.parallel_units { 0 } else { pu + 1 };
    }

    /// The host waits for copies in `pu`.
    #[inline]
    pub(crate) fn suspend(&mut self, pu: u32) {
        self.waiting[pu as usize / 64] |= 1 << (pu % 64);
    }

    /// The host may no longer wait in `pu`.
    #[inline]
    pub(crate) fn rejoin(&mut self, pu: u32) {
        self.waiting[pu as usize / 64] &= !(1 << (pu % 64));
    }

    /// The host may no longer wait in any parallel unit.
    pub(crate) fn rejoin_all(&mut self) {
        self.waiting.fill(0);
    }

    /// True if `pu` has left the rotation.
    #[inline]
    pub(crate) fn waits(&self, pu: u32) -> bool {
        self.waiting[pu as usize / 64] >> (pu % 64) & 1 != 0
    }

    /// True if some parallel unit has.
    #[inline]
    pub(crate) fn any_waits(&self) -> bool {
        self.waiting.iter().any(|word| *word != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;

    /// The parallel units that a search finds, in order.
    fn found(turns: &Turns) -> Vec<u32> {
        let mut found = Vec::new();
        for (mut from, end) in turns.search() {
            while let Some(pu) = turns.first(from, end) {
                found.push(pu);
                from = pu + 1;
            }
        }
        found
    }

    #[test]
    fn a_search_visits_each_lane_once_from_the_next_on() {
        for parallel_units in [1, 2, 63, 64, 65, 130] {
            let mut turns = Turns::new(parallel_units);
            for took in [0, parallel_units / 2, parallel_units - 1] {
                turns.took(took);
                let expected: Vec<u32> = (1..=parallel_units).map(|i| (took + i) % parallel_units).collect();
                assert_eq!(found(&turns), expected);
            }
        }
    }

    #[test]
    fn a_search_leaves_out_the_lanes_that_wait() {
        let mut turns = Turns::new(130);
        turns.took(99);
        for pu in (0..130).filter(|pu| pu % 43 != 0) {
            turns.suspend(pu);
        }
        assert_eq!(found(&turns), [129, 0, 43, 86]);
        turns.rejoin(100);
        assert_eq!(found(&turns), [100, 129, 0, 43, 86]);
        assert!(turns.any_waits() && turns.waits(99) && !turns.waits(100));
        turns.rejoin_all();
        assert!(!turns.any_waits() && found(&turns).len() == 130);
    }
}
