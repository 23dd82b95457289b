//! Data that is folded in batches goes to other blocks than what collection copies, and goes first.

mod support;

use std::collections::BTreeMap;

use ftl::config::{Collection, Config, SlcCache};
use media::Geometry;
use sim::Time;
use support::drive::drive;
use support::world::{Copied, Faults, World};

const SLC_BLOCKS: u32 = 6;

/// Returns a drive of two dies, of whose blocks six are in SLC mode and ten are spare.
fn config(separate: bool, batch: u32) -> Config {
    let geometry = Geometry {
        channels: 2,
        chips: 1,
        dies: 1,
        planes: 1,
        blocks: 48,
        pages: 24,
        page_bytes: 4096,
        unit_bytes: 1024,
    };
    let plain = drive(geometry, 32 * 24 * 4 * 2);
    Config {
        collection: Collection { separate, idle: Time::from_ms(50), ..plain.collection },
        slc: Some(SlcCache { blocks: SLC_BLOCKS, bits: 3, fold: 2, keep: 0, dynamic: 0, batch, copies: None }),
        ..plain
    }
}

/// Returns the copies of a full drive that a host overwrites at random.
fn copies(config: Config) -> Vec<Copied> {
    let mut world = World::new(config, Faults::default(), &[], 1);
    world.fill();
    for _ in 0..40_000 {
        world.step_writing();
    }
    world.drain();
    world.copies
}

fn is_folded(copy: &Copied) -> bool {
    copy.from < SLC_BLOCKS
}

/// Returns the number of blocks that copies went to, and how many hold both folded data and what collection copied.
fn blocks_of_copies(config: Config) -> (usize, usize) {
    // Folded and collected units in each block between two erases.
    let mut blocks: BTreeMap<(u32, u32), [u32; 2]> = BTreeMap::new();
    for copy in copies(config) {
        blocks.entry((copy.to, copy.erases)).or_default()[usize::from(!is_folded(&copy))] += 1;
    }
    (blocks.len(), blocks.values().filter(|[folded, collected]| *folded > 0 && *collected > 0).count())
}

#[test]
fn batches_of_folded_data_and_copies_of_collection_are_apart() {
    let (blocks, mixed) = blocks_of_copies(config(true, 200));
    assert!(blocks > 100 && mixed == 0, "{mixed} of {blocks} blocks are mixed");
    // Not without batches, and not if collection shares its blocks with the host anyway.
    for other in [config(true, 0), config(false, 200)] {
        let (blocks, mixed) = blocks_of_copies(other);
        assert!(2 * mixed > blocks, "{mixed} of {blocks} blocks are mixed");
    }
}

/// Collection waits for a batch, as host data does: only copies that it has read already are programmed meanwhile.
#[test]
fn a_batch_goes_ahead_of_collection() {
    const BATCH: u32 = 200;
    let copies = copies(config(true, BATCH));
    let folded = copies.iter().filter(|copy| is_folded(copy)).count();
    let changes = copies.windows(2).filter(|pair| is_folded(&pair[0]) != is_folded(&pair[1])).count();
    let batches = folded / BATCH as usize;
    println!("{changes} changes between {folded} folded units and the others, in {batches} batches");
    assert!(batches > 20 && changes < 10 * batches, "{changes} changes in {batches} batches");
}
