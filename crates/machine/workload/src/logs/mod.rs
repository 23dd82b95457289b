//! Logs of the requests of jobs in fio's formats: latency, bandwidth, IOPS.
//!
//! A line is `TIME, VALUE, DIRECTION, BYTES, PRIORITY`, with the offset before the priority if the job asks for it: TIME in
//! ms since the start of the job, DIRECTION 0 for a read, 1 for a write, 2 for a trim. Averages over an interval have the
//! interval's end and no size.

mod series;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use media::Op;
use sim::Time;

use crate::error::Error;
use crate::fio::{Job, LogKeys};
use crate::workload::Workload;
use series::{Series, Value};

/// A completed request of a job.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Operation.
    pub op: Op,
    /// Offset in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of arrival.
    pub due: Time,
    /// Time of issue.
    pub issued: Time,
    /// Time at which the driver rang the doorbell.
    pub submitted: Time,
    /// Time at which the program was notified.
    pub at: Time,
}

impl Sample {
    /// Returns fio's number of its direction, or `None` for a request without one.
    fn direction(&self) -> Option<usize> {
        match self.op {
            Op::Read => Some(0),
            Op::Write | Op::Append => Some(1),
            Op::Trim => Some(2),
            Op::Flush | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => None,
        }
    }
}

/// A file that one or several jobs write.
struct LogFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl LogFile {
    fn error(&self, source: std::io::Error) -> Error {
        Error::Io { file: self.path.display().to_string(), source }
    }
}

/// The logs of a job.
struct JobLogs {
    /// Start of the job, once it is known.
    start: Option<Time>,
    /// Each log, and the number of its file.
    series: Vec<(Series, usize)>,
}

/// The logs of all jobs of a workload.
pub struct Logs {
    jobs: Vec<Option<JobLogs>>,
    files: Vec<LogFile>,
}

impl Logs {
    /// Creates the files of the logs, if any job of the workload has logs.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(workload: &Workload) -> Result<Option<Logs>, Error> {
        let mut logs = Logs { jobs: Vec::new(), files: Vec::new() };
        for (number, (job, info)) in workload.plan_jobs().zip(workload.jobs()).enumerate() {
            let own = match job.filter(|job| job.has_logs()) {
                Some(job) => {
                    let start = (!info.starts_later).then_some(Time::ZERO);
                    Some(JobLogs { start, series: logs.series_of(job, number + 1)? })
                }
                None => None,
            };
            logs.jobs.push(own);
        }
        Ok(logs.jobs.iter().any(Option::is_some).then_some(logs))
    }

    /// Opens the logs of `job`, which has this number from 1 on.
    fn series_of(&mut self, job: &Job, number: usize) -> Result<Vec<(Series, usize)>, Error> {
        let LogKeys { latency, bandwidth, iops, .. } = &job.logs;
        let wanted = [
            (latency, "slat", Value::Submission),
            (latency, "clat", Value::Completion),
            (latency, "lat", Value::Latency),
            (bandwidth, "bw", Value::Bandwidth),
            (iops, "iops", Value::Iops),
        ];
        let mut series = Vec::new();
        for (name, kind, value) in wanted {
            let Some(name) = name else { continue };
            let name = if name.is_empty() { &job.name } else { name };
            let path = match job.logs.per_job {
                true => job.folder.join(format!("{name}_{kind}.{number}.log")),
                false => job.folder.join(format!("{name}_{kind}.log")),
            };
            series.push((Series::new(value, &job.logs), self.open(path)?));
        }
        Ok(series)
    }

    /// Returns the number of the file at `path`.
    fn open(&mut self, path: PathBuf) -> Result<usize, Error> {
        if let Some(found) = self.files.iter().position(|file| file.path == path) {
            return Ok(found);
        }
        match File::create(&path) {
            Ok(file) => self.files.push(LogFile { path, out: BufWriter::new(file) }),
            Err(source) => return Err(Error::Io { file: path.display().to_string(), source }),
        }
        Ok(self.files.len() - 1)
    }

    /// Logs a request of `job` that has succeeded.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn add(&mut self, job: u16, sample: &Sample) -> Result<(), Error> {
        let (Some(logs), Some(direction)) = (&mut self.jobs[usize::from(job)], sample.direction()) else {
            return Ok(());
        };
        let start = *logs.start.get_or_insert(sample.issued);
        for (series, file) in &mut logs.series {
            let file = &mut self.files[*file];
            series.add(start, direction, sample, &mut file.out).map_err(|source| file.error(source))?;
        }
        Ok(())
    }

    /// Completes the logs at the end of the run.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        for (series, file) in self.jobs.iter_mut().flatten().flat_map(|logs| &mut logs.series) {
            let file = &mut self.files[*file];
            series.finish(&mut file.out).map_err(|source| file.error(source))?;
        }
        for file in &mut self.files {
            file.out.flush().map_err(|source| Error::Io { file: file.path.display().to_string(), source })?;
        }
        Ok(())
    }
}
