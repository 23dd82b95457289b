//! Work interleaved with the host's programs: erases, and pages of the trim journal.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/eight_dies.rs"]
mod eight_dies;

use closed_loop::{Flown, fly};
use eight_dies::drive;
use media::{Op, Request};
use nand::PayloadKind;
use sim::Streams;
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::parts::Parts;

/// Overwrites a steady drive at random at depth 64, with every 64th write replaced by `other`. Returns the measurements
/// and the drive's counters.
fn overwrite(sets: &[(&str, &str)], mut other: impl FnMut(u64) -> Request) -> (Flown, ftl::Stats) {
    let base = [("ftl.over_provisioning", "0.3"), ("ftl.group", "die"), ("flash.suspend.erase", "false")];
    let system = drive(&base.iter().chain(sets).copied().collect::<Vec<_>>());
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(&parts, ftl, nand);
    let mut rng = streams.stream("test.writes");
    let (units, mut number) = (u64::from(parts.ftl.user_units), 0);
    let flown = fly(&mut machine, 64, 40_000, || {
        number += 1;
        let at = rng.below(units) * 4096;
        if number % 64 == 0 { other(at) } else { Request::new(Op::Write, at, 4096) }
    });
    (flown, machine.ftl().stats())
}

fn at(flown: &Flown, part: f64) -> f64 {
    let mut times: Vec<f64> = flown.each.iter().map(|(_, time)| time.us_f64()).collect();
    times.sort_by(f64::total_cmp);
    times[(part * (times.len() - 1) as f64) as usize]
}

#[test]
fn erases_go_among_host_programs() {
    let tail = |erase| {
        let (flown, stats) = overwrite(&[("flash.erase", erase)], |at| Request::new(Op::Write, at, 4096));
        assert!(stats.erases > 20, "{} erases", stats.erases);
        at(&flown, 0.999) / at(&flown, 0.5)
    };
    let (short, long) = (tail("100us"), tail("30ms"));
    println!("p99.9 over p50 of saturated writes: {short} with erases of 0.1 ms, {long} with erases of 30 ms");
    assert!(long > 1.2 * short, "{short} {long}");
}

#[test]
fn journal_pages_go_among_host_programs() {
    let (_, without) = overwrite(&[], |at| Request::new(Op::Write, at, 4096));
    let mut trim = false;
    let (_, with) = overwrite(&[], |at| {
        trim = !trim;
        if trim { Request::new(Op::Trim, at, 4096) } else { Request::flush() }
    });
    println!("{} units of the journal without trims, {} with", without.programmed_system, with.programmed_system);
    assert_eq!(without.programmed_system, 0);
    assert!(with.programmed_system >= 100, "{}", with.programmed_system);
}

/// If commands wait for room, a full cache of data below its high mark must be written out anyway, on all dies.
#[test]
fn a_full_cache_is_written_out_below_its_high_mark() {
    let seconds = |high| {
        let sets = [
            ("device.write_cache.high", high),
            ("device.write_cache.resume", "0.9"),
            ("device.write_cache.idle", "never"),
        ];
        let (flown, _) = overwrite(&sets, |at| Request::new(Op::Write, at, 4096));
        flown.end.secs_f64()
    };
    let (early, late) = (seconds("0"), seconds("0.6"));
    assert!(late < 1.2 * early, "{early} s, {late} s with a high mark of 0.6");
}
