//! The Python functions for demand paging.

use std::path::{Path, PathBuf};

use ::paging::compare::{Comparison, Options, compare};
use ::paging::onenand::PagingParts;
use ::paging::sweep::{Sweep, Swept, sweep};
use ::storage::run::Progress;
use ::system::LinkType;
use ::system::System;
use pager::policy::{Name, Reading};
use pager::{Costs, Counts, Weights};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Time;

use crate::calls::{in_thread, load, user_error};
use crate::columns::Columns;

const COUNTS: [&str; 6] = ["index", "sram_bytes", "flash_to_buffer", "buffer_to_sram", "buffer_reads", "sram_reads"];

/// Loads a system that pages, and derives its parts.
fn parts(py: Python<'_>, named: &str, sets: &[String]) -> PyResult<(System, PagingParts)> {
    let system = load(py, named, sets)?;
    if system.link.kind != LinkType::OneNand {
        let found = system.link.kind.word();
        return Err(user_error(py, format!("{named}: found link.type \"{found}\", expected \"onenand\"")));
    }
    let parts = PagingParts::new(&system);
    Ok((system, parts))
}

/// Returns the total time in seconds and the total energy in joules.
fn cost(costs: &Costs, counts: &Counts) -> [f64; 2] {
    let total = costs.total(counts);
    [total.time.secs_f64(), total.energy.joules()]
}

fn reading_of(py: Python<'_>, system: &System, words: Option<&str>) -> PyResult<Reading> {
    let Some(words) = words else { return Ok(system.paging.reading) };
    let known: Vec<String> = Reading::all().iter().map(Reading::words).collect();
    let unknown = || user_error(py, format!("reading: found `{words}`, expected one of {}", known.join(", ")));
    Reading::from_words(words).ok_or_else(unknown)
}

/// Parses sizes with units.
fn sizes(py: Python<'_>, sram: &[String]) -> PyResult<Vec<u64>> {
    let read = sram.iter().map(|text| sim::units::size(text).map_err(|e| user_error(py, format!("sram: {e}"))));
    read.collect()
}

/// Returns the facts about a trace, by name.
fn facts<'py>(py: Python<'py>, requests: u64, pages: u32, page_bytes: u32) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("requests", requests)?;
    facts.set_item("pages", pages)?;
    facts.set_item("page_bytes", page_bytes)?;
    Ok(facts)
}

/// Compares policies on a page trace.
#[pyfunction]
#[pyo3(signature = (system, sets, trace, policies, sram, reading, bound_rounds, requests, progress))]
#[expect(clippy::too_many_arguments, reason = "the parameters of the Python function")]
pub fn paging<'py>(
    py: Python<'py>,
    system: &str,
    sets: Vec<String>,
    trace: &str,
    policies: Vec<String>,
    sram: Vec<String>,
    reading: Option<&str>,
    bound_rounds: u32,
    requests: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (system, parts) = parts(py, system, &sets)?;
    let costs = parts.costs();
    let names = policies.iter().map(|name| name.parse::<Name>()).collect::<Result<Vec<_>, _>>();
    let options = Options {
        policies: names.map_err(|e| user_error(py, e))?,
        sram_bytes: sizes(py, &sram)?,
        buffers: parts.onenand.buffers,
        reading: reading_of(py, &system, reading)?,
        time: Weights::time(&costs),
        energy: Weights::energy(&costs),
        bound_rounds,
        requests_max: requests,
    };
    let (path, copy) = (PathBuf::from(trace), options.clone());
    let found = in_thread(py, progress.as_ref(), move |watched| {
        compare(&path, &copy, &mut |done| watched.report(Progress { fraction: 0.0, now: Time::ZERO, done }))
    })?;
    let Comparison { requests, pages, page_bytes, served, bounds } = found.map_err(|e| user_error(py, e))?;
    let all = facts(py, requests, pages, page_bytes)?;
    let mut columns = Columns::new(&COUNTS, &["time_s", "energy_j"]);
    for each in &served {
        let index =
            options.policies.iter().position(|name| *name == each.policy).expect("only requested policies are served");
        columns.add(&row(index as u64, each.sram_bytes, &each.counts), &cost(&costs, &each.counts));
    }
    all.set_item("served", columns.to_python(py)?)?;
    let mut columns = Columns::new(&["sram_bytes"], &["time_s", "energy_j"]);
    for each in &bounds {
        columns.add(&[each.sram_bytes], &[each.time_ps as f64 / 1e12, each.energy_pj as f64 / 1e12]);
    }
    all.set_item("bounds", columns.to_python(py)?)?;
    Ok(all)
}

fn row(index: u64, sram_bytes: u64, counts: &Counts) -> [u64; 6] {
    let &Counts { flash_to_buffer, buffer_to_sram, buffer_reads, sram_reads } = counts;
    [index, sram_bytes, flash_to_buffer, buffer_to_sram, buffer_reads, sram_reads]
}

/// Runs PM-XIP on a page trace with every threshold of each window.
#[pyfunction]
#[pyo3(signature = (system, sets, trace, sram, windows, reading, requests, progress))]
#[expect(clippy::too_many_arguments, reason = "the parameters of the Python function")]
pub fn paging_sweep<'py>(
    py: Python<'py>,
    system: &str,
    sets: Vec<String>,
    trace: &str,
    sram: Vec<String>,
    windows: Vec<u32>,
    reading: Option<&str>,
    requests: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (system, parts) = parts(py, system, &sets)?;
    let costs = parts.costs();
    let reading = reading_of(py, &system, reading)?;
    let sram_bytes = sizes(py, &sram)?;
    let question = Sweep {
        sram_bytes: sram_bytes.clone(),
        buffers: parts.onenand.buffers,
        windows,
        reading,
        requests_max: requests,
    };
    let path = Path::new(trace).to_path_buf();
    let found = in_thread(py, progress.as_ref(), move |_| sweep(&path, &question))?;
    let Swept { page_bytes, pages, requests, points, lru } = found.map_err(|e| user_error(py, e))?;
    let all = facts(py, requests, pages, page_bytes)?;
    let mut columns = Columns::new(
        &["window", "threshold", "sram_bytes", "flash_to_buffer", "buffer_to_sram", "buffer_reads", "sram_reads"],
        &["time_s", "energy_j"],
    );
    for point in &points {
        let bytes = u64::from(point.frames) * u64::from(page_bytes);
        let [threshold, rest @ ..] = row(u64::from(point.threshold), bytes, &point.counts);
        let [bytes, loads, moves, buffer, sram] = rest;
        columns.add(
            &[u64::from(point.window), threshold, bytes, loads, moves, buffer, sram],
            &cost(&costs, &point.counts),
        );
    }
    all.set_item("swept", columns.to_python(py)?)?;
    let mut columns = Columns::new(&COUNTS, &["time_s", "energy_j"]);
    for (&bytes, counts) in sram_bytes.iter().zip(&lru) {
        columns.add(&row(0, bytes, counts), &cost(&costs, counts));
    }
    all.set_item("lru", columns.to_python(py)?)?;
    Ok(all)
}
