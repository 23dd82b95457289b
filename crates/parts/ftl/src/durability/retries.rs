//! Failed programs that wait for room.

use media::OpId;

/// Failed programs that wait to be retried.
pub(crate) struct Retries {
    /// Those of each parallel unit.
    of: Vec<Vec<OpId>>,
    count: u32,
    /// Some were added since the last dispatch began.
    due: bool,
}

impl Retries {
    pub(crate) fn new(parallel_units: u32) -> Retries {
        Retries { of: vec![Vec::new(); parallel_units as usize], count: 0, due: false }
    }

    /// Adds the program `id` of `pu`, which failed.
    pub(super) fn add(&mut self, pu: u32, id: OpId) {
        self.of[pu as usize].push(id);
        self.count += 1;
        self.due = true;
    }

    /// Returns the program of `pu` to retry next, which failed last.
    pub(super) fn last(&self, pu: u32) -> Option<OpId> {
        self.of[pu as usize].last().copied()
    }

    /// Removes the program of `pu` that failed last, which is being retried.
    pub(super) fn take_last(&mut self, pu: u32) {
        let taken = self.of[pu as usize].pop();
        assert!(taken.is_some(), "no failed program of parallel unit {pu} is left");
        self.count -= 1;
    }

    /// Returns the number of programs.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns true if there are any.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count > 0
    }

    /// Returns true if no program of `pu` waits.
    pub(crate) fn none_in(&self, pu: u32) -> bool {
        self.of[pu as usize].is_empty()
    }

    /// Iterates over all programs, each with its parallel unit.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, OpId)> + '_ {
        (0..).zip(&self.of).flat_map(|(pu, of)| of.iter().map(move |id| (pu, *id)))
    }

    /// Returns true if the program `id` failed and waits.
    pub(super) fn has(&self, id: OpId) -> bool {
        self.all().any(|(_, other)| other == id)
    }

    /// Returns true if a dispatch should find room for a program.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_failed_last_is_retried_first() {
        let mut retries = Retries::new(2);
        retries.add(1, OpId(4));
        retries.add(1, OpId(9));
        retries.add(0, OpId(5));
        assert!(retries.is_due() && retries.has(OpId(4)) && !retries.has(OpId(1)));
        assert_eq!(retries.all().collect::<Vec<_>>(), [(0, OpId(5)), (1, OpId(4)), (1, OpId(9))]);
        assert_eq!(retries.last(1), Some(OpId(9)));
        retries.take_last(1);
        retries.take_last(1);
        assert!(retries.none_in(1) && !retries.none_in(0) && retries.any() && retries.count() == 1);
    }
}
