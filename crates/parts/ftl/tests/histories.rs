//! Crash consistency: random histories of commands, failures and power cuts, checked against an oracle of the values
//! that reads may return.

mod support;

use ftl::config::{
    Allocation, Axis, Buffers, Collection, Config, Eviction, Group, HostMemory, Isolation, MapCache, Placement, Policy,
    ReadCopies, Refresh, SlcCache, Wear,
};
use media::Geometry;
use sim::{Rng, Streams, Time};
use support::world::{After, Faults, World};

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// Draws a small drive at random from all that can be configured.
fn draw(rng: &mut Rng) -> (Config, Faults, Vec<(u16, u32, u32)>) {
    let (sectors, per_page) = (pick(rng, &[1, 2, 8]), pick(rng, &[1, 2, 4]));
    let geometry = Geometry {
        channels: pick(rng, &[1, 2]),
        chips: pick(rng, &[1, 2]),
        dies: 1,
        planes: pick(rng, &[1, 2]),
        blocks: pick(rng, &[16, 24, 32]),
        // With fewer pages per block there is no room for the pages of the last block that repeated power cuts damage.
        pages: pick(rng, &[12, 18]),
        page_bytes: sectors * 512 * per_page,
        unit_bytes: sectors * 512,
    };
    let has_slc = rng.chance(0.3);
    // Outside the option, since the compiler may test an option's contents before its presence, which valgrind reports.
    let slc_blocks = if has_slc { pick(rng, &[0, 3, 3]) } else { 0 };
    let slc = has_slc.then(|| SlcCache {
        blocks: slc_blocks,
        bits: 3,
        fold: 1,
        keep: pick(rng, &[0, 0, 1]),
        dynamic: pick(rng, &[0, 2, 32]),
        batch: 0,
        copies: None,
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
            policy: pick(rng, Policy::ALL),
            choices: 3,
            quiet: 0.5,
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
            allocation: pick(rng, &[Allocation::Fill, Allocation::Miss]),
            shared: rng.chance(0.3),
            write_back: rng.chance(0.8),
            protected,
            high: pick(rng, &[0, 4]),
            low: 0,
            resume: pick(rng, &[0, 0, 4, 8]),
            gather: pick(rng, &[0, 4, 8]),
            holds_reads: rng.chance(0.3),
            idle: Time::from_us(20),
        },
        slc,
        refresh: draw_refresh(rng),
        read_copies: (slc_blocks > 0 && rng.chance(0.5))
            .then(|| ReadCopies { blocks: 2, units: pick(rng, &[1, 5, 40]) }),
        parity: None,
        placement: None,
        tags: 8,
        moves: true,
        geometry,
    };
    let config = Config { host_memory: draw_host_memory(rng, &config), ..config };
    let faults = if faulty {
        Faults {
            read: pick(rng, &[0.0, 0.002]),
            copy_read: 0.0,
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

/// Adds parity over the dies, if the drive allows it.
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

/// Draws limits that a history of a few milliseconds and a few power cuts reaches, or none. With an age limit of zero
/// seconds every full block is rewritten in every idle period.
fn draw_refresh(rng: &mut Rng) -> Refresh {
    if rng.chance(0.7) {
        return Refresh::default();
    }
    let (reads, age_s) = (pick(rng, &[None, Some(3), Some(20)]), pick(rng, &[None, None, Some(0), Some(1)]));
    Refresh { reads, age_s, drive_age_s: pick(rng, &[0, 1]) }
}

/// Draws any uses of host memory that are compatible with the configuration, or none.
fn draw_host_memory(rng: &mut Rng, config: &Config) -> Option<HostMemory> {
    let mut some = |from: &[u32], may: bool| if may && rng.chance(0.7) { pick(rng, from) } else { 0 };
    let separate = !config.buffers.shared;
    let map_frames = some(&[1, 2, 5], config.map_cache.is_some_and(|map| map.entries.is_none()));
    let read = some(&[2, 16], separate);
    let write = some(&[3, 12, 40], separate);
    (map_frames + read + write > 0 && rng.chance(0.7)).then_some(HostMemory { map_frames, read, write, check: 2 })
}

/// Events in a history.
#[derive(Clone, Copy, Default)]
struct Went {
    cuts: u32,
    /// Maximum number of units in lent blocks, and number of refreshed blocks, over all rounds.
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

/// Runs a history with parity and returns the number of rebuilt pages; `None` if the drive does not allow parity.
fn history_with_parity(seed: u64) -> Option<u64> {
    let mut rng = Streams::new(seed).stream("test.history");
    let (config, faults, bad) = draw(&mut rng);
    let config = Config { group: Group::Drive, multi_plane: true, ..config };
    let config = if config.parity.is_none() { with_parity(config, &mut rng) } else { config };
    let faults = Faults { read: faults.read.max(pick(&mut rng, &[0.0, 0.01])), ..faults };
    let drawn = (config, faults, bad);
    drawn.0.parity.is_some().then(|| go_through(seed, drawn, &mut rng, ftl::InjectedFault::None).rebuilt)
}

/// Runs a history in which host writes name reclaim unit handles. Returns the number of blocks opened for handles other
/// than the first, and of copies that stayed with their handle.
fn history_with_placement(seed: u64) -> (u64, u64) {
    let mut rng = Streams::new(seed).stream("test.history");
    let (config, faults, bad) = draw(&mut rng);
    let handles = pick(&mut rng, &[2, 2, 3]);
    let isolation = pick(&mut rng, &[Isolation::Initial, Isolation::Persistent]);
    // Each handle may hold two blocks open.
    let blocks = config.geometry.blocks + 2 * handles;
    let config = Config {
        geometry: Geometry { blocks, ..config.geometry },
        slc: None,
        read_copies: None,
        host_memory: config.host_memory.map(|memory| HostMemory { write: 0, ..memory }),
        placement: Some(Placement { handles, isolation }),
        ..config
    };
    let (mut opened, mut kept) = (0, 0);
    let mut updates = Streams::new(seed).stream("test.updates");

    let mut world = World::new(config, faults, &bad, seed);
    for _ in 0..1 + rng.below(3) {
        let busy = pick(&mut rng, &[0.3, 0.5, 0.8]);
        for _ in 0..200 + rng.below(600) {
            world.step(busy);
            if updates.chance(0.02) {
                world.update_handle(updates.below(u64::from(handles)) as u8);
            }
        }
        let stats = world.ftl.handle_stats();
        opened += stats[1..].iter().map(|handle| handle.opened).sum::<u64>();
        kept += stats.iter().map(|handle| handle.programmed_copy - handle.mixed).sum::<u64>();
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
    (opened, kept)
}

#[test]
fn histories_with_placement_lose_nothing() {
    let count: u64 = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let first: u64 = std::env::var("HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (mut opened, mut kept) = (0, 0);
    for seed in first..first + count {
        match std::panic::catch_unwind(|| history_with_placement(seed)) {
            Ok(went) => (opened, kept) = (opened + went.0, kept + went.1),
            Err(cause) => {
                eprintln!("history {seed} with placement failed (run it alone: HISTORY={seed} HISTORIES=1)");
                std::panic::resume_unwind(cause);
            }
        }
    }
    assert!(count < 100 || opened > 2 * count, "only {opened} blocks of handles were opened");
    assert!(count < 100 || kept > 2 * count, "only {kept} copies stayed with their handle");
}

/// Runs a history of a drive that folds its SLC blocks in batches, if it has any. Returns true if it has.
fn history_with_batches(seed: u64) -> bool {
    let mut rng = Streams::new(seed).stream("test.history");
    let (config, faults, bad) = draw(&mut rng);
    let Some(slc) = config.slc else { return false };
    let slc = SlcCache {
        batch: pick(&mut rng, &[1, 5, 40, 1000]),
        copies: pick(&mut rng, &[None, Some(1), Some(20)]),
        ..slc
    };
    go_through(seed, (Config { slc: Some(slc), ..config }, faults, bad), &mut rng, ftl::InjectedFault::None);
    true
}

#[test]
fn histories_with_folding_in_batches_lose_nothing() {
    let count: u64 = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000);
    let first: u64 = std::env::var("HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut with_slc = 0;
    // In the last one, a batch waits for reads of the host alone.
    for seed in (first..first + count).chain([111_503]) {
        match std::panic::catch_unwind(|| history_with_batches(seed)) {
            Ok(has) => with_slc += u64::from(has),
            Err(cause) => {
                eprintln!("history {seed} with batches failed (run it alone: HISTORY={seed} HISTORIES=1)");
                std::panic::resume_unwind(cause);
            }
        }
    }
    assert!(count < 100 || with_slc > count / 10, "only {with_slc} drives had SLC blocks");
}

/// Runs a history of a drive whose programs have up to 256 units, more than collection reads at once. Returns the number of
/// pages read to be copied.
fn history_with_large_programs(seed: u64) -> u64 {
    let mut rng = Streams::new(seed).stream("test.history");
    let (config, faults, bad) = draw(&mut rng);
    let old = config.geometry;
    let geometry = Geometry {
        channels: 1,
        planes: pick(&mut rng, &[2, 3, 4]),
        page_bytes: 512 * pick(&mut rng, &[32, 48, 64]),
        unit_bytes: 512,
        ..old
    };
    let group = pick(&mut rng, &[Group::Die, Group::Drive]);
    let user_units = (u128::from(config.user_units) * geometry.units() / old.units()) as u32 * 4 / 5;
    let buffers = Buffers { write: 600, high: 0, low: 0, ..config.buffers };
    let collection = Collection { copies: pick(&mut rng, &[None, Some(700)]), ..config.collection };
    let config = Config {
        geometry,
        group,
        user_units,
        buffers,
        collection,
        multi_plane: true,
        parity: None,
        map_cache: None,
        host_memory: None,
        ..config
    };
    let bad: Vec<_> = bad.into_iter().filter(|(die, ..)| u32::from(*die) < geometry.all_dies()).collect();
    let mut world = World::new(config, faults, &bad, seed);
    let mut copied = 0;
    for _ in 0..2 {
        for _ in 0..4000 {
            world.step(0.7);
        }
        copied += world.ftl.stats().copy_reads;
        world.power_cut();
    }
    world.drain();
    world.read_all(After::Nothing);
    copied + world.ftl.stats().copy_reads
}

#[test]
fn histories_with_large_programs_lose_nothing() {
    let count: u64 = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let first: u64 = std::env::var("HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut copied = 0;
    for seed in first..first + count {
        match std::panic::catch_unwind(|| history_with_large_programs(seed)) {
            Ok(pages) => copied += pages,
            Err(cause) => {
                eprintln!("history {seed} with large programs failed (run it alone: HISTORY={seed} HISTORIES=1)");
                std::panic::resume_unwind(cause);
            }
        }
    }
    assert!(count < 50 || copied > count, "only {copied} pages were copied");
}

/// Event that ends each round of a [`volatile_history`].
#[derive(Clone, Copy, Debug)]
enum Ends {
    PowerCuts,
    /// The controller is reset, and the host does not return its memory.
    Resets,
}

/// Runs a history with `faults` on a drive that keeps much dirty data in host memory, so that newer data is often lost.
/// Returns the number of failed host reads.
fn volatile_history(seed: u64, ends: Ends, faults: Faults) -> u64 {
    let mut rng = Streams::new(seed).stream("test.history");
    let (config, _, bad) = draw(&mut rng);
    let buffers = Buffers { write: 8, shared: false, write_back: true, ..config.buffers };
    let host_memory = HostMemory { map_frames: 0, read: 2, write: 40, check: 2 };
    let collection = Collection { copies: pick(&mut rng, &[Some(4), Some(16)]), ..config.collection };
    let config = Config { buffers, collection, host_memory: Some(host_memory), ..config };
    let mut world = World::new(config, faults, &bad, seed);
    for _ in 0..6 {
        for _ in 0..50 + rng.below(250) {
            world.step(0.6);
        }
        match ends {
            Ends::PowerCuts => world.power_cut(),
            Ends::Resets => world.reset(false),
        }
    }
    world.drain();
    world.lost_reads
}

/// Runs `count` of these histories with power cuts, and as many with resets.
fn volatile_histories(count: u64, faults: Faults) -> u64 {
    let count = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(count);
    let first: u64 = std::env::var("HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut failed = 0;
    for (seed, ends) in (first..first + count).flat_map(|seed| [(seed, Ends::PowerCuts), (seed, Ends::Resets)]) {
        match std::panic::catch_unwind(|| volatile_history(seed, ends, faults)) {
            Ok(reads) => failed += reads,
            Err(cause) => {
                eprintln!("history {seed} with {ends:?} failed (run it alone: HISTORY={seed} HISTORIES=1)");
                std::panic::resume_unwind(cause);
            }
        }
    }
    failed
}

/// If newer data in RAM is lost, a copy whose source could not be read becomes the newest, and must not be taken for
/// data.
#[test]
fn data_that_collection_could_not_read_stays_lost() {
    let failed = volatile_histories(400, Faults { copy_read: 0.5, ..Faults::default() });
    assert!(failed > 0 || std::env::var("HISTORIES").is_ok(), "no collection read failed");
}

/// A flush that waits for data waits for its trim instead if the data is trimmed before its program fails.
#[test]
fn flush_waits_for_trims_of_data_whose_program_failed() {
    let _ = volatile_histories(400, Faults { program: 0.02, ..Faults::default() });
}

/// SLC blocks wear out while power is cut repeatedly: their data is programmed elsewhere, and no flushed data is lost.
#[test]
fn histories_of_worn_slc_blocks_lose_nothing() {
    let count: u64 = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let first: u64 = std::env::var("HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (mut gone_through, mut worn) = (0, 0);
    for seed in first..first + count {
        let mut rng = Streams::new(seed).stream("test.history");
        let (config, _, _) = draw(&mut rng);
        if config.slc.is_none_or(|slc| slc.blocks == 0) {
            continue;
        }
        gone_through += 1;
        let mut world = World::new(config, Faults { slc_cycles: Some(1), ..Faults::default() }, &[], seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..8 {
                for _ in 0..50 + rng.below(250) {
                    world.step(0.6);
                }
                world.power_cut();
            }
            world.drain();
        }));
        if let Err(cause) = outcome {
            eprintln!("history {seed} with worn SLC blocks failed (run it alone: HISTORY={seed} HISTORIES=1)");
            std::panic::resume_unwind(cause);
        }
        worn += u64::from(world.flash.info.values().any(|block| block.bad));
    }
    assert!(count < 100 || worn > gone_through / 4, "cache blocks wore out in only {worn} of {gone_through} histories");
}

fn go_through(
    seed: u64,
    drawn: (Config, Faults, Vec<(u16, u32, u32)>),
    rng: &mut Rng,
    injected: ftl::InjectedFault,
) -> Went {
    let (mut config, faults, bad) = drawn;
    // Some histories read in batches, selected without another random draw, which would change them all.
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
    assert!(count < 100 || gone_through > count / 4, "only {gone_through} of {count} histories had parity");
    assert!(count < 1000 || rebuilt > count / 100, "only {rebuilt} pages were rebuilt");
}

#[test]
fn histories_lend_blocks_and_refresh_them() {
    let histories = std::env::var("HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(300).min(300);
    let all: Vec<Went> = (0..histories).map(|seed| history(seed, ftl::InjectedFault::None)).collect();
    let count = |of: fn(&Went) -> bool| all.iter().filter(|went| of(went)).count();
    let (lent, refreshed) = (count(|went| went.lent > 0), count(|went| went.refreshed > 0));
    println!("of {histories} histories, {lent} lend blocks and {refreshed} refresh blocks");
    let enough = lent >= 20 && refreshed >= 20 && count(|went| went.cuts > 0) >= 100;
    assert!(histories < 300 || enough, "{lent} {refreshed}");
}

/// Runs the same histories with an injected fault, which they must detect to prove anything.
fn must_be_caught(injected: ftl::InjectedFault) {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let caught = (0..400).find(|seed| std::panic::catch_unwind(|| history(*seed, injected)).is_err());
    std::panic::set_hook(quiet);
    assert!(caught.is_some(), "{injected:?} was not detected in 400 histories");
}

#[test]
fn planted_bugs_are_caught() {
    // One test for all faults, in sequence: the panic hook is global to the process.
    must_be_caught(ftl::InjectedFault::JournalSkipped);
    must_be_caught(ftl::InjectedFault::CopyNotRepointed);
    must_be_caught(ftl::InjectedFault::HostMapForgotten);
}
