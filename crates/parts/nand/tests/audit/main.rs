//! Random traffic under every combination of features, checked by an auditor that knows the rules alone.

mod rules;
#[path = "../support/mod.rs"]
mod support;

use media::{BlockAddr, Class, EraseOp, OpId, PlaneMask, ProgramOp, ReadOp};
use nand::{Cell, Config, Policy};
use proptest::prelude::*;
use rules::{Submissions, audit};
use sim::Time;
use support::{Asked, World, config, page};

#[derive(Clone, Copy, Debug)]
enum Wish {
    Read { planes: u16, bytes: u32, class: Class },
    Program,
    Erase,
}

/// (time since the last, die, block, page, what)
type Traffic = Vec<(u64, u16, u32, u32, Wish)>;

fn traffic() -> impl Strategy<Value = Traffic> {
    let class = prop_oneof![3 => Just(Class::Host), 1 => Just(Class::Map), 2 => Just(Class::Collection)];
    let wish = prop_oneof![
        5 => (1u16..4, 0u32..4096, class).prop_map(|(planes, bytes, class)| Wish::Read { planes, bytes, class }),
        4 => Just(Wish::Program),
        1 => Just(Wish::Erase),
    ];
    let gap = prop_oneof![2 => Just(0u64), 3 => 1u64..30_000, 2 => 30_000u64..400_000];
    prop::collection::vec((gap, 0u16..4, 0u32..4, 0u32..6, wish), 1..150)
}

prop_compose! {
    fn configs()(
        flags in any::<[bool; 8]>(),
        mlc in any::<bool>(),
        overtakes_max in 1u32..5,
        suspensions_max in 0u32..4,
        decode in prop_oneof![Just(0u64), Just(3_000)],
        faults in prop_oneof![Just(0.0), Just(0.3)],
        one_channel in any::<bool>(),
        commands in any::<bool>(),
    ) -> Config {
        let mut c = config();
        if one_channel {
            (c.geometry.channels, c.geometry.chips) = (1, 4);
        }
        let [fifo, cache_read, cache_program, program_suspend, erase_suspend, quick, commands_first, reuse_page] = flags;
        let s = &mut c.scheduling;
        s.policy = if fifo { Policy::Fifo } else { Policy::ReadsFirst };
        (s.cache_read, s.cache_program) = (cache_read, cache_program);
        (s.program_suspend, s.erase_suspend) = (program_suspend, erase_suspend);
        s.commands_first = commands_first;
        s.reuse_page = if reuse_page { nand::Reuse::Held } else { nand::Reuse::Never };
        (s.overtakes_max, s.suspensions_max) = (overtakes_max, suspensions_max);
        (s.suspend_latency, s.resume_overhead) = (Time::from_ns(5_100), Time::from_ns(7_300));
        c.ecc.decode = Time::from_ns(decode);
        c.ecc.retries_max = 2;
        c.faults.read = faults;
        if mlc {
            c.cell = Cell::Mlc;
            c.timing.read[1] = Time::from_us(70);
            c.timing.program[1] = Time::from_us(900);
        }
        if quick {
            // The channel is the bottleneck.
            c.timing.read = [Time::from_ns(4_500), Time::from_ns(5_500), Time::ZERO, Time::ZERO, Time::ZERO];
            c.timing.program = [Time::from_us(30), Time::from_us(60), Time::ZERO, Time::ZERO, Time::ZERO];
            c.timing.erase = Time::from_us(100);
        }
        if !commands {
            (c.timing.read_command, c.timing.erase_command) = (Time::ZERO, Time::ZERO);
        }
        c
    }
}

/// Asks for what is wished where the flash's rules allow it, in time.
fn drive(config: &Config, traffic: &Traffic) -> (World, Submissions) {
    let mut w = World::new(config);
    w.nand.keep_log();
    let mut submissions: Submissions = Vec::new();
    let mut next = [[0u32; 4]; 4];
    let mut now = Time::ZERO;
    for &(gap, die, block, at, wish) in traffic {
        now += Time::from_ns(gap);
        w.run_until(now);
        let id = submissions.len() as u32;
        // Blocks are of plane 0, of plane 1, of both and of both.
        let planes = [1, 2, 3, 3][block as usize];
        let filled = &mut next[die as usize][block as usize];
        let asked = match wish {
            Wish::Read { planes, bytes, class } => {
                Asked::Read(ReadOp { id: OpId(id), page: page(die, planes, block, at), bytes, class })
            }
            Wish::Program if *filled < config.geometry.pages => {
                *filled += 1;
                let page = page(die, planes, block, *filled - 1);
                let sequence = u64::from(id);
                Asked::Program(ProgramOp { id: OpId(id), page, sequence, class: Class::Host, slc: false })
            }
            _ => {
                *filled = 0;
                let block = BlockAddr { die, planes: PlaneMask(planes), block };
                Asked::Erase(EraseOp { id: OpId(id), block, class: Class::Collection })
            }
        };
        submissions.push((now, asked));
        w.asked.insert(id, asked);
        match asked {
            Asked::Read(op) => w.nand.submit_read(now, op, &mut w.queue),
            Asked::Program(op) => w.nand.submit_program(now, op, &mut w.queue),
            Asked::Erase(op) => w.nand.submit_erase(now, op, &mut w.queue),
        }
    }
    w.run();
    (w, submissions)
}

/// Returns the number of cases: more than proptest's default, unless the environment sets it.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_rule_is_broken(config in configs(), traffic in traffic()) {
        let (mut w, submissions) = drive(&config, &traffic);
        let log = w.nand.take_log();
        audit(&config, &submissions, &log, &w.done);
        // The counters of dies and channels agree with the log.
        let now = w.queue.0.now();
        let sum = |spans: &mut dyn Iterator<Item = &nand::LogEntry>| {
            spans.fold(Time::ZERO, |sum, e| sum + (e.to - e.from))
        };
        for die in 0..4 {
            let stats = w.nand.die_stats(now, die);
            let mut arrays = log.iter().filter(|e| e.step == nand::Step::Array && e.die == die);
            prop_assert_eq!(stats.busy(), sum(&mut arrays));
        }
        for channel in 0..config.geometry.channels {
            let mut on_it = log.iter().filter(|e| {
                e.step != nand::Step::Array && config.geometry.channel_of(e.die) == channel
            });
            prop_assert_eq!(w.nand.channel_stats(now, channel).busy, sum(&mut on_it));
        }
    }

    /// The power fails at any moment: what the arrays had begun is torn, what was done is there, all else never was.
    #[test]
    fn a_power_cut_leaves_what_was_done(config in configs(), traffic in traffic(), events in 0usize..200, part in 0u64..100) {
        let mut w = World::new(&config);
        w.nand.keep_log();
        let (full, submissions) = drive(&config, &traffic);
        let last = full.done.last().map_or(Time::ZERO, |(t, _)| *t);
        let at = last * part / 100;
        let mut pending = submissions.iter().peekable();
        let mut handled = 0;
        let mut now = Time::ZERO;
        while handled < events {
            let arrival = pending.peek().map(|(t, _)| *t);
            let event = w.queue.0.next_time();
            let next = match (arrival, event) {
                (None, None) => break,
                (a, e) => a.unwrap_or(Time::MAX).min(e.unwrap_or(Time::MAX)),
            };
            if next > at {
                break;
            }
            now = next;
            if event.is_some_and(|e| arrival.is_none_or(|a| e <= a)) {
                w.step();
                handled += 1;
            } else if let Some(&(now, asked)) = pending.next() {
                let id = match asked {
                    Asked::Read(op) => { w.nand.submit_read(now, op, &mut w.queue); op.id.0 }
                    Asked::Program(op) => { w.nand.submit_program(now, op, &mut w.queue); op.id.0 }
                    Asked::Erase(op) => { w.nand.submit_erase(now, op, &mut w.queue); op.id.0 }
                };
                w.asked.insert(id, asked);
            }
        }
        let torn = w.nand.power_cut(now);
        w.nand.assert_bounds(now);
        // By the log, what an array had begun: of each die the first program or erase that is not done, once its
        // command and data were there and the one before it had ended.
        let log = w.nand.take_log();
        let ended = |id: u32| w.done.iter().find(|(_, d)| d.id.0 == id).map(|(t, _)| *t);
        let (mut begun, mut begins) = (Vec::new(), Vec::new());
        for die in 0..4u16 {
            let mut before = Time::ZERO;
            for e in log.iter().filter(|e| e.die == die && e.kind != nand::OpKind::Read) {
                let starts = matches!(e.step, nand::Step::Command | nand::Step::DataIn);
                match ended(e.id.0) {
                    Some(end) => before = before.max(end),
                    None if starts => {
                        let begin = before.max(e.to);
                        if begin < now {
                            begun.push(e.id.0);
                        }
                        if begin <= now {
                            begins.push(e.id.0);
                        }
                        break;
                    }
                    None => {}
                }
            }
        }
        let torn_ids: Vec<u32> = torn.iter().map(|t| match t {
            nand::Torn::Program(id, _) | nand::Torn::Erase(id, _) => id.0,
        }).collect();
        prop_assert!(begun.iter().all(|id| torn_ids.contains(id)), "{torn_ids:?} are torn, not {begun:?}");
        // An operation that begins at this instant is torn if it was also suspended at it.
        prop_assert!(torn_ids.iter().all(|id| begins.contains(id)), "{torn_ids:?} are torn, not {begins:?}");
        // The same programs and erases, applied by hand in the order they ended, then those torn.
        let mut programmed = std::collections::HashMap::<(u16, u32, u32), (u32, bool, bool)>::new();
        for (_, d) in &w.done {
            match w.asked[&d.id.0] {
                Asked::Read(_) => {}
                Asked::Program(op) => for plane in op.page.planes.iter() {
                    programmed.entry((op.page.die, plane, op.page.block)).or_default().0 += 1;
                },
                Asked::Erase(op) => for plane in op.block.planes.iter() {
                    programmed.insert((op.block.die, plane, op.block.block), (0, false, false));
                },
            }
        }
        for t in &torn {
            let id = match t { nand::Torn::Program(id, _) | nand::Torn::Erase(id, _) => id.0 };
            match w.asked[&id] {
                Asked::Read(op) => prop_assert!(false, "a read is torn: {op:?}"),
                Asked::Program(op) => for plane in op.page.planes.iter() {
                    let b = programmed.entry((op.page.die, plane, op.page.block)).or_default();
                    *b = (b.0 + 1, true, b.2);
                },
                Asked::Erase(op) => for plane in op.block.planes.iter() {
                    programmed.entry((op.block.die, plane, op.block.block)).or_default().2 = true;
                },
            }
        }
        for die in 0..4u16 {
            for plane in 0..2 {
                for block in 0..4 {
                    let view = w.nand.store().block(die, plane, block);
                    let expected = programmed.get(&(die, plane, block)).copied().unwrap_or_default();
                    prop_assert_eq!((view.programmed, view.torn, view.erase_torn), expected);
                }
            }
        }
    }
}

mod planted {
    //! The auditor finds what is planted: each log is broken in one way.

    use super::*;
    use nand::{LogEntry, Step};

    fn broken(config: &Config, mend: impl FnOnce(&mut Vec<LogEntry>)) {
        let mut traffic: Traffic = Vec::new();
        for n in 0..6 {
            traffic.push((0, 0, 0, n, Wish::Read { planes: 1, bytes: 4096, class: Class::Host }));
        }
        traffic.push((0, 0, 0, 0, Wish::Program));
        let (mut w, submissions) = drive(config, &traffic);
        let mut log = w.nand.take_log();
        audit(config, &submissions, &log, &w.done);
        mend(&mut log);
        audit(config, &submissions, &log, &w.done);
    }

    #[test]
    #[should_panic(expected = "two things at once")]
    fn an_array_is_booked_twice() {
        broken(&config(), |log| {
            let second = log.iter().filter(|e| e.step == Step::Array).nth(1).copied().unwrap();
            let first = log.iter_mut().find(|e| e.step == Step::Array).unwrap();
            (first.from, first.to) = (second.from, second.to);
        });
    }

    #[test]
    #[should_panic(expected = "two things at once")]
    fn a_channel_is_booked_twice() {
        broken(&config(), |log| {
            let out = log.iter().find(|e| e.step == Step::DataOut).copied().unwrap();
            log.push(LogEntry { die: 1, ..out });
        });
    }

    #[test]
    #[should_panic(expected = "array of")]
    fn an_array_works_too_short() {
        broken(&config(), |log| log.iter_mut().find(|e| e.step == Step::Array).unwrap().to = Time::from_us(50));
    }

    #[test]
    #[should_panic(expected = "data are in the register")]
    fn a_register_is_filled_twice() {
        // The steps of a cache read violate the rules of a drive without cache reads.
        let mut cached = config();
        cached.scheduling.cache_read = true;
        let reads = (0..4).map(|n| (0, 0, 0, n, Wish::Read { planes: 1, bytes: 4096, class: Class::Host }));
        let (mut w, submissions) = drive(&cached, &reads.collect());
        audit(&config(), &submissions, &w.nand.take_log(), &w.done);
    }

    #[test]
    #[should_panic(expected = "array after command")]
    fn a_program_loads_too_early() {
        let mut cached = config();
        cached.scheduling.cache_program = true;
        let (mut w, submissions) = drive(&cached, &vec![(0, 0, 0, 0, Wish::Program); 3]);
        let mut plain = config();
        plain.scheduling.cache_program = false;
        audit(&plain, &submissions, &w.nand.take_log(), &w.done);
    }

    #[test]
    #[should_panic(expected = "reads have gone ahead")]
    fn a_program_starves() {
        let mut patient = config();
        patient.scheduling.overtakes_max = 50;
        let mut traffic: Traffic = vec![(0, 0, 0, 0, Wish::Read { planes: 1, bytes: 0, class: Class::Host })];
        traffic.push((1, 0, 0, 0, Wish::Program));
        let read = (1, 0, 0, 0, Wish::Read { planes: 1, bytes: 0, class: Class::Host });
        traffic.extend([read; 10]);
        let (mut w, submissions) = drive(&patient, &traffic);
        let mut strict = patient;
        strict.scheduling.overtakes_max = 4;
        audit(&strict, &submissions, &w.nand.take_log(), &w.done);
    }
}
