//! Common reader of all trace formats.

use std::io::{Cursor, Read};
use std::path::Path;

use crate::trace::clock::Clock;
use crate::trace::formats::Format;
use crate::trace::input::Input;
use crate::trace::requests::{Requests, Source};
use crate::trace::{Position, Record, TraceError};

/// Reader of a trace: an iterator over its [`Record`]s in file order.
///
/// It ends after the first error. Memory use grows only with the number of devices, not with the length of the trace.
pub struct Reader {
    input: Input,
    format: Format,
    source: Box<dyn Source>,
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
        let declaration = format.declaration();
        let mut requests = Requests::new(Clock::since_first(declaration.tick), declaration.header);
        let source = format.start(&mut input, &mut requests)?;
        Ok(Reader { input, format, source, requests, ended: false })
    }

    /// Returns the trace's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the number of the line, or vscsi record, that the last record came from, from 1.
    pub fn line(&self) -> u64 {
        self.input.taken()
    }

    /// Returns the position of the last record, or of the first if none was read.
    pub(crate) fn place(&self) -> Position {
        self.input.place()
    }

    /// Returns the names of the devices or files seen so far, indexed by [`Record::device`].
    pub fn devices(&self) -> &[String] {
        self.requests.devices.names()
    }

    /// Returns a remark on which entries of the trace are requests, if it needs one.
    pub fn remark(&self) -> Option<&str> {
        self.requests.remark.as_deref()
    }

    /// Returns the number of requests so far that transfer zero bytes; they are skipped.
    pub fn empty(&self) -> u64 {
        self.requests.empty()
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
        self.requests.skipped()
    }

    /// Reads the next record.
    fn read(&mut self) -> Result<Option<Record>, TraceError> {
        match self.requests.take_pending() {
            Some(record) => Ok(Some(record)),
            None => self.source.next(&mut self.input, &mut self.requests),
        }
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
