//! Clocks of the command bus that are taken ahead of time.

/// How far ahead of the present commands are kept apart, in clocks.
pub(super) const REACH: u64 = 2048;
/// Twice as many bits, so that none is met again while it matters.
const WORDS: u64 = 2 * REACH / 64;

/// A bit for each clock, in a ring.
pub(super) struct Slots {
    words: [u64; WORDS as usize],
    /// The last word in use.
    last: u64,
}

impl Slots {
    pub const fn new() -> Slots {
        Slots { words: [0; WORDS as usize], last: 0 }
    }

    /// Takes the first `count` clocks in a row that are free, from `cycle` on: the first of them.
    #[inline(always)]
    pub fn take(&mut self, mut cycle: u64, count: u64) -> u64 {
        self.reach(cycle + count);
        // Most commands take one clock, and find it free.
        let mut free = 0;
        while free < count {
            let at = cycle + free;
            free = if self.words[(at / 64 % WORDS) as usize] >> (at % 64) & 1 == 0 { free + 1 } else { 0 };
            if free == 0 {
                cycle = at + 1;
                self.reach(cycle + count);
            }
        }
        for at in cycle..cycle + count {
            self.words[(at / 64 % WORDS) as usize] |= 1 << (at % 64);
        }
        cycle
    }

    /// Words up to the one of `cycle` come into use: what they were used for is long over.
    #[inline(always)]
    fn reach(&mut self, cycle: u64) {
        if cycle / 64 > self.last {
            self.advance(cycle / 64);
        }
    }

    #[inline(never)]
    fn advance(&mut self, word: u64) {
        if word - self.last >= WORDS {
            self.words = [0; WORDS as usize];
        } else {
            for old in self.last + 1..=word {
                self.words[(old % WORDS) as usize] = 0;
            }
        }
        self.last = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use sim::Streams;

    #[test]
    fn no_clock_is_taken_twice() {
        let mut rng = Streams::new(1).stream("slots");
        let (mut slots, mut taken, mut now) = (Slots::new(), BTreeSet::new(), 0);
        for _ in 0..100_000 {
            now += [0, 0, 1, 5, 300, 9000][rng.below(6) as usize];
            let (from, count) = (now + rng.below(REACH - 100), 1 + rng.below(2));
            let mut wanted = from;
            while (wanted..wanted + count).any(|cycle| taken.contains(&cycle)) {
                wanted += 1;
            }
            assert_eq!(slots.take(from, count), wanted);
            taken.extend(wanted..wanted + count);
            taken = taken.split_off(&now);
        }
    }
}
