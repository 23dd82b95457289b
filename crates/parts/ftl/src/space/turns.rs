//! Rotation of host programs over the parallel units, except those known to be throttled.

/// Parallel units in rotation.
///
/// A parallel unit in which the host waits for copies leaves the rotation until an event there may change this, so that
/// a search for room visits only the others. A parallel unit may rejoin too early: the next search checks it again.
pub(crate) struct Turns {
    next: u32,
    parallel_units: u32,
    /// One bit per parallel unit, set if the host waits there.
    waiting: Vec<u64>,
}

impl Turns {
    /// Creates a rotation of all `parallel_units`, beginning with the first.
    pub(crate) fn new(parallel_units: u32) -> Turns {
        Turns { next: 0, parallel_units, waiting: vec![0; parallel_units.div_ceil(64) as usize] }
    }

    /// Returns the parallel units that one search visits, as two ranges: those from the next one on, then the others.
    #[inline]
    pub(crate) fn search(&self) -> [(u32, u32); 2] {
        [(self.next, self.parallel_units), (0, self.next)]
    }

    /// Returns the first parallel unit in the rotation from `from` on and below `end`.
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

    /// Advances the rotation past `pu`, which took a program.
    #[inline]
    pub(crate) fn took(&mut self, pu: u32) {
        self.next = if pu + 1 == self.parallel_units { 0 } else { pu + 1 };
    }

    /// Removes `pu`, where the host waits for copies, from the rotation.
    #[inline]
    pub(crate) fn suspend(&mut self, pu: u32) {
        self.waiting[pu as usize / 64] |= 1 << (pu % 64);
    }

    /// Returns `pu` to the rotation.
    #[inline]
    pub(crate) fn rejoin(&mut self, pu: u32) {
        self.waiting[pu as usize / 64] &= !(1 << (pu % 64));
    }

    /// Returns all parallel units to the rotation.
    pub(crate) fn rejoin_all(&mut self) {
        self.waiting.fill(0);
    }

    /// Returns true if `pu` has left the rotation.
    #[inline]
    pub(crate) fn waits(&self, pu: u32) -> bool {
        self.waiting[pu as usize / 64] >> (pu % 64) & 1 != 0
    }

    /// Returns true if any parallel unit has left the rotation.
    #[inline]
    pub(crate) fn any_waits(&self) -> bool {
        self.waiting.iter().any(|word| *word != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;

    /// Returns the parallel units that a search visits, in order.
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
