//! One log: a line per request, or per interval and direction.

use std::io::{self, Write};

use sim::Time;

use super::Sample;
use crate::fio::LogKeys;

/// Number of directions: reads, writes, trims.
const DIRECTIONS: usize = 3;

/// The quantity that a log contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Submission latency.
    Submission,
    /// Completion latency.
    Completion,
    /// The whole latency.
    Latency,
    /// Bytes over time.
    Bandwidth,
    /// Requests over time.
    Iops,
}

impl Value {
    /// Returns the value of one request, and the time that it belongs to.
    fn of(self, sample: &Sample) -> (u64, Time) {
        let Sample { bytes, due, issued, submitted, at, .. } = *sample;
        match self {
            Value::Submission => ((submitted - issued).ns(), submitted),
            Value::Completion => ((at - submitted).ns(), at),
            Value::Latency => ((at - due).ns(), at),
            // As in fio: the bandwidth of one request, in units of 1000 bytes.
            Value::Bandwidth => ((bytes * 1_000_000).checked_div((at - submitted).ns()).unwrap_or(0), at),
            Value::Iops => (1, at),
        }
    }
}

/// The requests of a direction in the open interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    count: u64,
    sum: u128,
    maximum: u64,
    bytes: u64,
}

/// A log of one quantity of one job.
pub(super) struct Series {
    value: Value,
    /// Length of an interval in ms; zero for a line per request.
    average_ms: u64,
    maximum: bool,
    offset: bool,
    priority: &'static str,
    /// Number of the open interval, and its requests by direction.
    open: u64,
    intervals: [Interval; DIRECTIONS],
    /// Time of the last request in ms.
    last_ms: u64,
}

impl Series {
    pub fn new(value: Value, keys: &LogKeys) -> Series {
        Series {
            value,
            average_ms: keys.average.ps() / Time::from_ms(1).ps(),
            maximum: keys.maximum,
            offset: keys.offset,
            priority: keys.priority,
            open: 0,
            intervals: [Interval::default(); DIRECTIONS],
            last_ms: 0,
        }
    }

    /// Adds a request of a job that began at `start`.
    pub fn add(&mut self, start: Time, direction: usize, sample: &Sample, out: &mut impl Write) -> io::Result<()> {
        let (value, at) = self.value.of(sample);
        let ms = at.saturating_sub(start).ps() / Time::from_ms(1).ps();
        if self.average_ms == 0 {
            return self.line((ms, value), direction, (sample.bytes, sample.offset), out);
        }
        // Submissions are known at their request's end, and join the open interval if theirs is over.
        let number = (ms / self.average_ms).max(self.open);
        if number > self.open {
            self.close((self.open + 1) * self.average_ms, out)?;
            self.open = number;
        }
        let interval = &mut self.intervals[direction];
        interval.count += 1;
        interval.sum += u128::from(value);
        interval.maximum = interval.maximum.max(value);
        interval.bytes += sample.bytes;
        self.last_ms = ms;
        Ok(())
    }

    /// Writes the open interval, which ends at `ms`.
    fn close(&mut self, ms: u64, out: &mut impl Write) -> io::Result<()> {
        for (direction, interval) in std::mem::take(&mut self.intervals).into_iter().enumerate() {
            if interval.count == 0 {
                continue;
            }
            let value = match self.value {
                Value::Bandwidth => interval.bytes * 1000 / self.average_ms / 1024,
                Value::Iops => interval.count * 1000 / self.average_ms,
                _ if self.maximum => interval.maximum,
                _ => (interval.sum / u128::from(interval.count)) as u64,
            };
            self.line((ms, value), direction, (0, 0), out)?;
        }
        Ok(())
    }

    /// Completes the log. As in fio, the last interval counts for latencies, and not for rates, which it is too short for.
    pub fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        match self.value {
            Value::Bandwidth | Value::Iops => Ok(()),
            _ => self.close(self.last_ms, out),
        }
    }

    fn line(
        &self,
        (ms, value): (u64, u64),
        direction: usize,
        (bytes, offset): (u64, u64),
        out: &mut impl Write,
    ) -> io::Result<()> {
        let priority = self.priority;
        if self.offset {
            writeln!(out, "{ms}, {value}, {direction}, {bytes}, {offset}, {priority}")
        } else {
            writeln!(out, "{ms}, {value}, {direction}, {bytes}, {priority}")
        }
    }
}
