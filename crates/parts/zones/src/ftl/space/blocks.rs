//! Free blocks of each die, the least worn first.

use std::collections::BTreeSet;

/// A block on all planes of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block {
    pub die: u16,
    pub block: u32,
}

/// Free blocks of a die that zones leave to the log and to replacements: what frees blocks must not wait for some.
pub(crate) const KEPT_BY_ZONES: usize = 4;
/// Free blocks of a die that replacements leave to the log.
pub(crate) const KEPT_BY_REPLACEMENTS: usize = 2;

/// The blocks that hold nothing, and how often each was erased.
pub(crate) struct Blocks {
    /// By number of erases, per die.
    free: Vec<BTreeSet<(u32, u32)>>,
    erases: Vec<u32>,
    per_die: u32,
    /// Columns of zones (by extent) that wait for a free block.
    stalled: Vec<(u32, u32)>,
}

impl Blocks {
    pub(crate) fn new(dies: u32, per_die: u32) -> Blocks {
        Blocks {
            free: vec![BTreeSet::new(); dies as usize],
            erases: vec![0; (dies * per_die) as usize],
            per_die,
            stalled: Vec::new(),
        }
    }

    fn index(&self, at: Block) -> usize {
        (u32::from(at.die) * self.per_die + at.block) as usize
    }

    /// Records how often a block was erased, as found at the mount.
    pub(crate) fn set_erases(&mut self, at: Block, erases: u32) {
        let index = self.index(at);
        self.erases[index] = erases;
    }

    /// Counts an erase.
    pub(crate) fn erased(&mut self, at: Block) {
        let index = self.index(at);
        self.erases[index] += 1;
    }

    /// Adds an erased block.
    pub(crate) fn give(&mut self, at: Block) {
        let erases = self.erases[self.index(at)];
        assert!(self.free[at.die as usize].insert((erases, at.block)), "{at:?} is already free");
    }

    /// Takes the least worn free block of `die` if more than `kept` are free.
    pub(crate) fn take(&mut self, die: u16, kept: usize) -> Option<Block> {
        let free = &mut self.free[die as usize];
        if free.len() <= kept {
            return None;
        }
        free.pop_first().map(|(_, block)| Block { die, block })
    }

    /// Iterates over the free blocks.
    pub(crate) fn all_free(&self) -> impl Iterator<Item = Block> + '_ {
        let dies = (0..).zip(&self.free);
        dies.flat_map(|(die, free)| free.iter().map(move |(_, block)| Block { die, block: *block }))
    }

    /// Returns true if any block is free.
    pub(crate) fn has_free(&self) -> bool {
        self.free.iter().any(|free| !free.is_empty())
    }

    /// Returns the die with the most free blocks.
    pub(crate) fn roomiest(&self) -> u16 {
        let most = (0..).zip(&self.free).max_by_key(|(die, free)| (free.len(), std::cmp::Reverse(*die)));
        most.map_or(0, |(die, _): (u16, _)| die)
    }

    /// Records that a column waits for a free block.
    pub(crate) fn stall(&mut self, extent: u32, column: u32) {
        self.stalled.push((extent, column));
    }

    /// Takes the columns that waited.
    pub(crate) fn take_stalled(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.stalled)
    }

    /// Returns the minimum, mean and maximum number of erases of a block.
    pub(crate) fn wear(&self) -> (u32, f64, u32) {
        let sum: u64 = self.erases.iter().map(|erases| u64::from(*erases)).sum();
        let (least, most) = (self.erases.iter().min(), self.erases.iter().max());
        (least.copied().unwrap_or(0), sum as f64 / self.erases.len().max(1) as f64, most.copied().unwrap_or(0))
    }
}
