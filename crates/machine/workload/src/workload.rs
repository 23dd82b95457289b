//! Parsed workloads: a set of jobs, or a trace.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::error::Error;
use sim::Time;

use crate::fio::{self, Job, JobFile, JobFileError, ReplayKeys, Setting};
use crate::layout::Trace;
use crate::pauses::Pauses;
use crate::trace::format::is_blktrace;
use crate::trace::{Format, open_file};

/// A workload that was read and validated. The player checks it against the drive.
#[derive(Clone, Debug)]
pub struct Workload {
    pub(crate) file: String,
    pub(crate) plans: Vec<JobPlan>,
    jobs: Vec<JobInfo>,
    notes: Vec<String>,
    globals: Vec<(String, String)>,
    drives: Vec<String>,
}

/// Description of a job in results; each clone of `numjobs` has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// The job's name. Clones share it, as in fio.
    pub name: String,
    /// The job's group in the results, from 0. As in fio, `new_group` and `stonewall` start a new group.
    pub group: u32,
    /// Whether the job starts after the run does: it waits for other jobs or for a time.
    pub starts_later: bool,
    /// Keys and values as written in the file, including those of `[global]`.
    pub options: Vec<(String, String)>,
    /// Number of leading `options` that come from `[global]`.
    pub inherited: usize,
}

/// Specification of one player job.
#[derive(Clone, Debug)]
pub(crate) struct JobPlan {
    /// Stage of the job. Jobs between two stonewalls start together, once all earlier jobs have ended.
    pub stage: u32,
    /// Indices of the plans that must end first.
    pub waits_for: Vec<u16>,
    /// Name of the job's random stream.
    pub stream: String,
    pub source: PlanSource,
}

/// Source of a job's requests.
#[derive(Clone, Debug)]
pub(crate) enum PlanSource {
    /// The pattern of a job from a job file, and the index of the clone.
    Generate(Box<Job>, u32),
    /// A trace, and the job that names it, if any.
    Replay(Box<Trace>, Option<Box<Job>>),
}

impl JobInfo {
    /// Returns the percentiles that the job lists (`percentile_list`), in rising order.
    pub fn percentiles(&self) -> Option<Vec<f64>> {
        let (_, list) = self.options.iter().rfind(|(key, _)| key == "percentile_list")?;
        fio::percentiles(list)
    }
}

impl Workload {
    /// Opens a job file or a trace. If `format` is given, the file is a trace. Otherwise it is a job file if its name
    /// ends in `.fio` or its first line that is not a comment is a section (`[global]`); any other file is a trace
    /// whose format is detected.
    ///
    /// A trace is read once from start to end, to find unreadable lines and to lay out its devices:
    ///
    /// * A trace of one device keeps its addresses. So does a trace in MQSim's format, because MQSim ignores the device
    ///   number. The devices or files of a trace of several are placed one after another, in the order in which the
    ///   trace names them. Each starts at a multiple of 1 MiB and ends at the highest address that the trace uses on
    ///   it.
    /// * Traces of files have addresses and lengths in bytes. A read or write is widened to whole sectors, as a block
    ///   layer does. A trim is narrowed to whole sectors, so that it never discards more than the trace does; a trim
    ///   without a whole sector is dropped.
    ///
    /// [`Workload::notes`] reports both adjustments.
    ///
    /// # Errors
    /// If the file is unreadable or invalid.
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
            plans: vec![JobPlan {
                stage: 0,
                waits_for: Vec::new(),
                stream: "workload.trace".to_owned(),
                source: PlanSource::Replay(Box::new(trace), None),
            }],
            jobs: vec![JobInfo { name: stem, group: 0, starts_later: false, options, inherited: 0 }],
            notes,
            globals: Vec::new(),
            drives: Vec::new(),
        })
    }

    /// Parses the text of a job file. `name` is its path: it appears in messages, and `read_iolog` is relative to its
    /// folder.
    ///
    /// # Errors
    /// If the text is not a valid job file, or if a trace that it names cannot be read.
    pub fn parse_fio(name: &str, text: &str) -> Result<Workload, Error> {
        Workload::of_jobs(fio::parse(name, text)?)
    }

    /// Parses the arguments of fio's command line, such as `--name=a` and `--rw=randread`. Files that it names are
    /// relative to the current folder.
    ///
    /// # Errors
    /// See [`Workload::parse_fio`].
    pub fn parse_arguments(arguments: &[String]) -> Result<Workload, Error> {
        Workload::of_jobs(fio::parse_arguments(arguments)?)
    }

    fn of_jobs(JobFile { file, jobs, globals, drives }: JobFile) -> Result<Workload, Error> {
        let mut workload = Workload { file, plans: Vec::new(), jobs: Vec::new(), notes: Vec::new(), globals, drives };
        if !workload.drives.is_empty() {
            let (count, names) = (words(workload.drives.len()), workload.drives.join(", "));
            workload.notes.push(format!("{}: {count} equal drives: {names}", workload.file));
        }
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
        if job.time_based && job.runtime.is_none() && job.iologs.is_empty() {
            self.notes.push(format!(
                "{}: job \"{}\": time_based has no effect without a runtime, as in fio",
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
        if !job.iologs.is_empty() {
            for clone in 0..job.clones {
                self.add_replay(job, clone, stage, &waits_for, &info)?;
            }
            return Ok(());
        }
        for clone in 0..job.clones {
            let source = PlanSource::Generate(Box::new(job.clone()), clone);
            let stream = self.stream(&job.name);
            self.plans.push(JobPlan { stage, waits_for: waits_for.clone(), stream, source });
            self.jobs.push(info.clone());
        }
        Ok(())
    }

    /// Adds a clone of a job that replays traces: as in fio, clone N replays the trace N of its list, and begins again
    /// at the first after the last.
    fn add_replay(
        &mut self,
        job: &Job,
        clone: u32,
        stage: u32,
        waits_for: &[u16],
        info: &JobInfo,
    ) -> Result<(), Error> {
        let path = &job.iologs[clone as usize % job.iologs.len()];
        let error = |why: String| job.error(&self.file, "read_iolog", &format!("{}: {why}", path.display()));
        let mut head = Vec::new();
        match open_file(path) {
            Ok(file) => file.take(8).read_to_end(&mut head).map_err(|why| error(why.to_string()))?,
            Err(why) => return Err(error(why.to_string()).into()),
        };
        if is_blktrace(&head) {
            let why = "found a binary trace of blktrace, expected an iolog: convert it to text with blkparse, and run it \
                       in place of the job file";
            return Err(error(why.to_owned()).into());
        }
        let trace = Trace::survey(path, Some(Format::FioIolog), &job.replay)?;
        for note in trace_notes(&path.display().to_string(), &trace) {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let source = PlanSource::Replay(Box::new(trace), Some(Box::new(job.clone())));
        let stream = self.stream(&job.name);
        self.plans.push(JobPlan { stage, waits_for: waits_for.to_vec(), stream, source });
        self.jobs.push(info.clone());
        Ok(())
    }

    /// Adds one note per reason for keys that were accepted but have no effect.
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
            self.notes.push(format!("{}: keys without effect: {}: {why}", self.file, keys.join(", ")));
        }
        let overruled = |job: &Job| {
            let keys = job.overruled_by_trace();
            let what = "read_iolog replaces the generated pattern, as in fio";
            (!keys.is_empty()).then(|| format!("{}: keys without effect: {}: {what}", self.file, keys.join(", ")))
        };
        let overruled: Vec<String> = jobs.iter().filter_map(overruled).collect();
        self.notes.extend(overruled);
        for remark in jobs.iter().flat_map(|job| &job.remarks) {
            let note = format!("{}: {remark}", self.file);
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Returns the name of the next job's random stream. It is derived from the job's name, so that adding a job does
    /// not change the draws of others.
    fn stream(&self, name: &str) -> String {
        let namesakes = self.jobs.iter().rev().take_while(|job| job.name == name).count();
        let earlier = self.jobs[..self.jobs.len() - namesakes].iter().filter(|job| job.name == name).count();
        format!("workload.{name}.{}", earlier + namesakes)
    }

    /// Returns the jobs in the order of [`crate::Io::job`].
    pub fn jobs(&self) -> &[JobInfo] {
        &self.jobs
    }

    /// Returns the jobs of the job file that the jobs come from, in their order; `None` for a trace without one.
    pub(crate) fn plan_jobs(&self) -> impl Iterator<Item = Option<&Job>> {
        self.plans.iter().map(|plan| match &plan.source {
            PlanSource::Generate(job, _) => Some(&**job),
            PlanSource::Replay(_, job) => job.as_deref(),
        })
    }

    /// Returns whether every job replays a trace. The drive's history before a trace is unknown to the player.
    pub fn is_trace(&self) -> bool {
        self.plans.iter().all(|plan| matches!(plan.source, PlanSource::Replay(..)))
    }

    /// Returns the pauses of the trace, if the workload is a single trace with timestamps.
    pub fn pauses(&self) -> Option<&Pauses> {
        match &self.plans[..] {
            [JobPlan { source: PlanSource::Replay(trace, None), .. }] if trace.timed => Some(&trace.pauses),
            _ => None,
        }
    }

    /// Returns a copy whose jobs have no end, or the reason why their end is part of what they are.
    ///
    /// # Errors
    /// For traces, for jobs that wait for others or verify their writes, and for jobs that search for a rate or end at it
    /// (`latency_target`, `steadystate`).
    pub fn endless(&self) -> Result<Workload, &'static str> {
        let mut endless = self.clone();
        if endless.jobs.iter().any(|job| job.starts_later) {
            return Err("jobs that run one after another");
        }
        for plan in &mut endless.plans {
            let PlanSource::Generate(job, _) = &mut plan.source else { return Err("a trace") };
            match () {
                () if job.verify => return Err("a job that verifies"),
                () if job.latency.is_some() => return Err("a job with latency_target"),
                () if job.steady.is_some() => return Err("a job with steadystate"),
                () => {}
            }
            (job.time_based, job.runtime, job.number_ios, job.loops) = (true, Some(Time::MAX), None, 1);
        }
        Ok(endless)
    }

    /// Returns whether the file says how long each job is: by a size, a number of requests or loops, or a time.
    pub fn has_length(&self) -> bool {
        const LENGTHS: [&str; 6] = ["size", "filesize", "io_size", "number_ios", "runtime", "loops"];
        self.plans.iter().all(|plan| match &plan.source {
            PlanSource::Generate(job, _) => LENGTHS.iter().any(|key| job.setting(key).is_some()),
            PlanSource::Replay(..) => true,
        })
    }

    /// Returns the keys and values of the job file's `[global]` sections.
    pub fn globals(&self) -> &[(String, String)] {
        &self.globals
    }

    /// Returns the number of each job's drive; of several, the first.
    pub fn first_drives(&self) -> Vec<u16> {
        self.plan_jobs().map(|job| job.map_or(0, |job| job.on[0])).collect()
    }

    /// Returns the names of the drives that the jobs use; none if there is only one.
    pub fn drives(&self) -> &[String] {
        &self.drives
    }

    /// Returns notes for the user that are not errors, one line each: a capped depth, the layout of a trace on the
    /// drive.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Returns a small number in words.
fn words(number: usize) -> String {
    let names = ["two", "three", "four", "five", "six", "seven", "eight", "nine"];
    number.checked_sub(2).and_then(|at| names.get(at)).map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

/// Mean time between the requests of an iolog from which on its times may have another unit.
const APART: Time = Time::from_ms(100);

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
    if let Some(remark) = &trace.remark {
        notes.push(format!("{name}: {remark}"));
    }
    if trace.format == Format::FioIolog && trace.timed && trace.requests > 1 {
        let apart = trace.span / (trace.requests - 1);
        if apart >= APART {
            notes.push(format!(
                "{name}: its requests are {apart} apart on average; if its times are nanoseconds and not fio's \
                 microseconds, --replay scaled:0.001 replays them so"
            ));
        }
    }
    if !trace.timed {
        notes.push(format!("{name}: its requests have no timestamps and are issued one after another"));
    }
    if trace.unaligned > 0 {
        notes.push(format!("{name}: {} of {} requests are rounded to whole sectors", trace.unaligned, trace.requests));
    }
    if !trace.format.has_operations() {
        notes.push(format!("{name}: its format does not record operations; all requests are reads"));
    }
    if trace.whole_seconds {
        notes.push(format!(
            "{name}: its timestamps are whole seconds; the requests of each second arrive together, so response times \
             are those of a burst"
        ));
    }
    if trace.empty > 0 {
        notes.push(format!("{name}: {} requests of zero bytes are skipped", trace.empty));
    }
    if trace.skipped > trace.empty {
        notes.push(format!(
            "{name}: {} entries request nothing from the drive and are skipped",
            trace.skipped - trace.empty
        ));
    }
    if trace.reordered > 0 {
        notes.push(format!(
            "{name}: {} of {} requests have earlier timestamps than their predecessors, and follow them immediately",
            trace.reordered, trace.requests
        ));
    }
    notes
}

/// A byte order mark, which precedes the text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns whether the file is a job file by name, or has a section in its first line that is neither blank nor a
/// comment.
fn is_job_file(path: &Path) -> std::io::Result<bool> {
    if path.extension().is_some_and(|extension| extension == "fio") {
        return Ok(true);
    }
    let mut head = Vec::new();
    open_file(path)?.take(1 << 16).read_to_end(&mut head)?;
    let mut lines = head.strip_prefix(MARK).unwrap_or(&head).split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    Ok(lines
        .find(|line| !line.is_empty() && !line.starts_with(b";") && !line.starts_with(b"#"))
        .is_some_and(|line| line.starts_with(b"[")))
}
