//! Wear, bad blocks, bit errors and injected faults, through the whole array.

mod support;

use media::{Class, Status};
use nand::{Endurance, ErrorLaw, Errors, Nand, Spread};
use sim::{Streams, Time};
use support::{World, config, page};

/// Of the order measured on 3D TLC of about 3,000 cycles.
const TLC: Errors = Errors {
    law: ErrorLaw::PowerLaw,
    base: 1e-5,
    reference_cycles: 3000.0,
    wear: 2e-4,
    wear_exponent: 1.5,
    retention: 1e-4,
    retention_exponent: 0.6,
    disturb: 3e-9,
    disturb_exponent: 1.5,
    slc_factor: 0.01,
};

#[test]
fn factory_bad_blocks_are_as_many_as_declared_and_always_the_same() {
    let mut config = config();
    config.geometry.blocks = 2000;
    config.wear.factory_bad = 0.02;
    let bad = |seed| {
        let nand = Nand::new(&config, &Streams::new(seed));
        nand.store().blocks().enumerate().filter(|(_, b)| b.bad).map(|(i, _)| i).collect::<Vec<_>>()
    };
    let found = bad(1).len();
    // 16,000 blocks of planes: 320, give or take four standard deviations.
    assert!((250..390).contains(&found), "{found}");
    assert_eq!(bad(1), bad(1));
    assert_ne!(bad(1), bad(2));
}

/// Programs and erases one block until something fails; returns (erases then, what failed).
fn wear_out(w: &mut World) -> (u32, nand::OpKind) {
    let pages = w.nand.config().geometry.pages;
    let mut now = Time::ZERO;
    for cycle in 0..10_000 {
        for n in 0..pages {
            w.program(now, n, page(0, 1, 0, n), false);
        }
        w.erase(now, pages, 0, 1, 0);
        now = w.run();
        if let Some((_, d)) = w.done.iter().find(|(_, d)| d.status == Status::Failed) {
            return (cycle, d.kind);
        }
        w.done.clear();
    }
    panic!("never worn out");
}

#[test]
fn a_block_fails_when_it_is_worn() {
    let mut config = config();
    config.wear.endurance = Endurance { spread: Spread::LogNormal, mean: Some(50), deviation: 0.1, slc_factor: 1.0 };
    let mut w = World::new(&config);
    let (erases, _) = wear_out(&mut w);
    // The weakest of six pages and a block.
    assert!((30..52).contains(&erases), "{erases}");
    // The world marks what failed: the page is used up, or the block is to be erased again.
    let view = w.nand.store().block(0, 0, 0);
    assert!(view.torn || view.erase_torn || view.programmed == 0);
    let mut again = World::new(&config);
    assert_eq!(wear_out(&mut again).0, erases, "the same seed wears out at the same cycle");
}

#[test]
fn a_block_endures_the_cycles_it_is_given_and_no_more() {
    let mut config = config();
    config.geometry.blocks = 12;
    config.wear.endurance = Endurance { spread: Spread::Normal, mean: Some(10), deviation: 0.0, slc_factor: 1.0 };
    let mut w = World::new(&config);
    let (erases, kind) = wear_out(&mut w);
    // Ten erases; the eleventh fails.
    assert_eq!((erases, kind), (10, nand::OpKind::Erase));
    let mut w = World::new(&config);
    for (erases, expected) in [(10, Status::Ok), (11, Status::Failed)] {
        w.nand.store_mut().set_erases(0, 0, erases, erases);
        let now = w.queue.0.now();
        w.program(now, erases, page(0, 1, erases, 0), false);
        w.run();
        assert_eq!(w.done.pop().unwrap().1.status, expected);
    }
}

#[test]
fn a_block_of_one_bit_a_cell_endures_more() {
    let mut config = config();
    config.geometry.blocks = 120;
    config.cell = nand::Cell::Tlc;
    config.wear.endurance = Endurance { spread: Spread::Normal, mean: Some(10), deviation: 0.0, slc_factor: 10.0 };
    for (slc, erases, expected) in [
        (false, 10, Status::Ok),
        (false, 11, Status::Failed),
        (true, 11, Status::Ok),
        (true, 100, Status::Ok),
        (true, 101, Status::Failed),
    ] {
        let mut w = World::new(&config);
        w.nand.store_mut().set_erases(0, 0, 1, erases);
        w.program(Time::ZERO, 0, page(0, 1, 1, 0), slc);
        w.run();
        assert_eq!(w.done[0].1.status, expected, "{erases} cycles, one bit a cell: {slc}");
    }
}

#[test]
fn reads_of_a_block_are_counted_until_its_erase() {
    let mut config = config();
    config.errors = Some(TLC);
    let mut w = World::new(&config);
    for id in 0..5 {
        w.read(Time::ZERO, id, page(0, 3, 2, 0), 4096, Class::Host);
    }
    let now = w.run();
    assert_eq!((w.nand.store().block(0, 0, 2).reads, w.nand.store().block(0, 1, 2).reads), (5, 5));
    assert_eq!(w.nand.store().block(0, 0, 1).reads, 0);
    w.erase(now, 0, 0, 1, 2);
    w.run();
    assert_eq!((w.nand.store().block(0, 0, 2).reads, w.nand.store().block(0, 1, 2).reads), (0, 5));
}

#[test]
fn nothing_fails_where_nothing_is_declared() {
    let mut w = World::new(&config());
    for round in 0..50 {
        let now = w.queue.0.now();
        for n in 0..6 {
            w.program(now, n, page(0, 3, 0, n), false);
        }
        w.erase(now, 6, 0, 3, 0);
        w.read(now, 7, page(1, 1, 0, 0), 4096, Class::Host);
        w.run();
        assert_eq!(w.done.len(), 8 * (round + 1));
    }
    assert!(w.done.iter().all(|(_, d)| d.status == Status::Ok));
}

#[test]
fn failures_are_as_frequent_as_declared_and_disturb_no_other_stream() {
    let mut config = config();
    config.wear.program_failure = 0.25;
    let failures = |config: &nand::Config| {
        let mut w = World::new(config);
        let mut now = Time::ZERO;
        let mut failed = Vec::new();
        for cycle in 0..200 {
            for n in 0..6 {
                w.program(now, n, page(0, 1, 0, n), false);
            }
            w.erase(now, 6, 0, 1, 0);
            now = w.run();
            failed.extend(w.done.drain(..).filter(|(_, d)| d.status == Status::Failed).map(|(_, d)| (cycle, d.id.0)));
        }
        failed
    };
    let found = failures(&config);
    assert!((240..360).contains(&found.len()), "{} of 1200", found.len());
    config.errors = Some(TLC);
    assert_eq!(failures(&config), found);
}

#[test]
fn a_worn_old_much_read_block_needs_retries() {
    let mut config = config();
    config.errors = Some(TLC);
    config.ecc.codeword_bytes = 1024;
    let retries = |erases: u32, age_s: u32| {
        let mut config = config;
        config.age_s = age_s;
        let mut w = World::new(&config);
        w.nand.store_mut().set_erases(0, 0, 0, erases);
        let units = [nand::UnitWrite { logical: 0, buffer: 0, lost: false }];
        for n in 0..6 {
            w.nand.store_mut().program(page(0, 1, 0, n), 1, false, units);
        }
        for _ in 0..100 {
            let now = w.queue.0.now();
            for n in 0..6 {
                w.read(now, n, page(0, 1, 0, n), 4096, Class::Host);
            }
            w.run();
        }
        w.nand.die_stats(w.queue.0.now(), 0).retries
    };
    let year = 365 * 86_400;
    assert_eq!(retries(0, 0), 0);
    assert_eq!(retries(3000, year), 0, "30 wrong bits of 72 that can be corrected");
    let (worn, worse) = (retries(6000, year), retries(9000, year));
    assert!(worn > 10 && worn < 590 && worse >= 600, "{worn} {worse}");
}

#[test]
fn the_age_of_data_is_counted_from_their_program() {
    let mut config = config();
    config.age_s = 1000;
    let mut w = World::new(&config);
    w.program(Time::ZERO, 0, page(0, 1, 0, 0), false);
    w.run();
    let late = Time::from_s(7);
    w.program(late, 1, page(0, 1, 1, 0), false);
    w.run();
    assert_eq!(w.nand.store().block(0, 0, 0).written_s, 1000);
    assert_eq!(w.nand.store().block(0, 0, 1).written_s, 1007);
    // A drive that is kept and started again is older by what the second run declares.
    let store = w.nand.into_store();
    let mut nand = Nand::with_store(&config, &Streams::new(1), store);
    assert_eq!(nand.store().clock_s(), 1007);
    nand.store_mut().set_clock_s(2007);
}

#[test]
#[should_panic(expected = "another flash")]
fn a_store_of_another_shape_is_refused() {
    let store = Nand::new(&config(), &Streams::new(1)).into_store();
    let mut other = config();
    other.geometry.blocks += 1;
    Nand::with_store(&other, &Streams::new(1), store);
}

#[test]
fn a_configuration_says_what_is_wrong_with_it() {
    let said = |change: &dyn Fn(&mut nand::Config)| {
        let mut c = config();
        change(&mut c);
        c.fault().unwrap_or_default()
    };
    assert_eq!(said(&|_| ()), "");
    assert_eq!(said(&|c| c.timing.erase = Time::ZERO), "erase is 0s, expected more");
    assert_eq!(said(&|c| c.timing.read[0] = Time::ZERO), "read is 0s, expected more");
    assert_eq!(said(&|c| c.timing.transfers_per_s = 0), "the transfer rate is 0, expected more");
    assert_eq!(said(&|c| c.wear.factory_bad = 1.5), "factory_bad is 1.5, expected a probability");
    assert_eq!(said(&|c| c.geometry.blocks = 0), "blocks is 0, expected at least 1");
    assert_eq!(
        said(&|c| c.scheduling.overtakes_max = 0),
        "overtakes_max is 0, expected at least 1 where reads go first"
    );
    assert_eq!(said(&|c| c.errors = Some(Errors { base: f64::NAN, ..TLC })), "base is NaN, expected zero or more");
}
