//! Decompressed bytes of a trace, as lines or as fixed-size records.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use crate::trace::fields::{Fault, quote};
use crate::trace::{Position, TraceError};

/// Maximum length of a line, and the amount of a trace that is buffered.
const LINE_MAX: usize = 1 << 16;
/// Bytes after the buffer: a line ending for a last line without one, and padding for readers of eight bytes at a time.
const SLACK: usize = 9;

/// Compression of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Detects the compression by magic bytes (RFC 1952, RFC 8878; a zstd file may begin with a skippable frame).
    fn detect(file: &str, magic: &[u8]) -> Result<Compression, TraceError> {
        let found = match magic {
            [0x1f, 0x8b, ..] => return Ok(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Ok(Compression::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "xz",
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => "bzip2",
            [0x04, 0x22, 0x4d, 0x18, ..] => "lz4",
            [b'P', b'K', 3, 4, ..] => "zip",
            [b'7', b'z', 0xbc, 0xaf, ..] => "7z",
            _ => return Ok(Compression::None),
        };
        Err(TraceError::Compression { file: file.to_owned(), found })
    }

    fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

/// A source of lines or fixed-size records that counts them.
pub(crate) struct Input {
    file: String,
    source: Box<dyn Read + Send>,
    compression: Compression,
    buffer: Box<[u8]>,
    // The part of the buffer that is filled but not yet consumed.
    start: usize,
    end: usize,
    // End of the last complete line.
    lines: usize,
    exhausted: bool,
    // An error found while looking ahead; the next fill reports it, after the data that preceded it.
    failure: Option<io::Error>,
    // Bytes of trace before the start of the buffer.
    before: u64,
    taken: u64,
    binary: bool,
}

/// Opens a file that is no folder, pipe or device: a pipe may never end, and a trace is read a second time.
///
/// # Errors
/// If it is not such a file, or cannot be opened.
pub fn open_file(path: &Path) -> io::Result<File> {
    let about = path.metadata()?;
    if !about.is_file() {
        let found = if about.is_dir() { "a folder" } else { "a pipe or a device" };
        return Err(io::Error::other(format!("found {found}, expected a file")));
    }
    File::open(path)
}

impl Input {
    /// # Errors
    /// If the file cannot be opened or read, or has a compression other than gzip or zstd.
    pub fn open(path: &Path) -> Result<Input, TraceError> {
        let file = path.display().to_string();
        match open_file(path) {
            Ok(source) => Input::new(file, source),
            Err(source) => Err(TraceError::Io { file, source }),
        }
    }

    /// # Errors
    /// See [`Input::open`].
    pub fn new(file: String, mut source: impl Read + Send + 'static) -> Result<Input, TraceError> {
        let mut magic = Vec::with_capacity(6);
        if let Err(source) = source.by_ref().take(6).read_to_end(&mut magic) {
            return Err(TraceError::Io { file, source });
        }
        let compression = Compression::detect(&file, &magic)?;
        let whole = Cursor::new(magic).chain(source);
        let source: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
            }
            Compression::Zstd => match zstd::Decoder::new(whole) {
                Ok(decoder) => Box::new(decoder),
                Err(source) => return Err(TraceError::Io { file, source }),
            },
        };
        Ok(Input {
            file,
            source,
            compression,
            buffer: vec![0; LINE_MAX + SLACK].into_boxed_slice(),
            start: 0,
            end: 0,
            lines: 0,
            exhausted: false,
            failure: None,
            before: 0,
            taken: 0,
            binary: false,
        })
    }

    /// Returns the file's name, for messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the number of lines or records consumed, which is the number of the last one, from 1.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the position of the last line or record, or of the first if none was consumed.
    pub fn place(&self) -> Position {
        self.place_of(self.taken.max(1))
    }

    fn place_of(&self, number: u64) -> Position {
        if self.binary { Position::Record(number) } else { Position::Line(number) }
    }

    /// Converts a fault of the last line or record into an error.
    pub fn fault(&self, fault: Fault) -> TraceError {
        let Fault { field, found, expected } = fault;
        TraceError::Field { file: self.file.clone(), place: self.place(), field, found, expected }
    }

    /// Switches from lines to records as the unit of count.
    pub fn set_binary(&mut self) {
        self.taken = 0;
        self.binary = true;
    }

    /// Returns up to 64 KiB of upcoming bytes without consuming them.
    ///
    /// # Errors
    /// If the file cannot be read or decompressed, and no data precedes the error.
    pub fn head(&mut self) -> Result<&[u8], TraceError> {
        while self.end - self.start < LINE_MAX && !self.exhausted && self.failure.is_none() {
            match self.more() {
                Ok(()) => {}
                Err(error) if self.start == self.end => return Err(self.broken(error)),
                Err(error) => self.failure = Some(error),
            }
        }
        const MARK: &[u8] = b"\xef\xbb\xbf";
        if self.before == 0 && self.start == 0 && self.buffer[..self.end].starts_with(MARK) {
            // A byte order mark is not part of the first line.
            self.start = MARK.len();
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Returns upcoming bytes without consuming them: at least `bytes`, unless the trace ends first.
    ///
    /// # Errors
    /// If the file cannot be read or its compression is damaged.
    pub fn at_least(&mut self, bytes: usize) -> Result<&[u8], TraceError> {
        debug_assert!(bytes <= LINE_MAX);
        while self.end - self.start < bytes && !self.exhausted {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Consumes `bytes` bytes returned by [`Input::at_least`]: `records` whole records of variable size.
    pub fn take(&mut self, bytes: usize, records: u64) {
        assert!(bytes <= self.end - self.start);
        self.start += bytes;
        self.taken += records;
    }

    /// Reads more into the buffer, or detects the end of the file.
    fn fill(&mut self) -> Result<(), TraceError> {
        let read = match self.failure.take() {
            Some(error) => Err(error),
            None => self.more(),
        };
        read.map_err(|error| self.broken(error))
    }

    fn more(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.before += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        assert!(self.end < LINE_MAX, "the buffer has free space");
        let bytes = loop {
            match self.source.read(&mut self.buffer[self.end..LINE_MAX]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.end += bytes;
        self.exhausted = bytes == 0;
        Ok(())
    }

    fn broken(&self, source: io::Error) -> TraceError {
        let file = self.file.clone();
        // Decompressors report truncated and damaged streams as errors of their own; only errors with a code come from
        // the system.
        if self.compression == Compression::None || source.raw_os_error().is_some() {
            return TraceError::Io { file, source };
        }
        TraceError::Damaged {
            file,
            place: self.place_of(self.taken + 1),
            compression: self.compression.name(),
            what: if source.kind() == ErrorKind::UnexpectedEof { "ends" } else { "is damaged" },
            bytes: self.before + self.end as u64,
            source,
        }
    }

    /// Returns the text from the next line on, or `None` at the end of the trace. Every line ends in `\n`, including a
    /// last line without one in the file. [`Input::pass`] consumes the line.
    ///
    /// # Errors
    /// If the file cannot be read, its compression is damaged, or a line is longer than 64 KiB.
    pub fn line(&mut self) -> Result<Option<&[u8]>, TraceError> {
        if self.start >= self.lines && !self.fill_line()? {
            return Ok(None);
        }
        self.taken += 1;
        Ok(Some(&self.buffer[self.start..]))
    }

    /// Consumes a line of `bytes` bytes.
    pub fn pass(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.lines && self.buffer[self.start - 1] == b'\n');
    }

    /// Reads until the buffer holds a whole line. Returns false if there is none.
    fn fill_line(&mut self) -> Result<bool, TraceError> {
        // Format detection may already have read the head.
        let mut looked = self.start;
        loop {
            if let Some(last) = self.buffer[looked..self.end].iter().rposition(|byte| *byte == b'\n') {
                self.lines = looked + last + 1;
                return Ok(true);
            }
            if self.exhausted {
                if self.start == self.end {
                    return Ok(false);
                }
                self.buffer[self.end] = b'\n';
                self.end += 1;
                self.lines = self.end;
                return Ok(true);
            }
            if self.end - self.start == LINE_MAX {
                return Err(TraceError::Field {
                    file: self.file.clone(),
                    place: self.place_of(self.taken + 1),
                    field: "line",
                    found: quote(&self.buffer[self.start..self.end]),
                    expected: format!("the end of the line within {LINE_MAX} bytes"),
                });
            }
            let unfinished = self.end - self.start;
            self.fill()?;
            looked = self.start + unfinished;
        }
    }

    /// Consumes the next `bytes` bytes, or returns `None` at the end of the trace.
    ///
    /// # Errors
    /// If the file cannot be read, its compression is damaged, or it ends within the record.
    pub fn record(&mut self, bytes: usize) -> Result<Option<&[u8]>, TraceError> {
        debug_assert!(bytes > 0 && bytes <= LINE_MAX);
        while self.end - self.start < bytes {
            if !self.exhausted {
                self.fill()?;
            } else if self.start == self.end {
                return Ok(None);
            } else {
                return Err(TraceError::Truncated {
                    file: self.file.clone(),
                    place: self.place_of(self.taken + 1),
                    found: self.end - self.start,
                    expected: bytes,
                    at: self.before + self.end as u64,
                });
            }
        }
        let range = self.start..self.start + bytes;
        self.start = range.end;
        self.taken += 1;
        Ok(Some(&self.buffer[range]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use super::super::fields::line_length;

    /// Returns at most `step` bytes per call.
    struct Trickle(Cursor<Vec<u8>>, usize);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let room = buffer.len().min(self.1);
            self.0.read(&mut buffer[..room])
        }
    }

    fn lines(bytes: Vec<u8>, step: usize) -> Vec<Vec<u8>> {
        let mut input = Input::new("t".to_owned(), Trickle(Cursor::new(bytes), step)).unwrap();
        let mut lines = Vec::new();
        while let Some(text) = input.line().unwrap() {
            let length = line_length(text);
            lines.push(text[..length].to_vec());
            input.pass(length + 1);
        }
        assert_eq!(input.taken(), lines.len() as u64);
        lines
    }

    proptest! {
        #[test]
        fn lines_agree_with_std(text in "[ab\n\r]{0,60}", step in 1usize..20) {
            let theirs: Vec<Vec<u8>> = text.split_terminator('\n').map(|line| line.as_bytes().to_vec()).collect();
            prop_assert_eq!(lines(text.into_bytes(), step), theirs);
        }
    }

    #[test]
    fn lines_may_fill_the_buffer_but_not_exceed_it() {
        let mut text = vec![b'x'; LINE_MAX - 1];
        text.push(b'\n');
        let twice = [text.clone(), text.clone()].concat();
        assert_eq!(lines(twice, 10_000).iter().map(Vec::len).collect::<Vec<_>>(), [LINE_MAX - 1; 2]);
        text.insert(0, b'x');
        let mut input = Input::new("t".to_owned(), Cursor::new(text)).unwrap();
        let error = input.line().unwrap_err().to_string();
        let shown = "x".repeat(40);
        assert_eq!(error, format!("t:1: line: found \"{shown}…\", expected the end of the line within 65536 bytes"));
    }

    #[test]
    fn records_may_span_two_fills() {
        let bytes: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        let mut input = Input::new("t".to_owned(), Trickle(Cursor::new(bytes.clone()), 777)).unwrap();
        input.set_binary();
        assert_eq!(input.head().unwrap(), &bytes[..LINE_MAX]);
        let mut read = Vec::new();
        while let Some(record) = input.record(40).unwrap() {
            read.extend_from_slice(record);
        }
        assert_eq!(read, bytes);
    }
}
