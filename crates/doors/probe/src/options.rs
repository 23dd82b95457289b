//! What a probe may do, and how sure it is to be.

use serde::Serialize;

/// What to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Whether what was read is kept, and how much (the paper's Figure 4).
    ReadCache,
    /// How much of the map is at hand, and in which units (Figure 9).
    MappingCache,
    /// Bytes on one die before the next has its turn.
    Stripe,
    /// How many reads the drive works on at once.
    Parallelism,
    /// Whether writes are acknowledged before they are in flash, and how much (Figure 7); what a flush does.
    WriteBuffer,
}

impl Test {
    /// All, in the order in which they are made: what writes comes last.
    pub const ALL: [Test; 5] =
        [Test::ReadCache, Test::MappingCache, Test::Stripe, Test::Parallelism, Test::WriteBuffer];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Test::ReadCache => "read-cache",
            Test::MappingCache => "mapping-cache",
            Test::Stripe => "stripe",
            Test::Parallelism => "parallelism",
            Test::WriteBuffer => "write-buffer",
        }
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self == Test::WriteBuffer
    }

    /// What it does, in a line.
    pub fn help(self) -> &'static str {
        match self {
            Test::ReadCache => "reads regions of growing size twice, a page at a time: is the second time faster?",
            Test::MappingCache => "reads a block of each of more and more sections twice: is the second time faster?",
            Test::Stripe => "reads two pages at once, further and further apart: do they wait for one another?",
            Test::Parallelism => "reads pages at random, more and more at once: until when are there more a second?",
            Test::WriteBuffer => "writes bursts into an empty buffer: until when are they acknowledged at once?",
        }
    }
}

/// How to probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// What to find out, in the order of [`Test::ALL`]. Tests that write are left out of a target that is not writable.
    pub tests: Vec<Test>,
    /// How sure verdicts are to be: 0.99 accepts one error of a hundred.
    pub confidence: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Largest read cache looked for, bytes.
    pub read_cache_max: u64,
    /// Largest write buffer looked for, bytes.
    pub write_buffer_max: u64,
    /// Most bytes that may be read. What needs more ends as inconclusive.
    pub read_bytes_max: u64,
    /// Most bytes that may be written: what the probe may cost of the drive's life.
    pub write_bytes_max: u64,
    /// Switch the host memory buffer off and on, where the target has a switch, and compare.
    pub hmb: bool,
    /// Keep every latency for the report.
    pub keep_samples: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tests: Test::ALL.to_vec(),
            confidence: 0.99,
            seed: 1,
            read_cache_max: 16 << 20,
            write_buffer_max: 16 << 20,
            read_bytes_max: 64 << 30,
            write_bytes_max: 2 << 30,
            hmb: true,
            keep_samples: true,
        }
    }
}
