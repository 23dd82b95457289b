//! Sweeps PM-XIP over all thresholds of many windows.

use std::path::Path;

use pager::policy::Reading;
use pager::sweep::{Point, cores, windows};
use pager::{Counts, Numbering};

use super::{PagingError, Requests, frames};

/// The parameters of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// SRAM sizes in bytes.
    pub sram_bytes: Vec<u64>,
    /// Number of buffers.
    pub buffers: u32,
    /// Windows in requests.
    pub windows: Vec<u32>,
    /// Interpretation of PM-XIP.
    pub reading: Reading,
    /// Maximum number of requests to read from the trace.
    pub requests_max: Option<u64>,
}

/// The result of a sweep over one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Number of distinct pages.
    pub pages: u32,
    /// Number of requests.
    pub requests: u64,
    /// Points by SRAM size, then by window, then by threshold from 0 to the window.
    pub points: Vec<Point>,
    /// LRU counts at each SRAM size.
    pub lru: Vec<Counts>,
}

/// Evaluates every threshold from 0 to the window, for each window at each SRAM size, and LRU for comparison, on all
/// cores. Keeps the trace in memory, four bytes per request.
///
/// # Errors
/// If the trace cannot be read or is empty, or an SRAM size is not a multiple of the page size.
///
/// # Panics
/// If there are no buffers, or a window is zero.
pub fn sweep(path: &Path, sweep: &Sweep) -> Result<Swept, PagingError> {
    let mut reader = Requests::open(path, sweep.requests_max)?;
    let page_bytes = reader.page_bytes();
    let frames = frames(path, page_bytes, &sweep.sram_bytes)?;
    let (mut numbering, mut chunk, mut trace) = (Numbering::new(), Vec::new(), Vec::new());
    loop {
        reader.next_chunk(&mut chunk)?;
        if chunk.is_empty() {
            break;
        }
        numbering.number_all(&chunk, &mut trace);
    }
    if trace.is_empty() {
        return Err(PagingError::Empty { file: path.display().to_string() });
    }
    let pages = numbering.pages();
    let points = windows(pages, &trace, &frames, sweep.buffers, &sweep.windows, sweep.reading, cores());
    let mut distances = pager::sweep::StackDistances::new(pages);
    trace.iter().for_each(|&page| distances.request(page));
    let misses = distances.misses();
    let requests = trace.len() as u64;
    let lru =
        frames.iter().map(|&frames| Counts::conventional(requests, misses[(frames as usize).min(misses.len() - 1)]));
    Ok(Swept { page_bytes, pages, requests, points, lru: lru.collect() })
}
