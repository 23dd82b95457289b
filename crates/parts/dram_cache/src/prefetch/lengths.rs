//! How far streams go on (Hur and Lin, "Memory Prefetching Using Adaptive Stream Detection", MICRO 2006): from how many of the
//! last streams came to which length follows how many pages of the next one will be asked for.

/// A stream of so many pages is long, and how much longer it gets is not counted.
const LONG: usize = 64;
/// So many streams are remembered: then each counts half.
const REMEMBERED: u32 = 512;
/// Fewer that came as far say nothing.
const KNOWN: u32 = 16;

/// A chance, in parts of so many.
pub(super) const CERTAIN: u32 = 64;

/// How much further a stream will go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Further {
    /// Too few came as far.
    Unknown,
    /// So many pages.
    Pages(u64),
    /// It becomes a long one.
    Long,
}

/// Streams that came to each length.
pub(super) struct Lengths {
    /// Of one page and more, of two and more, and so on.
    came: [u32; LONG],
}

impl Lengths {
    pub fn new() -> Lengths {
        Lengths { came: [0; LONG] }
    }

    /// A stream has come from `before` pages to `length`; a new one has come from none.
    pub fn grew(&mut self, before: u64, length: u64) {
        let within = |length: u64| usize::try_from(length).unwrap_or(LONG).min(LONG);
        for count in &mut self.came[within(before)..within(length)] {
            *count += 1;
        }
        if before == 0 && self.came[0] >= REMEMBERED {
            self.came.iter_mut().for_each(|count| *count /= 2);
        }
    }

    /// How many pages behind `length` a stream of that length will come to with at least this chance, in parts of [`CERTAIN`].
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
}
