//! The read cache against a slow second implementation: a list of units, oldest first.

mod support;

use std::collections::VecDeque;

use ftl::config::{Allocation, Buffers, Config, Eviction, MapCache};
use media::{Geometry, Op, Request, SECTOR, Tag};
use proptest::prelude::*;
use support::drive::drive;
use support::world::{Faults, World};

/// Sectors of a unit.
const UNIT: u64 = 4;
const UNITS: u64 = 64;

/// A drive whose reads end in random order.
fn config(read: u32, allocation: Allocation) -> Config {
    let geometry = Geometry {
        channels: 2,
        chips: 1,
        dies: 1,
        planes: 1,
        blocks: 16,
        pages: 16,
        page_bytes: (UNIT * SECTOR) as u32,
        unit_bytes: (UNIT * SECTOR) as u32,
    };
    let plain = drive(geometry, UNITS as u32);
    Config { buffers: Buffers { read, allocation, ..plain.buffers }, ..plain }
}

/// A cache of the units that were looked up last, oldest first.
struct Cache {
    size: usize,
    units: VecDeque<u64>,
}

impl Cache {
    /// Looks up the units of `count` sectors from `first` on, and returns the number found.
    fn read(&mut self, first: u64, count: u64) -> u64 {
        let mut hits = 0;
        for unit in first / UNIT..(first + count).div_ceil(UNIT) {
            match self.units.iter().position(|cached| *cached == unit) {
                Some(at) => hits += u64::from(self.units.remove(at).is_some()),
                None if self.units.len() == self.size => drop(self.units.pop_front()),
                None => {}
            }
            self.units.push_back(unit);
        }
        hits
    }
}

fn world(config: Config) -> World {
    let mut world = World::new(config, Faults::default(), &[], 1);
    world.fill();
    world.submit(Tag(0), Request::new(Op::Flush, 0, 0));
    world.drain();
    world
}

/// Reads sectors, and returns the number of units that the drive found in its cache.
fn read(world: &mut World, first: u64, count: u64) -> u64 {
    let before = world.ftl.stats().read_hits;
    world.submit(Tag(0), Request::new(Op::Read, first * SECTOR, count * SECTOR));
    world.drain();
    world.ftl.stats().read_hits - before
}

#[test]
fn a_request_that_exceeds_the_cache_by_a_unit_finds_nothing_again() {
    for (units, found) in [(8, 8), (9, 0)] {
        let mut world = world(config(8, Allocation::Miss));
        read(&mut world, 32 * UNIT, 16 * UNIT);
        assert_eq!(read(&mut world, 0, units * UNIT), 0, "read for the first time");
        assert_eq!(read(&mut world, 0, units * UNIT), found, "{units} units");
    }
}

/// The units found are looked up before the data of others arrive, and evict them.
#[test]
fn space_taken_on_arrival_leaves_a_request_most_of_its_units() {
    let mut world = world(config(8, Allocation::Fill));
    assert_eq!(read(&mut world, 0, 9 * UNIT), 0, "read for the first time");
    assert_eq!(read(&mut world, 0, 9 * UNIT), 8);
}

#[test]
fn half_a_unit_is_found_again_where_whole_units_are_read() {
    for (allocation, found) in [(Allocation::Miss, 3), (Allocation::Fill, 1)] {
        let mut world = world(config(8, allocation));
        let (first, count) = (UNIT / 2, 2 * UNIT);
        assert_eq!(read(&mut world, first, count), 0);
        assert_eq!(read(&mut world, first, count), found, "{allocation:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_finds_what_a_list_of_units_finds(
        size in 1u32..20,
        waits in any::<bool>(),
        reads in prop::collection::vec((0..UNITS * UNIT, 1u64..30 * UNIT), 1..60),
    ) {
        // Reads that wait for their entries of the map, and go on in another order, change nothing.
        let entries = MapCache { frames: 1, frame_units: 1, updates: 0, eviction: Eviction::Lru, entries: Some(3), warm: false };
        let map_cache = waits.then_some(entries);
        let mut world = world(Config { map_cache, ..config(size, Allocation::Miss) });
        let mut cache = Cache { size: size as usize, units: VecDeque::new() };
        for (first, count) in [(0, 32 * UNIT)].into_iter().chain(reads) {
            let count = count.min(UNITS * UNIT - first);
            prop_assert_eq!(read(&mut world, first, count), cache.read(first, count), "{} from {}", count, first);
        }
    }
}
