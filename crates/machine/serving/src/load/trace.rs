//! Arrival traces: a CSV file whose first line names its columns, or a public trace (`public.rs`).
//!
//! `time` (seconds), `prompt_tokens` and `output_tokens` are required, `session` and `prefix` are optional whole
//! numbers. Requests of one session continue it: the prompt of each contains the earlier ones and their answers.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use sim::Time;
use workload::Error;

use super::{Load, Request, public};

const COLUMNS: [&str; 5] = ["time", "prompt_tokens", "output_tokens", "session", "prefix"];
/// Largest number of rows, about 500 MB of requests.
const ROWS_MAX: usize = 10_000_000;
/// Longest line in bytes.
const LINE_MAX: usize = 4096;
/// Sessions of rows without one are numbered from here.
const ALONE: u64 = 1 << 40;

/// Reads a trace up to the end of the load.
pub(super) fn read(path: &Path, load: &Load) -> Result<Vec<Request>, Error> {
    let name = path.display().to_string();
    let io = |source| Error::Io { file: name.clone(), source };
    let reader = BufReader::new(File::open(path).map_err(io)?);
    let fail = |line: usize, message: String| Error::Program { file: name.clone(), line, message };
    let mut places = None;
    let mut start = None;
    let mut rows: Vec<Request> = Vec::new();
    for (number, line) in reader.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        let line = line.map_err(io)?;
        if line.len() > LINE_MAX {
            return Err(fail(number, format!("found a line of {} bytes, expected at most {LINE_MAX}", line.len())));
        }
        if line.trim().is_empty() && number > 1 {
            continue;
        }
        let row = if places.is_none() && line.trim_start().starts_with('{') {
            fits(public::mooncake(&line).map(|line| hashed(line, ALONE + rows.len() as u64)), load)
        } else {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let Some(places) = &places else {
                places = Some(header(&fields).map_err(|message| fail(number, message))?);
                continue;
            };
            fits(row(&fields, places, rows.len() as u64, &mut start), load)
        };
        let row = row.map_err(|message| fail(number, message))?;
        if rows.last().is_some_and(|last| last.at > row.at) {
            return Err(fail(number, "time: found a time before that of the previous row".to_owned()));
        }
        if row.at >= load.duration {
            break;
        }
        if rows.len() == ROWS_MAX {
            return Err(fail(number, format!("found more than {ROWS_MAX} rows")));
        }
        rows.push(row);
    }
    match rows.is_empty() {
        true => Err(fail(1, "found no request".to_owned())),
        false => Ok(rows),
    }
}

/// The positions of the columns.
struct Places {
    columns: [Option<usize>; 5],
    /// Times are dates, which count from the first.
    dated: bool,
}

/// Returns the position of each column.
fn header(fields: &[&str]) -> Result<Places, String> {
    if public::AZURE.iter().all(|column| fields.contains(column)) {
        let place = |column: &str| fields.iter().position(|field| *field == column);
        let [time, prompt, output] = public::AZURE.map(place);
        return Ok(Places { columns: [time, prompt, output, None, None], dated: true });
    }
    for field in fields {
        if !COLUMNS.contains(field) {
            return Err(format!("found the column \"{field}\", expected some of {}", COLUMNS.join(", ")));
        }
    }
    let places = COLUMNS.map(|column| fields.iter().position(|field| *field == column));
    match (0..3).find(|at| places[*at].is_none()) {
        Some(missing) => Err(format!("found no column \"{}\" in the first line", COLUMNS[missing])),
        None => Ok(Places { columns: places, dated: false }),
    }
}

/// Parses a row. `start`: the first date, from which the others count.
fn row(fields: &[&str], places: &Places, number: u64, start: &mut Option<i128>) -> Result<Request, String> {
    let text = |column: usize| -> Result<Option<&str>, String> {
        let Some(place) = places.columns[column] else { return Ok(None) };
        fields.get(place).copied().map(Some).ok_or_else(|| format!("{}: found no field", COLUMNS[column]))
    };
    let whole = |column: usize, least: u64| -> Result<Option<u64>, String> {
        let Some(text) = text(column)? else { return Ok(None) };
        let found = text.parse().ok().filter(|n| (least..ALONE).contains(n));
        let expected = format!("expected a whole number of at least {least}");
        found.map(Some).ok_or_else(|| format!("{}: found \"{text}\", {expected}", COLUMNS[column]))
    };
    let time = text(0)?.unwrap_or_default();
    let seconds = if places.dated {
        let found = public::nanoseconds(time).map(|found| (found - *start.get_or_insert(found)) as f64 / 1e9);
        let expected = "a date and time within 208 days of the first, such as 2023-11-16 18:17:03.97";
        found.filter(|s| *s < 1.8e7).ok_or_else(|| format!("TIMESTAMP: found \"{time}\", expected {expected}"))?
    } else {
        let found = time.parse::<f64>().ok().filter(|s| (0.0..1.8e7).contains(s));
        found.ok_or_else(|| format!("time: found \"{time}\", expected seconds from 0 to 18000000"))?
    };
    if seconds < 0.0 {
        return Err("time: found a time before that of the previous row".to_owned());
    }
    Ok(Request {
        session: whole(3, 0)?.unwrap_or(ALONE + number),
        prefix: whole(4, 0)?.unwrap_or(0),
        prompt: whole(1, 1)?.unwrap_or(1),
        output: whole(2, 1)?.unwrap_or(1),
        at: Time::from_secs_f64(seconds),
        hashes: Arc::default(),
    })
}

/// Returns the request of a line of Mooncake's traces, a session of its own.
fn hashed(line: public::Line, session: u64) -> Request {
    Request {
        session,
        prefix: 0,
        prompt: line.input_length,
        output: line.output_length,
        at: Time::from_us(1000 * line.timestamp),
        hashes: line.hash_ids.into(),
    }
}

/// Returns a request that fits into the context.
fn fits(request: Result<Request, String>, load: &Load) -> Result<Request, String> {
    let request = request?;
    let total = request.prompt + request.output;
    match total > load.context_max {
        true => Err(format!("found {total} tokens, expected at most load.context_max ({})", load.context_max)),
        false => Ok(request),
    }
}
