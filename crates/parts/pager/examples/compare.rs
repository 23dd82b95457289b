//! Compares policies on page traces in a Markdown table: time relative to LRU at each SRAM size, and the distance to
//! the lower bound for any schedule. `tuned` is PM-XIP with the best threshold and window up to 64 for each trace.
//!
//! `compare [--energy] [--rounds N] [FILE]...`: each file is a sequence of little-endian `u32` page numbers; without
//! files, the synthetic localities are used. `--rounds` sets the rounds of the bound (default 0: no bound; more than
//! 200 hardly improves it).

use pager::policy::{Arc, Lru, Min, PmXip, Policy, Reading, RentOrBuy, count};
use pager::sweep::{cores, parallel, thresholds};
use pager::synthetic::LOCALITIES;
use pager::{Costs, Numbering, Weights, bound, future};
use sim::Streams;

const FRAMES: [u32; 6] = [2, 4, 8, 16, 32, 64];
/// Windows over which PM-XIP is tuned, each with all thresholds.
const WINDOWS: [u32; 6] = [2, 4, 8, 16, 32, 64];

struct Trace {
    name: String,
    pages: u32,
    requests: Vec<u32>,
}

fn read(file: &str) -> Result<Trace, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    if !bytes.len().is_multiple_of(4) {
        return Err(format!("{file}: {} bytes, expected a multiple of 4", bytes.len()));
    }
    let names: Vec<u64> =
        bytes.chunks_exact(4).map(|word| u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))).collect();
    let (mut numbering, mut requests) = (Numbering::new(), Vec::new());
    numbering.number_all(&names, &mut requests);
    let name = std::path::Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy().into_owned());
    Ok(Trace { name, pages: numbering.pages(), requests })
}

fn synthetic() -> Vec<Trace> {
    let traces = LOCALITIES.iter().map(|(name, locality)| Trace {
        name: (*name).into(),
        pages: locality.pages,
        requests: locality.trace(300_000, &mut Streams::new(1).stream(name)),
    });
    traces.collect()
}

/// Formats one row of the table.
fn line(trace: &Trace, frames: u32, weights: &Weights, rounds: u32) -> String {
    let Trace { name, pages, requests } = trace;
    fn cost<P: Policy<Request = u32>>(policy: P, trace: &Trace, weights: &Weights) -> u64 {
        weights.total(&count(policy, trace.pages, &trace.requests))
    }
    let lru = cost(Lru::new(frames), trace, weights);
    let arc = cost(Arc::new(frames), trace, weights);
    let min = weights.total(&count(Min::new(frames), *pages, &future::foresee(*pages, requests)));
    let paper = cost(PmXip::new(frames, 2, 8, 4, Reading::FIGURE_5), trace, weights);
    let swept = WINDOWS.iter().flat_map(|&window| thresholds(*pages, requests, frames, 2, window, Reading::FIGURE_5));
    let tuned = swept.map(|counts| weights.total(&counts)).min().expect("there are windows");
    let ours = cost(RentOrBuy::new(frames, 2, weights), trace, weights);
    let of_lru = |cost: u64| cost as f64 / lru as f64;
    let bound = if rounds == 0 {
        String::from("-")
    } else {
        let bound = bound::lower_bound(*pages, requests, frames, 2, weights, ours.min(min).min(paper), rounds);
        format!("{:.3}", of_lru(bound))
    };
    let (arc, min, paper, tuned, ours) = (of_lru(arc), of_lru(min), of_lru(paper), of_lru(tuned), of_lru(ours));
    let better = ours / paper.min(1.0);
    format!("| {name} | {frames} | {arc:.3} | {min:.3} | {paper:.3} | {tuned:.3} | {ours:.3} | {better:.3} | {bound} |")
}

fn main() -> Result<(), String> {
    let (mut weights, mut rounds, mut traces) = (Weights::time(&Costs::ONENAND_2006), 0, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--energy" => weights = Weights::energy(&Costs::ONENAND_2006),
            "--rounds" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                rounds = number.ok_or("--rounds: expected a number")?;
            }
            file => traces.push(read(file)?),
        }
    }
    if traces.is_empty() {
        traces = synthetic();
    }
    println!("| trace | SRAM KB | ARC | MIN | PM-XIP(8,4) | tuned | rent or buy | over min(LRU, PM-XIP) | bound |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let lines = parallel(traces.len() * FRAMES.len(), cores(), |job| {
        line(&traces[job / FRAMES.len()], FRAMES[job % FRAMES.len()], &weights, rounds)
    });
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}
