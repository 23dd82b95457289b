//! What is known of each block: how much of it is valid, what it is used for, how often it was erased.

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::Dense;

use crate::laid::Laid;
use crate::layout::Layout;

/// What a block is being used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Erased, or never used: waiting in its parallel unit's free list.
    Free,
    /// Being written.
    Open,
    /// Its last program was issued, and is not done.
    Full,
    /// Written; may be collected.
    Closed,
    /// Being collected, or collected and waiting until it may be erased.
    Victim,
    /// The erase is under way.
    Erasing,
    /// Set aside for copies of what was read.
    Copies,
    /// No part of it is usable.
    Bad,
}

/// Set in `rank` beside the count of valid units while a block may not be collected, so that the least rank of a
/// parallel unit is the victim that greedy collection wants.
const NOT_COLLECTABLE: u32 = 1 << 31;

/// The blocks of a drive.
pub struct Blocks {
    rank: Dense<u32>,
    usage: Dense<Use>,
    erases: Dense<u32>,
    /// Reads under way, and copies that were read and not issued; a block is erased only without any.
    pins: Dense<u32>,
    /// Sequence number when it was closed: its age.
    closed: Dense<u64>,
    /// Programs, then erases, under way.
    busy: Dense<u32>,
    /// Generation of the journal that must be durable before it is erased.
    trimmed: Dense<u32>,
    /// A bit a unit: this is where its logical unit is. In a block that follows the rule of its lay-out: it was, and is
    /// no more.
    valid: Dense<u64>,
    /// The rule of a laid-out drive, and which blocks' bits follow it.
    laid: Option<(Arc<Laid>, Vec<bool>)>,
    /// Planes that may not be used, a mask for each position that has some.
    holes: BTreeMap<(u32, u32), u16>,
    /// A program in it failed: empty it, then retire what failed.
    failing: BTreeMap<(u32, u32), u16>,
}

/// A table with an entry for each of so many.
fn of_each<T: Clone>(length: usize, entry: T) -> Dense<T> {
    // SAFETY: blocks, and units within them, are numbered by the layout: what it is given comes from the map, whose entries are
    // its own numbers, or from the commands of the host, which are checked.
    unsafe { Dense::new(vec![entry; length]) }
}

impl Blocks {
    /// All blocks of `layout`, free. Zeroed memory is not touched, so an unwritten drive costs none.
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
        }
    }

    /// Valid units of `block`.
    #[inline]
    pub fn valid(&self, block: u32) -> u32 {
        self.rank[block as usize] & !NOT_COLLECTABLE
    }

    /// What `block` is used for.
    #[inline]
    pub fn usage(&self, block: u32) -> Use {
        self.usage[block as usize]
    }

    /// Changes what `block` is used for.
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

    /// Blocks may follow `rule` from now on.
    pub(crate) fn lay_out(&mut self, rule: Arc<Laid>) {
        let blocks = self.usage.len();
        self.laid = Some((rule, vec![false; blocks]));
    }

    /// `block`, which is erased, has the valid units of the rule.
    pub(crate) fn follow_rule(&mut self, block: u32) {
        let Some((rule, follows)) = &mut self.laid else { unreachable!("no rule to follow") };
        follows[block as usize] = true;
        self.rank[block as usize] += rule.valid(block);
    }

    /// Has the bits of `block` say themselves what is valid.
    fn settle(&mut self, block: u32) {
        if self.follows_rule(block) {
            self.settle_by_rule(block);
        }
    }

    #[cold]
    fn settle_by_rule(&mut self, block: u32) {
        let Some((rule, follows)) = &mut self.laid else { unreachable!("no rule to follow") };
        follows[block as usize] = false;
        let valid = &mut self.valid;
        rule.each_valid(block, |physical| valid[physical as usize / 64] ^= 1 << (physical % 64));
    }

    /// As [`clear_valid`](Self::clear_valid), of a unit whose bit is not set.
    #[inline(never)]
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

    /// The newest copy of a unit in `block` was trimmed; the journal's `generation` will say so.
    pub fn set_trimmed(&mut self, block: u32, generation: u32) {
        self.trimmed[block as usize] = generation;
    }

    /// Generation of the journal that must be durable before `block` is erased.
    pub fn trimmed(&self, block: u32) -> u32 {
        self.trimmed[block as usize]
    }

    /// Keeps `block`, which is closed, from the policy's choice.
    pub fn withhold(&mut self, block: u32) {
        self.rank[block as usize] |= NOT_COLLECTABLE;
    }

    /// A program of `block` is under way.
    #[inline]
    pub fn writing(&mut self, block: u32) {
        self.busy[block as usize] += 1;
    }

    /// A program of `block` ended; returns how many are left.
    #[inline]
    pub fn end_write(&mut self, block: u32) -> u32 {
        let busy = &mut self.busy[block as usize];
        *busy -= 1;
        *busy
    }

    /// Programs of `block` under way.
    pub fn writes(&self, block: u32) -> u32 {
        self.busy[block as usize]
    }

    /// `erases` erases of `block` are under way.
    pub fn set_erasing(&mut self, block: u32, erases: u32) {
        debug_assert_eq!(self.busy[block as usize], 0);
        self.busy[block as usize] = erases;
    }

    /// An erase of `block` ended; returns how many are left.
    pub fn end_erase(&mut self, block: u32) -> u32 {
        self.end_write(block)
    }

    /// When `block` was closed.
    pub fn closed_at(&self, block: u32) -> u64 {
        self.closed[block as usize]
    }

    /// The ranks of the blocks of a parallel unit: valid units, and above 2^31 what may not be collected.
    pub fn ranks(&self, layout: &Layout, pu: u32) -> &[u32] {
        let from = (pu * layout.blocks) as usize;
        self.rank.part(from, layout.blocks as usize)
    }

    /// True if this entry of [`ranks`](Self::ranks) may be collected.
    #[inline]
    pub fn collectable(rank: u32) -> bool {
        rank & NOT_COLLECTABLE == 0
    }

    /// True if `block` may be collected.
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

    /// Marks `unit` valid; its block is to be told by [`count_valid`](Self::count_valid).
    #[inline]
    pub fn mark_valid(&mut self, unit: u32) {
        let (word, bit) = (&mut self.valid[unit as usize / 64], 1u64 << (unit % 64));
        debug_assert!(*word & bit == 0, "unit {unit} is valid already");
        *word |= bit;
    }

    /// `units` more of `block` are valid.
    #[inline]
    pub fn count_valid(&mut self, block: u32, units: u32) {
        self.rank[block as usize] += units;
    }

    /// Marks `unit` of `block` no longer valid; returns how many are left.
    #[inline]
    pub fn clear_valid(&mut self, block: u32, unit: u32) -> u32 {
        let (word, bit) = (&mut self.valid[unit as usize / 64], 1u64 << (unit % 64));
        if *word & bit == 0 {
            self.clear_by_rule(block, unit);
        } else {
            *word &= !bit;
            debug_assert!(!self.follows_rule(block), "unit {unit} is superseded twice");
        }
        let rank = &mut self.rank[block as usize];
        *rank -= 1;
        *rank & !NOT_COLLECTABLE
    }

    /// True if the bits of `block` say what differs from the rule of its lay-out.
    #[inline]
    pub(crate) fn follows_rule(&self, block: u32) -> bool {
        self.laid.as_ref().is_some_and(|(_, follows)| follows[block as usize])
    }

    /// Valid bits of the `count` units from `unit` on, 64 at most; bit 0 is `unit`.
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

    /// Times `block` was erased.
    #[inline]
    pub fn erases(&self, block: u32) -> u32 {
        self.erases[block as usize]
    }

    /// Sets the times `block` was erased.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        self.erases[block as usize] = erases;
    }

    /// A read of `block` is under way.
    #[inline]
    pub fn pin(&mut self, block: u32) {
        self.pins[block as usize] += 1;
    }

    /// As [`pin`](Self::pin), for so many reads, or units read to be copied.
    #[inline]
    pub fn pin_reads(&mut self, block: u32, reads: u32) {
        self.pins[block as usize] += reads;
    }

    /// It ended; returns how many are left.
    #[inline]
    pub fn unpin(&mut self, block: u32) -> u32 {
        let pins = &mut self.pins[block as usize];
        *pins -= 1;
        *pins
    }

    /// Reads under way, and copies that were read and not issued.
    #[inline]
    pub fn pins(&self, block: u32) -> u32 {
        self.pins[block as usize]
    }

    /// True if every plane of every block can be programmed.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.holes.is_empty() && self.failing.is_empty()
    }

    /// Planes of `position` of `block` that are not to be used.
    #[inline]
    pub fn hole(&self, block: u32, position: u32) -> u16 {
        if self.holes.is_empty() {
            return 0;
        }
        self.holes.get(&(block, position)).copied().unwrap_or(0)
    }

    /// Planes of `position` of `block` that take no program: retired, or to be retired at the next erase.
    pub fn closed_planes(&self, block: u32, position: u32) -> u16 {
        self.hole(block, position) | self.failing.get(&(block, position)).copied().unwrap_or(0)
    }

    /// The planes `mask` of `position` of `block` are not to be used.
    pub fn add_hole(&mut self, block: u32, position: u32, mask: u16) {
        *self.holes.entry((block, position)).or_insert(0) |= mask;
    }

    /// Planes of `block` that can be programmed now, if it is open, or after its next erase.
    pub fn usable_planes(&self, layout: &Layout, block: u32) -> u32 {
        let lost: u32 = self.holes.range((block, 0)..(block + 1, 0)).map(|(_, mask)| mask.count_ones()).sum();
        let failing = self.failing.range((block, 0)..(block + 1, 0));
        let failing: u32 = failing.map(|((_, at), mask)| (mask & !self.hole(block, *at)).count_ones()).sum();
        layout.per_row * layout.planes - lost - failing
    }

    /// A program at `position` of `block` failed.
    pub fn add_failing(&mut self, block: u32, position: u32, mask: u16) {
        *self.failing.entry((block, position)).or_insert(0) |= mask;
    }

    /// True if some program in `block` failed since it was opened.
    pub fn is_failing(&self, block: u32) -> bool {
        !self.failing.is_empty() && self.failing.range((block, 0)..(block + 1, 0)).next().is_some()
    }

    /// Takes what failed in `block`: position and planes.
    pub fn take_failing(&mut self, block: u32) -> Vec<(u32, u16)> {
        if self.failing.is_empty() {
            return Vec::new();
        }
        let keys: Vec<_> = self.failing.range((block, 0)..(block + 1, 0)).map(|(k, _)| *k).collect();
        keys.into_iter().filter_map(|k| self.failing.remove(&k).map(|mask| (k.1, mask))).collect()
    }
}
