//! Notification of completions by interrupts and polling.

use media::{Op, Request};
use sim::Time;

use crate::support::{Asked, Back, Bench, ns, plain};

fn reads(count: u64, apart: Time) -> Vec<Asked> {
    (0..count).map(|n| (apart * n, 0, Request::new(Op::Read, n * 4096, 4096))).collect()
}

/// Threshold 4 and 100 us: four reads 10 us apart share an interrupt; three reads wait for the timer.
#[test]
fn coalescing_by_threshold_and_by_time() {
    let mut config = plain();
    config.device.coalescing = device::Coalescing { threshold: 4, time: Time::from_us(100) };
    let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
    bench.run(&reads(4, Time::from_us(10)));
    assert_eq!(bench.front.interrupts(), 1);
    // A read of 50 us and 1024 ns behind 2517 ns has its entry written at 53,541; the fourth 30 us later. 104 + 1 for
    // entry and interrupt, 300 + 700, then the four completions of 500 each.
    let told = 53_541 + 30_000 + 105 + 1000;
    let ends: Vec<Time> = bench.ends.iter().map(|end| end.unwrap().at).collect();
    assert_eq!(ends, [ns(told + 500), ns(told + 1000), ns(told + 1500), ns(told + 2000)]);

    let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
    bench.run(&reads(3, Time::from_us(10)));
    assert_eq!(bench.front.interrupts(), 1);
    // The timer starts with the first entry; the interrupt takes 1 + 100 to arrive.
    let told = 53_541 + 100_000 + 101 + 1000;
    let ends: Vec<Time> = bench.ends.iter().map(|end| end.unwrap().at).collect();
    assert_eq!(ends, [ns(told + 500), ns(told + 1000), ns(told + 1500)]);
}

#[test]
fn without_coalescing_every_completion_has_its_interrupt() {
    let mut bench = Bench::new(&plain(), Back::constant(ns(50_000)));
    bench.run(&reads(10, Time::from_us(10)));
    assert_eq!(bench.front.interrupts(), 10);
}

/// Two entries 100 ns apart: the second becomes visible while the handler of the first runs, which processes it too.
/// Its own interrupt then finds nothing, and the core pays for it.
#[test]
fn a_running_handler_takes_what_has_come() {
    let mut config = plain();
    // Two cores submit at once, so that the reads are only a data transfer apart; with one queue pair, core 0 gets the
    // interrupts.
    (config.host.cores, config.host.queue_pairs) = (2, Some(1));
    config.device.firmware.cores = 2;
    let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
    let asked: Vec<Asked> = (0..2).map(|job| (Time::ZERO, job, Request::new(Op::Read, 0, 400))).collect();
    bench.run(&asked);
    // Entries are written at 52,517 + 100 (data) and 52,717; the first interrupt, at 52,722, starts the handler at
    // 53,022.
    let first = 52_517 + 100 + 105 + 300 + 700 + 500;
    assert_eq!(bench.ends[0].unwrap().at, ns(first));
    // The second is seen when the handler starts (53,722) and is completed on its own core.
    assert!(bench.ends[1].unwrap().at <= ns(first));
    let used = bench.front.utilization(bench.now());
    // Submission, handler and completion on core 0; the spurious handler runs after the last event.
    assert!(used[0].busy >= ns(1000 + 700 + 500) && used[0].busy <= ns(1000 + 1400 + 500), "{:?}", used[0]);
    assert_eq!(used[1].busy, ns(1000 + 500));
}

/// Polling with a delay of 100 us and with none: only the wait for the poll differs.
#[test]
fn polled_entries_wait_for_the_poll() {
    let end = |delay| {
        let mut config = plain();
        config.host.completion = host::Completion::polling(delay);
        let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
        bench.run(&reads(1, Time::ZERO));
        bench.ends[0].unwrap().at
    };
    assert_eq!(end(Time::from_us(100)), end(Time::ZERO) + Time::from_us(100));
}
