//! What can be wrong with a system file, each in one line.

use std::fmt;
use std::sync::Arc;

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// As it was named by the user, or by the file that extends it.
        name: Arc<str>,
        /// Counted from 1.
        line: u32,
        /// In characters, counted from 1.
        column: u32,
    },
    /// On the command line.
    Set {
        /// `key=value`
        text: Arc<str>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Place::Set { text } => write!(f, "--set {text}"),
        }
    }
}

/// Why there is no such system. The message is one line: where, which key, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemError {
    /// Neither a file nor a preset has this name.
    #[error("no system \"{name}\": neither a file nor a preset, the nearest preset is \"{nearest}\"")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The preset whose name is most like it.
        nearest: String,
    },
    /// The file cannot be read.
    #[error("{path}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the operating system says.
        why: String,
    },
    /// The file sets nothing.
    #[error("{path}: found no key, expected at least one, such as extends = \"nvme-client-tlc\"")]
    Empty {
        /// The file.
        path: String,
    },
    /// The text is not TOML.
    #[error("{place}: not TOML: {why}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the TOML parser says.
        why: String,
    },
    /// There is no such key.
    #[error("{place}: unknown key \"{key}\", the nearest is \"{nearest}\"")]
    UnknownKey {
        /// Where.
        place: Place,
        /// What was found.
        key: String,
        /// The key whose name is most like it.
        nearest: String,
    },
    /// The key exists; its value is not one for it: wrong type, no unit, out of range, an unknown word.
    #[error("{place}: {key}: {why}")]
    Value {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// What was found, what was expected.
        why: String,
    },
    /// Each value is fine and together they are not.
    #[error("{place}: {why}")]
    Conflict {
        /// Where the last of them was set.
        place: Place,
        /// Which keys, and what was expected.
        why: String,
    },
    /// A `--set` that is not `key=value`.
    #[error("--set {text}: found no \"=\", expected key=value such as flash.channels=8")]
    NotSet {
        /// What was given.
        text: String,
    },
}

impl SystemError {
    pub(super) fn value(place: &Place, key: &str, why: impl AsRef<str>) -> SystemError {
        SystemError::Value { place: place.clone(), key: one_line(key), why: one_line(why.as_ref()) }
    }
}

/// Characters of a user's text that a message repeats.
const SHOWN: usize = 400;

/// `text` with what would break its line written as in a string of TOML, and the end of a long one left out.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(SHOWN));
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN {
            line.push_str("...");
            break;
        }
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}
