//! Wear of the SLC cache, whose blocks wear faster than others.

mod support;

use ftl::config::{Collection, Config, SlcCache, Wear};
use media::Geometry;
use sim::Time;
use support::drive::drive;
use support::world::{Faults, World};

const SLC_BLOCKS: u32 = 6;

/// Returns a drive of two dies, of whose blocks six are in SLC mode and ten are spare.
fn config(threshold: u32) -> Config {
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
        collection: Collection { idle: Time::from_ms(50), ..plain.collection },
        wear: Wear { static_threshold: Some(threshold), ..plain.wear },
        slc: Some(SlcCache { blocks: SLC_BLOCKS, bits: 3, fold: 2, keep: 0, dynamic: 0, batch: 0, copies: None }),
        ..plain
    }
}

#[test]
fn wear_of_the_slc_cache_moves_no_cold_data() {
    // Returns the erases, and the units that are collected, while the host overwrites the first `written` units.
    let overwrite = |written, threshold| {
        let mut world = World::new(config(threshold), Faults::default(), &[], 1);
        world.fill();
        world.copies.clear();
        let erases = world.ftl.stats().erases;
        for _ in 0..100_000 {
            world.step_overwriting(written);
        }
        world.drain();
        let collected = world.copies.iter().filter(|copy| copy.from >= SLC_BLOCKS).count();
        (world.ftl.stats().erases - erases, collected)
    };
    // The host overwrites its data before it is folded: the blocks of the SLC cache wear alone.
    let (erases, collected) = overwrite(64, 10);
    assert!(erases > 40 * u64::from(SLC_BLOCKS), "{erases} erases");
    assert_eq!(collected, 0);
    // Where folded data wears some of the other blocks, cold data does move.
    let (leveled, not) = (overwrite(800, 4).1, overwrite(800, u32::MAX).1);
    assert!(leveled > 4 * not, "{leveled} and {not} units");
}
