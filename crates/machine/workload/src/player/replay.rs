//! State machine of a trace replay.

use std::collections::VecDeque;

use media::{Op, Request};
use sim::Time;

use super::step::{Draft, Step};
use super::{Beyond, Options};
use crate::error::Error;
use crate::fio::{Job, ReplayKeys};
use crate::layout::{self, Trace};
use crate::player;
use crate::trace::{Reader, Record, RecordOp};

/// The drive that a trace is replayed on.
struct Drive {
    /// Bytes.
    capacity: u64,
    /// It has zones.
    zones: bool,
    /// Treatment of addresses beyond its end.
    beyond: Beyond,
}

/// Issues the requests of a trace, at their timestamps or as fast as possible.
pub(super) struct Replay {
    reader: Reader,
    file: String,
    bases: Vec<u64>,
    names: Vec<String>,
    drive: Drive,
    pace: Pace,
    keys: ReplayKeys,
    // Maximum number of outstanding requests, if the trace has no timestamps.
    depth: u32,
    started: Time,
    measured_from: Time,
    deadline: Time,
    ramp: Time,
    runtime: Option<Time>,
    ahead: Option<Record>,
    ended: bool,
    writes: Writes,
    // Whether an outstanding flush blocks all later requests.
    blocked: bool,
    total: u64,
    done: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    /// At the timestamps, times a factor.
    Stamped(f64),
    /// As fast as the depth allows.
    Closed,
}

/// Tracks the flushes that still wait for writes. An fsync waits for the writes before it, and timed requests after it
/// do not wait for the fsync.
#[derive(Default)]
struct Writes {
    // Outstanding writes since the last waiting flush.
    current: u32,
    // Number of the current epoch; each flush ends an epoch.
    epoch: u32,
    // Earlier epochs, oldest first: outstanding writes, and the due time of the flush after them.
    waiting: VecDeque<(u32, Time)>,
    // Flushes whose writes are complete.
    released: VecDeque<Time>,
}

impl Replay {
    /// Creates a replay of `trace`, under the keys of the job that names it, if there is one.
    pub fn new(trace: &Trace, job: Option<&Job>, options: &Options) -> Result<Replay, Error> {
        if options.beyond == Beyond::Error
            && let Some(error) = trace.beyond(options.capacity)
        {
            return Err(error);
        }
        let keys = job.map_or(ReplayKeys::default(), |job| job.replay);
        let scale = keys.time_scale as f64 / 100.0;
        let pace = match options.replay {
            player::Replay::ClosedLoop { .. } => Pace::Closed,
            _ if keys.no_stall => Pace::Closed,
            player::Replay::OpenLoop => Pace::Stamped(scale),
            player::Replay::Scaled(factor) => Pace::Stamped(factor * scale),
        };
        let depth = match options.replay {
            player::Replay::ClosedLoop { depth } => depth,
            _ => job.map_or(1, Job::outstanding),
        };
        Ok(Replay {
            reader: Reader::open(&trace.path, Some(trace.format))?,
            file: trace.path.display().to_string(),
            bases: trace.devices.iter().map(|device| device.base).collect(),
            names: trace.devices.iter().filter(|_| trace.has_layout()).map(|device| device.name.clone()).collect(),
            drive: Drive { capacity: options.capacity, zones: options.zones.is_some(), beyond: options.beyond },
            pace,
            keys,
            depth,
            started: Time::ZERO,
            measured_from: Time::ZERO,
            deadline: Time::MAX,
            ramp: job.map_or(Time::ZERO, |job| job.ramp_time),
            runtime: job.and_then(|job| job.runtime),
            ahead: None,
            ended: false,
            writes: Writes::default(),
            blocked: false,
            total: trace.requests,
            done: 0,
        })
    }

    /// Returns the maximum number of outstanding requests, whatever the trace contains.
    pub fn bound(&self, job: Option<&Job>) -> u32 {
        match self.pace {
            Pace::Closed => self.depth,
            Pace::Stamped(_) => match job {
                Some(job) if job.depth.is_some() || job.synchronous => job.outstanding(),
                _ => u32::MAX,
            },
        }
    }

    /// Starts the replay.
    pub fn start(&mut self, now: Time) {
        self.started = now;
        self.measured_from = now.saturating_add(self.ramp);
        self.deadline = self.runtime.map_or(Time::MAX, |time| self.measured_from.saturating_add(time));
    }

    /// Returns the replay's next step.
    pub fn step(&mut self, now: Time, in_flight: u32) -> Result<Step, Error> {
        if let Some(due) = self.writes.released.pop_front() {
            return Ok(self.issue(Request::flush(), due, 0));
        }
        if self.blocked {
            return Ok(Step::Park);
        }
        loop {
            if now >= self.deadline {
                self.ended = true;
            }
            let record = match self.peek()? {
                Some(record) if !self.ended => record,
                _ if self.writes.waiting.is_empty() => return Ok(Step::Done),
                _ => return Ok(Step::Park),
            };
            let stamped = self.pace != Pace::Closed && record.timed;
            let due = self.due(&record)?;
            if now < due {
                return Ok(Step::Wait(due.min(self.deadline)));
            }
            if record.op == RecordOp::Wait || self.is_skipped(record.op) {
                self.ahead = None;
                continue;
            }
            if stamped && record.op == RecordOp::Flush && !self.writes.is_settled() {
                self.ahead = None;
                self.writes.hold(due);
                continue;
            }
            if !stamped && (in_flight >= self.depth || (record.op == RecordOp::Flush && !self.writes.is_settled())) {
                return Ok(Step::Park);
            }
            let request = self.request(&record)?;
            self.ahead = None;
            let Some(request) = request else { continue };
            self.blocked = !stamped && request.op == Op::Flush;
            if request.op.writes() {
                self.writes.current += 1;
            }
            let epoch = self.writes.epoch;
            return Ok(self.issue(request, if stamped { due } else { now }, epoch));
        }
    }

    /// Returns whether the job skips records of this operation.
    fn is_skipped(&self, op: RecordOp) -> bool {
        let [read, write, trim, sync] = self.keys.skip;
        match op {
            RecordOp::Read => read,
            RecordOp::Write => write,
            RecordOp::Trim => trim,
            RecordOp::Flush => sync,
            RecordOp::Append => write,
            RecordOp::Wait | RecordOp::ZoneOpen | RecordOp::ZoneClose | RecordOp::ZoneFinish | RecordOp::ZoneReset => {
                false
            }
        }
    }

    fn issue(&mut self, request: Request, due: Time, epoch: u32) -> Step {
        self.done += 1;
        Step::Issue(Draft { request, due, measured: due >= self.measured_from, verify: false, epoch })
    }

    /// Returns the next record without consuming it.
    fn peek(&mut self) -> Result<Option<Record>, Error> {
        if self.ahead.is_none() {
            self.ahead = self.reader.next().transpose()?;
        }
        Ok(self.ahead)
    }

    /// Returns the earliest time at which a record may be issued.
    fn due(&self, record: &Record) -> Result<Time, Error> {
        let Pace::Stamped(factor) = self.pace else { return Ok(self.started) };
        if factor == 1.0 {
            return Ok(self.started.saturating_add(record.at));
        }
        let ps = record.at.ps() as f64 * factor;
        if ps >= Time::MAX.ps() as f64 {
            let days = ps / 86_400e12;
            return Err(Error::Late { file: self.file.clone(), place: self.reader.place(), days });
        }
        Ok(self.started.saturating_add(Time::from_ps(ps as u64)))
    }

    /// Converts a record to a request in whole sectors, or returns `None` for a trim without a whole sector.
    fn request(&self, record: &Record) -> Result<Option<Request>, Error> {
        let op = match record.op {
            RecordOp::Read => Op::Read,
            RecordOp::Write => Op::Write,
            RecordOp::Trim => Op::Trim,
            RecordOp::Flush => return Ok(Some(Request::flush())),
            RecordOp::Wait => return Ok(None),
            RecordOp::Append => Op::Append,
            RecordOp::ZoneOpen => Op::ZoneOpen,
            RecordOp::ZoneClose => Op::ZoneClose,
            RecordOp::ZoneFinish => Op::ZoneFinish,
            RecordOp::ZoneReset => Op::ZoneReset,
        };
        if !self.drive.zones && (op == Op::Append || op.manages_zones()) {
            return Err(Error::Zones { file: self.file.clone(), place: self.reader.place() });
        }
        let Some((offset, bytes)) = layout::sectors(&self.keys.place(*record)) else { return Ok(None) };
        // An unknown device means that the file has changed since it was surveyed.
        let base = self.bases.get(record.device as usize).copied().unwrap_or(0);
        let mut offset = base.saturating_add(offset);
        let end = offset.saturating_add(bytes);
        if end > self.drive.capacity {
            if self.drive.beyond == Beyond::Error || bytes > self.drive.capacity {
                let name = self.names.get(record.device as usize);
                return Err(Error::Beyond(Box::new(crate::error::Beyond {
                    file: self.file.clone(),
                    place: self.reader.place(),
                    end,
                    of: name.map_or_else(String::new, |name| format!(" of \"{name}\"")),
                    capacity: self.drive.capacity,
                })));
            }
            // A request that would cross the end is moved to end there.
            offset = (offset % self.drive.capacity).min(self.drive.capacity - bytes);
        }
        Ok(Some(Request { fua: record.fua && op.writes(), ..Request::new(op, offset, bytes) }))
    }

    /// Notifies the replay of a completed request. Returns whether that releases a waiting flush.
    pub fn complete(&mut self, op: Op, epoch: u32) -> bool {
        match op {
            Op::Write | Op::Append => self.writes.complete(epoch),
            Op::Flush => {
                self.blocked = false;
                false
            }
            _ => false,
        }
    }

    /// Returns the total number of requests.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the fraction of the trace that has been issued, from 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.total == 0 { 1.0 } else { (self.done as f64 / self.total as f64).min(1.0) }
    }
}

impl Writes {
    /// Returns whether no write is outstanding and no flush is waiting.
    fn is_settled(&self) -> bool {
        self.current == 0 && self.waiting.is_empty() && self.released.is_empty()
    }

    /// Adds a flush that waits for the writes before it.
    fn hold(&mut self, due: Time) {
        self.waiting.push_back((self.current, due));
        self.current = 0;
        self.epoch = self.epoch.wrapping_add(1);
    }

    fn complete(&mut self, epoch: u32) -> bool {
        let behind = self.epoch.wrapping_sub(epoch) as usize;
        if behind == 0 {
            self.current -= 1;
            return false;
        }
        let index = self.waiting.len() - behind;
        self.waiting[index].0 -= 1;
        let mut freed = false;
        while let Some((0, due)) = self.waiting.front().copied() {
            self.waiting.pop_front();
            self.released.push_back(due);
            freed = true;
        }
        freed
    }
}
