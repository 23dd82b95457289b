//! Options of a probe: the tests, their limits and the required confidence.

use serde::Serialize;

/// A test of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Whether the drive caches reads, and how much (the paper's Figure 4).
    ReadCache,
    /// The cached part of the mapping table, and its units (Figure 9).
    MappingCache,
    /// Contiguous bytes on one die.
    Stripe,
    /// Reads that the drive serves in parallel.
    Parallelism,
    /// Whether and how many writes are acknowledged before they are in flash (Figure 7), and the effect of a flush.
    WriteBuffer,
}

impl Test {
    /// All tests in execution order; the test that writes comes last.
    pub const ALL: [Test; 5] =
        [Test::ReadCache, Test::MappingCache, Test::Stripe, Test::Parallelism, Test::WriteBuffer];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Test::ReadCache => "read-cache",
            Test::MappingCache => "mapping-cache",
            Test::Stripe => "stripe",
            Test::Parallelism => "parallelism",
            Test::WriteBuffer => "write-buffer",
        }
    }

    /// Returns whether the test writes.
    pub fn writes(self) -> bool {
        self == Test::WriteBuffer
    }

    /// Describes the test by a method in one line.
    pub fn help_by(self, method: Method) -> &'static str {
        match (method, self) {
            (Method::Paper { .. }, Test::ReadCache) => {
                "reads 512 MB, then a request twice, of the paper's sizes: does the second suddenly take longer?"
            }
            (Method::Paper { .. }, Test::MappingCache) => {
                "reads a block of each of the paper's numbers of sections twice: does the second suddenly take longer?"
            }
            (Method::Paper { .. }, Test::WriteBuffer) => {
                "writes 512 MB, a request of the paper's sizes, a flush, and the request: does it suddenly take longer?"
            }
            _ => self.help(),
        }
    }

    /// Describes the test in one line.
    pub fn help(self) -> &'static str {
        match self {
            Test::ReadCache => "reads regions of increasing size twice, page by page: is the second pass faster?",
            Test::MappingCache => {
                "reads one block in each of an increasing number of sections twice: is the second pass faster?"
            }
            Test::Stripe => "reads two pages at once at increasing distance: do they wait for one another?",
            Test::Parallelism => {
                "reads random pages at increasing queue depth: at which depth does throughput stop growing?"
            }
            Test::WriteBuffer => "writes bursts into an empty buffer: how much is acknowledged at full speed?",
        }
    }
}

/// How sizes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By doubling and bisection, in untouched regions.
    Search,
    /// As the paper does: its sizes in order, each after 512 MB of other requests.
    Paper {
        /// Distance of the sizes that are tried; 1: all.
        every: u32,
    },
}

impl Method {
    /// Returns whether the method has a form of `test`.
    pub fn has(self, test: Test) -> bool {
        self == Method::Search || matches!(test, Test::ReadCache | Test::MappingCache | Test::WriteBuffer)
    }

    /// Returns the distance of the paper's sizes that are tried.
    pub fn every(self) -> u32 {
        match self {
            Method::Search => 1,
            Method::Paper { every } => every,
        }
    }
}

/// Options of a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// The tests to run, in the order of [`Test::ALL`]. Tests that write are skipped on a target that is not writable.
    pub tests: Vec<Test>,
    /// How sizes are found.
    pub method: Method,
    /// Required confidence of verdicts: 0.99 accepts one error in a hundred.
    pub confidence: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Largest read cache to search for, in bytes.
    pub read_cache_max: u64,
    /// Largest write buffer to search for, in bytes.
    pub write_buffer_max: u64,
    /// Maximum number of bytes read. A test that would exceed it ends as inconclusive.
    pub read_bytes_max: u64,
    /// Maximum number of bytes written: the probe's share of the drive's endurance.
    pub write_bytes_max: u64,
    /// Whether to run the cache tests with the host memory buffer on and off and compare, where the target has a
    /// switch.
    pub hmb: bool,
    /// Whether to keep every latency in the report.
    pub keep_samples: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tests: Test::ALL.to_vec(),
            method: Method::Search,
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
