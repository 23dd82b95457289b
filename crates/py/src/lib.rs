//! The Python module `nandram._core`: system files and runs, as Python sees them (`python/nandram/_core.pyi`).

mod columns;
mod files;
mod options;
mod watched;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use machine::System;
use machine::run::{Outcome, Progress, run as play};
use machine::{manifest, summary};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use workload::Workload;

use crate::watched::Watched;

/// How often Python has its turn.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// A user's mistake: `nandram.UserError` with its one line.
fn user_error(py: Python<'_>, message: impl ToString) -> PyErr {
    let class = py.import("nandram.errors").and_then(|module| module.getattr("UserError"));
    match class.and_then(|class| class.call1((message.to_string(),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

fn load(py: Python<'_>, system: &str, sets: &[String]) -> PyResult<System> {
    let pairs = sets.iter().map(|set| System::split_set(set)).collect::<Result<Vec<_>, _>>();
    let pairs = pairs.map_err(|e| user_error(py, e))?;
    System::load(system, &pairs).map_err(|e| user_error(py, e))
}

/// The resolved system file.
#[pyfunction]
fn check(py: Python<'_>, system: &str, sets: Vec<String>) -> PyResult<String> {
    Ok(load(py, system, &sets)?.resolved_toml())
}

/// The JSON Schema of system files.
#[pyfunction]
fn schema() -> String {
    format!("{:#}\n", System::schema())
}

/// The presets: name and one line.
#[pyfunction]
fn systems() -> Vec<(&'static str, &'static str)> {
    machine::system::presets().to_vec()
}

/// The file of a preset.
#[pyfunction]
fn read_preset(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    let names: Vec<&str> = machine::system::presets().iter().map(|(name, _)| *name).collect();
    let unknown = || user_error(py, format!("found no preset `{name}`, expected one of {}", names.join(", ")));
    machine::system::preset(name).ok_or_else(unknown)
}

/// The claims of papers and the experiments that test them: path and text.
#[pyfunction]
fn papers() -> Vec<(&'static str, &'static str)> {
    files::FILES.to_vec()
}

/// What a run gave.
#[pyclass(frozen)]
struct RunOutput {
    #[pyo3(get)]
    summary_json: String,
    #[pyo3(get)]
    manifest_json: String,
    #[pyo3(get)]
    timeline_json: Option<String>,
    outcome: columns::Tables,
}

#[pymethods]
impl RunOutput {
    #[getter]
    fn latency<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.outcome.latency(py)
    }

    #[getter]
    fn throughput<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.outcome.throughput(py)
    }

    #[getter]
    fn dies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.outcome.dies(py)
    }
}

/// Runs a workload on a system.
///
/// The run has a thread of its own, and this one watches: so that Python has its interrupts, and shows how far it is,
/// while a drive is prepared too, which cannot be stopped midway: interrupted there, it is left to end by itself.
#[pyfunction]
fn run(
    py: Python<'_>,
    system: &str,
    sets: Vec<String>,
    workload: &str,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let loaded = Arc::new(load(py, system, &sets)?);
    let given = options;
    let options = options::read(given).map_err(|e| user_error(py, e))?;
    let played = Workload::open(Path::new(workload), None).map_err(|e| user_error(py, e))?;
    options::check(given, &options, &played).map_err(|e| user_error(py, format!("{workload}: {e}")))?;
    let watched = Arc::new(Watched::default());
    let player = {
        let (loaded, watched, options) = (Arc::clone(&loaded), Arc::clone(&watched), options.clone());
        thread::spawn(move || {
            let outcome = play(&loaded, &played, &options, &mut |now| watched.go_on(now));
            watched.end();
            outcome
        })
    };
    loop {
        if let Err(error) = watch(py, progress.as_ref(), watched.now()) {
            watched.stop();
            return Err(error);
        }
        if player.is_finished() {
            break;
        }
        py.detach(|| watched.wait(WATCH_EVERY));
    }
    match player.join() {
        Ok(Ok(outcome)) if outcome.requests == 0 => {
            Err(user_error(py, format!("{workload}: found no request to play")))
        }
        Ok(Ok(outcome)) => output(py, &loaded, (system, &sets), workload, &options, &outcome),
        Ok(Err(error)) => Err(user_error(py, error)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Gives Python its turn. An error if it interrupts, raises or says that it is enough.
fn watch(py: Python<'_>, progress: Option<&Py<PyAny>>, now: Progress) -> PyResult<()> {
    py.check_signals()?;
    match progress {
        Some(callback) if !callback.call1(py, (now.fraction, now.now.secs_f64(), now.done))?.is_truthy(py)? => {
            Err(PyKeyboardInterrupt::new_err("stopped by the progress callback"))
        }
        _ => Ok(()),
    }
}

fn output(
    py: Python<'_>,
    system: &System,
    (named, sets): (&str, &[String]),
    workload: &str,
    options: &machine::run::RunOptions,
    outcome: &Outcome,
) -> PyResult<RunOutput> {
    let timeline_json = match outcome.machine.timeline() {
        Some(timeline) => {
            let mut text = Vec::new();
            timeline.write(&mut text)?;
            Some(String::from_utf8(text).map_err(|e| user_error(py, e))?)
        }
        None => None,
    };
    Ok(RunOutput {
        summary_json: format!("{:#}\n", summary::summary(system, outcome)),
        manifest_json: format!("{:#}\n", manifest::manifest(system, named, sets, workload, options, outcome)),
        timeline_json,
        outcome: columns::Tables::of(outcome),
    })
}

/// The native part of nandram.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(systems, module)?)?;
    module.add_function(wrap_pyfunction!(read_preset, module)?)?;
    module.add_function(wrap_pyfunction!(papers, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<RunOutput>()
}
