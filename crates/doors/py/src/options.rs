//! Parses the options of a run from a Python dictionary.

use std::path::PathBuf;

use ::storage::manifest;
use ::storage::prepare::Preparation;
use ::storage::run::{Length, Rule, RunOptions, Until, WarmUp};
use nand::PayloadKind;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use workload::trace::{Columns, Format};
use workload::{Beyond, ContinueOnError, Replay, Workload};

/// Maximum number of spans in a timeline: about 60 MB of JSON, which Perfetto opens in seconds.
const TIMELINE_SPANS: usize = 400_000;
/// Default number of outstanding requests in closed-loop replay.
const DEPTH: u32 = 32;

/// Parses the options.
pub fn read(options: &Bound<'_, PyDict>) -> Result<RunOptions, String> {
    let mut found = RunOptions {
        preparation: None,
        length: Length::Until(Until::default(), Rule::default()),
        ..RunOptions::default()
    };
    for (key, value) in options {
        let key: String = key.extract().map_err(|e: PyErr| e.to_string())?;
        set(&mut found, options, &key, &value).map_err(|e| format!("{key}: {e}"))?;
    }
    Ok(found)
}

/// Returns the format of the trace if its columns are named.
pub fn format(given: &Bound<'_, PyDict>) -> Result<Option<Format>, String> {
    let Some(columns) = given.get_item("columns").map_err(|e| e.to_string())? else { return Ok(None) };
    let columns: Columns = get::<String>(&columns)?.parse().map_err(|why| format!("columns: {why}"))?;
    Ok(Some(Format::Columns(columns)))
}

/// Returns fio's options, if they take the place of a file.
pub fn arguments(given: &Bound<'_, PyDict>) -> Result<Option<Vec<String>>, String> {
    let Some(arguments) = given.get_item("arguments").map_err(|e| e.to_string())? else { return Ok(None) };
    get(&arguments).map(Some)
}

/// Rejects options that only apply to traces if the workload is a job file, which would ignore them.
pub fn check(given: &Bound<'_, PyDict>, options: &RunOptions, workload: &Workload) -> Result<(), String> {
    let name = match given.contains("replay") {
        _ if workload.is_trace() => return Ok(()),
        Ok(true) => "replay",
        _ if options.beyond == Beyond::Wrap => "wrap",
        _ => return Ok(()),
    };
    Err(format!("found a job file with `{name}`, expected a trace: jobs keep their own times and places"))
}

/// Rejects options other than the seed and the timeline for page traces, in which each request waits for the previous
/// one.
pub fn check_pages(given: &Bound<'_, PyDict>) -> Result<(), String> {
    let options = read(given)?;
    let found = |name: &str| given.contains(name).map_err(|e| e.to_string());
    let name = match () {
        () if found("replay")? => "replay",
        () if found("warm_up")? && options.warm_up != WarmUp::Keep => "warm_up",
        () if options.preparation.is_some_and(|asked| asked != Preparation::Erased) => "precondition",
        () if options.payload != PayloadKind::None => "payload",
        () if options.beyond == Beyond::Wrap => "wrap",
        () if found("continue_on_error")? => "continue_on_error",
        () if found("columns")? => "columns",
        () if always(&options) => "until",
        () => return Ok(()),
    };
    Err(format!("found a page trace with `{name}`, expected none: each of its requests waits for the one before"))
}

/// Rejects options other than the seed, and the cache of prepared drives, for programs, whose threads wait for their
/// loads.
pub fn check_programs(given: &Bound<'_, PyDict>) -> Result<(), String> {
    match of_requests(given, true)? {
        Some(name) => {
            Err(format!("found programs with `{name}`, expected none: their threads wait for what they load"))
        }
        None => Ok(()),
    }
}

/// Rejects options other than the seed, the state of the drives and the cache of prepared drives for a served model,
/// whose file has its own warm-up.
pub fn check_serving(given: &Bound<'_, PyDict>) -> Result<(), String> {
    match of_requests(given, false)? {
        Some(name) => Err(format!("found a served model with `{name}`, expected none: it issues its requests itself")),
        None => Ok(()),
    }
}

/// Returns the first given option that applies only to fio jobs and block traces. `precondition`: the state of the drive
/// is such an option.
fn of_requests(given: &Bound<'_, PyDict>, precondition: bool) -> Result<Option<&'static str>, String> {
    let options = read(given)?;
    let found = |name: &str| given.contains(name).map_err(|e| e.to_string());
    Ok(Some(match () {
        () if found("replay")? => "replay",
        () if found("warm_up")? && options.warm_up != WarmUp::Keep => "warm_up",
        () if precondition && options.preparation.is_some_and(|asked| asked != Preparation::Erased) => "precondition",
        () if options.payload != PayloadKind::None => "payload",
        () if options.beyond == Beyond::Wrap => "wrap",
        () if found("continue_on_error")? => "continue_on_error",
        () if options.timeline.is_some() => "timeline",
        () if found("columns")? => "columns",
        () if always(&options) => "until",
        () => return Ok(None),
    }))
}

/// Returns whether a run must go on until its measures are known.
fn always(options: &RunOptions) -> bool {
    matches!(options.length, Length::Until(_, Rule::Always))
}

fn get<'py, T>(value: &Bound<'py, PyAny>) -> Result<T, String>
where
    T: for<'a> FromPyObject<'a, 'py>,
    for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
{
    value.extract::<T>().map_err(|e| Into::<PyErr>::into(e).to_string())
}

fn set(found: &mut RunOptions, all: &Bound<'_, PyDict>, key: &str, value: &Bound<'_, PyAny>) -> Result<(), String> {
    match key {
        "seed" => found.seed = get(value)?,
        "payload" => {
            found.payload = match get::<String>(value)?.as_str() {
                "none" => PayloadKind::None,
                "stamp" => PayloadKind::Stamp,
                other => return Err(format!("found `{other}`, expected none or stamp")),
            }
        }
        "timeline" => found.timeline = get::<bool>(value)?.then_some(TIMELINE_SPANS),
        "log" => found.log = get(value)?,
        "partial" => found.partial = get(value)?,
        "wrap" => found.beyond = if get(value)? { Beyond::Wrap } else { Beyond::Error },
        "continue_on_error" => {
            let name: String = get(value)?;
            let known = ContinueOnError::NAMES.iter().find(|(n, _)| *n == name);
            let names: Vec<&str> = ContinueOnError::NAMES[..6].iter().map(|(name, _)| *name).collect();
            found.continue_on_error =
                known.ok_or_else(|| format!("found `{name}`, expected one of {}", names.join(", ")))?.1;
        }
        "precondition" => {
            let name: String = get(value)?;
            if name == manifest::AUTO {
                found.preparation = None;
                return Ok(());
            }
            let known = Preparation::NAMES.iter().find(|(n, _)| *n == name);
            found.preparation = Some(known.ok_or_else(|| format!("found `{name}`"))?.1);
        }
        "cache" => found.cache = Some(get::<PathBuf>(value)?),
        "warm_up" => {
            found.warm_up = match get::<String>(value)?.as_str() {
                "detect" => WarmUp::Detect,
                "keep" => WarmUp::Keep,
                time => WarmUp::Cut(sim::units::time(time).map_err(|e| e.to_string())?),
            }
        }
        "replay" => {
            let optional = |name: &str| all.get_item(name).map_err(|e| e.to_string());
            found.replay = match get::<String>(value)?.as_str() {
                "open" => Replay::OpenLoop,
                "closed" => Replay::ClosedLoop {
                    depth: optional("replay_depth")?.map_or(Ok(DEPTH), |depth| get::<u32>(&depth))?,
                },
                "scaled" => Replay::Scaled(optional("replay_factor")?.map_or(Ok(1.0), |factor| get::<f64>(&factor))?),
                other => return Err(format!("found `{other}`, expected open, closed or scaled")),
            }
        }
        "until" => {
            let optional = |name: &str| all.get_item(name).map_err(|e| e.to_string());
            let rule: String = get(value)?;
            let default = Until::default();
            let until = Until {
                width: optional("until_width")?.map_or(Ok(default.width), |width| get(&width))?,
                requests: optional("until_requests")?.map_or(Ok(default.requests), |requests| get(&requests))?,
            };
            found.length = match (rule.as_str(), Rule::NAMES.iter().find(|(name, _)| *name == rule)) {
                ("job", _) => Length::Job,
                (_, Some((_, rule))) => Length::Until(until, *rule),
                _ => return Err(format!("found `{rule}`")),
            };
        }
        "until_width" | "until_requests" | "replay_depth" | "replay_factor" | "columns" | "arguments" => {}
        other => return Err(format!("found the option `{other}`, which a run does not have")),
    }
    Ok(())
}
