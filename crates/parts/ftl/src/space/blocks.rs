//! Per-block state: valid units, usage, erase count.

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::Dense;

use crate::laid::Laid;
use crate::layout::Layout;

/// Usage of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Erased or never used: in the free list of its parallel unit.
    Free,
    /// Being written.
    Open,
    /// Fully issued; some of its programs are still in progress.
    Full,
    /// Written; may be collected.
    Closed,
    /// Being collected, or collected and waiting until it may be erased.
    Victim,
    /// Being erased.
    Erasing,
    /// Set aside for read copies.
    Copies,
    /// Unusable on all planes.
    Bad,
}

/// Flag in `rank`, above the count of valid units, of blocks that may not be collected; the lowest rank of a parallel
/// unit is thus the victim of greedy collection.
const NOT_COLLECTABLE: u32 = 1 << 31;

/// The blocks of a drive.
pub struct Blocks {
    rank: Dense<u32>,
    usage: Dense<Use>,
    erases: Dense<u32>,
    /// Reads in progress, and copies that were read but not programmed. A block is erased only when it has none.
    pins: Dense<u32>,
    /// Sequence number at which the block was closed, which gives its age.
    closed: Dense<u64>,
    /// Programs in progress, later erases in progress.
    busy: Dense<u32>,
    /// Generation of the journal that must be durable before the block is erased.
    trimmed: Dense<u32>,
    /// One bit per unit, set if the unit is valid. In a block that follows the rule of its layout: set if the unit was
    /// valid and no longer is.
    valid: Dense<u64>,
    /// The rule of a laid-out drive, and which blocks' bits are relative to it.
    laid: Option<(Arc<Laid>, Vec<bool>)>,
    /// Retired planes: a mask for each (block, position) that has any.
    holes: BTreeMap<(u32, u32), u16>,
    /// Planes on which a program failed, by (block, position). They are retired once the block is empty.
    failing: BTreeMap<(u32, u32), u16>,
    /// Both maps are empty: every plane of every block takes programs.
    whole: bool,
}

/// Creates a table of `length` copies of `entry`.
fn of_each<T: Clone>(length: usize, entry: T) -> Dense<T> {
    Dense::new(vec![entry; length])
}

impl Blocks {
    /// Creates the state of all blocks of `layout`, free. Zeroed memory is not touched, so an unwritten drive occupies
    /// none.
    pub fn new(layout: &Layout) -> Blocks {
        let n = layout.all_blocks() as usize;
        let units = u64::from(layout.all_blocks()) * u64::from(layout.block_units);
        Blocks {
            rank: of_each(n, NOT_COLLECTABLE),
            usage: of_each(n, Use::Free),
            erases: of_each(n, 0),
            pins: of_each(n, 0),
            closed: of_each(n, 0),
            busy: of_each(n, 0),
            trimmed: of_each(n, 0),
            valid: of_each(units.div_ceil(64) as usize, 0),
            laid: None,
            holes: BTreeMap::new(),
            failing: BTreeMap::new(),
            whole: true,
        }
    }

    /// Returns the number of valid units of `block`.
    #[inline]
    pub fn valid(&self, block: u32) -> u32 {
        self.rank[block as usize] & !NOT_COLLECTABLE
    }

    /// Returns the usage of `block`.
    #[inline]
    pub fn usage(&self, block: u32) -> Use {
        self.usage[block as usize]
    }

    /// Sets the usage of `block`.
    pub fn set_usage(&mut self, block: u32, usage: Use) {
        let rank = &mut self.rank[block as usize];
        match usage {
            Use::Closed => *rank &= !NOT_COLLECTABLE,
            _ => *rank |= NOT_COLLECTABLE,
        }
        self.usage[block as usize] = usage;
        if usage == Use::Victim {
            self.settle(block);
        }
    }

    /// Installs `rule`, which blocks may then follow.
    pub(crate) fn lay_out(&mut self, rule: Arc<Laid>) {
        let blocks = self.usage.len();
        self.laid = Some((rule, vec![false; blocks]));
    }

    /// Gives `block`, which is erased, the valid units of the rule.
    pub(crate) fn follow_rule(&mut self, block: u32) {
        let Some((rule, follows)) = &mut self.laid else { unreachable!("no rule to follow") };
        follows[block as usize] = true;
        self.rank[block as usize] += rule.valid(block);
    }

    /// Makes the bits of `block` absolute instead of relative to the rule.
    fn settle(&mut self, block: u32) {
        if self.follows_rule(block) {
            self.settle_by_rule(block);
        }
    }

    fn settle_by_rule(&mut self, block: u32) {
        let Some((rule, follows)) = &mut self.laid else { unreachable!("no rule to follow") };
        follows[block as usize] = false;
        let valid = &mut self.valid;
        rule.each_valid(block, |physical| valid[physical as usize / 64] ^= 1 << (physical % 64));
    }

    /// Implements [`clear_valid`](Self::clear_valid) for a unit that is valid by the rule.
    fn clear_by_rule(&mut self, block: u32, unit: u32) {
        let Some((rule, _)) = self.laid.as_ref().filter(|(_, follows)| follows[block as usize]) else {
            panic!("unit {unit} is not valid")
        };
        debug_assert!(rule.is_valid(unit), "unit {unit} is not valid by the rule");
        self.valid[unit as usize / 64] |= 1 << (unit % 64);
    }

    /// Closes `block` at `sequence`.
    pub fn close(&mut self, block: u32, sequence: u64) {
        self.set_usage(block, Use::Closed);
        self.closed[block as usize] = sequence;
    }

    /// Records that the newest copy of a unit in `block` was trimmed, which `generation` of the journal will make
    /// durable.
    pub fn set_trimmed(&mut self, block: u32, generation: u32) {
        self.trimmed[block as usize] = generation;
    }

    /// Returns the generation of the journal that must be durable before `block` is erased.
    pub fn trimmed(&self, block: u32) -> u32 {
        self.trimmed[block as usize]
    }

    /// Excludes the closed `block` from victim selection.
    pub fn withhold(&mut self, block: u32) {
        self.rank[block as usize] |= NOT_COLLECTABLE;
    }

    /// Counts a program of `block` as in progress.
    #[inline]
    pub fn writing(&mut self, block: u32) {
        self.busy[block as usize] += 1;
    }

    /// Ends a program of `block`; returns how many remain in progress.
    #[inline]
    pub fn end_write(&mut self, block: u32) -> u32 {
        let busy = &mut self.busy[block as usize];
        *busy -= 1;
        *busy
    }

    /// Returns the number of programs of `block` in progress.
    pub fn writes(&self, block: u32) -> u32 {
        self.busy[block as usize]
    }

    /// Sets the number of erases of `block` in progress.
    pub fn set_erasing(&mut self, block: u32, erases: u32) {
        debug_assert_eq!(self.busy[block as usize], 0);
        self.busy[block as usize] = erases;
    }

    /// Ends an erase of `block`; returns how many remain in progress.
    pub fn end_erase(&mut self, block: u32) -> u32 {
        self.end_write(block)
    }

    /// Returns the sequence number at which `block` was closed.
    pub fn closed_at(&self, block: u32) -> u64 {
        self.closed[block as usize]
    }

    /// Returns the ranks of the blocks of a parallel unit: the count of valid units, plus 2^31 if the block may not be
    /// collected.
    pub fn ranks(&self, layout: &Layout, pu: u32) -> &[u32] {
        let from = (pu * layout.blocks) as usize;
        self.rank.part(from, layout.blocks as usize)
    }

    /// Returns true if a block with this entry of [`ranks`](Self::ranks) may be collected.
    #[inline]
    pub fn collectable(rank: u32) -> bool {
        rank & NOT_COLLECTABLE == 0
    }

    /// Returns true if `block` may be collected.
    #[inline]
    pub fn is_collectable(&self, block: u32) -> bool {
        Blocks::collectable(self.rank[block as usize])
    }

    /// Marks `unit` of `block` valid.
    #[inline]
    pub fn set_valid(&mut self, block: u32, unit: u32) {
        self.mark_valid(unit);
        self.count_valid(block, 1);
    }

    /// Marks `unit` valid; the caller updates the count of its block with [`count_valid`](Self::count_valid).
    #[inline]
    pub fn mark_valid(&mut self, unit: u32) {
        let (word, bit) = (&mut self.valid[unit as usize / 64], 1u64 << (unit % 64));
        debug_assert!(*word & bit == 0, "unit {unit} is already valid");
        *word |= bit;
    }

    /// Adds `units` to the count of valid units of `block`.
    #[inline]
    pub fn count_valid(&mut self, block: u32, units: u32) {
        self.rank[block as usize] += units;
    }

    /// Marks `unit` of `block` invalid; returns the number of units left valid, and the usage of the block.
    #[inline(always)]
    pub fn clear_valid(&mut self, block: u32, unit: u32) -> (u32, Use) {
        let (word, bit) = (&mut self.valid[unit as usize / 64], 1u64 << (unit % 64));
        if *word & bit == 0 {
            self.clear_by_rule(block, unit);
        } else {
            *word &= !bit;
            debug_assert!(!self.follows_rule(block), "unit {unit} is superseded twice");
        }
        let rank = &mut self.rank[block as usize];
        *rank -= 1;
        // SAFETY: the block has a rank, and there is a usage for each rank.
        let usage = unsafe { *self.usage.get_unchecked(block as usize) };
        (*rank & !NOT_COLLECTABLE, usage)
    }

    /// Returns true if the bits of `block` are relative to the rule of its layout.
    #[inline]
    pub(crate) fn follows_rule(&self, block: u32) -> bool {
        self.laid.as_ref().is_some_and(|(_, follows)| follows[block as usize])
    }

    /// Returns the validity bits of the `count` units from `unit` on, at most 64; bit 0 is `unit`.
    #[inline]
    pub fn valid_bits(&self, unit: u32, count: u32) -> u64 {
        debug_assert!((1..=64).contains(&count));
        let (word, shift) = (unit as usize / 64, unit % 64);
        let mut bits = self.valid[word] >> shift;
        if shift + count > 64 {
            bits |= self.valid[word + 1] << (64 - shift);
        }
        bits & (u64::MAX >> (64 - count))
    }

    /// Returns the erase count of `block`.
    #[inline]
    pub fn erases(&self, block: u32) -> u32 {
        self.erases[block as usize]
    }

    /// Sets the erase count of `block`.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        self.erases[block as usize] = erases;
    }

    /// Pins `block` for a read.
    #[inline]
    pub fn pin(&mut self, block: u32) {
        self.pins[block as usize] += 1;
    }

    /// Pins `block` for `reads` reads, or units read to be copied.
    #[inline]
    pub fn pin_reads(&mut self, block: u32, reads: u32) {
        self.pins[block as usize] += reads;
    }

    /// Removes a pin; returns how many are left.
    #[inline]
    pub fn unpin(&mut self, block: u32) -> u32 {
        let pins = &mut self.pins[block as usize];
        *pins -= 1;
        *pins
    }

    /// Returns the number of pins: reads in progress, and copies that were read but not programmed.
    #[inline]
    pub fn pins(&self, block: u32) -> u32 {
        self.pins[block as usize]
    }

    /// Returns true if every plane of every block can be programmed.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the retired planes of `position` of `block`.
    #[inline]
    pub fn hole(&self, block: u32, position: u32) -> u16 {
        if self.holes.is_empty() {
            return 0;
        }
        self.holes.get(&(block, position)).copied().unwrap_or(0)
    }

    /// Returns the planes of `position` of `block` that take no program: retired, or to be retired at the next erase.
    pub fn closed_planes(&self, block: u32, position: u32) -> u16 {
        self.hole(block, position) | self.failing.get(&(block, position)).copied().unwrap_or(0)
    }

    /// Retires the planes `mask` of `position` of `block`.
    pub fn add_hole(&mut self, block: u32, position: u32, mask: u16) {
        *self.holes.entry((block, position)).or_insert(0) |= mask;
        self.whole = false;
    }

    /// Returns the number of planes of `block` that can be programmed now, if it is open, or else after its next erase.
    pub fn usable_planes(&self, layout: &Layout, block: u32) -> u32 {
        if self.whole {
            return layout.per_row * layout.planes;
        }
        let lost: u32 = self.holes.range((block, 0)..(block + 1, 0)).map(|(_, mask)| mask.count_ones()).sum();
        let failing = self.failing.range((block, 0)..(block + 1, 0));
        let failing: u32 = failing.map(|((_, at), mask)| (mask & !self.hole(block, *at)).count_ones()).sum();
        layout.per_row * layout.planes - lost - failing
    }

    /// Records that a program on the planes `mask` of `position` of `block` failed.
    pub fn add_failing(&mut self, block: u32, position: u32, mask: u16) {
        *self.failing.entry((block, position)).or_insert(0) |= mask;
        self.whole = false;
    }

    /// Returns true if a program in `block` failed since the block was opened.
    pub fn is_failing(&self, block: u32) -> bool {
        !self.failing.is_empty() && self.failing.range((block, 0)..(block + 1, 0)).next().is_some()
    }

    /// Removes and returns the failed planes of `block`, as (position, mask).
    pub fn take_failing(&mut self, block: u32) -> Vec<(u32, u16)> {
        if self.failing.is_empty() {
            return Vec::new();
        }
        let keys: Vec<_> = self.failing.range((block, 0)..(block + 1, 0)).map(|(k, _)| *k).collect();
        let failing = keys.into_iter().filter_map(|k| self.failing.remove(&k).map(|mask| (k.1, mask))).collect();
        self.whole = self.holes.is_empty() && self.failing.is_empty();
        failing
    }
}
