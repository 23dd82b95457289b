//! Hands the log of every request to Python, portion by portion, from the thread of the run.

use std::sync::Mutex;

use ::storage::record::Direction;
use ::storage::run::requests::RequestRow;
use ::storage::trace::Part;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A receiver in Python, and the exception that it raised.
pub struct RequestSink {
    receiver: Py<PyAny>,
    /// Names of the jobs.
    jobs: Vec<String>,
    raised: Mutex<Option<PyErr>>,
}

/// The columns before those of the parts.
const COLUMNS: [&str; 11] = [
    "job",
    "direction",
    "measured",
    "offset",
    "bytes",
    "status",
    "due_ps",
    "issued_ps",
    "submitted_ps",
    "completed_ps",
    "die",
];

impl RequestSink {
    /// Creates a receiver: a function of a dictionary of NumPy arrays, and of the names of the jobs.
    pub fn new(receiver: Py<PyAny>, jobs: Vec<String>) -> RequestSink {
        RequestSink { receiver, jobs, raised: Mutex::new(None) }
    }

    /// Passes rows on. Returns false if the receiver raised an exception.
    pub fn take(&self, rows: &[RequestRow]) -> bool {
        let passed = Python::attach(|py| self.receiver.call1(py, (columns(py, rows)?, &self.jobs)).map(drop));
        match passed {
            Ok(()) => true,
            Err(error) => {
                *self.raised.lock().expect("no holder of the lock panics") = Some(error);
                false
            }
        }
    }

    /// Returns the exception that the receiver raised, if any.
    pub fn raised(&self) -> Option<PyErr> {
        self.raised.lock().expect("no holder of the lock panics").take()
    }
}

/// Returns the rows as columns: numbers, with `u64::MAX` for a request without a die.
fn columns<'py>(py: Python<'py>, rows: &[RequestRow]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (at, name) in COLUMNS.into_iter().enumerate() {
        let column: Vec<u64> = rows.iter().map(|row| values(row)[at]).collect();
        found.set_item(name, column.into_pyarray(py))?;
    }
    for part in Part::ALL {
        let column: Vec<u64> = rows.iter().map(|row| row.parts[part as usize].ps()).collect();
        found.set_item(format!("{}_ps", part.name()), column.into_pyarray(py))?;
    }
    Ok(found)
}

/// Returns the values of [`COLUMNS`].
fn values(row: &RequestRow) -> [u64; COLUMNS.len()] {
    [
        row.job.into(),
        Direction::of(row.request.op) as u64,
        row.measured.into(),
        row.request.offset,
        row.request.bytes,
        row.status.number().into(),
        row.due.ps(),
        row.issued.ps(),
        row.submitted.ps(),
        row.at.ps(),
        row.die.map_or(u64::MAX, u64::from),
    ]
}
