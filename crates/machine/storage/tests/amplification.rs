//! Write amplification compared with theory, and the analytic layout compared with brute-force overwriting.
//!
//! Theory: Desnoyers (ACM TOS 2014) and Xiang and Kurkoski (2012) for FIFO, Bux and Iliadis (2010) for greedy, Van
//! Houdt (SIGMETRICS 2013) for d-choices, as solved by `steady`. That crate also documents the correction for free and
//! open blocks that a drive of finite size needs.

use media::{Op, Request, Status};
use nand::{PayloadKind, Store};
use sim::Streams;
use steady::{Policy, Pool, solve};
use storage::fast::Fast;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const BLOCKS: u32 = 1024;
const PAGES: u32 = 64;

/// Creates a drive of one die with a minimal controller, so that the translation layer decides everything.
fn drive(over_provisioning: f64, policy: &str) -> System {
    let over = over_provisioning.to_string();
    let (blocks, pages) = (BLOCKS.to_string(), PAGES.to_string());
    let sets = [
        ("flash.channels", "1"),
        ("flash.chips", "1"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", blocks.as_str()),
        ("flash.pages", pages.as_str()),
        ("flash.page", "4KiB"),
        ("ftl.unit", "4KiB"),
        ("ftl.group", "drive"),
        ("ftl.gc.start", "3"),
        ("ftl.gc.streams", "true"),
        ("ftl.gc.policy", policy),
        ("ftl.over_provisioning", over.as_str()),
        ("ftl.wear_leveling.static", "off"),
        ("ftl.slc_cache.size", "0B"),
        ("device.read_cache.size", "0B"),
        ("device.write_cache.size", "1MiB"),
        ("host.max_transfer", "128KiB"),
    ];
    System::from_toml("drive", "title = \"a drive\"", &sets).expect("a drive")
}

/// Overwrites `passes` of the drive at random. Returns the write amplification and the closed blocks' valid counts.
fn overwrite(parts: &Parts, store: Store, passes: f64, seed: u64) -> (f64, Vec<u32>) {
    let streams = Streams::new(seed);
    let (nand, mut ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    let mut rng = streams.stream("test.overwrite");
    let units = u64::from(parts.ftl.user_units);
    for _ in 0..(passes * units as f64) as u64 {
        let status = fast.request(Request::new(Op::Write, rng.below(units) * 4096, 4096));
        assert_eq!(status, Status::Ok);
    }
    let amplification = fast.ftl().stats().write_amplification().expect("it was written to");
    (amplification, fast.ftl().pages().closed_blocks().collect())
}

fn theory(parts: &Parts, policy: Policy) -> steady::Steady {
    // A parallel unit chooses its victim when three blocks are free. Its two open blocks have room for one more block
    // in total, and the slack adds an eighth.
    let pool = Pool {
        blocks: f64::from(BLOCKS),
        free_blocks: 3.125,
        open_blocks: 2.0,
        open_fill: 0.5,
        live_units: f64::from(parts.ftl.user_units),
        units_per_block: PAGES,
    };
    solve(policy, pool.occupancy().expect("a pool"), PAGES).expect("a steady state")
}

#[test]
fn amplification_is_what_theory_says() {
    // Under uniform writes blocks lose units at similar rates, so that it hardly matters which are quiet.
    let quiet = ("quiet-greedy", Policy::Greedy);
    for (name, policy) in
        [("greedy", Policy::Greedy), quiet, ("fifo", Policy::Fifo), ("d-choices", Policy::DChoices(8))]
    {
        for over in [0.07, 0.125, 0.28] {
            let mut system = drive(over, name);
            if name == "d-choices" {
                system.ftl.gc.choices = 8;
            }
            let parts = Parts::new(&system, PayloadKind::None).expect("parts");
            let streams = Streams::new(1);
            let (store, _) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
            let (found, _) = overwrite(&parts, store, 3.0, 2);
            let expected = theory(&parts, policy).write_amplification;
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{name} at {over}: write amplification {found}, theory {expected}"
            );
        }
    }
}

#[test]
fn the_analytic_start_is_where_brute_force_ends() {
    let system = drive(0.125, "greedy");
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(3);
    let from = |preparation| {
        let (store, prepared) = prepare(&system, &parts, preparation, &streams, None).expect("a prepared drive");
        (overwrite(&parts, store, 0.5, 4), prepared)
    };
    let ((brute, brute_blocks), prepared) = from(Preparation::Overwritten);
    let ((laid_out, laid_out_blocks), _) = from(Preparation::Steady);
    assert!(prepared.passes >= 1.5, "it settled after {} passes", prepared.passes);
    assert!((laid_out / brute - 1.0).abs() < 0.03, "laid out {laid_out}, brute force {brute}");
    // Kolmogorov-Smirnov distance between the distributions of valid units over closed blocks.
    let share = |blocks: &[u32], at: u32| blocks.iter().filter(|v| **v <= at).count() as f64 / blocks.len() as f64;
    let distance = (0..=PAGES).map(|at| (share(&brute_blocks, at) - share(&laid_out_blocks, at)).abs());
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 0.05, "the distributions of valid units differ by {distance}");
}
