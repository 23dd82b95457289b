//! Random writes to a drive prepared as `steady`: the intervals of a first run, and of as long a run after it.

use media::{Op, Request};
use nand::PayloadKind;
use sim::{Histogram, Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const INTERVALS: u64 = 10;
const DEPTH: u32 = 32;
/// Bytes per request, or a mapping unit where that is larger.
const BYTES: u64 = 4096;

/// Rate and 99.9th percentile of one interval.
#[derive(Clone, Copy)]
pub struct Interval {
    pub iops: f64,
    pub tail_us: f64,
}

/// Intervals of equal numbers of requests.
pub struct Intervals(pub Vec<Interval>);

impl Intervals {
    /// Returns the mean of a figure.
    pub fn mean(&self, of: fn(&Interval) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len() as f64
    }
}

/// Writes the part `part` of a drive twice; returns the intervals of both runs.
pub fn measure(system: &System, part: f64) -> Result<[Intervals; 2], Box<dyn std::error::Error>> {
    let parts = Parts::new(system, PayloadKind::None)?;
    let streams = Streams::new(1);
    let (store, _) = prepare(system, &parts, Preparation::Steady, &streams, None)?;
    let (nand, ftl, _) = parts.mount(store, &streams)?;
    let mut machine = Machine::new(&parts, ftl, nand);
    machine.hold_overwrites(&mut streams.stream("run.held"));
    let bytes = BYTES.max(system.ftl.unit);
    let requests = (part * parts.user_bytes as f64 / bytes as f64) as u64;
    let blocks = parts.user_bytes / bytes;
    Ok([1, 2].map(|seed| play(&mut machine, (blocks, bytes), &Streams::new(seed), requests)))
}

/// Writes `requests` of `blocks` blocks of `bytes` at random with [`DEPTH`] outstanding requests.
fn play(machine: &mut Machine, (blocks, bytes): (u64, u64), streams: &Streams, requests: u64) -> Intervals {
    let mut rng = streams.stream("steady_start");
    let mut draw = || Request::new(Op::Write, rng.below(blocks) * bytes, bytes);
    let (mut completions, mut now) = (Vec::new(), machine.now());
    let mut submitted: Vec<Time> = vec![now; DEPTH as usize];
    for io in 0..DEPTH {
        machine.submit(now, io, 0, draw());
    }
    let (mut found, mut done, mut latencies, mut since) = (Vec::new(), 0, Histogram::default(), now);
    while done < requests {
        assert!(machine.advance(Time::MAX, &mut completions), "requests are outstanding");
        now = machine.now();
        for completion in completions.drain(..) {
            done += 1;
            latencies.record(completion.at - submitted[completion.io as usize]);
            if done * INTERVALS / requests > found.len() as u64 {
                let iops = latencies.count() as f64 / (completion.at - since).secs_f64();
                found.push(Interval { iops, tail_us: latencies.percentile_ns(99.9) as f64 / 1000.0 });
                (latencies, since) = (Histogram::default(), completion.at);
            }
            submitted[completion.io as usize] = now;
            if done + u64::from(DEPTH) <= requests {
                machine.submit(now, completion.io, 0, draw());
            }
        }
    }
    Intervals(found)
}
