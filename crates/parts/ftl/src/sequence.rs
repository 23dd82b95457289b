//! Programs under way, in the order they were issued.

use sim::Dense;

/// Numbers programs and knows the oldest that is not durable yet.
///
/// A block whose last valid unit was superseded by a program under way must not be erased before that program is
/// done: until then the old copy is the only durable one.
pub struct Sequence {
    /// A bit for each program from `oldest` on: it is under way. A ring of words, a power of two of them; the bits of
    /// all other numbers are zero.
    window: Dense<u64>,
    oldest: u64,
    next: u64,
}

/// So many words without a bit.
fn words(count: usize) -> Dense<u64> {
    // SAFETY: the window is indexed modulo its length, a power of two.
    unsafe { Dense::new(vec![0; count]) }
}

impl Sequence {
    /// Continues after `last`.
    pub fn after(last: u64) -> Sequence {
        Sequence { window: words(16), oldest: last + 1, next: last + 1 }
    }

    /// Where the bit of a program is: word and bit.
    #[inline]
    fn place(&self, sequence: u64) -> (usize, u64) {
        ((sequence / 64) as usize & (self.window.len() - 1), 1 << (sequence % 64))
    }

    /// Number of the next program; it is under way from now on.
    #[inline]
    pub fn issue(&mut self) -> u64 {
        let sequence = self.next;
        if (sequence / 64 - self.oldest / 64) as usize == self.window.len() {
            self.widen();
        }
        let (word, bit) = self.place(sequence);
        self.window[word] |= bit;
        self.next += 1;
        sequence
    }

    #[cold]
    fn widen(&mut self) {
        let mut wider = words(2 * self.window.len());
        for word in self.oldest / 64..self.next.div_ceil(64) {
            wider[word as usize & (2 * self.window.len() - 1)] = self.window[word as usize & (self.window.len() - 1)];
        }
        self.window = wider;
    }

    /// Number that the next program will get: greater than all issued so far.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The program is durable; true if that moved [`oldest`](Self::oldest).
    #[inline]
    pub fn retire(&mut self, sequence: u64) -> bool {
        let (word, bit) = self.place(sequence);
        let under_way = (self.oldest..self.next).contains(&sequence) && self.window[word] & bit != 0;
        assert!(under_way, "program {sequence} ended twice");
        self.window[word] &= !bit;
        if sequence != self.oldest {
            return false;
        }
        while self.oldest < self.next {
            let (word, bit) = self.place(self.oldest);
            let rest = self.window[word] & bit.wrapping_neg();
            if rest != 0 {
                self.oldest = self.oldest / 64 * 64 + u64::from(rest.trailing_zeros());
                return true;
            }
            self.oldest = (self.oldest / 64 + 1) * 64;
        }
        self.oldest = self.next;
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
        /// Against a set of those under way; now and then hundreds are, so that the window grows and wraps.
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
