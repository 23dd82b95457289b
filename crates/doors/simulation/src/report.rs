//! The summary of a device, at any time.

use serde_json::{Value, json};
use sim::Time;
use storage::counters::Counters;
use storage::measured::Measured;
use storage::notes::{Kind, Note, entries};
use storage::summary::{Figures, summary_of, whole};
use workload::JobInfo;

use crate::device::{Device, Machine};
use crate::error::Error;
use crate::simulation::Simulation;

impl Simulation {
    /// Returns the summary of a device so far, with the sections of a run's summary. Its one job has the device's name;
    /// `nandram.outstanding` counts the outstanding requests, or lines of main memory.
    ///
    /// Response times (`lat_ns`) count from the submission's time, completion latencies (`clat_ns`) of a drive from the
    /// doorbell.
    ///
    /// # Errors
    /// If the device does not exist.
    pub fn summary(&mut self, device: usize) -> Result<Value, Box<Error>> {
        self.device(device)?;
        let now = self.now();
        let device = &mut self.devices[device];
        let mut recorder = device.recorder.clone();
        recorder.finish();
        let name = device.options.name.clone();
        let jobs = [JobInfo { name, group: 0, starts_later: false, options: Vec::new(), inherited: 0 }];
        let measured = Measured::new(&recorder, &jobs, now, Time::ZERO);
        let mut all = match &device.machine {
            Machine::Drive(drive) => {
                let begins = format!("the drive {}", drive.prepared.preparation.begins());
                let counters = Counters::read(&drive.machine, now, device.completed);
                let figures = Figures {
                    reached: None,
                    machine: &drive.machine,
                    measured,
                    prepared: &drive.prepared,
                    mounted: &drive.mounted,
                    counters: (counters.clone(), counters),
                    warm_up_detected: false,
                    run_at_least: None,
                    notes: &[Note::new(Kind::Prepared, begins)],
                    headroom: drive.headroom,
                    drives: (None, &[]),
                    failed: &[],
                };
                summary_of(&device.options.system, &figures)
            }
            Machine::Memory(_) => whole(measured, memory(device, now)),
        };
        all["nandram"]["outstanding"] = json!(device.outstanding);
        Ok(all)
    }
}

/// Returns the simulator's own section for main memory.
fn memory(device: &mut Device, now: Time) -> Value {
    let Machine::Memory(memory) = &mut device.machine else { panic!("{} is no main memory", device.options.name) };
    let system = &device.options.system;
    let reading = memory.memory.reading(now);
    let joules = reading.energy.joules();
    let failed = |fault| Note::new(Kind::EndedEarly, format!("main memory failed: {fault}"));
    let notes: Vec<Note> = memory.memory.fault().map(failed).into_iter().collect();
    let mut all = json!({
        "system": system.title,
        "system_hash": system.content_hash(),
        "simulated_s": now.secs_f64(),
        "requests": device.completed,
        "preparation": { "kind": "none", "passes": 0, "write_amplification": null, "approximate": false },
        "warm_up": { "cut_s": 0.0, "rule": "as asked" },
        "memory": { "bytes": memory.memory.bytes() },
        "energy_j": { "memory": joules, "total": joules },
        "busy": {},
        "notes": entries(&notes),
    });
    let report = memory.memory.report(&reading, None);
    all.as_object_mut().expect("it is one").extend(report);
    all
}
