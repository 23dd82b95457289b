//! The limit of programs that are under way at once on all dies, such as for want of power.

use std::collections::VecDeque;

use media::OpId;

/// Programs under way, and those that wait for one to end. These are in no queue of their die, which can do other things.
pub(crate) struct ProgramBudget {
    left: u32,
    waiting: VecDeque<u32>,
}

impl ProgramBudget {
    /// Creates a budget of `most` programs, or of any number.
    pub(crate) fn new(most: Option<u32>) -> ProgramBudget {
        ProgramBudget { left: most.unwrap_or(u32::MAX), waiting: VecDeque::new() }
    }

    /// Returns true if the program `id` may begin now. Otherwise, it waits.
    #[inline]
    pub(crate) fn begins(&mut self, id: OpId) -> bool {
        if self.left == 0 {
            self.waiting.push_back(id.0);
            return false;
        }
        self.left -= 1;
        true
    }

    /// Records that a program has ended. Returns the program that waited longest, which begins now.
    #[inline]
    pub(crate) fn ended(&mut self) -> Option<OpId> {
        let next = self.waiting.pop_front();
        self.left += u32::from(next.is_none());
        next.map(OpId)
    }
}
