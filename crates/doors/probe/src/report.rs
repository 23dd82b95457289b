//! What a probe found, and on what that rests: serialisable, with a version of its form.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::options::Options;
use crate::target::Facts;

/// Version of the form of a [`Report`]; raised whenever a reader of the older one could go wrong.
pub const VERSION: u32 = 1;

/// What the evidence says of a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is so, as sure as was asked for.
    Supported,
    /// It is not so, as sure as was asked for.
    Refuted,
    /// The evidence does not say.
    Inconclusive,
}

/// Where a cache or a buffer is, as far as can be seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the controller: its SRAM or its DRAM, which look the same from outside.
    Controller,
    /// In the host's memory: it is gone, or smaller, when the drive has none.
    HostMemory,
    /// In flash of one bit a cell, or the like: slower than memory, faster than the rest.
    Slc,
    /// Memory, of the controller or of the host: there was no switch to tell.
    Memory,
}

/// A quantity and between what it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// It is not less, as sure as was asked for.
    pub low: f64,
    /// It is not more, as sure as was asked for.
    pub high: f64,
    /// `B`, `units`, `us`, `requests`.
    pub unit: &'static str,
}

/// A point of a curve in which a knee is seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// What was varied.
    pub x: f64,
    /// What came of it.
    pub y: f64,
}

/// A measured curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What `x` is, with its unit.
    pub x: &'static str,
    /// What `y` is, with its unit.
    pub y: &'static str,
    /// The points, by `x`; an `x` may come several times.
    pub points: Vec<Point>,
    /// Where the knee is, in terms of `x`; none if there is none.
    pub knee: Option<f64>,
}

/// One hypothesis, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about: `read_cache`, `mapping_cache`, `mapping_unit`, `stripe`, `parallelism`, `write_buffer`, `flush`.
    pub about: &'static str,
    /// State of the host memory buffer meanwhile; none if it was not touched.
    pub hmb: Option<bool>,
    /// What the evidence says of its being there.
    pub verdict: Verdict,
    /// How large, where it is there and that could be told.
    pub size: Option<Estimate>,
    /// Where, as far as can be told.
    pub place: Option<Place>,
    /// The evidence, in a sentence.
    pub evidence: String,
    /// Numbers that the evidence rests on, with their units in their names.
    pub numbers: BTreeMap<&'static str, f64>,
    /// The curve, if there is one.
    pub curve: Option<Curve>,
}

impl Finding {
    /// A finding without a size.
    pub fn new(about: &'static str, verdict: Verdict, evidence: String) -> Finding {
        Finding { about, hmb: None, verdict, size: None, place: None, evidence, numbers: BTreeMap::new(), curve: None }
    }
}

/// What it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Requests made.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time of the target, picoseconds.
    pub target_ps: u64,
}

/// One batch of requests of which the latencies were kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Batch {
    /// The test.
    pub test: &'static str,
    /// State of the host memory buffer; none if it was not touched.
    pub hmb: Option<bool>,
    /// What the test varies.
    pub x: f64,
    /// What was asked first.
    pub op: String,
    /// Bytes of the first request.
    pub request_bytes: u64,
    /// Requests under way at a time.
    pub depth: u32,
    /// Requests: so many latencies belong to it.
    pub count: usize,
    /// From the first hand-over to the last end.
    pub elapsed_ns: u64,
}

/// Every latency that was measured: those of each batch behind those of the one before.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Samples {
    /// The batches, in their order.
    pub batches: Vec<Batch>,
    /// Their latencies.
    pub latency_ns: Vec<u64>,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// The program's.
    pub program: &'static str,
    /// What was probed.
    pub target: Facts,
    /// How.
    pub options: Options,
    /// Why it ended before all was done: what was found until then is below. None if all was.
    pub ended: Option<String>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What it cost.
    pub spent: Spent,
    /// Every latency, if they were to be kept.
    pub samples: Option<Samples>,
}

impl Report {
    /// The finding about `about`; with the host memory buffer in the state `hmb`, if it was switched.
    pub fn finding(&self, about: &str, hmb: Option<bool>) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.about == about && finding.hmb == hmb)
    }

    /// As JSON, ended by a line's end.
    ///
    /// # Panics
    /// Never: all of it can be written.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("numbers and texts");
        text.push('\n');
        text
    }
}
