//! Where the next request of a sequential direction starts.

use crate::fio::Strides;

/// The position of a sequential direction in its region.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// Where the last request ended; 0 before the first.
    end: u64,
    gap: i64,
    /// At the end of the region it begins again.
    wraps: bool,
    strides: Option<Strides>,
    /// Where the zone of a strided job starts, and what of it is transferred.
    zone: u64,
    zone_bytes: u64,
}

impl Order {
    pub fn new(gap: i64, wraps: bool, strides: Option<Strides>) -> Order {
        Order { end: 0, gap, wraps, strides, zone: 0, zone_bytes: 0 }
    }

    /// Each request follows the one before.
    pub fn is_plain(&self) -> bool {
        self.gap == 0 && self.strides.is_none()
    }

    /// Begins at the start of the region again.
    pub fn rewind(&mut self) {
        (self.end, self.zone, self.zone_bytes) = (0, 0, 0);
    }

    /// Where the last request ended.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// A request has been drawn.
    pub fn advance(&mut self, at: u64, bytes: u64) {
        self.end = at + bytes;
        self.zone_bytes += bytes;
    }

    /// Where the next request starts in a region of `bytes` bytes, which has room for `unit` bytes there; none at the end
    /// of a pass.
    pub fn next(&mut self, bytes: u64, unit: u64) -> Option<u64> {
        if let Some(strides) = self.strides {
            return Some(self.next_in_zone(strides, bytes, unit));
        }
        if self.end + unit > bytes {
            if !self.wraps {
                return None;
            }
            self.rewind();
        }
        if self.gap == 0 || self.end == 0 {
            return Some(self.end);
        }
        // Beyond the end it goes on at the start, and before the start at the end.
        let at = match self.end.checked_add_signed(self.gap) {
            Some(at) if at + unit <= bytes => at,
            _ if self.gap > 0 => 0,
            _ => bytes.saturating_add_signed(self.gap).min(bytes - unit),
        };
        Some(at)
    }

    fn next_in_zone(&mut self, strides: Strides, bytes: u64, unit: u64) -> u64 {
        let range = strides.range.unwrap_or(strides.size).max(unit);
        if self.zone_bytes >= strides.size.max(unit) {
            self.zone_bytes = 0;
            self.zone = self.zone.saturating_add(range).saturating_add(strides.skip);
            if self.zone.saturating_add(unit) > bytes {
                self.zone = 0;
            }
            self.end = self.zone;
        }
        let ends = self.zone.saturating_add(range).min(bytes);
        if self.end + unit > ends {
            self.end = self.zone;
        }
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(mut order: Order, bytes: u64, count: usize) -> Vec<u64> {
        let draw = || {
            let at = order.next(bytes, 4)?;
            order.advance(at, 4);
            Some(at / 4)
        };
        std::iter::from_fn(draw).take(count).collect()
    }

    // What fio 3.33 logs for the same jobs.
    #[test]
    fn a_gap_leaves_bytes_out_and_ends_with_the_region() {
        assert_eq!(blocks(Order::new(8, false, None), 100, 99), [0, 3, 6, 9, 12, 15, 18, 21, 24]);
        assert_eq!(blocks(Order::new(8, true, None), 100, 11), [0, 3, 6, 9, 12, 15, 18, 21, 24, 0, 3]);
    }

    #[test]
    fn a_gap_below_zero_goes_backwards_from_the_end() {
        let expected: Vec<u64> = std::iter::once(0).chain((0..24).rev()).chain([23]).collect();
        assert_eq!(blocks(Order::new(-8, false, None), 100, 26), expected);
    }

    #[test]
    fn strides_skip_and_wrap() {
        let strides = Strides { size: 16, range: None, skip: 32 };
        let expected = [0, 1, 2, 3, 12, 13, 14, 15, 24, 25, 26, 27, 0, 1];
        assert_eq!(blocks(Order::new(0, true, Some(strides)), 144, 14), expected);
        let strides = Strides { size: 16, range: Some(32), skip: 32 };
        assert_eq!(blocks(Order::new(0, true, Some(strides)), 144, 10), [0, 1, 2, 3, 16, 17, 18, 19, 32, 33]);
    }
}
