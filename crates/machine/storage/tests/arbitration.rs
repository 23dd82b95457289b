//! Weighted round robin among submission queues, seen from the host.

use media::{Op, Request, Status};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

/// A controller that processes four commands at a time, for a host with three queues, each of another class.
const QUEUES: &str = r#"
extends = "nvme-client-tlc"
[host]
cores = 3
queue_priority = ["high", "medium", "low"]
[device]
max_commands = 4
fetch_burst = 1
arbitration = "weighted-round-robin"
arbitration_burst = 1
[flash]
channels = 2
chips = 1
blocks = 24
pages = 48
[ftl]
capacity = "auto"
over_provisioning = 0.4
gc.start = 3
slc_cache.size = "0B"
"#;

/// Returns how many of 4,000 random reads each queue completes while all are full.
fn shares(weights: [&str; 3]) -> [f64; 3] {
    let [high, medium, low] = weights;
    let sets = [("device.weights.high", high), ("device.weights.medium", medium), ("device.weights.low", low)];
    let system = System::from_toml("queues.toml", QUEUES, &sets).unwrap_or_else(|error| panic!("{error}"));
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Filled, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(&parts, ftl, nand);
    let mut rng = streams.stream("test.arbitration");
    let units = u64::from(parts.ftl.user_units);
    let mut submit = |machine: &mut Machine, io: u32| {
        let now = machine.now();
        machine.submit(now, io, (io % 3) as u16, Request::new(Op::Read, rng.below(units) * 4096, 4096));
    };
    for io in 0..3 * 64 {
        submit(&mut machine, io);
    }
    let (mut served, mut completions) = ([0.0; 3], Vec::new());
    while served.iter().sum::<f64>() < 4000.0 {
        assert!(machine.advance(Time::MAX, &mut completions), "requests are outstanding but no event is pending");
        for end in completions.drain(..) {
            assert_eq!(end.status, Status::Ok);
            served[end.io as usize % 3] += 1.0;
            submit(&mut machine, end.io);
        }
    }
    served.map(|count| count / 4000.0)
}

#[test]
fn each_class_has_the_share_of_its_weight() {
    for weights in [[6, 3, 1], [2, 7, 1], [1, 1, 8]] {
        let found = shares(weights.map(|weight: u32| weight.to_string()).each_ref().map(String::as_str));
        for (share, weight) in found.iter().zip(weights) {
            assert!((share - f64::from(weight) / 10.0).abs() < 0.02, "{found:?} of {weights:?}");
        }
    }
}
