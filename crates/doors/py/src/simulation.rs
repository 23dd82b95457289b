//! Simulations that a Python program drives: single requests, and arrays of any length without Python in between.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use ::simulation::{Completion, DeviceOptions, Op, Options, Request, Simulation};
use ::storage::prepare::Preparation;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Time;

use crate::calls::{load, user_error};

/// Number of completions between two checks for signals.
const CHECK_EVERY: usize = 1 << 14;

/// The options of a device.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct DeviceRequest {
    name: String,
    system: String,
    sets: Vec<String>,
    prepare: String,
    cache: Option<PathBuf>,
    outstanding: u32,
}

/// A simulation. Calls from several threads exclude each other.
#[pyclass(frozen)]
pub struct Stepping(Mutex<Inner>);

/// A simulation, and buffers of its calls.
struct Inner {
    simulation: Simulation,
    requests: Vec<(Time, Request)>,
    completions: Vec<Completion>,
}

/// A column of requests: one value for all, or one each.
enum Column<'py> {
    Same(u64),
    Each(PyReadonlyArray1<'py, u64>),
}

impl<'py> Column<'py> {
    fn of(name: &str, value: &Bound<'py, PyAny>, count: usize) -> Result<Column<'py>, String> {
        if let Ok(same) = value.extract::<u64>() {
            return Ok(Column::Same(same));
        }
        let each: PyReadonlyArray1<'py, u64> =
            value.extract().map_err(|_| format!("{name}: expected whole numbers from 0, one or an array of uint64"))?;
        let found = each.as_array().len();
        if found != count {
            return Err(format!("{name}: found {found} values, expected {count}, as many as addresses"));
        }
        Ok(Column::Each(each))
    }

    fn values(&self) -> Result<Values<'_>, String> {
        Ok(match self {
            Column::Same(same) => Values::Same(*same),
            Column::Each(each) => Values::Each(each.as_slice().map_err(|error| error.to_string())?),
        })
    }
}

/// The values of a column.
#[derive(Clone, Copy)]
enum Values<'a> {
    Same(u64),
    Each(&'a [u64]),
}

impl Values<'_> {
    #[inline]
    fn at(&self, index: usize) -> u64 {
        match self {
            Values::Same(same) => *same,
            Values::Each(each) => each[index],
        }
    }
}

/// Returns a request of plain numbers.
#[inline]
fn request([device, op, fua, thread, address, bytes, handle]: [u64; 7]) -> Result<Request, String> {
    let small = |name: &str, found: u64| {
        u16::try_from(found).map_err(|_| format!("{name}: found {found}, expected 0 to {}", u16::MAX))
    };
    let of_code = u8::try_from(op).ok().and_then(Op::of_code);
    let op = of_code.ok_or_else(|| format!("op: found {op}, expected 0 to {}", Op::NAMES.len() - 1))?;
    let (device, thread) = (small("device", device)?, small("thread", thread)?);
    Ok(Request { device, op, fua: fua != 0, thread, address, bytes, handle })
}

impl Stepping {
    fn of(simulation: Simulation) -> Stepping {
        Stepping(Mutex::new(Inner { simulation, requests: Vec::new(), completions: Vec::new() }))
    }

    /// Returns the simulation, unless another thread, or a signal handler's caller, is using it.
    fn inner(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Inner>> {
        self.0.try_lock().map_err(|_| user_error(py, "the simulation is in use by another call"))
    }
}

#[pymethods]
impl Stepping {
    #[new]
    fn new(py: Python<'_>, devices: Vec<DeviceRequest>, seed: u64, history: u64) -> PyResult<Stepping> {
        let mut options = Vec::new();
        for device in devices {
            let system = load(py, &device.system, &device.sets)?;
            let known = Preparation::NAMES.iter().find(|(name, _)| *name == device.prepare);
            let unknown = || user_error(py, format!("prepare: found `{}`", device.prepare));
            options.push(DeviceOptions {
                preparation: known.ok_or_else(unknown)?.1,
                cache: device.cache,
                outstanding: device.outstanding,
                ..DeviceOptions::new(&device.name, system)
            });
        }
        let built = py.detach(|| Simulation::new(options, Options { seed, history }));
        Ok(Stepping::of(built.map_err(|error| user_error(py, error))?))
    }

    /// Returns the picoseconds of a time with its unit.
    #[staticmethod]
    fn time_ps(py: Python<'_>, name: &str, text: &str) -> PyResult<u64> {
        sim::units::time(text).map(Time::ps).map_err(|error| user_error(py, format!("{name}: {error}")))
    }

    #[staticmethod]
    fn restore(py: Python<'_>, path: PathBuf, cache: Option<PathBuf>) -> PyResult<Stepping> {
        let mut signal = None;
        let mut watch = || {
            signal = Python::attach(|py| py.check_signals().err());
            signal.is_none()
        };
        let restored = py.detach(|| Simulation::restore(&path, cache.as_deref(), &mut watch));
        match (restored, signal) {
            (_, Some(signal)) => Err(signal),
            (restored, None) => Ok(Stepping::of(restored.map_err(|error| user_error(py, error))?)),
        }
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let inner = self.inner(py)?;
        inner.simulation.save(&path).map_err(|error| user_error(py, error))
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner(py)?.simulation.now().ps())
    }

    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = self.inner(py)?;
        let names = (0..inner.simulation.devices()).filter_map(|device| inner.simulation.name(device).ok());
        Ok(names.map(str::to_owned).collect())
    }

    fn bytes(&self, py: Python<'_>, device: usize) -> PyResult<u64> {
        self.inner(py)?.simulation.bytes(device).map_err(|error| user_error(py, error))
    }

    fn room(&self, py: Python<'_>, device: usize) -> PyResult<u32> {
        self.inner(py)?.simulation.room(device).map_err(|error| user_error(py, error))
    }

    fn energy_j(&self, py: Python<'_>, device: usize) -> PyResult<f64> {
        self.inner(py)?.simulation.energy_j(device).map_err(|error| user_error(py, error))
    }

    fn summary(&self, py: Python<'_>, device: usize) -> PyResult<String> {
        let summary = self.inner(py)?.simulation.summary(device).map_err(|error| user_error(py, error))?;
        Ok(summary.to_string())
    }

    fn next_event(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.inner(py)?.simulation.next_event().map(Time::ps))
    }

    /// Submits one request at `at`: device, operation, whether FUA, thread, address, bytes, handle.
    fn submit(&self, py: Python<'_>, at: u64, numbers: [u64; 7]) -> PyResult<u64> {
        let request = request(numbers).map_err(|error| user_error(py, error))?;
        self.inner(py)?.simulation.submit(Time::from_ps(at), request).map_err(|error| user_error(py, error))
    }

    /// Submits `count` requests whose columns are numbers or arrays: time, then like `submit`.
    fn submit_all(&self, py: Python<'_>, count: usize, columns: Vec<Bound<'_, PyAny>>) -> PyResult<u64> {
        const NAMES: [&str; 8] = ["at", "device", "op", "fua", "thread", "address", "bytes", "handle"];
        let read = || -> Result<Vec<Column<'_>>, String> {
            NAMES.iter().zip(&columns).map(|(name, value)| Column::of(name, value, count)).collect()
        };
        let columns = read().map_err(|error| user_error(py, error))?;
        let values = columns.iter().map(Column::values).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|error| user_error(py, error))?;
        let [at, numbers @ ..] = &values[..] else { return Err(user_error(py, "columns: expected 8")) };
        let mut inner = self.inner(py)?;
        let Inner { simulation, requests, .. } = &mut *inner;
        requests.clear();
        for index in 0..count {
            let of = |column: usize| numbers.get(column).map_or(0, |values| values.at(index));
            let one = request(std::array::from_fn(of));
            let one = one.map_err(|error| user_error(py, format!("request {index}: {error}")))?;
            requests.push((Time::from_ps(at.at(index)), one));
        }
        simulation.submit_all(requests.iter().copied()).map_err(|error| user_error(py, error))
    }

    /// Advances to `until`, or to the first completion at most until then, and returns the completions as columns: id,
    /// handle, submitted, completed, device, status.
    fn advance<'py>(&self, py: Python<'py>, until: Option<u64>, stops: bool) -> PyResult<Bound<'py, PyDict>> {
        let until = until.map(Time::from_ps);
        // An interrupted call leaves its completions to the next.
        let mut inner = self.inner(py)?;
        let Inner { simulation, completions, .. } = &mut *inner;
        let mut checked = completions.len();
        loop {
            let found = simulation.next_completions(until, usize::MAX).map_err(|error| user_error(py, error))?;
            completions.extend_from_slice(found);
            if stops || found.is_empty() {
                break;
            }
            if completions.len() - checked >= CHECK_EVERY {
                checked = completions.len();
                py.check_signals()?;
            }
        }
        let columns = columns(py, completions)?;
        completions.clear();
        Ok(columns)
    }
}

/// Returns completions as columns.
fn columns<'py>(py: Python<'py>, found: &[Completion]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let numbers = |of: fn(&Completion) -> u64| PyArray1::from_iter(py, found.iter().map(of));
    columns.set_item("id", numbers(|c| c.id))?;
    columns.set_item("handle", numbers(|c| c.handle))?;
    columns.set_item("submitted", numbers(|c| c.submitted.ps()))?;
    columns.set_item("completed", numbers(|c| c.completed.ps()))?;
    columns.set_item("device", PyArray1::from_iter(py, found.iter().map(|c| c.device)))?;
    columns.set_item("status", PyArray1::from_iter(py, found.iter().map(|c| c.status.number())))?;
    Ok(columns)
}
