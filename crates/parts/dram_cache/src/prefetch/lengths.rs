//! Predicts the length of streams (Hur and Lin, "Memory Prefetching Using Adaptive Stream Detection", MICRO 2006) from
//! the lengths of the last ones.

/// A stream of this many pages is long; its exact length is not counted.
const LONG: usize = 64;
/// After this many streams, the weight of each is halved.
const REMEMBERED: u32 = 512;
/// Fewer streams of a length are no evidence.
const KNOWN: u32 = 16;

/// Probabilities are in parts of this number.
pub(super) const CERTAIN: u32 = 64;

/// The predicted rest of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Further {
    /// Unknown: too few streams came this far.
    Unknown,
    /// This many pages.
    Pages(u64),
    /// It becomes a long stream.
    Long,
}

/// Numbers of streams by length.
pub(super) struct Lengths {
    /// Streams of at least one page, at least two, and so on.
    came: [u32; LONG],
}

impl Lengths {
    pub fn new() -> Lengths {
        Lengths { came: [0; LONG] }
    }

    /// Notes that a stream grew from `before` pages to `length`; a new stream has `before` 0.
    pub fn grew(&mut self, before: u64, length: u64) {
        let within = |length: u64| usize::try_from(length).unwrap_or(LONG).min(LONG);
        for count in &mut self.came[within(before)..within(length)] {
            *count += 1;
        }
        if before == 0 && self.came[0] >= REMEMBERED {
            self.came.iter_mut().for_each(|count| *count /= 2);
        }
    }

    /// Returns how many pages beyond `length` a stream reaches with at least this probability, in parts of [`CERTAIN`].
    pub fn further(&self, length: u64, chance: u32) -> Further {
        let at = match usize::try_from(length) {
            Ok(length) if length < LONG => length.max(1) - 1,
            _ => return Further::Long,
        };
        if self.came[at] < KNOWN {
            return Further::Unknown;
        }
        let wanted = self.came[at] * chance;
        match self.came[at + 1..].iter().position(|count| count * CERTAIN < wanted) {
            Some(pages) => Further::Pages(pages as u64),
            None => Further::Long,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(streams: impl IntoIterator<Item = u64>) -> Lengths {
        let mut lengths = Lengths::new();
        for stream in streams {
            (1..=stream).for_each(|length| lengths.grew(length - 1, length));
        }
        lengths
    }

    #[test]
    fn nothing_is_said_of_what_was_hardly_seen() {
        assert_eq!(after([]).further(1, 16), Further::Unknown);
        assert_eq!(after([9; 15]).further(1, 16), Further::Unknown);
        assert_eq!(after([3; 40]).further(4, 16), Further::Unknown);
    }

    #[test]
    fn streams_end_where_those_before_did() {
        let lengths = after((0..100).map(|n| if n % 4 == 0 { 2 } else { 5 }));
        assert_eq!(lengths.further(1, CERTAIN), Further::Pages(1));
        assert_eq!(lengths.further(1, CERTAIN / 2), Further::Pages(4));
        assert_eq!(lengths.further(2, CERTAIN / 2), Further::Pages(3));
        assert_eq!(lengths.further(3, CERTAIN), Further::Pages(2));
        assert_eq!(lengths.further(5, 1), Further::Pages(0));
        assert_eq!(after([1; 100]).further(1, 1), Further::Pages(0));
    }

    #[test]
    fn long_streams_are_not_followed_to_their_end() {
        assert_eq!(after([500; 20]).further(1, CERTAIN), Further::Long);
        assert_eq!(after([500; 20]).further(400, CERTAIN), Further::Long);
    }

    #[test]
    fn a_change_is_noticed_within_the_streams_that_are_remembered() {
        let mut lengths = after([1; 5000]);
        assert_eq!(lengths.further(1, 16), Further::Pages(0));
        for _ in 0..REMEMBERED {
            (1..=8).for_each(|length| lengths.grew(length - 1, length));
        }
        assert_eq!(lengths.further(1, 16), Further::Pages(7));
    }

    #[test]
    fn one_stream_of_many_that_ends_is_no_certainty() {
        let lengths = after((0..200).map(|n| if n == 0 { 1 } else { 2 }));
        assert_eq!(lengths.further(1, CERTAIN), Further::Pages(0));
        assert_eq!(lengths.further(1, CERTAIN - 1), Further::Pages(1));
    }

    #[test]
    fn lengths_are_known_up_to_the_last_that_is_counted() {
        let last = LONG as u64 - 1;
        let lengths = after([last; 20]);
        assert_eq!(lengths.further(last, CERTAIN), Further::Pages(0));
        assert_eq!(lengths.further(last + 1, CERTAIN), Further::Long);
    }
}
