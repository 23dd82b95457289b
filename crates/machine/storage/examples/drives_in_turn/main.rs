//! Several drives as one target, as in `drives/980pro-reader-beside-writers.csv`: a reader and writers, each of which visits
//! the drives in turn. Prints a line of JSON for each number of writers (`make validate`; docs/model.md explains it).

mod arguments;
mod arrangement;
mod drive;
mod figures;
mod history;
mod jobs;
mod target;

use std::error::Error;
use std::process::ExitCode;

use arguments::Arguments;
use drive::shrunk;
use figures::figures;
use history::{Past, Run};
use jobs::{Addresses, BYTES};
use nand::PayloadKind;
use system::System;
use system::parts::Parts;

/// Simulates the runs with the asked numbers of writers, after all runs before them.
fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let sets: Vec<_> = arguments.sets.iter().map(|set| System::split_set(set)).collect::<Result<_, _>>()?;
    let system = shrunk(&arguments.system, &sets, arguments.part)?;
    let parts = Parts::new(&system, PayloadKind::None)?;
    let arrangement = &arguments.arrangement;
    let (sequence, requests) = (arrangement.seed, parts.user_bytes / BYTES);
    let addresses = Addresses { sequence, own: arguments.own_addresses, requests };
    let mut past = Past::begin(&system, &parts, arrangement.seed, addresses)?;
    let mut left = arguments.writers.clone();
    for run in Run::all(arguments.part, arguments.lag) {
        let mut from = 0;
        if left.contains(&run.writers) {
            let (mut target, performed) = arrangement.target(&system, &parts, &mut past, run)?;
            target.run(arrangement.end());
            println!("{}", figures(&target, arrangement.measured, run.writers));
            // Later runs with as many writers had schedulers.
            left.retain(|writers| *writers != run.writers);
            from = performed;
        }
        if left.is_empty() {
            break;
        }
        past.write(run.writes(addresses, from, run.requests))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let result = Arguments::parse().and_then(|arguments| run(&arguments).map_err(|error| error.to_string()));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
