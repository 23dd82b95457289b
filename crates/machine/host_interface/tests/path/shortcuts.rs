//! What is foreseen happens as it would, step by step.

use media::{Op, Request};
use proptest::prelude::*;
use sim::Time;

use crate::support::{Asked, Back, Bench, End, ns, plain};

/// Mean of response times.
fn mean(asked: &[Asked], ends: &[Option<End>]) -> f64 {
    let sum: u64 = asked.iter().zip(ends).map(|((at, ..), end)| (end.unwrap().at - *at).ps()).sum();
    sum as f64 / asked.len() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// To go on at once with what comes next of all changes nothing: jobs of a read or a write at a time and of many, free
    /// and costly hosts and controllers, interrupts and polls.
    #[test]
    fn to_look_ahead_changes_nothing(
        gaps in prop::collection::vec((0u64..400, 0u16..3, 0u8..8), 1..150),
        free: bool,
        polls: bool,
        spread in 0u64..30,
    ) {
        let mut config = plain();
        (config.host.cores, config.host.queue_pairs) = (3, 2);
        config.link = link::Config::Pcie(link::PcieConfig::default());
        if polls {
            config.host.completion = host::Completion::Polling { delay: ns(200) };
        }
        if free {
            (config.host.submit, config.host.complete) = (Time::ZERO, Time::ZERO);
            config.device.firmware.read = Time::ZERO;
        }
        let mut at = Time::ZERO;
        let asked: Vec<Asked> = gaps
            .into_iter()
            .map(|(gap, job, op)| {
                at += ns(gap * 20);
                let op = if op == 0 { Op::Write } else { Op::Read };
                (at, job, Request::new(op, 0, 4096 << (gap % 3)))
            })
            .collect();
        let back = Back { latency: (Time::from_us(2), Time::from_us(2 + spread)), piece: 4096, failing: Some(50) };
        let run = |ahead| {
            let mut bench = Bench::new(&config, back.clone());
            if ahead {
                bench.looks_ahead();
            }
            bench.run(&asked);
            (bench.ends, bench.commands)
        };
        prop_assert_eq!(run(true), run(false));
    }

    /// On a link so fast that the order of packets matters by picoseconds only, shortcuts change no more: one job, reads
    /// and writes.
    #[test]
    fn one_job_is_served_exactly_alike(
        gaps in prop::collection::vec((0u64..60, 0u8..8), 1..200),
        spread in 0u64..100,
        firmware in 1u32..3,
        writes: bool,
    ) {
        let mut config = plain();
        let fast = link::PcieConfig { bandwidth: Some(1 << 60), ..Default::default() };
        config.link = link::Config::Pcie(fast);
        config.device.firmware.cores = firmware;
        let mut at = Time::ZERO;
        let asked: Vec<Asked> = gaps
            .into_iter()
            .map(|(gap, op)| {
                at += ns(gap * 100);
                let op = if writes && op == 0 { Op::Write } else { Op::Read };
                (at, 0, Request::new(op, 0, 4096))
            })
            .collect();
        let back = Back { latency: (Time::from_us(20), Time::from_us(20 + spread)), piece: 4096, failing: None };
        let run = |stepwise| {
            let mut bench = Bench::new(&config, back.clone());
            if stepwise {
                bench.front.stepwise();
            }
            bench.run(&asked);
            (bench.ends, bench.commands)
        };
        let (short, long) = (run(false), run(true));
        // Any packet takes a picosecond, and one that passes another saves it that much.
        let most = Time::from_ps(8 * asked.len() as u64);
        let alike = |a: Time, b: Time| a.max(b) - a.min(b) <= most;
        prop_assert_eq!(short.1.len(), long.1.len());
        for (a, b) in short.1.iter().zip(&long.1) {
            prop_assert!(alike(a.0, b.0) && (a.1, a.2) == (b.1, b.2), "{a:?} against {b:?}");
        }
        for (a, b) in short.0.iter().zip(&long.0) {
            let (a, b) = (a.as_ref().unwrap(), b.as_ref().unwrap());
            prop_assert!(alike(a.at, b.at) && alike(a.submitted, b.submitted) && a.status == b.status, "{a:?} against {b:?}");
        }
    }

    /// On a real link with several jobs, packets pass each other here and there: means stay within a part in a
    /// thousand.
    #[test]
    fn many_jobs_are_served_alike(seed in prop::collection::vec((0u64..30, 0u16..4, 0u8..10), 400)) {
        let mut config = plain();
        (config.host.cores, config.host.queue_pairs) = (4, 4);
        config.link = link::Config::Pcie(link::PcieConfig::default());
        config.device.firmware.cores = 2;
        let mut at = Time::ZERO;
        let asked: Vec<Asked> = seed
            .into_iter()
            .map(|(gap, job, op)| {
                at += ns(gap * 100);
                let op = if op < 2 { Op::Write } else { Op::Read };
                (at, job, Request::new(op, 0, 4096 << (op as u64 * 2)))
            })
            .collect();
        let back = Back { latency: (Time::from_us(60), Time::from_us(90)), piece: 4096, failing: None };
        let run = |stepwise| {
            let mut bench = Bench::new(&config, back.clone());
            if stepwise {
                bench.front.stepwise();
            }
            bench.run(&asked);
            mean(&asked, &bench.ends)
        };
        let (short, long) = (run(false), run(true));
        prop_assert!((short / long - 1.0).abs() < 2e-3, "{} against {}", short, long);
    }
}
