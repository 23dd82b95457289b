//! Whether a run on a drive prepared as `steady` is steady from its first request: the rate and the 99.9th percentile of
//! random writes in ten intervals of the first part of a drive-write, relative to those of as long a run after it.
//!
//! `steady_start [PRESET[@1/N][=PART]]...`: `PART` is the part of a drive-write, a quarter by default. Prints Markdown.

use std::process::ExitCode;

use media::{Op, Request};
use nand::PayloadKind;
use sim::Streams;
use sim::{Histogram, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const INTERVALS: usize = 10;
const DEPTH: u32 = 32;
const BYTES: u64 = 4096;

/// Rate and tail of one interval.
#[derive(Clone, Copy)]
struct Interval {
    iops: f64,
    tail_us: f64,
}

fn main() -> ExitCode {
    println!(
        "| preset | scale | part of a drive-write | rate of the long run | p99.9 of the long run | rate of ten intervals | p99.9 of ten intervals | seconds |"
    );
    println!("| --- | --- | ---: | ---: | ---: | --- | --- | ---: |");
    let mut status = ExitCode::SUCCESS;
    for argument in std::env::args().skip(1) {
        match row(&argument) {
            Ok(row) => println!("{row}"),
            Err(why) => {
                eprintln!("{argument}: {why}");
                status = ExitCode::from(2);
            }
        }
    }
    status
}

fn row(argument: &str) -> Result<String, Box<dyn std::error::Error>> {
    let (name, part) = argument.split_once('=').unwrap_or((argument, "0.25"));
    let (preset, scale) = name.split_once('@').unwrap_or((name, "1/1"));
    let system = System::load(preset, &[("scale", scale)])?;
    let parts = Parts::new(&system, PayloadKind::None)?;
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Steady, &streams, None)?;
    let (nand, ftl, _) = parts.mount(store, &streams)?;
    let mut machine = Machine::new(&parts, ftl, nand);
    let part: f64 = part.parse()?;
    let requests = (part * parts.user_bytes as f64 / BYTES as f64) as u64;
    let began = std::time::Instant::now();
    let first = play(&mut machine, &parts, &streams, requests);
    let long = play(&mut machine, &parts, &Streams::new(2), requests);
    let mean = long.iter().map(|each| each.iops).sum::<f64>() / INTERVALS as f64;
    let tail = long.iter().map(|each| each.tail_us).sum::<f64>() / INTERVALS as f64;
    let list = |of: fn(&Interval) -> f64, whole: f64| {
        first.iter().map(|each| format!("{:.2}", of(each) / whole)).collect::<Vec<_>>().join(" ")
    };
    Ok(format!(
        "| `{preset}` | {scale} | {part} | {mean:.0} | {tail:.0} us | {} | {} | {:.0} |",
        list(|each| each.iops, mean),
        list(|each| each.tail_us, tail),
        began.elapsed().as_secs_f64()
    ))
}

/// Writes `requests` times at random with [`DEPTH`] outstanding requests; returns the intervals of equal numbers of requests.
fn play(machine: &mut Machine, parts: &Parts, streams: &Streams, requests: u64) -> Vec<Interval> {
    let mut rng = streams.stream("steady_start");
    let blocks = parts.user_bytes / BYTES;
    let (mut completions, mut now) = (Vec::new(), machine.now());
    let mut begun: Vec<Time> = vec![now; DEPTH as usize];
    for io in 0..DEPTH {
        machine.submit(now, io, 0, Request::new(Op::Write, rng.below(blocks) * BYTES, BYTES));
    }
    let (mut found, mut done, mut latencies, mut since) = (Vec::new(), 0, Histogram::default(), now);
    while done < requests {
        assert!(machine.advance(Time::MAX, &mut completions), "requests are outstanding");
        now = machine.now();
        for completion in completions.drain(..) {
            done += 1;
            latencies.record(completion.at - begun[completion.io as usize]);
            if done * INTERVALS as u64 / requests > found.len() as u64 {
                let seconds = (completion.at - since).secs_f64();
                let count = latencies.count() as f64;
                found.push(Interval { iops: count / seconds, tail_us: latencies.percentile_ns(99.9) as f64 / 1000.0 });
                (latencies, since) = (Histogram::default(), completion.at);
            }
            begun[completion.io as usize] = now;
            if done + u64::from(DEPTH) <= requests {
                machine.submit(now, completion.io, 0, Request::new(Op::Write, rng.below(blocks) * BYTES, BYTES));
            }
        }
    }
    found
}
