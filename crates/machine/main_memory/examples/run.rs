//! Runs a workload on a system and prints the summary: what `make bench` measures, without Python around it.
//!
//! `run [--requests] SYSTEM WORKLOAD PREPARATION [key=value]...`; `--requests` records every request and where its time goes.

use std::path::Path;
use std::process::ExitCode;

use sim::Time;
use storage::prepare::Preparation;
use storage::run::requests::{RequestRow, Sink};
use storage::run::{RunOptions, run_logged};
use storage::summary::summary;
use system::System;
use system::memory::MainMemory;
use workload::Workload;

fn main() -> ExitCode {
    match play() {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(cause) => {
            eprintln!("{cause}");
            ExitCode::from(2)
        }
    }
}

fn play() -> Result<String, Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let records = arguments.first().is_some_and(|first| first == "--requests");
    arguments.drain(..usize::from(records));
    let [name, file, preparation, sets @ ..] = &arguments[..] else {
        return Err("expected: run SYSTEM WORKLOAD none|fill|random|steady [key=value]...".into());
    };
    let sets = sets.iter().map(|s| System::split_set(s)).collect::<Result<Vec<_>, _>>()?;
    let system = System::load(name, &sets)?;
    if system.memory.kind != MainMemory::None {
        let options = RunOptions { cache: std::env::var_os("NANDRAM_CACHE").map(Into::into), ..RunOptions::default() };
        let outcome = main_memory::run::run(&system, Path::new(file), &options, &mut |_| true)?;
        return Ok(serde_json::to_string_pretty(&outcome.summary())?);
    }
    let workload = Workload::open(Path::new(file), None)?;
    let (_, preparation) =
        Preparation::NAMES.iter().find(|(name, _)| name == preparation).ok_or("no such preparation")?;
    let options = RunOptions { preparation: Some(*preparation), ..RunOptions::default() };
    let mut latencies = Time::ZERO;
    let mut take = |rows: &[RequestRow]| {
        latencies = rows.iter().fold(latencies, |sum, row| sum + row.latency());
        true
    };
    let sink: Option<Sink<'_>> = if records { Some(&mut take) } else { None };
    let outcome = run_logged(&system, &workload, &options, sink, &mut |_| true)?;
    if records {
        eprintln!("sum of the latencies: {latencies}");
    }
    Ok(serde_json::to_string_pretty(&summary(&system, &outcome))?)
}
