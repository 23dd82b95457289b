//! Programs in progress, in order of issue.

use sim::Dense;

/// Numbers programs and tracks the oldest that is not durable.
///
/// A block whose last valid unit was superseded by a program in progress must not be erased before that program
/// completes: until then the old copy is the only durable one.
pub struct Sequence {
    /// One bit per program from `oldest` on, set while the program is in progress. A ring of words, a power of two in
    /// number; the bits of all other sequence numbers are zero.
    window: Dense<u64>,
    oldest: u64,
    next: u64,
}

/// Creates `count` zeroed words.
fn words(count: usize) -> Dense<u64> {
    Dense::new(vec![0; count])
}

impl Sequence {
    /// Continues after `last`.
    pub fn after(last: u64) -> Sequence {
        Sequence { window: words(16), oldest: last + 1, next: last + 1 }
    }

    /// Returns the word and bit mask of a program.
    #[inline]
    fn place(&mut self, sequence: u64) -> (&mut u64, u64) {
        let word = (sequence / 64) as usize & (self.window.len() - 1);
        // SAFETY: the window has a word or more, because it begins with some and only grows.
        (unsafe { self.window.get_unchecked_mut(word) }, 1 << (sequence % 64))
    }

    /// Assigns the sequence number of the next program, which is in progress from now on.
    #[inline]
    pub fn issue(&mut self) -> u64 {
        let sequence = self.next;
        if (sequence / 64 - self.oldest / 64) as usize == self.window.len() {
            self.widen();
        }
        let (word, bit) = self.place(sequence);
        *word |= bit;
        self.next += 1;
        sequence
    }

    fn widen(&mut self) {
        let mut wider = words(2 * self.window.len());
        for word in self.oldest / 64..self.next.div_ceil(64) {
            wider[word as usize & (2 * self.window.len() - 1)] = self.window[word as usize & (self.window.len() - 1)];
        }
        self.window = wider;
    }

    /// Returns the number of the next program, which is greater than all issued so far.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Marks the program as durable; returns true if that advanced [`oldest`](Self::oldest).
    #[inline]
    pub fn retire(&mut self, sequence: u64) -> bool {
        let issued = (self.oldest..self.next).contains(&sequence);
        let (word, bit) = self.place(sequence);
        assert!(issued && *word & bit != 0, "program {sequence} ended twice");
        *word &= !bit;
        if sequence != self.oldest {
            return false;
        }
        while self.oldest < self.next {
            let (word, bit) = self.place(self.oldest);
            let rest = *word & bit.wrapping_neg();
            if rest != 0 {
                self.oldest = self.oldest / 64 * 64 + u64::from(rest.trailing_zeros());
                return true;
            }
            self.oldest = (self.oldest / 64 + 1) * 64;
        }
        self.oldest = self.next;
        true
    }

    /// Returns the oldest number that is not durable: all programs below it are.
    #[inline]
    pub fn oldest(&self) -> u64 {
        self.oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

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

    #[test]
    #[should_panic(expected = "program 5 ended twice")]
    fn a_program_ends_once() {
        let mut s = Sequence::after(4);
        s.issue();
        s.issue();
        s.retire(5);
        s.retire(5);
    }

    proptest! {
        /// Compares it with a set of programs in progress, at times hundreds of them, so that the window grows and
        /// wraps.
        #[test]
        fn it_is_the_least_of_a_set(
            last in 0u64..200,
            steps in prop::collection::vec((0usize..400, any::<prop::sample::Index>(), 0usize..400), 1..30),
        ) {
            let mut sequence = Sequence::after(last);
            let (mut under_way, mut next) = (BTreeSet::new(), last + 1);
            for (issues, which, retires) in steps {
                for _ in 0..issues {
                    prop_assert_eq!(sequence.issue(), next);
                    under_way.insert(next);
                    next += 1;
                }
                for i in 0..retires.min(under_way.len()) {
                    let at = if i % 2 == 0 { 0 } else { which.index(under_way.len()) };
                    let chosen = *under_way.iter().nth(at).unwrap();
                    under_way.remove(&chosen);
                    prop_assert_eq!(sequence.retire(chosen), at == 0);
                    prop_assert_eq!(sequence.oldest(), under_way.first().copied().unwrap_or(next));
                }
                prop_assert_eq!(sequence.next(), next);
            }
        }
    }
}
