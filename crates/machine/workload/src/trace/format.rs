//! Trace formats and their detection.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::pages::oracle_general;
use crate::trace::fields::{BlankFields, CommaFields, nanoseconds, quote};
use crate::trace::formats::{alibaba, blkparse, cloudphysics, iolog, msr, tencent, vscsi};
use crate::trace::{Columns, TraceError, reader};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// fio's `write_iolog`, version 2 or 3.
    FioIolog,
    /// MSR Cambridge CSV.
    Msr,
    /// Storage Performance Council, as in the UMass repository.
    Spc,
    /// blkparse's default text.
    Blkparse,
    /// MQSim's ASCII traces.
    Mqsim,
    /// VMware vscsi binary records, version 1 or 2.
    Vscsi,
    /// CloudPhysics CSV.
    CloudPhysics,
    /// Alibaba Cloud CSV.
    Alibaba,
    /// Tencent Cloud CSV.
    Tencent,
    /// libCacheSim's `oracleGeneral` records.
    OracleGeneral,
    /// libCacheSim's text: one object per line.
    Objects,
    /// User-defined columns; never detected from the content.
    Columns(Columns),
}

/// Each format's name, and the file extensions that identify it.
const NAMES: [(Format, &str, &[&str]); 11] = [
    (Format::FioIolog, "fio-iolog", &["iolog"]),
    (Format::Msr, "msr", &["msr"]),
    (Format::Spc, "spc", &["spc"]),
    (Format::Blkparse, "blkparse", &["blkparse"]),
    (Format::Mqsim, "mqsim", &["mqsim"]),
    (Format::Vscsi, "vscsi", &["vscsi", "vscsitrace"]),
    (Format::CloudPhysics, "cloudphysics", &["cloudphysics"]),
    (Format::Alibaba, "alibaba", &["alibaba"]),
    (Format::Tencent, "tencent", &["tencent"]),
    (Format::OracleGeneral, "oracleGeneral", &["oraclegeneral"]),
    (Format::Objects, "libcachesim-text", &[]),
];

/// Returns all names, for messages.
fn names() -> String {
    NAMES.map(|(_, name, _)| name).join(", ")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(NAMES.iter().find(|(format, ..)| format == self).map_or("columns", |(_, name, _)| name))
    }
}

impl FromStr for Format {
    type Err = TraceError;

    /// # Errors
    /// [`TraceError::UnknownFormat`] with the nearest valid name.
    fn from_str(text: &str) -> Result<Format, TraceError> {
        match NAMES.iter().find(|(_, name, _)| *name == text) {
            Some((format, ..)) => Ok(*format),
            None => {
                let nearest = NAMES.iter().map(|(_, name, _)| *name).min_by_key(|name| distance(name, text));
                let nearest = nearest.expect("there are formats");
                Err(TraceError::UnknownFormat { found: text.to_owned(), expected: names(), nearest })
            }
        }
    }
}

/// Returns the number of letters to add, drop or replace to turn one name into the other (Levenshtein), ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, y) in b.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, x) in a.iter().enumerate() {
            let change = diagonal + usize::from(*x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[a.len()]
}

impl Format {
    /// Detects the format of a trace from `head`, its first kilobytes after decompression (or the whole trace, if
    /// shorter). If the content is not conclusive, uses the file's extension, ignoring `.gz` and `.zst`.
    ///
    /// # Errors
    /// [`TraceError::Undetected`] with a description of the content.
    pub fn detect(path: &Path, head: &[u8]) -> Result<Format, TraceError> {
        if let Some(format) = by_content(head).or_else(|| by_name(path)) {
            return Ok(format);
        }
        Err(TraceError::Undetected { file: path.display().to_string(), saw: describe(head), expected: names() })
    }
}

/// Returns the lines of a head that are neither blank nor comments.
pub(crate) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !reader::is_ignored(line))
}

fn by_content(head: &[u8]) -> Option<Format> {
    if head.contains(&0) {
        let vscsi = vscsi::Version::detect(head).map(|_| Format::Vscsi);
        return vscsi.or_else(|| oracle_general::is_one(head).then_some(Format::OracleGeneral));
    }
    // blkparse may print some lines before the first event.
    if lines(head).take(20).any(blkparse::is_event) {
        return Some(Format::Blkparse);
    }
    let line = lines(head).next()?;
    if iolog::is_header(line) {
        return Some(Format::FioIolog);
    }
    // Tencent's header starts with the same word.
    if msr::is_header(line) && !tencent::is_header(line) {
        return Some(Format::Msr);
    }
    if cloudphysics::is_header(line) {
        return Some(Format::CloudPhysics);
    }
    if alibaba::is_header(line) {
        return Some(Format::Alibaba);
    }
    if tencent::is_header(line) {
        return Some(Format::Tencent);
    }
    let number = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let seconds = |field: &[u8]| nanoseconds(field).is_some();
    let one_of = |field: &[u8], words: [&str; 2]| words.iter().any(|w| field.eq_ignore_ascii_case(w.as_bytes()));
    let mut commas = CommaFields::new(line);
    let fields: Vec<&[u8]> = std::iter::from_fn(|| commas.next()).take(8).collect();
    match fields[..] {
        [time, _, disk, kind, offset, size, ..]
            if one_of(kind, ["read", "write"]) && [time, disk, offset, size].into_iter().all(number) =>
        {
            return Some(Format::Msr);
        }
        [asu, lba, size, opcode, time, ..]
            if one_of(opcode, ["r", "w"]) && [asu, lba, size].into_iter().all(number) && seconds(time) =>
        {
            return Some(Format::Spc);
        }
        [device, op, offset, length, time]
            if one_of(op, ["r", "w"]) && [device, offset, length, time].into_iter().all(number) =>
        {
            return Some(Format::Alibaba);
        }
        // A CloudPhysics line begins with a version rather than a time.
        [time, offset, size, kind, volume]
            if one_of(kind, ["0", "1"])
                && seconds(time)
                && time.len() >= 9
                && [offset, size, volume].into_iter().all(number) =>
        {
            return Some(Format::Tencent);
        }
        [version, time, op, size, lbn]
            if cloudphysics::hex(op).is_some()
                && seconds(time)
                && [version, size, lbn].into_iter().all(number)
                && one_of(version, ["1", "2"]) =>
        {
            return Some(Format::CloudPhysics);
        }
        _ => {}
    }
    let mut blanks = BlankFields::new(line);
    let fields: Vec<&[u8]> = std::iter::from_fn(|| blanks.next()).take(6).collect();
    match fields[..] {
        [_, _, _, _, kind] if fields.iter().all(|f| number(f)) && one_of(kind, ["0", "1"]) => Some(Format::Mqsim),
        [object] if number(object) => Some(Format::Objects),
        _ => None,
    }
}

fn by_name(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let extension = Path::new(name).extension()?.to_str()?;
    NAMES.iter().find(|(.., extensions)| extensions.contains(&extension)).map(|(format, ..)| *format)
}

/// Describes a head in a message.
pub(crate) fn describe(head: &[u8]) -> String {
    if head.contains(&0) {
        let start: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        return format!("binary data that begins with {}", start.join(" "));
    }
    match lines(head).next() {
        Some(line) => format!("the first line {}", quote(line)),
        None if head.is_empty() => "an empty file".to_owned(),
        None => "only blank lines and comments".to_owned(),
    }
}
