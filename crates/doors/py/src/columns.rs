//! Converts the tables of a run to columns for NumPy.

use ::storage::measured::Measured;
use ::storage::record::{Direction, Point};
use ::storage::run::Outcome;
use ::storage::series::{Interval, intervals};
use nand::DieStats;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Time;

/// Named columns of equal length.
#[derive(Default)]
pub struct Columns {
    whole: Vec<(&'static str, Vec<u64>)>,
    real: Vec<(&'static str, Vec<f64>)>,
}

impl Columns {
    /// Creates empty columns, first of integers, then of floating-point numbers.
    pub fn new(whole: &[&'static str], real: &[&'static str]) -> Columns {
        let empty = |name: &&'static str| (*name, Vec::new());
        Columns {
            whole: whole.iter().map(empty).collect(),
            real: real.iter().map(|name| (*name, Vec::new())).collect(),
        }
    }

    /// Appends a row.
    pub fn add(&mut self, whole: &[u64], real: &[f64]) {
        assert_eq!((whole.len(), real.len()), (self.whole.len(), self.real.len()), "one value per column");
        for ((_, column), value) in self.whole.iter_mut().zip(whole) {
            column.push(*value);
        }
        for ((_, column), value) in self.real.iter_mut().zip(real) {
            column.push(*value);
        }
    }

    /// Converts the columns to a dictionary of NumPy arrays.
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

/// The tables of a run, copied from its outcome.
pub struct Tables {
    latency: Columns,
    throughput: Columns,
    latency_over_time: Columns,
    dies: Columns,
    drive: Columns,
    requests: Columns,
}

impl Tables {
    /// Returns the tables of a run on a drive.
    pub fn of_drive(outcome: &Outcome) -> Tables {
        let (measured, window) = (outcome.measured(), outcome.window());
        let channels = outcome.machine.nand().config().geometry;
        let channel = |die: u64| u64::from(channels.channel_of(die as u16));
        Tables {
            latency: latency(measured),
            throughput: throughput(measured),
            latency_over_time: latency_over_time(measured),
            dies: dies(&window.dies, channel, window.at),
            drive: drive(outcome),
            requests: requests(measured),
        }
    }

    /// Returns the tables of `measured`, with the statistics of each flash die, if there are any, over `span`.
    pub fn of(measured: Measured<'_>, flash: &[DieStats], span: Time) -> Tables {
        Tables {
            latency: latency(measured),
            throughput: throughput(measured),
            latency_over_time: latency_over_time(measured),
            dies: dies(flash, |_| 0, span),
            drive: Columns::new(&DRIVE_COUNTS, &DRIVE_PARTS),
            requests: requests(measured),
        }
    }

    /// Returns the drive's activity over time.
    pub fn drive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.drive.to_python(py)
    }

    /// Returns the histograms of response times.
    pub fn latency<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.latency.to_python(py)
    }

    /// Returns the completed requests over time.
    pub fn throughput<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.throughput.to_python(py)
    }

    /// Returns the response times over time.
    pub fn latency_over_time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.latency_over_time.to_python(py)
    }

    /// Returns every request, if a log was kept.
    pub fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.requests.to_python(py)
    }

    /// Returns the activity of each die.
    pub fn dies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.dies.to_python(py)
    }
}

/// Lists the requests of the log, in the order in which they ended.
fn requests(outcome: Measured<'_>) -> Columns {
    let mut columns = Columns::new(&["job", "direction", "bytes", "issued_ps", "completed_ps"], &[]);
    for io in outcome.recorder.log() {
        columns.add(&[io.job.into(), Direction::of(io.op) as u64, io.bytes, io.issued.ps(), io.at.ps()], &[]);
    }
    columns
}

fn latency(outcome: Measured<'_>) -> Columns {
    let mut columns = Columns::new(&["job", "direction", "latency_ns", "count"], &[]);
    for job in 0..outcome.jobs.len() {
        for direction in Direction::ALL {
            for (latency, count) in outcome.totals(job, direction).latencies.total.buckets() {
                columns.add(&[job as u64, direction as u64, latency, count], &[]);
            }
        }
    }
    columns
}

/// Counts the requests completed in each interval, including the warm-up.
fn throughput(outcome: Measured<'_>) -> Columns {
    let counts = ["job", "direction", "requests", "bytes", "latency_p50_ns", "latency_p99_ns", "latency_max_ns"];
    let mut columns = Columns::new(&counts, &["time_s", "span_s", "latency_mean_ns"]);
    let points = |job, direction| -> Vec<(Point, Time)> {
        let before = outcome.before.map_or(Vec::new(), |before| before.job_points(job, direction));
        let (cut, end) = (outcome.recorder.origin(), outcome.end);
        let before = before.into_iter().map(|p| (p, cut)).filter(|(p, cut)| p.at - p.span < *cut);
        before.chain(outcome.recorder.job_points(job, direction).into_iter().map(|p| (p, end))).collect()
    };
    let series: Vec<_> = (0..outcome.jobs.len())
        .flat_map(|job| Direction::ALL.map(|direction| (job, direction)))
        .map(|(job, direction)| (job, direction, points(job, direction)))
        .filter(|(_, _, points)| points.iter().any(|(point, _)| point.ios > 0))
        .collect();
    for index in 0..series.first().map_or(0, |(_, _, points)| points.len()) {
        for (job, direction, points) in &series {
            let (p, end) = &points[index];
            let start = p.at - p.span;
            // The last interval ends with the run, or where the statistics begin.
            let span = p.at.min(*end).max(start + Time::from_ps(1)) - start;
            columns.add(
                &[*job as u64, *direction as u64, p.ios, p.bytes, p.p50_ns, p.p99_ns, p.max_ns],
                &[start.secs_f64(), span.secs_f64(), p.mean_ns],
            );
        }
    }
    columns
}

/// Counts the requests of all jobs in each interval by response time, including the warm-up.
fn latency_over_time(outcome: Measured<'_>) -> Columns {
    let mut columns = Columns::new(&["direction", "latency_ns", "count"], &["time_s", "span_s"]);
    for direction in Direction::ALL {
        let before = outcome.before.map_or(Vec::new(), |before| before.latencies_over_time(direction));
        let (cut, end) = (outcome.recorder.origin(), outcome.end);
        let before = before.into_iter().map(|window| (window, cut)).filter(|((at, span, _), cut)| *at - *span < *cut);
        let after = outcome.recorder.latencies_over_time(direction).into_iter().map(|window| (window, end));
        for ((at, span, counts), end) in before.chain(after) {
            let start = at - span;
            let span = at.min(end).max(start + Time::from_ps(1)) - start;
            for (latency, count) in counts {
                columns.add(&[direction as u64, latency, count], &[start.secs_f64(), span.secs_f64()]);
            }
        }
    }
    columns
}

const DRIVE_COUNTS: [&str; 13] = [
    "host_units",
    "programmed_host",
    "programmed_copy",
    "programmed_other",
    "victims",
    "erases",
    "free_blocks",
    "collecting",
    "dies_erasing",
    "queue",
    "die_queue",
    "write_cache_used",
    "write_cache_units",
];
const DRIVE_PARTS: [&str; 3] = ["time_s", "span_s", "energy_j"];

/// Lists the counters of each interval, and the state at its end.
fn drive(outcome: &Outcome) -> Columns {
    let mut columns = Columns::new(&DRIVE_COUNTS, &DRIVE_PARTS);
    for Interval { from, to, counters, state } in intervals(outcome) {
        let (stats, occupancy) = (counters.ftl, state.occupancy);
        let counts = [
            stats.host_units,
            stats.programmed_host,
            stats.programmed_copy,
            stats.programmed_system + stats.programmed_padding + stats.programmed_parity,
            stats.victims,
            stats.erases,
            occupancy.free_blocks.into(),
            occupancy.collecting.into(),
            state.dies_erasing.into(),
            state.host_interface_queue.into(),
            state.die_queue.into(),
            occupancy.write_cache_used.into(),
            occupancy.write_cache_units.into(),
        ];
        columns.add(&counts, &[from.secs_f64(), (to - from).secs_f64(), counters.energy.total().joules()]);
    }
    columns
}

fn dies(stats: &[DieStats], channel: impl Fn(u64) -> u64, span: Time) -> Columns {
    let counts = ["die", "channel", "reads", "retries", "programs", "erases", "suspensions"];
    let mut columns = Columns::new(&counts, &["read_busy", "program_busy", "erase_busy", "holding"]);
    let part = |busy: Time| if span == Time::ZERO { 0.0 } else { busy.secs_f64() / span.secs_f64() };
    for (die, s) in (0..).zip(stats) {
        columns.add(
            &[die, channel(die), s.reads, s.retries, s.programs, s.erases, s.suspensions],
            &[part(s.reading), part(s.programming), part(s.erasing), part(s.holding)],
        );
    }
    columns
}
