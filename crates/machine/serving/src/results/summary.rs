//! The summary of a run: its section `nandram.serving`, next to the drives' requests in fio's form.

use serde_json::{Map, Value, json};
use sim::Time;
use storage::notes::{Kind, Note, entries};
use storage::summary::{counted, whole};
use system::System;

use super::tally::{Finished, Snapshot};
use crate::engine::run::Outcome;

const DAY_S: f64 = 86_400.0;

/// Returns the summary of a run on drives of `system`. The same system, file and options give the same bytes.
pub fn summary(system: &System, outcome: &Outcome) -> Value {
    let (begin, end) = &outcome.window;
    let mut inside = json!({
        "system": system.title,
        "system_hash": system.content_hash(),
        "capacity_bytes": system.user_bytes,
        "raw_bytes": system.raw_bytes,
        "simulated_s": outcome.end.secs_f64(),
        "requests": outcome.tally.arrived,
        "preparation": preparation(outcome),
        "warm_up": { "cut_s": begin.at.secs_f64(), "rule": "load.warm_up", "run_at_least_s": null, "jobs_inside": [] },
        "window": {
            "from_s": begin.at.secs_f64(),
            "span_s": (end.at - begin.at).secs_f64(),
            "requests": end.tally.arrived - begin.tally.arrived,
        },
        "energy_j": { "total": 0.0 },
        "notes": entries(&notes(system, outcome)),
    });
    if let Some((machine, counters)) = outcome.drives.machine(0).zip(end.drives.first()) {
        // The counters of the simulated part of the first drive.
        let of = counters.since(begin.drives.first());
        let drive = counted(machine, system.ftl.unit as u32, &of);
        for (key, value) in drive.as_object().into_iter().flatten() {
            inside[key] = value.clone();
        }
        inside["whole_run"] = json!({ "ftl": inside["ftl"].clone() });
    }
    inside["serving"] = serving(system, outcome);
    whole(outcome.measured(), inside)
}

fn preparation(outcome: &Outcome) -> Value {
    match &outcome.prepared {
        Some(prepared) => json!({
            "kind": prepared.preparation.to_string(),
            "passes": prepared.passes,
            "write_amplification": prepared.write_amplification,
            "approximate": prepared.approximate,
        }),
        None => json!({ "kind": "none", "passes": 0.0, "write_amplification": null, "approximate": false }),
    }
}

fn notes(system: &System, outcome: &Outcome) -> Vec<Note> {
    let (config, (begin, end)) = (&outcome.config, &outcome.window);
    let mut notes = Vec::new();
    if config.drive.sample > 1 && config.drive.count > 0 {
        notes.push(Note::new(Kind::Remark, format!(
            "drives: one in {} channels of each is simulated, with that part of each block; counters of flash are of \
             that part, those of serving of whole drives",
            config.drive.sample
        )));
    }
    if end.inside > 2 * begin.inside.max(config.scheduler.batch / 4) {
        notes.push(Note::new(Kind::Overload, format!(
            "overload: {} requests were in the system at the end of the load, {} at the start of the statistics; times \
             grow with load.duration",
            end.inside, begin.inside
        )));
    }
    if outcome.cut_requests > 0 {
        notes.push(Note::new(
            Kind::Remark,
            format!(
                "{} of {} requests were longer than load.context_max ({} tokens) and were cut to it",
                outcome.cut_requests, outcome.tally.arrived, config.load.context_max
            ),
        ));
    }
    if outcome.tally.rejected > 0 {
        notes.push(Note::new(
            Kind::FailedRequests,
            format!("{} requests were refused: longer than the pool of GPU blocks", outcome.tally.rejected),
        ));
    }
    if outcome.drives.failed() > 0 {
        notes.push(Note::new(
            Kind::FailedRequests,
            format!("{} requests of the drives failed", outcome.drives.failed()),
        ));
    }
    let written = (end.tally.flow.to_drive - begin.tally.flow.to_drive) as f64;
    let capacity = system.user_bytes as f64 * config.drive.count as f64;
    if written > 0.0 && written < capacity {
        notes.push(Note::new(
            Kind::EarlyWear,
            format!(
                "wear: {:.2} drive writes within the statistics; before one, write amplification still depends on the \
             drive's preparation",
                written / capacity
            ),
        ));
    }
    notes
}

/// Returns the mean, and the percentiles by nearest rank, in milliseconds.
fn spread(mut samples: Vec<Time>) -> Value {
    samples.sort_unstable();
    let ms = |time: Time| time.us_f64() / 1000.0;
    let rank = |percent: f64| {
        let at = (percent / 100.0 * samples.len() as f64).ceil() as usize;
        samples.get(at.max(1) - 1).map(|time| ms(*time))
    };
    let mean = match samples.len() {
        0 => None,
        count => Some(samples.iter().map(|time| ms(*time)).sum::<f64>() / count as f64),
    };
    json!({
        "count": samples.len(),
        "mean": mean,
        "p50": rank(50.0),
        "p95": rank(95.0),
        "p99": rank(99.0),
        "max": samples.last().map(|time| ms(*time)),
        "quantiles": (0..=50).map(|at| rank(f64::from(at) * 2.0)).collect::<Vec<_>>(),
    })
}

fn serving(system: &System, outcome: &Outcome) -> Value {
    let (begin, end) = &outcome.window;
    let (config, answers) = (&outcome.config, &outcome.tally.answers);
    let span = (end.at - begin.at).secs_f64();
    let generated = end.tally.generated - begin.tally.generated;
    let per_token = |answer: &Finished| match answer.request.output {
        0 | 1 => None,
        output => Some((answer.last - answer.first) / (output - 1)),
    };
    let rate = |count: u64| if span > 0.0 { count as f64 / span } else { 0.0 };
    let busy = (end.tally.gpu_busy - begin.tally.gpu_busy).secs_f64();
    let link = [0, 1].map(|at| (end.tally.link_busy[at] - begin.tally.link_busy[at]).secs_f64());
    let part = |time: f64| if span > 0.0 { time / span } else { 0.0 };
    let options: Map<String, Value> = config.options.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    let basis: Map<String, Value> =
        config.basis.iter().map(|(key, kind, text)| (key.clone(), json!({ kind.as_str(): text }))).collect();
    json!({
        "options": options,
        "basis": basis,
        "kv_block_bytes": config.block_bytes(),
        "gpu_blocks": config.gpu_blocks(),
        "requests": {
            "arrived": end.tally.arrived - begin.tally.arrived,
            "answered": answers.len(),
            "rejected": outcome.tally.rejected,
            "preempted": end.tally.preempted - begin.tally.preempted,
            "inside_at_start": begin.inside,
            "inside_at_end": end.inside,
            "mean_inside": mean_inside(begin, end),
        },
        "ttft_ms": spread(answers.iter().map(|answer| answer.first - answer.request.at).collect()),
        "tpot_ms": spread(answers.iter().filter_map(per_token).collect()),
        "latency_ms": spread(answers.iter().map(|answer| answer.last - answer.request.at).collect()),
        "requests_per_s": rate(end.tally.arrived - begin.tally.arrived),
        "tokens_per_s": rate(generated),
        "tokens": generated,
        "computed_tokens_per_s": rate(end.tally.computed - begin.tally.computed),
        "steps": end.tally.steps - begin.tally.steps,
        "gpu_busy": part(busy),
        "link_busy": { "to_gpu": part(link[0]), "to_host": part(link[1]) },
        "hits": hits(begin, end),
        "fetch_ms": spread(outcome.tally.fetches.clone()),
        "tiers": tiers(system, outcome),
        "energy": energy(outcome, span, busy, generated),
    })
}

/// Returns the mean number of requests in the system.
fn mean_inside(begin: &Snapshot, end: &Snapshot) -> f64 {
    let span = (end.at - begin.at).ps();
    if span == 0 { 0.0 } else { (end.tally.request_ps - begin.tally.request_ps) as f64 / span as f64 }
}

/// Returns the fraction of the tokens known at admission that was found in each tier.
fn hits(begin: &Snapshot, end: &Snapshot) -> Value {
    let known = (end.tally.looked_up - begin.tally.looked_up) as f64;
    let of = |at: usize| {
        let found = (end.tally.hits[at] - begin.tally.hits[at]) as f64;
        if known > 0.0 { found / known } else { 0.0 }
    };
    json!({ "gpu": of(0), "host": of(1), "drive": of(2), "total": of(0) + of(1) + of(2) })
}

/// Returns the traffic of the tiers and the wear of the drives, of whole drives.
fn tiers(system: &System, outcome: &Outcome) -> Value {
    let (begin, end) = &outcome.window;
    let (config, sample) = (&outcome.config, outcome.config.drive.sample);
    let flow = end.tally.flow.since(&begin.tally.flow);
    let span = (end.at - begin.at).secs_f64();
    let part = outcome.drives.system();
    let (mut host, mut programmed, mut flash) = (0u64, 0u64, 0.0);
    for (now, then) in end.drives.iter().zip(&begin.drives) {
        let of = now.since(Some(then));
        host += of.ftl.host_bytes;
        programmed += of.ftl.programmed() * part.ftl.unit;
        flash += of.energy.total().joules();
    }
    let (host, programmed) = (host * sample, programmed * sample);
    let count = config.drive.count as f64;
    let (capacity, raw) = (system.user_bytes as f64 * count, system.raw_bytes as f64 * count);
    let per_day = |bytes: u64| if span > 0.0 { bytes as f64 / span * DAY_S } else { 0.0 };
    let endurance = system.flash.wear.endurance.mean.map(f64::from);
    // Every program counts as one of the native cells, those of an SLC cache too.
    let years = endurance.filter(|_| programmed > 0).map(|cycles| cycles * raw / per_day(programmed) / 365.0);
    json!({
        "gpu": { "capacity_bytes": config.gpu_blocks() * config.block_bytes(),
            "read_bytes": flow.gpu_to_host, "written_bytes": flow.host_to_gpu + flow.drive_to_gpu },
        "host": { "capacity_bytes": config.tiers.host,
            "read_bytes": flow.host_to_gpu, "written_bytes": flow.gpu_to_host },
        "drive": {
            "count": config.drive.count,
            "slots": outcome.drives.slots(),
            "capacity_bytes": outcome.drives.slots() * config.block_bytes(),
            "read_bytes": flow.drive_to_gpu,
            "written_bytes": flow.to_drive,
            "weight_bytes": flow.weights,
            "host_bytes": host,
            "programmed_bytes": programmed,
            "write_amplification": (host > 0).then(|| programmed as f64 / host as f64),
            "dwpd": if capacity > 0.0 { per_day(host) / capacity } else { 0.0 },
            "endurance_cycles": endurance,
            "lifetime_years": years,
            "flash_energy_j": flash * sample as f64,
            "sample": sample,
        },
        "dropped_blocks": end.tally.dropped - begin.tally.dropped,
    })
}

/// Returns the energy: GPUs at their maximum power while a step runs and at idle power between, and the drives' flash.
fn energy(outcome: &Outcome, span: f64, busy: f64, generated: u64) -> Value {
    let (begin, end) = &outcome.window;
    let (gpus, sample) = (&outcome.config.gpus, outcome.config.drive.sample as f64);
    let watts = |uw: u64| uw as f64 / 1e6 * gpus.count as f64;
    let gpu = watts(gpus.gpu.power_uw) * busy + watts(gpus.gpu.idle_uw) * (span - busy).max(0.0);
    let drives = end.drives.iter().zip(&begin.drives);
    let flash: f64 = drives.map(|(now, then)| now.since(Some(then)).energy.total().joules()).sum::<f64>() * sample;
    let per_token = (generated > 0).then(|| (gpu + flash) / generated as f64);
    json!({ "gpu_j": gpu, "flash_j": flash, "per_token_j": per_token })
}
