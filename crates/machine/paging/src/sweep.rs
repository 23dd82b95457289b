//! PM-XIP at every threshold of many windows.

use std::path::Path;

use pager::policy::Reading;
use pager::sweep::{Point, cores, windows};
use pager::{Counts, Numbering};

use super::{PagingError, Requests, frames};

/// What is swept.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// SRAM sizes, in bytes.
    pub sram_bytes: Vec<u64>,
    /// Buffers.
    pub buffers: u32,
    /// Windows, in requests.
    pub windows: Vec<u32>,
    /// How PM-XIP is read.
    pub reading: Reading,
    /// Of the trace, at most the first so many requests.
    pub requests_max: Option<u64>,
}

/// A sweep over one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Different pages.
    pub pages: u32,
    /// Requests.
    pub requests: u64,
    /// By SRAM size, then by window, then by threshold from 0 to the window.
    pub points: Vec<Point>,
    /// LRU at each SRAM size.
    pub lru: Vec<Counts>,
}

/// Every threshold from 0 to the window, of each window at each SRAM size, and LRU beside them; on all cores. The trace is
/// held in memory, four bytes a request.
///
/// # Errors
/// If the trace cannot be read or is empty, or an SRAM is not made of its pages.
///
/// # Panics
/// If there is no buffer, or a window of no request.
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
