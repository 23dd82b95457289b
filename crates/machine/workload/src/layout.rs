//! Places a trace's devices on one drive and rounds its requests to sectors (rules: [`crate::Workload::open`]).

use std::path::{Path, PathBuf};

use media::SECTOR;
use sim::Time;

use crate::error::{Beyond, Error};
use crate::fio::ReplayKeys;
use crate::pauses::Pauses;
use crate::trace::{Format, Position, Reader, Record, RecordOp};
use crate::unwritten::UnwrittenReads;

const ALIGN: u64 = 1 << 20;

/// Summary of a trace from a complete first reading.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub path: PathBuf,
    pub format: Format,
    /// Requests that affect a drive, flushes included.
    pub requests: u64,
    /// Whether every request has its own timestamp.
    pub timed: bool,
    /// Requests that did not cover whole sectors.
    pub unaligned: u64,
    /// Requests with an earlier timestamp than the preceding request.
    pub reordered: u64,
    /// Entries that request nothing from a drive.
    pub skipped: u64,
    /// Entries of `skipped` that transfer zero bytes.
    pub empty: u64,
    /// Whether the timestamps count whole seconds, with several requests in some of them.
    pub whole_seconds: bool,
    pub devices: Vec<Device>,
    pub pauses: Pauses,
    /// Time from the first request to the last.
    pub span: Time,
    /// A remark on which entries are requests.
    pub remark: Option<String>,
    /// Whether a request reads data that no earlier one has written.
    pub reads_unwritten: bool,
}

/// A device of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub name: String,
    /// First byte on the drive.
    pub base: u64,
    /// Bytes up to the highest address used.
    pub bytes: u64,
    /// Position of the request with the highest address.
    pub peak: Position,
}

impl Trace {
    /// Reads a trace from start to end.
    pub fn survey(path: &Path, format: Option<Format>, keys: &ReplayKeys) -> Result<Trace, Error> {
        let mut reader = Reader::open(path, format)?;
        let mut trace = Trace {
            path: path.to_owned(),
            format: reader.format(),
            requests: 0,
            timed: true,
            unaligned: 0,
            reordered: 0,
            skipped: 0,
            empty: 0,
            whole_seconds: false,
            devices: Vec::new(),
            pauses: Pauses::new(),
            span: Time::ZERO,
            remark: reader.remark().map(str::to_owned),
            reads_unwritten: false,
        };
        let mut reads = UnwrittenReads::default();
        while let Some(record) = reader.next() {
            let record = record?;
            trace.timed &= record.timed;
            if record.op == RecordOp::Wait {
                continue;
            }
            let record = keys.place(record);
            let Some((offset, bytes)) = sectors(&record) else {
                trace.unaligned += 1;
                continue;
            };
            trace.requests += 1;
            trace.span = trace.span.max(record.at);
            trace.pauses.add(record.at, if record.op == RecordOp::Write { bytes } else { 0 });
            reads.add(record.op, record.device, offset, bytes);
            trace.unaligned += u64::from((offset, bytes) != (record.offset, record.bytes));
            let device = record.device as usize;
            if device >= trace.devices.len() {
                let place = reader.place();
                trace.devices.resize_with(device + 1, || Device {
                    name: String::new(),
                    base: 0,
                    bytes: 0,
                    peak: place,
                });
            }
            let device = &mut trace.devices[device];
            if offset.saturating_add(bytes) > device.bytes {
                (device.bytes, device.peak) = (offset.saturating_add(bytes), reader.place());
            }
        }
        trace.reads_unwritten = reads.found();
        (trace.reordered, trace.skipped) = (reader.reordered(), reader.skipped());
        (trace.empty, trace.whole_seconds) = (reader.empty(), trace.timed && reader.counts_whole_seconds());
        let mut base = 0u64;
        let apart = trace.format.has_devices_apart();
        for (device, name) in trace.devices.iter_mut().zip(reader.devices()) {
            name.clone_into(&mut device.name);
            device.base = base;
            if apart {
                base = base.saturating_add(device.bytes).checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
            }
        }
        Ok(trace)
    }

    /// Whether several devices are laid out one after another.
    pub fn has_layout(&self) -> bool {
        self.devices.len() > 1 && self.format.has_devices_apart()
    }

    /// Returns the error of the request that extends furthest beyond a drive of `capacity` bytes, if any does.
    pub fn beyond(&self, capacity: u64) -> Option<Error> {
        let end = |device: &Device| device.base.saturating_add(device.bytes);
        let device = self.devices.iter().max_by_key(|device| end(device)).filter(|device| end(device) > capacity)?;
        let of = if self.has_layout() { format!(" of \"{}\"", device.name) } else { String::new() };
        Some(Error::Beyond(Box::new(Beyond {
            file: self.path.display().to_string(),
            place: device.peak,
            end: end(device),
            of,
            capacity,
        })))
    }
}

/// Returns the offset and length of a record in whole sectors, or `None` for a trim without a whole sector. A flush has
/// an empty range.
pub(crate) fn sectors(record: &Record) -> Option<(u64, u64)> {
    let end = record.offset.saturating_add(record.bytes);
    let (start, end) = match record.op {
        RecordOp::Flush | RecordOp::Wait => return Some((0, 0)),
        RecordOp::Read
        | RecordOp::Write
        | RecordOp::Append
        | RecordOp::ZoneOpen
        | RecordOp::ZoneClose
        | RecordOp::ZoneFinish
        | RecordOp::ZoneReset => {
            (record.offset - record.offset % SECTOR, end.checked_next_multiple_of(SECTOR).unwrap_or(end))
        }
        RecordOp::Trim => (record.offset.checked_next_multiple_of(SECTOR).unwrap_or(record.offset), end - end % SECTOR),
    };
    (end > start).then(|| (start, end - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_widened_and_trims_narrowed_to_sectors() {
        let record =
            |op, offset, bytes| Record { at: Time::ZERO, device: 0, op, fua: false, offset, bytes, timed: true };
        for (op, offset, bytes, expected) in [
            (RecordOp::Write, 0, 512, Some((0, 512))),
            (RecordOp::Write, 1000, 24, Some((512, 512))),
            (RecordOp::Read, 1023, 2, Some((512, 1024))),
            (RecordOp::Trim, 100, 2000, Some((512, 1536))),
            (RecordOp::Trim, 100, 200, None),
            (RecordOp::Flush, 0, 0, Some((0, 0))),
        ] {
            assert_eq!(sectors(&record(op, offset, bytes)), expected, "{op:?} {offset} {bytes}");
        }
    }
}
