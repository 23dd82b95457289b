//! The native Python module `nandram._core`: system files, runs and persistent memories. Its interface is declared in
//! `python/nandram/_core.pyi`.

mod calls;
mod columns;
#[cfg(target_os = "linux")]
mod drive_server;
mod files;
#[cfg(target_os = "linux")]
mod mapping;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod memory_reader;
mod options;
mod paging;
mod probing;
mod request_log;
mod simulation;
mod watched;
mod workloads;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::main_memory::run as programs;
use ::paging::run as pages;
use ::storage::run::requests::Sink;
use ::storage::run::{Progress, run_logged as run_storage};
use ::storage::{manifest, summary};
use ::system::LinkType;
use ::system::System;
use ::system::memory::MainMemory;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Timeline;
use workload::Workload;

use crate::calls::{expect_file, in_thread, in_thread_partly, load, user_error};
use crate::request_log::RequestSink;
use crate::watched::Watched;

/// Returns the resolved system file; with `changed`, only the differences from its base and the defaults.
#[pyfunction]
#[pyo3(signature = (system, sets, changed = false))]
fn check(py: Python<'_>, system: &str, sets: Vec<String>, changed: bool) -> PyResult<String> {
    let loaded = load(py, system, &sets)?;
    Ok(if changed { loaded.changed_toml() } else { loaded.resolved_toml() })
}

/// Returns every applicable value of a system with its location and basis, as JSON.
#[pyfunction]
fn settings(py: Python<'_>, system: &str, sets: Vec<String>) -> PyResult<String> {
    Ok(serde_json::Value::Object(manifest::settings(&load(py, system, &sets)?)).to_string())
}

/// Returns the JSON Schema of system files.
#[pyfunction]
fn schema() -> String {
    format!("{:#}\n", System::schema())
}

/// Returns the name and one-line description of each preset.
#[pyfunction]
fn systems() -> Vec<(&'static str, &'static str)> {
    ::system::presets().to_vec()
}

/// Returns the file of a preset.
#[pyfunction]
fn read_preset(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    let names: Vec<&str> = ::system::presets().iter().map(|(name, _)| *name).collect();
    let unknown = || user_error(py, format!("found no preset `{name}`, expected one of {}", names.join(", ")));
    ::system::preset(name).ok_or_else(unknown)
}

/// Returns the papers' claims and the experiments that test them, as paths and contents.
#[pyfunction]
fn papers() -> Vec<(&'static str, &'static str)> {
    files::FILES.to_vec()
}

/// The results of a run.
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
    fn latency_over_time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.outcome.latency_over_time(py)
    }

    #[getter]
    fn drive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.outcome.drive(py)
    }

    #[getter]
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.outcome.requests(py)
    }

    #[getter]
    fn dies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.outcome.dies(py)
    }
}

/// Runs a workload on a system.
///
/// The run executes in a thread of its own while this one handles interrupts and shows progress, including during the
/// preparation of a drive. The preparation cannot be stopped; after an interrupt its thread finishes in the background.
#[pyfunction]
#[pyo3(signature = (system, sets, workload, options, progress, requests=None))]
fn run(
    py: Python<'_>,
    system: &str,
    sets: Vec<String>,
    workload: &str,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
    requests: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let loaded = Arc::new(load(py, system, &sets)?);
    let given = options;
    let options = options::read(given).map_err(|e| user_error(py, e))?;
    let named = (system, &sets[..]);
    let arguments = options::arguments(given).map_err(|e| user_error(py, e))?;
    if let Some(arguments) = arguments {
        if loaded.link.kind == LinkType::OneNand || loaded.memory.kind != MainMemory::None {
            return Err(user_error(
                py,
                format!("{system}: found fio's options, which run on a drive, expected a file"),
            ));
        }
        let played = Workload::parse_arguments(&arguments).map_err(|e| user_error(py, e))?;
        return run_on_drive(
            py,
            loaded,
            named,
            workload,
            (given, options, played),
            Some(&arguments),
            (progress, requests),
        );
    }
    expect_file(py, workload)?;
    let is_drive = loaded.link.kind != LinkType::OneNand && loaded.memory.kind == MainMemory::None;
    let is_model = Path::new(workload).extension().is_some_and(|extension| extension == "toml");
    if requests.is_some() && (!is_drive || is_model) {
        let what = "expected fio jobs or a block trace on a drive: only requests to a drive have a log";
        return Err(user_error(py, format!("{workload}: found a log of every request, {what}")));
    }
    if loaded.link.kind == LinkType::OneNand {
        options::check_pages(given).map_err(|e| user_error(py, format!("{workload}: {e}")))?;
        let (of, path, how) = (Arc::clone(&loaded), PathBuf::from(workload), options.clone());
        let work = move |watched: &Watched<Progress>| pages::run(&of, &path, &how, &mut |now| watched.report(now));
        let outcome = in_thread(py, progress.as_ref(), work)?.map_err(|e| user_error(py, e))?;
        let machine = &outcome.machine;
        let (nand, now) = (machine.nand(), machine.now());
        let dies: Vec<_> = (0..nand.config().geometry.all_dies()).map(|die| nand.die_stats(now, die as u16)).collect();
        let tables = columns::Tables::of(outcome.measured(), &dies, machine.now());
        let summary = pages::summary(&loaded, &outcome);
        return output(py, &loaded, named, workload, &options, (machine.timeline(), summary, tables));
    }
    let on_drive = loaded.memory.kind == MainMemory::None;
    workloads::expect_kind(Path::new(workload), on_drive).map_err(|e| user_error(py, e))?;
    if !on_drive {
        options::check_programs(given).map_err(|e| user_error(py, format!("{workload}: {e}")))?;
        let (of, path, how) = (Arc::clone(&loaded), PathBuf::from(workload), options.clone());
        let work = move |watched: &Watched<Progress>| programs::run(&of, &path, &how, &mut |now| watched.report(now));
        let outcome = in_thread(py, progress.as_ref(), work)?.map_err(|e| match e {
            programs::MemoryError::Workload(e) => user_error(py, open_error(&e, "programs and memory traces")),
            e => user_error(py, e),
        })?;
        let tables = columns::Tables::of(outcome.measured(), &[], outcome.end);
        return output(py, &loaded, named, workload, &options, (None, outcome.summary(), tables));
    }
    if Path::new(workload).extension().is_some_and(|extension| extension == "toml") {
        options::check_serving(given).map_err(|e| user_error(py, format!("{workload}: {e}")))?;
        let (of, path, how) = (Arc::clone(&loaded), PathBuf::from(workload), options.clone());
        let work = move |watched: &Watched<Progress>| serving::run(&of, &path, &how, &mut |now| watched.report(now));
        let outcome = in_thread(py, progress.as_ref(), work)?.map_err(|e| user_error(py, e))?;
        let summary = serving::summary(&loaded, &outcome);
        let tables = columns::Tables::of(outcome.measured(), &[], outcome.end);
        return output(py, &loaded, named, workload, &options, (None, summary, tables));
    }
    let takes = "fio jobs and block traces";
    let format = options::format(given).map_err(|e| user_error(py, e))?;
    let played = Workload::open(Path::new(workload), format).map_err(|e| user_error(py, open_error(&e, takes)))?;
    run_on_drive(py, loaded, named, workload, (given, options, played), None, (progress, requests))
}

/// A workload of a drive and the options of its run, as given and parsed.
type Play<'a, 'py> = (&'a Bound<'py, PyDict>, ::storage::run::RunOptions, Workload);

/// Runs fio jobs or a block trace. `arguments`: fio's options that took the place of a file.
fn run_on_drive(
    py: Python<'_>,
    loaded: Arc<System>,
    named: (&str, &[String]),
    workload: &str,
    (given, options, played): Play<'_, '_>,
    arguments: Option<&[String]>,
    (progress, requests): (Option<Py<PyAny>>, Option<Py<PyAny>>),
) -> PyResult<RunOutput> {
    options::check(given, &options, &played).map_err(|e| user_error(py, format!("{workload}: {e}")))?;
    let (of, how) = (Arc::clone(&loaded), options.clone());
    let names = played.jobs().iter().map(|job| job.name.clone()).collect();
    let sink = requests.map(|receiver| Arc::new(RequestSink::new(receiver, names)));
    let of_run = sink.clone();
    let work = move |watched: &Watched<Progress>| {
        let mut take = |rows: &[_]| of_run.as_ref().is_none_or(|sink| sink.take(rows));
        let sink: Option<Sink<'_>> = of_run.is_some().then_some(&mut take);
        run_storage(&of, &played, &how, sink, &mut |now| watched.report(now))
    };
    let (outcome, interrupt) = in_thread_partly(py, progress.as_ref(), work)?;
    if let Some(raised) = sink.and_then(|sink| sink.raised()) {
        return Err(raised);
    }
    let outcome = match (outcome, interrupt) {
        (Ok(outcome), None) => outcome,
        (Ok(outcome), Some(_)) if options.partial => outcome,
        (_, Some(interrupt)) => return Err(interrupt),
        (Err(error), None) => return Err(user_error(py, error)),
    };
    if outcome.requests == 0 {
        return Err(user_error(py, format!("{workload}: found no request to play")));
    }
    let machine = &outcome.machine;
    let tables = columns::Tables::of_drive(&outcome);
    let summary = summary::summary(&loaded, &outcome);
    let results = (machine.timeline(), summary, tables);
    match arguments {
        Some(arguments) => output_of(py, &loaded, named, (workload, arguments), &options, results),
        None => output(py, &loaded, named, workload, &options, results),
    }
}

/// Returns the message of a workload that cannot be opened. If it may belong to another kind of system, the message
/// adds what this one takes.
fn open_error(error: &workload::Error, takes: &str) -> String {
    match error {
        workload::Error::Trace(trace) if matches!(**trace, workload::trace::TraceError::Undetected { .. }) => {
            format!("{error}; this system takes {takes}")
        }
        error => error.to_string(),
    }
}

/// The results of a run: its timeline, its summary and its tables.
type RunResults<'a> = (Option<&'a Timeline>, serde_json::Value, columns::Tables);

fn output(
    py: Python<'_>,
    system: &System,
    (named, sets): (&str, &[String]),
    workload: &str,
    options: &::storage::run::RunOptions,
    (timeline, summary, tables): RunResults<'_>,
) -> PyResult<RunOutput> {
    let timeline_json = match timeline {
        Some(timeline) => {
            let mut text = Vec::new();
            timeline.write(&mut text)?;
            Some(String::from_utf8(text).map_err(|e| user_error(py, e))?)
        }
        None => None,
    };
    let manifest = manifest::manifest(system, named, sets, workload, options);
    Ok(RunOutput {
        summary_json: format!("{summary:#}\n"),
        manifest_json: format!("{manifest:#}\n"),
        timeline_json,
        outcome: tables,
    })
}

/// Like [`output`], of a run whose job stands in fio's options: the manifest holds them, and their hash.
fn output_of(
    py: Python<'_>,
    system: &System,
    named: (&str, &[String]),
    (workload, arguments): (&str, &[String]),
    options: &::storage::run::RunOptions,
    results: RunResults<'_>,
) -> PyResult<RunOutput> {
    let mut found = output(py, system, named, workload, options, results)?;
    let mut manifest: serde_json::Value = serde_json::from_str(&found.manifest_json).map_err(|e| user_error(py, e))?;
    manifest["arguments"] = arguments.into();
    manifest["workload_sha256"] = manifest::hash(arguments.join("\n").as_bytes()).into();
    found.manifest_json = format!("{manifest:#}\n");
    Ok(found)
}

/// The native module of nandram.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(settings, module)?)?;
    module.add_function(wrap_pyfunction!(systems, module)?)?;
    module.add_function(wrap_pyfunction!(read_preset, module)?)?;
    module.add_function(wrap_pyfunction!(papers, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::check_workload, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::trace_formats, module)?)?;
    module.add_function(wrap_pyfunction!(probing::probe_tests, module)?)?;
    module.add_function(wrap_pyfunction!(probing::probe_plan, module)?)?;
    module.add_function(wrap_pyfunction!(probing::probe, module)?)?;
    module.add_class::<probing::ProbeOutput>()?;
    module.add_function(wrap_pyfunction!(paging::paging, module)?)?;
    module.add_function(wrap_pyfunction!(paging::paging_sweep, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_class::<mapping::MemoryArea>()?;
        module.add_class::<memory::MemoryFile>()?;
        module.add_class::<memory_reader::MemoryReading>()?;
        module.add_function(wrap_pyfunction!(drive_server::serve, module)?)?;
        module.add_function(wrap_pyfunction!(drive_server::export_store, module)?)?;
        module.add_function(wrap_pyfunction!(memory::memory_info, module)?)?;
        module.add_function(wrap_pyfunction!(memory_reader::memory_backup, module)?)?;
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<simulation::Stepping>()?;
    module.add_class::<RunOutput>()
}
