//! fio job files.
//!
//! Format, keys and suffixes are those of fio (see its HOWTO, <https://fio.readthedocs.io/>). Anything that a simulated
//! drive cannot represent faithfully is an error and never ignored. Differences from fio:
//!
//! * There is only one file: the drive. Jobs that would have separate files in fio share the drive, so use `offset` to
//!   keep their regions apart. Jobs that name several drives have one each.
//! * There is no page cache: I/O is direct with or without `direct=1`.
//! * Keys that only concern a file system, a host or a report ([`keys`]) are accepted and listed in the results.
//! * Without `ioengine`, requests are asynchronous and `iodepth` applies. (fio's default engine caps the depth at 1, as
//!   does an explicitly named synchronous engine here.)
//! * A region is truncated to whole blocks.
//! * Sizes drawn from a `bsrange` are multiples of its smaller size, or equal to its larger size.
//! * `verify` checks the payload's stamps, whichever checksum is named. A flush follows the writes, then one read of
//!   each written block in address order. `runtime` limits the writes but not the verification.

mod arguments;
mod drives;
mod error;
mod ini;
mod job;
mod keys;
mod keywords;
mod no_effect;
mod pattern;
mod rules;
mod unsupported;
mod value;

use std::path::Path;

pub use error::JobFileError;
pub(crate) use job::{Job, ReplayKeys, Setting};
pub(crate) use keys::LogKeys;
pub use keys::{KeyHelp, keys};
pub(crate) use pattern::{READ, ReadWriteKind, Sizes, TRIM, WRITE, divisor};
pub use rules::ContinueOnError;
pub(crate) use rules::{ExitAll, LatencyTarget, Service, Steady, Trims, ZbdKeys, ZoneKeys, ZoneMode};
pub(crate) use value::{Amount, percentiles};

use crate::nearest::{self, nearest};
use ini::{Entry, Section};

/// Maximum number of jobs including their clones, as in fio.
pub(crate) const JOBS_MAX: u64 = 4096;

/// A parsed job file. Each job includes the keys of the preceding `[global]` sections.
#[derive(Clone, Debug)]
pub(crate) struct JobFile {
    pub file: String,
    pub jobs: Vec<Job>,
    /// Keys and values of all `[global]` sections.
    pub globals: Vec<(String, String)>,
    /// Names of the drives, if there are several.
    pub drives: Vec<String>,
}

/// Parses the text of a job file. `file` is its path: it appears in messages, and paths in the job file are relative to
/// its folder.
pub(crate) fn parse(file: &str, text: &str) -> Result<JobFile, JobFileError> {
    jobs_of(file, ini::sections(file, text)?)
}

/// Parses the arguments of fio's command line: `--name=JOB` begins a job, and options before the first belong to all.
/// Paths are relative to the current folder; messages count the arguments from 1, in place of lines.
pub(crate) fn parse_arguments(arguments: &[String]) -> Result<JobFile, JobFileError> {
    let is_flag = |key: &str| keys::find(key).is_some_and(|key| key.form.is_empty() || key.form.starts_with("bool"));
    jobs_of(arguments::FILE, arguments::sections(arguments, is_flag)?)
}

fn jobs_of(file: &str, sections: Vec<Section>) -> Result<JobFile, JobFileError> {
    let mut globals: Vec<Entry> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut common = Vec::new();
    for section in sections {
        let global = section.name == "global";
        let inherited = globals.len();
        globals.extend(section.entries);
        let job = job(file, &section.name, section.line, &globals, if global { globals.len() } else { inherited })?;
        if global {
            common = job.settings.into_iter().map(|setting| (setting.key.to_owned(), setting.value)).collect();
        } else {
            globals.truncate(inherited);
            job.check(file)?;
            jobs.push(job);
        }
    }
    let error = |line, message: String| JobFileError { file: file.to_owned(), line, message };
    if jobs.is_empty() {
        return Err(error(1, "found no job, expected a section such as [job]".to_owned()));
    }
    for (index, job) in jobs.iter().enumerate() {
        if let Some(name) = &job.wait_for
            && !jobs[..index].iter().any(|above| above.name == *name)
        {
            let above = jobs[..index].iter().map(|job| job.name.as_str());
            let message = match nearest::near(name, above) {
                Some(near) => format!("found \"{name}\", expected a job above; the nearest is \"{near}\""),
                None => format!("found \"{name}\", expected the name of a job above"),
            };
            return Err(job.error(file, "wait_for", &message));
        }
    }
    let drives = drives::number(file, &mut jobs)?;
    let clones: u64 = jobs.iter().map(|job| u64::from(job.clones)).sum();
    if clones > JOBS_MAX {
        return Err(error(
            jobs[0].line,
            format!("numjobs: found {clones} jobs with their clones, expected at most {JOBS_MAX}"),
        ));
    }
    Ok(JobFile { file: file.to_owned(), jobs, globals: common, drives })
}

/// Parses the job of `entries`, the first `inherited` of which come from `[global]`.
fn job(file: &str, name: &str, line: u32, entries: &[Entry], inherited: usize) -> Result<Job, JobFileError> {
    let error = |entry: &Entry, message: String| match &entry.included {
        Some((included, line)) => JobFileError { file: included.to_string(), line: *line, message },
        None => JobFileError { file: file.to_owned(), line: entry.line, message },
    };
    let mut job = Job::new(name, line, Path::new(file).parent().unwrap_or(Path::new("")));
    // `kb_base` determines the meaning of other keys' suffixes, wherever it occurs.
    let (first, rest): (Vec<_>, Vec<_>) = entries.iter().enumerate().partition(|(_, entry)| entry.key == "kb_base");
    for (index, entry) in first.into_iter().chain(rest) {
        let own = index >= inherited;
        job.remarks.extend(entry.note.clone());
        let Some(key) = keys::find(&entry.key) else {
            if let Some((key, why)) = no_effect::find(&entry.key) {
                job.without_effect.retain(|(name, _)| name != key);
                job.without_effect.push((key.to_owned(), why));
                job.keep(key, entry, own);
                continue;
            }
            if let Some(why) = unsupported::find(&entry.key) {
                return Err(error(entry, format!("{}: not supported: {why}", entry.key)));
            }
            let nearest = nearest(&entry.key, keys::names());
            return Err(error(entry, format!("unknown key \"{}\", the nearest known key is \"{nearest}\"", entry.key)));
        };
        // A name in [global] names the file rather than a job.
        if own || key.name != "name" {
            key.set(&mut job, entry.value.as_deref()).map_err(|why| error(entry, format!("{}: {why}", entry.key)))?;
        }
        job.keep(key.name, entry, own);
    }
    Ok(job)
}

impl Job {
    /// Records a key and its value for the results, replacing an earlier occurrence.
    fn keep(&mut self, key: &'static str, entry: &Entry, own: bool) {
        self.settings.retain(|setting| setting.key != key);
        let value = entry.value.as_deref().unwrap_or("1").to_owned();
        self.settings.push(Setting { key, value, line: entry.line, own });
    }
}
