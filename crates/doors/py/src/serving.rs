//! The Python function that serves a drive to a virtual machine monitor.

use std::path::Path;
use std::thread;

use ::guest::{Drive, Options};
use ::guest_server::{ClockKind, Mappings, Service};
use ::system::memory::MainMemory;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;

use crate::{POLL_INTERVAL, load, user_error};

/// How a drive is served.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ServeRequest {
    socket: String,
    /// The file of the clock channel; `None` for the host's clock.
    channel: Option<String>,
    /// Nanoseconds of the host's clock per nanosecond of the drive.
    dilation: u32,
    seed: u64,
}

/// Serves the drive of a system at a vfio-user socket until the monitor that connects there disconnects. `ready` is
/// called once the socket exists.
///
/// Returns the summary as JSON, why the clock failed if it did, and whether an interrupt ended it.
#[pyfunction]
pub fn serve(
    py: Python<'_>,
    system: &str,
    sets: Vec<String>,
    request: ServeRequest,
    ready: Py<PyAny>,
) -> PyResult<(String, Option<String>, bool)> {
    let loaded = load(py, system, &sets)?;
    let named = |reason: String| user_error(py, format!("{system}: {reason}"));
    if loaded.memory.kind != MainMemory::None {
        return Err(named("found a main memory, expected an NVMe drive".to_owned()));
    }
    let memory = Mappings::default();
    let options = Options { seed: request.seed, ..Options::default() };
    let drive = py.detach(|| Drive::new(&loaded, &options, Box::new(memory.clone())));
    let drive = drive.map_err(|e| named(e.to_string()))?;
    let clock = match &request.channel {
        Some(path) => ClockKind::Virtual(path.into()),
        None => ClockKind::Real(request.dilation),
    };
    let service = Service::listen(Path::new(&request.socket), &clock, memory, drive).map_err(|e| user_error(py, e))?;
    let handle = service.handle();
    ready.call0(py)?;
    let worker = thread::spawn(move || service.run());
    let mut interrupted = false;
    while !worker.is_finished() {
        if let Err(error) = py.check_signals() {
            handle.stop();
            if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                return Err(error);
            }
            // A connected monitor keeps the thread until the process ends.
            interrupted = true;
            break;
        }
        py.detach(|| thread::sleep(POLL_INTERVAL));
    }
    let failure = if interrupted {
        None
    } else {
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).err().map(|error| error.to_string())
    };
    let mut summary = handle.inspect(Drive::summary);
    summary["system"] = json!(loaded.title);
    summary["system_hash"] = json!(loaded.content_hash());
    summary["seed"] = json!(request.seed);
    summary["clock"] = json!(if request.channel.is_some() { "virtual" } else { "real" });
    Ok((format!("{summary:#}\n"), failure, interrupted))
}
