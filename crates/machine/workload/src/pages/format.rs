//! Which format a trace of pages is in.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::{MAGIC, first_line, oracle_general};
use crate::memory;
use crate::nearest::nearest;
use crate::trace::TraceError;
use crate::trace::format::describe;

/// The format of a trace that pages can be read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Ours.
    Nandram,
    /// A page number a line, decimal.
    Text,
    /// libCacheSim's `oracleGeneral`: an object is a page.
    OracleGeneral,
    /// Of addresses: the page is the address divided by the page's size.
    Memory(memory::Format),
}

const NAMES: [(Format, &str); 7] = [
    (Format::Nandram, "nandram-pages"),
    (Format::Text, "text"),
    (Format::OracleGeneral, "oracleGeneral"),
    (Format::Memory(memory::Format::Nandram), "nandram-memory"),
    (Format::Memory(memory::Format::Lackey), "lackey"),
    (Format::Memory(memory::Format::Ramulator), "ramulator"),
    (Format::Memory(memory::Format::Dram), "dram"),
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
    /// [`TraceError::UnknownFormat`], which names the nearest.
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
    /// The format of a trace that begins with `head` (its first kilobytes, undone from compression): what the content
    /// says, or for `oracleGeneral` the name.
    ///
    /// # Errors
    /// [`TraceError::Undetected`], which says what the content looks like.
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
