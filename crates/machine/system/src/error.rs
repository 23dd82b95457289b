//! Errors of system files, each in one line.

use std::fmt;
use std::sync::Arc;

/// Position of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// Name given by the user, or by the file that extends it.
        name: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
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

/// Error in a system. The message is one line: the position, the key, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemError {
    /// Neither a file nor a preset has this name.
    #[error("no system \"{name}\": neither a file nor a preset, the nearest preset is \"{nearest}\"")]
    Unknown {
        /// The requested name.
        name: String,
        /// The preset with the most similar name.
        nearest: String,
    },
    /// The file cannot be read.
    #[error("{path}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The operating system's error.
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
        /// The position.
        place: Place,
        /// The TOML parser's message.
        why: String,
    },
    /// The key does not exist.
    #[error("{place}: unknown key \"{key}\", the nearest is \"{nearest}\"")]
    UnknownKey {
        /// The position.
        place: Place,
        /// The key found.
        key: String,
        /// The key with the most similar name.
        nearest: String,
    },
    /// The key exists, but its value is invalid: wrong type, no unit, out of range, or an unknown word.
    #[error("{place}: {key}: {why}")]
    Value {
        /// The position.
        place: Place,
        /// The key.
        key: String,
        /// The value found, and a description of valid values.
        why: String,
    },
    /// Values that are valid individually, but not in combination.
    #[error("{place}: {why}")]
    Conflict {
        /// Position of the last of them.
        place: Place,
        /// The keys, and what was expected.
        why: String,
    },
    /// A `--set` without a `=`.
    #[error("--set {text}: found no \"=\", expected key=value such as flash.channels=8")]
    NotSet {
        /// The option's text.
        text: String,
    },
}

impl SystemError {
    pub(crate) fn value(place: &Place, key: &str, why: impl AsRef<str>) -> SystemError {
        SystemError::Value { place: place.clone(), key: one_line(key), why: one_line(why.as_ref()) }
    }
}

/// Maximum number of characters of user text in a message.
const SHOWN: usize = 400;

/// Escapes characters that would break the line, as in a TOML string, and truncates long text.
pub(crate) fn one_line(text: &str) -> String {
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
