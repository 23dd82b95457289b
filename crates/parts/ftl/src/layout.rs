//! Physical unit numbers: the mapping of parallel units, blocks, pages and planes to 32 bits.
//!
//! The flash is divided into *parallel units*: sets of planes that allocate and collect independently (one plane, one
//! die or the whole drive, by [`Group`]). A *block* here is a block of a parallel unit: the physical blocks with the
//! same number on all its planes. One *program* covers a *position*, the planes of one die that are programmed
//! together. Units are numbered by block, page, position, plane and unit, the order in which a block is written.

use media::{BlockAddr, PageAddr, PlaneMask};

use sim::Dense;

use crate::config::{Axis, Config, Group};

/// Bits of a mask of units or sectors.
pub(crate) const UNITS_MAX: u32 = u64::BITS;

/// One or more planes of a die that are programmed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    die: u16,
    planes: PlaneMask,
}

/// The physical layout of a configuration.
pub struct Layout {
    positions: Dense<Position>,
    /// Number of parallel units.
    pub parallel_units: u32,
    /// Blocks per parallel unit.
    pub blocks: u32,
    /// Pages per block.
    pub pages: u32,
    /// Positions per parallel unit: programs per page row.
    pub per_row: u32,
    /// Planes per program.
    pub planes: u32,
    /// A row has one position, and a program covers one plane: programs are pages.
    plain: bool,
    /// Units per page of one plane.
    pub page_units: u32,
    /// Units per program.
    pub program_units: u32,
    /// Programs per block.
    pub block_programs: u32,
    /// Units per block.
    pub block_units: u32,
    /// Units per block that are not parity.
    pub data_units: u32,
    /// Programs per stripe, including parity; 0 without parity.
    pub stripe: u32,
    /// log2 of the bytes of a unit.
    pub unit_shift: u32,
    /// Mask of all sectors of a unit, one bit per 2^[`grain`](Self::grain) sectors.
    pub all_sectors: u64,
    /// log2 of the sectors that share a bit of a mask: 0, unless a unit has more than 64.
    pub grain: u32,
    /// Units that collection reads at once: those of a program, or of a part of its planes if they are more than 64.
    pub read_units: u32,
    /// Such reads per program.
    pub program_reads: u32,
    /// Divisors for numbers of units, programs and blocks.
    by: Divisors,
}

#[derive(Clone, Copy)]
struct Divisors {
    block_units: Divisor,
    blocks: Divisor,
    per_row: Divisor,
    page_units: Divisor,
    program_units: Divisor,
}

/// A divisor with a precomputed reciprocal.
#[derive(Clone, Copy)]
pub(crate) struct Divisor {
    n: u32,
    /// (2^64 - 1) / n, rounded down. The upper half of its product with the dividend plus one is the quotient, for all
    /// 32-bit dividends (in the manner of Granlund and Montgomery, PLDI 1994).
    reciprocal: u64,
}

impl Divisor {
    /// # Panics
    /// If `n` is zero, which the check of a geometry rules out.
    pub(crate) fn new(n: u32) -> Divisor {
        Divisor { n, reciprocal: u64::MAX / u64::from(n) }
    }

    /// Returns the quotient and remainder of `a`.
    #[inline]
    pub(crate) fn divide(self, a: u32) -> (u32, u32) {
        let quotient = self.quotient(a);
        (quotient, a - quotient * self.n)
    }

    #[inline]
    pub(crate) fn quotient(self, a: u32) -> u32 {
        let quotient = ((u128::from(u64::from(a) + 1) * u128::from(self.reciprocal)) >> 64) as u32;
        debug_assert_eq!(quotient, a / self.n);
        quotient
    }
}

/// Returns the number of programs in a block of a parallel unit for each page of a physical block.
pub fn rows(config: &Config) -> u32 {
    Layout::new(config).per_row
}

impl Layout {
    /// Creates the layout of `config`.
    pub fn new(config: &Config) -> Layout {
        let g = &config.geometry;
        let together = config.multi_plane && config.group != Group::Plane;
        let planes = if together { g.planes } else { 1 };
        let positions = positions(config, planes);
        let per_row = match config.group {
            Group::Plane => 1,
            Group::Die => g.planes / planes,
            Group::Drive => positions.len() as u32,
        };
        let page_units = g.units_per_page();
        let program_units = page_units * planes;
        let read_planes = (1..=planes).rev().find(|n| planes.is_multiple_of(*n) && n * page_units <= UNITS_MAX);
        let read_units = read_planes.unwrap_or(1) * page_units;
        let sectors = g.unit_bytes / media::SECTOR as u32;
        let grain = sectors.div_ceil(UNITS_MAX).next_power_of_two().trailing_zeros();
        let block_programs = g.pages * per_row;
        let block_units = block_programs * program_units;
        let stripe = config.parity.map_or(0, |data| data + 1);
        let data_programs = block_programs - block_programs.checked_div(stripe).unwrap_or(0);
        Layout {
            parallel_units: positions.len() as u32 / per_row,
            positions: Dense::new(positions),
            blocks: g.blocks,
            pages: g.pages,
            per_row,
            planes,
            plain: planes == 1 && per_row == 1,
            page_units,
            program_units,
            block_programs,
            block_units,
            data_units: data_programs * program_units,
            stripe,
            unit_shift: g.unit_bytes.trailing_zeros(),
            all_sectors: u64::MAX >> (UNITS_MAX - (sectors >> grain)),
            grain,
            read_units,
            program_reads: program_units / read_units,
            by: Divisors {
                block_units: Divisor::new(block_units),
                blocks: Divisor::new(g.blocks),
                per_row: Divisor::new(per_row),
                page_units: Divisor::new(page_units),
                program_units: Divisor::new(program_units),
            },
        }
    }

    /// Returns how many of the first `programs` of a block are not parity.
    #[inline]
    pub(crate) fn data_before(&self, programs: u32) -> u32 {
        programs - programs.checked_div(self.stripe).unwrap_or(0)
    }

    /// Returns how many of the last `programs` of a block are not parity.
    #[inline]
    pub(crate) fn data_after(&self, programs: u32) -> u32 {
        if self.stripe == 0 { programs } else { programs - programs.div_ceil(self.stripe) }
    }

    /// Returns the number in its block of data program number `data`.
    #[inline]
    pub(crate) fn data_program(&self, data: u32) -> u32 {
        if self.stripe == 0 { data } else { data + data / (self.stripe - 1) }
    }

    /// Returns the number in its block of unit number `data`, where `data` does not count parity.
    #[inline]
    pub(crate) fn data_unit(&self, data: u32) -> u32 {
        if self.stripe == 0 {
            return data;
        }
        let (program, within) = self.by.program_units.divide(data);
        self.data_program(program) * self.program_units + within
    }

    /// Inverts [`data_unit`](Self::data_unit); returns `None` for a unit of parity.
    #[inline]
    pub(crate) fn data_number(&self, unit: u32) -> Option<u32> {
        if self.stripe == 0 {
            return Some(unit);
        }
        let (program, within) = self.by.program_units.divide(unit);
        let data = self.data_before(program) * self.program_units + within;
        (!self.is_parity(program)).then_some(data)
    }

    /// Returns true if program number `program` of a block without bad planes is parity.
    #[inline]
    pub(crate) fn is_parity(&self, program: u32) -> bool {
        self.stripe != 0 && program % self.stripe == self.stripe - 1
    }

    /// Returns the number of blocks of all parallel units.
    pub fn all_blocks(&self) -> u32 {
        self.parallel_units * self.blocks
    }

    /// Returns the parallel unit of a block.
    #[inline]
    pub fn pu_of(&self, block: u32) -> u32 {
        self.by.blocks.quotient(block)
    }

    /// Returns the block of a unit.
    #[inline]
    pub fn block_of(&self, unit: u32) -> u32 {
        self.by.block_units.quotient(unit)
    }

    /// Returns the first unit of program number `program` of `block`.
    #[inline]
    pub fn unit_of(&self, block: u32, program: u32) -> u32 {
        block * self.block_units + program * self.program_units
    }

    /// Returns the first unit of read number `read` of `block`.
    #[inline]
    pub(crate) fn read_unit(&self, block: u32, read: u32) -> u32 {
        block * self.block_units + read * self.read_units
    }

    /// Returns the page of program number `program` of `block`, on all its planes.
    #[inline]
    pub fn page(&self, block: u32, program: u32) -> PageAddr {
        self.page_in(self.pu_of(block), block, program)
    }

    /// Like [`page`](Self::page), for a known parallel unit of `block`.
    #[inline]
    pub fn page_in(&self, pu: u32, block: u32, program: u32) -> PageAddr {
        debug_assert_eq!(pu, self.pu_of(block));
        let (page, position) = if self.per_row == 1 { (program, 0) } else { self.by.per_row.divide(program) };
        let Position { die, planes } = self.positions[(pu * self.per_row + position) as usize];
        PageAddr { die, planes, block: block - pu * self.blocks, page }
    }

    /// Returns the page of read number `read` of `block`, of [`program_reads`](Self::program_reads) per program, on all
    /// planes of the read.
    #[inline]
    pub(crate) fn read_in(&self, pu: u32, block: u32, read: u32) -> PageAddr {
        if self.program_reads == 1 { self.page_in(pu, block, read) } else { self.part_in(pu, block, read) }
    }

    fn part_in(&self, pu: u32, block: u32, read: u32) -> PageAddr {
        let mut page = self.page_in(pu, block, read / self.program_reads);
        let planes = self.read_units / self.page_units;
        let first = page.planes.0.trailing_zeros() + read % self.program_reads * planes;
        page.planes = PlaneMask((((1u32 << planes) - 1) << first) as u16);
        page
    }

    /// Returns the page (of one plane), its plane, and the number of `unit` within it.
    #[inline]
    pub fn address(&self, unit: u32) -> (PageAddr, u32, u32) {
        let (block, within) = self.by.block_units.divide(unit);
        let (program, in_program) = self.by.program_units.divide(within);
        let (plane, in_page) = self.by.page_units.divide(in_program);
        let mut page = self.page(block, program);
        let plane = page.planes.0.trailing_zeros() + plane;
        page.planes = PlaneMask::one(plane);
        (page, plane, in_page)
    }

    /// Returns the page, on the planes that hold the `count` units from `unit` on, as one read of a single program.
    #[inline(always)]
    pub fn span(&self, unit: u32, count: u32) -> PageAddr {
        let (block, within) = self.by.block_units.divide(unit);
        let (program, in_program) = self.by.program_units.divide(within);
        debug_assert!(in_program + count <= self.program_units, "a read spans two programs");
        let (pu, block) = self.by.blocks.divide(block);
        if self.plain {
            let Position { die, planes } = self.positions[pu as usize];
            let page = PageAddr { die, planes, block, page: program };
            debug_assert_eq!(page, self.address(unit).0, "unit {unit}");
            return page;
        }
        let (page, in_row) = self.by.per_row.divide(program);
        let Position { die, planes } = self.positions[(pu * self.per_row + in_row) as usize];
        // The lowest plane, shifted up.
        let first = u32::from(planes.0 & planes.0.wrapping_neg());
        let from = self.by.page_units.quotient(in_program);
        let more = if count == 1 { 0 } else { self.by.page_units.quotient(in_program + count - 1) - from };
        PageAddr { die, planes: PlaneMask((((2 << more) - 1) * (first << from)) as u16), block, page }
    }

    /// Returns the divisors for the units of a block and the units of a program.
    pub(crate) fn divisors(&self) -> (Divisor, Divisor) {
        (self.by.block_units, self.by.program_units)
    }

    /// Returns the position of each plane of each die, numbered in the order of parallel units.
    pub(crate) fn positions_of_planes(&self, dies: u32, planes: u32) -> Vec<u32> {
        let mut numbers = vec![u32::MAX; (dies * planes) as usize];
        for (number, position) in (0u32..).zip(self.positions.iter()) {
            for plane in position.planes.iter() {
                numbers[(u32::from(position.die) * planes + plane) as usize] = number;
            }
        }
        numbers
    }

    /// Returns the physical blocks of position `position` of `block`.
    pub fn block_at(&self, block: u32, position: u32) -> BlockAddr {
        self.page(block, position).block()
    }
}

/// Returns the positions in stripe order, those of a parallel unit next to each other.
fn positions(config: &Config, planes: u32) -> Vec<Position> {
    let g = &config.geometry;
    let extent = |axis: Axis| match axis {
        Axis::Channel => g.channels,
        Axis::Way => g.chips,
        Axis::Die => g.dies,
        Axis::Plane => g.planes / planes,
    };
    let total: u32 = config.stripe.iter().map(|a| extent(*a)).product();
    let mut positions: Vec<Position> = (0..total)
        .map(|mut i| {
            let mut at = [0u32; 4];
            for axis in config.stripe {
                at[axis as usize] = i % extent(axis);
                i /= extent(axis);
            }
            let [channel, way, die, plane] = at;
            let die = ((channel * g.chips + way) * g.dies + die) as u16;
            Position { die, planes: PlaneMask((((1u32 << planes) - 1) << (plane * planes)) as u16) }
        })
        .collect();
    if config.group == Group::Die {
        // The positions of a parallel unit are the planes of one die; parallel units keep the stripe order of their
        // first plane.
        let order: Vec<u16> = {
            let mut seen = vec![false; g.all_dies() as usize];
            let first = |p: &Position| !std::mem::replace(&mut seen[p.die as usize], true);
            let mut first = first;
            positions.iter().filter(|p| first(p)).map(|p| p.die).collect()
        };
        let rank = |die: u16| order.iter().position(|d| *d == die);
        positions.sort_by_key(|p| (rank(p.die), p.planes.0));
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_reciprocal_divides(n in 1u32.., a: u32, shift in 0u32..32) {
            for (n, a) in [(n, a), ((n >> shift).max(1), a), (n, u32::MAX), (n, n), (n, n - 1), (1, a), (a.max(1), u32::MAX)] {
                prop_assert_eq!(Divisor::new(n).divide(a), (a / n, a % n), "{} by {}", a, n);
            }
        }
    }
}
