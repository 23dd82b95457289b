//! Random map for mixed request sizes: visits each block once per pass and truncates requests at visited blocks.

use sim::Rng;

const WORD: u64 = 64;

/// Blocks of a region that the current pass has not visited: one bit per block. Summary levels above find the next free
/// block in a few steps for any size of region.
///
/// Follows fio's map: a draw that hits a visited block takes the next free block, and a request is truncated to the
/// contiguous free blocks from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeMap {
    blocks: u64,
    free: u64,
    /// Level 0 has one bit per free block; each level above has one bit per nonzero word below.
    levels: Vec<Vec<u64>>,
}

impl FreeMap {
    /// Creates a map in which every block is free.
    ///
    /// # Panics
    /// If `blocks` is zero.
    pub fn new(blocks: u64) -> FreeMap {
        assert!(blocks > 0, "a region has at least one block");
        let mut map = FreeMap { blocks, free: 0, levels: Vec::new() };
        map.clear();
        map
    }

    /// Marks every block as free.
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

    /// Draws a random block. If it is not free, takes the next free block, or else the first. Starts a new pass if no
    /// block is free.
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        if self.free == 0 {
            self.clear();
        }
        let drawn = rng.below(self.blocks);
        self.next_free(drawn).or_else(|| self.next_free(0)).expect("a block is free")
    }

    /// Takes up to `blocks` contiguous free blocks from the free block `first` on. Returns their number.
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

    /// Returns the first free block from `block` on.
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
            // No more free blocks in this word: look up the next nonzero word one level above.
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
        fn a_pass_visits_each_block_once_and_finds_the_next_free_one(
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
