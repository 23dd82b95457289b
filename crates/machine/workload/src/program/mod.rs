//! Synthetic programs: the accesses of their threads to memory and files, generated from a few parameters.
//!
//! A program is a TOML file. Its `kind` selects the behavior and the other keys:
//!
//! | kind | threads |
//! | --- | --- |
//! | `gups` | update random words of a table in memory |
//! | `chase` | load from a table; the address of each load depends on the previous one |
//! | `stream` | run STREAM's four kernels: copy, scale and add arrays |
//! | `mix` | read or update a table: a given fraction at random positions, the rest sequentially |
//! | `mmap` | read random words of a memory-mapped file |
//! | `dd-read`, `dd-write` | read or write a file from start to end, in blocks |
//! | `fileserver`, `webproxy`, `webserver`, `varmail`, `oltp`, `videoserver` | run filebench's personalities |
//! | `inference` | generate tokens of a large language model, reading all weights and the context for each |
//! | `checkpoint` | update a table and make checkpoints, to which they return after faults |
//! | `trace` | replay a memory trace ([`crate::memory`]) on one thread |
//!
//! `[[program]]` tables, each with its own `kind`, are programs that run concurrently. A file that is not TOML is a
//! memory trace.
//!
//! [`Programs`] holds the [`Steps`] of all threads, program by program, and the [`Region`]s of memory that they use.
//! The random choices of thread T of program N come from the stream `program.N.T`.

mod builder;
mod chase;
mod checkpoint;
mod filebench;
mod inference;
pub mod keys;
mod random;
mod replay;
mod sequential;
mod stream;

use std::path::Path;

use media::{Step, Steps};
use sim::Streams;

use crate::error::Error;
use crate::trace::TraceError;
pub use builder::{Backing, InitialState, Region};
use builder::{Builder, Regions, Thread};

/// Description of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramInfo {
    /// The program's kind.
    pub kind: String,
    /// Number of threads.
    pub threads: u16,
    /// Keys and values as written in the file.
    pub options: Vec<(String, String)>,
}

/// Programs that run concurrently.
pub struct Programs {
    threads: Vec<Box<dyn Thread>>,
    programs: Vec<ProgramInfo>,
    regions: Regions,
    error: Option<TraceError>,
    /// Bit mask of the threads whose accesses are already cache misses.
    uncached: u64,
}

/// Maximum number of threads across all programs.
pub const THREADS_MAX: usize = 64;

impl Programs {
    /// Opens a file of programs, or a memory trace.
    ///
    /// # Errors
    /// If the file cannot be read, or is neither.
    pub fn open(path: &Path, streams: &Streams) -> Result<Programs, Error> {
        let file = path.display().to_string();
        if path.extension().is_none_or(|extension| extension != "toml") {
            let mut all = Programs::none();
            let thread = replay::Replay::open(path, &mut all.regions)?;
            all.uncached = u64::from(thread.holds_misses());
            all.threads.push(Box::new(thread));
            let options = vec![("file".to_owned(), file)];
            all.programs.push(ProgramInfo { kind: "trace".to_owned(), threads: 1, options });
            return Ok(all);
        }
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io { file: file.clone(), source })?;
        Programs::parse(&file, &text, streams)
    }

    /// Like [`Programs::open`], from a string. `file` is used in messages, and paths are relative to its folder.
    ///
    /// # Errors
    /// See [`Programs::open`].
    pub fn parse(file: &str, text: &str, streams: &Streams) -> Result<Programs, Error> {
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        let mut all = Programs::none();
        for (number, mut keys) in keys::parse(file, text)?.into_iter().enumerate() {
            let before = all.threads.len();
            let mut builder = Builder {
                keys: &mut keys,
                regions: &mut all.regions,
                threads: &mut all.threads,
                streams,
                number,
                folder: &folder,
                uncached: &mut all.uncached,
            };
            let kind = make(&mut builder)?;
            keys.finish()?;
            if all.threads.len() > THREADS_MAX {
                let found = format!("{} threads in total, expected at most {THREADS_MAX}", all.threads.len());
                return Err(keys.error("threads", &format!("found {found}")));
            }
            let threads = (all.threads.len() - before) as u16;
            all.programs.push(ProgramInfo { kind: kind.to_owned(), threads, options: keys.options() });
        }
        Ok(all)
    }

    fn none() -> Programs {
        Programs { threads: Vec::new(), programs: Vec::new(), regions: Regions::default(), error: None, uncached: 0 }
    }

    /// Returns the number of threads of all programs.
    pub fn threads(&self) -> u16 {
        self.threads.len() as u16
    }

    /// Returns the programs, in the order in which their threads are numbered.
    pub fn programs(&self) -> &[ProgramInfo] {
        &self.programs
    }

    /// Returns the memory regions, in ascending order and without gaps other than for the alignment of
    /// [`Region::base`].
    pub fn regions(&self) -> &[Region] {
        &self.regions.0
    }

    /// Returns the number of bytes from address zero to the end of the last region.
    pub fn bytes(&self) -> u64 {
        self.regions.end()
    }

    /// Returns a bit mask of the threads whose accesses bypass the processor's caches: traces of cache misses.
    pub fn uncached(&self) -> u64 {
        self.uncached
    }

    /// Takes the error that ended a trace early, if there was one.
    pub fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }
}

impl Steps for Programs {
    fn next(&mut self, thread: u16, steps: &mut Vec<Step>) {
        if let Err(error) = self.threads[usize::from(thread)].next(steps) {
            self.error.get_or_insert(error);
        }
    }
}

/// Constructor of each kind.
type Make = fn(&mut Builder<'_>, &'static str) -> Result<(), Error>;
const KINDS: [(&str, Make); 16] = [
    ("gups", random::make),
    ("mix", random::make),
    ("chase", chase::make),
    ("stream", stream::make),
    ("mmap", random::make),
    ("dd-read", sequential::make),
    ("dd-write", sequential::make),
    ("fileserver", filebench::make),
    ("webproxy", filebench::make),
    ("webserver", filebench::make),
    ("varmail", filebench::make),
    ("oltp", filebench::make),
    ("videoserver", filebench::make),
    ("inference", inference::make),
    ("checkpoint", checkpoint::make),
    ("trace", replay::make),
];

/// Returns true if `name` is a kind of program.
pub fn is_kind(name: &str) -> bool {
    KINDS.iter().any(|(kind, _)| *kind == name)
}

fn make(builder: &mut Builder<'_>) -> Result<&'static str, Error> {
    let kind = builder.keys.choice("kind", &KINDS.map(|(name, _)| name), None)?;
    let (name, make) = KINDS[kind];
    make(builder, name)?;
    Ok(name)
}
