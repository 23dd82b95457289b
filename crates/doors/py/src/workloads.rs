//! Workload files read through without a system, for `nandram check`.

use std::path::Path;

use pyo3::prelude::*;
use sim::Streams;
use workload::program::Programs;
use workload::trace::{Format, TraceError};
use workload::{Error, Workload, pages};

use crate::calls::{expect_file, user_error};

/// Reads a job file, a file of programs or a trace from end to end; returns what it is.
#[pyfunction]
pub fn check_workload(py: Python<'_>, path: &str) -> PyResult<String> {
    expect_file(py, path)?;
    let found = py.detach(|| read_through(Path::new(path)));
    found.map_err(|error| user_error(py, error))
}

fn read_through(path: &Path) -> Result<String, Error> {
    if path.extension().is_some_and(|end| end == "toml") {
        if kind_of(path)?.is_some_and(|kind| kind.starts_with(serving::config::KIND)) {
            let config = serving::Config::open(path)?;
            serving::load::Arrivals::new(&config.load, &Streams::new(1))?;
            return Ok("served language model".to_owned());
        }
        let programs = Programs::open(path, &Streams::new(1))?;
        return Ok(format!("programs, {} threads", programs.threads()));
    }
    match Workload::open(path, None) {
        Ok(found) if !found.is_trace() => Ok(format!("fio job file, {} jobs", found.jobs().len())),
        Ok(found) => {
            let format = found.jobs()[0].options.iter().find(|(key, _)| key == "format");
            Ok(format!("block trace, {}", format.map_or("", |(_, name)| name)))
        }
        Err(Error::Trace(error)) if matches!(*error, TraceError::Undetected { .. }) => page_requests(path, *error),
        Err(error) => Err(error),
    }
}

/// Returns the value of the key `kind` of a TOML file, if it has one.
fn kind_of(path: &Path) -> Result<Option<String>, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Io { file: path.display().to_string(), source })?;
    let kind =
        |line: &str| line.split_once('=').filter(|(key, _)| key.trim() == "kind").map(|(_, kind)| kind.to_owned());
    Ok(text.lines().find_map(kind).map(|kind| kind.trim().trim_matches('"').to_owned()))
}

/// Checks that a TOML file describes what the system can run: served models run on drives, programs on main memory.
///
/// # Errors
/// Names the kind and what it needs. Files without a known kind pass; their reader reports them.
pub fn expect_kind(path: &Path, on_drive: bool) -> Result<(), String> {
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Ok(());
    }
    // The reader reports a file that cannot be read.
    let Some(kind) = kind_of(path).ok().flatten() else { return Ok(()) };
    let file = path.display();
    if kind == serving::config::KIND && !on_drive {
        return Err(format!("{file}: kind: found \"{kind}\", which runs on a drive, and the system is main memory"));
    }
    if workload::program::is_kind(&kind) && on_drive {
        return Err(format!("{file}: kind: found \"{kind}\", which runs on main memory, and the system is a drive"));
    }
    Ok(())
}

/// Name, title, layout of a request and file extensions of a trace format.
type FormatRow = (&'static str, &'static str, &'static str, Vec<&'static str>);

/// Returns the formats of block traces.
#[pyfunction]
pub fn trace_formats() -> Vec<FormatRow> {
    let row = |format: &Format| (format.name(), format.title(), format.layout(), format.extensions().to_vec());
    Format::ALL.iter().map(row).collect()
}

/// Traces of pages and of memory accesses, which are requests for pages.
fn page_requests(path: &Path, undetected: TraceError) -> Result<String, Error> {
    let mut reader = match pages::Reader::open(path, &pages::Options::default()) {
        Ok(reader) => reader,
        // The block formats are those that most traces have.
        Err(TraceError::Undetected { .. }) => return Err(Error::Trace(Box::new(undetected))),
        Err(error) => return Err(Error::Trace(Box::new(error))),
    };
    let mut chunk = Vec::new();
    loop {
        reader.next_chunk(&mut chunk).map_err(|error| Error::Trace(Box::new(error)))?;
        if chunk.is_empty() {
            return Ok(format!("page or memory trace, {}", reader.format()));
        }
    }
}
