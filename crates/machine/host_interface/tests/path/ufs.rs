//! UFS: latencies of single requests on an idle path, compared with values computed by hand, and the segments of a
//! write's data.

use media::{Op, Request, Status};
use sim::Time;

use crate::support::{Back, Bench, ns, ufs};
use host_interface::Config;

/// Returns the response time of a single request.
fn alone(config: &Config, request: Request) -> (Time, Bench) {
    let mut bench = Bench::new(config, Back::constant(ns(50_000)));
    let start = Time::from_us(7);
    bench.run(&[(start, 0, request)]);
    let end = bench.ends[0].expect("an end");
    assert_eq!((end.status, end.submitted - start), (Status::Ok, ns(1000)));
    (end.at - start, bench)
}

/// Returns the time of `bytes` on two lanes of 5830.4 Mb/s, 10 bits per byte.
fn wire(bytes: u64) -> Time {
    Time::from_ps((bytes as f64 * 10.0 / (2.0 * 5830.4e6) * 1e12).ceil() as u64)
}

/// Returns the time of `bytes` at 1.6 GB/s.
fn memory(bytes: u64) -> Time {
    Time::from_ps(bytes * 625)
}

/// Returns the time of a UPIU without data: 32 bytes in a frame.
fn upiu() -> Time {
    wire(40) + ns(400)
}

/// Submission 1000, register 150; the descriptor, 32 bytes; the command, 32 bytes and 16 per region; firmware 1000.
fn received(regions: u64) -> Time {
    ns(1000 + 150) + memory(32) + ns(200) + memory(32 + 16 * regions) + ns(200) + upiu() + ns(1000)
}

/// Response and status are written, 32 bytes each; delivery, handler, completion.
fn told() -> Time {
    memory(64) + ns(200) + ns(300 + 700 + 500)
}

fn near(found: Time, expected: Time) {
    assert!(found.ps().abs_diff(expected.ps()) <= 100, "{found}, expected {expected}");
}

/// 4128 bytes in 16 frames.
const DATA: u64 = 4096 + 32 + 16 * 8;

#[test]
fn a_read() {
    let (end, bench) = alone(&ufs(), Request::new(Op::Read, 0, 4096));
    // The response arrives while the data is still being written to memory.
    near(end, received(1) + ns(50_000) + wire(DATA) + ns(400) + memory(4096) + told());
    let [down, up] = bench.front.link(bench.now());
    assert_eq!((down.payload, down.packets), (32, 1));
    assert_eq!((up.payload, up.packets), (4128 + 32, 17));
}

#[test]
fn a_write() {
    let (end, bench) = alone(&ufs(), Request::new(Op::Write, 0, 4096));
    let called = upiu() + memory(4096) + ns(200);
    near(end, received(1) + called + wire(DATA) + ns(400 + 50_000) + upiu() + told());
    let [down, up] = bench.front.link(bench.now());
    assert_eq!((down.payload, down.packets), (32 + 4128, 17));
    assert_eq!((up.payload, up.packets), (32 + 32, 2));
}

#[test]
fn a_flush_and_an_unmap() {
    near(alone(&ufs(), Request::flush()).0, received(0) + ns(50_000) + upiu() + told());
    // 24 bytes of a parameter list are requested before the command is decoded.
    let list = upiu() + memory(24) + ns(200) + wire(32 + 24 + 8) + ns(400);
    near(alone(&ufs(), Request::new(Op::Trim, 0, 1 << 30)).0, received(1) + list + ns(50_000) + upiu() + told());
}

#[test]
fn a_command_that_fails_brings_sense_data() {
    let mut bench = Bench::new(&ufs(), Back { failing: Some(1), ..Back::constant(ns(50_000)) });
    bench.run(&[(Time::ZERO, 0, Request::flush())]);
    assert_ne!(bench.ends[0].expect("an end").status, Status::Ok);
    assert_eq!(bench.front.link(bench.now())[1].payload, 32 + 20);
}

/// 64 KiB in 16 segments: with one outstanding request for data, each waits for the round trip of the last; with many,
/// the slower of memory and wire is never idle.
#[test]
fn calls_for_data_overlap_as_far_as_they_may() {
    let time = |ready_to_transfers, dma| {
        let mut config = ufs();
        config.device.utp.ready_to_transfers = ready_to_transfers;
        config.host.ufshci.dma = dma;
        let (end, _) = alone(&config, Request::new(Op::Write, 0, 64 << 10));
        end
    };
    let fixed = |dma: u64| {
        let memory = |bytes: u64| Time::of_transfer(bytes, dma);
        let received = ns(1150) + memory(32) + ns(200) + memory(32 + 16 * 16) + ns(200) + upiu() + ns(1000);
        received + ns(50_000) + upiu() + memory(64) + ns(200 + 1500)
    };
    let piece = upiu() + memory(4096) + ns(200) + wire(DATA) + ns(400);
    near(time(1, 1_600_000_000), fixed(1_600_000_000) + piece * 16);
    // The wire takes 3.65 us per segment, memory 2.56 us. Acknowledgments use only the other direction.
    let found = time(8, 1_600_000_000) - fixed(1_600_000_000);
    let expected = piece + wire(DATA) * 15;
    assert!((found.us_f64() / expected.us_f64() - 1.0).abs() < 0.01, "{found}, expected {expected}");
    // A slow memory: 8.192 us per segment.
    let found = time(8, 500_000_000) - fixed(500_000_000);
    let expected = ns(8192) * 16 + upiu() + ns(200) + wire(DATA) + ns(400);
    assert!((found.us_f64() / expected.us_f64() - 1.0).abs() < 0.01, "{found}, expected {expected}");
}

/// The firmware answers: the same latency without the 50 us of the translation layer.
#[test]
fn a_device_may_answer_without_its_flash() {
    for request in [Request::new(Op::Read, 0, 4096), Request::new(Op::Write, 0, 4096), Request::flush()] {
        let mut config = ufs();
        let whole = alone(&config, request).0;
        config.device.bypass_flash = true;
        let (end, bench) = alone(&config, request);
        near(end + ns(50_000), whole);
        assert!(bench.commands.is_empty());
    }
}

/// Reads and writes at the same time: the link is full duplex, and so is the path to memory.
#[test]
fn reads_do_not_wait_for_writes() {
    let read = |alongside: bool| {
        let mut bench = Bench::new(&ufs(), Back::constant(ns(50_000)));
        let mut asked = vec![(Time::ZERO, 0, Request::new(Op::Read, 0, 128 << 10))];
        if alongside {
            asked.push((Time::ZERO, 0, Request::new(Op::Write, 1 << 20, 128 << 10)));
        }
        bench.run(&asked);
        bench.ends[0].expect("an end").at
    };
    // Except for requests for data, acknowledgments and the firmware's core.
    assert!(read(true) < read(false) + ns(8_000), "{} beside a write, {} alone", read(true), read(false));
}

/// Four completions cause an interrupt, or a single one after 80 us.
#[test]
fn interrupts_wait_for_each_other() {
    let mut config = ufs();
    config.host.ufshci.aggregation = host::Aggregation { threshold: 4, time: Time::from_us(80) };
    let flush = |at: u64| (Time::from_us(at), 0, Request::flush());
    let run = |asked: &[_]| {
        let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
        bench.run(asked);
        (bench.front.interrupts(), bench.ends.iter().map(|end| end.expect("an end").at).max().expect("an end"))
    };
    let (interrupts, end) = run(&[flush(0)]);
    assert_eq!(interrupts, 1);
    let plain = alone(&ufs(), Request::flush()).0;
    near(end, plain + Time::from_us(80));
    let (interrupts, end) = run(&[flush(0), flush(0), flush(0), flush(0)]);
    assert_eq!(interrupts, 1);
    assert!(end < plain + Time::from_us(20), "{end}");
    // The handler that runs for four finds the fifth too; the sixth waits for the timer.
    let (interrupts, end) = run(&[flush(0), flush(0), flush(0), flush(0), flush(0), flush(1000)]);
    assert_eq!(interrupts, 2);
    near(end, Time::from_ms(1) + plain + Time::from_us(80));
}

/// Entries of queues are as long as what they replace, so that a single command takes as long.
#[test]
fn queues_hold_more_commands_than_a_register_and_interrupt_the_cores_that_use_them() {
    let mut config = ufs();
    (config.host.cores, config.host.queue_depth, config.device.max_commands) = (2, 32, 32);
    let with = |queues, depth| {
        let mut config = config.clone();
        config.host.ufshci.queues = queues;
        (config.host.queue_depth, config.device.max_commands) = (depth, depth);
        config
    };
    for request in [Request::new(Op::Read, 0, 4096), Request::new(Op::Write, 0, 4096), Request::flush()] {
        assert_eq!(alone(&with(2, 64), request).0, alone(&config, request).0);
    }
    // Jobs 0 and 1 run on cores 0 and 1, and read at the same time.
    let read = |job: u64| (Time::ZERO, job as u16, Request::new(Op::Read, job << 20, 4096));
    let run = |config: &Config, count: u64| {
        let mut bench = Bench::new(config, Back::constant(ns(500_000)));
        bench.run(&(0..count).map(|number| read(number % 2)).collect::<Vec<_>>());
        let handled = |row: &str| -> Time {
            let track = bench.front.tracks().iter().position(|track| track.1 == row).expect("a row") as u32;
            bench.spans().iter().filter(|span| span.0 == track).fold(Time::ZERO, |sum, span| sum + (span.3 - span.2))
        };
        (bench.most, [handled("core 0 completions"), handled("core 1 completions")])
    };
    assert_eq!((run(&config, 64).0, run(&with(2, 64), 64).0), (32, 64));
    // A register and a single queue interrupt core 0, which runs the handler twice; each of two queues its own core.
    let one = (2, [ns(700 + 500 + 700), ns(500)]);
    assert_eq!((run(&config, 2), run(&with(1, 64), 2)), (one, one));
    assert_eq!(run(&with(2, 64), 2), (2, [ns(700 + 500), ns(700 + 500)]));
}

/// If caches do not see the controller's accesses, the core maintains them before a transfer, and again after a read's.
#[test]
fn caches_are_maintained() {
    let (seen, mut unseen) = (ufs(), ufs());
    unseen.host.ufshci.invalidation_512kib = Time::from_us(512);
    let more = |request: Request| {
        let ends = [&seen, &unseen].map(|config| {
            let mut bench = Bench::new(config, Back::constant(ns(50_000)));
            bench.run(&[(Time::ZERO, 0, request)]);
            bench.ends[0].expect("an end")
        });
        (ends[1].submitted - ends[0].submitted, ends[1].at - ends[0].at)
    };
    let us = |before, all| (Time::from_us(before), Time::from_us(all));
    assert_eq!(more(Request::new(Op::Read, 0, 128 << 10)), us(128, 256));
    assert_eq!(more(Request::new(Op::Write, 0, 128 << 10)), us(128, 128));
    assert_eq!(more(Request::new(Op::Trim, 0, 128 << 10)), us(0, 0));
    assert_eq!(more(Request::flush()), us(0, 0));
}
