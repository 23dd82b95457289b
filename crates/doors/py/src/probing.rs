//! The Python functions for probing: the list of tests, the plan, and the probe itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ::probe::block::{Block, Found, Options as Opening, Roots};
use ::probe::{
    Method, Options, Plan, Progress, Report, Simulated, Stoppable, Subject, TargetError, Test, probe_as_far_as_possible,
};
use ::storage::prepare::Preparation;
use ::system::System;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::calls::{POLL_INTERVAL, user_error};
use crate::watched::Watched;

/// Returns the name, whether it writes, and the description of each test.
#[pyfunction]
pub fn probe_tests() -> Vec<(&'static str, bool, &'static str)> {
    Test::ALL.into_iter().map(|test| (test.name(), test.writes(), test.help())).collect()
}

/// The parameters of a probe.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
struct ProbeRequest {
    tests: Vec<String>,
    every: Option<u32>,
    confidence: f64,
    seed: u64,
    allow_write: bool,
    confirm: Option<String>,
    switch_hmb: bool,
    precondition: String,
    cache: Option<PathBuf>,
    root: Option<PathBuf>,
}

impl ProbeRequest {
    fn options(&self) -> Options {
        let tests = Test::ALL.into_iter().filter(|test| self.tests.iter().any(|name| name == test.name()));
        let (confidence, seed, hmb) = (self.confidence, self.seed, self.switch_hmb);
        let method = self.every.map_or(Method::Search, |every| Method::Paper { every });
        Options { tests: tests.collect(), method, confidence, seed, hmb, ..Options::default() }
    }

    fn subject(&self, target: &str, sets: &[String]) -> Result<Subject, String> {
        let pairs = sets.iter().map(|set| System::split_set(set)).collect::<Result<Vec<_>, _>>();
        let roots = self.root.as_deref().map_or_else(Roots::default, Roots::below);
        Subject::find(target, &pairs.map_err(|e| e.to_string())?, &roots).map_err(|e| e.to_string())
    }
}

/// Returns the plan of a probe as JSON.
#[pyfunction]
pub fn probe_plan(py: Python<'_>, target: &str, sets: Vec<String>, asked: &Bound<'_, PyDict>) -> PyResult<String> {
    let asked: ProbeRequest = asked.extract()?;
    let plan = || -> Result<Plan, String> {
        let subject = asked.subject(target, &sets)?;
        let plan = subject.plan(&asked.options(), asked.allow_write).map_err(|e| e.to_string())?;
        match &asked.confirm {
            Some(typed) if plan.write_bytes_max > 0 => subject.check_key(typed).map_err(|e| e.to_string())?,
            _ => {}
        }
        Ok(plan)
    };
    let plan = plan().map_err(|e| user_error(py, e))?;
    Ok(serde_json::to_string(&plan).expect("a plan is serializable"))
}

/// The results of a probe.
#[pyclass(frozen)]
pub struct ProbeOutput {
    #[pyo3(get)]
    report_json: String,
    /// Reason for which the probe ended early, if it did.
    #[pyo3(get)]
    ended: Option<String>,
    /// Whether the user ended it.
    #[pyo3(get)]
    interrupted: bool,
    /// The switched feature that could not be restored, if any.
    #[pyo3(get)]
    not_restored: Option<String>,
    report: Report,
}

#[pymethods]
impl ProbeOutput {
    /// Derives a system file that behaves like the probed device, by simulating candidates.
    fn model(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| ::probe::model(&self.report)).map_err(|e| user_error(py, e))
    }
}

/// The result of the probing thread.
struct Ended {
    report: Report,
    ended: Result<(), TargetError>,
    closed: Result<(), TargetError>,
}

/// Probes a target.
///
/// The probe executes in a thread of its own while this one handles interrupts. An interrupt ends the probe cleanly: it
/// waits for requests in flight, restores switched features, and keeps the results so far.
#[pyfunction]
pub fn probe(
    py: Python<'_>,
    target: &str,
    sets: Vec<String>,
    asked: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<ProbeOutput> {
    let asked: ProbeRequest = asked.extract()?;
    let subject = asked.subject(target, &sets).map_err(|e| user_error(py, e))?;
    let mut options = asked.options();
    let plan = subject.plan(&options, asked.allow_write).map_err(|e| user_error(py, e))?;
    // The probe must not read or write more than the plan has announced.
    (options.read_bytes_max, options.write_bytes_max) = (plan.read_bytes_max, plan.write_bytes_max);
    let stop = Arc::new(AtomicBool::new(false));
    let watched = Arc::new(Watched::new(None));
    let watch = {
        let watched = Arc::clone(&watched);
        move |now: Progress| watched.report(Some(now))
    };
    let ended = Arc::clone(&watched);
    let worker = match subject {
        Subject::Simulated(system) => {
            let (name, stop) = (target.to_owned(), Arc::clone(&stop));
            thread::spawn(move || {
                let found = simulated(&name, &system, &asked, &options, stop, watch);
                ended.finish();
                found
            })
        }
        Subject::Real(found) => {
            let block = open(&found, &asked, plan.write_bytes_max > 0, &stop).map_err(|e| user_error(py, e))?;
            thread::spawn(move || {
                let found = real(block, &options, watch);
                ended.finish();
                Ok(found)
            })
        }
    };
    let mut interrupt = None;
    while !worker.is_finished() {
        if interrupt.is_none() {
            if let Err(error) = poll_python(py, progress.as_ref(), watched.now()) {
                stop.store(true, Ordering::Relaxed);
                // The preparation of a simulated drive cannot be stopped, but leaves nothing to restore.
                if watched.now().is_none() && plan.kind == "simulated" {
                    return Err(error);
                }
                interrupt = Some(error);
            }
        } else if py.check_signals().is_err() {
            // Ignore further interrupts: switched features must be restored.
        }
        py.detach(|| watched.wait(POLL_INTERVAL));
    }
    let found = match worker.join() {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Err(user_error(py, error)),
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let interrupted = matches!(found.ended, Err(TargetError::Interrupted));
    if let Some(error) = interrupt.filter(|error| !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py)) {
        return Err(error);
    }
    Ok(ProbeOutput {
        report_json: found.report.to_json(),
        ended: found.ended.err().map(|error| error.to_string()),
        interrupted,
        not_restored: found.closed.err().map(|error| error.to_string()),
        report: found.report,
    })
}

fn poll_python(py: Python<'_>, progress: Option<&Py<PyAny>>, now: Option<Progress>) -> PyResult<()> {
    py.check_signals()?;
    if let (Some(callback), Some(Progress { test, hmb, done: (done, all) })) = (progress, now)
        && !callback.call1(py, (done, all, test.name(), hmb))?.is_truthy(py)?
    {
        return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err("stopped by the progress callback"));
    }
    Ok(())
}

fn open(found: &Found, asked: &ProbeRequest, writes: bool, stop: &Arc<AtomicBool>) -> Result<Block, String> {
    let confirmed = writes.then(|| found.confirm(asked.confirm.as_deref().unwrap_or_default()));
    let write = confirmed.transpose().map_err(|e| e.to_string())?;
    let (switch_hmb, seed, stop) = (asked.switch_hmb, asked.seed, Arc::clone(stop));
    Block::open(found, Opening { write, switch_hmb, seed, stop }).map_err(|e| e.to_string())
}

fn real(mut block: Block, options: &Options, mut watch: impl FnMut(Progress) -> bool) -> Ended {
    let (report, ended) = probe_as_far_as_possible(&mut block, options, &mut watch);
    Ended { report, ended, closed: block.close() }
}

fn simulated(
    name: &str,
    system: &System,
    asked: &ProbeRequest,
    options: &Options,
    stop: Arc<AtomicBool>,
    mut watch: impl FnMut(Progress) -> bool,
) -> Result<Ended, String> {
    let known = Preparation::NAMES.iter().find(|(known, _)| *known == asked.precondition);
    let (_, preparation) = known.ok_or_else(|| format!("precondition: found `{}`", asked.precondition))?;
    let cache: Option<&Path> = asked.cache.as_deref();
    let target = Simulated::new(name, system, *preparation, asked.seed, cache).map_err(|e| e.to_string())?;
    let (report, ended) = probe_as_far_as_possible(&mut Stoppable::new(target, stop), options, &mut watch);
    Ok(Ended { report, ended, closed: Ok(()) })
}
