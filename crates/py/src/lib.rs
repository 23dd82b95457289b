//! The Python module `nandram._core`: system files and runs, as Python sees them (`python/nandram/_core.pyi`).

mod columns;
mod options;

use std::path::Path;

use machine::System;
use machine::run::{Outcome, Progress, RunError, run as play};
use machine::{manifest, summary};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use workload::Workload;

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
#[pyfunction]
fn run(
    py: Python<'_>,
    system: &str,
    sets: Vec<String>,
    workload: &str,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let loaded = load(py, system, &sets)?;
    let options = options::read(options).map_err(|e| user_error(py, e))?;
    let played = Workload::open(Path::new(workload), None).map_err(|e| user_error(py, e))?;
    let mut raised = None;
    let mut asked = std::time::Instant::now();
    let outcome = py.detach(|| {
        play(&loaded, &played, &options, &mut |now: Progress| {
            // Python is asked a few times a second: for its interrupts, and to show how far it is.
            if asked.elapsed().as_millis() < 100 {
                return true;
            }
            asked = std::time::Instant::now();
            Python::attach(|py| match watch(py, progress.as_ref(), now) {
                Ok(go_on) => go_on,
                Err(error) => {
                    raised = Some(error);
                    false
                }
            })
        })
    });
    match outcome {
        Ok(outcome) => output(py, &loaded, (system, &sets), workload, &options, &outcome),
        Err(RunError::Interrupted) => {
            Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err("stopped by the progress callback")))
        }
        Err(error) => Err(user_error(py, error)),
    }
}

fn watch(py: Python<'_>, progress: Option<&Py<PyAny>>, now: Progress) -> PyResult<bool> {
    py.check_signals()?;
    match progress {
        Some(callback) => callback.call1(py, (now.fraction, now.now.secs_f64(), now.done))?.is_truthy(py),
        None => Ok(true),
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
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<RunOutput>()
}
