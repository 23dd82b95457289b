//! What was parsed: a set of jobs, or a trace.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::error::Error;
use crate::fio::{self, Job, JobFile, JobFileError};
use crate::layout::Trace;
use crate::trace::Format;

/// A workload that was read and found valid; what it meets of the drive is checked by the player.
#[derive(Clone, Debug)]
pub struct Workload {
    pub(crate) file: String,
    pub(crate) plans: Vec<Plan>,
    jobs: Vec<JobInfo>,
    notes: Vec<String>,
}

/// What results say of a job: one entry for each clone of `numjobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name; clones share it, as in fio.
    pub name: String,
    /// Its group: jobs between two stonewalls run together, and their group begins when the one before has ended.
    pub group: u32,
    /// Its keys and their values as the file has them, those of `[global]` included.
    pub options: Vec<(String, String)>,
}

/// What a player makes a job of.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub group: u32,
    /// The name of its random stream.
    pub stream: String,
    pub what: What,
}

/// Where a job's requests come from.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The pattern of a job file's job; which of its clones.
    Generate(Box<Job>, u32),
    /// A trace, and the job of the job file that names it.
    Replay(Box<Trace>, Option<Box<Job>>),
}

impl Workload {
    /// Opens a job file or a trace. With a `format` it is a trace; without one, a file whose first line that is not a
    /// comment is a section (`[global]`), or whose name ends in `.fio`, is a job file, and anything else is a trace whose
    /// format is found out.
    ///
    /// Traces are read through once, so that an unreadable line is found here, and to lay out their devices:
    ///
    /// * A trace of one device keeps its addresses, and so does one in MQSim's format, as in MQSim: it does not look at
    ///   the device number. The devices or files of a trace of several lie one after another, in
    ///   the order in which the trace names them, each from a multiple of 1 MiB on and as large as the highest address
    ///   that the trace uses on it.
    /// * Traces of files have addresses and lengths of any byte. A read or write becomes the whole sectors that enclose
    ///   it, as a block layer would have it; a trim becomes the whole sectors within it, since it must not take more than
    ///   was given up. What is left of a trim of less than a sector is nothing.
    ///
    /// [`Workload::notes`] says where either was done.
    ///
    /// # Errors
    /// If the file cannot be read or is not valid.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Workload, Error> {
        let name = path.display().to_string();
        if format.is_none() && is_job_file(path).map_err(|source| Error::Io { file: name.clone(), source })? {
            let bytes = fs::read(path).map_err(|source| Error::Io { file: name.clone(), source })?;
            let text = String::from_utf8(bytes).map_err(|error| {
                let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
                JobFileError {
                    file: name.clone(),
                    line: line as u32,
                    message: "found bytes that are not UTF-8, expected text".to_owned(),
                }
            })?;
            return Workload::parse_fio(&name, &text);
        }
        let trace = Trace::survey(path, format)?;
        let options = vec![("trace".to_owned(), name.clone()), ("format".to_owned(), trace.format.to_string())];
        let stem = path.file_name().map_or_else(|| name.clone(), |stem| stem.to_string_lossy().into_owned());
        let notes = trace_notes(&name, &trace);
        Ok(Workload {
            file: name,
            plans: vec![Plan {
                group: 0,
                stream: "workload.trace".to_owned(),
                what: What::Replay(Box::new(trace), None),
            }],
            jobs: vec![JobInfo { name: stem, group: 0, options }],
            notes,
        })
    }

    /// Parses the text of a job file. `name` is its path: it stands in messages, and `read_iolog` is relative to its
    /// folder.
    ///
    /// # Errors
    /// If the text is not a valid job file, or a trace that it names cannot be read.
    pub fn parse_fio(name: &str, text: &str) -> Result<Workload, Error> {
        let JobFile { file, jobs } = fio::parse(name, text)?;
        let mut workload = Workload { file, plans: Vec::new(), jobs: Vec::new(), notes: Vec::new() };
        let mut group = 0;
        for (section, job) in jobs.iter().enumerate() {
            if job.stonewall && section > 0 {
                group += 1;
            }
            workload.add(job, group)?;
        }
        Ok(workload)
    }

    fn add(&mut self, job: &Job, group: u32) -> Result<(), Error> {
        if job.synchronous && job.depth.is_some_and(|depth| depth > 1) {
            let depth = job.depth.unwrap_or(1);
            self.notes.push(format!(
                "{}: job \"{}\": iodepth={depth} is capped at 1 by the synchronous ioengine, as in fio",
                self.file, job.name
            ));
        }
        let info = JobInfo {
            name: job.name.clone(),
            group,
            options: job.settings.iter().map(|s| (s.key.to_owned(), s.value.clone())).collect(),
        };
        if let Some(path) = &job.iolog {
            if let Err(why) = fs::File::open(path) {
                return Err(job.error(&self.file, "read_iolog", &format!("{}: {why}", path.display())).into());
            }
            let trace = Trace::survey(path, Some(Format::FioIolog))?;
            self.notes.extend(trace_notes(&path.display().to_string(), &trace));
            let what = What::Replay(Box::new(trace), Some(Box::new(job.clone())));
            self.plans.push(Plan { group, stream: self.stream(&job.name), what });
            self.jobs.push(info);
            return Ok(());
        }
        for clone in 0..job.clones {
            let what = What::Generate(Box::new(job.clone()), clone);
            self.plans.push(Plan { group, stream: self.stream(&job.name), what });
            self.jobs.push(info.clone());
        }
        Ok(())
    }

    /// The random stream of the next job: named after the job, so that a job that is added changes no other's draws.
    fn stream(&self, name: &str) -> String {
        let namesakes = self.jobs.iter().rev().take_while(|job| job.name == name).count();
        let earlier = self.jobs[..self.jobs.len() - namesakes].iter().filter(|job| job.name == name).count();
        format!("workload.{name}.{}", earlier + namesakes)
    }

    /// The jobs, in the order in which [`crate::Io::job`] counts them.
    pub fn jobs(&self) -> &[JobInfo] {
        &self.jobs
    }

    /// True if every job replays a trace: what came before its first request is not for the player to know.
    pub fn is_trace(&self) -> bool {
        self.plans.iter().all(|plan| matches!(plan.what, What::Replay(..)))
    }

    /// What a user should know and no error is, a line each: a capped depth, how a trace was fitted to one drive.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

fn trace_notes(name: &str, trace: &Trace) -> Vec<String> {
    let mut notes = Vec::new();
    if let [first, .., last] = trace.devices.as_slice()
        && trace.has_layout()
    {
        notes.push(format!(
            "{name}: {} devices are laid out one after another, from \"{}\" at byte {} to \"{}\" at byte {}",
            trace.devices.len(),
            first.name,
            first.base,
            last.name,
            last.base
        ));
    }
    if !trace.timed {
        notes.push(format!("{name}: its requests have no times and follow one another"));
    }
    if trace.unaligned > 0 {
        notes.push(format!("{name}: {} of {} requests are fitted to whole sectors", trace.unaligned, trace.requests));
    }
    if trace.skipped > 0 {
        notes.push(format!("{name}: {} entries ask nothing of a drive and are left out", trace.skipped));
    }
    if trace.reordered > 0 {
        notes.push(format!(
            "{name}: {} of {} requests are stamped earlier than the one before and follow it at once",
            trace.reordered, trace.requests
        ));
    }
    notes
}

/// Whether the first line that is neither empty nor a comment is a section.
fn is_job_file(path: &Path) -> std::io::Result<bool> {
    if path.extension().is_some_and(|extension| extension == "fio") {
        return Ok(true);
    }
    let mut head = Vec::new();
    fs::File::open(path)?.take(1 << 16).read_to_end(&mut head)?;
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    Ok(lines
        .find(|line| !line.is_empty() && !line.starts_with(b";") && !line.starts_with(b"#"))
        .is_some_and(|line| line.starts_with(b"[")))
}
