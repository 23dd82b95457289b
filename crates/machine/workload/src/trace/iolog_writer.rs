//! Writes a fio iolog, version 3.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::write::GzEncoder;

use crate::trace::{Record, RecordOp, TraceError};

/// Maximum length of a transfer that fio reads back (it stores the length in 32 bits), rounded down to whole MiB.
const LENGTH_MAX: u64 = (1 << 32) - (1 << 20);
/// Maximum length of a file name that fio reads back.
const NAME_MAX: usize = 255;

/// Destination of the text.
enum Sink {
    Plain(File),
    Gzip(GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Plain(sink) => sink.write(bytes),
            Sink::Gzip(sink) => sink.write(bytes),
            Sink::Zstd(sink) => sink.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Plain(sink) => sink.flush(),
            Sink::Gzip(sink) => sink.flush(),
            Sink::Zstd(sink) => sink.flush(),
        }
    }
}

impl Sink {
    fn finish(self) -> io::Result<()> {
        match self {
            Sink::Plain(_) => Ok(()),
            Sink::Gzip(sink) => sink.finish().map(drop),
            Sink::Zstd(sink) => sink.finish().map(drop),
        }
    }
}

/// Writer of a fio iolog (version 3): plain, or compressed if the name ends in `.gz` or `.zst` (which fio itself does
/// not decompress).
///
/// * Times are in microseconds, like fio's; smaller fractions are dropped. The first record is at 1 us, because fio
///   takes 0 as "no time yet" and would lose the distance to the next record.
/// * fio has no FUA, so a FUA write is followed by a `datasync`. A [`RecordOp::Wait`] is not written, because later
///   records carry the time.
/// * A transfer of 4 GiB or more, which fio cannot represent, is split.
///
/// [`IologWriter::finish`] completes the file; without it the log is truncated.
pub struct IologWriter {
    out: BufWriter<Sink>,
    file: String,
    names: Vec<String>,
    // Timestamp of the last line, in microseconds.
    timestamp: u64,
}

impl IologWriter {
    /// Creates the file, or truncates an existing one.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<IologWriter, TraceError> {
        let file = path.display().to_string();
        let open = || {
            let sink = File::create(path)?;
            let extension = path.extension().map(|e| e.to_ascii_lowercase());
            let sink = match extension.as_ref().and_then(|e| e.to_str()) {
                Some("gz") => Sink::Gzip(GzEncoder::new(sink, flate2::Compression::default())),
                Some("zst") => Sink::Zstd(zstd::Encoder::new(sink, zstd::DEFAULT_COMPRESSION_LEVEL)?),
                _ => Sink::Plain(sink),
            };
            let mut out = BufWriter::with_capacity(1 << 16, sink);
            out.write_all(b"fio version 3 iolog\n")?;
            Ok(out)
        };
        match open() {
            Ok(out) => Ok(IologWriter { out, file, names: Vec::new(), timestamp: 1 }),
            Err(source) => Err(TraceError::Io { file, source }),
        }
    }

    /// Adds and opens a file. The returned index is used in [`Record::device`]. May be called at any time before the
    /// file's first record.
    ///
    /// # Errors
    /// If fio could not read back the name, or the log cannot be written.
    pub fn add(&mut self, name: &str) -> Result<u32, TraceError> {
        if name.is_empty() || name.len() > NAME_MAX || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(TraceError::Name { file: self.file.clone(), found: name.escape_debug().to_string() });
        }
        let device = u32::try_from(self.names.len()).expect("fewer than 2^32 files fit in memory");
        for action in ["add", "open"] {
            let written = writeln!(self.out, "{} {name} {action}", self.timestamp);
            self.check(written)?;
        }
        self.names.push(name.to_owned());
        Ok(device)
    }

    /// Writes one record.
    ///
    /// # Errors
    /// If the log cannot be written.
    ///
    /// # Panics
    /// If the record's file was not added, or if it reads, writes or trims 0 bytes.
    pub fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.timestamp = record.at.ns() / 1000 + 1;
        let name = &self.names[record.device as usize];
        let out = &mut self.out;
        let action = match record.op {
            RecordOp::Read => "read",
            RecordOp::Write => "write",
            RecordOp::Trim => "trim",
            RecordOp::Flush => {
                let written = writeln!(out, "{} {name} sync 0 0", self.timestamp);
                return self.check(written);
            }
            RecordOp::Append => "write",
            RecordOp::ZoneReset => "trim",
            RecordOp::Wait | RecordOp::ZoneOpen | RecordOp::ZoneClose | RecordOp::ZoneFinish => return Ok(()),
        };
        assert!(record.bytes > 0, "{record:?} transfers no data");
        let mut done = 0;
        while done < record.bytes {
            let length = (record.bytes - done).min(LENGTH_MAX);
            if let Err(error) = writeln!(out, "{} {name} {action} {} {length}", self.timestamp, record.offset + done) {
                return self.check(Err(error));
            }
            done += length;
        }
        let written = if record.fua { writeln!(out, "{} {name} datasync 0 0", self.timestamp) } else { Ok(()) };
        self.check(written)
    }

    /// Closes the files, ends the compression and flushes the buffer.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn finish(mut self) -> Result<(), TraceError> {
        let mut written = self.names.iter().try_for_each(|name| writeln!(self.out, "{} {name} close", self.timestamp));
        written = written.and_then(|()| self.out.into_inner().map_err(io::IntoInnerError::into_error)?.finish());
        written.map_err(|source| TraceError::Io { file: self.file, source })
    }

    fn check(&self, written: io::Result<()>) -> Result<(), TraceError> {
        written.map_err(|source| TraceError::Io { file: self.file.clone(), source })
    }
}
