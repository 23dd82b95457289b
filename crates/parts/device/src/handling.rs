//! Command costs other than processor time: waits that occupy no processor, staging paths for requests of more than one
//! mapping unit, and extra work after a write that does not continue an earlier one.
//!
//! Everything is off unless configured. These costs describe measured behavior, not its cause inside a drive.

use media::{Op, Request};
use sim::Time;

use crate::pool::{Pool, Taken};

/// Command costs other than processor time; all off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handling {
    /// Bytes of a mapping unit; a request counts every unit that it touches.
    pub unit: u64,
    /// Waits that occupy no processor, between a command's decoding and its start.
    pub waits: Waits,
    /// Bytes per second of the staging path for reads of more than one unit; `None` is no limit.
    pub staging_read: Option<u64>,
    /// Bytes per second of the staging path for writes of more than one unit; `None` is no limit.
    pub staging_write: Option<u64>,
    /// Processor time after the decoding of a write that continues none of the last [`STREAMS`] sequential streams. The
    /// write itself does not wait for it.
    pub jump: Time,
}

/// Waits that occupy no processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Wait of a read.
    pub read: Time,
    /// Wait of a write.
    pub write: Time,
    /// Wait of a trim.
    pub trim: Time,
    /// Wait of a flush.
    pub flush: Time,
    /// Zone append.
    pub append: Time,
    /// Additional wait of a read or write of more than one mapping unit.
    pub split: Time,
    /// Additional wait per mapping unit of a read or write beyond the first.
    pub unit: Time,
}

/// Number of sequential write streams that are tracked.
pub const STREAMS: usize = 16;

/// State of the costs configured by [`Handling`].
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    config: Handling,
    /// Staging paths for the data of reads and of writes.
    staging: [Option<(Pool, u64)>; 2],
    /// End offset of each stream, and the entry that the next new stream replaces.
    ends: [u64; STREAMS],
    next: usize,
}

impl Handler {
    /// Creates the state, or returns `None` if every cost is off.
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

    /// Returns the number of mapping units that a read or write touches.
    fn units(&self, request: &Request) -> u64 {
        let unit = self.config.unit;
        request.end().div_ceil(unit) - request.offset / unit
    }

    /// Returns the wait of the command after its decoding.
    pub(crate) fn wait(&self, request: &Request) -> Time {
        let waits = &self.config.waits;
        let kind = match request.op {
            Op::Read => waits.read,
            Op::Write => waits.write,
            Op::Trim => return waits.trim,
            Op::Flush => return waits.flush,
            Op::Append => waits.append,
            Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => return Time::ZERO,
        };
        match self.units(request) {
            1 => kind,
            units => kind + waits.split + waits.unit * (units - 1),
        }
    }

    /// Returns the extra processor time after the decoding of the command.
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

    /// Sends `bytes` of the request's data through its staging path, if it has one. Returns the path's track and the time
    /// taken.
    pub(crate) fn stage(&mut self, now: Time, request: &Request, bytes: u64) -> Option<(u32, Taken)> {
        let track = usize::from(request.op.writes());
        if self.units(request) <= 1 {
            return None;
        }
        let (port, rate) = self.staging[track].as_mut()?;
        Some((track as u32, port.take(now, Time::of_transfer(bytes, *rate))))
    }

    /// Returns true if a read may end later than its data could leave.
    pub(crate) fn delays_reads(&self) -> bool {
        self.staging[0].is_some()
    }

    /// Returns the names and busy times of both paths until `now`.
    pub(crate) fn busy(&self, now: Time) -> [(&'static str, Time); 2] {
        let of = |path: &Option<(Pool, u64)>| path.as_ref().and_then(|(port, _)| port.busy(now).next());
        let [read, write] = &self.staging;
        [("staging of reads", of(read).unwrap_or_default()), ("staging of writes", of(write).unwrap_or_default())]
    }

    /// Cuts the power.
    pub(crate) fn power_cut(&mut self, now: Time) {
        for (port, _) in self.staging.iter_mut().flatten() {
            port.power_cut(now);
        }
        (self.ends, self.next) = ([u64::MAX; STREAMS], 0);
    }
}
