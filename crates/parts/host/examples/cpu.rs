//! Measures the cost of an access: run it under `valgrind --tool=callgrind --toggle-collect='*measured*'` with two
//! numbers of accesses, and divide the difference of the instruction counts by the difference of the accesses.
//! `bench/cpu.sh` does that.
//!
//! ```text
//! cpu PATTERN ACCESSES
//! ```
//!
//! Patterns: `hits` (loads from 16 KiB), `sparse` (the same, 200 instructions apart), `second` (loads from 128 KiB),
//! and `misses` (loads from 1 GiB, a third of them stores, with a memory latency of 100 ns).

use std::collections::VecDeque;

use host::cpu::{Bare, Cpu, CpuConfig, L1, L2, Llc};
use media::{Act, Step, Steps};
use sim::{Streams, Time};

/// Repeats the same steps until `left` have been delivered.
struct Repeated {
    steps: Vec<Step>,
    left: usize,
}

impl Steps for Repeated {
    fn next(&mut self, _: u16, steps: &mut Vec<Step>) {
        let count = self.left.min(self.steps.len());
        steps.extend_from_slice(&self.steps[..count]);
        self.left -= count;
    }
}

#[inline(never)]
fn measured(cpu: &mut Cpu, steps: &mut Repeated) {
    let (mut requests, mut under_way) = (Vec::new(), VecDeque::new());
    loop {
        let due = under_way.front().map_or(Time::MAX, |(at, _): &(Time, u32)| *at);
        match cpu.next_event() {
            Some(next) if next < due => {
                cpu.advance(due, &mut Bare, steps, &mut requests);
                for (at, request) in requests.drain(..) {
                    under_way.push_back((at + Time::from_ns(100), request.id));
                }
            }
            _ => match under_way.pop_front() {
                Some((at, id)) => _ = cpu.complete(id, at),
                None => return,
            },
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pattern, accesses] = &arguments[..] else { panic!("found {arguments:?}, expected PATTERN ACCESSES") };
    let left = accesses.parse().unwrap_or_else(|_| panic!("found {accesses}, expected a number of accesses"));
    let (bytes, instructions) = match pattern.as_str() {
        "hits" => (16 << 10, 3),
        "sparse" => (16 << 10, 200),
        "second" => (128 << 10, 3),
        "misses" => (1 << 30, 3),
        other => panic!("found {other}, expected hits, sparse, second or misses"),
    };
    let mut rng = Streams::new(1).stream("bench.cpu");
    let steps = (0..1 << 16)
        .map(|n| {
            let act = if pattern == "misses" && n % 3 == 2 { Act::Store } else { Act::Load };
            Step { instructions, act, bytes: 8, address: rng.below(bytes / 8) * 8 }
        })
        .collect();
    let config = CpuConfig {
        clock: 2_500_000_000,
        cores: None,
        width: 4,
        window: 128,
        stores: 32,
        misses: 10,
        write_backs: 32,
        caches: true,
        l1: L1 { size: 32 << 10, ways: 8, latency: 4 },
        l2: L2 { size: 256 << 10, ways: 8, latency: 12 },
        llc: Llc { size: 8 << 20, ways: 16, latency: 36 },
    };
    let mut cpu = Cpu::new(config, 1, 0);
    measured(&mut cpu, &mut Repeated { steps, left });
    let end = cpu.thread_stats()[0].end;
    println!("{} instructions in {end}, {:?}", cpu.instructions(), cpu.stats());
}
