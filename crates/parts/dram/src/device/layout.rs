//! The mapping of a channel's addresses to ranks, bank groups, banks, rows and columns.

use crate::device::Device;
use crate::device::fold;

/// A field of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Row of a bank.
    Row,
    /// Rank of the channel.
    Rank,
    /// Bank group of a rank.
    Group,
    /// Bank of a group.
    Bank,
    /// Burst of a row.
    Column,
}

const NAMES: [(&str, Field); 5] = [
    ("row", Field::Row),
    ("rank", Field::Rank),
    ("group", Field::Group),
    ("bank", Field::Bank),
    ("column", Field::Column),
];

/// An invalid order of fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "found the address order \"{0}\", expected row, rank, bank, group and column once each, highest first, such as \"{DEFAULT_ORDER}\""
)]
pub struct OrderError(String);

/// Consecutive rows of addresses go through bank groups first, then banks, so that sequential traffic opens one row
/// after another without waiting for a precharge.
const DEFAULT_ORDER: &str = "row:rank:bank:group:column";

/// The fields of an address within a channel, from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order([Field; 5]);

impl Default for Order {
    fn default() -> Order {
        Order([Field::Row, Field::Rank, Field::Bank, Field::Group, Field::Column])
    }
}

impl std::str::FromStr for Order {
    type Err = OrderError;

    /// Parses `"row:rank:bank:group:column"`, highest field first.
    fn from_str(text: &str) -> Result<Order, OrderError> {
        let error = || OrderError(text.to_owned());
        let mut fields = [Field::Row; 5];
        let mut count = 0;
        for part in text.split(':') {
            let (_, field) = NAMES.iter().find(|(name, _)| *name == part.trim()).ok_or_else(error)?;
            if count == 5 || fields[..count].contains(field) {
                return Err(error());
            }
            fields[count] = *field;
            count += 1;
        }
        if count == 5 { Ok(Order(fields)) } else { Err(error()) }
    }
}

/// A place in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodedAddress {
    /// Rank of the channel.
    pub rank: u32,
    /// Bank group of the rank.
    pub group: u32,
    /// Bank of the group.
    pub bank: u32,
    /// Row of the bank.
    pub row: u32,
    /// Burst of the row.
    pub column: u32,
}

/// Shift and mask of a field within a burst's number.
#[derive(Clone, Copy, Debug, Default)]
struct Bits {
    shift: u32,
    mask: u32,
}

impl Bits {
    #[inline]
    fn of(self, burst: u64) -> u32 {
        (burst >> self.shift) as u32 & self.mask
    }
}

/// The layout of a group of identical ranks, from burst number to place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    row: Bits,
    rank: Bits,
    group: Bits,
    bank: Bits,
    column: Bits,
    first_rank: u32,
    /// Total number of rank, group and bank bits; `None` if rows do not permute them.
    hash: Option<u32>,
    /// Number of group bits, and of bank bits.
    group_bits: u32,
    bank_bits: u32,
}

impl Layout {
    /// Creates the layout of `ranks` ranks (a power of two), starting at `first_rank`.
    pub(crate) fn new(device: &Device, order: Order, first_rank: u32, ranks: u32, hash: bool) -> Layout {
        let mut layout = Layout {
            row: Bits::default(),
            rank: Bits::default(),
            group: Bits::default(),
            bank: Bits::default(),
            column: Bits::default(),
            first_rank,
            hash: None,
            group_bits: device.bank_groups.trailing_zeros(),
            bank_bits: device.banks_per_group.trailing_zeros(),
        };
        let mut shift = 0;
        for field in order.0.into_iter().rev() {
            let (bits, size) = match field {
                Field::Row => (&mut layout.row, device.rows),
                Field::Rank => (&mut layout.rank, ranks),
                Field::Group => (&mut layout.group, device.bank_groups),
                Field::Bank => (&mut layout.bank, device.banks_per_group),
                Field::Column => (&mut layout.column, device.row_bytes / device.burst_bytes()),
            };
            assert!(size.is_power_of_two(), "{size} {field:?}s cannot be mapped by bits");
            *bits = Bits { shift, mask: size - 1 };
            shift += size.trailing_zeros();
        }
        let all = ranks * device.bank_groups * device.banks_per_group;
        layout.hash = (hash && all > 1).then_some(all.trailing_zeros());
        layout
    }

    /// Returns the number of consecutive bursts in the same row, starting at `burst`.
    #[inline]
    pub(crate) fn in_row(&self, burst: u64) -> u32 {
        if self.column.shift == 0 { self.column.mask + 1 - self.column.of(burst) } else { 1 }
    }

    /// Returns the row and the column of a burst.
    #[inline]
    pub(crate) fn row_and_column(&self, burst: u64) -> (u32, u32) {
        (self.row.of(burst), self.column.of(burst))
    }

    /// Like [`place`](Self::place), as a call: what plans a lone burst has no registers left for the computation.
    #[inline(never)]
    pub(crate) fn place_apart(&self, burst: u64) -> DecodedAddress {
        self.place(burst)
    }

    /// Returns the place of a burst. A part of its caller, which needs the fields in registers.
    #[inline(always)]
    pub(crate) fn place(&self, burst: u64) -> DecodedAddress {
        let row = self.row.of(burst);
        let (group, bank, rank) = (self.group.of(burst), self.bank.of(burst), self.rank.of(burst));
        let (group, bank, rank) = match self.hash {
            None => (group, bank, rank),
            Some(bits) => {
                // Neighboring rows change the group first, like neighboring bursts in a row.
                let hash = fold(row.into(), bits) as u32;
                let above = hash >> self.group_bits;
                let (of_bank, of_rank) = (above & self.bank.mask, above >> self.bank_bits & self.rank.mask);
                (group ^ hash & self.group.mask, bank ^ of_bank, rank ^ of_rank)
            }
        };
        DecodedAddress { rank: self.first_rank + rank, group, bank, row, column: self.column.of(burst) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_one_burst() {
        let mut device = Device::preset("DDR4-2400").expect("a preset");
        (device.rows, device.row_bytes) = (4, 256);
        for order in ["row:rank:bank:group:column", "rank:row:column:bank:group", "column:row:group:bank:rank"] {
            for hash in [false, true] {
                let layout = Layout::new(&device, order.parse().expect("an order"), 1, 2, hash);
                let mut seen = std::collections::BTreeSet::new();
                let bursts = u64::from(2 * device.banks() * device.rows * 4);
                for burst in 0..bursts {
                    let p = layout.place(burst);
                    assert!((1..3).contains(&p.rank) && p.row < 4 && p.column < 4);
                    seen.insert((p.rank, p.group, p.bank, p.row, p.column));
                }
                assert_eq!(seen.len() as u64, bursts);
            }
        }
    }

    #[test]
    fn a_wrong_order_is_told() {
        for text in ["row:rank:bank:group", "row:rank:bank:group:colum", "row:row:bank:group:column", ""] {
            let error = text.parse::<Order>().expect_err("not an order").to_string();
            assert!(error.starts_with(&format!("found the address order \"{text}\", expected row, rank")), "{error}");
        }
    }
}
