//! Demand paging: page traces through policies, and through a OneNAND device in virtual time.

pub mod compare;
pub mod onenand;
pub mod run;
pub mod sweep;

use std::path::Path;

use workload::pages::{Options, Reader};
use workload::trace::TraceError;

/// Why page traces were not evaluated.
#[derive(Debug, thiserror::Error)]
pub enum PagingError {
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace without a request.
    #[error("{file}: found no request")]
    Empty {
        /// The trace.
        file: String,
    },
    /// An SRAM that is not made of pages.
    #[error("sram: found {found} bytes, expected a multiple of the pages of {file} ({page_bytes} bytes), not zero")]
    Sram {
        /// In bytes.
        found: u64,
        /// The trace.
        file: String,
        /// Of its pages.
        page_bytes: u32,
    },
    /// A trace of other pages than the machine's.
    #[error("{file}: found pages of {found} bytes, expected {expected} bytes (flash.page)")]
    Page {
        /// The trace.
        file: String,
        /// Bytes of its pages.
        found: u32,
        /// Bytes of the machine's.
        expected: u64,
    },
    /// A program that is larger than the flash.
    #[error("{file}: found {found} different pages, expected at most the {room} of the flash")]
    Room {
        /// The trace.
        file: String,
        /// Its pages.
        found: u32,
        /// Those of the flash.
        room: u64,
    },
    /// What MIN needs of the trace could not be kept beside it.
    #[error("{folder}: cannot keep what MIN needs to know: {error}")]
    Kept {
        /// Folder for temporary files.
        folder: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Whoever watched asked for the end.
    #[error("interrupted")]
    Interrupted,
}

/// The first requests of a page trace, or all.
pub struct Requests {
    reader: Reader,
    left: u64,
}

impl Requests {
    /// Opens a trace, of which at most so many requests are wanted.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path, most: Option<u64>) -> Result<Requests, PagingError> {
        Ok(Requests { reader: Reader::open(path, &Options::default())?, left: most.unwrap_or(u64::MAX) })
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.reader.page_bytes()
    }

    /// Replaces `chunk` by the next requests' pages; empty where no more are there, or wanted.
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

/// SRAM sizes as frames of a trace's pages.
///
/// # Errors
/// If one is no multiple of a page, or zero.
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
