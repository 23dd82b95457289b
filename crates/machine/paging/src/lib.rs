//! Demand paging: evaluates page traces with policies, and on a OneNAND device in virtual time.

pub mod compare;
pub mod onenand;
pub mod run;
pub mod sweep;

use std::path::Path;

use workload::pages::{Options, Reader};
use workload::trace::TraceError;

/// Error in the evaluation of a page trace.
#[derive(Debug, thiserror::Error)]
pub enum PagingError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace has no requests.
    #[error("{file}: found no requests, expected at least one")]
    Empty {
        /// The trace.
        file: String,
    },
    /// The SRAM size is not a positive multiple of the page size.
    #[error("sram: found {found} bytes, expected a positive multiple of the page size of {file} ({page_bytes} bytes)")]
    Sram {
        /// SRAM size in bytes.
        found: u64,
        /// The trace.
        file: String,
        /// Page size of the trace in bytes.
        page_bytes: u32,
    },
    /// The page size of the trace differs from that of the machine.
    #[error("{file}: found pages of {found} bytes, expected {expected} bytes (flash.page)")]
    Page {
        /// The trace.
        file: String,
        /// Page size of the trace in bytes.
        found: u32,
        /// Page size of the machine in bytes.
        expected: u64,
    },
    /// The program is larger than the flash.
    #[error("{file}: found {found} distinct pages, expected at most the {room} pages of the flash")]
    Room {
        /// The trace.
        file: String,
        /// Number of distinct pages of the trace.
        found: u32,
        /// Number of pages of the flash.
        room: u64,
    },
    /// The temporary files of MIN could not be written.
    #[error("{folder}: cannot write the temporary files of MIN: {error}")]
    Temporary {
        /// Folder for temporary files.
        folder: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The caller's watch function ended the evaluation.
    #[error("interrupted")]
    Interrupted,
}

/// A reader of all or the first requests of a page trace.
pub struct Requests {
    reader: Reader,
    left: u64,
}

impl Requests {
    /// Opens a trace to read at most `most` requests.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn open(path: &Path, most: Option<u64>) -> Result<Requests, PagingError> {
        Ok(Requests { reader: Reader::open(path, &Options::default())?, left: most.unwrap_or(u64::MAX) })
    }

    /// Returns the page size in bytes.
    pub fn page_bytes(&self) -> u32 {
        self.reader.page_bytes()
    }

    /// Replaces `chunk` with the pages of the next requests; empty at the end or once the limit is reached.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn next_chunk(&mut self, chunk: &mut Vec<u64>) -> Result<(), PagingError> {
        chunk.clear();
        if self.left > 0 {
            self.reader.next_chunk(chunk)?;
            chunk.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.left -= chunk.len() as u64;
        }
        Ok(())
    }
}

/// Converts SRAM sizes to numbers of page frames.
///
/// # Errors
/// If a size is not a positive multiple of the page size.
pub fn frames(path: &Path, page_bytes: u32, sram_bytes: &[u64]) -> Result<Vec<u32>, PagingError> {
    let each = sram_bytes.iter().map(|&bytes| {
        let frames = bytes / u64::from(page_bytes);
        let whole = bytes.is_multiple_of(u64::from(page_bytes)) && frames > 0;
        let frames = u32::try_from(frames).ok().filter(|_| whole);
        let file = path.display().to_string();
        frames.ok_or(PagingError::Sram { found: bytes, file, page_bytes })
    });
    each.collect()
}
