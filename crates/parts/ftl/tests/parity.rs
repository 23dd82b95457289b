//! Parity across dies: a dead die costs no data, a second failure in a stripe does, and rebuilt data equals the data
//! written.

mod support;

use ftl::config::{Config, Group};
use media::{Geometry, Op, Request, SECTOR, Tag};
use support::drive::drive;
use support::world::{After, Faults, World};

const DIES: u32 = 4;
const UNIT: u64 = 1024;

/// Returns a drive of four dies with two planes each, whose user data fills whole stripes.
fn config(parity: Option<u32>) -> Config {
    let geometry = Geometry {
        channels: 2,
        chips: 2,
        dies: 1,
        planes: 2,
        blocks: 24,
        pages: 16,
        page_bytes: 2048,
        unit_bytes: UNIT as u32,
    };
    // The data of ten superblocks, with three data dies each.
    Config { parity, ..drive(geometry, 10 * 16 * 3 * 4) }
}

/// Creates a drive that was written once, in order.
fn filled(parity: Option<u32>, seed: u64) -> World {
    let mut world = World::new(config(parity), Faults::default(), &[], seed);
    let all = world.sectors() * SECTOR;
    for offset in (0..all).step_by(8 * UNIT as usize) {
        world.submit(Tag(0), Request::new(Op::Write, offset, 8 * UNIT));
        world.drain();
    }
    world.submit(Tag(0), Request::flush());
    world.drain();
    world
}

#[test]
fn one_program_of_each_stripe_is_parity() {
    for data in [1, 3] {
        let Config { user_units, .. } = config(None);
        let config = Config { user_units: user_units / 2, ..config(Some(data)) };
        let mut world = World::new(config, Faults::default(), &[], 1);
        let all = world.sectors() * SECTOR;
        for offset in (0..all).step_by(8 * UNIT as usize) {
            world.submit(Tag(0), Request::new(Op::Write, offset, 8 * UNIT));
            world.drain();
        }
        let stats = *world.ftl.stats();
        assert_eq!(stats.parity_programs, stats.programs / u64::from(data + 1));
        let (with, without) =
            (stats.write_amplification().unwrap(), stats.write_amplification_without_parity().unwrap());
        assert!((with / without - f64::from(data + 1) / f64::from(data)).abs() < 0.01, "{with} {without}");
    }
}

#[test]
fn a_dead_die_costs_no_data() {
    for die in 0..DIES as u16 {
        let mut world = filled(Some(3), u64::from(die));
        world.faults.die = Some(die);
        world.read_all(After::Nothing);
        let stats = world.ftl.stats();
        assert_eq!((world.lost_reads, stats.rebuild_failures), (0, 0));
        // Parity is on the last die of each row: if that die fails, nothing has to be rebuilt.
        assert_eq!(stats.rebuilt > 0, u32::from(die) != DIES - 1, "die {die}");
        assert!(stats.rebuild_reads == 3 * stats.rebuilt && stats.relocated > 0 || stats.rebuilt == 0);
    }
}

#[test]
fn a_dead_die_costs_data_without_parity() {
    let mut world = filled(None, 1);
    world.faults.die = Some(1);
    for at in (0..world.sectors()).step_by(2) {
        world.submit(Tag(0), Request::new(Op::Read, at * SECTOR, UNIT));
        world.drain();
    }
    assert_eq!(world.lost_reads, world.sectors() / 2 / 4, "a fourth of the units");
}

/// Writes continue on the other dies; data on the dead die is collected and read by rebuilding it.
#[test]
fn a_drive_goes_on_with_a_dead_die() {
    for seed in 0..20 {
        let mut world = filled(Some(3), seed);
        world.faults.die = Some((seed % 4) as u16);
        for _ in 0..3000 {
            world.step(0.5);
        }
        world.drain();
        world.read_all(After::Nothing);
        assert_eq!(world.lost_reads, 0, "seed {seed}");
        assert!(world.ftl.stats().victims > 0, "collection ran");
    }
}

#[test]
fn a_second_failure_in_a_stripe_is_uncorrectable() {
    let mut world = filled(Some(3), 1);
    world.faults = Faults { die: Some(0), read: 1.0, ..Faults::default() };
    world.submit(Tag(0), Request::new(Op::Read, 0, UNIT));
    world.drain();
    assert_eq!((world.lost_reads, world.ftl.stats().rebuild_failures), (1, 1));
}

/// The last stripe has no parity yet: a page that fails there is lost.
#[test]
fn an_open_stripe_is_not_protected() {
    let mut world = World::new(config(Some(3)), Faults::default(), &[], 1);
    for request in [Request::new(Op::Write, 0, 4 * UNIT), Request::flush()] {
        world.submit(Tag(0), request);
        world.drain();
    }
    world.faults.die = Some(0);
    world.submit(Tag(0), Request::new(Op::Read, 0, UNIT));
    world.drain();
    assert_eq!((world.lost_reads, world.ftl.stats().rebuild_failures), (1, 1));
}

#[test]
fn stripes_over_blocks_of_single_dies_are_refused() {
    for refused in [
        Config { group: Group::Die, ..config(Some(3)) },
        Config { group: Group::Plane, ..config(Some(3)) },
        Config { multi_plane: false, ..config(Some(3)) },
        config(Some(4)),
        config(Some(0)),
        // Stripes of three programs do not divide a block of sixty-four.
        config(Some(2)),
    ] {
        assert!(refused.check().is_err());
    }
    let full = Config { user_units: 24 * 16 * 4 * 4 * 11 / 16, ..config(None) };
    assert!(full.check().is_ok());
    assert!(Config { parity: Some(3), ..full }.check().is_err(), "parity reduces the capacity");
}
