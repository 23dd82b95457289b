//! Errors of job files.

/// Error in a job file: the file, the line, and a message with the key, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct JobFileError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Description of the error, in one line.
    pub message: String,
}
