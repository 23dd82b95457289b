//! Common reader of all trace formats.

use std::io::{Cursor, Read};
use std::path::Path;

use sim::Time;

use crate::trace::clock::Clock;
use crate::trace::devices::Devices;
use crate::trace::fields::{Fault, Field, Fields, line_length};
use crate::trace::formats::{alibaba, blkparse, cloudphysics, iolog, libcachesim, mqsim, msr, spc, tencent, vscsi};
use crate::trace::input::Input;
use crate::trace::{Columns, Format, Record, RecordOp, TraceError};

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

/// Parser of the trace's format.
enum Parser {
    Iolog(iolog::Parser),
    Msr,
    Spc,
    Blkparse(blkparse::Parser),
    Mqsim,
    Vscsi(vscsi::Version),
    CloudPhysics,
    Alibaba,
    Tencent,
    OracleGeneral,
    Objects,
    /// The columns, and whether commas (rather than blanks) separate them.
    Columns(Columns, bool),
}

/// Reader of a trace: an iterator over its [`Record`]s in file order.
///
/// It ends after the first error. Memory use grows only with the number of devices, not with the length of the trace.
pub struct Reader {
    input: Input,
    format: Format,
    parser: Parser,
    devices: Devices,
    requests: Requests,
    ended: bool,
}

impl Reader {
    /// Opens a trace. If `format` is `None`, detects it from the content, else from the file's name
    /// ([`Format::detect`]).
    ///
    /// # Errors
    /// If the file cannot be read or decompressed, if its format cannot be detected, or if its header is invalid.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Reader, TraceError> {
        Reader::new(Input::open(path)?, format)
    }

    /// Reads a trace from any source. `name` is used in messages, and for detection if the content is not conclusive.
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub fn from_reader(
        name: &str,
        source: impl Read + Send + 'static,
        format: Option<Format>,
    ) -> Result<Reader, TraceError> {
        Reader::new(Input::new(name.to_owned(), source)?, format)
    }

    /// Reads a trace from memory; see [`Reader::from_reader`].
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>, format: Option<Format>) -> Result<Reader, TraceError> {
        Reader::from_reader(name, Cursor::new(bytes.into()), format)
    }

    fn new(mut input: Input, format: Option<Format>) -> Result<Reader, TraceError> {
        let name = input.file().to_owned();
        let head = input.head()?;
        let format = match format {
            Some(format) => format,
            None => Format::detect(Path::new(&name), head)?,
        };
        let mut clock = Clock::since_first(format.tick());
        let parser = match format {
            Format::FioIolog => {
                let text = input.line()?.unwrap_or_default();
                let length = line_length(text);
                let parser = iolog::Parser::new(&text[..length]);
                if !text.is_empty() {
                    input.pass(length + 1);
                }
                let parser = parser.map_err(|fault| field_error(&input, *fault))?;
                if !parser.timestamps() {
                    clock = Clock::since_zero(format.tick());
                }
                Parser::Iolog(parser)
            }
            Format::Msr => Parser::Msr,
            Format::Spc => Parser::Spc,
            Format::Blkparse => Parser::Blkparse(blkparse::Parser::default()),
            Format::Mqsim => Parser::Mqsim,
            Format::Vscsi => {
                // An empty trace matches either version. A trace that matches neither fails at its first record.
                let version = vscsi::Version::detect(head).unwrap_or(vscsi::Version::One);
                input.set_binary();
                Parser::Vscsi(version)
            }
            Format::CloudPhysics => Parser::CloudPhysics,
            Format::Alibaba => Parser::Alibaba,
            Format::Tencent => Parser::Tencent,
            Format::OracleGeneral => {
                input.set_binary();
                Parser::OracleGeneral
            }
            Format::Objects => Parser::Objects,
            Format::Columns(columns) => {
                let commas = crate::trace::format::lines(head).next().is_some_and(|line| line.contains(&b','));
                Parser::Columns(columns, commas)
            }
        };
        let devices = Devices::new();
        let requests = Requests { clock, pending: None, skipped: 0, empty: 0 };
        Ok(Reader { input, format, parser, devices, requests, ended: false })
    }

    /// Returns the trace's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the number of the line, or vscsi record, that the last record came from, from 1.
    pub fn line(&self) -> u64 {
        self.input.taken()
    }

    /// Returns the names of the devices or files seen so far, indexed by [`Record::device`].
    pub fn devices(&self) -> &[String] {
        self.devices.names()
    }

    /// Returns the number of requests so far that transfer zero bytes; they are skipped.
    pub fn empty(&self) -> u64 {
        self.requests.empty
    }

    /// Returns whether all timestamps so far are whole seconds, with more than one request in some second.
    pub fn counts_whole_seconds(&self) -> bool {
        self.requests.clock.counts_whole_seconds()
    }

    /// Returns the number of records so far with an earlier timestamp than a preceding record. Real traces contain such
    /// small inversions, because requests are logged at completion. These records get the time of the latest preceding
    /// record.
    pub fn reordered(&self) -> u64 {
        self.requests.clock.reordered()
    }

    /// Returns the number of requests so far that were skipped because they request nothing from a drive: transfers of
    /// 0 bytes, SCSI commands that do not access the medium, and SCSI commands passed through Linux's block layer.
    pub fn skipped(&self) -> u64 {
        self.requests.skipped
    }

    /// Reads the next record.
    fn read(&mut self) -> Result<Option<Record>, TraceError> {
        let Reader { input, parser, devices, requests, .. } = self;
        if let Some(record) = requests.pending.take() {
            return Ok(Some(record));
        }
        match parser {
            Parser::Msr => requests.next(input, |fields| msr::parse(fields, devices)),
            Parser::Spc => requests.next(input, |fields| spc::parse(fields, devices)),
            Parser::Mqsim => requests.next(input, |fields| mqsim::parse(fields, devices)),
            Parser::CloudPhysics => requests.next(input, |fields| cloudphysics::parse(fields, devices)),
            Parser::Alibaba => requests.next(input, |fields| alibaba::parse(fields, devices)),
            Parser::Tencent => requests.next(input, |fields| tencent::parse(fields, devices)),
            Parser::Objects => requests.next(input, |fields| libcachesim::parse_text(fields, devices)),
            Parser::Columns(columns, commas) => {
                // Until the first request, a line may hold the names of the columns.
                let first = !requests.clock.has_begun();
                match *commas {
                    true => requests.next::<true>(input, |fields| columns.parse(fields, devices, first)),
                    false => requests.next::<false>(input, |fields| columns.parse(fields, devices, first)),
                }
            }
            Parser::OracleGeneral => loop {
                let Some(record) = input.record(libcachesim::RECORD)? else { return Ok(None) };
                let step = libcachesim::parse(record, devices);
                if let Some(record) = requests.take(input, step)? {
                    return Ok(Some(record));
                }
            },
            Parser::Iolog(parser) => requests.next(input, |fields| parser.parse(fields, devices)),
            Parser::Blkparse(parser) => requests.next(input, |fields| parser.parse(fields, devices)),
            Parser::Vscsi(version) => loop {
                let Some(record) = input.record(version.bytes())? else { return Ok(None) };
                let step = version.parse(record, devices);
                if let Some(record) = requests.take(input, step)? {
                    return Ok(Some(record));
                }
            },
        }
    }
}

/// Converts parsed requests to records.
struct Requests {
    clock: Clock,
    // A request whose preceding flush was already returned.
    pending: Option<Record>,
    skipped: u64,
    /// Requests of `skipped` that transfer zero bytes.
    empty: u64,
}

impl Requests {
    /// Returns the record of the next line that contains a request.
    fn next<const COMMAS: bool>(
        &mut self,
        input: &mut Input,
        mut parse: impl FnMut(&mut Fields<'_, COMMAS>) -> Result<Step, Box<Fault>>,
    ) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(text) = input.line()? else { return Ok(None) };
            let mut fields = Fields::new(text);
            let step = if is_ignored(text) { Ok(Step::Nothing) } else { parse(&mut fields) };
            let length = text.len() - fields.behind_line().len();
            input.pass(length);
            if let Some(record) = self.take(input, step)? {
                return Ok(Some(record));
            }
        }
    }

    /// Converts a parsed line or binary record, if it is a request.
    fn take(&mut self, input: &Input, step: Result<Step, Box<Fault>>) -> Result<Option<Record>, TraceError> {
        match step {
            Ok(Step::Request(entry)) => self.record(entry).map_err(|fault| field_error(input, *fault)),
            Ok(Step::Nothing) => Ok(None),
            Ok(Step::Skipped) => {
                self.skipped += 1;
                Ok(None)
            }
            Err(fault) => Err(field_error(input, *fault)),
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

impl Iterator for Reader {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Returns whether the line at the start of `text` is blank or a comment.
pub(crate) fn is_ignored(text: &[u8]) -> bool {
    match text.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
        Some(byte) => matches!(byte, b'\n' | b'#'),
        None => true,
    }
}

/// Converts a fault of the last line or record into an error.
fn field_error(input: &Input, fault: Fault) -> TraceError {
    let Fault { field, found, expected } = fault;
    TraceError::Field { file: input.file().to_owned(), place: input.place(), field, found, expected }
}

impl Format {
    /// Returns the unit of the timestamps from the format's parser.
    fn tick(self) -> Time {
        match self {
            Format::FioIolog | Format::Vscsi | Format::Alibaba => Time::from_us(1),
            Format::Msr => Time::from_ns(100),
            Format::Spc
            | Format::Blkparse
            | Format::Mqsim
            | Format::CloudPhysics
            | Format::Tencent
            | Format::OracleGeneral
            | Format::Objects
            | Format::Columns(_) => Time::from_ns(1),
        }
    }
}
