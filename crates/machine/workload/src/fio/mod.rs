//! fio job files.
//!
//! The format, the keys and the suffixes are fio's (its HOWTO, <https://fio.readthedocs.io/>). What a simulated drive
//! cannot do truthfully is an error, never ignored. Where the simulation differs from fio:
//!
//! * There is one file: the drive. Jobs that fio would give files of their own share the drive, so that `offset` must keep
//!   apart what shall not overlap.
//! * There is no page cache: I/O is direct whether or not `direct=1` is given.
//! * Keys that only a file system, a host or a report has ([`keys`]) are accepted, and the results name them.
//! * Without `ioengine` requests are asynchronous and `iodepth` holds. (fio's default engine caps it at 1; so does a
//!   synchronous engine here, if it is named.)
//! * A region is cut to whole blocks.
//! * Sizes drawn of a `bsrange` are multiples of its smaller size, or its larger size.
//! * `verify` checks the payload's stamps, whatever sum is named. After the writes come a flush and then one read of each
//!   block that was written, in address order; `runtime` ends the writes and not the verification.

mod ini;
mod job;
mod keys;
mod pattern;
mod rules;
mod value;

use std::path::Path;

pub(crate) use job::{Job, ReplayKeys, Setting};
pub use keys::{KeyHelp, keys};
pub(crate) use pattern::{Kind, READ, Sizes, TRIM, WRITE};
pub use rules::ContinueOnError;
pub(crate) use rules::{ExitAll, LatencyTarget, Steady, Strides, Trims};
pub(crate) use value::Amount;

use crate::nearest::{self, nearest};
use ini::Entry;

/// What is wrong with a job file: the file, the line and, in the message, the key, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct JobFileError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong, in one line.
    pub message: String,
}

/// A job file: its sections, each with what the `[global]` sections before it say.
#[derive(Clone, Debug)]
pub(crate) struct JobFile {
    pub file: String,
    pub jobs: Vec<Job>,
    /// What the `[global]` sections say in all: the keys and their values.
    pub globals: Vec<(String, String)>,
}

/// Parses the text of a job file. `file` is its path: it names the file in messages, and what the job file refers to is
/// relative to its folder.
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
    if clones > u64::from(u16::MAX) {
        return Err(error(
            jobs[0].line,
            format!("numjobs: found {clones} jobs with their clones, expected at most {}", u16::MAX),
        ));
    }
    Ok(JobFile { file: file.to_owned(), jobs, globals: common })
}

/// A job of `entries`, of which the first `inherited` come from `[global]`.
fn job(file: &str, name: &str, line: u32, entries: &[Entry], inherited: usize) -> Result<Job, JobFileError> {
    let error = |line, message: String| JobFileError { file: file.to_owned(), line, message };
    let mut job = Job::new(name, line, Path::new(file).parent().unwrap_or(Path::new("")));
    // `kb_base` decides what other keys' suffixes mean, wherever it stands.
    let (first, rest): (Vec<_>, Vec<_>) = entries.iter().enumerate().partition(|(_, entry)| entry.key == "kb_base");
    for (index, entry) in first.into_iter().chain(rest) {
        let own = index >= inherited;
        let Some(key) = keys::find(entry.key) else {
            if let Some((key, why)) = keys::without_effect(entry.key) {
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
        // A name in [global] is that of the file: it names no job.
        if own || key.name != "name" {
            key.set(&mut job, entry.value.as_deref())
                .map_err(|why| error(entry.line, format!("{}: {why}", entry.key)))?;
        }
        job.keep(key.name, entry, own);
    }
    Ok(job)
}

impl Job {
    /// Keeps a key with its value for the results, in place of an earlier mention.
    fn keep(&mut self, key: &'static str, entry: &Entry, own: bool) {
        self.settings.retain(|setting| setting.key != key);
        let value = entry.value.as_deref().unwrap_or("1").to_owned();
        self.settings.push(Setting { key, value, line: entry.line, own });
    }
}
