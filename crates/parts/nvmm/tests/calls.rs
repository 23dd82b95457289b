//! Each call on its own: forwarding, what a write programs, wear, and the cost of opening and rolling back.

mod support;

use media::Geometry;
use nvmm::{Address, Answer, Application, Controller, InjectedFault, Permissions, Request};
use support::flash::{Flash, PageContent};
use support::small::{config, world};
use support::world::World;

const ONE: Application = Application(1);

#[test]
fn requests_for_other_controllers_are_forwarded_and_local_ones_never() {
    let (mut seventh, mut eighth) = (world(config()), {
        let mut config = config();
        config.controller = Controller(8);
        world(config)
    });
    let there = Address::new(Controller(8), 5, 0);
    let write = Request::Write { address: there, segments: 3 };
    assert_eq!(seventh.ask_elsewhere(ONE, write), Answer::Forward(Controller(8)));
    assert_eq!(eighth.ask(ONE, write), Answer::Done);
    let alloc = Request::Alloc { controller: Some(Controller(8)), permissions: Permissions::PRIVATE };
    assert_eq!(seventh.ask_elsewhere(ONE, alloc), Answer::Forward(Controller(8)));
    let Answer::Allocated(address) = eighth.ask(ONE, alloc) else { panic!("there is room") };
    assert_eq!(address.controller(), Controller(8));
    for local in [Controller::LOCAL, Controller::LOCAL_ONES] {
        let write = Request::Write { address: Address::new(local, 6, 0), segments: 3 };
        assert_eq!(seventh.ask(ONE, write), Answer::Done);
        assert_eq!(eighth.ask(ONE, write), Answer::Done);
    }
    seventh.check();
    eighth.check();
}

/// Only dirty segments are programmed: one per written segment, whatever else the page holds.
#[test]
fn only_dirty_segments_are_written() {
    let mut world = world(config());
    let host = |world: &World| world.nvmm.stats().programs[0];
    for (segments, pages) in [(0xff, 8), (0b10_0100, 2), (1, 1)] {
        let before = host(&world);
        let write = Request::Write { address: world.address(4), segments };
        assert_eq!(world.ask(ONE, write), Answer::Done);
        assert_eq!(host(&world) - before, pages);
    }
    world.check();
}

/// Pages wear out one by one: capacity shrinks, and synced data survives up to the last accepted write.
#[test]
fn worn_pages_take_capacity_and_nothing_else() {
    let mut config = config();
    config.management.tokens = 2;
    let mut flash = Flash::new(config.geometry, config.order, false);
    flash.endurance = Some((20, 80));
    let mut world = World::new(config, flash, 3, InjectedFault::None);
    let first = world.nvmm.stats().capacity;
    let (mut least, mut writes) = (first, 0);
    for round in 0..100_000u32 {
        let write = Request::Write { address: world.address(round * 7 % 24), segments: 0xff };
        match world.ask(ONE, write) {
            Answer::Done => writes += 1,
            Answer::Refused(_) => break,
            other => panic!("{other:?}"),
        }
        let capacity = world.nvmm.stats().capacity;
        assert!(capacity <= least, "capacity came back");
        least = capacity;
        if round % 50 == 0
            && let Answer::Token(token) = world.ask(ONE, Request::Sync)
        {
            world.ask(ONE, Request::Drop { token });
        }
    }
    assert!(least < first / 2, "{least} of {first} flash pages are left");
    assert!(writes > 1000, "{writes} writes");
    world.check();
}

/// Opening a terabyte reads only the roots, the directory of written chunks, the journal, and the chunks that it
/// changes.
#[test]
fn a_terabyte_opens_without_being_looked_through() {
    let mut config = config();
    config.geometry = Geometry {
        channels: 16,
        chips: 2,
        dies: 2,
        planes: 2,
        blocks: 4096,
        pages: 256,
        page_bytes: 8192,
        unit_bytes: 8192,
    };
    assert_eq!(config.geometry.bytes(), 1 << 40);
    (config.pages, config.versions, config.management.journal_pages) = (12 << 20, 36 << 20, 512);
    let mut world = world(config);
    let mut reads = Vec::new();
    for pages in [0, 100, 200] {
        for n in 0..pages {
            let write = Request::Write { address: world.address(n * 59_999), segments: 0b11 };
            assert_eq!(world.ask(ONE, write), Answer::Done);
        }
        assert!(matches!(world.ask(ONE, Request::Sync), Answer::Token(_)));
        world.power_cut();
        reads.push(world.last_open.expect("opened").pages_read);
    }
    // Four root blocks, two journal blocks, and one or two directory pages.
    let fixed = 4 * 256 + 2 * 256 + 4;
    assert!(reads[0] <= fixed, "{reads:?}");
    // A page's entry, the version below it, and the owners of its flash pages: at most three chunks each.
    assert!(reads[1] <= fixed + 3 * 100 && reads[2] <= fixed + 3 * 200, "{reads:?}");
}

/// Rolling back visits only the chunks that changed since.
#[test]
fn a_rollback_restores_each_token_exactly() {
    let mut world = world(config());
    let mut tokens = Vec::new();
    for round in 0..3u32 {
        for page in round * 8..32 {
            let write = Request::Write { address: world.address(page), segments: 1 << (page % 8) | 1 << round };
            assert_eq!(world.ask(ONE, write), Answer::Done);
        }
        let Answer::Token(token) = world.ask(ONE, Request::Sync) else { panic!("a token") };
        tokens.push(token);
    }
    for token in tokens.into_iter().rev() {
        let before = world.nvmm.stats().rolled_back;
        assert_eq!(world.ask(ONE, Request::Rollback { token }), Answer::Done);
        let changed = world.nvmm.stats().rolled_back - before;
        assert_eq!(changed, [24, 16, 0][token.0 as usize - 1]);
        world.check();
    }
}

/// For a medium that levels its own wear: blocks are reused from the first on, freed blocks are reported, and
/// compacting leaves only as many blocks in use as the data fills.
#[test]
fn what_becomes_free_is_told_and_compacting_leaves_no_gaps() {
    let mut world = world(config());
    world.nvmm.keep_dense();
    // Give reported blocks back at once.
    let mut released = 0;
    let mut give_back = |world: &mut World| {
        while let Some(block) = world.nvmm.released() {
            world.flash.erase(block, u64::MAX);
            released += 1;
        }
    };
    for round in 0..400 {
        let write = Request::Write { address: world.address(round * 7 % 32), segments: 1 << (round % 8) | 1 };
        assert_eq!(world.ask(ONE, write), Answer::Done);
        if round % 100 == 99 {
            let Answer::Token(token) = world.ask(ONE, Request::Sync) else { panic!("a token") };
            assert_eq!(world.ask(ONE, Request::Drop { token }), Answer::Done);
        }
        give_back(&mut world);
    }
    world.nvmm.compact();
    let read = Request::Read { address: world.address(0), segments: 1 };
    assert_eq!(world.ask(ONE, read), Answer::Done);
    world.check();
    give_back(&mut world);
    let stats = world.nvmm.stats();
    let used: std::collections::BTreeSet<(u32, u16)> = (world.flash.all(|held| matches!(held, PageContent::Stamp(_))))
        .into_iter()
        .map(|page| (page.block, page.die))
        .collect();
    // The open blocks, one for collection, and the full ones.
    assert!(used.len() as u64 <= stats.needed / 32 + 3, "{} blocks for {}", used.len(), stats.needed);
    assert!(released > 5, "{released} blocks became free");
}

/// Collection merges the versions of a page that all kept states see alike, among the newest 64.
#[test]
fn a_page_with_more_than_64_versions_is_collected() {
    let mut config = config();
    (config.segments, config.versions, config.management.tokens) = (16, 1024, 7);
    config.geometry.blocks = 60;
    let mut world = world(config);
    for round in 0..6 {
        for segment in 0..16 {
            let write = Request::Write { address: world.address(0), segments: 1 << segment };
            assert_eq!(world.ask(ONE, write), Answer::Done);
            // So that blocks have something to gain.
            let other = Request::Write { address: world.address(1 + round), segments: 1 << (segment % 2) };
            assert_eq!(world.ask(ONE, other), Answer::Done);
        }
        assert!(matches!(world.ask(ONE, Request::Sync), Answer::Token(_)));
    }
    let (programs, free) = (world.nvmm.stats().programs, world.nvmm.stats().free_versions);
    world.nvmm.compact();
    let read = Request::Read { address: world.address(0), segments: 1 };
    assert_eq!(world.ask(ONE, read), Answer::Done);
    let stats = world.nvmm.stats();
    assert!(stats.collected >= 4, "{} blocks were collected", stats.collected);
    assert!(stats.programs[2] - programs[2] > 64, "{} pages were moved", stats.programs[2] - programs[2]);
    assert!(stats.free_versions > free, "{free} version entries were free, and {} are", stats.free_versions);
    world.check();
}
