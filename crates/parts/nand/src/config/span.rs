//! Pages that span several pages of the dies, for mapping units larger than a page.
//!
//! The geometry of such a flash has pages of one unit each. The unit's bytes lie on neighboring planes first, then at
//! the next page numbers. All its pages are programmed and copied together: the die takes in all data, then programs page
//! number after page number. A read of a part senses only the pages that hold it.

/// Number of pages of the dies in one page of the geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// Neighboring planes.
    pub planes: u32,
    /// Consecutive page numbers.
    pub pages: u32,
}

/// The pages of the dies that a read senses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sensed {
    /// The first, counted from the start of the first page of the geometry.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Page numbers among them, counted from the first of their page of the geometry.
    pub rows: (u32, u32),
}

impl Sensed {
    /// Returns the number of page numbers, which are sensed one after another.
    pub(crate) fn row_count(self) -> u32 {
        self.rows.1 - self.rows.0
    }

    /// Returns the number of planes that sense at once.
    pub(crate) fn planes(self) -> u32 {
        self.count.div_ceil(self.row_count())
    }
}

impl PageSpan {
    /// A page of the geometry is a page of a die.
    pub const ONE: PageSpan = PageSpan { planes: 1, pages: 1 };

    /// Returns the span of units of `unit_bytes` over pages of `page_bytes`, of which `planes` neighbors are programmed at
    /// once. Units that fit a page have no span.
    pub const fn of(unit_bytes: u64, page_bytes: u64, planes: u32) -> PageSpan {
        if page_bytes == 0 || unit_bytes <= page_bytes {
            return PageSpan::ONE;
        }
        let all = (unit_bytes / page_bytes) as u32;
        let planes = common_divisor(all, planes);
        PageSpan { planes, pages: all / planes }
    }

    /// Returns the number of pages of the dies in a page of the geometry.
    pub const fn count(self) -> u32 {
        self.planes * self.pages
    }

    /// Returns the pages of `page_bytes` that hold `bytes` bytes from byte `from` on. Bytes of several units are read at all
    /// page numbers of both.
    pub(crate) fn sensed(self, from: u32, bytes: u32, page_bytes: u32) -> Sensed {
        let (first, last) = (from / page_bytes, (from + bytes.max(1) - 1) / page_bytes);
        let row = |page: u32| page % self.count() / self.planes;
        let in_one = first / self.count() == last / self.count();
        let rows = if in_one { (row(first), row(last) + 1) } else { (0, self.pages) };
        Sensed { first, count: last - first + 1, rows }
    }
}

const fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_spans_planes_before_page_numbers() {
        assert_eq!(PageSpan::of(4096, 16384, 4), PageSpan::ONE);
        assert_eq!(PageSpan::of(16384, 16384, 4), PageSpan::ONE);
        assert_eq!(PageSpan::of(32768, 16384, 4), PageSpan { planes: 2, pages: 1 });
        assert_eq!(PageSpan::of(65536, 16384, 4), PageSpan { planes: 4, pages: 1 });
        assert_eq!(PageSpan::of(65536, 16384, 2), PageSpan { planes: 2, pages: 2 });
        assert_eq!(PageSpan::of(65536, 16384, 6), PageSpan { planes: 2, pages: 2 });
        assert_eq!(PageSpan::of(65536, 4096, 1), PageSpan { planes: 1, pages: 16 });
    }

    #[test]
    fn a_read_senses_the_pages_that_hold_it() {
        let span = PageSpan { planes: 2, pages: 2 };
        let sensed = |from: u32, bytes: u32| span.sensed(from << 10, bytes << 10, 16384);
        assert_eq!(sensed(4, 4), Sensed { first: 0, count: 1, rows: (0, 1) });
        assert_eq!(sensed(36, 4), Sensed { first: 2, count: 1, rows: (1, 2) });
        assert_eq!(sensed(12, 8), Sensed { first: 0, count: 2, rows: (0, 1) });
        assert_eq!((sensed(12, 8).planes(), sensed(0, 64).planes(), sensed(0, 128).planes()), (2, 2, 4));
        assert_eq!(
            sensed(60, 8),
            Sensed { first: 3, count: 2, rows: (0, 2) },
            "the end of a unit and the start of the next"
        );
    }
}
