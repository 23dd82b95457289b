//! Nothing is lost: random histories of commands, failures and power cuts, against an oracle of what may be read.

mod support;

use ftl::config::{
    Axis, Buffers, Collection, Config, Eviction, Group, HostMemory, MapCache, Policy, ReadCopies, Refresh, SlcCache,
    Wear,
};
use media::Geometry;
use sim::{Rng, Streams, Time};
use support::world::{After, Faults, World};

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// A small drive, drawn at random from all that can be configured.
fn draw(rng: &mut Rng) -> (Config, Faults, Vec<(u16, u32, u32)>) {
    let (sectors, per_page) = (pick(rng, &[1, 2, 8]), pick(rng, &[1, 2, 4]));
    let geometry = Geometry {
        channels: pick(rng, &[1, 2]),
        chips: pick(rng, &[1, 2]),
        dies: 1,
        planes: pick(rng, &[1, 2]),
        blocks: pick(rng, &[16, 24, 32]),
        // Fewer pages a block than this leave no room for what repeated power cuts spoil of the last one.
        pages: pick(rng, &[12, 18]),
        page_bytes: sectors * 512 * per_page,
        unit_bytes: sectors * 512,
    };
    let slc = rng.chance(0.3).then(|| SlcCache {
        blocks: pick(rng, &[0, 3, 3]),
        bits: 3,
        fold: 1,
        keep: pick(rng, &[0, 0, 1]),
        dynamic: pick(rng, &[0, 2, 32]),
    });
    let slc = slc.filter(|slc| slc.blocks + slc.dynamic > 0);
    let faulty = rng.chance(0.5);
    let mut bad = Vec::new();
    if faulty {
        for die in 0..geometry.all_dies() as u16 {
            for plane in 0..geometry.planes {
                for block in 0..geometry.blocks {
                    if rng.chance(0.02) {
                        bad.push((die, plane, block));
                    }
                }
            }
        }
    }
    let lost_blocks = slc.map_or(0, |s| s.blocks + s.dynamic.min(1)) + 6 + if faulty { 3 } else { 0 };
    let physical = geometry.units() as u32 / geometry.blocks * (geometry.blocks - lost_blocks);
    let mut stripe = [Axis::Channel, Axis::Way, Axis::Die, Axis::Plane];
    stripe.swap(rng.below(4) as usize, rng.below(4) as usize);
    let protected = false;
    let config = Config {
        user_units: (8.0 + f64::from(physical) * pick(rng, &[0.5, 0.7, 0.8])) as u32,
        group: pick(rng, &[Group::Plane, Group::Die, Group::Drive]),
        stripe,
        multi_plane: rng.chance(0.5),
        collection: Collection {
            policy: pick(rng, &[Policy::Greedy, Policy::CostBenefit, Policy::Fifo, Policy::Choices(3)]),
            start: 3,
            separate: rng.chance(0.7),
            ahead: pick(rng, &[0, 1]),
            idle: Time::from_us(pick(rng, &[5, 50])),
            batch: 1,
            copies: pick(rng, &[Some(4), Some(16), None]),
            slack: pick(rng, &[None, Some(1)]),
        },
        wear: Wear { dynamic: rng.chance(0.5), static_threshold: rng.chance(0.3).then_some(3) },
        map_cache: rng.chance(0.4).then(|| MapCache {
            frames: pick(rng, &[1, 2]),
            frame_units: pick(rng, &[1, 1, 2]),
            updates: pick(rng, &[0, 1, 7]),
            eviction: pick(rng, &[Eviction::Lru, Eviction::Fifo, Eviction::Clock]),
            entries: rng.chance(0.4).then(|| pick(rng, &[1, 3, 20])),
            warm: false,
        }),
        host_memory: None,
        buffers: Buffers {
            write: pick(rng, &[8, 16, 40]),
            read: pick(rng, &[0, 4, 16]),
            shared: rng.chance(0.3),
            write_back: rng.chance(0.8),
            protected,
            high: pick(rng, &[0, 4]),
            low: 0,
            resume: pick(rng, &[0, 0, 4, 8]),
            holds_reads: rng.chance(0.3),
            idle: Time::from_us(20),
        },
        slc,
        refresh: draw_refresh(rng),
        read_copies: slc
            .filter(|slc| slc.blocks > 0 && rng.chance(0.5))
            .map(|_| ReadCopies { blocks: 2, units: pick(rng, &[1, 5, 40]) }),
        parity: None,
        tags: 8,
        moves: true,
        geometry,
    };
    let config = Config { host_memory: draw_host_memory(rng, &config), ..config };
    let faults = if faulty {
        Faults {
            read: pick(rng, &[0.0, 0.002]),
            program: pick(rng, &[0.0, 0.001]),
            erase: pick(rng, &[0.0, 0.001]),
            die: None,
            slc_cycles: pick(rng, &[None, Some(3)]),
        }
    } else {
        Faults::default()
    };
    let parity = rng.chance(0.5);
    (if parity { with_parity(config, rng) } else { config }, faults, bad)
}

/// The drive with parity over its dies, if it is such that there can be some.
fn with_parity(config: Config, rng: &mut Rng) -> Config {
    let (g, dies) = (&config.geometry, config.geometry.all_dies());
    if config.group != Group::Drive || dies < 2 || (g.planes > 1 && !config.multi_plane) {
        return config;
    }
    let data = pick(rng, &[1, 2, 3][..dies as usize - 1]);
    let slc = config.slc.map_or(data + 1, |slc| g.pages / slc.bits * dies);
    if !(g.pages * dies).is_multiple_of(data + 1) || !slc.is_multiple_of(data + 1) {
        return config;
    }
    Config { parity: Some(data), user_units: config.user_units * data / (data + 1), ..config }
}

/// Limits that a history of a few milliseconds and a few cuts reaches, or none. An age of no seconds has every full block
/// rewritten in every pause.
fn draw_refresh(rng: &mut Rng) -> Refresh {
    if rng.chance(0.7) {
        return Refresh::default();
    }
    let (reads, age_s) = (pick(rng, &[None, Some(3), Some(20)]), pick(rng, &[None, None, Some(0), Some(1)]));
    Refresh { reads, age_s, drive_age_s: pick(rng, &[0, 1]) }
}

/// Any of its uses that go with the rest, or none.
fn draw_host_memory(rng: &mut Rng, config: &Config) -> Option<HostMemory> {
    let mut some = |from: &[u32], may: bool| if may && rng.chance(0.7) { pick(rng, from) } else { 0 };
    let separate = !config.buffers.shared;
    let map_frames = some(&[1, 2, 5], config.map_cache.is_some_and(|map| map.entries.is_none()));
    let read = some(&[2, 16], separate);
    let write = some(&[3, 12, 40], separate);
    (map_frames + read + write > 0 && rng.chance(0.7)).then_some(HostMemory { map_frames, read, write, check: 2 })
}

/// What a history went through.
#[derive(Clone, Copy, Default)]
struct Went {
    cuts: u32,
    /// Units in lent blocks at most, and blocks refreshed, of all steps looked at.
    lent: u64,
    refreshed: u64,
    /// Pages rebuilt from parity.
    rebuilt: u64,
}

fn history(seed: u64, injected: ftl::InjectedFault) -> Went {
    let mut rng = Streams::new(seed).stream("test.history");
    let drawn = draw(&mut rng);
    go_through(seed, drawn, &mut rng, injected)
}

/// The same with parity, wherever the drive allows it, and how many pages were rebuilt; `None` elsewhere.
fn history_with_parity(seed: u64) -> Option<u64> {
    let mut rng = Streams::new(seed).stream("test.history");
    let (config, faults, bad) = draw(&mut rng);
    let config = Config { group: Group::Drive, multi_plane: true, ..config };
    let config = if config.parity.is_none() { with_parity(config, &mut rng) } else { config };
    let faults = Faults { read: faults.read.max(pick(&mut rng, &[0.0, 0.01])), ..faults };
    let drawn = (config, faults, bad);
    drawn.0.parity.is_some().then(|| go_through(seed, drawn, &mut rng, ftl::InjectedFault::None).rebuilt)
}

fn go_through(
    seed: u64,
    drawn: (Config, Faults, Vec<(u16, u32, u32)>),
    rng: &mut Rng,
    injected: ftl::InjectedFault,
) -> Went {
    let (mut config, faults, bad) = drawn;
    // In batches in every other history, without a draw that would change them all.
    config.collection.batch = if config.collection.idle == Time::from_us(5) { 4 } else { 1 };
    let mut world = World::new(config, faults, &bad, seed);
    world.injected = injected;
    world.ftl.inject(injected);
    let mut went = Went::default();
    for _ in 0..1 + rng.below(3) {
        let busy = pick(rng, &[0.3, 0.5, 0.8]);
        for _ in 0..200 + rng.below(600) {
            world.step(busy);
        }
        went.lent = went.lent.max(world.ftl.dynamic_slc_units());
        went.refreshed += world.ftl.stats().refreshed;
        match rng.below(10) {
            0..=5 => world.power_cut(),
            6 | 7 => world.reset(rng.chance(0.3)),
            _ => {
                world.drain();
                world.read_all(After::Nothing);
            }
        }
    }
    world.drain();
    Went { cuts: world.cuts, rebuilt: world.ftl.stats().rebuilt, ..went }
}

#[test]
fn ten_thousand_histories_lose_nothing() {
    let count: u64 = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let first: u64 = std::env::var("HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let outcome = std::panic::catch_unwind(|| history(seed, ftl::InjectedFault::None));
        if let Err(cause) = outcome {
            eprintln!("history {seed} failed (run it alone: HISTORY={seed} HISTORIES=1)");
            std::panic::resume_unwind(cause);
        }
    }
}

#[test]
fn histories_with_parity_lose_nothing() {
    let count: u64 = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let first: u64 = std::env::var("HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (mut gone_through, mut rebuilt) = (0, 0);
    for seed in first..first + count {
        let outcome = std::panic::catch_unwind(|| history_with_parity(seed));
        match outcome {
            Ok(pages) => {
                gone_through += u64::from(pages.is_some());
                rebuilt += pages.unwrap_or(0);
            }
            Err(cause) => {
                eprintln!("history {seed} with parity failed (run it alone: HISTORY={seed} HISTORIES=1)");
                std::panic::resume_unwind(cause);
            }
        }
    }
    assert!(count < 100 || gone_through > count / 4, "{gone_through} of {count} had parity");
    assert!(count < 1000 || rebuilt > count / 100, "{rebuilt} pages were rebuilt");
}

#[test]
fn histories_lend_blocks_and_refresh_them() {
    let histories = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(300).min(300);
    let all: Vec<Went> = (0..histories).map(|seed| history(seed, ftl::InjectedFault::None)).collect();
    let count = |of: fn(&Went) -> bool| all.iter().filter(|went| of(went)).count();
    let (lent, refreshed) = (count(|went| went.lent > 0), count(|went| went.refreshed > 0));
    println!("of {histories} histories {lent} lend blocks, {refreshed} refresh some");
    let enough = lent >= 20 && refreshed >= 20 && count(|went| went.cuts > 0) >= 100;
    assert!(histories < 300 || enough, "{lent} {refreshed}");
}

/// The same histories, with a bug planted in the layer: they must find it, or they prove nothing.
fn must_be_caught(injected: ftl::InjectedFault) {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let caught = (0..400).find(|seed| std::panic::catch_unwind(|| history(*seed, injected)).is_err());
    std::panic::set_hook(quiet);
    assert!(caught.is_some(), "{injected:?} went unnoticed in 400 histories");
}

#[test]
fn planted_bugs_are_caught() {
    // One test for all, and a run of their own: the panic hook is the process's.
    must_be_caught(ftl::InjectedFault::JournalSkipped);
    must_be_caught(ftl::InjectedFault::CopyNotRepointed);
    must_be_caught(ftl::InjectedFault::HostMapForgotten);
}
