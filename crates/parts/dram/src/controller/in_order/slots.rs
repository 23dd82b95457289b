//! Clocks of the command bus that are booked ahead of time.

/// Commands come at most this many clocks before the last one booked.
pub(super) const REACH: u64 = 2048;
/// Covers twice as many clocks, so that no two relevant ones share a word.
const WORDS: u64 = 2 * REACH / 64;

/// A group of 64 clocks: its number, and a bit for each clock taken.
#[derive(Clone, Copy)]
struct Word {
    number: u64,
    taken: u64,
}

/// A bit for each clock, in a ring. A word last used for other clocks counts as empty, because those are long past.
pub(super) struct Slots {
    words: [Word; WORDS as usize],
}

impl Slots {
    pub const fn new() -> Slots {
        Slots { words: [Word { number: 0, taken: 0 }; WORDS as usize] }
    }

    /// Takes the first `count` consecutive free clocks, starting at `cycle`. Returns the first of them.
    #[inline]
    pub fn take(&mut self, cycle: u64, count: u64) -> u64 {
        if count == 1 { self.take_one(cycle) } else { self.take_row(cycle, count) }
    }

    #[inline]
    fn take_one(&mut self, mut cycle: u64) -> u64 {
        loop {
            let word = self.word(cycle);
            let free = !word.taken >> (cycle % 64);
            if free != 0 {
                cycle += u64::from(free.trailing_zeros());
                word.taken |= 1 << (cycle % 64);
                return cycle;
            }
            cycle = (cycle / 64 + 1) * 64;
        }
    }

    fn take_row(&mut self, mut cycle: u64, count: u64) -> u64 {
        let mut free = 0;
        while free < count {
            let at = cycle + free;
            free = if self.word(at).taken >> (at % 64) & 1 == 0 { free + 1 } else { 0 };
            if free == 0 {
                cycle = at + 1;
            }
        }
        for at in cycle..cycle + count {
            self.word(at).taken |= 1 << (at % 64);
        }
        cycle
    }

    /// Returns the word of a clock, cleared if it was last used for other clocks.
    #[inline]
    fn word(&mut self, cycle: u64) -> &mut Word {
        let number = cycle / 64;
        let word = &mut self.words[(number % WORDS) as usize];
        if word.number != number {
            *word = Word { number, taken: 0 };
        }
        word
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
