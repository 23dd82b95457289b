//! Lists the places of Rust files that a mutant can change, as one JSON object per line.
//!
//! Usage: `rust_sites ROOT FILE...`, with files relative to `ROOT`. See `mutant.rs` for the fields of a line.

mod exclude;
mod mutant;
mod walk;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(root) = args.next() else {
        eprintln!("usage: rust_sites ROOT FILE...");
        return ExitCode::from(2);
    };
    for file in args {
        let source = match std::fs::read_to_string(Path::new(&root).join(&file)) {
            Ok(source) => source,
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::from(2);
            }
        };
        match walk::mutants(&file, &source) {
            Ok(mutants) => mutants.iter().for_each(|mutant| println!("{mutant}")),
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
