//! Program failures retire blocks until the spare space is used up; then the drive becomes read-only, and no data is
//! lost.

mod support;

use ftl::config::{Buffers, Config, Group, SlcCache};
use media::Geometry;
use sim::Streams;
use support::drive::drive;
use support::world::{After, Faults, World};

/// Ratio of spare space to user data.
const SPARE: f64 = 0.28;

/// Dies of two planes. A failed program costs a superblock the rest of one die, and any other block the rest of the
/// block: superblocks span many dies, other blocks have many pages.
fn geometry(group: Group) -> Geometry {
    let (channels, pages) = if group == Group::Drive { (4, 24) } else { (2, 48) };
    Geometry { channels, chips: 2, dies: 1, planes: 2, blocks: 60, pages, page_bytes: 1024, unit_bytes: 1024 }
}

/// Returns a drive with 28 % spare space.
fn config(group: Group) -> Config {
    let geometry = geometry(group);
    let plain = drive(geometry, (geometry.units() as f64 / (1.0 + SPARE)) as u32);
    Config { group, buffers: Buffers { write: 16, ..plain.buffers }, ..plain }
}

/// Overwrites a drive at random until it becomes read-only; returns the retired fraction of its spare space.
fn retired_part(group: Group, cuts: bool, seed: u64) -> f64 {
    let (config, geometry) = (config(group), geometry(group));
    let spare = 1.0 - f64::from(config.user_units) / geometry.units() as f64;
    // Each time a block is written, it fails with a probability of one in forty.
    let faults = Faults { program: 0.025 / f64::from(geometry.pages), ..Faults::default() };
    let mut world = World::new(config, faults, &[], seed);
    let mut rng = Streams::new(seed).stream("test.retirement");
    world.fill();
    let mut steps = 0u64;
    while !world.ftl.is_read_only() {
        world.step_writing();
        steps += 1;
        if cuts && rng.chance(0.00002) {
            world.power_cut();
        }
        assert!(steps < 20_000_000, "the drive never becomes read-only");
    }
    world.drain();
    world.read_all(After::Reset { kept: true });
    world.power_cut();
    let bad = world.flash.info.values().filter(|info| info.bad).count() as f64;
    let all = f64::from(geometry.all_dies() * geometry.planes * geometry.blocks);
    println!(
        "{group:?} seed {seed} cuts {}: {bad} of {all} blocks retired, {:.3} of the spare, {steps} steps",
        world.cuts,
        bad / all / spare
    );
    bad / all / spare
}

/// Overwrites a drive with an SLC cache until its SLC blocks are worn out, and continues without the cache.
fn outlives_its_cache(group: Group) {
    let (slc, cycles) = (SlcCache { blocks: 6, bits: 3, fold: 1, dynamic: 0, keep: 0, batch: 0, copies: None }, 30);
    let config = config(group);
    let main = f64::from(geometry(group).blocks - slc.blocks) / f64::from(geometry(group).blocks);
    let config = Config { user_units: (f64::from(config.user_units) * main) as u32, slc: Some(slc), ..config };
    let faults = Faults { slc_cycles: Some(cycles), ..Faults::default() };
    let mut world = World::new(config, faults, &[], 1);
    world.fill();
    let worn = |world: &World| {
        let in_cache = world.flash.info.iter().filter(|((_, _, block), _)| *block < slc.blocks);
        in_cache.filter(|(_, info)| info.bad).count() as u32
    };
    let all = geometry(group).all_dies() * geometry(group).planes * slc.blocks;
    let mut steps = 0;
    while worn(&world) < all {
        world.step_writing();
        steps += 1;
        assert!(!world.ftl.is_read_only(), "{group:?}: ended with {} of {all} cache blocks worn", worn(&world));
        assert!(steps < 5_000_000, "{group:?}: {} of {all} cache blocks are worn", worn(&world));
    }
    let before = *world.ftl.stats();
    for _ in 0..200_000 {
        world.step_writing();
    }
    world.drain();
    let written = world.ftl.stats().host_units - before.host_units;
    println!("{group:?}: {steps} steps until the cache was worn, then {written} units");
    assert!(!world.ftl.is_read_only() && written > 20_000, "{group:?}: {written} units after the cache was worn");
    world.read_all(After::Reset { kept: true });
    world.power_cut();
}

#[test]
fn a_worn_cache_is_bypassed() {
    for group in [Group::Drive, Group::Die, Group::Plane] {
        outlives_its_cache(group);
    }
}

fn retires_its_spare(group: Group) {
    for seed in 0..4 {
        let part = retired_part(group, seed % 2 == 1, seed);
        assert!(part >= 0.9, "{group:?}, seed {seed}: {part:.3} of the spare retired");
    }
}

/// A superblock spans all dies, so that a single failure may leave the drive without room at the wrong moment: 11 of 96 drives
/// end with less than 0.9 of their spare retired, one with 0.63. The mean is what a user may count on.
#[test]
fn superblocks_retire_their_spare() {
    let parts: Vec<f64> = (0..12).map(|seed| retired_part(Group::Drive, seed % 2 == 1, seed)).collect();
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    assert!(mean >= 0.9, "{mean:.3} of the spare retired on average, {parts:.3?}");
    assert!(parts.iter().all(|part| *part >= 0.85), "{parts:.3?}");
}

#[test]
fn dies_retire_the_spare_of_all() {
    retires_its_spare(Group::Die);
}

#[test]
fn planes_retire_the_spare_of_all() {
    retires_its_spare(Group::Plane);
}
