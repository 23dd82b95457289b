//! The memory regions of programs, and the inputs for their construction.

use std::path::Path;

use media::Step;
use sim::Streams;

use super::keys::Keys;
use crate::trace::TraceError;

/// Storage behind a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// None: the program's own memory, which can be swapped out.
    Anonymous,
    /// A file that the program has mapped.
    Mapped,
    /// A file that the program accesses by calls.
    File,
}

/// State of a region at the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialState {
    /// Stored long ago: in files, or in flash used as main memory.
    Existing,
    /// Recently written, from start to end.
    Written,
    /// Empty: the program allocates it, and bytes not yet written are zeros.
    Allocated,
}

/// Memory region of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Name of the region: `table`, `file`, `buffers`.
    pub name: &'static str,
    /// Storage behind the region.
    pub backing: Backing,
    /// First byte; page-aligned.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// State at the start of the run.
    pub initial: InitialState,
}

/// Alignment of regions: a multiple of every supported page size.
const ALIGN: u64 = 64 << 10;

/// A thread of a program.
pub(super) trait Thread: Send {
    /// Appends the thread's next steps, or none if it has ended.
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError>;
}

/// Regions, laid out one after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Regions(pub(super) Vec<Region>);

impl Regions {
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |region| (region.base + region.bytes).next_multiple_of(ALIGN))
    }

    /// Adds a region. Returns its base.
    pub fn add(&mut self, name: &'static str, backing: Backing, initial: InitialState, bytes: u64) -> u64 {
        let base = self.end();
        self.0.push(Region { name, backing, base, bytes, initial });
        base
    }
}

/// Inputs for the construction of a program.
pub(super) struct Builder<'a> {
    pub keys: &'a mut Keys,
    pub regions: &'a mut Regions,
    pub threads: &'a mut Vec<Box<dyn Thread>>,
    pub streams: &'a Streams,
    pub number: usize,
    pub folder: &'a Path,
    pub uncached: &'a mut u64,
}

impl Builder<'_> {
    pub fn stream(&self, thread: u16) -> sim::Rng {
        self.streams.stream(&format!("program.{}.{thread}", self.number))
    }
}
