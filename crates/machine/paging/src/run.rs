//! Runs a page trace on a machine with a OneNAND and summarizes the results.

use std::path::Path;

use media::{Op, Status};
use pager::Numbering;
use serde_json::{Map, Value, json};
use sim::{Streams, Time};
use workload::JobInfo;

use super::onenand::{OneNandMachine, PagingParts};
use super::{PagingError, Requests};
use storage::record::{Ended, Recorder};
use storage::run::{Measured, Progress, RunOptions, WATCH_EVERY};
use storage::summary::{part_of, whole};
use system::System;

/// A completed run.
pub struct PagingOutcome {
    /// The machine in its final state.
    pub machine: OneNandMachine,
    /// The recorded measurements.
    pub recorder: Recorder,
    /// The only job: the trace.
    pub jobs: Vec<JobInfo>,
    /// Completion time of the last request.
    pub end: Time,
    /// Number of completed requests.
    pub requests: u64,
    /// Number of distinct pages.
    pub pages: u32,
}

impl PagingOutcome {
    /// Returns the measurements.
    pub fn measured(&self) -> Measured<'_> {
        Measured::new(&self.recorder, &self.jobs, self.end, Time::ZERO)
    }
}

/// Runs a page trace on the machine described by `system`, each request as soon as the previous one has completed.
/// `watch` receives the progress and returns whether to continue.
///
/// # Errors
/// If the trace cannot be read, is empty, or does not fit the page size or capacity of the machine.
///
/// # Panics
/// If the system has no OneNAND, or the model violates one of its own invariants.
pub fn run(
    system: &System,
    path: &Path,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<PagingOutcome, PagingError> {
    let parts = PagingParts::new(system);
    let mut reader = Requests::open(path, None)?;
    let file = path.display().to_string();
    if u64::from(reader.page_bytes()) != system.flash.page {
        return Err(PagingError::Page { file, found: reader.page_bytes(), expected: system.flash.page });
    }
    let policy = OneNandMachine::policy(system, &parts);
    let (line, room) = (parts.lines.bytes, parts.pages());
    let mut machine = OneNandMachine::new(parts, policy, &Streams::new(options.seed));
    if let Some(limit) = options.timeline {
        machine.keep_timeline(limit);
    }
    let mut recorder = Recorder::new(1);
    let (mut numbering, mut chunk, mut numbers) = (Numbering::new(), Vec::new(), Vec::new());
    let (mut requests, mut watched) = (0, 0);
    loop {
        reader.next_chunk(&mut chunk)?;
        if chunk.is_empty() {
            break;
        }
        numbers.clear();
        numbering.number_all(&chunk, &mut numbers);
        if u64::from(numbering.pages()) > room {
            return Err(PagingError::Room { file, found: numbering.pages(), room });
        }
        machine.grow(numbering.pages());
        for &page in &numbers {
            let issued = machine.now();
            let at = machine.request(page);
            let (due, submitted) = (issued, issued);
            recorder.ended(&Ended {
                job: 0,
                op: Op::Read,
                bytes: line,
                status: Status::Ok,
                due,
                issued,
                submitted,
                at,
            });
        }
        requests += numbers.len() as u64;
        if requests >= watched {
            watched = requests + WATCH_EVERY;
            if !watch(Progress { fraction: 0.0, now: machine.now(), done: requests }) {
                return Err(PagingError::Interrupted);
            }
        }
    }
    if requests == 0 {
        return Err(PagingError::Empty { file });
    }
    let end = machine.now();
    machine.finish();
    recorder.finish();
    let name = path.file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy().into_owned());
    let job_options = vec![("trace".to_owned(), file), ("format".to_owned(), "pages".to_owned())];
    let jobs = vec![JobInfo { name, group: 0, starts_later: false, options: job_options, inherited: 0 }];
    Ok(PagingOutcome { machine, recorder, jobs, end, requests, pages: numbering.pages() })
}

/// Summarizes a run; byte-identical for the same system, trace and options.
pub fn summary(system: &System, outcome: &PagingOutcome) -> Value {
    whole(outcome.measured(), inside(system, outcome))
}

fn inside(system: &System, outcome: &PagingOutcome) -> Value {
    let machine = &outcome.machine;
    let end = machine.now().max(outcome.end);
    machine.nand().assert_bounds(end);
    let counts = machine.counts();
    let costs = PagingParts::new(system).costs();
    let apart = costs.total(&counts);
    let flash = machine.nand().energy(end);
    let busy: Map<String, Value> = [
        ("link bus", machine.onenand().busy()),
        ("host SRAM", machine.sram().busy()),
        ("flash array", machine.nand().die_stats(end, 0).busy()),
    ]
    .into_iter()
    .map(|(name, busy)| (name.to_owned(), json!(part_of(busy, end))))
    .collect();
    let mut all = json!({
        "system": system.title,
        "system_hash": system.content_hash(),
        "capacity_bytes": system.user_bytes,
        "raw_bytes": system.raw_bytes,
        "simulated_s": end.secs_f64(),
        "requests": outcome.requests,
        "preparation": { "kind": "none", "passes": 0, "write_amplification": null, "approximate": false },
        "warm_up": { "cut_s": 0.0, "rule": "as asked" },
        "paging": {
            "policy": system.paging.name().to_string(),
            "reading": system.paging.reading.words(),
            "overlap": system.paging.lines.overlap,
            "pages": outcome.pages,
            "frames": system.sram.frames(system.flash.page),
            "buffers": system.onenand.buffers,
            "flash_to_buffer": counts.flash_to_buffer,
            "buffer_to_sram": counts.buffer_to_sram,
            "buffer_reads": counts.buffer_reads,
            "sram_reads": counts.sram_reads,
            "uncorrectable": machine.lost(),
            "in_turn_s": apart.time.secs_f64(),
        },
        "energy_j": {
            "read": flash.read.joules(),
            "transfer": flash.transfer.joules(),
            "standby": flash.standby.joules(),
            "bus": machine.onenand().energy().joules(),
            "sram": machine.sram().energy().joules(),
            "total": machine.energy().joules(),
        },
        "busy": busy,
        "notes": [],
    });
    if let Some(timeline) = machine.timeline() {
        all["timeline_spans_left_out"] = json!(timeline.left_out());
    }
    all
}
