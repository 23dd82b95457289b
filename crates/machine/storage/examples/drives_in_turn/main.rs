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
use std::sync::Mutex;
use std::thread;

use arguments::Arguments;
use arrangement::Arrangement;
use drive::shrunk;
use figures::Figures;
use history::{Past, Run};
use jobs::{Addresses, BYTES};
use nand::PayloadKind;
use system::System;
use system::parts::Parts;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Simulates the runs with the asked numbers of writers, after all runs before them.
fn run(arguments: &Arguments, system: &System, seed: u64) -> Outcome<Vec<Figures>> {
    let parts = Parts::new(system, PayloadKind::None)?;
    let arrangement = &Arrangement { seed, ..arguments.arrangement };
    let addresses = Addresses { sequence: seed, own: arguments.own_addresses, requests: parts.user_bytes / BYTES };
    let mut past = Past::begin(system, &parts, seed, addresses)?;
    let (mut left, mut found) = (arguments.writers.clone(), Vec::new());
    for run in Run::all(arguments.part, arguments.lag) {
        let mut from = 0;
        if left.contains(&run.writers) {
            let (mut target, performed) = arrangement.target(system, &parts, &mut past, run)?;
            target.run(arrangement.end());
            found.push(Figures::new(target, arrangement.measured));
            // Later runs with as many writers had schedulers.
            left.retain(|writers| *writers != run.writers);
            from = performed;
        }
        if left.is_empty() {
            break;
        }
        past.write(run.writes(addresses, from, run.requests))?;
    }
    Ok(found)
}

/// Simulates the runs with each seed, as many at once as there are cores, and pools their figures.
fn run_seeds(arguments: &Arguments, system: &System) -> Outcome<Vec<Figures>> {
    let left = Mutex::new(arguments.seeds.iter());
    let next = || left.lock().expect("no thread panics while it holds the lock").next();
    let work = || -> Outcome<Vec<Vec<Figures>>> {
        std::iter::from_fn(next).map(|seed| run(arguments, system, *seed)).collect()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let found: Outcome<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a simulation panicked")).collect()
    });
    let mut seeds = found?.into_iter().flatten();
    let mut pooled = seeds.next().unwrap_or_default();
    for figures in seeds {
        pooled.iter_mut().zip(figures).for_each(|(pooled, each)| pooled.add(each));
    }
    Ok(pooled)
}

fn print(arguments: &Arguments) -> Outcome<()> {
    let sets: Vec<_> = arguments.sets.iter().map(|set| System::split_set(set)).collect::<Result<_, _>>()?;
    let system = shrunk(&arguments.system, &sets, arguments.part)?;
    for figures in run_seeds(arguments, &system)? {
        println!("{}", figures.json());
    }
    Ok(())
}

fn main() -> ExitCode {
    let result = Arguments::parse().and_then(|arguments| print(&arguments).map_err(|error| error.to_string()));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
