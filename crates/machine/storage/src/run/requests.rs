//! Logs of every request: rows with the parts of the latency, handed out in bounded portions, and the logs of fio's keys.

use media::Status;
use sim::Time;
use workload::{Logs, Sample};

use crate::run::RunError;
use crate::run::record::Ended;
use crate::trace::{Part, Parts, Traced};

/// Number of rows handed out at a time: about 4 MB here, and as much again in each form that a receiver converts them to.
const ROWS: usize = 1 << 14;

/// A completed request and where its time went.
#[derive(Clone, Copy, Debug)]
pub struct RequestRow {
    /// Number of its job.
    pub job: u16,
    /// The request.
    pub request: media::Request,
    /// Final status.
    pub status: Status,
    /// Time of arrival: when the job or the trace wanted to issue it.
    pub due: Time,
    /// Time of issue.
    pub issued: Time,
    /// Time at which the driver rang the doorbell.
    pub submitted: Time,
    /// Time at which the program was notified.
    pub at: Time,
    /// The time in each part, from arrival to notification.
    pub parts: Parts,
    /// The die of the flash read that ended last, if it needed any.
    pub die: Option<u16>,
    /// False during the job's `ramp_time`.
    pub measured: bool,
}

impl RequestRow {
    /// A row to be written over.
    fn empty() -> RequestRow {
        RequestRow {
            job: 0,
            request: media::Request::flush(),
            status: Status::Ok,
            due: Time::ZERO,
            issued: Time::ZERO,
            submitted: Time::ZERO,
            at: Time::ZERO,
            parts: [Time::ZERO; Part::ALL.len()],
            die: None,
            measured: false,
        }
    }

    /// Makes this the row of a request that has ended.
    #[inline]
    fn set(&mut self, ended: &Ended, traced: Traced<'_>, measured: bool) {
        self.job = ended.job;
        self.request = *traced.request;
        self.status = ended.status;
        self.due = ended.due;
        self.issued = ended.issued;
        self.submitted = ended.submitted;
        self.at = ended.at;
        self.parts = *traced.parts;
        self.parts[Part::Queue as usize] += ended.issued - ended.due;
        self.die = traced.die;
        self.measured = measured;
    }

    /// Returns the time from arrival to notification, which is the sum of its parts.
    pub fn latency(&self) -> Time {
        self.at - self.due
    }
}

/// A receiver of rows, in the order in which the requests ended. It returns false to stop the run.
pub type Sink<'a> = &'a mut dyn FnMut(&[RequestRow]) -> bool;

/// Collects rows for a receiver.
struct Portion<'a> {
    /// Rows, of which the first `count` are new. The others are written over in place.
    rows: Vec<RequestRow>,
    count: usize,
    sink: Sink<'a>,
    /// The receiver takes no more rows.
    refused: bool,
}

impl Portion<'_> {
    #[inline]
    fn add(&mut self, ended: &Ended, traced: Traced<'_>, measured: bool) {
        if self.count == self.rows.len() {
            self.rows.push(RequestRow::empty());
        }
        self.rows[self.count].set(ended, traced, measured);
        self.count += 1;
        if self.count == ROWS {
            self.hand_out();
        }
    }

    fn hand_out(&mut self) {
        self.refused |= !(self.sink)(&self.rows[..self.count]);
        self.count = 0;
    }
}

/// The logs of a run that are written request by request.
pub(super) struct RequestLogs<'a> {
    portion: Option<Portion<'a>>,
    logs: Option<Logs>,
    /// The first failure to write a log.
    failed: Option<workload::Error>,
}

impl<'a> RequestLogs<'a> {
    /// Creates the logs of a run, or returns `None` if it has none. `sink`: receives every request. `logs`: those that jobs
    /// ask for.
    pub fn new(sink: Option<Sink<'a>>, logs: Option<Logs>) -> Option<RequestLogs<'a>> {
        let portion = sink.map(|sink| Portion { rows: Vec::with_capacity(ROWS), count: 0, sink, refused: false });
        (portion.is_some() || logs.is_some()).then_some(RequestLogs { portion, logs, failed: None })
    }

    /// Adds a request that has ended. `measured`: false during its job's `ramp_time`.
    #[inline]
    pub fn add(&mut self, ended: &Ended, traced: Traced<'_>, measured: bool) {
        if let Some(portion) = &mut self.portion {
            portion.add(ended, traced, measured);
        }
        if let Some(logs) = &mut self.logs
            && ended.status.is_ok()
            && measured
        {
            let Ended { job, op, bytes, due, issued, submitted, at, .. } = *ended;
            let sample = Sample { op, offset: traced.request.offset, bytes, due, issued, submitted, at };
            if let Err(error) = logs.add(job, &sample) {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Returns false if a log could not be written, or a receiver refused rows.
    pub fn are_written(&self) -> bool {
        self.failed.is_none() && !self.portion.as_ref().is_some_and(|portion| portion.refused)
    }

    /// Completes the logs.
    ///
    /// # Errors
    /// If a log could not be written, or a receiver refused rows.
    pub fn finish(mut self) -> Result<(), RunError> {
        if let Some(portion) = &mut self.portion
            && portion.count > 0
            && !portion.refused
        {
            portion.hand_out();
        }
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        if let Some(logs) = &mut self.logs {
            logs.finish()?;
        }
        match self.portion {
            Some(portion) if portion.refused => Err(RunError::Interrupted),
            _ => Ok(()),
        }
    }
}
