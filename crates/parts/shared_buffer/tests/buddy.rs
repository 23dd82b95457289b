//! Compares the buddy allocator with a simple implementation: one flag per sector, and a search over all aligned
//! blocks.

use shared_buffer::{Buddy, EXTENTS_MAX, Extent, Extents};
use sim::{Rng, Streams};

/// One flag per sector: whether it is allocated.
struct Flags(Vec<bool>);

impl Flags {
    fn is_free(&self, start: u32, sectors: u32) -> bool {
        let range = start as usize..(start + sectors) as usize;
        range.end <= self.0.len() && self.0[range].iter().all(|&taken| !taken)
    }

    fn set(&mut self, run: Extent, taken: bool) {
        for flag in &mut self.0[run.index as usize..(run.index + run.sectors) as usize] {
            assert_ne!(*flag, taken, "{run:?}: overlaps or is released twice");
            *flag = taken;
        }
    }

    /// Returns whether there is a free aligned block for a run of `sectors`.
    fn has_room(&self, sectors: u32) -> bool {
        let block = sectors.next_power_of_two();
        (0..self.0.len() as u32).step_by(block as usize).any(|start| self.is_free(start, block))
    }

    /// Returns the maximal free blocks: at each position the largest one that is aligned and free.
    fn free_blocks(&self) -> Vec<Extent> {
        let mut blocks = Vec::new();
        let mut start = 0u32;
        while (start as usize) < self.0.len() {
            let fits = |&order: &u32| start.is_multiple_of(1 << order) && self.is_free(start, 1 << order);
            let sectors = (0..=self.0.len().ilog2()).rev().find(fits).map(|order| 1 << order);
            blocks.extend(sectors.map(|sectors| Extent { index: start, sectors }));
            start += sectors.unwrap_or(1);
        }
        blocks
    }
}

/// Returns the block that a run occupies.
fn block(run: Extent) -> Extent {
    Extent { sectors: run.sectors.next_power_of_two(), ..run }
}

struct Pair {
    buddy: Buddy,
    flags: Flags,
    live: Vec<Extents>,
}

impl Pair {
    fn new(sectors: u32) -> Pair {
        Pair { buddy: Buddy::new(sectors), flags: Flags(vec![false; sectors as usize]), live: Vec::new() }
    }

    fn take(&mut self, extents: Extents) {
        for &run in extents.as_slice() {
            let block = block(run);
            assert!(block.index.is_multiple_of(block.sectors), "{run:?} is not aligned");
            self.flags.set(block, true);
        }
        self.live.push(extents);
    }

    fn allocate(&mut self, sectors: u32) {
        let run = self.buddy.allocate(sectors);
        assert_eq!(run.is_some(), self.flags.has_room(sectors), "{sectors} sectors");
        if let Some(run) = run {
            assert_eq!(run.sectors, sectors);
            self.take(Extents::one(run.index, run.sectors));
        }
    }

    fn allocate_scattered(&mut self, sectors: u32, runs_max: usize) {
        let mut free: Vec<_> = self.flags.free_blocks().iter().map(|block| block.sectors).collect();
        free.sort_unstable_by(|a, b| b.cmp(a));
        let best: u32 = free.iter().take(runs_max).sum();
        let extents = self.buddy.allocate_scattered(sectors, runs_max);
        assert_eq!(extents.is_some(), best >= sectors, "{sectors} sectors in {runs_max} runs of {free:?}");
        if let Some(extents) = extents {
            assert_eq!(extents.sectors(), u64::from(sectors));
            assert!((1..=runs_max).contains(&extents.len()));
            self.take(extents);
        }
    }

    fn release(&mut self, rng: &mut Rng) {
        if self.live.is_empty() {
            return;
        }
        let extents = self.live.swap_remove(rng.below(self.live.len() as u64) as usize);
        for &run in extents.as_slice() {
            self.flags.set(block(run), false);
        }
        self.buddy.release_all(&extents);
    }

    /// Checks that nothing leaks or overlaps, and that all buddies are coalesced.
    fn compare(&self) {
        let mut blocks: Vec<_> = self.buddy.free_blocks().collect();
        assert!(blocks.is_sorted_by_key(|block| std::cmp::Reverse(block.sectors)));
        assert_eq!(blocks.first().map_or(0, |block| block.sectors), self.buddy.longest_free());
        blocks.sort_unstable_by_key(|block| block.index);
        assert_eq!(blocks, self.flags.free_blocks());
        let free = self.flags.0.iter().filter(|&&taken| !taken).count();
        assert_eq!(self.buddy.free_sectors() as usize, free);
    }
}

#[test]
fn a_million_operations_agree() {
    let mut rng = Streams::new(1).stream("buddy");
    let sizes = [1, 2, 7, 64, 96, 128, 200, 255, 256, 1024];
    let (mut operations, mut refused) = (0u32, 0u32);
    for size in sizes {
        let mut pair = Pair::new(size);
        let whole: Vec<_> = pair.buddy.free_blocks().collect();
        assert_eq!(pair.buddy.longest(), whole[0].sectors);
        for step in 0..100_000 {
            // Alternate phases of filling and emptying, and of small and large runs.
            let filling = if step / 1000 % 2 == 0 { 0.6 } else { 0.4 };
            let largest = if step / 5000 % 2 == 0 { size } else { size.div_ceil(8) };
            if rng.chance(filling) {
                let sectors = 1 + rng.below(u64::from(largest)) as u32;
                let sectors = if rng.chance(0.3) { sectors.next_power_of_two() } else { sectors };
                let before = pair.live.len();
                match rng.below(8) {
                    0 => pair.allocate_scattered(sectors, 1 + rng.below(EXTENTS_MAX as u64) as usize),
                    _ => pair.allocate(sectors),
                }
                refused += u32::from(pair.live.len() == before);
            } else {
                pair.release(&mut rng);
            }
            operations += 1;
            if step % 100 == 0 {
                pair.compare();
            }
        }
        while !pair.live.is_empty() {
            pair.release(&mut rng);
        }
        assert_eq!(pair.buddy.free_blocks().collect::<Vec<_>>(), whole, "all blocks are coalesced");
    }
    assert_eq!(operations, 1_000_000);
    assert!((100_000..400_000).contains(&refused), "{refused} refused: the buffer should often be full, and often not");
}

#[test]
#[should_panic(expected = "is released")]
fn a_run_is_released_once() {
    let mut buddy = Buddy::new(8);
    let run = buddy.allocate(3).unwrap();
    buddy.release(run);
    buddy.release(run);
}

#[test]
#[should_panic(expected = "is released")]
fn a_run_is_released_whole() {
    let mut buddy = Buddy::new(8);
    let run = buddy.allocate(4).unwrap();
    buddy.release(Extent { sectors: 2, ..run });
}

/// Measures how full a buffer of 256 sectors is, on average, when an allocation fails. Random runs are then released
/// until it succeeds. A block's rest is freed at once if `frees_rests` is set, and stays with its run otherwise.
fn used(frees_rests: bool, draw: fn(&mut Rng) -> u32) -> f64 {
    let mut rng = Streams::new(2).stream("buddy.used");
    let mut flags = Flags(vec![false; 256]);
    let mut live: Vec<(u32, Extent)> = Vec::new();
    let (mut data, mut samples) = (0, Vec::new());
    for _ in 0..3_000 {
        let sectors = draw(&mut rng);
        let start = loop {
            let fits = |free: &Extent| free.sectors >= sectors.next_power_of_two();
            let free = flags.free_blocks().into_iter().filter(fits).min_by_key(|free| free.sectors);
            if let Some(free) = free {
                break free.index;
            }
            samples.push(data);
            let (sectors, taken) = live.swap_remove(rng.below(live.len() as u64) as usize);
            data -= sectors;
            flags.set(taken, false);
        };
        let run = Extent { index: start, sectors };
        let taken = if frees_rests { run } else { block(run) };
        flags.set(taken, true);
        live.push((sectors, taken));
        data += sectors;
    }
    f64::from(samples.iter().sum::<u32>()) / (samples.len() * flags.0.len()) as f64
}

/// Keeping the rest of a block with its run is better if small and large runs mix, and no worse if sizes are uniform.
#[test]
fn freeing_rests_stores_no_more_data() {
    let mixed: fn(&mut Rng) -> u32 = |rng| if rng.chance(0.5) { 2 } else { 1 + rng.below(32) as u32 };
    let (kept, freed) = (used(false, mixed), used(true, mixed));
    assert!(kept > freed + 0.05, "mixed sizes: {kept:.3} if kept, {freed:.3} if freed");
    let uniform: fn(&mut Rng) -> u32 = |rng| 1 + rng.below(32) as u32;
    let (kept, freed) = (used(false, uniform), used(true, uniform));
    assert!((kept - freed).abs() < 0.05, "uniform sizes: {kept:.3} if kept, {freed:.3} if freed");
}
