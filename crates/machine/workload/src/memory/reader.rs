//! Reader of memory traces.

use std::io::{Cursor, Read};
use std::path::Path;

use super::{Access, Format, Header, MAGIC, Op, dram, dramsys, lackey, ramulator, scalesim};
use crate::header::{self, fault, next_fault, no_record};
use crate::trace::fields::{Fault, line_length};
use crate::trace::{Input, TraceError};
use crate::varint;

/// Maximum number of accesses per chunk, exceeded if the last line has several.
pub const CHUNK: usize = 1 << 16;

/// Maximum line size in bytes.
const LINE_BYTES_MAX: u32 = 1 << 16;

/// A memory trace, read in chunks so that memory use does not grow with the trace. Gzip and zstd are decompressed.
pub struct Reader {
    input: Input,
    format: Format,
    header: Option<Header>,
    accesses: u64,
    /// Number of the last line of memory.
    last: u64,
    instructions: u64,
    /// Whether accesses have cycles, once one was read.
    has_cycles: Option<bool>,
    /// The first row's cycle, if negative, or 0: cycles of SCALE-Sim count from it.
    base: Option<i64>,
    ended: bool,
}

impl Reader {
    /// Opens a trace. If `format` is `None`, detects it from the first line.
    ///
    /// # Errors
    /// If the file cannot be read or decompressed, if its format cannot be detected, or if its header is invalid.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Reader, TraceError> {
        Reader::new(Input::open(path)?, format)
    }

    /// Reads a trace from any source. `name` is used in messages.
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

    pub(crate) fn new(mut input: Input, format: Option<Format>) -> Result<Reader, TraceError> {
        let file = input.file().to_owned();
        let head = input.head()?;
        let format = match format.or_else(|| Format::detect(head)) {
            Some(format) => format,
            None => {
                let saw = crate::trace::format::describe(head);
                let expected = "nandram-memory, lackey, ramulator, dram, dramsys, scalesim".to_owned();
                return Err(TraceError::Undetected { file, saw, expected });
            }
        };
        let header = match format {
            Format::Nandram => Some(read_header(&mut input)?),
            Format::Lackey | Format::Ramulator | Format::Dram | Format::Dramsys | Format::ScaleSim => None,
        };
        let (has_cycles, base) = (None, None);
        Ok(Reader { input, format, header, accesses: 0, last: 0, instructions: 0, has_cycles, base, ended: false })
    }

    /// Returns the trace's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the header of a nandram memory trace.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Returns whether the cycles of accesses count from the end of the access before, as in DRAMSys's `.rstl` files.
    pub fn counts_from_previous(&self) -> bool {
        let name = self.input.file();
        let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        self.format == Format::Dramsys && name.ends_with(".rstl")
    }

    /// Returns the number of accesses read so far.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Returns the number of instructions so far, as far as the format records them. At the end of a nandram trace,
    /// this includes the instructions after the last line.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Replaces `chunk` with the next accesses. Leaves it empty at the end of the trace and after an error.
    ///
    /// # Errors
    /// If the file cannot be read, its compression is damaged, a line or record is invalid, or a nandram trace lacks
    /// its end marker.
    pub fn next_chunk(&mut self, chunk: &mut Vec<Access>) -> Result<(), TraceError> {
        chunk.clear();
        if self.ended {
            return Ok(());
        }
        let read = match self.format {
            Format::Nandram => self.records(chunk),
            Format::Lackey => self.lines(chunk, |line| match lackey::is_valgrind_output(line) {
                true => Ok(None),
                false => lackey::parse(line).map(Some),
            }),
            Format::Ramulator => self.lines(chunk, |line| ramulator::parse(line).map(Some)),
            Format::Dram => self.lines(chunk, |line| dram::parse(line).map(Some)),
            Format::Dramsys => self.lines(chunk, |line| dramsys::parse(line).map(Some)),
            Format::ScaleSim => self.rows(chunk),
        };
        if read.is_err() {
            self.ended = true;
            chunk.clear();
        }
        self.accesses += chunk.len() as u64;
        read
    }

    fn lines(
        &mut self,
        chunk: &mut Vec<Access>,
        parse: impl Fn(&[u8]) -> Result<Option<(Access, Option<Access>)>, Box<Fault>>,
    ) -> Result<(), TraceError> {
        while chunk.len() < CHUNK {
            let Some(text) = self.input.line()? else {
                self.ended = true;
                break;
            };
            let length = line_length(text);
            let line = text[..length].trim_ascii_end();
            let parsed = if line.is_empty() || line.starts_with(b"#") { Ok(None) } else { parse(line) };
            self.input.pass(length + 1);
            match parsed {
                Ok(None) => {}
                Ok(Some((access, _)))
                    if self
                        .has_cycles
                        .replace(access.cycle.is_some())
                        .is_some_and(|had| had != access.cycle.is_some()) =>
                {
                    let (found, expected) = match access.cycle {
                        Some(cycle) => (cycle.to_string(), "none, as in the lines before"),
                        None => ("the end of the line".to_owned(), "a cycle, as in the lines before"),
                    };
                    return Err(fault(&self.input, "cycle", found, expected.to_owned()));
                }
                Ok(Some((access, second))) => {
                    self.instructions += access.instructions;
                    chunk.push(access);
                    chunk.extend(second);
                }
                Err(wrong) => {
                    let Fault { field, found, expected } = *wrong;
                    return Err(fault(&self.input, field, found, expected));
                }
            }
        }
        Ok(())
    }

    /// Reads rows of SCALE-Sim, each with the accesses of a cycle.
    fn rows(&mut self, chunk: &mut Vec<Access>) -> Result<(), TraceError> {
        let op = scalesim::operation(self.input.file());
        while chunk.len() < CHUNK {
            let Some(text) = self.input.line()? else {
                self.ended = true;
                break;
            };
            let length = line_length(text);
            let line = text[..length].trim_ascii();
            let parsed = if line.is_empty() || line.starts_with(b"#") {
                Ok(())
            } else {
                scalesim::cycle(line).and_then(|cycle| {
                    // Rows before the first cycle are taken as that cycle.
                    let base = *self.base.get_or_insert(cycle.min(0));
                    scalesim::parse(line, op, (cycle - base).max(0) as u64, chunk)
                })
            };
            self.input.pass(length + 1);
            if let Err(wrong) = parsed {
                let Fault { field, found, expected } = *wrong;
                return Err(fault(&self.input, field, found, expected));
            }
        }
        Ok(())
    }

    fn records(&mut self, chunk: &mut Vec<Access>) -> Result<(), TraceError> {
        let line_bytes = self.header.as_ref().expect("a nandram trace has a header").line_bytes;
        while chunk.len() < CHUNK {
            let bytes = self.input.at_least(2 * varint::LONGEST)?;
            let first = varint::read(bytes);
            let second =
                first.and_then(|(_, length)| varint::read(&bytes[length..]).map(|(v, more)| (v, length + more)));
            let (Some((value, _)), Some((instructions, length))) = (first, second) else {
                return Err(no_record(&mut self.input, "line")?);
            };
            let Some(value) = value.checked_sub(1) else { return self.end() };
            let line = self.last.wrapping_add_signed(varint::unzigzag(value >> 1));
            if line >> 61 != 0 || line.checked_mul(u64::from(line_bytes)).is_none() {
                let expected = "a line whose address is below 2^64".to_owned();
                return Err(next_fault(&self.input, "line", line.to_string(), expected));
            }
            let Some(position) = self.instructions.checked_add(instructions) else {
                let expected = "a total below 2^64".to_owned();
                return Err(next_fault(&self.input, "instructions", instructions.to_string(), expected));
            };
            self.last = line;
            self.instructions = position;
            self.input.take(length, 1);
            let op = if value & 1 == 1 { Op::Write } else { Op::Read };
            chunk.push(Access {
                instructions,
                op,
                address: line * u64::from(line_bytes),
                cycle: None,
                bytes: line_bytes,
            });
        }
        Ok(())
    }

    /// Checks the end of a trace: the 0, the number of records, the total number of instructions, and nothing more.
    fn end(&mut self) -> Result<(), TraceError> {
        let records = self.input.taken();
        // The longest end, and one more byte.
        let bytes = self.input.at_least(2 * varint::LONGEST + 2)?;
        let count = varint::read(&bytes[1..]);
        let all =
            count.and_then(|(_, length)| varint::read(&bytes[1 + length..]).map(|(v, more)| (v, 1 + length + more)));
        let (Some((count, _)), Some((instructions, length))) = (count, all) else {
            return Err(no_record(&mut self.input, "line")?);
        };
        let more = bytes.len() - length;
        if count != records {
            return Err(fault(&self.input, "records", count.to_string(), format!("{records}, the number of records")));
        }
        if instructions < self.instructions {
            let expected = format!("at least {}, the sum of the records", self.instructions);
            return Err(fault(&self.input, "instructions", instructions.to_string(), expected));
        }
        if more > 0 {
            return Err(fault(&self.input, "end", format!("{more} more bytes"), "the end of the file".to_owned()));
        }
        self.instructions = instructions;
        self.ended = true;
        Ok(())
    }
}

fn read_header(input: &mut Input) -> Result<Header, TraceError> {
    let header: Header = header::read(input, MAGIC, "line_bytes, caches, program, architecture and command")?;
    if !header.line_bytes.is_power_of_two() || header.line_bytes > LINE_BYTES_MAX {
        let expected = format!("a power of two up to {LINE_BYTES_MAX}");
        return Err(fault(input, "line_bytes", header.line_bytes.to_string(), expected));
    }
    input.set_binary();
    Ok(header)
}
