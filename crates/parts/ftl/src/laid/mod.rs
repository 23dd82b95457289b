//! The rule of a laid-out drive: computes where each logical unit is, and which logical unit each flash unit holds.
//!
//! For a drive filled in order, both are arithmetic. In a steady-state drive the units are in random order and are
//! dealt to blocks with given numbers of valid units; a keyed shuffle of each block selects its valid positions. Both
//! mappings are invertible bijections, so that only one entry per block is stored.

use std::any::Any;
use std::sync::Arc;

use media::{LaidBlock, LaidOut, NOBODY, PARITY, PageAddr};
use sim::{Dense, Permutation};

use crate::config::Config;
use crate::layout::{Divisor, Layout};
use crate::sizes;
use crate::space::placement;

pub mod aged;
mod host_blocks;
mod mount;
mod shape;
mod slc;
mod stream;
mod striped;

use striped::Striped;

/// One block of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Number of programs.
    pub(crate) programs: u32,
    /// Number of leading programs without valid units.
    pub(crate) skipped: u32,
    /// Number of valid units in the remaining programs.
    pub(crate) valid: u32,
    /// Number of units dealt to earlier blocks, without those of the map if these are dealt separately.
    pub(crate) base: u32,
    /// Number of the valid units that are units of the map, if these are dealt separately.
    pub(crate) map: u32,
    /// Number of units of the map dealt to earlier blocks, if they are dealt separately.
    pub(crate) map_base: u32,
    /// Sequence number of the first program; the others follow consecutively.
    pub(crate) sequence: u64,
    /// Key of the shuffle.
    pub(crate) key: u64,
}

/// Random orders in which the live units are dealt to blocks.
pub(crate) struct Deal {
    /// Order of the first live units: all, or the user's if those of the map are dealt separately.
    pub(crate) units: Permutation,
    /// Order of the units of the map, if they are dealt separately: to the blocks that host writes filled last.
    pub(crate) map: Option<Permutation>,
}

/// Units in random order, dealt to blocks with given numbers of valid units.
struct Dealt {
    entries: Dense<Entry>,
    /// Blocks with valid units, by their base, and the index at which to start searching them for each bucket of units.
    by_base: Vec<u32>,
    buckets: Vec<u32>,
    bucket_shift: u32,
    /// Blocks with units of the map that are dealt separately, by their map base.
    by_map_base: Vec<u32>,
    /// Number of units of the first order; those of the second one are numbered from here.
    first: u32,
    deal: Deal,
}

/// Positions of the valid units of a block, not counting parity. Units of the map that are dealt separately precede the
/// others in the order of the shuffle.
struct DealtBlock {
    first: u32,
    base: u32,
    valid: u32,
    map: u32,
    /// Number among all dealt units of the first unit of the map.
    map_base: u32,
    shuffle: Shuffle,
}

impl Dealt {
    #[inline]
    fn block(&self, block: u32, layout: &Layout) -> DealtBlock {
        let &Entry { programs, skipped, valid, base, map, map_base, key, .. } = &self.entries[block as usize];
        let first = layout.data_before(skipped) * layout.program_units;
        let len = layout.data_before(programs) * layout.program_units - first;
        let map_base = self.first + map_base;
        DealtBlock { first, base, valid, map, map_base, shuffle: Shuffle::new(len, key) }
    }

    /// Returns the live unit with number `number` among all dealt units.
    #[inline]
    fn live(&self, number: u32) -> u32 {
        match &self.deal.map {
            Some(map) if number >= self.first => self.first + map.at(u64::from(number - self.first)) as u32,
            _ => self.deal.units.at(u64::from(number)) as u32,
        }
    }

    /// Returns the block to which live unit `live` was dealt, and its number among the block's valid units.
    #[inline]
    fn dealt_to(&self, live: u32) -> (u32, u32) {
        if let Some(map) = self.deal.map.as_ref().filter(|_| live >= self.first) {
            let at = map.index_of(u64::from(live - self.first)) as u32;
            let ends = |block: &u32| self.entries[*block as usize].map_base + self.entries[*block as usize].map;
            let block = self.by_map_base[self.by_map_base.partition_point(|block| ends(block) <= at)];
            return (block, at - self.entries[block as usize].map_base);
        }
        let at = self.deal.units.index_of(u64::from(live)) as u32;
        let mut from = self.buckets[(at >> self.bucket_shift) as usize] as usize;
        loop {
            let block = self.by_base[from];
            let Entry { base, valid, map, .. } = self.entries[block as usize];
            if at < base + (valid - map) {
                return (block, map + (at - base));
            }
            from += 1;
        }
    }
}

impl DealtBlock {
    /// Returns the number among all dealt units of the unit at `within`, if it is valid.
    #[inline]
    fn dealt(&self, within: u32) -> Option<u32> {
        let at = within.wrapping_sub(self.first);
        if at >= self.shuffle.len {
            return None;
        }
        let index = self.shuffle.at(at);
        if index < self.map {
            return Some(self.map_base + index);
        }
        (index < self.valid).then_some(self.base + (index - self.map))
    }

    /// Returns the position of valid unit number `index` of the block.
    #[inline]
    fn place(&self, index: u32) -> u32 {
        self.first + self.shuffle.index_of(index)
    }
}

enum Order {
    Striped(Striped),
    Dealt(Dealt),
}

/// The rule of a laid-out drive.
pub struct Laid {
    layout: Layout,
    /// Position of each plane of each die.
    positions: Vec<u32>,
    planes: u32,
    slc_blocks: u32,
    user_units: u32,
    journal_units: u32,
    live: u32,
    highest: u64,
    /// Bits of a stamp below the sequence number: laid-out data has handle 0.
    stamp_bits: u32,
    by: (Divisor, Divisor),
    order: Order,
    /// Blocks that rest before they are collected, the oldest first.
    resting: Vec<u32>,
    /// Blocks that are being collected.
    victims: Vec<LaidVictim>,
}

/// A block that is being collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaidVictim {
    pub(crate) block: u32,
    /// Number of valid units when it was chosen.
    pub(crate) valid: u32,
}

/// Returns the number of live units of a fully written drive: the user's, and the map's in flash.
pub(crate) fn live_units(config: &Config) -> u32 {
    config.user_units + sizes::map_units(config)
}

impl Laid {
    fn new(config: &Config, order: Order, highest: u64) -> Laid {
        let layout = Layout::new(config);
        let g = &config.geometry;
        Laid {
            positions: layout.positions_of_planes(g.all_dies(), g.planes),
            planes: g.planes,
            slc_blocks: config.slc.map_or(0, |slc| slc.blocks),
            user_units: config.user_units,
            journal_units: sizes::journal_units(config),
            live: live_units(config),
            highest,
            stamp_bits: placement::stamp_bits(config),
            by: layout.divisors(),
            layout,
            order,
            resting: Vec::new(),
            victims: Vec::new(),
        }
    }

    /// Creates the rule of a drive whose every unit was written once by a sequential job.
    pub(crate) fn striped(config: &Config) -> Laid {
        let layout = Layout::new(config);
        let striped = Striped::new(config, &layout);
        let highest = layout.data_program(striped.all()).into();
        Laid::new(config, Order::Striped(striped), highest)
    }

    /// Creates the rule of a drive with the blocks `entries`, whose bases number their valid units consecutively; `deal`
    /// maps these numbers to live units. The blocks `resting` rest, the oldest first, and `victims` are being
    /// collected.
    pub(crate) fn dealt(
        config: &Config,
        entries: Vec<Entry>,
        deal: Deal,
        resting: Vec<u32>,
        victims: Vec<LaidVictim>,
    ) -> Laid {
        let live = live_units(config);
        let first = if deal.map.is_some() { config.user_units } else { live };
        let mut by_base: Vec<u32> = (0..entries.len() as u32).collect();
        let mut by_map_base = by_base.clone();
        by_base.retain(|block| entries[*block as usize].valid > entries[*block as usize].map);
        by_map_base.retain(|block| entries[*block as usize].map > 0);
        by_base.sort_unstable_by_key(|block| entries[*block as usize].base);
        by_map_base.sort_unstable_by_key(|block| entries[*block as usize].map_base);
        let (mut next, mut next_map) = (0, 0);
        for block in &by_base {
            let Entry { base, valid, map, .. } = entries[*block as usize];
            assert_eq!(base, next, "the units of consecutive blocks are contiguous");
            next = base + (valid - map);
        }
        for block in &by_map_base {
            let Entry { map_base, map, .. } = entries[*block as usize];
            assert_eq!(map_base, next_map, "the units of the map of consecutive blocks are contiguous");
            next_map = map_base + map;
        }
        assert_eq!((next, next_map), (first, live - first), "every live unit must be dealt");
        // One or two buckets per block.
        let bucket_shift = (first / by_base.len() as u32).max(1).ilog2();
        let mut at = 0;
        let buckets = (0..=first >> bucket_shift)
            .map(|bucket| {
                let ends = |at: usize| {
                    let entry = &entries[by_base[at] as usize];
                    entry.base + (entry.valid - entry.map)
                };
                while at + 1 < by_base.len() && ends(at) <= bucket << bucket_shift {
                    at += 1;
                }
                at as u32
            })
            .collect();
        let last = |entry: &Entry| (entry.sequence + u64::from(entry.programs)).saturating_sub(1);
        let highest = entries.iter().map(last).max().unwrap_or(0);
        let dealt = Dealt { entries: Dense::new(entries), by_base, buckets, bucket_shift, by_map_base, first, deal };
        Laid { resting, victims, ..Laid::new(config, Order::Dealt(dealt), highest) }
    }

    /// Returns the blocks that rest before they are collected, the oldest first.
    pub(crate) fn resting(&self) -> &[u32] {
        &self.resting
    }

    /// Returns the blocks that are being collected.
    pub(crate) fn victims(&self) -> &[LaidVictim] {
        &self.victims
    }

    /// Returns the highest sequence number.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns the number of programs in `block`.
    pub(crate) fn programs(&self, block: u32) -> u32 {
        match &self.order {
            Order::Dealt(dealt) => dealt.entries[block as usize].programs,
            Order::Striped(striped) => self.layout.data_program(striped.programs(block)),
        }
    }

    /// Returns the number of valid units of `block`.
    pub(crate) fn valid(&self, block: u32) -> u32 {
        match &self.order {
            Order::Dealt(dealt) => dealt.entries[block as usize].valid,
            Order::Striped(striped) => {
                let data = self.layout.data_before(self.programs(block));
                data * self.layout.program_units - striped.padding(block)
            }
        }
    }

    /// Returns the live-unit number of logical unit `unit`, if the rule covers it.
    #[inline]
    fn live_unit(&self, unit: u32) -> Option<u32> {
        if unit < self.user_units {
            return Some(unit);
        }
        let map = unit.checked_sub(self.user_units + self.journal_units)?;
        (map < self.live - self.user_units).then_some(self.user_units + map)
    }

    #[inline]
    fn logical_of(&self, live: u32) -> u32 {
        if live < self.user_units { live } else { live + self.journal_units }
    }

    /// Returns the flash unit at which logical unit `unit` was laid out.
    #[inline]
    pub(crate) fn home(&self, unit: u32) -> Option<u32> {
        let live = self.live_unit(unit)?;
        Some(match &self.order {
            Order::Striped(striped) => {
                let (program, within) = self.by.1.divide(striped.stream.position(live));
                let (block, number) = striped.place(program);
                let number = self.layout.data_program(number);
                self.layout.unit_of(block, number) + within
            }
            Order::Dealt(dealt) => self.dealt_home(dealt, live),
        })
    }

    /// Returns the flash unit of live unit `live` under [`Order::Dealt`]. Apart, because it needs many registers, which
    /// the other order need not save.
    #[inline(never)]
    fn dealt_home(&self, dealt: &Dealt, live: u32) -> u32 {
        let (block, index) = dealt.dealt_to(live);
        let data = dealt.block(block, &self.layout).place(index);
        block * self.layout.block_units + self.layout.data_unit(data)
    }

    /// Returns the logical unit that was laid out at flash unit `physical`; [`NOBODY`] if none is valid there.
    #[inline]
    pub(crate) fn logical(&self, physical: u32) -> u32 {
        let (block, within) = self.by.0.divide(physical);
        match &self.order {
            Order::Striped(striped) => {
                let (number, within) = self.by.1.divide(within);
                if self.layout.is_parity(number) {
                    return if number < self.programs(block) { PARITY } else { NOBODY };
                }
                let program = striped.program(block, self.layout.data_before(number));
                let live =
                    program.and_then(|program| striped.stream.live(program * self.layout.program_units + within));
                live.map_or(NOBODY, |live| self.logical_of(live))
            }
            Order::Dealt(dealt) => {
                let Some(data) = self.layout.data_number(within) else { return PARITY };
                let number = dealt.block(block, &self.layout).dealt(data);
                number.map_or(NOBODY, |number| self.logical_of(dealt.live(number)))
            }
        }
    }

    /// Calls `each` with every flash unit of `block` that was laid out valid.
    pub(crate) fn each_valid(&self, block: u32, each: impl FnMut(u32)) {
        let first = block * self.layout.block_units;
        match &self.order {
            Order::Dealt(dealt) => {
                let dealt_block = dealt.block(block, &self.layout);
                (0..dealt_block.valid)
                    .map(|index| first + self.layout.data_unit(dealt_block.place(index)))
                    .for_each(each);
            }
            Order::Striped(_) => (first..first + self.layout.block_units)
                .filter(|physical| self.logical(*physical) < PARITY)
                .for_each(each),
        }
    }

    /// Returns true if flash unit `physical` was laid out valid.
    #[inline]
    pub(crate) fn is_valid(&self, physical: u32) -> bool {
        match &self.order {
            Order::Striped(_) => self.logical(physical) < PARITY,
            Order::Dealt(dealt) => {
                let (block, within) = self.by.0.divide(physical);
                let data = self.layout.data_number(within);
                data.is_some_and(|data| dealt.block(block, &self.layout).dealt(data).is_some())
            }
        }
    }

    /// Returns the block and the position within it that a physical block belongs to.
    fn place(&self, die: u16, plane: u32, block: u32) -> (u32, u32) {
        let position = self.positions[(u32::from(die) * self.planes + plane) as usize];
        let (pu, in_row) = (position / self.layout.per_row, position % self.layout.per_row);
        (pu * self.layout.blocks + block, in_row)
    }

    /// Returns the number of pages laid out at `position` of `block`.
    pub(crate) fn pages(&self, block: u32, position: u32) -> u32 {
        let programs = self.programs(block);
        programs / self.layout.per_row + u32::from(position < programs % self.layout.per_row)
    }
}

impl LaidOut for Laid {
    fn block(&self, die: u16, plane: u32, block: u32) -> LaidBlock {
        let slc = block < self.slc_blocks;
        let (block, position) = self.place(die, plane, block);
        LaidBlock { pages: self.pages(block, position), slc }
    }

    fn logical(&self, die: u16, plane: u32, block: u32, units: &mut [u32]) {
        let (block, position) = self.place(die, plane, block);
        let first_plane = self.layout.page(block, position).planes.0.trailing_zeros();
        let within = position * self.layout.program_units + (plane - first_plane) * self.layout.page_units;
        let row = self.layout.per_row * self.layout.program_units;
        let pages = (within..).step_by(row as usize).zip(units.chunks_exact_mut(self.layout.page_units as usize));
        let Order::Dealt(dealt) = &self.order else {
            let first = block * self.layout.block_units;
            pages.for_each(|(from, units)| (first + from..).zip(units).for_each(|(at, unit)| *unit = self.logical(at)));
            return;
        };
        let dealt_block = dealt.block(block, &self.layout);
        for (from, units) in pages {
            for (at, unit) in (from..).zip(units) {
                let Some(data) = self.layout.data_number(at) else {
                    *unit = PARITY;
                    continue;
                };
                let number = dealt_block.dealt(data);
                *unit = number.map_or(NOBODY, |number| self.logical_of(dealt.live(number)));
            }
        }
    }

    fn sequence(&self, page: PageAddr, plane: u32) -> u64 {
        let (block, position) = self.place(page.die, plane, page.block);
        let program = page.page * self.layout.per_row + position;
        let sequence = match &self.order {
            Order::Dealt(dealt) => dealt.entries[block as usize].sequence + u64::from(program),
            Order::Striped(striped) => {
                // Parity follows the last program of its stripe.
                let follows = u32::from(self.layout.is_parity(program));
                let data = striped.program(block, self.layout.data_before(program) - follows);
                let data = data.expect("the program was laid out");
                u64::from(self.layout.data_program(data) + follows) + 1
            }
        };
        sequence << self.stamp_bits
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// A keyed, invertible bijection of `0..len` that selects the valid units of a block. Shuffles with different keys are
/// unrelated, unlike cyclic shifts of one permutation.
#[derive(Clone, Copy)]
struct Shuffle {
    len: u32,
    mask: u32,
    fold: u32,
    keys: [u32; 4],
}

/// Odd factors, one per round: leading bits of the fractional parts of the golden ratio and of the square roots of 2, 3
/// and 5.
const FACTORS: [u32; 4] = [0x9e37_79b9, 0x6a09_e667, 0xbb67_ae85, 0x3c6e_f373];
const INVERSES: [u32; 4] = [inverse(FACTORS[0]), inverse(FACTORS[1]), inverse(FACTORS[2]), inverse(FACTORS[3])];

/// Returns the inverse of an odd number modulo 2^32, by Newton's iteration.
const fn inverse(odd: u32) -> u32 {
    let (mut inverse, mut step) = (odd, 0);
    while step < 4 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

impl Shuffle {
    #[inline]
    fn new(len: u32, key: u64) -> Shuffle {
        let bits = u32::BITS - (len.max(2) - 1).leading_zeros();
        let (low, high) = (key as u32, (key >> 32) as u32);
        Shuffle {
            len,
            mask: u32::MAX >> (u32::BITS - bits),
            fold: bits.div_ceil(2),
            keys: [low, high, low.rotate_left(16), high.rotate_left(16)],
        }
    }

    #[inline]
    fn round(&self, value: u32, round: usize) -> u32 {
        let value = value.wrapping_add(self.keys[round]).wrapping_mul(FACTORS[round]) & self.mask;
        value ^ (value >> self.fold)
    }

    /// Inverts [`round`](Self::round): the fold is its own inverse.
    #[inline]
    fn undo(&self, value: u32, round: usize) -> u32 {
        let value = value ^ (value >> self.fold);
        value.wrapping_mul(INVERSES[round]).wrapping_sub(self.keys[round]) & self.mask
    }

    #[inline]
    fn at(&self, index: u32) -> u32 {
        let mut value = index;
        loop {
            value = self.round(self.round(self.round(self.round(value, 0), 1), 2), 3);
            if value < self.len {
                return value;
            }
        }
    }

    #[inline(always)]
    fn index_of(&self, value: u32) -> u32 {
        let mut index = value;
        loop {
            index = self.undo(self.undo(self.undo(self.undo(index, 3), 2), 1), 0);
            if index < self.len {
                return index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shuffle_is_a_bijection_that_can_be_undone(len in 1u32..5000, key: u64) {
            let shuffle = Shuffle::new(len, key);
            let mut met = vec![false; len as usize];
            for i in 0..len {
                let value = shuffle.at(i);
                prop_assert!(!std::mem::replace(&mut met[value as usize], true));
                prop_assert_eq!(shuffle.index_of(value), i);
            }
        }
    }

    /// Over many keys, each position is equally likely to hold one of the first quarter of a block's units, and
    /// neighbors are independent.
    #[test]
    fn shuffles_of_different_keys_look_random() {
        for len in [64u32, 256, 2304] {
            let valid = len / 4;
            let mut rng = sim::Streams::new(1).stream("shuffle");
            let keys = 4000;
            let (mut counts, mut pairs) = (vec![0u32; len as usize], 0u32);
            for _ in 0..keys {
                let shuffle = Shuffle::new(len, rng.bits());
                let mut before = false;
                for i in 0..len {
                    let now = shuffle.at(i) < valid;
                    counts[i as usize] += u32::from(now);
                    pairs += u32::from(now && before);
                    before = now;
                }
            }
            // Deviations of a binomial draw: 4000 draws with probability 1/4.
            let (mean, deviation) = (f64::from(keys) / 4.0, (f64::from(keys) * 3.0 / 16.0).sqrt());
            let chi = counts.iter().map(|c| ((f64::from(*c) - mean) / deviation).powi(2)).sum::<f64>();
            let chi = chi / f64::from(len);
            assert!((0.7..1.35).contains(&chi), "{len} units: chi-squared {chi} per place");
            let expected = f64::from(keys) * f64::from(len - 1) / 16.0;
            let ratio = f64::from(pairs) / expected;
            assert!((0.93..1.07).contains(&ratio), "{len} units: {ratio} of the expected neighbors");
        }
    }
}
