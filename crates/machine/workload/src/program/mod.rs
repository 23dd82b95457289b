//! Programs: what their threads do to memory and to files, instruction by instruction, made up from a few numbers.
//!
//! A program is a TOML file. Its `kind` says what it does, and which other keys it has:
//!
//! | kind | what its threads do |
//! | --- | --- |
//! | `gups` | random updates of a table in memory |
//! | `chase` | loads of a table, the address of each in the one before |
//! | `stream` | STREAM's four kernels: arrays copied, scaled, added |
//! | `mix` | reads of a table of which a given part goes to a random place, and the others to the next |
//! | `mmap` | random reads of a file that is mapped |
//! | `dd-read`, `dd-write` | a file from its beginning to its end, in blocks |
//! | `fileserver`, `webproxy`, `webserver`, `varmail`, `oltp`, `videoserver` | filebench's personalities |
//! | `inference` | tokens of a large language model: weights and context, read from end to end |
//! | `trace` | a memory trace ([`crate::memory`]), on one thread |
//!
//! `[[program]]` tables, each with a `kind` of its own, are programs that run at once. A file that is no TOML is a memory
//! trace.
//!
//! [`Programs`] are the [`Steps`] of all their threads, one program's after another's, and the [`Region`]s of memory that they
//! use. Every random choice is from the stream `program.N.T` of thread T of program N.

mod chase;
mod filebench;
mod inference;
mod keys;
mod random;
mod replay;
mod sequential;
mod stream;

use std::path::Path;

use media::{Step, Steps};
use sim::Streams;

use crate::error::Error;
use crate::trace::TraceError;
use keys::Keys;

/// What holds a region's bytes where they are not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Nothing: memory of the program's own, which is swapped out.
    Anonymous,
    /// A file that the program has mapped.
    Mapped,
    /// A file that it reads and writes by calls.
    File,
}

/// What a region's bytes are as time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Where they were put long ago: in files, in flash that is main memory.
    Found,
    /// Written before, from the region's beginning to its end.
    Written,
    /// Nothing: the program allocates them, and what it has not written is zeros.
    Allocated,
}

/// Memory that a program uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// What it is: `table`, `file`, `buffers`.
    pub name: &'static str,
    /// What holds its bytes.
    pub backing: Backing,
    /// Its first byte, of a page.
    pub base: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What its bytes are as time begins.
    pub before: Before,
}

/// Regions begin at multiples of this: of a page, and of the longest that main memory is made of.
const ALIGN: u64 = 64 << 10;

/// What is known of a program's thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramInfo {
    /// Its kind.
    pub kind: String,
    /// Threads.
    pub threads: u16,
    /// Keys and values, as the file has them.
    pub options: Vec<(String, String)>,
}

/// A thread of a program.
trait Thread: Send {
    /// Appends its next steps; none where it has ended.
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError>;
}

/// Programs that run at once.
pub struct Programs {
    threads: Vec<Box<dyn Thread>>,
    programs: Vec<ProgramInfo>,
    regions: Regions,
    error: Option<TraceError>,
    /// Threads whose accesses a cache has missed already, a bit each.
    uncached: u64,
}

/// Regions that are laid out one behind the other.
#[derive(Clone, Debug, Default)]
struct Regions(Vec<Region>);

impl Regions {
    fn end(&self) -> u64 {
        self.0.last().map_or(0, |region| (region.base + region.bytes).next_multiple_of(ALIGN))
    }

    /// Adds one. Its base.
    fn add(&mut self, name: &'static str, backing: Backing, before: Before, bytes: u64) -> u64 {
        let base = self.end();
        self.0.push(Region { name, backing, base, bytes, before });
        base
    }
}

/// What a program is made with.
struct Making<'a> {
    keys: &'a mut Keys,
    regions: &'a mut Regions,
    threads: &'a mut Vec<Box<dyn Thread>>,
    streams: &'a Streams,
    number: usize,
    folder: &'a Path,
    uncached: &'a mut u64,
}

impl Making<'_> {
    fn stream(&self, thread: u16) -> sim::Rng {
        self.streams.stream(&format!("program.{}.{thread}", self.number))
    }
}

/// Most threads of all programs.
pub const THREADS_MAX: usize = 64;

impl Programs {
    /// Opens a file of programs, or a memory trace.
    ///
    /// # Errors
    /// If it cannot be read, or is neither.
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

    /// The same of a text; `file` is for messages, and what it names is sought beside it.
    ///
    /// # Errors
    /// As for [`Programs::open`].
    pub fn parse(file: &str, text: &str, streams: &Streams) -> Result<Programs, Error> {
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        let mut all = Programs::none();
        for (number, mut keys) in keys::parse(file, text)?.into_iter().enumerate() {
            let before = all.threads.len();
            let mut making = Making {
                keys: &mut keys,
                regions: &mut all.regions,
                threads: &mut all.threads,
                streams,
                number,
                folder: &folder,
                uncached: &mut all.uncached,
            };
            let kind = make(&mut making)?;
            keys.finish()?;
            if all.threads.len() > THREADS_MAX {
                let found = format!("{} threads of all programs, expected at most {THREADS_MAX}", all.threads.len());
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

    /// Threads of all of them.
    pub fn threads(&self) -> u16 {
        self.threads.len() as u16
    }

    /// The programs; their threads are numbered in this order.
    pub fn programs(&self) -> &[ProgramInfo] {
        &self.programs
    }

    /// Memory that they use, in order of address, without gaps but for [`Region::base`]'s alignment.
    pub fn regions(&self) -> &[Region] {
        &self.regions.0
    }

    /// Bytes from address zero to the last region's end.
    pub fn bytes(&self) -> u64 {
        self.regions.end()
    }

    /// Threads whose accesses go past the processor's caches, a bit each: traces of what caches have missed.
    pub fn uncached(&self) -> u64 {
        self.uncached
    }

    /// What ended a trace before its end, if anything did.
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

/// The kinds, each with what makes it.
type Make = fn(&mut Making<'_>, &'static str) -> Result<(), Error>;
const KINDS: [(&str, Make); 15] = [
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
    ("trace", replay::make),
];

fn make(making: &mut Making<'_>) -> Result<&'static str, Error> {
    let kind = making.keys.choice("kind", &KINDS.map(|(name, _)| name), None)?;
    let (name, make) = KINDS[kind];
    make(making, name)?;
    Ok(name)
}
