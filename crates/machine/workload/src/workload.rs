//! What was parsed: a set of jobs, or a trace.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::error::Error;
use sim::Time;

use crate::fio::{self, Job, JobFile, JobFileError, ReplayKeys, Setting};
use crate::layout::Trace;
use crate::pauses::Pauses;
use crate::trace::Format;

/// A workload that was read and found valid; what it meets of the drive is checked by the player.
#[derive(Clone, Debug)]
pub struct Workload {
    pub(crate) file: String,
    pub(crate) plans: Vec<Plan>,
    jobs: Vec<JobInfo>,
    notes: Vec<String>,
    globals: Vec<(String, String)>,
}

/// What results say of a job: one entry for each clone of `numjobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name; clones share it, as in fio.
    pub name: String,
    /// Its group in the results, from 0: fio begins another at `new_group` and at `stonewall`.
    pub group: u32,
    /// It does not start with the run: it waits for others, or for a time.
    pub starts_later: bool,
    /// Its keys and their values as the file has them, those of `[global]` included.
    pub options: Vec<(String, String)>,
    /// How many of its keys, the first ones, come from `[global]`.
    pub inherited: usize,
}

/// What a player makes a job of.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The stage it runs in: jobs between two stonewalls start together, when all before them have ended.
    pub stage: u32,
    /// The plans whose ends it waits for.
    pub waits_for: Vec<u16>,
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
            let bytes = bytes.strip_prefix(MARK).map(<[u8]>::to_vec).unwrap_or(bytes);
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
        let trace = Trace::survey(path, format, &ReplayKeys::default())?;
        let options = vec![("trace".to_owned(), name.clone()), ("format".to_owned(), trace.format.to_string())];
        let stem = path.file_name().map_or_else(|| name.clone(), |stem| stem.to_string_lossy().into_owned());
        let notes = trace_notes(&name, &trace);
        Ok(Workload {
            file: name,
            plans: vec![Plan {
                stage: 0,
                waits_for: Vec::new(),
                stream: "workload.trace".to_owned(),
                what: What::Replay(Box::new(trace), None),
            }],
            jobs: vec![JobInfo { name: stem, group: 0, starts_later: false, options, inherited: 0 }],
            notes,
            globals: Vec::new(),
        })
    }

    /// Parses the text of a job file. `name` is its path: it stands in messages, and `read_iolog` is relative to its
    /// folder.
    ///
    /// # Errors
    /// If the text is not a valid job file, or a trace that it names cannot be read.
    pub fn parse_fio(name: &str, text: &str) -> Result<Workload, Error> {
        let JobFile { file, jobs, globals } = fio::parse(name, text)?;
        let mut workload = Workload { file, plans: Vec::new(), jobs: Vec::new(), notes: Vec::new(), globals };
        let (mut stage, mut group) = (0, 0);
        for (section, job) in jobs.iter().enumerate() {
            stage += u32::from(job.stonewall && section > 0);
            group += u32::from((job.stonewall || job.new_group) && section > 0);
            workload.add(job, stage, group)?;
        }
        workload.note_keys_without_effect(&jobs);
        Ok(workload)
    }

    fn add(&mut self, job: &Job, stage: u32, group: u32) -> Result<(), Error> {
        if job.synchronous && job.depth.is_some_and(|depth| depth > 1) {
            let depth = job.depth.unwrap_or(1);
            self.notes.push(format!(
                "{}: job \"{}\": iodepth={depth} is capped at 1 by the synchronous ioengine, as in fio",
                self.file, job.name
            ));
        }
        if job.time_based && job.runtime.is_none() && job.iolog.is_none() {
            self.notes.push(format!(
                "{}: job \"{}\": time_based counts for nothing without a runtime, as in fio",
                self.file, job.name
            ));
        }
        let waits_for: Vec<u16> = match &job.wait_for {
            Some(name) => {
                (0u16..).zip(&self.jobs).filter(|(_, above)| above.name == *name).map(|(index, _)| index).collect()
            }
            None => Vec::new(),
        };
        let setting = |s: &Setting| (s.key.to_owned(), s.value.clone());
        let (own, globals): (Vec<&Setting>, Vec<&Setting>) = job.settings.iter().partition(|setting| setting.own);
        let info = JobInfo {
            name: job.name.clone(),
            group,
            starts_later: stage > 0 || !waits_for.is_empty() || job.start_delay.1 > Time::ZERO,
            options: globals.iter().chain(&own).map(|s| setting(s)).collect(),
            inherited: globals.len(),
        };
        if let Some(path) = &job.iolog {
            if let Err(why) = fs::File::open(path) {
                return Err(job.error(&self.file, "read_iolog", &format!("{}: {why}", path.display())).into());
            }
            let trace = Trace::survey(path, Some(Format::FioIolog), &job.replay)?;
            self.notes.extend(trace_notes(&path.display().to_string(), &trace));
            let what = What::Replay(Box::new(trace), Some(Box::new(job.clone())));
            self.plans.push(Plan { stage, waits_for, stream: self.stream(&job.name), what });
            self.jobs.push(info);
            return Ok(());
        }
        for clone in 0..job.clones {
            let what = What::Generate(Box::new(job.clone()), clone);
            let stream = self.stream(&job.name);
            self.plans.push(Plan { stage, waits_for: waits_for.clone(), stream, what });
            self.jobs.push(info.clone());
        }
        Ok(())
    }

    /// Names the keys that were accepted and change nothing, a line for each reason.
    fn note_keys_without_effect(&mut self, jobs: &[Job]) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (key, why) in jobs.iter().flat_map(|job| &job.without_effect) {
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, keys)) if keys.contains(&key.as_str()) => {}
                Some((_, keys)) => keys.push(key),
                None => reasons.push((why, vec![key])),
            }
        }
        for (why, keys) in reasons {
            self.notes.push(format!("{}: no effect of {}: {why}", self.file, keys.join(", ")));
        }
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

    /// The pauses of the one trace that is replayed, if that is all and it has times of its own.
    pub fn pauses(&self) -> Option<&Pauses> {
        match &self.plans[..] {
            [Plan { what: What::Replay(trace, None), .. }] if trace.timed => Some(&trace.pauses),
            _ => None,
        }
    }

    /// What the job file's `[global]` sections say: keys and values.
    pub fn globals(&self) -> &[(String, String)] {
        &self.globals
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
    if matches!(trace.format, Format::OracleGeneral | Format::Objects) {
        notes.push(format!("{name}: its format has no operations: all requests are reads"));
    }
    if trace.whole_seconds {
        notes.push(format!(
            "{name}: its clock counts whole seconds: the requests of a second arrive at once, and their response times are \
             those of a burst"
        ));
    }
    if trace.empty > 0 {
        notes.push(format!("{name}: {} requests of no bytes are left out", trace.empty));
    }
    if trace.skipped > trace.empty {
        notes.push(format!("{name}: {} entries ask nothing of a drive and are left out", trace.skipped - trace.empty));
    }
    if trace.reordered > 0 {
        notes.push(format!(
            "{name}: {} of {} requests are stamped earlier than the one before and follow it at once",
            trace.reordered, trace.requests
        ));
    }
    notes
}

/// A byte order mark, which is no part of the text behind it.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether the first line that is neither empty nor a comment is a section.
fn is_job_file(path: &Path) -> std::io::Result<bool> {
    if path.extension().is_some_and(|extension| extension == "fio") {
        return Ok(true);
    }
    let mut head = Vec::new();
    fs::File::open(path)?.take(1 << 16).read_to_end(&mut head)?;
    let mut lines = head.strip_prefix(MARK).unwrap_or(&head).split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    Ok(lines
        .find(|line| !line.is_empty() && !line.starts_with(b";") && !line.starts_with(b"#"))
        .is_some_and(|line| line.starts_with(b"[")))
}
