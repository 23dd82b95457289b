//! The map cache never exceeds its size, whatever writes change, and nothing waits forever for room in it.

mod support;

use ftl::config::{Buffers, Collection, Config, Eviction, Group, HostMemory, MapCache, Wear};
use media::{Geometry, Op, Request, Tag};
use proptest::prelude::*;
use sim::{Rng, Streams};
use support::drive::drive;
use support::world::{After, Faults, World};

/// A drive with 110 map pages of 128 entries, and a write cache that holds more units than the map may have waiting to be
/// programmed.
fn config(cache: MapCache, write: u32, group: Group) -> Config {
    let geometry = Geometry {
        channels: 2,
        chips: 1,
        dies: 1,
        planes: 1,
        blocks: 32,
        pages: 96,
        page_bytes: 2048,
        unit_bytes: 512,
    };
    let plain = drive(geometry, 14_000);
    Config {
        group,
        collection: Collection { choices: 3, ..plain.collection },
        wear: Wear { dynamic: false, ..plain.wear },
        map_cache: Some(cache),
        buffers: Buffers { write, high: 0, ..plain.buffers },
        tags: 32,
        ..plain
    }
}

fn frames(frames: u32, updates: u32, eviction: Eviction) -> MapCache {
    MapCache { frames, frame_units: 1, updates, eviction, entries: None, warm: false }
}

/// Performs `steps` steps of a host that writes and reads random units, and returns how many units or entries more than
/// its size the map cache ever held.
fn most_beyond(config: Config, reads: f64, steps: u32, seed: u64) -> i64 {
    let mut rng: Rng = Streams::new(seed).stream("test.requests");
    let (tags, units) = (config.tags, u64::from(config.user_units));
    let mut world = World::new(config, Faults::default(), &[], seed);
    let mut most = i64::MIN;
    world.fill();
    for _ in 0..steps {
        match (0..tags).map(Tag).find(|tag| world.is_free(*tag)).filter(|_| rng.chance(0.6)) {
            Some(tag) => {
                let op = if rng.chance(reads) { Op::Read } else { Op::Write };
                world.submit(tag, Request::new(op, rng.below(units) * 512, 512));
            }
            None => world.step(0.0),
        }
        let (used, capacity) = world.ftl.map_cache_use().expect("the map is cached");
        most = most.max(i64::from(used) - i64::from(capacity));
    }
    world.drain();
    world.power_cut();
    world.read_all(After::PowerCut);
    most
}

#[test]
fn random_writes_never_enlarge_the_cache() {
    let config = config(frames(2, 0, Eviction::Lru), 400, Group::Die);
    assert_eq!(most_beyond(config, 0.0, 60_000, 1), 0, "the cache was meant to be full, and not more than full");
}

/// Changed entries arise in the cache. Those beyond its size wait to be written back; when 64 wait, so do host writes, and
/// only data admitted before adds to them.
#[test]
fn random_writes_enlarge_a_cache_of_entries_by_what_was_admitted() {
    let cache = MapCache { entries: Some(100), ..frames(1, 0, Eviction::Lru) };
    let config = config(cache, 100, Group::Die);
    let geometry = Geometry { blocks: 128, ..config.geometry };
    let beyond = most_beyond(Config { user_units: 56_000, geometry, ..config }, 0.2, 60_000, 1);
    assert!((0..=64 + 100).contains(&beyond), "{beyond} entries more than fit");
}

/// Copies add changes to the cache as well. When 64 changes wait, copies do too; only those in flight then add more.
#[test]
fn copies_enlarge_a_cache_of_entries_by_those_in_flight() {
    let cache = MapCache { entries: Some(1000), ..frames(1, 0, Eviction::Lru) };
    let (written, config) = (100, config(cache, 100, Group::Die));
    let geometry = Geometry { blocks: 128, ..config.geometry };
    let in_flight = 2 * 64;
    // An eighth of the drive is spare.
    let beyond = most_beyond(Config { user_units: 86_000, geometry, ..config }, 0.2, 120_000, 1);
    assert!((0..=64 + written + in_flight).contains(&beyond), "{beyond} entries more than fit");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every command ends: reads are served without room in the cache, and writes wait only for what proceeds without
    /// them.
    #[test]
    fn nothing_waits_forever_for_room(
        size in 1u32..5,
        updates in prop::sample::select(vec![0u32, 1, 30]),
        eviction in prop::sample::select(vec![Eviction::Lru, Eviction::Fifo, Eviction::Clock]),
        entries in prop::option::of(prop::sample::select(vec![1u32, 40])),
        write in prop::sample::select(vec![8u32, 100, 400]),
        group in prop::sample::select(vec![Group::Plane, Group::Drive]),
        reads in prop::sample::select(vec![0.0, 0.3, 0.9]),
        lent in prop::option::of(1u32..20),
        seed in 0u64..1000,
    ) {
        let cache = MapCache { entries, ..frames(size, updates, eviction) };
        let host_memory = lent.filter(|_| entries.is_none());
        let host_memory = host_memory.map(|map_frames| HostMemory { map_frames, read: 0, write: 0, check: 2 });
        let config = Config { host_memory, ..config(cache, write, group) };
        let beyond = most_beyond(config, reads, 6_000, seed);
        prop_assert!(entries.is_some() || beyond <= 0, "{} translation units more than fit", beyond);
    }
}
