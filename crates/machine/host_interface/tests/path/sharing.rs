//! Queues that share a controller, and throughput bounds that a path must reach but not exceed.

use media::{Op, Request};
use sim::Time;

use crate::support::{Asked, Back, Bench, ns, plain, sata};
use host_interface::Config;

/// Four jobs on four queue pairs keep more commands waiting than the controller accepts. Returns each queue's share of
/// the commands executed while all queues were full.
fn shares(config: &mut Config) -> Vec<u32> {
    (config.host.cores, config.host.queue_pairs, config.host.queue_depth) = (4, Some(4), 512);
    config.host.submit = ns(10);
    config.device.max_commands = 8;
    config.device.firmware.cores = 8;
    let asked: Vec<Asked> =
        (0..1600).map(|n| (Time::ZERO, n % 4, Request::new(Op::Read, u64::from(n) * 4096, 4096))).collect();
    let mut bench = Bench::new(config, Back::constant(Time::from_us(100)));
    bench.run(&asked);
    let mut shares = vec![0; 4];
    // The first were fetched before all queues had filled; the last arrived when some were empty again.
    for (_, io, _) in &bench.commands[32..632] {
        shares[*io as usize % 4] += 1;
    }
    shares
}

#[test]
fn round_robin_is_fair() {
    for burst in [Some(1), Some(4)] {
        let mut config = plain();
        config.device.arbitration_burst = burst;
        let got = shares(&mut config);
        assert!(got.iter().all(|share| (146..=154).contains(share)), "{got:?}");
    }
}

#[test]
fn weights_are_kept_and_urgent_comes_first() {
    use device::Priority::{High, Low, Medium, Urgent};
    let mut config = plain();
    config.device.arbitration = device::Arbitration::WeightedRoundRobin;
    config.device.arbitration_burst = Some(2);
    config.device.priorities = vec![High, Medium, Low, High];
    let got = shares(&mut config);
    for (got, expected) in got.iter().zip([600 * 4 / 14, 600 * 4 / 14, 600 * 2 / 14, 600 * 4 / 14]) {
        assert!(got.abs_diff(expected) <= 8, "{got} for {expected}");
    }
    config.device.priorities = vec![High, Medium, Urgent, High];
    let got = shares(&mut config);
    // All 400 commands of the urgent queue, except those fetched before the others had filled theirs.
    assert!(got[2] >= 370, "{got:?}");
}

/// 128 KiB reads and writes at full speed over PCIe 3.0 x4: data fills the wire except for packet overhead.
#[test]
fn a_saturated_pcie_link_reaches_its_bound() {
    for (op, share) in [(Op::Read, 256.0 / 280.0), (Op::Write, 64.0 / 84.0)] {
        let mut config = plain();
        let pcie = link::PcieConfig {
            generation: 3,
            lanes: 4,
            dllp: 0,
            read_completion_boundary: Some(64),
            ..Default::default()
        };
        config.link = link::Config::Pcie(pcie);
        let asked: Vec<Asked> = (0..2000).map(|n| (Time::ZERO, 0, Request::new(op, n << 17, 128 << 10))).collect();
        let mut bench = Bench::new(&config, Back::constant(ns(100)));
        bench.run(&asked);
        let rate = 2000.0 * 131_072.0 / bench.now().secs_f64();
        let bound = 8e9 * 4.0 / 8.0 * 128.0 / 130.0 * share;
        assert!(rate < bound && rate > 0.99 * bound, "{op:?}: {rate} of {bound}");
    }
}

#[test]
fn a_saturated_sata_link_reaches_its_bound() {
    for op in [Op::Read, Op::Write] {
        let asked: Vec<Asked> = (0..500).map(|n| (Time::ZERO, 0, Request::new(op, n << 17, 128 << 10))).collect();
        let mut bench = Bench::new(&sata(), Back::constant(ns(100)));
        bench.run(&asked);
        let [down, up] = bench.front.link(bench.now());
        let busy = down.fraction() + up.fraction();
        assert!(busy > 0.995 && busy <= 1.0, "{op:?}: {busy}");
    }
}

/// Submission and completion take 1500 ns of one core, so this is the time per request once the queue is full.
#[test]
fn a_saturated_core_reaches_its_bound() {
    for polling in [false, true] {
        let mut config = plain();
        config.host.queue_depth = 257;
        config.host.completion = match polling {
            true => host::Completion::polling(ns(0)),
            false => host::Completion::interrupts(ns(100), ns(0)),
        };
        config.device.firmware.cores = 8;
        let asked: Vec<Asked> = (0..6000).map(|n| (Time::ZERO, 0, Request::new(Op::Read, n * 4096, 512))).collect();
        let mut bench = Bench::new(&config, Back::constant(Time::from_us(10)));
        bench.run(&asked);
        let mut ends: Vec<Time> = bench.ends.iter().map(|end| end.unwrap().at).collect();
        ends.sort();
        let each = (ends[5000] - ends[1000]).ps() as f64 / 4000.0;
        assert!((each / 1.5e6 - 1.0).abs() < 0.002, "{each}");
        let core = &bench.front.utilization(ends[5000])[0];
        assert!(core.busy.ps() as f64 > 0.999 * ends[5000].ps() as f64, "{core:?}");
    }
}

/// Little's law: with a queue of 16 entries and a fixed device time, throughput is determined.
#[test]
fn a_full_queue_keeps_its_depth() {
    let mut config = plain();
    config.host.queue_depth = 17;
    (config.host.submit, config.host.complete) = (ns(1), ns(1));
    config.host.completion = host::Completion::interrupts(ns(0), ns(0));
    config.device.firmware.cores = 8;
    let asked: Vec<Asked> = (0..1600).map(|n| (Time::ZERO, 0, Request::new(Op::Read, n * 4096, 512))).collect();
    let mut bench = Bench::new(&config, Back::constant(Time::from_us(100)));
    bench.run(&asked);
    assert_eq!(bench.front.waited(), 1600 - 16);
    // There are a hundred rounds of 16 commands. A round takes the time from doorbell to completion and little more.
    let turn = bench.now().ps() as f64 / 100.0;
    assert!((turn / 1e6 - 101.9).abs() < 0.5, "{turn}");
}
