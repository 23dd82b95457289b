//! The JSON summary of a run: jobs in fio's format, readable by fio's tools, and a section with data that only a
//! simulator has.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sim::{Histogram, Time};

use ftl::{Headroom, MountReport};

use crate::machine::Machine;
use crate::prepare::Prepared;
use crate::results::counters::{Counters, busy_names};
use crate::results::fio_json::{self, Issued};
use crate::results::measured::{Group, Measured};
use crate::results::notes::{self, Note};
use crate::results::placement::placement;
use crate::results::validity;
use crate::run::Outcome;
use crate::run::drives::OtherDrive;
use crate::run::failed::FailedJob;
use crate::run::reached::Reached;
use crate::run::record::{Direction, Totals};
use host_interface::StrobeStats;
use system::System;

/// Percentiles that fio prints.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

fn ratio(a: u64, b: u64) -> f64 {
    if b > 0 { a as f64 / b as f64 } else { 0.0 }
}

fn kib(bytes: u64) -> u64 {
    bytes / 1024
}

/// Returns the distribution of a histogram in the form of fio, in nanoseconds.
pub fn spread(h: &Histogram, percentiles: bool) -> Value {
    spread_with(h, if percentiles { &PERCENTILES } else { &[] })
}

/// Like [`spread`], with these percentiles.
fn spread_with(h: &Histogram, percentiles: &[f64]) -> Value {
    let mut all = json!({
        "min": h.min().ns(),
        "max": h.max().ns(),
        "mean": h.mean_ns(),
        "stddev": h.stddev_ns(),
        "N": h.count(),
    });
    if !percentiles.is_empty() && h.count() > 0 {
        let values: Map<String, Value> =
            percentiles.iter().map(|p| (format!("{p:.6}"), json!(h.percentile_ns(*p)))).collect();
        all["percentile"] = Value::Object(values);
    }
    all
}

/// Returns the bytes per second of each group of jobs that run together, by direction: the sum of the rates of its
/// jobs.
fn group_rates(outcome: Measured<'_>) -> BTreeMap<u32, [f64; 4]> {
    let mut rates = BTreeMap::new();
    for (number, info) in outcome.jobs.iter().enumerate() {
        let seconds = outcome.runtime(&[number]).secs_f64();
        let of: &mut [f64; 4] = rates.entry(info.group).or_default();
        for direction in Direction::ALL {
            let bytes = outcome.bytes(number, direction);
            of[direction as usize] += if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
        }
    }
    rates
}

/// Returns fio's `read` or `write` section for `totals` over `runtime`. `group_bytes_s` is the bandwidth of all jobs
/// that ran together, and `percentiles` are those of the completion latency.
fn direction(
    totals: &Totals,
    runtime: Time,
    group_bytes_s: f64,
    points: &[crate::run::record::Point],
    percentiles: &[f64],
) -> Value {
    let seconds = runtime.secs_f64();
    let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let (bandwidths, iops): (Vec<f64>, Vec<f64>) =
        fio_json::samples(points).into_iter().map(|(bytes, ios)| (bytes / 1024.0, ios)).unzip();
    let least = |v: &[f64]| v.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let most = |v: &[f64]| v.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let mean = |v: &[f64]| if v.is_empty() { 0.0 } else { v.iter().sum::<f64>() / v.len() as f64 };
    let deviation = |v: &[f64]| {
        let m = mean(v);
        if v.is_empty() { 0.0 } else { (v.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / v.len() as f64).sqrt() }
    };
    let mut section = json!({
        "io_bytes": totals.bytes,
        "io_kbytes": kib(totals.bytes),
        "bw_bytes": rate(totals.bytes).round() as u64,
        "bw": (rate(totals.bytes) / 1024.0).round() as u64,
        "iops": rate(totals.ios),
        "runtime": (runtime.ps() + 500_000_000) / 1_000_000_000,
        "total_ios": totals.ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": spread(&totals.latencies.submission, false),
        "clat_ns": spread_with(&totals.latencies.completion, percentiles),
        "lat_ns": spread(&totals.latencies.total, true),
        "bw_min": least(&bandwidths).round() as u64,
        "bw_max": most(&bandwidths).round() as u64,
        "bw_agg": if group_bytes_s > 0.0 { 100.0 * rate(totals.bytes) / group_bytes_s } else { 0.0 },
        "bw_mean": mean(&bandwidths),
        "bw_dev": deviation(&bandwidths),
        "bw_samples": bandwidths.len(),
        "iops_min": least(&iops).round() as u64,
        "iops_max": most(&iops).round() as u64,
        "iops_mean": mean(&iops),
        "iops_stddev": deviation(&iops),
        "iops_samples": iops.len(),
    });
    if totals.ios > 0 {
        section["clat_ns"]["bins"] = fio_json::bins(&totals.latencies.completion);
    }
    section
}

fn job(outcome: Measured<'_>, number: usize, groups: &BTreeMap<u32, [f64; 4]>) -> Value {
    let info = &outcome.jobs[number];
    let runtime = outcome.runtime(&[number]);
    let of = |d: Direction| outcome.totals(number, d);
    let (read, write, trim, sync) =
        (of(Direction::Read), of(Direction::Write), of(Direction::Trim), of(Direction::Sync));
    let points = |d: Direction| outcome.points(number, d);
    let group = |d: Direction| groups[&info.group][d as usize];
    let error = outcome.errno(number);
    let listed = info.percentiles();
    let percentiles = listed.as_deref().unwrap_or(&PERCENTILES);
    let options: Map<String, Value> =
        info.options[info.inherited..].iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    let mut section = json!({
        "jobname": info.name,
        "groupid": info.group,
        "error": error,
        "eta": 0,
        "elapsed": outcome.end.ps().div_ceil(1_000_000_000_000),
        "job options": options,
        "read": direction(&read, runtime, group(Direction::Read), &points(Direction::Read), percentiles),
        "write": direction(&write, runtime, group(Direction::Write), &points(Direction::Write), percentiles),
        "trim": direction(&trim, runtime, group(Direction::Trim), &points(Direction::Trim), percentiles),
        "sync": { "total_ios": sync.ios, "lat_ns": spread(&sync.latencies.total, true) },
        "job_runtime": (runtime.ps() + 500_000_000) / 1_000_000_000,
        "total_err": read.errors + write.errors + trim.errors + sync.errors,
        "first_error": error,
    });
    let latencies = [&read, &write, &trim].map(|totals| &totals.latencies.completion);
    fio_json::complete(&mut section, outcome.issued, number, latencies);
    section
}

/// Returns the counters of the translation layer.
fn ftl_counts(stats: &ftl::Stats, unit_bytes: u32) -> Value {
    json!({
        "write_amplification": stats.write_amplification(),
        "write_amplification_by_bytes": stats.write_amplification_by_bytes(unit_bytes),
        "host_bytes": stats.host_bytes,
        "host_units": stats.host_units,
        "overwritten_in_ram": stats.overwritten_in_ram,
        "programmed_host": stats.programmed_host,
        "programmed_copy": stats.programmed_copy,
        "programmed_system": stats.programmed_system,
        "programmed_padding": stats.programmed_padding,
        "programs": stats.programs,
        "host_reads": stats.host_reads,
        "read_hits": stats.read_hits,
        "read_misses": stats.read_misses,
        "fill_reads": stats.fill_reads,
        "copy_reads": stats.copy_reads,
        "map_reads": stats.map_reads,
        "map_hits": stats.map_hits,
        "map_misses": stats.map_misses,
        "victims": stats.victims,
        "victim_units": stats.victim_units,
        "erases": stats.erases,
        "failures": stats.failures,
        "lost_units": stats.lost_units,
    })
}

/// Returns the energy of the flash.
fn energy_parts(energy: &nand::EnergyByPart) -> Value {
    json!({
        "read": energy.read.joules(),
        "program": energy.program.joules(),
        "erase": energy.erase.joules(),
        "transfer": energy.transfer.joules(),
        "standby": energy.standby.joules(),
        "total": energy.total().joules(),
    })
}

/// Returns the share of time in which each resource was busy.
fn busy_parts(names: &[String], counters: &Counters) -> Map<String, Value> {
    names.iter().zip(&counters.busy).map(|(name, busy)| (name.clone(), json!(part_of(*busy, counters.at)))).collect()
}

/// Returns the counters of a drive whose host is outside the simulation, up to `now`.
pub fn served(machine: &Machine, unit_bytes: u32, now: Time) -> Value {
    counted(machine, unit_bytes, &Counters::read(machine, now, 0))
}

/// Like [`served`], of `counters` of part of a run.
pub fn counted(machine: &Machine, unit_bytes: u32, counters: &Counters) -> Value {
    let (least, mean, most) = machine.ftl().wear();
    let mut ftl = ftl_counts(&counters.ftl, unit_bytes);
    ftl["read_only"] = json!(machine.ftl().is_read_only());
    ftl["erases_per_block"] = json!({ "min": least, "mean": mean, "max": most });
    let mut all = json!({
        "ftl": ftl,
        "energy_j": energy_parts(&counters.energy),
        "busy": busy_parts(&busy_names(machine), counters),
        "interrupts": counters.interrupts,
    });
    if machine.ftl().uses_host_memory() {
        all["host_memory"] = host_memory(machine, &counters.ftl);
    }
    if let Some(placement) = placement(machine, counters, unit_bytes) {
        all["placement"] = placement;
    }
    if let Some(stats) = counters.read_ahead {
        all["read_ahead"] = read_ahead(stats);
    }
    all
}

/// Returns the counters of the read-ahead.
fn read_ahead(stats: read_ahead::Stats) -> Value {
    json!({ "pages": stats.pages, "hits": stats.hits, "late_hits": stats.late_hits })
}

/// Returns the use of the Host Memory Buffer.
fn host_memory(machine: &Machine, stats: &ftl::Stats) -> Value {
    json!({
        "bytes": machine.host_memory_bytes(),
        "map_hits": stats.map_host_hits,
        "data_hits": stats.host_memory_hits,
        "loads": stats.host_memory_loads,
        "load_bytes": stats.host_memory_load_bytes,
        "stores": stats.host_memory_stores,
        "store_bytes": stats.host_memory_store_bytes,
    })
}

/// A drive and its measurements, from a run that has ended or from one that goes on.
#[derive(Clone)]
pub struct Figures<'a> {
    /// The drive.
    pub machine: &'a Machine,
    /// The jobs' measurements.
    pub measured: Measured<'a>,
    /// The drive's preparation.
    pub prepared: &'a Prepared,
    /// The translation layer's report on mounting the prepared drive.
    pub mounted: &'a MountReport,
    /// Counters of everything so far, and of the part that the measurements cover.
    pub counters: (Counters, Counters),
    /// True if the warm-up was found by MSER-5 rather than set by the user.
    pub warm_up_detected: bool,
    /// Set if the run is too short to be steady: the minimum length it would need.
    pub run_at_least: Option<Time>,
    /// Notes on the workload and the preparation for the reader of the results.
    pub notes: &'a [Note],
    /// Headroom of the drive at the start of the statistics.
    pub headroom: Headroom,
    /// Name of the drive and the other drives, if there are several.
    pub drives: (Option<&'a str>, &'a [OtherDrive]),
    /// Jobs ended by an error.
    pub failed: &'a [FailedJob],
    /// What the run knows of its measures, if it went on until they were known.
    pub reached: Option<&'a Reached>,
}

impl<'a> From<&'a Outcome> for Figures<'a> {
    fn from(outcome: &'a Outcome) -> Figures<'a> {
        Figures {
            machine: &outcome.machine,
            measured: outcome.measured(),
            prepared: &outcome.prepared,
            mounted: &outcome.mounted,
            counters: (outcome.whole_run(), outcome.window()),
            warm_up_detected: outcome.warm_up_detected,
            run_at_least: outcome.run_at_least,
            notes: &outcome.notes,
            headroom: outcome.headroom,
            drives: (outcome.name.as_deref(), &outcome.others),
            failed: &outcome.failed,
            reached: outcome.reached.as_ref(),
        }
    }
}

/// Returns the counters of the part that the jobs' statistics cover, and under a key of its own those of the whole run.
fn inside(system: &System, figures: &Figures<'_>) -> Value {
    let Figures { machine, measured, prepared, mounted, counters: (whole_run, window), .. } = figures;
    let (ftl, nand, end) = (machine.ftl(), machine.nand(), whole_run.at);
    nand.assert_bounds(end);
    let stats = &window.ftl_of_all();
    let (least, mean, most) = ftl.wear();
    let names = busy_names(machine);
    let jobs = measured.jobs;
    let in_warm_up: Vec<&str> =
        (0..jobs.len()).filter(|job| measured.ended_in_warm_up(*job)).map(|job| jobs[job].name.as_str()).collect();
    let mut all = json!({
        "system": system.title,
        "system_hash": system.content_hash(),
        "capacity_bytes": system.user_bytes,
        "raw_bytes": system.raw_bytes,
        "simulated_s": end.secs_f64(),
        "requests": whole_run.requests,
        "preparation": {
            "kind": prepared.preparation.to_string(),
            "passes": prepared.passes,
            "write_amplification": prepared.write_amplification,
            "approximate": prepared.approximate,
        },
        "mount": {
            "pages_read": mounted.pages_read,
            "torn_pages": mounted.torn_pages,
            "mapped_units": mounted.mapped_units,
            "bad_blocks": mounted.bad_blocks,
            "scan_s": mounted.time(system.flash.timing.read[0] + system.flash.timing.read_command).secs_f64(),
        },
        "warm_up": {
            "cut_s": measured.warm_up.secs_f64(),
            "rule": if figures.warm_up_detected { "MSER-5" } else { "as asked" },
            "run_at_least_s": figures.run_at_least.map(Time::secs_f64),
            "jobs_inside": in_warm_up,
        },
        "window": {
            "from_s": (whole_run.at - window.at).secs_f64(),
            "span_s": window.at.secs_f64(),
            "requests": window.requests,
        },
        "ftl": ftl_counts(stats, system.ftl.unit as u32),
        "energy_j": energy_parts(&window.energy_of_all()),
        "busy": busy_parts(&names, window),
        "interrupts": window.interrupts,
        "whole_run": {
            "ftl": ftl_counts(&whole_run.ftl_of_all(), system.ftl.unit as u32),
            "energy_j": energy_parts(&whole_run.energy_of_all()),
            "busy": busy_parts(&names, whole_run),
            "interrupts": whole_run.interrupts,
        },
        "headroom": headroom(figures, system.ftl.unit),
        "notes": notes::entries(&[validity::notes(system, figures), figures.notes.to_vec()].concat()),
    });
    all["ftl"]["read_only"] = json!(ftl.is_read_only());
    all["ftl"]["erases_per_block"] = json!({ "min": least, "mean": mean, "max": most });
    if let (Some(of_window), Some(of_run)) = (window.read_ahead, whole_run.read_ahead) {
        all["read_ahead"] = read_ahead(of_window);
        all["whole_run"]["read_ahead"] = read_ahead(of_run);
    }
    if let Some(of_window) = shared_buffer(window) {
        all["shared_buffer"] = of_window;
        all["whole_run"]["shared_buffer"] = shared_buffer(whole_run).unwrap_or_default();
    }
    if let Some(of_window) = placement(machine, window, system.ftl.unit as u32) {
        all["placement"] = of_window;
        all["whole_run"]["placement"] = placement(machine, whole_run, system.ftl.unit as u32).unwrap_or_default();
    }
    if let Some(stats) = machine.host_interface().strobe() {
        all["strobe"] = strobe(stats);
    }
    if let Some(reached) = figures.reached {
        all["until"] = reached.entry();
    }
    if let (Some(name), others @ [_, ..]) = figures.drives {
        let section = |name: &str, machine: &Machine, counters: &Counters| {
            let mut section = counted(machine, system.ftl.unit as u32, counters);
            section["drive"] = json!(name);
            section
        };
        let first = section(name, machine, window);
        let rest =
            others.iter().zip(&window.others).map(|(drive, of)| section(&drive.name, &drive.machine, &of.counters));
        all["drives"] = std::iter::once(first).chain(rest).collect();
    }
    if !figures.failed.is_empty() {
        all["failed_jobs"] = figures.failed.iter().map(|failed| failed.entry(jobs)).collect();
    }
    if ftl.uses_host_memory() {
        all["host_memory"] = host_memory(machine, stats);
    }
    if system.ftl.parity.is_some() {
        all["parity"] = json!({
            "programs": stats.parity_programs,
            "share_of_programs": ratio(stats.parity_programs, stats.programs),
            "write_amplification_without": stats.write_amplification_without_parity(),
            "rebuilt": stats.rebuilt,
            "rebuild_failures": stats.rebuild_failures,
            "rebuild_reads": stats.rebuild_reads,
            "relocated": stats.relocated,
        });
    }
    if system.copy_blocks > 0 {
        all["ftl"]["read_copies"] = json!(stats.read_copies);
        all["ftl"]["read_copy_hits"] = json!(stats.read_copy_hits);
    }
    if system.ftl.refresh.reads.is_some() || system.ftl.refresh.age_s.is_some() {
        all["ftl"]["refreshed"] = json!(stats.refreshed);
    }
    if let Some(checker) = machine.checker() {
        all["payload"] = json!({ "sectors_checked": checker.checked, "sectors_contended": checker.contended });
    }
    if let Some(timeline) = machine.timeline() {
        all["timeline_spans_left_out"] = json!(timeline.left_out());
    }
    all
}

/// Returns the headroom of the drive at the start of the statistics and at the end, in bytes; of the map, in cached parts.
fn headroom(figures: &Figures<'_>, unit: u64) -> Value {
    let bytes = |units: i64| units * unit as i64;
    let of = |headroom: &Headroom| {
        json!({
            "free_bytes": bytes(headroom.free_units),
            "slc_bytes": bytes(headroom.slc_units),
            "write_cache_bytes": bytes(headroom.write_cache_units),
            "cached_map": headroom.cached_map,
        })
    };
    json!({ "begin": of(&figures.headroom), "end": of(&figures.machine.ftl().headroom()) })
}

/// Returns the counters of the whole run of READs that wait on a DDR port, and the signals of the last answer.
fn strobe(stats: &StrobeStats) -> Value {
    let ns = |time: Time| time.ps() as f64 / 1000.0;
    let since_read = |time: Time| ns(time - stats.last.read);
    json!({
        "answers": stats.answers,
        "read_to_data_ns": {
            "min": ns(stats.waited_min),
            "mean": ns(stats.waited) / stats.answers.max(1) as f64,
            "max": ns(stats.waited_max),
        },
        "repeated": stats.repeated,
        "blocked": stats.blocked,
        "last": { "preamble_ns": since_read(stats.last.preamble), "data_ns": since_read(stats.last.data) },
    })
}

/// Returns the figures of a path through a shared buffer: interface, protocol, buffer banks and memory buses. `None`
/// for any other path.
fn shared_buffer(counters: &Counters) -> Option<Value> {
    let (report, ecc) = counters.shared_buffer.as_deref()?;
    let end = counters.at;
    let rate = |bytes: u64, time: Time| if time > Time::ZERO { bytes as f64 / time.secs_f64() } else { 0.0 };
    let (host, banks) = (&report.host, &report.banks);
    let overhead = host.response.saturating_sub(host.interface);
    let (energy, flash) = (&report.energy, counters.energy.total());
    let total = energy.total() + flash;
    let buses: Map<String, Value> = report
        .buses
        .iter()
        .map(|bus| {
            let beside = (bus.traffic_lines > 0).then(|| bus.traffic_waits / bus.traffic_lines);
            let all = json!({
                "utilization": part_of(bus.busy, end),
                "word_bytes": bus.word_bytes,
                "buffer_bytes": bus.buffer_bytes,
                "dram_bytes": bus.dram_bytes,
                "traffic_bytes": bus.traffic_bytes,
                "traffic_latency_ns": beside.map(|t| t.ps() as f64 / 1000.0),
                "traffic_latency_alone_ns": bus.traffic_alone.map(|t| t.ps() as f64 / 1000.0),
            });
            (bus.name.to_owned(), all)
        })
        .collect();
    Some(json!({
        "data_buffer_bytes": report.data_buffer_bytes,
        "region_bytes": report.region_bytes,
        "split_bytes": report.split_bytes,
        "requests": host.requests,
        "commands": host.commands,
        "waited": host.waited,
        "booted_bytes": host.booted,
        "interface": {
            "bytes": host.bytes,
            "time_s": host.interface.secs_f64(),
            "bandwidth_bytes_s": rate(host.bytes, host.interface),
        },
        "protocol": {
            "time_s": host.response.secs_f64(),
            "bandwidth_bytes_s": rate(host.bytes, host.response),
            "overhead": ratio(overhead.ps(), host.response.ps()),
            "latency_us": if host.requests > 0 { overhead.us_f64() / host.requests as f64 } else { 0.0 },
            "words": host.words,
            "handler_runs": host.handled,
            "interrupts": report.interrupts,
        },
        "dma": {
            "bytes": report.dma_bytes,
            "transfers": report.dma_transfers,
            "utilization": part_of(report.dma_busy, end),
        },
        "banks": {
            "accesses": banks.accesses,
            "accesses_beside_host": banks.beside_host,
            "conflicts": banks.conflicts,
            "conflict_probability": ratio(banks.conflicts, banks.accesses),
            "conflict_probability_beside_host": ratio(banks.conflicts, banks.beside_host),
            "held_up_s": banks.held_up.secs_f64(),
            "utilization": part_of(banks.busy, end),
            "host_lines": banks.host_lines,
            "activations": banks.activations,
        },
        "ecc": {
            "decoded_bytes": ecc.decoded_bytes,
            "decoding_s": ecc.decoding.secs_f64(),
            "decoder_wait_s": ecc.waiting.secs_f64(),
            "encoded_bytes": ecc.encoded_bytes,
            "encoding_s": ecc.encoding.secs_f64(),
        },
        "buses": buses,
        "energy_j": {
            "always": energy.always.joules(),
            "cores": energy.cores.joules(),
            "interface": energy.interface.joules(),
            "buffer": energy.buffer.joules(),
            "decode": energy.decode.joules(),
            "encode": energy.encode.joules(),
            "controller": energy.total().joules(),
            "flash": flash.joules(),
            "total": total.joules(),
        },
        "power_w": if end > Time::ZERO { total.joules() / end.secs_f64() } else { 0.0 },
    }))
}

/// Returns the share of `end` that `busy` takes; 0 if `end` is zero.
pub fn part_of(busy: Time, end: Time) -> f64 {
    if end == Time::ZERO { 0.0 } else { busy.secs_f64() / end.secs_f64() }
}

/// Returns the summary of a run. The same system, workload and options give the same bytes.
pub fn summary(system: &System, outcome: &Outcome) -> Value {
    summary_of(system, &Figures::from(outcome))
}

/// Returns the summary of a drive with its measurements so far, in the form of a run's summary.
pub fn summary_of(system: &System, figures: &Figures<'_>) -> Value {
    whole(figures.measured, inside(system, figures))
}

/// Returns the totals of a group of jobs.
fn group(outcome: Measured<'_>, group: &Group) -> Value {
    let runtime = outcome.runtime(&group.jobs);
    let of = |d: Direction| outcome.group_totals(&group.jobs, d);
    let rate = |totals: &Totals| if runtime > Time::ZERO { totals.bytes as f64 / runtime.secs_f64() } else { 0.0 };
    let part = |d: Direction| {
        let totals = of(d);
        direction(&totals, runtime, rate(&totals), &[], &PERCENTILES)
    };
    let sync = of(Direction::Sync);
    json!({
        "jobname": group.name,
        "groupid": group.number,
        "jobs": group.jobs,
        "read": part(Direction::Read),
        "write": part(Direction::Write),
        "trim": part(Direction::Trim),
        "sync": { "total_ios": sync.ios, "lat_ns": spread(&sync.latencies.total, true) },
        "job_runtime": (runtime.ps() + 500_000_000) / 1_000_000_000,
    })
}

/// Returns a summary of measurements together with the simulator's own section.
pub fn whole(measured: Measured<'_>, mut inside: Value) -> Value {
    let groups = group_rates(measured);
    let jobs: Vec<Value> = (0..measured.jobs.len()).map(|number| job(measured, number, &groups)).collect();
    inside["groups"] = measured.groups().iter().map(|each| group(measured, each)).collect();
    if inside.get("window").is_none() {
        // Counters without a window cover the whole run.
        inside["window"] = json!({ "from_s": 0.0, "span_s": inside["simulated_s"], "requests": inside["requests"] });
    }
    json!({
        "fio version": concat!("nandram-", env!("CARGO_PKG_VERSION")),
        // The clock of a run always begins at 0.
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "global options": measured.issued.map(Issued::globals).unwrap_or_default(),
        "jobs": jobs,
        "disk_util": [],
        "nandram": inside,
    })
}
