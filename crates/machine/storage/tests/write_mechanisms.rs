//! What goes among the host's programs: erases, and pages of the journal of trims.

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

/// Random writes of a steady drive at depth 64, each 64th replaced by `other`; and what the drive did.
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
    (flown, *machine.ftl().stats())
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
    let (short, long) = (tail("100us"), tail("15ms"));
    println!("p99.9 over p50 of saturated writes: {short} with erases of 0.1 ms, {long} with erases of 15 ms");
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
