//! Results are pinned: on drives that each show one mechanism, the programs, copies and erases of a fixed history, and what
//! every page of the flash holds after it. An unexplained difference is a bug (CONTRIBUTING.md, *When an answer
//! changes*).

mod support;

use ftl::config::{
    Buffers, Collection, Config, Eviction, Group, HostMemory, Isolation, MapCache, Placement, Policy, ReadCopies,
    Refresh, SlcCache, Wear,
};
use media::Geometry;
use sim::Time;
use support::drive::drive;
use support::world::{After, Faults, World};

/// Two dies of two planes, three tenths of which are spare.
fn plain() -> Config {
    let geometry = Geometry {
        channels: 2,
        chips: 1,
        dies: 1,
        planes: 2,
        blocks: 32,
        pages: 12,
        page_bytes: 2048,
        unit_bytes: 1024,
    };
    let plain = drive(geometry, 2 * 2 * 32 * 12 * 2 * 7 / 10);
    Config { collection: Collection { start: 3, choices: 3, quiet: 0.5, ..plain.collection }, ..plain }
}

fn collecting(change: impl Fn(&mut Collection)) -> Config {
    let mut config = plain();
    change(&mut config.collection);
    config
}

fn with_slc(slc: SlcCache) -> Config {
    let plain = plain();
    Config { slc: Some(slc), user_units: plain.user_units * 3 / 4, ..plain }
}

fn with_map_cache(map: MapCache) -> Config {
    // Pages of 128 entries: twelve of the map.
    let plain = plain();
    let geometry = Geometry { unit_bytes: 512, page_bytes: 1024, pages: 24, ..plain.geometry };
    Config { geometry, user_units: plain.user_units * 2 * 9 / 10, map_cache: Some(map), ..plain }
}

/// A hundred map pages, of which few are cached, and a write cache that changes many.
fn with_large_map(group: Group) -> Config {
    let geometry = Geometry {
        channels: 2,
        chips: 1,
        dies: 1,
        planes: 1,
        blocks: 128,
        pages: 24,
        page_bytes: 2048,
        unit_bytes: 512,
    };
    let map = MapCache { frames: 8, frame_units: 1, updates: 7, eviction: Eviction::Lru, entries: None, warm: false };
    let plain = drive(geometry, 18_000);
    let buffers = Buffers { write: 200, high: 0, ..plain.buffers };
    Config { group, map_cache: Some(map), buffers, tags: 32, ..plain }
}

/// A drive, faults, and bad blocks: die, plane and block.
type Case = (&'static str, Config, Faults, Vec<(u16, u32, u32)>);

fn cases() -> Vec<Case> {
    let slc = SlcCache { blocks: 4, bits: 3, fold: 1, keep: 0, dynamic: 0, batch: 0, copies: None };
    let map = MapCache { frames: 3, frame_units: 1, updates: 7, eviction: Eviction::Lru, entries: None, warm: false };
    let refresh = Refresh { reads: Some(20), age_s: None, drive_age_s: 0 };
    let idle = Time::from_us(5);
    let drives = vec![
        ("superblocks", plain()),
        ("a block per die", Config { group: Group::Die, ..plain() }),
        ("a block per plane", Config { group: Group::Plane, multi_plane: false, ..plain() }),
        ("host and copies share blocks", collecting(|c| c.separate = false)),
        ("quiet-greedy", collecting(|c| c.policy = Policy::QuietGreedy)),
        ("cost-benefit", collecting(|c| c.policy = Policy::CostBenefit)),
        ("fifo", collecting(|c| c.policy = Policy::Fifo)),
        ("d-choices", collecting(|c| c.policy = Policy::DChoices)),
        ("few copies in flight", collecting(|c| c.copies = Some(8))),
        ("no slack", collecting(|c| c.slack = Some(1))),
        ("batches of reads", collecting(|c| c.batch = 4)),
        ("ahead in idle time", collecting(|c| (c.ahead, c.idle) = (2, idle))),
        ("static wear leveling", Config { wear: Wear { dynamic: false, static_threshold: Some(2) }, ..plain() }),
        ("an SLC cache", with_slc(SlcCache { keep: 1, ..slc })),
        ("an SLC cache of all that is free", with_slc(SlcCache { blocks: 0, dynamic: 32, ..slc })),
        ("an SLC cache folded in batches", with_slc(SlcCache { batch: 40, copies: Some(20), ..slc })),
        ("an SLC cache folded unit by unit", with_slc(SlcCache { batch: 1, ..slc })),
        ("read copies", Config { read_copies: Some(ReadCopies { blocks: 2, units: 40 }), ..with_slc(slc) }),
        ("refresh after reads", Config { refresh, ..collecting(|c| c.idle = idle) }),
        (
            "refresh with age",
            Config {
                refresh: Refresh { reads: None, age_s: Some(0), drive_age_s: 1 },
                ..collecting(|c| c.idle = idle)
            },
        ),
        ("a part of the map", with_map_cache(map)),
        ("a part of the map, a block per die", Config { group: Group::Die, ..with_map_cache(map) }),
        ("a small part of a large map", with_large_map(Group::Drive)),
        ("a small part of a large map, a block per die", with_large_map(Group::Die)),
        ("entries of the map", with_map_cache(MapCache { entries: Some(40), ..map })),
        (
            "host memory",
            Config {
                host_memory: Some(HostMemory { map_frames: 4, read: 0, write: 12, check: 2 }),
                ..with_map_cache(map)
            },
        ),
        ("parity", Config { parity: Some(1), user_units: plain().user_units / 2, ..plain() }),
        (
            "placement",
            Config {
                placement: Some(Placement { handles: 2, isolation: Isolation::Persistent }),
                user_units: plain().user_units * 3 / 4,
                ..plain()
            },
        ),
        (
            "placement of five handles",
            Config {
                placement: Some(Placement { handles: 5, isolation: Isolation::Persistent }),
                user_units: plain().user_units / 2,
                ..plain()
            },
        ),
        (
            "placement, copies mixed",
            Config {
                placement: Some(Placement { handles: 2, isolation: Isolation::Initial }),
                user_units: plain().user_units * 3 / 4,
                ..plain()
            },
        ),
    ];
    let mut cases: Vec<Case> =
        drives.into_iter().map(|(name, config)| (name, config, Faults::default(), Vec::new())).collect();
    let bad = vec![(0, 0, 3), (0, 1, 7), (1, 0, 7), (1, 1, 20)];
    let failing = Faults { program: 0.001, erase: 0.001, ..Faults::default() };
    let roomy = |config: Config| Config { user_units: config.user_units * 4 / 5, ..config };
    cases.push(("bad blocks", roomy(plain()), Faults::default(), bad.clone()));
    cases.push(("failures, a block per die", roomy(Config { group: Group::Die, ..plain() }), failing, bad.clone()));
    cases.push(("worn SLC blocks", with_slc(slc), Faults { slc_cycles: Some(6), ..Faults::default() }, Vec::new()));
    cases
}

/// Digests what every page holds, and how often each block was erased.
fn digest(world: &World) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: u64| hash = (hash ^ number).wrapping_mul(0x100_0000_01b3);
    for ((die, plane, block, page), content) in &world.flash.pages {
        let place = [u64::from(*die), u64::from(*plane), u64::from(*block), u64::from(*page)];
        place.into_iter().chain([content.sequence]).for_each(&mut add);
        content.logical.iter().for_each(|unit| add(u64::from(*unit)));
    }
    world.flash.info.values().for_each(|info| add(u64::from(info.erases)));
    hash
}

/// Runs a history: a full drive under overwrites, under mixed requests with pauses, and under
/// more mixed requests after a power cut. Returns its statistics before the cut, and the digest at its end.
fn work((name, config, faults, bad): Case) -> String {
    let mut world = World::new(config, faults, &bad, 1);
    world.fill();
    let units = world.sectors() * 512 / 1024;
    for _ in 0..units.max(3_000) * 2 {
        world.step_overwriting(units / 2);
    }
    let mixed = |world: &mut World, rounds: u32| {
        for round in 0..rounds {
            for _ in 0..60 {
                world.step(if round % 2 == 0 { 0.7 } else { 0.1 });
            }
        }
        world.drain();
    };
    mixed(&mut world, 40);
    let stats = *world.ftl.stats();
    let mixed_copies: u64 = world.ftl.handle_stats().iter().map(|handle| handle.mixed).sum();
    world.power_cut();
    mixed(&mut world, 20);
    world.read_all(After::Reset { kept: true });
    format!(
        "{name}: {} host, {} copies, {mixed_copies} mixed, {} victims, {} erases, {:016x}",
        stats.programmed_host,
        stats.programmed_copy,
        stats.victims,
        stats.erases,
        digest(&world)
    )
}

#[test]
fn the_work_of_each_mechanism_is_pinned() {
    let found: Vec<String> = cases().into_iter().map(work).collect();
    let pinned: Vec<&str> = PINNED.lines().collect();
    assert_eq!(found, pinned, "\n{}\n", found.join("\n"));
}

const PINNED: &str = "\
superblocks: 5120 host, 2292 copies, 0 mixed, 51 victims, 50 erases, 67ddc9f464013acb
a block per die: 5128 host, 2308 copies, 0 mixed, 102 victims, 100 erases, 760892c699e15626
a block per plane: 4681 host, 1644 copies, 0 mixed, 155 victims, 151 erases, ba2d90183ccda130
host and copies share blocks: 5106 host, 2304 copies, 0 mixed, 51 victims, 49 erases, fedb4a8fcaa39b60
quiet-greedy: 5055 host, 2384 copies, 0 mixed, 51 victims, 50 erases, 875dbc03db2de3e5
cost-benefit: 5110 host, 2428 copies, 0 mixed, 52 victims, 51 erases, fe4095350f878392
fifo: 4989 host, 3007 copies, 0 mixed, 57 victims, 56 erases, afe6af42da7d22b9
d-choices: 5070 host, 2839 copies, 0 mixed, 56 victims, 54 erases, 9c99d1c3ea47750f
few copies in flight: 5125 host, 2180 copies, 0 mixed, 50 victims, 48 erases, f2f0e0405ecc1e3e
no slack: 5084 host, 2152 copies, 0 mixed, 49 victims, 48 erases, fa873d491b35da80
batches of reads: 5119 host, 2268 copies, 0 mixed, 50 victims, 49 erases, 9a9ebccd845f003a
ahead in idle time: 5127 host, 2304 copies, 0 mixed, 52 victims, 49 erases, 17e16d53a2444aeb
static wear leveling: 5176 host, 2304 copies, 0 mixed, 51 victims, 50 erases, 2a0802a830a7a004
an SLC cache: 4574 host, 2893 copies, 0 mixed, 109 victims, 106 erases, d9a9b482b3e212fc
an SLC cache of all that is free: 4903 host, 1092 copies, 0 mixed, 49 victims, 48 erases, 007202f6d0f2d043
an SLC cache folded in batches: 4382 host, 4653 copies, 0 mixed, 161 victims, 160 erases, 7e9b1528bc2d0b19
an SLC cache folded unit by unit: 4423 host, 4560 copies, 0 mixed, 161 victims, 159 erases, a863a85f4c7b98b3
read copies: 4543 host, 3106 copies, 0 mixed, 106 victims, 112 erases, 908714bba955d4c3
refresh after reads: 5122 host, 2200 copies, 0 mixed, 50 victims, 49 erases, bde84b579adea218
refresh with age: 4745 host, 4276 copies, 0 mixed, 68 victims, 65 erases, e327992f84299baf
a part of the map: 6928 host, 656 copies, 0 mixed, 17 victims, 16 erases, 0b775e014c7cd9c3
a part of the map, a block per die: 6925 host, 620 copies, 0 mixed, 34 victims, 32 erases, 0dcfc4cf4eab920f
a small part of a large map: 24408 host, 1896 copies, 0 mixed, 34 victims, 33 erases, 37531db559631327
a small part of a large map, a block per die: 24316 host, 1832 copies, 0 mixed, 68 victims, 66 erases, d1c202c9331ecb11
entries of the map: 6506 host, 488 copies, 0 mixed, 13 victims, 12 erases, 830b1157d4066be3
host memory: 6586 host, 312 copies, 0 mixed, 11 victims, 10 erases, d4d1f050ee4e9c45
parity: 3568 host, 1976 copies, 0 mixed, 89 victims, 88 erases, a5827c3146b17054
placement: 4931 host, 850 copies, 0 mixed, 38 victims, 37 erases, 4fef95a9ef69f35e
placement of five handles: 4456 host, 322 copies, 0 mixed, 32 victims, 31 erases, 33495e5c58c3a98d
placement, copies mixed: 4912 host, 644 copies, 577 mixed, 34 victims, 33 erases, 7bbaa489846745a7
bad blocks: 5001 host, 956 copies, 0 mixed, 38 victims, 37 erases, 9ac8ff368305e61d
failures, a block per die: 4943 host, 872 copies, 0 mixed, 72 victims, 70 erases, 8aeccaf943b37c33
worn SLC blocks: 4776 host, 1990 copies, 0 mixed, 69 victims, 68 erases, cbf1aef18dcfea0b
";
