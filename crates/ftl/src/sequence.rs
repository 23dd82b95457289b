//! Programs under way, in the order they were issued.

use std::collections::VecDeque;

/// Numbers programs and knows the oldest that is not durable yet.
///
/// A block whose last valid unit was superseded by a program under way must not be erased before that program is
/// done: until then the old copy is the only durable one.
pub struct Sequence {
    /// Done or not, from `oldest` on.
    window: VecDeque<bool>,
    oldest: u64,
}

impl Sequence {
    /// Continues after `last`.
    pub fn after(last: u64) -> Sequence {
        Sequence { window: VecDeque::with_capacity(1024), oldest: last + 1 }
    }

    /// Number of the next program; it is under way from now on.
    #[inline]
    pub fn issue(&mut self) -> u64 {
        self.window.push_back(false);
        self.next() - 1
    }

    /// Number that the next program will get: greater than all issued so far.
    #[inline]
    pub fn next(&self) -> u64 {
        self.oldest + self.window.len() as u64
    }

    /// The program is durable; true if that moved [`oldest`](Self::oldest).
    #[inline]
    pub fn retire(&mut self, sequence: u64) -> bool {
        let at = (sequence - self.oldest) as usize;
        assert!(!self.window[at], "program {sequence} ended twice");
        self.window[at] = true;
        if at != 0 {
            return false;
        }
        while self.window.front() == Some(&true) {
            self.window.pop_front();
            self.oldest += 1;
        }
        true
    }

    /// All programs below this are durable.
    #[inline]
    pub fn oldest(&self) -> u64 {
        self.oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_waits_for_the_slowest() {
        let mut s = Sequence::after(9);
        assert_eq!((s.issue(), s.issue(), s.issue()), (10, 11, 12));
        assert!(!s.retire(11));
        assert_eq!(s.oldest(), 10);
        assert!(s.retire(10));
        assert_eq!(s.oldest(), 12);
        assert!(s.retire(12));
        assert_eq!((s.oldest(), s.next()), (13, 13));
    }
}
