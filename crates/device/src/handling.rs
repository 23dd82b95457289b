//! What handling a command costs beside the work of a processor: waits that occupy nobody, paths that requests of more
//! than one mapping unit pass, and work behind a write that does not continue an earlier one.
//!
//! All of it is off unless configured: these are descriptions of what drives are measured to do, not of how they do it.

use media::{Op, Request};
use sim::Time;

use crate::pool::{Pool, Taken};

/// Costs beside processor time; the default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handling {
    /// Bytes of a mapping unit; one counts each that a request touches.
    pub unit: u64,
    /// Waits that occupy no processor, between a command's decoding and its start.
    pub waits: Waits,
    /// Bytes a second of the path that the data of reads of more than one unit pass; `None` is no limit.
    pub staging_read: Option<u64>,
    /// The same for writes.
    pub staging_write: Option<u64>,
    /// Processor time behind the decoding of a write that continues none of the last [`STREAMS`] runs of writes. That
    /// write itself does not wait for it.
    pub jump: Time,
}

/// Waits that occupy no processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Of a read.
    pub read: Time,
    /// Of a write.
    pub write: Time,
    /// Of a trim.
    pub trim: Time,
    /// Of a flush.
    pub flush: Time,
    /// Of a read or write of more than one mapping unit, in addition.
    pub split: Time,
    /// Of each mapping unit of a read or write beyond the first, in addition.
    pub unit: Time,
}

/// Runs of writes that are followed at a time.
pub const STREAMS: usize = 16;

/// The state of what [`Handling`] describes.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    config: Handling,
    /// Paths for data of reads and of writes.
    staging: [Option<(Pool, u64)>; 2],
    /// Where runs of writes end; the next place to be given to a new one.
    ends: [u64; STREAMS],
    next: usize,
}

impl Handler {
    /// `None` if there is nothing to handle.
    pub(crate) fn new(config: &Handling) -> Option<Handler> {
        if *config == (Handling { unit: config.unit, ..Handling::default() }) {
            return None;
        }
        assert!(config.unit > 0, "a mapping unit of no bytes");
        let path = |rate: Option<u64>| rate.map(|rate| (Pool::new(1), rate));
        Some(Handler {
            config: *config,
            staging: [path(config.staging_read), path(config.staging_write)],
            ends: [u64::MAX; STREAMS],
            next: 0,
        })
    }

    /// Mapping units of a read or write.
    fn units(&self, request: &Request) -> u64 {
        let unit = self.config.unit;
        request.end().div_ceil(unit) - request.offset / unit
    }

    /// How long the command waits once it is decoded.
    pub(crate) fn wait(&self, request: &Request) -> Time {
        let waits = &self.config.waits;
        let kind = match request.op {
            Op::Read => waits.read,
            Op::Write => waits.write,
            Op::Trim => return waits.trim,
            Op::Flush => return waits.flush,
        };
        match self.units(request) {
            1 => kind,
            units => kind + waits.split + waits.unit * (units - 1),
        }
    }

    /// Processor time behind the decoding of the command.
    pub(crate) fn behind(&mut self, request: &Request) -> Time {
        if request.op != Op::Write || self.config.jump == Time::ZERO {
            return Time::ZERO;
        }
        if let Some(end) = self.ends.iter_mut().find(|end| **end == request.offset) {
            *end = request.end();
            return Time::ZERO;
        }
        self.ends[self.next] = request.end();
        self.next = (self.next + 1) % STREAMS;
        self.config.jump
    }

    /// `bytes` of the data of `request` pass their path from now on, if there is one: its track and when.
    pub(crate) fn stage(&mut self, now: Time, request: &Request, bytes: u64) -> Option<(u32, Taken)> {
        let track = usize::from(request.op == Op::Write);
        if self.units(request) <= 1 {
            return None;
        }
        let (port, rate) = self.staging[track].as_mut()?;
        Some((track as u32, port.take(now, Time::of_transfer(bytes, *rate))))
    }

    /// The end of a read may be later than its data could leave.
    pub(crate) fn delays_reads(&self) -> bool {
        self.staging[0].is_some()
    }

    /// Names of both paths, and their busy times until `now`.
    pub(crate) fn busy(&self, now: Time) -> [(&'static str, Time); 2] {
        let of = |path: &Option<(Pool, u64)>| path.as_ref().and_then(|(port, _)| port.busy(now).next());
        let [read, write] = &self.staging;
        [("staging of reads", of(read).unwrap_or_default()), ("staging of writes", of(write).unwrap_or_default())]
    }

    /// The power is gone.
    pub(crate) fn power_cut(&mut self, now: Time) {
        for (port, _) in self.staging.iter_mut().flatten() {
            port.power_cut(now);
        }
        (self.ends, self.next) = ([u64::MAX; STREAMS], 0);
    }
}
