//! Places segments of a page in an open block, and builds the vector that records their places.

use crate::config::Order;
use crate::table::vector::{REACH, Vector, bits};

/// A block being written, with its writable flash pages, one bit each.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenBlock {
    /// The block.
    pub block: u32,
    free: Vec<u64>,
    left: u32,
}

impl OpenBlock {
    /// Starts on `block` of `pages` flash pages, except those in `bad` (one bit each).
    pub fn start(&mut self, block: u32, pages: u32, bad: Option<&[u64]>) {
        self.block = block;
        self.free.clear();
        self.free.resize(pages.div_ceil(64) as usize, u64::MAX);
        if !pages.is_multiple_of(64) {
            *self.free.last_mut().expect("a block has pages") = u64::MAX >> (64 - pages % 64);
        }
        for (free, bad) in self.free.iter_mut().zip(bad.unwrap_or(&[])) {
            *free &= !bad;
        }
        self.left = self.free.iter().map(|word| word.count_ones()).sum();
    }

    /// Returns the number of flash pages that can still be written.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Returns whether flash page `page` of the block can be written.
    pub fn is_free(&self, page: u32) -> bool {
        self.free[page as usize / 64] >> (page % 64) & 1 != 0
    }

    /// Takes flash page `page`: it is being written, or cannot be.
    pub fn take(&mut self, page: u32) {
        assert!(self.is_free(page), "page {page} of block {} is taken twice", self.block);
        self.free[page as usize / 64] &= !(1 << (page % 64));
        self.left -= 1;
    }

    fn free_pages(&self) -> impl Iterator<Item = u32> {
        let words = self.free.iter().zip((0u32..).step_by(64));
        words.flat_map(|(word, first)| bits(*word).map(move |bit| first + bit))
    }

    /// Takes flash pages for as many segments of `todo` as fit together, at least one. Returns the starting page and
    /// the vector; `None` if the block is full.
    pub fn place(&mut self, todo: u32, segments: u32, pages: u32, order: Order) -> Option<(u32, Vector)> {
        debug_assert!(todo != 0 && todo >> segments == 0);
        let (start, vector) = match order {
            Order::Any => self.any(todo, segments, pages)?,
            Order::Ascending => self.ascending(todo, segments, pages)?,
        };
        for bit in vector.iter() {
            self.take((start + bit) % pages);
        }
        Some((start, vector))
    }

    /// Takes another page for `segment` of a part that starts at `start` and has `vector`, at another distance that the
    /// vector can express.
    pub fn alternative(
        &mut self,
        segment: u32,
        start: u32,
        vector: Vector,
        segments: u32,
        pages: u32,
        order: Order,
    ) -> Option<u32> {
        debug_assert!(vector.distance(segment, segments).is_none());
        let free = |bit: &u32| self.is_free((start + bit) % pages);
        let bit = match order {
            Order::Any => (segment..REACH).step_by(segments as usize).find(free),
            Order::Ascending => {
                let next = self.free_pages().next()?;
                (segment..REACH).step_by(segments as usize).find(|bit| (start + bit) % pages == next)
            }
        }?;
        self.take((start + bit) % pages);
        Some(bit)
    }

    /// Takes any free pages within a vector's reach: all segments together if they fit, otherwise as many as possible.
    /// At least one lies in the vector's first group, because otherwise a later start would express the same.
    fn any(&self, todo: u32, segments: u32, pages: u32) -> Option<(u32, Vector)> {
        let mut best: Option<(u32, u32)> = None;
        'search: for page in self.free_pages() {
            for segment in Vector(todo).iter() {
                let start = (page + pages - segment) % pages;
                let fits = (Vector(self.window(start, pages)).segments(segments) & todo).count_ones();
                if best.is_none_or(|(_, most)| fits > most) {
                    best = Some((start, fits));
                    if fits == todo.count_ones() {
                        break 'search;
                    }
                }
            }
        }
        let (start, _) = best?;
        let window = Vector(self.window(start, pages));
        let nearest = Vector(todo).iter().filter_map(|segment| window.distance(segment, segments));
        Some((start, Vector(nearest.fold(0, |bits, bit| bits | 1 << bit))))
    }

    /// Returns which of the pages in reach of `start` are free.
    fn window(&self, start: u32, pages: u32) -> u32 {
        if start + 64 <= pages {
            let (word, shift) = (start as usize / 64, start % 64);
            let low = self.free[word] >> shift;
            return if shift <= 32 { low as u32 } else { (low | self.free[word + 1] << (64 - shift)) as u32 };
        }
        (0..REACH).fold(0, |bits, bit| bits | u32::from(self.is_free((start + bit) % pages)) << bit)
    }

    /// Takes consecutive pages: the longest run of neighboring segments (the first follows the last) for which the
    /// writable pages are neighbors too, or skip only segments not in `todo`.
    fn ascending(&self, todo: u32, segments: u32, pages: u32) -> Option<(u32, Vector)> {
        let mut free = self.free_pages();
        let page = free.next()?;
        let first = longest_run(todo, segments);
        let start = (page + pages - first) % pages;
        let (mut bits, mut have) = (1u32 << first, 1u32 << first);
        for page in free {
            let bit = (page + pages - start) % pages;
            let segment = 1 << (bit % segments);
            if bit >= REACH || todo & !have & segment == 0 {
                break;
            }
            bits |= 1 << bit;
            have |= segment;
        }
        Some((start, Vector(bits)))
    }
}

/// Returns the start of the longest run of ones in `mask`, a ring of `segments` bits.
fn longest_run(mask: u32, segments: u32) -> u32 {
    let all = u32::MAX >> (32 - segments);
    if mask == all {
        return 0;
    }
    let before = (mask << 1 | mask >> (segments - 1)) & all;
    let length = |start: u32| {
        let turned = (mask >> start | mask << (segments - start)) & all;
        turned.trailing_ones()
    };
    let starts = Vector(mask & !before).iter();
    starts.max_by_key(|start| (length(*start), u32::MAX - start)).expect("a segment")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(pages: u32, not_free: impl IntoIterator<Item = u32>) -> OpenBlock {
        let mut open = OpenBlock::default();
        open.start(7, pages, None);
        not_free.into_iter().for_each(|page| open.take(page));
        open
    }

    /// The paper's first example: pages 56 and 59 are worn out, and 67 holds data.
    #[test]
    fn bad_pages_3_and_6() {
        let mut open = block(128, (0..53).chain([56, 59, 67]));
        let (start, vector) = open.place(0xff, 8, 128, Order::Any).expect("room");
        assert_eq!(start, 53);
        assert_eq!(vector.to_string(), "11101101 00010000 00000010 00000000");
        for page in [53, 54, 55, 57, 58, 60, 64, 75] {
            assert!(!open.is_free(page));
        }
    }

    /// The paper's second example: segments 2 and 5 alone, from page 17.
    #[test]
    fn two_dirty_segments() {
        let mut open = block(64, 0..19);
        let (start, vector) = open.place(0b10_0100, 8, 64, Order::Any).expect("room");
        assert_eq!(start, 17);
        assert_eq!(vector.to_string(), "00100100 00000000 00000000 00000000");
        assert!(!open.is_free(19) && !open.is_free(22));
    }

    /// The paper's seven distances between the pages of those two segments.
    #[test]
    fn seven_distances() {
        let printed = [
            (3, "00100100 00000000 00000000 00000000"),
            (5, "00000100 00100000 00000000 00000000"),
            (11, "00100000 00000100 00000000 00000000"),
            (13, "00000100 00000000 00100000 00000000"),
            (19, "00100000 00000000 00000100 00000000"),
            (21, "00000100 00000000 00000000 00100000"),
            (27, "00100000 00000000 00000000 00000100"),
        ];
        for distance in 1..32 {
            let mut open = block(64, (0..64).filter(|page| ![20, 20 + distance].contains(page)));
            let (start, vector) = open.place(0b10_0100, 8, 64, Order::Any).expect("room");
            match printed.iter().find(|(d, _)| *d == distance) {
                Some((_, text)) => {
                    assert_eq!((vector.to_string().as_str(), vector.segments(8)), (*text, 0b10_0100));
                    assert_eq!(vector.iter().map(|bit| start + bit).collect::<Vec<_>>(), [20, 20 + distance]);
                }
                None => assert_eq!(vector.count(), 1, "distance {distance}"),
            }
        }
    }

    #[test]
    fn a_program_that_fails_goes_to_an_alternative() {
        let mut open = block(128, 0..53);
        let (start, vector) = open.place(0xff, 8, 128, Order::Any).expect("room");
        let without = Vector(vector.0 & !(1 << 3));
        assert_eq!(open.alternative(3, start, without, 8, 128, Order::Any), Some(11));
        assert_eq!(open.alternative(3, start, without, 8, 128, Order::Any), Some(19));
        assert_eq!(open.alternative(3, start, without, 8, 128, Order::Any), Some(27));
        assert_eq!(open.alternative(3, start, without, 8, 128, Order::Any), None);
    }

    #[test]
    fn in_order_the_next_page_is_written_whatever_the_segments() {
        for segments in [4, 8, 16] {
            for todo in 1..1u32 << segments {
                for taken in [0, 1, 5, 31, 62] {
                    let mut open = block(64, 0..taken);
                    let (mut left, mut next) = (todo, taken);
                    while let Some((start, vector)) =
                        (left != 0).then(|| open.place(left, segments, 64, Order::Ascending)).flatten()
                    {
                        let mut pages: Vec<u32> = vector.iter().map(|bit| (start + bit) % 64).collect::<Vec<_>>();
                        pages.sort_unstable();
                        assert_eq!(pages, (next..next + vector.count()).collect::<Vec<_>>(), "{todo:b} from {taken}");
                        assert_eq!(vector.segments(segments) & !left, 0);
                        left &= !vector.segments(segments);
                        next += vector.count();
                    }
                    assert!(left == 0 || next == 64);
                }
                if segments == 16 && todo > 4096 {
                    break;
                }
            }
        }
    }

    /// For every block of 32 pages with six free ones and every set of four segments: the vector is correct, and
    /// whatever fits is placed.
    #[test]
    fn any_order_is_exhaustively_true() {
        for rotation in 0..32 {
            for gaps in 0..64u32 {
                let free: Vec<u32> = (0..6).map(|i| (rotation + i * (1 + (gaps >> i & 1)) * 3) % 32).collect();
                let open = block(32, (0..32).filter(|page| !free.contains(page)));
                for todo in 1..16 {
                    let mut open = open.clone();
                    let (start, vector) = open.place(todo, 4, 32, Order::Any).expect("room");
                    assert_eq!(vector.segments(4) & !todo, 0);
                    assert_eq!(vector.segments(4).count_ones(), vector.count(), "a segment is placed once");
                    assert!(vector.iter().all(|bit| free.contains(&((start + bit) % 32))));
                    let most = (0..32).map(|start| {
                        let fits = |s: &u32| (0..8).any(|k| free.contains(&((start + s + 4 * k) % 32)));
                        Vector(todo).iter().filter(fits).count() as u32
                    });
                    assert_eq!(vector.count(), most.max().expect("starts"));
                }
            }
        }
    }

    #[test]
    fn a_block_has_as_many_free_pages_as_pages() {
        for pages in [1, 6, 63, 64, 65, 70, 127, 128] {
            let open = block(pages, []);
            assert_eq!((open.left(), open.free_pages().count() as u32), (pages, pages));
        }
    }

    #[test]
    fn the_pages_in_reach_are_seen_across_words_and_the_end() {
        const PAGES: u32 = 192;
        let mut rng = sim::Streams::new(1).stream("place");
        for _ in 0..20 {
            let open = block(PAGES, (0..PAGES).filter(|_| rng.chance(0.5)).collect::<Vec<_>>());
            for start in 0..PAGES {
                let free = |bit: &u32| open.is_free((start + bit) % PAGES);
                let expected = (0..REACH).filter(free).fold(0, |bits, bit| bits | 1 << bit);
                assert_eq!(open.window(start, PAGES), expected, "from {start}");
            }
        }
    }
}
