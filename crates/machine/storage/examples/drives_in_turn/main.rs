//! Several drives as one target, as in `drives/980pro-reader-beside-writers.csv`: a reader and writers, each of which visits
//! the drives in turn. Prints a line of JSON for each number of writers (`make validate`; docs/model.md explains it).

mod arguments;
mod arrangement;
mod drive;
mod figures;
mod jobs;
mod target;

use std::process::ExitCode;

use arguments::Arguments;
use arrangement::Arrangement;
use drive::shrunk;
use figures::figures;
use system::System;

fn main() -> ExitCode {
    let run = |arguments: Arguments| -> Result<(), String> {
        let sets: Result<Vec<_>, _> = arguments.sets.iter().map(|set| System::split_set(set)).collect();
        let sets = sets.map_err(|error| error.to_string())?;
        let system = shrunk(&arguments.system, &sets, arguments.part).map_err(|error| error.to_string())?;
        for writers in &arguments.writers {
            let arrangement = Arrangement { writers: *writers, ..arguments.arrangement.clone() };
            let target = arrangement.target(&system, arguments.images.as_deref());
            let mut target = target.map_err(|error| error.to_string())?;
            target.run(arrangement.end());
            println!("{}", figures(&target, arrangement.measured, *writers));
        }
        Ok(())
    };
    match Arguments::parse().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
