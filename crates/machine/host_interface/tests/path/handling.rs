//! Waits that occupy no processor, staging of long requests, and extra work after writes that do not continue others.

use media::{Op, Request};
use sim::Time;

use crate::support::{Asked, Back, Bench, ns, plain};
use host_interface::Config;

/// Returns the response time of a single request.
fn alone(config: &Config, request: Request) -> Time {
    let mut bench = Bench::new(config, Back::constant(ns(50_000)));
    bench.run(&[(Time::ZERO, 0, request)]);
    bench.ends[0].expect("an end").at
}

/// Returns the end of the last of `asked`.
fn last(config: &Config, asked: &[Asked]) -> Time {
    let mut bench = Bench::new(config, Back::constant(ns(50_000)));
    bench.run(asked);
    bench.ends.iter().map(|end| end.as_ref().expect("an end").at).max().expect("a request")
}

fn handling(change: impl FnOnce(&mut device::Handling)) -> Config {
    let mut config = plain();
    config.device.handling.unit = 4096;
    change(&mut config.device.handling);
    config
}

#[test]
fn each_kind_waits_for_its_own_time() {
    let config = handling(|h| {
        let w = &mut h.waits;
        (w.read, w.write, w.trim, w.flush) = (ns(1000), ns(2000), ns(3000), ns(4000));
    });
    let requests = [
        (Request::new(Op::Read, 0, 4096), 1000),
        (Request::new(Op::Write, 0, 4096), 2000),
        (Request::new(Op::Trim, 0, 1 << 20), 3000),
        (Request::flush(), 4000),
    ];
    for (request, wait) in requests {
        assert_eq!(alone(&config, request) - alone(&plain(), request), ns(wait), "{request:?}");
    }
}

#[test]
fn more_than_one_mapping_unit_costs_a_wait_and_each_another() {
    let config = handling(|h| (h.waits.split, h.waits.unit) = (ns(30_000), ns(500)));
    let wait = |offset, bytes| {
        let request = Request::new(Op::Read, offset, bytes);
        alone(&config, request) - alone(&plain(), request)
    };
    assert_eq!((wait(0, 512), wait(8192, 4096)), (Time::ZERO, Time::ZERO));
    assert_eq!((wait(0, 8192), wait(0, 65536)), (ns(30_500), ns(37_500)));
    // A request that touches two units counts as two, however short it is.
    assert_eq!(wait(3584, 1024), ns(30_500));
}

#[test]
fn waits_occupy_no_processor() {
    let asked: Vec<Asked> = (0..60).map(|n| (ns(n * 10), (n % 4) as u16, Request::new(Op::Read, 0, 4096))).collect();
    let waiting = handling(|h| h.waits.read = ns(30_000));
    assert_eq!(last(&waiting, &asked) - last(&plain(), &asked), ns(30_000));
}

#[test]
fn only_long_requests_pass_the_path_where_single_units_pass_by() {
    // 500 MB/s: 8 KiB in 16.384 us.
    let config = handling(|h| (h.staging_read, h.staging_single_units) = (Some(500_000_000), false));
    let many = |config: &Config, bytes: u64| {
        let asked: Vec<Asked> = (0..100).map(|_| (Time::ZERO, 0, Request::new(Op::Read, 0, bytes))).collect();
        last(config, &asked)
    };
    assert_eq!(many(&config, 4096), many(&plain(), 4096), "a single unit passes by");
    let rate = 100.0 * 8192.0 / many(&config, 8192).secs_f64();
    assert!((450e6..500e6).contains(&rate), "{rate}");
    let write = |config: &Config| alone(config, Request::new(Op::Write, 0, 8192));
    assert_eq!(write(&config), write(&plain()));
    let writes = handling(|h| h.staging_write = Some(500_000_000));
    assert_eq!(alone(&writes, Request::new(Op::Read, 0, 8192)), alone(&plain(), Request::new(Op::Read, 0, 8192)));
    assert!(write(&writes) > write(&plain()));
}

#[test]
fn requests_of_one_unit_pass_the_path_where_all_do() {
    // 500 MB/s: 4 KiB in 8.192 us.
    let rate = |op: Op, single: bool| {
        let config = handling(|h| {
            (h.staging_read, h.staging_write) = (Some(500_000_000), Some(500_000_000));
            h.staging_single_units = single;
        });
        let asked: Vec<Asked> = (0..100).map(|n| (Time::ZERO, 0, Request::new(op, n * 4096, 4096))).collect();
        100.0 * 4096.0 / last(&config, &asked).secs_f64()
    };
    for op in [Op::Read, Op::Write] {
        assert!((450e6..500e6).contains(&rate(op, true)), "{op:?}: {}", rate(op, true));
        assert!(rate(op, false) > 600e6, "{op:?}: {}", rate(op, false));
    }
}

/// A drive that writes 4 KiB 305 thousand times per second sequentially and 266 thousand times at random, with the same
/// latency at depth 1, spends 0.48 us after each write that does not continue another.
#[test]
fn a_write_that_continues_none_costs_time_behind_it() {
    let mut config = handling(|h| h.jump = ns(480));
    config.device.firmware.write = ns(3280);
    // Make the host's own time negligible.
    (config.host.submit, config.host.complete, config.host.cores) = (ns(10), ns(10), 4);
    config.host.completion = host::Completion::polling(Time::ZERO);
    let rate = |config: &Config, stride: u64| {
        let asked: Vec<Asked> =
            (0..2000).map(|n| (Time::ZERO, 0, Request::new(Op::Write, n * stride % (1 << 30), 4096))).collect();
        2000.0 / last(config, &asked).secs_f64()
    };
    let (sequential, random) = (rate(&config, 4096), rate(&config, 40_960_000));
    assert!((random / sequential / (266.0 / 305.0) - 1.0).abs() < 0.02, "{random} {sequential}");
    let mut free = config.clone();
    free.device.handling.jump = Time::ZERO;
    assert_eq!(rate(&free, 4096), rate(&free, 40_960_000));
    let one = Request::new(Op::Write, 1 << 20, 4096);
    assert_eq!(alone(&config, one), alone(&free, one), "no request waits at depth 1");
}

#[test]
fn several_runs_of_writes_are_followed_at_a_time() {
    let mut config = handling(|h| h.jump = ns(5000));
    config.device.firmware.write = ns(500);
    let interleaved = |runs: u64| -> Vec<Asked> {
        (0..1600)
            .map(|n| (Time::ZERO, 0, Request::new(Op::Write, n % runs * (1 << 30) + n / runs * 4096, 4096)))
            .collect()
    };
    let few = last(&config, &interleaved(16)) - last(&config, &interleaved(1));
    assert!(few <= ns(5000 * 17), "{few}");
    assert!(last(&config, &interleaved(17)) > last(&config, &interleaved(16)) + ns(5000 * 1000));
}
