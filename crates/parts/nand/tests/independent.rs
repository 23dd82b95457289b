//! Planes of a die that read independently: what may overlap, and what it gains.

mod support;

use media::{Class, OpId, PageAddr, PlaneMask, ReadOp};
use nand::{Cell, Config, LogEntry, OpKind, Policy, Reuse, Step};
use proptest::prelude::*;
use sim::{Rng, Streams, Time};
use support::{Asked, World, config, page};

const ZERO: Time = Time::ZERO;

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn independent() -> Config {
    let mut config = config();
    config.scheduling.independent_reads = true;
    config
}

#[test]
fn reads_of_two_planes_overlap() {
    for (config, second) in [(config(), us(102)), (independent(), us(52))] {
        let mut w = World::new(&config);
        w.read(ZERO, 0, page(0, 1, 0, 0), 0, Class::Host);
        w.read(ZERO, 1, page(0, 2, 3, 5), 0, Class::Host);
        w.run();
        assert_eq!((w.end(0), w.end(1)), (us(51), second));
    }
}

#[test]
fn reads_of_one_plane_do_not_overlap() {
    let mut w = World::new(&independent());
    w.read(ZERO, 0, page(0, 1, 0, 0), 0, Class::Host);
    w.read(ZERO, 1, page(0, 1, 1, 0), 0, Class::Host);
    // A later read of the other plane need not wait for them.
    w.read(ZERO, 2, page(0, 2, 0, 0), 0, Class::Host);
    w.run();
    assert_eq!((w.end(0), w.end(1), w.end(2)), (us(51), us(102), us(52)));
}

#[test]
fn a_program_needs_the_whole_die() {
    let mut w = World::new(&independent());
    w.read(ZERO, 0, page(0, 1, 0, 0), 0, Class::Host);
    w.program(ZERO, 1, page(0, 2, 1, 0), false);
    w.run_until(us(10));
    w.read(us(10), 2, page(0, 1, 0, 1), 0, Class::Host);
    w.read(us(10), 3, page(0, 2, 0, 1), 0, Class::Host);
    let end = w.run();
    // The read of the other plane goes before the program, and so does the next of the first.
    assert_eq!((w.end(0), w.end(3), w.end(2)), (us(51), us(61), us(102)));
    assert_eq!(w.end(1), us(102) + us(2) + Time::from_ns(40_960) + us(500));
    let stats = w.nand.die_stats(end, 0);
    assert_eq!((stats.reads, stats.programs), (3, 1));
    // From 1 to 51, from 11 to 61 and from 52 to 102 us.
    assert_eq!(stats.reading, us(101));
}

#[test]
fn random_reads_gain_from_every_plane() {
    let rate = |planes: u32, independent: bool| {
        let mut config = config();
        config.geometry.planes = planes;
        config.geometry.chips = 1;
        config.scheduling.independent_reads = independent;
        let (mut w, mut rng): (World, Rng) = (World::new(&config), Streams::new(3).stream("reads"));
        for id in 0..4000 {
            let at = page(0, 1 << rng.below(u64::from(planes)), rng.below(4) as u32, rng.below(6) as u32);
            w.read(ZERO, id, at, 64, Class::Host);
        }
        4000.0 / w.run().secs_f64()
    };
    assert_eq!(rate(1, true), rate(1, false));
    assert!((rate(2, true) / rate(2, false) - 1.9).abs() < 0.1, "{} {}", rate(2, true), rate(2, false));
    assert!(rate(4, true) > 3.4 * rate(4, false), "{} {}", rate(4, true), rate(4, false));
}

type Traffic = Vec<(u64, u16, u32, u32, Wish)>;

#[derive(Clone, Copy, Debug)]
enum Wish {
    Read(u16, u32, Class),
    Program,
    Erase,
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let class = prop_oneof![4 => Just(Class::Host), 1 => Just(Class::Map), 1 => Just(Class::Collection)];
    let planes = prop_oneof![3 => Just(1u16), 3 => Just(2), 1 => Just(3)];
    let read =
        (planes, 0u32..5000, class).prop_map(|(planes, bytes, class)| Wish::Read(planes, bytes.min(4096), class));
    let wish = prop_oneof![6 => read, 2 => Just(Wish::Program), 1 => Just(Wish::Erase)];
    let gap = prop_oneof![2 => Just(0u64), 3 => 1u64..30_000, 2 => 30_000u64..400_000];
    prop::collection::vec((gap, 0u16..2, 0u32..3, 0u32..6, wish), 1..120)
}

prop_compose! {
    fn configs()(flags in any::<[bool; 8]>(), overtakes_max in 1u32..5, faults in prop_oneof![Just(0.0), Just(0.3)]) -> Config {
        let mut c = independent();
        (c.geometry.channels, c.geometry.chips) = (1, 2);
        let [fifo, cache_read, cache_program, suspend, decode, quick, reuse_page, commands_first] = flags;
        let s = &mut c.scheduling;
        s.policy = if fifo { Policy::Fifo } else { Policy::ReadsFirst };
        (s.cache_read, s.cache_program) = (cache_read, cache_program);
        s.reuse_page = if reuse_page { Reuse::Queued } else { Reuse::Held };
        (s.program_suspend, s.erase_suspend, s.commands_first) = (suspend, suspend, commands_first);
        s.overtakes_max = overtakes_max;
        if decode {
            c.ecc.decode = us(3);
        }
        c.ecc.retries_max = 2;
        c.faults.read = faults;
        if quick {
            c.timing.read = [us(4); Cell::BITS_MAX];
            c.timing.program = [us(30); Cell::BITS_MAX];
        }
        c
    }
}

/// The world after all of `traffic`, or after the power failed when so many events had been handled.
fn drive(config: &Config, traffic: &Traffic, cut: usize) -> World {
    let mut w = World::new(config);
    w.nand.keep_log();
    let mut next = [[0u32; 3]; 2];
    let mut now = ZERO;
    for (id, &(gap, die, block, at, wish)) in (0..).zip(traffic) {
        now += Time::from_ns(gap);
        while w.queue.0.next_time().is_some_and(|t| t <= now) && w.events < cut as u64 {
            w.step();
        }
        if w.events >= cut as u64 {
            let now = w.queue.0.now().max(now);
            w.nand.power_cut(now);
            w.nand.assert_bounds(now);
            return w;
        }
        // Blocks are of plane 0, of plane 1 and of both.
        let (planes, filled) = ([1, 2, 3][block as usize], &mut next[die as usize][block as usize]);
        match wish {
            Wish::Read(planes, bytes, class) => w.read(now, id, page(die, planes, block, at), bytes, class),
            Wish::Program if *filled < config.geometry.pages => {
                *filled += 1;
                w.program(now, id, page(die, planes, block, *filled - 1), false);
            }
            _ => {
                *filled = 0;
                w.erase(now, id, die, planes, block);
            }
        }
    }
    w.run();
    w
}

fn overlap(a: &LogEntry, b: &LogEntry) -> bool {
    a.from < b.to && b.from < a.to
}

fn planes_of(w: &World, id: OpId) -> PlaneMask {
    match w.asked[&id.0] {
        Asked::Read(ReadOp { page: PageAddr { planes, .. }, .. }) => planes,
        Asked::Program(op) => op.page.planes,
        Asked::Erase(op) => op.block.planes,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Everything ends; a channel does one thing at a time; arrays overlap only where each reads a plane of its own.
    #[test]
    fn only_reads_of_different_planes_overlap(config in configs(), traffic in traffic()) {
        let mut w = drive(&config, &traffic, usize::MAX);
        prop_assert_eq!(w.done.len(), traffic.len());
        let log = w.nand.take_log();
        for (i, a) in log.iter().enumerate() {
            for b in &log[i + 1..] {
                if !overlap(a, b) {
                    continue;
                }
                let arrays = (a.step == Step::Array, b.step == Step::Array);
                prop_assert!(arrays.0 || arrays.1, "{:?} and {:?} on one channel", a, b);
                if arrays == (true, true) && a.die == b.die {
                    let apart = planes_of(&w, a.id).0 & planes_of(&w, b.id).0 == 0;
                    prop_assert!(a.kind == OpKind::Read && b.kind == OpKind::Read && apart, "{:?} and {:?}", a, b);
                }
            }
        }
        // The counters of dies agree with the log: each moment of reading counts once.
        let now = w.queue.0.now();
        for die in 0..2 {
            let mut reads: Vec<(Time, Time)> = log.iter()
                .filter(|e| e.die == die && e.kind == OpKind::Read && e.step == Step::Array)
                .map(|e| (e.from, e.to))
                .collect();
            reads.sort_unstable();
            let (mut sum, mut until) = (ZERO, ZERO);
            for (from, to) in reads {
                sum += to.saturating_sub(from.max(until));
                until = until.max(to);
            }
            prop_assert_eq!(w.nand.die_stats(now, die).reading, sum);
            prop_assert_eq!(w.nand.die_load(die), 0);
        }
    }

    /// The power fails at any event, and the flash works afterwards.
    #[test]
    fn planes_survive_a_power_cut(config in configs(), traffic in traffic(), cut in 0usize..150) {
        let mut w = drive(&config, &traffic, cut);
        let now = w.queue.0.now() + us(1_000_000);
        while w.queue.0.pop().is_some() {}
        let mut after = World::new(&config);
        std::mem::swap(&mut after.nand, &mut w.nand);
        after.read(now, 1000, page(0, 1, 0, 0), 64, Class::Host);
        after.read(now, 1001, page(0, 2, 0, 0), 64, Class::Host);
        after.run();
        prop_assert_eq!(after.done.len(), 2);
    }

    /// On dies of one plane there is nothing to read independently: every operation ends as it does without. Not so if
    /// collection reads in sequence, whose commands only arrive ahead without independent planes.
    #[test]
    fn one_plane_of_a_die_gains_and_loses_nothing(config in configs(), traffic in traffic()) {
        let single: Traffic = traffic.iter().map(|&(gap, _, _, at, wish)| {
            let wish = match wish {
                Wish::Read(_, bytes, Class::Collection) => Wish::Read(1, bytes, Class::Host),
                Wish::Read(_, bytes, class) => Wish::Read(1, bytes, class),
                _ => wish,
            };
            (gap, 0, 0, at, wish)
        }).collect();
        let mut plain = config;
        plain.scheduling.independent_reads = false;
        let mut other = plain;
        other.scheduling.independent_reads = true;
        let (a, b) = (drive(&plain, &single, usize::MAX), drive(&other, &single, usize::MAX));
        prop_assert_eq!(a.done, b.done);
    }
}
