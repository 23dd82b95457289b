//! Runs a probe from its first test to its report.

use crate::measure::bench::{Bench, Stop};
use crate::measure::{map_cache, paper, parallel, read_cache, write_buffer};
use crate::options::{Method, Options, Test};
use crate::place;
use crate::report::{Finding, Report, VERSION, Verdict};
use crate::target::{Target, TargetError};

/// Progress of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The current test.
    pub test: Test,
    /// State of the host memory buffer; `None` if it is not switched.
    pub hmb: Option<bool>,
    /// Completed and total number of tests.
    pub done: (usize, usize),
}

/// One step of a probe: a test, and the state of the host memory buffer during it.
pub type Step = (Test, Option<bool>);

/// Returns the steps of a probe in execution order. Has no side effects.
pub fn plan(writable: bool, has_hmb: bool, options: &Options) -> Vec<Step> {
    let chosen = |test: &Test| options.tests.contains(test) && options.method.has(*test);
    let tests = || Test::ALL.into_iter().filter(|test| chosen(test) && (writable || !test.writes()));
    if !(has_hmb && options.hmb) {
        return tests().map(|test| (test, None)).collect();
    }
    // The state matters only for caches; the stripe test is independent of it.
    let cache = |test: &Test| !matches!(test, Test::Stripe);
    // Writes come last, in either state: they leave changes of the map behind, which the drive merges when it next loads
    // what they change. What it then writes back is in its memory for a while, as if the map cache were larger.
    let reads = || tests().filter(|test| !test.writes());
    let writes = || tests().filter(|test| test.writes());
    let with = reads().map(|test| (test, Some(true)));
    let without = reads().filter(cache).chain(writes()).map(|test| (test, Some(false)));
    with.chain(without).chain(writes().map(|test| (test, Some(true)))).collect()
}

/// Probes `target`. `watch` is called before each step and returns whether to continue.
///
/// # Errors
/// If the target fails or `watch` returns `false`.
pub fn probe(
    target: &mut dyn Target,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, TargetError> {
    let (report, ended) = probe_as_far_as_possible(target, options, watch);
    ended.map(|()| report)
}

/// Like [`probe`], but also returns the findings up to a failure or interruption.
pub fn probe_as_far_as_possible(
    target: &mut dyn Target,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> (Report, Result<(), TargetError>) {
    let facts = target.facts().clone();
    let mut bench = Bench::new(target, options);
    let mut findings = Vec::new();
    let ended = make_steps(&mut bench, options, watch, &mut findings);
    findings.sort_by_key(|finding: &Finding| finding.hmb == Some(false));
    set_places(&mut findings);
    let (samples, spent) = bench.into_samples();
    let report = Report {
        version: VERSION,
        program: env!("CARGO_PKG_VERSION"),
        target: facts,
        options: options.clone(),
        ended: ended.as_ref().err().map(ToString::to_string),
        findings,
        spent,
        samples,
    };
    (report, ended)
}

fn make_steps(
    bench: &mut Bench<'_>,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> bool,
    findings: &mut Vec<Finding>,
) -> Result<(), TargetError> {
    let writable = bench.target().facts().writable;
    let has_hmb = bench.target().hmb().is_some();
    let before = bench.target().hmb().filter(|_| options.hmb).map(|hmb| hmb.enabled()).transpose()?;
    let steps = plan(writable, has_hmb, options);
    for (i, (test, hmb)) in steps.iter().copied().enumerate() {
        if !watch(Progress { test, hmb, done: (i, steps.len()) }) {
            return Err(TargetError::Interrupted);
        }
        if let Some(on) = hmb.filter(|on| bench.hmb() != Some(*on)) {
            bench.switch_hmb(on)?;
        }
        let cached_us = hmb.filter(|on| !on).and_then(|_| cached_read_us(findings));
        match step(bench, test, options, cached_us) {
            Ok(found) => findings.extend(found.into_iter().map(|finding| Finding { hmb, ..finding })),
            Err(Stop::Target(error)) => return Err(error),
            Err(stop @ Stop::Allowance { .. }) => {
                let about = test.name().replace('-', "_");
                let about = ABOUT.into_iter().find(|name| *name == about).expect("every test is about something");
                findings.push(Finding { hmb, ..Finding::new(about, Verdict::Inconclusive, stop.to_string()) });
            }
        }
    }
    if let Some(on) = before {
        bench.switch_hmb(on)?;
    }
    Ok(())
}

const ABOUT: [&str; 5] = ["read_cache", "mapping_cache", "stripe", "parallelism", "write_buffer"];

fn step(bench: &mut Bench<'_>, test: Test, options: &Options, cached_us: Option<f64>) -> Result<Vec<Finding>, Stop> {
    match test {
        Test::ReadCache if options.method != Method::Search => Ok(vec![paper::read_cache(bench, options)?]),
        Test::MappingCache if options.method != Method::Search => {
            Ok(vec![paper::mapping_cache(bench, options, cached_us)?])
        }
        Test::WriteBuffer if options.method != Method::Search => Ok(vec![paper::write_buffer(bench, options)?]),
        Test::ReadCache => Ok(vec![read_cache::find(bench, options.read_cache_max)?]),
        Test::MappingCache => map_cache::find(bench, cached_us),
        Test::Stripe => Ok(vec![parallel::stripe(bench)?]),
        Test::Parallelism => Ok(vec![parallel::find(bench)?]),
        Test::WriteBuffer => write_buffer::find(bench, options),
    }
}

/// Returns the latency of a read whose map entry was cached, from earlier findings.
fn cached_read_us(findings: &[Finding]) -> Option<f64> {
    findings.iter().find_map(|finding| finding.numbers.get("at_hand_us")).copied()
}

fn set_places(findings: &mut [Finding]) {
    for about in ["read_cache", "mapping_cache", "write_buffer"] {
        let find = |hmb| findings.iter().position(|finding| finding.about == about && finding.hmb == hmb);
        match (find(Some(true)), find(Some(false)), find(None)) {
            (Some(with), Some(without), _) => {
                let (first, second) = findings.split_at_mut(without);
                place::compare(&mut first[with], &mut second[0]);
            }
            (.., Some(only)) => place::alone(&mut findings[only]),
            _ => {}
        }
    }
}
