//! fio job files.
//!
//! The format, the keys and the suffixes are fio's (its HOWTO, <https://fio.readthedocs.io/>). What a simulated drive
//! cannot do truthfully is an error, never ignored. Where the simulation differs from fio:
//!
//! * There is one file: the drive. `filename` is accepted and must be the same for all jobs; jobs that fio would give
//!   files of their own share the drive, so that `offset` must keep apart what shall not overlap.
//! * There is no page cache: I/O is direct whether or not `direct=1` is given.
//! * Without `ioengine` requests are asynchronous and `iodepth` holds. (fio's default engine caps it at 1; so does a
//!   synchronous engine here, if it is named.)
//! * A region is cut to whole blocks. Where block sizes are mixed, the random map covers start blocks: each is visited
//!   once a pass, and a larger request reaches into its neighbours, as with fio's `lfsr` generator.
//! * A block size that would reach beyond the region is replaced by the largest of the job's sizes that fits.
//! * `fsync=N` flushes after every N-th write, the job's last one too.
//! * `verify` checks the payload's stamps, whatever sum is named. After the writes come a flush and then one read of each
//!   block that was written, in address order; `runtime` ends the writes and not the verification.

mod ini;
mod job;
mod keys;
mod pattern;
mod value;

use std::path::Path;

pub(crate) use job::{Job, Setting};
pub use keys::{KeyHelp, keys};
pub(crate) use pattern::{Kind, READ, Sizes, TRIM, WRITE};
pub(crate) use value::Amount;

use crate::nearest::nearest;
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
}

/// Parses the text of a job file. `file` is its path: it names the file in messages, and what the job file refers to is
/// relative to its folder.
pub(crate) fn parse(file: &str, text: &str) -> Result<JobFile, JobFileError> {
    let mut globals: Vec<Entry> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    for section in ini::sections(file, text)? {
        let global = section.name == "global";
        let inherited = globals.len();
        globals.extend(&section.entries);
        let job = job(file, section.name, section.line, &globals, if global { 0 } else { inherited })?;
        if !global {
            globals.truncate(inherited);
            job.check(file)?;
            jobs.push(job);
        }
    }
    let error = |line, message: String| JobFileError { file: file.to_owned(), line, message };
    let Some(first) = jobs.first() else {
        return Err(error(1, "found no job, expected a section such as [job]".to_owned()));
    };
    for job in &jobs {
        if let (Some(a), Some(b)) = (first.setting("filename"), job.setting("filename"))
            && a.value != b.value
        {
            return Err(error(
                b.line,
                format!(
                    "filename: found \"{}\", expected \"{}\" as above: there is one drive, offset= divides it",
                    b.value, a.value
                ),
            ));
        }
    }
    let clones: u64 = jobs.iter().map(|job| u64::from(job.clones)).sum();
    if clones > u64::from(u16::MAX) {
        return Err(error(
            jobs[0].line,
            format!("numjobs: found {clones} jobs with their clones, expected at most {}", u16::MAX),
        ));
    }
    Ok(JobFile { file: file.to_owned(), jobs })
}

/// A job of `entries`, of which the first `inherited` come from `[global]`.
fn job(file: &str, name: &str, line: u32, entries: &[Entry], inherited: usize) -> Result<Job, JobFileError> {
    let error = |line, message: String| JobFileError { file: file.to_owned(), line, message };
    let mut job = Job::new(name, line, Path::new(file).parent().unwrap_or(Path::new("")));
    // `kb_base` decides what other keys' suffixes mean, wherever it stands.
    let (first, rest): (Vec<_>, Vec<_>) = entries.iter().enumerate().partition(|(_, entry)| entry.key == "kb_base");
    for (index, entry) in first.into_iter().chain(rest) {
        let Some(key) = keys::find(entry.key) else {
            let nearest = nearest(entry.key, keys::names());
            return Err(error(
                entry.line,
                format!("unknown key \"{}\", the nearest known key is \"{nearest}\"", entry.key),
            ));
        };
        key.set(&mut job, entry.value).map_err(|why| error(entry.line, format!("{}: {why}", entry.key)))?;
        job.settings.retain(|setting| setting.key != key.name);
        job.settings.push(Setting {
            key: key.name,
            value: entry.value.unwrap_or("1").to_owned(),
            line: entry.line,
            own: index >= inherited,
        });
    }
    Ok(job)
}
