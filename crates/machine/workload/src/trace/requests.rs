//! Converts the lines or records of a trace to requests. All formats' parsers share this.

use crate::trace::clock::Clock;
use crate::trace::declaration::{is_header, is_ignored};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, CommaFields, Fault, Field, Fields};
use crate::trace::input::Input;
use crate::trace::{Record, RecordOp, TraceError};

const TIME: Field = Field::new("time", "less than 213 days from the first record");
const RANGE: Field = Field::new("range", "one that ends below 2^64");

/// Result of parsing a line or binary record.
pub(crate) enum Step {
    /// A request.
    Request(Entry),
    /// An entry that is not a request: a header, an event of another type, the totals at the end.
    Nothing,
    /// A request that has no counterpart on a drive.
    Skipped,
}

/// A request as returned by a format's parser.
pub(crate) struct Entry {
    /// Timestamp in the format's ticks.
    pub ticks: u64,
    pub device: u32,
    pub op: RecordOp,
    pub fua: bool,
    /// Whether a flush precedes the request.
    pub flush_before: bool,
    pub timed: bool,
    pub offset: u64,
    pub bytes: u64,
}

impl Entry {
    pub fn new(ticks: u64, device: u32, op: RecordOp, offset: u64, bytes: u64) -> Entry {
        Entry { ticks, device, op, fua: false, flush_before: false, timed: true, offset, bytes }
    }
}

/// Result of a format's parser for one line or binary record.
pub(crate) type Parsed = Result<Step, Box<Fault>>;

/// A trace that is being read, in one format.
pub(crate) trait Source: Send {
    /// Reads the next request, or returns `None` at the end of the trace.
    fn next(&mut self, input: &mut Input, requests: &mut Requests) -> Result<Option<Record>, TraceError>;
}

/// Result of starting to read a trace.
pub(crate) type Started = Result<Box<dyn Source>, TraceError>;

/// Lines of fields, each parsed by a function.
struct Lines<P, const COMMAS: bool>(P);

impl<P, const COMMAS: bool> Source for Lines<P, COMMAS>
where
    P: FnMut(&mut Fields<'_, COMMAS>, &mut Devices) -> Parsed + Send,
{
    fn next(&mut self, input: &mut Input, requests: &mut Requests) -> Result<Option<Record>, TraceError> {
        requests.next_line(input, &mut self.0)
    }
}

/// Returns a source of lines whose fields are separated by commas.
pub(crate) fn between_commas(
    parse: impl FnMut(&mut CommaFields<'_>, &mut Devices) -> Parsed + Send + 'static,
) -> Box<dyn Source> {
    Box::new(Lines::<_, true>(parse))
}

/// Returns a source of lines whose fields are separated by blanks.
pub(crate) fn between_blanks(
    parse: impl FnMut(&mut BlankFields<'_>, &mut Devices) -> Parsed + Send + 'static,
) -> Box<dyn Source> {
    Box::new(Lines::<_, false>(parse))
}

/// Binary records of one size, each parsed by a function.
struct Records<P> {
    bytes: usize,
    parse: P,
}

impl<P: FnMut(&[u8], &mut Devices) -> Parsed + Send> Source for Records<P> {
    fn next(&mut self, input: &mut Input, requests: &mut Requests) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(record) = input.record(self.bytes)? else { return Ok(None) };
            let step = (self.parse)(record, &mut requests.devices);
            if let Some(record) = requests.take(input, step)? {
                return Ok(Some(record));
            }
        }
    }
}

/// Returns a source of binary records of `bytes` bytes.
pub(crate) fn records(
    input: &mut Input,
    bytes: usize,
    parse: impl FnMut(&[u8], &mut Devices) -> Parsed + Send + 'static,
) -> Box<dyn Source> {
    input.set_binary();
    Box::new(Records { bytes, parse })
}

/// Converts parsed requests to records.
pub(crate) struct Requests {
    pub devices: Devices,
    pub clock: Clock,
    /// A remark on which entries are requests, for the user.
    pub remark: Option<String>,
    /// Start of the format's header line, in lower case; empty if it has none.
    header: &'static str,
    /// A request whose preceding flush was already returned.
    pending: Option<Record>,
    skipped: u64,
    /// Requests of `skipped` that transfer zero bytes.
    empty: u64,
}

impl Requests {
    pub fn new(clock: Clock, header: &'static str) -> Requests {
        Requests { devices: Devices::new(), clock, remark: None, header, pending: None, skipped: 0, empty: 0 }
    }

    /// Returns the number of requests that request nothing from a drive.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of requests that transfer zero bytes.
    pub fn empty(&self) -> u64 {
        self.empty
    }

    /// Returns the request whose preceding flush was returned last.
    pub fn take_pending(&mut self) -> Option<Record> {
        self.pending.take()
    }

    /// Returns the record of the next line that contains a request.
    pub fn next_line<const COMMAS: bool>(
        &mut self,
        input: &mut Input,
        mut parse: impl FnMut(&mut Fields<'_, COMMAS>, &mut Devices) -> Parsed,
    ) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(text) = input.line()? else { return Ok(None) };
            let mut fields = Fields::new(text);
            let step = match is_ignored(text) {
                true => Ok(Step::Nothing),
                false => match parse(&mut fields, &mut self.devices) {
                    Err(_) if is_header(text, self.header) => Ok(Step::Nothing),
                    step => step,
                },
            };
            let length = text.len() - fields.behind_line().len();
            input.pass(length);
            if let Some(record) = self.take(input, step)? {
                return Ok(Some(record));
            }
        }
    }

    /// Converts a parsed line or binary record, if it is a request.
    fn take(&mut self, input: &Input, step: Parsed) -> Result<Option<Record>, TraceError> {
        match step {
            Ok(Step::Request(entry)) => self.record(entry).map_err(|fault| input.fault(*fault)),
            Ok(Step::Nothing) => Ok(None),
            Ok(Step::Skipped) => {
                self.skipped += 1;
                Ok(None)
            }
            Err(fault) => Err(input.fault(*fault)),
        }
    }

    /// Converts a request to a record, or returns `None` if it transfers no data.
    fn record(&mut self, entry: Entry) -> Result<Option<Record>, Box<Fault>> {
        let Entry { ticks, device, op, fua, flush_before, timed, mut offset, mut bytes } = entry;
        if matches!(op, RecordOp::Flush | RecordOp::Wait) {
            (offset, bytes) = (0, 0);
        } else if bytes == 0 {
            self.skipped += 1;
            self.empty += 1;
            return Ok(None);
        }
        let Some(at) = self.clock.at(ticks) else {
            return Err(Fault::new(&TIME, format!("{ticks} ticks of {}", self.clock.tick())));
        };
        if offset.checked_add(bytes).is_none() {
            return Err(Fault::new(&RANGE, format!("{bytes} bytes at {offset}")));
        }
        let record = Record { at, device, op, fua, offset, bytes, timed };
        if flush_before {
            self.pending = Some(record);
            return Ok(Some(Record { op: RecordOp::Flush, fua: false, offset: 0, bytes: 0, ..record }));
        }
        Ok(Some(record))
    }
}
