//! Reasons why a store cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Reasons why a file cannot hold a drive's flash. Each message names the file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened, read or written.
    #[error("store {}: {doing}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The failed action.
        doing: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// Another process uses it.
    #[error("store {}: in use by another process", .0.display())]
    Locked(PathBuf),
    /// It is something else.
    #[error("store {}: found {found}, expected the store of a drive or no file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The value found.
        found: String,
    },
    /// It belongs to another system.
    #[error("store {}: found the flash of {found}, expected that of {expected}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// Title and hash of the file's system.
        found: String,
        /// Title and hash of the system to be served.
        expected: String,
    },
    /// It contradicts itself.
    #[error("store {}: damaged: {what} at byte {offset}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damaged part.
        what: String,
        /// Its place.
        offset: u64,
    },
    /// It holds contents that no drive of its system leaves.
    #[error("store {}: found {what}, expected what a drive of its system leaves", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// The contents.
        what: String,
    },
    /// The drive cannot be created.
    #[error(transparent)]
    Drive(#[from] guest::DriveError),
}

impl StoreError {
    /// Returns a function that wraps an error of the operating system.
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        move |error| StoreError::Io { path: path.to_owned(), doing, error }
    }
}
