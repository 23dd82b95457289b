//! Log of a job's requests as a fio iolog.

use std::path::{Path, PathBuf};

use media::{Op, Request};
use sim::Time;

use crate::error::Error;
use crate::fio::Job;
use crate::trace::{IologWriter, Record, RecordOp};

/// The iolog that a job writes.
pub(super) struct Log {
    writer: Option<IologWriter>,
    /// Numbers of the job's drives, in the order of the log's files, and the bytes of each.
    drives: Vec<u16>,
    capacity: u64,
}

impl Log {
    /// Creates the log of a clone of `job`, if it has one.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(job: &Job, clone: u32, capacity: u64) -> Result<Option<Log>, Error> {
        let Some(path) = &job.write_iolog else { return Ok(None) };
        let mut writer = IologWriter::create(&path_of(path, clone))?;
        let named = job.setting("filename").map(|setting| setting.value.as_str());
        let plain = |name: &&str| !name.is_empty() && name.len() < 256 && !name.contains(char::is_whitespace);
        match &job.drives[..] {
            drives if job.on.len() > 1 => {
                for drive in drives {
                    writer.add(&drive.name)?;
                }
            }
            _ => {
                writer.add(named.filter(plain).unwrap_or("drive"))?;
            }
        }
        Ok(Some(Log { writer: Some(writer), drives: job.on.clone(), capacity }))
    }

    /// Writes a request that is issued at `now`.
    pub fn write(&mut self, now: Time, request: &Request) -> Result<(), Error> {
        let op = match request.op {
            Op::Read => RecordOp::Read,
            Op::Write => RecordOp::Write,
            Op::Trim => RecordOp::Trim,
            Op::Flush => RecordOp::Flush,
            // fio logs an append as a write, and a reset as a trim; it has no other zone management.
            Op::Append => RecordOp::Write,
            Op::ZoneReset => RecordOp::Trim,
            Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish => return Ok(()),
        };
        let Request { fua, offset, bytes, .. } = *request;
        let number = offset / self.capacity;
        let device = self.drives.iter().position(|drive| u64::from(*drive) == number).unwrap_or(0) as u32;
        let record = Record { at: now, device, op, fua, offset: offset % self.capacity, bytes, timed: true };
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(&record)).map_err(Error::from)
    }

    /// Completes the log at the end of the job.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.writer.take().map_or(Ok(()), IologWriter::finish).map_err(Error::from)
    }
}

/// Returns the clone's path: all but the first clone add their number to the name.
fn path_of(path: &Path, clone: u32) -> PathBuf {
    if clone == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{clone}"));
    PathBuf::from(name)
}
