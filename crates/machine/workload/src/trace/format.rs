//! Names of trace formats, and their detection.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::nearest::nearest;
use crate::trace::TraceError;
use crate::trace::declaration::{Head, are_numbers, lines};
use crate::trace::fields::{nanoseconds, quote};
use crate::trace::formats::Format;

/// Returns all names, for messages.
fn names() -> String {
    Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = TraceError;

    /// # Errors
    /// [`TraceError::UnknownFormat`] with the nearest valid name.
    fn from_str(text: &str) -> Result<Format, TraceError> {
        let found = Format::ALL.iter().find(|format| format.name() == text);
        found.copied().ok_or_else(|| {
            let nearest = nearest(text, Format::ALL.iter().map(|format| format.name()));
            TraceError::UnknownFormat { found: text.to_owned(), expected: names(), nearest }
        })
    }
}

impl Format {
    /// Returns the name in messages and results.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// Returns the title in the documentation.
    pub fn title(self) -> &'static str {
        self.declaration().title
    }

    /// Returns the layout of one request, for the documentation.
    pub fn layout(self) -> &'static str {
        self.declaration().layout
    }

    /// Returns a trace of one request; empty for user-defined columns.
    pub fn example(self) -> &'static [u8] {
        self.declaration().example
    }

    /// Returns the file extensions that identify the format if the content does not, in lower case.
    pub fn extensions(self) -> &'static [&'static str] {
        self.declaration().extensions
    }

    /// Returns whether requests have an operation; without one all are reads.
    pub(crate) fn has_operations(self) -> bool {
        self.declaration().has_operations
    }

    /// Returns whether the devices of a trace have separate address spaces.
    pub(crate) fn has_devices_apart(self) -> bool {
        self.declaration().has_devices_apart
    }

    /// Detects the format of a trace from `head`, its first kilobytes after decompression (or the whole trace, if
    /// shorter). If the content is not conclusive, uses the file's extension, ignoring `.gz` and `.zst`.
    ///
    /// # Errors
    /// [`TraceError::Undetected`] with a description of the content.
    pub fn detect(path: &Path, head: &[u8]) -> Result<Format, TraceError> {
        if let Some(format) = by_content(head).or_else(|| by_name(path)) {
            return Ok(format);
        }
        let near = similar(head).map_or_else(String::new, |name| format!(" (the first line is most like {name})"));
        let expected = format!("{}{near}; --columns names the columns of a text", names());
        Err(TraceError::Undetected { file: path.display().to_string(), saw: describe(head), expected })
    }
}

fn by_content(head: &[u8]) -> Option<Format> {
    let head = Head::new(head);
    Format::ALL.iter().copied().find(|format| format.declaration().matches(&head))
}

fn by_name(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let extension = Path::new(name).extension()?.to_str()?;
    Format::ALL.iter().copied().find(|format| format.extensions().contains(&extension))
}

/// Returns the name of the format whose example is most like the first line, field by field, if most fields are.
fn similar(head: &[u8]) -> Option<&'static str> {
    let head = Head::new(head);
    let shape = |head: &Head<'_>| {
        let (commas, blanks) = (head.commas(), head.blanks());
        let fields = if commas.len() > 1 { commas } else { blanks };
        (commas.len() > 1, fields.iter().map(|field| kind_of(field)).collect::<Vec<_>>())
    };
    let (commas, found) = shape(&head);
    let alike = |format: &&Format| {
        let (other, expected) = shape(&Head::new(format.example()));
        let same = found.iter().zip(&expected).filter(|(a, b)| a == b).count();
        if other == commas && expected.len() > 2 { 100 * same / found.len().max(expected.len()).max(1) } else { 0 }
    };
    let best = Format::ALL.iter().rev().max_by_key(alike)?;
    (alike(&best) >= 60).then(|| best.name())
}

/// Returns the kind of a field: a whole number, a decimal one, a hexadecimal one, or text.
fn kind_of(field: &[u8]) -> u8 {
    match field {
        number if are_numbers(&[number]) => 0,
        decimal if nanoseconds(decimal).is_some() => 1,
        [b'0', b'x' | b'X', ..] => 2,
        _ => 3,
    }
}

/// Returns whether a file begins like the binary output of blktrace, in either byte order.
pub(crate) fn is_blktrace(head: &[u8]) -> bool {
    matches!(head, [_, 0x74, 0x61, 0x65, ..] | [0x65, 0x61, 0x74, _, ..])
}

/// Describes a head in a message.
pub(crate) fn describe(head: &[u8]) -> String {
    if is_blktrace(head) {
        return "a binary trace of blktrace, which blkparse converts to text".to_owned();
    }
    let xml = head.trim_ascii_start().starts_with(b"<");
    if xml && [&b"Parameter_Set"[..], b"IO_Scenario"].iter().any(|name| contains(head, name)) {
        return "MQSim's XML, which nandram import turns into a system file and jobs".to_owned();
    }
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

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Reader;

    #[test]
    fn each_format_is_detected_and_read() {
        for format in Format::ALL {
            let mut reader = Reader::from_bytes("example", format.example(), None).unwrap();
            assert_eq!((reader.format(), reader.by_ref().map(Result::unwrap).count()), (*format, 1));
            assert_eq!(reader.skipped(), 0);
        }
    }

    #[test]
    fn a_header_identifies_its_format_and_is_skipped() {
        for format in Format::ALL.iter().filter(|format| !format.declaration().header.is_empty()) {
            let declaration = format.declaration();
            let header = format!("{}MORE\n", declaration.header.to_uppercase());
            assert_eq!(by_content(header.as_bytes()), Some(*format));
            let trace = [header.as_bytes(), format.example()].concat();
            let mut reader = Reader::from_bytes("example", trace, None).unwrap();
            assert_eq!((reader.format(), reader.by_ref().map(Result::unwrap).count()), (*format, 1));
        }
    }

    #[test]
    fn names_and_extensions_are_unique() {
        let mut names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        let mut extensions: Vec<_> = Format::ALL.iter().flat_map(|format| format.extensions()).collect();
        assert!(extensions.iter().all(|extension| extension.to_lowercase() == **extension));
        let count = (names.len(), extensions.len());
        names.sort_unstable();
        names.dedup();
        extensions.sort_unstable();
        extensions.dedup();
        assert_eq!((names.len(), extensions.len()), count);
    }
}
