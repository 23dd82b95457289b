//! Whether a run on a drive prepared as `steady` is steady from its first request: the rate and the 99.9th percentile of
//! random writes in ten intervals of the first part of a drive-write, relative to those of as long a run after it.
//!
//! `steady_start [PRESET[@1/N][=PART]]...`: `PART` is the part of a drive-write, a quarter by default. Without arguments,
//! every drive preset at its smallest scale, and three at full size. Prints `docs/steady-start.md`.

use std::process::ExitCode;

use media::{Op, Request};
use nand::PayloadKind;
use sim::Streams;
use sim::{Histogram, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::memory::MainMemory;
use system::parts::Parts;
use system::{LinkType, System, presets};

const INTERVALS: usize = 10;
const DEPTH: u32 = 32;
const BYTES: u64 = 4096;

/// Rate and tail of one interval.
#[derive(Clone, Copy)]
struct Interval {
    iops: f64,
    tail_us: f64,
}

/// Presets measured at full size too, and the part of a drive-write.
const WHOLE: [&str; 3] = ["nvme-client-tlc=0.02", "nvme-enterprise-tlc=0.02", "samsung-980-pro-1tb=0.02"];

fn main() -> ExitCode {
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    if asked.is_empty() {
        asked = presets().iter().filter_map(|(name, _)| smallest(name)).collect();
        asked.extend(WHOLE.map(str::to_owned));
    }
    print!("{}", include_str!("page.md"));
    let mut status = ExitCode::SUCCESS;
    for argument in asked {
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

/// Returns the smallest copy of a drive that takes random writes, `None` for other systems.
fn smallest(preset: &str) -> Option<String> {
    let system = System::load(preset, &[]).ok()?;
    let drive = !matches!(system.link.kind, LinkType::None | LinkType::OneNand);
    if !drive || system.has_zones() || system.memory.kind != MainMemory::None {
        return None;
    }
    // The message that refuses a smaller copy names it.
    let refused = System::load(preset, &[("scale", "1/65536")]).err()?.to_string();
    let (_, rest) = refused.split_once("expected at least ")?;
    Some(format!("{preset}@{}", rest.split_once(':')?.0))
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
    let first = play(&mut machine, &parts, &streams, requests);
    let long = play(&mut machine, &parts, &Streams::new(2), requests);
    let mean = long.iter().map(|each| each.iops).sum::<f64>() / INTERVALS as f64;
    let tail = long.iter().map(|each| each.tail_us).sum::<f64>() / INTERVALS as f64;
    let list = |of: fn(&Interval) -> f64, whole: f64| {
        first.iter().map(|each| format!("{:.2}", of(each) / whole)).collect::<Vec<_>>().join(" ")
    };
    Ok(format!(
        "| `{preset}` | {scale} | {part} | {mean:.0} | {tail:.0} us | {} | {} |",
        list(|each| each.iops, mean),
        list(|each| each.tail_us, tail)
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
