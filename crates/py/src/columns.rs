//! A run's tables as columns for NumPy.

use machine::record::Direction;
use machine::run::Measured;
use nand::Nand;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Time;

/// Columns of one length, by name.
#[derive(Default)]
pub struct Columns {
    whole: Vec<(&'static str, Vec<u64>)>,
    real: Vec<(&'static str, Vec<f64>)>,
}

impl Columns {
    /// Empty columns: whole numbers, then others.
    pub fn new(whole: &[&'static str], real: &[&'static str]) -> Columns {
        let empty = |name: &&'static str| (*name, Vec::new());
        Columns {
            whole: whole.iter().map(empty).collect(),
            real: real.iter().map(|name| (*name, Vec::new())).collect(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, whole: &[u64], real: &[f64]) {
        assert_eq!((whole.len(), real.len()), (self.whole.len(), self.real.len()), "a value a column");
        for ((_, column), value) in self.whole.iter_mut().zip(whole) {
            column.push(*value);
        }
        for ((_, column), value) in self.real.iter_mut().zip(real) {
            column.push(*value);
        }
    }

    /// For Python.
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, column) in &self.whole {
            columns.set_item(name, column.clone().into_pyarray(py))?;
        }
        for (name, column) in &self.real {
            columns.set_item(name, column.clone().into_pyarray(py))?;
        }
        Ok(columns)
    }
}

/// The tables, copied out of the outcome.
pub struct Tables {
    latency: Columns,
    throughput: Columns,
    dies: Columns,
}

impl Tables {
    /// The tables of what was `measured` on `flash`, if there is any, which was at work until `end`.
    pub fn of(measured: Measured<'_>, flash: Option<&Nand>, end: Time) -> Tables {
        Tables { latency: latency(measured), throughput: throughput(measured), dies: dies(flash, end) }
    }

    /// Histograms of response times.
    pub fn latency<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.latency.to_python(py)
    }

    /// What ended when.
    pub fn throughput<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.throughput.to_python(py)
    }

    /// What each die did.
    pub fn dies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.dies.to_python(py)
    }
}

fn latency(outcome: Measured<'_>) -> Columns {
    let mut columns = Columns::new(&["job", "direction", "latency_ns", "count"], &[]);
    for job in 0..outcome.jobs.len() {
        for direction in Direction::ALL {
            let totals = outcome.recorder.totals(job, direction, outcome.warm_up);
            for (latency, count) in totals.latencies.total.buckets() {
                columns.add(&[job as u64, direction as u64, latency, count], &[]);
            }
        }
    }
    columns
}

fn throughput(outcome: Measured<'_>) -> Columns {
    let mut columns =
        Columns::new(&["job", "direction", "requests", "bytes"], &["time_s", "span_s", "latency_mean_ns"]);
    let series: Vec<_> = (0..outcome.jobs.len())
        .flat_map(|job| Direction::ALL.map(|direction| (job, direction)))
        .map(|(job, direction)| (job, direction, outcome.recorder.job_points(job, direction)))
        .filter(|(_, _, points)| points.iter().any(|point| point.ios > 0))
        .collect();
    for index in 0..series.first().map_or(0, |(_, _, points)| points.len()) {
        for (job, direction, points) in &series {
            let p = &points[index];
            let start = p.at - p.span;
            // The last window ends with the run.
            let span = p.at.min(outcome.end).max(start + Time::from_ps(1)) - start;
            columns.add(
                &[*job as u64, *direction as u64, p.ios, p.bytes],
                &[start.secs_f64(), span.secs_f64(), p.mean_ns],
            );
        }
    }
    columns
}

fn dies(nand: Option<&Nand>, end: Time) -> Columns {
    let counts = ["die", "channel", "reads", "retries", "programs", "erases", "suspensions"];
    let mut columns = Columns::new(&counts, &["read_busy", "program_busy", "erase_busy", "holding"]);
    let part = |busy: Time| if end == Time::ZERO { 0.0 } else { busy.secs_f64() / end.secs_f64() };
    let Some(nand) = nand else { return columns };
    let geometry = nand.config().geometry;
    for die in 0..geometry.all_dies() as u16 {
        let s = nand.die_stats(end, die);
        let channel = u64::from(geometry.channel_of(die));
        columns.add(
            &[u64::from(die), channel, s.reads, s.retries, s.programs, s.erases, s.suspensions],
            &[part(s.reading), part(s.programming), part(s.erasing), part(s.holding)],
        );
    }
    columns
}
