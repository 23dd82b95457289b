//! The declaration of a trace format, and the head of a trace, from which a format is recognized.

use sim::Time;

use crate::trace::fields::{BlankFields, CommaFields};

/// Declaration of a trace format, except for the parser that its module's `start` returns.
pub(crate) struct Declaration {
    /// Name in messages and results.
    pub name: &'static str,
    /// Title in the documentation.
    pub title: &'static str,
    /// Layout of one request, for the documentation.
    pub layout: &'static str,
    /// A trace of one request, which tests read.
    pub example: &'static [u8],
    /// File extensions that identify the format if the content does not, in lower case.
    pub extensions: &'static [&'static str],
    /// Unit of the timestamps.
    pub tick: Time,
    /// Start of the optional header line of a text format, in lower case; empty if it has none.
    pub header: &'static str,
    /// Returns whether the start of a trace without a header is in this format. The first format of the table that
    /// returns true is chosen.
    pub recognizes: fn(&Head<'_>) -> bool,
    /// Whether requests have an operation; without one all are reads.
    pub has_operations: bool,
    /// Whether the devices of a trace have separate address spaces.
    pub has_devices_apart: bool,
}

impl Declaration {
    /// Format without a name, extension or header and with timestamps in nanoseconds: the base of the others.
    pub const PLAIN: Declaration = Declaration {
        name: "",
        title: "",
        layout: "",
        example: b"",
        extensions: &[],
        tick: Time::from_ns(1),
        header: "",
        recognizes: |_| false,
        has_operations: true,
        has_devices_apart: true,
    };

    /// Returns whether a trace begins in this format.
    pub fn matches(&self, head: &Head<'_>) -> bool {
        head.lines().next().is_some_and(|line| is_header(line, self.header)) || (self.recognizes)(head)
    }
}

/// Returns whether a line begins with `header`, ignoring case. Nothing begins with an empty header.
pub(crate) fn is_header(line: &[u8], header: &str) -> bool {
    !header.is_empty() && line.get(..header.len()).is_some_and(|start| start.eq_ignore_ascii_case(header.as_bytes()))
}

/// Returns whether the line at the start of `text` is blank or a comment.
pub(crate) fn is_ignored(text: &[u8]) -> bool {
    match text.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
        Some(byte) => matches!(byte, b'\n' | b'#'),
        None => true,
    }
}

/// Returns the lines of a head that are neither blank nor comments.
pub(crate) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !is_ignored(line))
}

/// The first kilobytes of a trace after decompression, or the whole trace if it is shorter.
pub(crate) struct Head<'a> {
    bytes: &'a [u8],
    binary: bool,
    /// Fields of the first line, at most eight, if it is text.
    commas: Vec<&'a [u8]>,
    blanks: Vec<&'a [u8]>,
}

impl<'a> Head<'a> {
    const FIELDS_MAX: usize = 8;

    pub fn new(bytes: &'a [u8]) -> Head<'a> {
        let binary = bytes.contains(&0);
        let line = lines(bytes).next().filter(|_| !binary).unwrap_or_default();
        let (mut commas, mut blanks) = (CommaFields::new(line), BlankFields::new(line));
        Head {
            bytes,
            binary,
            commas: std::iter::from_fn(|| commas.next()).take(Head::FIELDS_MAX).collect(),
            blanks: std::iter::from_fn(|| blanks.next()).take(Head::FIELDS_MAX).collect(),
        }
    }

    /// Returns the bytes of a binary trace, which contain a zero; `None` for text.
    pub fn binary(&self) -> Option<&'a [u8]> {
        self.binary.then_some(self.bytes)
    }

    /// Returns the lines of a text that are neither blank nor comments.
    pub fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        lines(if self.binary { &[] } else { self.bytes })
    }

    /// Returns the fields of the first line between commas, at most eight.
    pub fn commas(&self) -> &[&'a [u8]] {
        &self.commas
    }

    /// Returns the fields of the first line between blanks, at most eight.
    pub fn blanks(&self) -> &[&'a [u8]] {
        &self.blanks
    }
}

/// Returns whether each field is a whole number.
pub(crate) fn are_numbers(fields: &[&[u8]]) -> bool {
    fields.iter().all(|field| !field.is_empty() && field.iter().all(u8::is_ascii_digit))
}

/// Returns whether a field is one of two words, ignoring case.
pub(crate) fn is_either(field: &[u8], words: [&str; 2]) -> bool {
    words.iter().any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
}
