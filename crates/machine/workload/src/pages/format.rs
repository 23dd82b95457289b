//! Formats of page traces and their detection.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::{MAGIC, first_line, oracle_general};
use crate::memory;
use crate::nearest::nearest;
use crate::trace::TraceError;
use crate::trace::format::describe;

/// Format of a trace from which pages can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// nandram's page trace.
    Nandram,
    /// One decimal page number per line.
    Text,
    /// libCacheSim's `oracleGeneral`, where each object is a page.
    OracleGeneral,
    /// A trace of addresses; the page is the address divided by the page size.
    Memory(memory::Format),
}

const NAMES: [(Format, &str); 9] = [
    (Format::Nandram, "nandram-pages"),
    (Format::Text, "text"),
    (Format::OracleGeneral, "oracleGeneral"),
    (Format::Memory(memory::Format::Nandram), "nandram-memory"),
    (Format::Memory(memory::Format::Lackey), "lackey"),
    (Format::Memory(memory::Format::Ramulator), "ramulator"),
    (Format::Memory(memory::Format::Dram), "dram"),
    (Format::Memory(memory::Format::Dramsys), "dramsys"),
    (Format::Memory(memory::Format::ScaleSim), "scalesim"),
];

fn names() -> String {
    NAMES.map(|(_, name)| name).join(", ")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = NAMES.iter().find(|(format, _)| format == self).expect("every format has a name");
        f.pad(name)
    }
}

impl FromStr for Format {
    type Err = TraceError;

    /// # Errors
    /// [`TraceError::UnknownFormat`] with the nearest valid name.
    fn from_str(text: &str) -> Result<Format, TraceError> {
        match NAMES.iter().find(|(_, name)| *name == text) {
            Some((format, _)) => Ok(*format),
            None => {
                let nearest = nearest(text, NAMES.map(|(_, name)| name));
                Err(TraceError::UnknownFormat { found: text.to_owned(), expected: names(), nearest })
            }
        }
    }
}

impl Format {
    /// Detects the format of a trace from `head` (its first kilobytes after decompression): by content, or for
    /// `oracleGeneral` by the file's name.
    ///
    /// # Errors
    /// [`TraceError::Undetected`] with a description of the content.
    pub fn detect(path: &Path, head: &[u8]) -> Result<Format, TraceError> {
        let line = first_line(head).unwrap_or_default();
        if line == MAGIC.as_bytes() {
            return Ok(Format::Nandram);
        }
        if let Some(format) = memory::Format::detect(head) {
            return Ok(Format::Memory(format));
        }
        if !line.is_empty() && line.iter().all(u8::is_ascii_digit) {
            return Ok(Format::Text);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if name.contains("oraclegeneral") || oracle_general::is_one(head) {
            return Ok(Format::OracleGeneral);
        }
        Err(TraceError::Undetected { file: path.display().to_string(), saw: describe(head), expected: names() })
    }
}
