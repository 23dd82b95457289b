//! The findings of a probe with their evidence, in a serializable, versioned format.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::options::Options;
use crate::target::Facts;

/// Version of the [`Report`] format; incremented for changes that could mislead readers of the previous version.
pub const VERSION: u32 = 1;

/// Verdict of the evidence on a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The hypothesis holds at the requested confidence.
    Supported,
    /// The hypothesis is false at the requested confidence.
    Refuted,
    /// The evidence is insufficient.
    Inconclusive,
}

/// Location of a cache or buffer, as far as it can be observed from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the controller's SRAM or DRAM, which cannot be distinguished from outside.
    Controller,
    /// In host memory: absent or smaller when the drive has none.
    HostMemory,
    /// In single-level-cell flash or similar: slower than memory, faster than the rest of the flash.
    Slc,
    /// In memory of the controller or of the host; without a switch they cannot be distinguished.
    Memory,
}

/// A quantity with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Best estimate.
    pub value: f64,
    /// Lower bound at the requested confidence.
    pub low: f64,
    /// Upper bound at the requested confidence.
    pub high: f64,
    /// `B`, `units`, `us`, `requests`.
    pub unit: &'static str,
}

/// A point of a measured curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Value of the varied parameter.
    pub x: f64,
    /// Measured value.
    pub y: f64,
}

/// A measured curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Meaning and unit of `x`.
    pub x: &'static str,
    /// Meaning and unit of `y`.
    pub y: &'static str,
    /// The points, sorted by `x`; values of `x` may repeat.
    pub points: Vec<Point>,
    /// Position of the knee in terms of `x`; `None` if there is none.
    pub knee: Option<f64>,
}

/// The result for one hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Subject: `read_cache`, `mapping_cache`, `mapping_unit`, `stripe`, `parallelism`, `write_buffer`, `flush`.
    pub about: &'static str,
    /// State of the host memory buffer during the test; `None` if it was not switched.
    pub hmb: Option<bool>,
    /// Whether the subject exists.
    pub verdict: Verdict,
    /// Size of the subject, if it exists and its size could be determined.
    pub size: Option<Estimate>,
    /// Location of the subject, if it could be determined.
    pub place: Option<Place>,
    /// The evidence in one sentence.
    pub evidence: String,
    /// Quantities behind the evidence; the names include units.
    pub numbers: BTreeMap<&'static str, f64>,
    /// The measured curve, if any.
    pub curve: Option<Curve>,
}

impl Finding {
    /// Creates a finding without a size.
    pub fn new(about: &'static str, verdict: Verdict, evidence: String) -> Finding {
        Finding { about, hmb: None, verdict, size: None, place: None, evidence, numbers: BTreeMap::new(), curve: None }
    }
}

/// The cost of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Number of requests.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Elapsed time of the target in picoseconds.
    pub target_ps: u64,
}

/// One batch of requests whose latencies were recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Batch {
    /// Name of the test.
    pub test: &'static str,
    /// State of the host memory buffer; `None` if it was not switched.
    pub hmb: Option<bool>,
    /// Value of the parameter that the test varies.
    pub x: f64,
    /// Operation of the first request.
    pub op: String,
    /// Length of the first request in bytes.
    pub request_bytes: u64,
    /// Queue depth.
    pub depth: u32,
    /// Number of requests, and so of latencies.
    pub count: usize,
    /// Time from the first submission to the last completion.
    pub elapsed_ns: u64,
}

/// All measured latencies, batch after batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Samples {
    /// The batches in execution order.
    pub batches: Vec<Batch>,
    /// The latencies of all batches.
    pub latency_ns: Vec<u64>,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Format version, [`VERSION`].
    pub version: u32,
    /// Version of the program.
    pub program: &'static str,
    /// The probed target.
    pub target: Facts,
    /// Options of the probe.
    pub options: Options,
    /// Reason for which the probe ended early, with the findings up to then; `None` if it completed.
    pub ended: Option<String>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The cost of the probe.
    pub spent: Spent,
    /// All latencies, if requested.
    pub samples: Option<Samples>,
}

impl Report {
    /// Returns the finding about `about` with the host memory buffer in state `hmb`.
    pub fn finding(&self, about: &str, hmb: Option<bool>) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.about == about && finding.hmb == hmb)
    }

    /// Serializes the report as one line of JSON, with a final newline.
    ///
    /// # Panics
    /// Never; every field is serializable.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("numbers and texts");
        text.push('\n');
        text
    }
}
