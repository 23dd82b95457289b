//! One reader for all formats.

use std::io::{Cursor, Read};
use std::path::Path;

use sim::Time;

use super::clock::Clock;
use super::devices::Devices;
use super::fields::{Fault, Field, Fields, line_length};
use super::input::Input;
use super::{
    Columns, Format, Record, RecordOp, TraceError, alibaba, blkparse, cloudphysics, iolog, libcachesim, mqsim, msr,
    spc, tencent, vscsi,
};

const TIME: Field = Field::new("time", "less than 213 days from the first record");
const RANGE: Field = Field::new("range", "one that ends below 2^64");

/// What a line or binary record came to.
pub(super) enum Step {
    /// A request.
    Request(Entry),
    /// Nothing that the format counts as a request: a header, an event of another kind, the total at the end.
    Nothing,
    /// A request, but of nothing that a drive is asked for here.
    Skipped,
}

/// A request, as a format's parser finds it.
pub(super) struct Entry {
    /// The trace's own time, in the format's ticks.
    pub ticks: u64,
    pub device: u32,
    pub op: RecordOp,
    pub fua: bool,
    /// A flush goes before it.
    pub flush_before: bool,
    pub timed: bool,
    pub offset: u64,
    pub bytes: u64,
}

impl Entry {
    #[inline]
    pub fn new(ticks: u64, device: u32, op: RecordOp, offset: u64, bytes: u64) -> Entry {
        Entry { ticks, device, op, fua: false, flush_before: false, timed: true, offset, bytes }
    }
}

/// The parser of the format that is read.
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
    /// Between commas, or else between blanks.
    Columns(Columns, bool),
}

/// A trace that is read: an iterator over its [`Record`]s, in the order of the file.
///
/// It ends for good after the first error. Memory does not grow with the trace, only with the number of its devices.
pub struct Reader {
    input: Input,
    format: Format,
    parser: Parser,
    devices: Devices,
    requests: Requests,
    ended: bool,
}

impl Reader {
    /// Opens a trace. Without a format it is told by the content, else by the file's name ([`Format::detect`]).
    ///
    /// # Errors
    /// If the file cannot be read or undone from its compression, if its format cannot be told, or if its header is not
    /// that of the format.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Reader, TraceError> {
        Reader::new(Input::open(path)?, format)
    }

    /// Reads a trace from anywhere. `name` is for messages, and to tell the format where the content does not.
    ///
    /// # Errors
    /// As for [`Reader::open`].
    pub fn from_reader(
        name: &str,
        source: impl Read + Send + 'static,
        format: Option<Format>,
    ) -> Result<Reader, TraceError> {
        Reader::new(Input::new(name.to_owned(), source)?, format)
    }

    /// Reads a trace from memory, otherwise as [`Reader::from_reader`].
    ///
    /// # Errors
    /// As for [`Reader::open`].
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
                let parser = parser.map_err(|fault| complaint(&input, *fault))?;
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
                // An empty trace is of either version; one that is of neither is complained about at its first record.
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
                let commas = super::format::lines(head).next().is_some_and(|line| line.contains(&b','));
                Parser::Columns(columns, commas)
            }
        };
        let devices = Devices::new();
        let requests = Requests { clock, pending: None, skipped: 0, empty: 0 };
        Ok(Reader { input, format, parser, devices, requests, ended: false })
    }

    /// The trace's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where reading stands: the line, or for vscsi the record, that the last record came from; from 1.
    pub fn line(&self) -> u64 {
        self.input.taken()
    }

    /// Names of the devices or files met so far, by [`Record::device`].
    pub fn devices(&self) -> &[String] {
        self.devices.names()
    }

    /// Requests so far that transfer no bytes; they are left out.
    pub fn empty(&self) -> u64 {
        self.requests.empty
    }

    /// The trace's clock has counted whole seconds so far, and more than one request came in one of them.
    pub fn counts_whole_seconds(&self) -> bool {
        self.requests.clock.counts_whole_seconds()
    }

    /// Records so far that claimed to be earlier than one before them. Real traces have such small inversions, as
    /// requests are logged when they complete; the record's time is that of the latest one before it instead.
    pub fn reordered(&self) -> u64 {
        self.requests.clock.reordered()
    }

    /// Requests so far that were not yielded because they ask nothing of a drive: transfers of 0 bytes, SCSI commands
    /// that leave the medium alone, SCSI commands passed through Linux's block layer.
    pub fn skipped(&self) -> u64 {
        self.requests.skipped
    }

    /// The next record.
    #[inline]
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
                // Until a request has been met, a line may hold the columns' names.
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

/// From a format's requests to records.
struct Requests {
    clock: Clock,
    // A request whose flush was yielded before it.
    pending: Option<Record>,
    skipped: u64,
    /// Of them, requests of no bytes.
    empty: u64,
}

impl Requests {
    /// The record of the next line that has one.
    #[inline(always)]
    fn next<const COMMAS: bool>(
        &mut self,
        input: &mut Input,
        mut parse: impl FnMut(&mut Fields<'_, COMMAS>) -> Result<Step, Box<Fault>>,
    ) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(text) = input.line()? else { return Ok(None) };
            let mut fields = Fields::new(text);
            let step = if passes_over(text) { Ok(Step::Nothing) } else { parse(&mut fields) };
            let length = text.len() - fields.behind_line().len();
            input.pass(length);
            if let Some(record) = self.take(input, step)? {
                return Ok(Some(record));
            }
        }
    }

    /// The record of a line's or binary record's request, if that is what it came to.
    #[inline(always)]
    fn take(&mut self, input: &Input, step: Result<Step, Box<Fault>>) -> Result<Option<Record>, TraceError> {
        match step {
            Ok(Step::Request(entry)) => self.record(entry).map_err(|fault| complaint(input, *fault)),
            Ok(Step::Nothing) => Ok(None),
            Ok(Step::Skipped) => {
                self.skipped += 1;
                Ok(None)
            }
            Err(fault) => Err(complaint(input, *fault)),
        }
    }

    /// The record of a request, none if it transfers nothing.
    #[inline(always)]
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

    #[inline]
    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Whether the line that `text` begins with is blank or a comment.
#[inline]
pub(super) fn passes_over(text: &[u8]) -> bool {
    match text.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
        Some(byte) => matches!(byte, b'\n' | b'#'),
        None => true,
    }
}

/// A fault of the line or record that was read last, as an error.
#[cold]
fn complaint(input: &Input, fault: Fault) -> TraceError {
    let Fault { field, found, expected } = fault;
    TraceError::Field { file: input.file().to_owned(), place: input.place(), field, found, expected }
}

impl Format {
    /// The unit that the format's parser counts time in.
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
