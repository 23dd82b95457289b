//! Turns of the lanes at programs of the host, without the lanes where the host is known to wait for copies.

/// Lanes in rotation.
///
/// A lane in which the host waits for copies leaves the rotation until something that may change this happens there, so
/// that a search for room costs what the other lanes cost. A lane may rejoin without cause: the next search finds out.
pub(crate) struct Turns {
    next: u32,
    lanes: u32,
    /// One bit per lane: set where the host waits.
    waiting: Vec<u64>,
}

impl Turns {
    /// All of `lanes` take part; the first is next.
    pub(crate) fn new(lanes: u32) -> Turns {
        Turns { next: 0, lanes, waiting: vec![0; lanes.div_ceil(64) as usize] }
    }

    /// The lanes that one search looks through, as two ranges: those from the next one on, then the others.
    #[inline]
    pub(crate) fn search(&self) -> [(u32, u32); 2] {
        [(self.next, self.lanes), (0, self.next)]
    }

    /// The first lane in the rotation from `from` on and below `end`.
    #[inline]
    pub(crate) fn first(&self, mut from: u32, end: u32) -> Option<u32> {
        while from < end {
            let open = !self.waiting[from as usize / 64] >> (from % 64);
            if open != 0 {
                return Some(from + open.trailing_zeros()).filter(|lane| *lane < end);
            }
            from = (from / 64 + 1) * 64;
        }
        None
    }

    /// `lane` took a program: the one after it is next.
    #[inline]
    pub(crate) fn took(&mut self, lane: u32) {
        self.next = if lane + 1 == self.lanes { 0 } else { lane + 1 };
    }

    /// The host waits for copies in `lane`.
    #[inline]
    pub(crate) fn suspend(&mut self, lane: u32) {
        self.waiting[lane as usize / 64] |= 1 << (lane % 64);
    }

    /// The host may no longer wait in `lane`.
    #[inline]
    pub(crate) fn rejoin(&mut self, lane: u32) {
        self.waiting[lane as usize / 64] &= !(1 << (lane % 64));
    }

    /// The host may no longer wait in any lane.
    pub(crate) fn rejoin_all(&mut self) {
        self.waiting.fill(0);
    }

    /// True if `lane` has left the rotation.
    #[inline]
    pub(crate) fn waits(&self, lane: u32) -> bool {
        self.waiting[lane as usize / 64] >> (lane % 64) & 1 != 0
    }

    /// True if some lane has.
    #[inline]
    pub(crate) fn any_waits(&self) -> bool {
        self.waiting.iter().any(|word| *word != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;

    /// The lanes that a search finds, in order.
    fn found(turns: &Turns) -> Vec<u32> {
        let mut found = Vec::new();
        for (mut from, end) in turns.search() {
            while let Some(lane) = turns.first(from, end) {
                found.push(lane);
                from = lane + 1;
            }
        }
        found
    }

    #[test]
    fn a_search_visits_each_lane_once_from_the_next_on() {
        for lanes in [1, 2, 63, 64, 65, 130] {
            let mut turns = Turns::new(lanes);
            for took in [0, lanes / 2, lanes - 1] {
                turns.took(took);
                let expected: Vec<u32> = (1..=lanes).map(|i| (took + i) % lanes).collect();
                assert_eq!(found(&turns), expected);
            }
        }
    }

    #[test]
    fn a_search_leaves_out_the_lanes_that_wait() {
        let mut turns = Turns::new(130);
        turns.took(99);
        for lane in (0..130).filter(|lane| lane % 43 != 0) {
            turns.suspend(lane);
        }
        assert_eq!(found(&turns), [129, 0, 43, 86]);
        turns.rejoin(100);
        assert_eq!(found(&turns), [100, 129, 0, 43, 86]);
        assert!(turns.any_waits() && turns.waits(99) && !turns.waits(100));
        turns.rejoin_all();
        assert!(!turns.any_waits() && found(&turns).len() == 130);
    }
}
