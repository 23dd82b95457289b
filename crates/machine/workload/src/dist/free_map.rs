//! The random map of requests of mixed sizes: each block once a pass, requests cut where the map is taken.

use sim::Rng;

const WORD: u64 = 64;

/// The blocks of a region that a pass has not visited yet, a bit each, with summaries above them so that the next free
/// block is found in a few steps whatever the size of the region.
///
/// As fio's own map does: a draw that falls on a visited block takes the next free one behind it, and a request is cut
/// to the free blocks that it meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeMap {
    blocks: u64,
    free: u64,
    /// A bit is set where a block is free; in the levels above, where the word below has a bit.
    levels: Vec<Vec<u64>>,
}

impl FreeMap {
    /// A map in which every block is free.
    ///
    /// # Panics
    /// If there are no blocks.
    pub fn new(blocks: u64) -> FreeMap {
        assert!(blocks > 0, "a region has at least one block");
        let mut map = FreeMap { blocks, free: 0, levels: Vec::new() };
        map.clear();
        map
    }

    /// Makes every block free again.
    pub fn clear(&mut self) {
        self.free = self.blocks;
        self.levels.clear();
        let mut bits = self.blocks;
        loop {
            let mut level = vec![u64::MAX; bits.div_ceil(WORD) as usize];
            if !bits.is_multiple_of(WORD) {
                level[(bits / WORD) as usize] = (1 << (bits % WORD)) - 1;
            }
            bits = level.len() as u64;
            self.levels.push(level);
            if bits == 1 {
                return;
            }
        }
    }

    /// A free block: the one drawn, or the next free one behind it, or else the first one. A new pass begins where none
    /// is free.
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        if self.free == 0 {
            self.clear();
        }
        let drawn = rng.below(self.blocks);
        self.next_free(drawn).or_else(|| self.next_free(0)).expect("a block is free")
    }

    /// Takes up to `blocks` blocks from `first` on, which is free, as long as they are free. Returns how many.
    pub fn take(&mut self, first: u64, blocks: u64) -> u64 {
        let end = first.saturating_add(blocks).min(self.blocks);
        let mut block = first;
        while block < end && self.levels[0][(block / WORD) as usize] >> (block % WORD) & 1 == 1 {
            let mut bit = block;
            for level in &mut self.levels {
                let word = &mut level[(bit / WORD) as usize];
                *word &= !(1 << (bit % WORD));
                if *word != 0 {
                    break;
                }
                bit /= WORD;
            }
            block += 1;
        }
        self.free -= block - first;
        block - first
    }

    /// The first free block from `block` on.
    fn next_free(&self, block: u64) -> Option<u64> {
        let mut at = block;
        let mut height = 0;
        loop {
            let word = *self.levels[height].get((at / WORD) as usize)?;
            let rest = word & u64::MAX.checked_shl((at % WORD) as u32).expect("below 64");
            if rest != 0 {
                at = at / WORD * WORD + u64::from(rest.trailing_zeros());
                break;
            }
            // Nothing more in this word: the next one that has a bit is looked up a level above.
            at = at / WORD + 1;
            height += 1;
            if height == self.levels.len() {
                return None;
            }
        }
        while height > 0 {
            height -= 1;
            at = at * WORD + u64::from(self.levels[height][at as usize].trailing_zeros());
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sim::Streams;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_pass_visits_each_block_once_and_the_next_free_one_is_found(
            blocks in prop_oneof![1u64..200, 4000u64..9000],
            sizes in prop::collection::vec(1u64..20, 1..40),
        ) {
            let mut map = FreeMap::new(blocks);
            let (mut rng, mut oracle) = (Streams::new(1).stream("map"), Streams::new(1).stream("map"));
            let mut visited = vec![false; blocks as usize];
            for size in sizes.iter().cycle().take(3 * blocks as usize) {
                if visited.iter().all(|block| *block) {
                    visited.fill(false);
                }
                let drawn = oracle.below(blocks);
                let expected = (drawn..blocks).chain(0..drawn).find(|block| !visited[*block as usize]);
                let first = map.draw(&mut rng);
                prop_assert_eq!(Some(first), expected);
                let run = visited[first as usize..].iter().take(*size as usize).take_while(|block| !**block).count();
                prop_assert_eq!(map.take(first, *size), run as u64);
                visited[first as usize..first as usize + run].fill(true);
            }
        }
    }
}
