//! The Python function that serves a drive to a virtual machine monitor.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::thread;

use ::guest::{Drive, Options};
use ::guest_server::{ClockKind, Mappings, Service};
use ::guest_store::{Kept, Mode};
use ::sim::Time;
use ::system::System;
use ::system::memory::MainMemory;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;

use crate::calls::{POLL_INTERVAL, load, user_error};

/// Options of serving a drive.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ServeRequest {
    socket: String,
    /// The file of the clock channel; `None` for the host's clock.
    channel: Option<String>,
    /// Nanoseconds of the host's clock per nanosecond of the drive.
    dilation: u32,
    seed: u64,
    /// The file of the flash; `None` to keep it in memory.
    store: Option<String>,
    cuts: Option<Cuts>,
}

/// Instants at which the drive's power would be cut, to learn what would be left.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Cuts {
    /// A folder for the stores that would be left, `NUMBER.store`, and for `cuts.jsonl`.
    folder: String,
    /// Nanoseconds of the drive's time.
    instants: Vec<u64>,
    /// A file whose length at each instant is recorded.
    witness: String,
}

impl Cuts {
    /// Lets `drive` write a store at each instant.
    fn arrange(self, drive: &mut Drive, system: System) {
        let mut number = 0;
        let inspect = move |drive: &Drive, at: Time| {
            let path = Path::new(&self.folder).join(format!("{number}.store"));
            let witnessed = std::fs::metadata(&self.witness).map_or(0, |about| about.len());
            let failure = ::guest_store::cut(&system, drive, at, &path).err().map(|error| error.to_string());
            let line = json!({"store": path, "at_ns": at.ps() / 1000, "witnessed": witnessed, "failure": failure});
            // A reader of the lines notices a missing one.
            let log = OpenOptions::new().append(true).create(true).open(Path::new(&self.folder).join("cuts.jsonl"));
            let _ = log.and_then(|mut log| writeln!(log, "{line}"));
            number += 1;
        };
        let instants = self.instants.iter().map(|at| Time::from_ps(at.saturating_mul(1000))).collect();
        drive.inspect_at(instants, Box::new(inspect));
    }
}

/// Writes what the host of the drive in a store would read to a sparse file.
#[pyfunction]
pub fn export_store(
    py: Python<'_>,
    system: &str,
    sets: Vec<String>,
    seed: u64,
    store: &str,
    image: &str,
) -> PyResult<()> {
    let loaded = load(py, system, &sets)?;
    let options = Options { seed, ..Options::default() };
    let exported = py.detach(|| ::guest_store::export(&loaded, &options, Path::new(store), Path::new(image)));
    exported.map_err(|error| user_error(py, error.to_string()))
}

/// Prints the message about a store that could not be written, or can be written again, if there is one.
fn print_notice(kept: Option<&Kept>) {
    if let Some(notice) = kept.and_then(Kept::take_notice) {
        eprintln!("nandram: {notice}");
    }
}

/// Serves the drive of a system at a vfio-user socket until the monitor that connects there disconnects. `ready` is
/// called once the socket exists.
///
/// Returns the summary as JSON, why the clock failed or the store could not be written at the end, and whether an interrupt
/// ended it.
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
    let (mut drive, kept) = match &request.store {
        None => {
            let drive = py.detach(|| Drive::new(&loaded, &options, Box::new(memory.clone())));
            (drive.map_err(|e| named(e.to_string()))?, None)
        }
        Some(path) => {
            let mode = Mode::OpenOrCreate;
            let found =
                py.detach(|| ::guest_store::open(&loaded, &options, Box::new(memory.clone()), Path::new(path), mode));
            let (drive, kept) = found.map_err(|e| user_error(py, e.to_string()))?;
            (drive, Some(kept))
        }
    };
    if let Some(cuts) = request.cuts {
        cuts.arrange(&mut drive, loaded.clone());
    }
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
        print_notice(kept.as_ref());
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
    let mut failure = if interrupted {
        None
    } else {
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).err().map(|error| error.to_string())
    };
    print_notice(kept.as_ref());
    let mut summary = handle.inspect(Drive::summary);
    if let Some(kept) = &kept {
        // The summary is written all the same.
        let closed = handle.inspect(|drive, _| kept.close(drive));
        failure = failure.or(closed.err().map(|error| error.to_string()));
    }
    summary["system"] = json!(loaded.title);
    summary["system_hash"] = json!(loaded.content_hash());
    summary["seed"] = json!(request.seed);
    summary["clock"] = json!(if request.channel.is_some() { "virtual" } else { "real" });
    Ok((format!("{summary:#}\n"), failure, interrupted))
}
