//! Positions of sequential requests.

use crate::fio::ZoneKeys;

/// The position of a sequential direction in its region.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// End of the last request; 0 before the first.
    end: u64,
    gap: i64,
    /// Whether to continue at the start after the end of the region.
    wraps: bool,
    strides: Option<ZoneKeys>,
    /// Start of a strided job's zone.
    zone: u64,
    /// Bytes of the zone that were transferred.
    zone_bytes: u64,
}

impl Order {
    pub fn new(gap: i64, wraps: bool, strides: Option<ZoneKeys>) -> Order {
        Order { end: 0, gap, wraps, strides, zone: 0, zone_bytes: 0 }
    }

    /// Returns whether each request starts at the end of the previous one.
    pub fn is_plain(&self) -> bool {
        self.gap == 0 && self.strides.is_none()
    }

    /// Returns to the start of the region.
    pub fn rewind(&mut self) {
        (self.end, self.zone, self.zone_bytes) = (0, 0, 0);
    }

    /// Returns the end of the last request.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Continues at `end`.
    pub fn jump(&mut self, end: u64) {
        self.end = end;
    }

    /// Records a request at `at`.
    pub fn advance(&mut self, at: u64, bytes: u64) {
        self.end = at + bytes;
        self.zone_bytes += bytes;
    }

    /// Returns the start of the next request in a region of `bytes` bytes, with space for `unit` bytes; `None` at the
    /// end of a pass.
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
        // Past the end, continue at the start, and past the start, at the end.
        let at = match self.end.checked_add_signed(self.gap) {
            Some(at) if at + unit <= bytes => at,
            _ if self.gap > 0 => 0,
            _ => bytes.saturating_add_signed(self.gap).min(bytes - unit),
        };
        Some(at)
    }

    fn next_in_zone(&mut self, strides: ZoneKeys, bytes: u64, unit: u64) -> u64 {
        let range = strides.range.unwrap_or(strides.size).max(unit);
        if self.zone_bytes >= strides.size.max(unit) {
            self.zone_bytes = 0;
            self.zone = self.zone.saturating_add(range).saturating_add(strides.skip(strides.size));
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
    use crate::fio::Amount;

    fn blocks(mut order: Order, bytes: u64, count: usize) -> Vec<u64> {
        let draw = || {
            let at = order.next(bytes, 4)?;
            order.advance(at, 4);
            Some(at / 4)
        };
        std::iter::from_fn(draw).take(count).collect()
    }

    // Offsets that fio 3.33 logs for the same jobs.
    #[test]
    fn gaps_skip_bytes_and_end_with_the_region() {
        assert_eq!(blocks(Order::new(8, false, None), 100, 99), [0, 3, 6, 9, 12, 15, 18, 21, 24]);
        assert_eq!(blocks(Order::new(8, true, None), 100, 11), [0, 3, 6, 9, 12, 15, 18, 21, 24, 0, 3]);
    }

    #[test]
    fn negative_gaps_go_backwards_from_the_end() {
        let expected: Vec<u64> = std::iter::once(0).chain((0..24).rev()).chain([23]).collect();
        assert_eq!(blocks(Order::new(-8, false, None), 100, 26), expected);
    }

    #[test]
    fn strides_skip_and_wrap() {
        let strides = ZoneKeys { size: 16, range: None, skip: Amount::Bytes(32) };
        let expected = [0, 1, 2, 3, 12, 13, 14, 15, 24, 25, 26, 27, 0, 1];
        assert_eq!(blocks(Order::new(0, true, Some(strides)), 144, 14), expected);
        let strides = ZoneKeys { size: 16, range: Some(32), skip: Amount::Zones(2) };
        assert_eq!(blocks(Order::new(0, true, Some(strides)), 144, 10), [0, 1, 2, 3, 16, 17, 18, 19, 32, 33]);
    }
}
