//! The paper's worked examples of the bit vector, on a controller with a whole memory: where it programs, and that it
//! reads the data back (NVMM, "Use of the Bit Vector's Sub-Page Valid Bits").

mod support;

use media::PageAddr;
use nvmm::{Answer, Application, Config, InjectedFault, Order, Request};
use support::flash::{Flash, PageContent};
use support::small::config;
use support::world::World;

const ONE: Application = Application(1);

/// One die with blocks of 128 pages, so that blocks are filled one after another.
fn one_die(order: Order) -> Config {
    let mut config = config();
    (config.geometry.channels, config.geometry.blocks, config.geometry.pages) = (1, 40, 128);
    config.order = order;
    config
}

/// Returns the stamps `first..first + count`, by place.
fn places(world: &World, first: u64, count: u64) -> Vec<Option<PageAddr>> {
    (first..first + count).map(|stamp| world.flash.find(|held| *held == PageContent::Stamp(stamp))).collect()
}

/// Builds a memory in whose first data block the next page to write is 53. Pages 56, 59 and 67 fail when they are
/// programmed.
fn from_page_53(order: Order) -> (World, u32) {
    let config = one_die(order);
    let mut world = World::new(config.clone(), Flash::new(config.geometry, order, false), 1, InjectedFault::None);
    let write = |world: &mut World, page, segments| {
        assert_eq!(world.ask(ONE, Request::Write { address: world.address(page), segments }), Answer::Done);
    };
    (0..6).for_each(|page| write(&mut world, page, 0xff));
    write(&mut world, 6, 0b11111);
    let last = world.flash.find(|held| *held == PageContent::Stamp(53)).expect("written");
    assert_eq!(last.page, 52);
    world.flash.weak = [56, 59, 67].map(|page| (last.block, page)).to_vec();
    write(&mut world, 9, 0xff);
    (world, last.block)
}

/// In any order: segment 3 goes from page 56 to 64, and segment 6 from 59 through 67 to 75.
#[test]
fn segments_of_bad_pages_3_and_6_lie_8_and_16_further() {
    let (mut world, block) = from_page_53(Order::Any);
    let places = places(&world, 54, 8);
    let pages: Vec<u32> = places.iter().map(|at| at.expect("written").page).collect();
    assert_eq!(pages, [53, 54, 55, 64, 57, 58, 75, 60]);
    assert!(places.iter().all(|at| at.expect("written").block == block));
    world.check();
    // Only segments 2 and 5 are dirty, so only they are written, and reads gather the page from both versions.
    let before = world.nvmm.stats().programs[0];
    assert_eq!(world.ask(ONE, Request::Write { address: world.address(9), segments: 0b10_0100 }), Answer::Done);
    assert_eq!(world.nvmm.stats().programs[0] - before, 2);
    world.check();
    assert!(matches!(world.ask(ONE, Request::Sync), Answer::Token(_)));
    world.power_cut();
    world.check();
}

/// In order: a failed segment goes to the next writable page, whatever the vector's distances, and everything reads
/// back.
#[test]
fn in_order_bad_pages_are_left_out_and_the_vector_is_true() {
    let (mut world, _) = from_page_53(Order::Ascending);
    let places = places(&world, 54, 8);
    assert!(places.iter().all(|at| at.is_some_and(|at| ![56, 59, 67].contains(&at.page))), "{places:?}");
    world.check();
    assert_eq!(world.ask(ONE, Request::Write { address: world.address(9), segments: 0b10_0100 }), Answer::Done);
    world.check();
    assert!(matches!(world.ask(ONE, Request::Sync), Answer::Token(_)));
    world.power_cut();
    world.check();
}
