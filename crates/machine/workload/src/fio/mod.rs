//! fio job files.
//!
//! Format, keys and suffixes are those of fio (see its HOWTO, <https://fio.readthedocs.io/>). Anything that a simulated
//! drive cannot represent faithfully is an error and never ignored. Differences from fio:
//!
//! * There is only one file: the drive. Jobs that would have separate files in fio share the drive, so use `offset` to
//!   keep their regions apart.
//! * There is no page cache: I/O is direct with or without `direct=1`.
//! * Keys that only concern a file system, a host or a report ([`keys`]) are accepted and listed in the results.
//! * Without `ioengine`, requests are asynchronous and `iodepth` applies. (fio's default engine caps the depth at 1, as
//!   does an explicitly named synchronous engine here.)
//! * A region is truncated to whole blocks.
//! * Sizes drawn from a `bsrange` are multiples of its smaller size, or equal to its larger size.
//! * `verify` checks the payload's stamps, whichever checksum is named. A flush follows the writes, then one read of
//!   each written block in address order. `runtime` limits the writes but not the verification.

mod error;
mod ini;
mod job;
mod keys;
mod no_effect;
mod pattern;
mod rules;
mod value;

use std::path::Path;

pub use error::JobFileError;
pub(crate) use job::{Job, ReplayKeys, Setting};
pub use keys::{KeyHelp, keys};
pub(crate) use pattern::{READ, ReadWriteKind, Sizes, TRIM, WRITE};
pub use rules::ContinueOnError;
pub(crate) use rules::{ExitAll, LatencyTarget, Steady, Strides, Trims};
pub(crate) use value::Amount;

use crate::nearest::{self, nearest};
use ini::Entry;

/// Maximum number of jobs including their clones, as in fio.
pub(crate) const JOBS_MAX: u64 = 4096;

/// A parsed job file. Each job includes the keys of the preceding `[global]` sections.
#[derive(Clone, Debug)]
pub(crate) struct JobFile {
    pub file: String,
    pub jobs: Vec<Job>,
    /// Keys and values of all `[global]` sections.
    pub globals: Vec<(String, String)>,
}

/// Parses the text of a job file. `file` is its path: it appears in messages, and paths in the job file are relative to
/// its folder.
pub(crate) fn parse(file: &str, text: &str) -> Result<JobFile, JobFileError> {
    let mut globals: Vec<Entry> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut common = Vec::new();
    for section in ini::sections(file, text)? {
        let global = section.name == "global";
        let inherited = globals.len();
        globals.extend(section.entries);
        let job = job(file, section.name, section.line, &globals, if global { globals.len() } else { inherited })?;
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
    let clones: u64 = jobs.iter().map(|job| u64::from(job.clones)).sum();
    if clones > JOBS_MAX {
        return Err(error(
            jobs[0].line,
            format!("numjobs: found {clones} jobs with their clones, expected at most {JOBS_MAX}"),
        ));
    }
    Ok(JobFile { file: file.to_owned(), jobs, globals: common })
}

/// Parses the job of `entries`, the first `inherited` of which come from `[global]`.
fn job(file: &str, name: &str, line: u32, entries: &[Entry], inherited: usize) -> Result<Job, JobFileError> {
    let error = |line, message: String| JobFileError { file: file.to_owned(), line, message };
    let mut job = Job::new(name, line, Path::new(file).parent().unwrap_or(Path::new("")));
    // `kb_base` determines the meaning of other keys' suffixes, wherever it occurs.
    let (first, rest): (Vec<_>, Vec<_>) = entries.iter().enumerate().partition(|(_, entry)| entry.key == "kb_base");
    for (index, entry) in first.into_iter().chain(rest) {
        let own = index >= inherited;
        let Some(key) = keys::find(entry.key) else {
            if let Some((key, why)) = no_effect::find(entry.key) {
                job.without_effect.retain(|(name, _)| name != key);
                job.without_effect.push((key.to_owned(), why));
                job.keep(key, entry, own);
                continue;
            }
            let nearest = nearest(entry.key, keys::names());
            return Err(error(
                entry.line,
                format!("unknown key \"{}\", the nearest known key is \"{nearest}\"", entry.key),
            ));
        };
        // A name in [global] names the file rather than a job.
        if own || key.name != "name" {
            key.set(&mut job, entry.value.as_deref())
                .map_err(|why| error(entry.line, format!("{}: {why}", entry.key)))?;
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
