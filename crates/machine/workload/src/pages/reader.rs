//! Reader of page traces in all formats.

use std::io::{Cursor, Read};
use std::path::Path;

use super::{Format, Header, MAGIC, oracle_general};
use crate::header::{self, fault, next_fault, no_record};
use crate::memory::{self, Access, Op};
use crate::trace::fields::{Fault, line_length, quote};
use crate::trace::{Input, TraceError};
use crate::varint;

/// Maximum number of requests per chunk, exceeded only if the last access covers several pages.
pub const CHUNK: usize = 1 << 16;

/// Accesses of a memory trace that count as page requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Instruction fetches.
    Code,
    /// Loads and stores.
    Data,
    /// Both.
    All,
}

/// Options for reading traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// The format; if `None`, detected from the content.
    pub format: Option<Format>,
    /// Page size in bytes; 1024 if `None`. Must match the header of a nandram page trace.
    pub page_bytes: Option<u32>,
    /// Accesses of a memory trace that count as requests; if `None`, fetches if the format records them, otherwise
    /// data.
    pub kind: Option<AccessKind>,
}

/// Page size of a OneNAND buffer.
const PAGE_BYTES: u32 = 1024;

/// A page trace, read in chunks so that memory use does not grow with the trace. Gzip and zstd are decompressed.
pub struct Reader {
    source: Source,
    format: Format,
    page_bytes: u32,
    header: Option<Header>,
    requests: u64,
    ended: bool,
}

enum Source {
    Nandram {
        input: Input,
        last: u64,
    },
    Text(Input),
    OracleGeneral(Input),
    /// The accesses of a chunk; the first `done` have been converted to pages.
    Memory {
        reader: memory::Reader,
        kind: AccessKind,
        accesses: Vec<Access>,
        done: usize,
    },
}

impl Reader {
    /// Opens a trace.
    ///
    /// # Errors
    /// If the file cannot be read or decompressed, if its format cannot be detected, or if its header is invalid.
    pub fn open(path: &Path, options: &Options) -> Result<Reader, TraceError> {
        Reader::new(Input::open(path)?, options)
    }

    /// Reads a trace from any source. `name` is used in messages, and for detection if the content is not conclusive.
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub fn from_reader(
        name: &str,
        source: impl Read + Send + 'static,
        options: &Options,
    ) -> Result<Reader, TraceError> {
        Reader::new(Input::new(name.to_owned(), source)?, options)
    }

    /// Reads a trace from memory; see [`Reader::from_reader`].
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>, options: &Options) -> Result<Reader, TraceError> {
        Reader::from_reader(name, Cursor::new(bytes.into()), options)
    }

    fn new(mut input: Input, options: &Options) -> Result<Reader, TraceError> {
        let name = input.file().to_owned();
        let head = input.head()?;
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(Path::new(&name), head)?,
        };
        let mut page_bytes = options.page_bytes.unwrap_or(PAGE_BYTES);
        if page_bytes == 0 {
            return Err(fault(&input, "page_bytes", "0".to_owned(), "at least 1".to_owned()));
        }
        let mut header = None;
        let source = match format {
            Format::Nandram => {
                let keys = "page_bytes, icache, program, architecture and command";
                let found: Header = header::read(&mut input, MAGIC, keys)?;
                let expected = match options.page_bytes {
                    _ if found.page_bytes == 0 => Some("at least 1".to_owned()),
                    Some(wanted) if wanted != found.page_bytes => Some(format!("{wanted}, as requested")),
                    _ => None,
                };
                if let Some(expected) = expected {
                    return Err(fault(&input, "page_bytes", found.page_bytes.to_string(), expected));
                }
                page_bytes = found.page_bytes;
                header = Some(found);
                input.set_binary();
                Source::Nandram { input, last: 0 }
            }
            Format::Text => Source::Text(input),
            Format::OracleGeneral => {
                input.set_binary();
                Source::OracleGeneral(input)
            }
            Format::Memory(inner) => {
                let usual = if inner == memory::Format::Lackey { AccessKind::Code } else { AccessKind::Data };
                let reader = memory::Reader::new(input, Some(inner))?;
                let kind = options.kind.unwrap_or(usual);
                Source::Memory { reader, kind, accesses: Vec::new(), done: 0 }
            }
        };
        Ok(Reader { source, format, page_bytes, header, requests: 0, ended: false })
    }

    /// Returns the trace's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the page size in bytes.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Returns the header of a nandram page trace.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Returns the number of requests read so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Replaces `chunk` with the pages of about 65,536 requests. Leaves it empty at the end of the trace and after an
    /// error.
    ///
    /// # Errors
    /// If the file cannot be read, its compression is damaged, a line or record is invalid, or a nandram trace lacks
    /// its end marker.
    pub fn next_chunk(&mut self, chunk: &mut Vec<u64>) -> Result<(), TraceError> {
        chunk.clear();
        if self.ended {
            return Ok(());
        }
        let more = match &mut self.source {
            Source::Nandram { input, last } => differences(input, last, chunk),
            Source::Text(input) => numbers(input, chunk),
            Source::OracleGeneral(input) => objects(input, chunk),
            Source::Memory { reader, kind, accesses, done } => {
                addresses(reader, (accesses, done), *kind, u64::from(self.page_bytes), chunk)
            }
        };
        if more.is_err() {
            chunk.clear();
        }
        self.requests += chunk.len() as u64;
        self.ended = !matches!(more, Ok(true));
        more.map(drop)
    }
}

/// Reads pages of a nandram trace. Returns false at its end.
fn differences(input: &mut Input, last: &mut u64, chunk: &mut Vec<u64>) -> Result<bool, TraceError> {
    while chunk.len() < CHUNK {
        let bytes = input.at_least(2 * varint::LONGEST)?;
        let (mut taken, before) = (0, chunk.len());
        while chunk.len() < CHUNK {
            match varint::read(&bytes[taken..]) {
                Some((0, _)) | None => break,
                Some((value, length)) => {
                    *last = last.wrapping_add_signed(varint::unzigzag(value - 1));
                    if *last >> 63 != 0 {
                        input.take(taken, (chunk.len() - before) as u64);
                        return Err(next_fault(input, "page", last.to_string(), "a page below 2^63".to_owned()));
                    }
                    chunk.push(*last);
                    taken += length;
                }
            }
        }
        let more = chunk.len() - before;
        input.take(taken, more as u64);
        if more == 0 {
            return end(input);
        }
    }
    Ok(true)
}

/// Checks the end of a trace: the 0, the number of requests, and nothing more.
fn end(input: &mut Input) -> Result<bool, TraceError> {
    let requests = input.taken();
    let bytes = input.at_least(2 * varint::LONGEST)?;
    let Some((count, length)) = bytes.strip_prefix(&[0]).and_then(varint::read) else {
        return Err(no_record(input, "page")?);
    };
    let more = bytes.len() - (1 + length);
    if count != requests {
        return Err(fault(input, "requests", count.to_string(), format!("{requests}, the number of requests")));
    }
    if more > 0 {
        return Err(fault(input, "end", format!("{more} more bytes"), "the end of the file".to_owned()));
    }
    Ok(false)
}

/// Reads pages from a list of numbers.
fn numbers(input: &mut Input, chunk: &mut Vec<u64>) -> Result<bool, TraceError> {
    while chunk.len() < CHUNK {
        let Some(text) = input.line()? else { return Ok(false) };
        let length = line_length(text);
        let line = text[..length].trim_ascii();
        let page = str::from_utf8(line).ok().and_then(|line| line.parse().ok());
        let found = if page.is_none() { quote(line) } else { String::new() };
        let passed_over = line.is_empty() || line.starts_with(b"#");
        input.pass(length + 1);
        match page {
            Some(page) => chunk.push(page),
            None if passed_over => {}
            None => return Err(fault(input, "page", found, "a whole number below 2^64".to_owned())),
        }
    }
    Ok(true)
}

/// Reads objects of an `oracleGeneral` trace.
fn objects(input: &mut Input, chunk: &mut Vec<u64>) -> Result<bool, TraceError> {
    while chunk.len() < CHUNK {
        let Some(record) = input.record(oracle_general::RECORD)? else { return Ok(false) };
        match oracle_general::parse(record) {
            Ok(page) => chunk.extend(page),
            Err(wrong) => {
                let Fault { field, found, expected } = *wrong;
                return Err(fault(input, field, found, expected));
            }
        }
    }
    Ok(true)
}

/// Reads the pages that the accesses of a memory trace touch.
fn addresses(
    reader: &mut memory::Reader,
    (accesses, done): (&mut Vec<Access>, &mut usize),
    kind: AccessKind,
    page_bytes: u64,
    chunk: &mut Vec<u64>,
) -> Result<bool, TraceError> {
    while chunk.len() < CHUNK {
        if *done == accesses.len() {
            reader.next_chunk(accesses)?;
            *done = 0;
            if accesses.is_empty() {
                return Ok(false);
            }
        }
        let access = accesses[*done];
        *done += 1;
        let wanted = match kind {
            AccessKind::Code => access.op == Op::Fetch,
            AccessKind::Data => access.op != Op::Fetch,
            AccessKind::All => true,
        };
        if wanted {
            let end = access.address.saturating_add(u64::from(access.bytes) - 1);
            chunk.extend(access.address / page_bytes..=end / page_bytes);
        }
    }
    Ok(true)
}
