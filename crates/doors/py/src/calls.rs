//! Helpers of all functions: error messages, loading of systems, and work that Python may interrupt.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use sim::Time;
use storage::run::Progress;
use system::System;

use crate::watched::Watched;

/// The interval at which Python checks for signals and shows progress.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The time in which an interrupted run returns what it has: more than the preparation of most drives, which cannot be
/// stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Returns a `nandram.UserError` with a one-line message about a user's mistake.
pub(crate) fn user_error(py: Python<'_>, message: impl ToString) -> PyErr {
    let class = py.import("nandram.errors").and_then(|module| module.getattr("UserError"));
    match class.and_then(|class| class.call1((message.to_string(),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Loads a system file or preset with its changes.
pub(crate) fn load(py: Python<'_>, system: &str, sets: &[String]) -> PyResult<System> {
    let pairs = sets.iter().map(|set| System::split_set(set)).collect::<Result<Vec<_>, _>>();
    let pairs = pairs.map_err(|e| user_error(py, e))?;
    System::load(system, &pairs).map_err(|e| user_error(py, e))
}

/// Checks that a workload is not a folder, pipe or device: it is read a second time for its hash, and a pipe may never
/// end.
pub(crate) fn expect_file(py: Python<'_>, path: &str) -> PyResult<()> {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() => {
            let found = if about.is_dir() { "a folder" } else { "a pipe or a device" };
            Err(user_error(py, format!("{path}: found {found}, expected a file")))
        }
        // The reader reports a missing file.
        _ => Ok(()),
    }
}

/// Executes `work` in a thread of its own, while this one handles interrupts and shows progress.
pub(crate) fn in_thread<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watched<Progress>) -> T + Send + 'static,
) -> PyResult<T> {
    let (watched, worker) = spawn(work);
    loop {
        if let Err(error) = poll_python(py, progress, watched.now()) {
            watched.stop();
            return Err(error);
        }
        if worker.is_finished() {
            break;
        }
        py.detach(|| watched.wait(POLL_INTERVAL));
    }
    worker.join().map_err(|panic| std::panic::resume_unwind(panic))
}

/// Like [`in_thread`], but work that is interrupted may return what it has; `None` if it does not within
/// [`GRACE`]. The other value is the interrupt.
pub(crate) fn in_thread_partly<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watched<Progress>) -> T + Send + 'static,
) -> PyResult<(T, Option<PyErr>)> {
    let (watched, worker) = spawn(work);
    let mut interrupt = None;
    let mut until = None;
    while !worker.is_finished() {
        match (until, poll_python(py, progress.filter(|_| interrupt.is_none()), watched.now())) {
            (None, Ok(())) => {}
            (Some(until), Ok(())) if Instant::now() < until => {}
            (None, Err(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                watched.stop();
                (interrupt, until) = (Some(error), Some(Instant::now() + GRACE));
            }
            (_, Err(error)) => {
                watched.stop();
                return Err(error);
            }
            (Some(_), Ok(())) => return Err(interrupt.expect("an interrupt began the wait")),
        }
        py.detach(|| watched.wait(POLL_INTERVAL));
    }
    let found = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok((found, interrupt))
}

/// Starts `work` in a thread of its own.
fn spawn<T: Send + 'static>(
    work: impl FnOnce(&Watched<Progress>) -> T + Send + 'static,
) -> (Arc<Watched<Progress>>, thread::JoinHandle<T>) {
    let watched = Arc::new(Watched::new(Progress { fraction: 0.0, now: Time::ZERO, done: 0 }));
    let worker = {
        let watched = Arc::clone(&watched);
        thread::spawn(move || {
            let outcome = work(&watched);
            watched.finish();
            outcome
        })
    };
    (watched, worker)
}

/// Lets Python handle signals and calls the progress callback. Fails on an interrupt, or if the callback raises or
/// returns false.
fn poll_python(py: Python<'_>, progress: Option<&Py<PyAny>>, now: Progress) -> PyResult<()> {
    py.check_signals()?;
    match progress {
        Some(callback) if !callback.call1(py, (now.fraction, now.now.secs_f64(), now.done))?.is_truthy(py)? => {
            Err(PyKeyboardInterrupt::new_err("stopped by the progress callback"))
        }
        _ => Ok(()),
    }
}
