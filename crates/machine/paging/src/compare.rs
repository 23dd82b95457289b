//! Compares policies on a page trace at several SRAM sizes, in memory independent of the length of the trace.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::path::Path;
use std::sync::Mutex;

use pager::future::{Foreseeing, write_ahead};
use pager::policy::{Min, Name, Online, Reading, serve};
use pager::sweep::{StackDistances, cores, parallel};
use pager::{Counts, Numbering, Policy, Weights, bound};

use super::{PagingError, Requests, frames};

/// Number of requests served at a time: enough to make starting threads worthwhile.
const BATCH: usize = 1 << 19;

/// Maximum length, in requests, of a trace whose lower bound is computed: the bound takes 150 bytes per run of a page.
pub const BOUND_REQUESTS_MAX: u64 = 1 << 22;

/// The parameters of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// The policies.
    pub policies: Vec<Name>,
    /// SRAM sizes in bytes.
    pub sram_bytes: Vec<u64>,
    /// Number of buffers.
    pub buffers: u32,
    /// Interpretation of PM-XIP.
    pub reading: Reading,
    /// Time of each operation: minimized by rent-or-buy, and the unit of the first bound.
    pub time: Weights,
    /// Energy of each operation: the unit of the second bound.
    pub energy: Weights,
    /// Rounds of the bounds; 0 for no bounds.
    pub bound_rounds: u32,
    /// Maximum number of requests to read from the trace.
    pub requests_max: Option<u64>,
}

/// The counts of a policy at an SRAM size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The policy.
    pub policy: Name,
    /// SRAM size in bytes.
    pub sram_bytes: u64,
    /// Operation counts.
    pub counts: Counts,
}

/// Lower bounds on the cost of any schedule at an SRAM size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// SRAM size in bytes.
    pub sram_bytes: u64,
    /// Time bound in picoseconds.
    pub time_ps: u64,
    /// Energy bound in picojoules.
    pub energy_pj: u64,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Number of requests.
    pub requests: u64,
    /// Number of distinct pages.
    pub pages: u32,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Results by SRAM size, then in the order of the policies.
    pub served: Vec<Served>,
    /// Bounds by SRAM size; empty if not requested, or if the trace is longer than [`BOUND_REQUESTS_MAX`].
    pub bounds: Vec<Bounds>,
}

/// Serves a page trace with every policy at every SRAM size. `watch` receives the number of requests served so far and
/// returns whether to continue.
///
/// Online policies process the trace once; LRU is derived at all sizes from stack distances. MIN processes the trace
/// twice and stores what it needs in the folder for temporary files, eight bytes per request.
///
/// # Errors
/// If the trace cannot be read or is empty, an SRAM size is not a multiple of the page size, or there is no space for
/// the temporary files.
///
/// # Panics
/// If `options` has no buffers, policies or sizes.
pub fn compare(path: &Path, options: &Options, watch: &mut dyn FnMut(u64) -> bool) -> Result<Comparison, PagingError> {
    let mut reader = Requests::open(path, options.requests_max)?;
    let page_bytes = reader.page_bytes();
    let frames = frames(path, page_bytes, &options.sram_bytes)?;
    let mut all = OnlinePolicies::new(options, &frames);
    let mut stored = if options.policies.contains(&Name::Min) { Some(StoredTrace::new()?) } else { None };
    let mut whole = (options.bound_rounds > 0).then(Vec::new);
    let (mut numbering, mut chunk, mut batch) = (Numbering::new(), Vec::new(), Vec::new());
    let mut requests = 0;
    loop {
        reader.next_chunk(&mut chunk)?;
        numbering.number_all(&chunk, &mut batch);
        if batch.len() < BATCH && !chunk.is_empty() {
            continue;
        }
        if batch.is_empty() {
            break;
        }
        requests += batch.len() as u64;
        all.serve(numbering.pages(), &batch);
        if let Some(stored) = &mut stored {
            stored.append(&batch)?;
        }
        if requests > BOUND_REQUESTS_MAX {
            whole = None;
        }
        if let Some(whole) = &mut whole {
            whole.extend_from_slice(&batch);
        }
        batch.clear();
        if !watch(requests) {
            return Err(PagingError::Interrupted);
        }
    }
    let pages = numbering.pages();
    if requests == 0 {
        return Err(PagingError::Empty { file: path.display().to_string() });
    }
    let min = match stored {
        Some(stored) => stored.min(pages, &frames, requests, watch)?,
        None => Vec::new(),
    };
    let served = all.served(options, &frames, &min);
    let bounds = whole.map_or_else(Vec::new, |whole| bounds(pages, &whole, options, &frames, &served));
    Ok(Comparison { requests, pages, page_bytes, served, bounds })
}

/// All online policies at all sizes.
struct OnlinePolicies {
    /// By size, then in the order of the online policies other than LRU.
    online: Vec<Mutex<(Online, Counts)>>,
    lru: Option<StackDistances>,
}

impl OnlinePolicies {
    fn new(options: &Options, frames: &[u32]) -> OnlinePolicies {
        let online = frames.iter().flat_map(|&frames| {
            let names = options.policies.iter().filter(|&&name| name != Name::Lru);
            names.filter_map(move |&name| Online::new(name, frames, options.buffers, options.reading, &options.time))
        });
        OnlinePolicies {
            online: online.map(|policy| Mutex::new((policy, Counts::default()))).collect(),
            lru: options.policies.contains(&Name::Lru).then(|| StackDistances::new(0)),
        }
    }

    fn serve(&mut self, pages: u32, batch: &[u32]) {
        if let Some(distances) = &mut self.lru {
            distances.grow(pages);
            batch.iter().for_each(|&page| distances.request(page));
        }
        parallel(self.online.len(), cores(), |number| {
            let (policy, counts) = &mut *self.online[number].lock().expect("each policy is one job");
            policy.grow(pages);
            policy.serve(batch, counts);
        });
    }

    fn served(self, options: &Options, frames: &[u32], min: &[Counts]) -> Vec<Served> {
        let lru = self.lru.map(|distances| (distances.misses(), distances.requests()));
        let mut online = self.online.into_iter().map(|both| both.into_inner().expect("no job panicked").1);
        let mut served = Vec::new();
        for (size, (&frames, &sram_bytes)) in frames.iter().zip(&options.sram_bytes).enumerate() {
            for &policy in &options.policies {
                let counts = match (policy, &lru) {
                    (Name::Lru, Some((misses, requests))) => {
                        Counts::conventional(*requests, misses[(frames as usize).min(misses.len() - 1)])
                    }
                    (Name::Min, _) => min[size],
                    _ => online.next().expect("one entry per size and policy"),
                };
                served.push(Served { policy, sram_bytes, counts });
            }
        }
        served
    }
}

fn bounds(pages: u32, whole: &[u32], options: &Options, frames: &[u32], served: &[Served]) -> Vec<Bounds> {
    let mut found = parallel(2 * frames.len(), cores(), |job| {
        let size = job / 2;
        let weights = if job % 2 == 0 { &options.time } else { &options.energy };
        let here = served.iter().filter(|each| each.sram_bytes == options.sram_bytes[size]);
        let known = here.map(|each| weights.total(&each.counts)).min().expect("there are policies");
        bound::lower_bound(pages, whole, frames[size], options.buffers, weights, known, options.bound_rounds)
    });
    tighten(frames, &mut found);
    let pairs = options.sram_bytes.iter().zip(found.chunks_exact(2));
    pairs.map(|(&sram_bytes, two)| Bounds { sram_bytes, time_ps: two[0], energy_pj: two[1] }).collect()
}

/// Raises each pair of bounds to the maximum over all larger sizes: more frames never cost more, so a bound for a
/// larger size also holds for smaller ones.
fn tighten(frames: &[u32], bounds: &mut [u64]) {
    let mut by_size: Vec<usize> = (0..frames.len()).collect();
    by_size.sort_by_key(|&size| std::cmp::Reverse(frames[size]));
    for pair in by_size.windows(2) {
        for weights in 0..2 {
            bounds[2 * pair[1] + weights] = bounds[2 * pair[1] + weights].max(bounds[2 * pair[0] + weights]);
        }
    }
}

/// The numbered trace in an unlinked temporary file, which disappears with the process.
struct StoredTrace {
    trace: BufWriter<File>,
}

fn temporary_file() -> Result<File, PagingError> {
    let folder = std::env::temp_dir();
    let stored = |error| PagingError::Temporary { folder: folder.display().to_string(), error };
    for number in 0..u32::MAX {
        let path = folder.join(format!("nandram-{}-{number}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path).map_err(stored)?;
                return Ok(file);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(stored(error)),
        }
    }
    unreachable!("2^32 temporary files of this process")
}

fn failed(error: std::io::Error) -> PagingError {
    PagingError::Temporary { folder: std::env::temp_dir().display().to_string(), error }
}

impl StoredTrace {
    fn new() -> Result<StoredTrace, PagingError> {
        Ok(StoredTrace { trace: BufWriter::with_capacity(1 << 20, temporary_file()?) })
    }

    fn append(&mut self, batch: &[u32]) -> Result<(), PagingError> {
        batch.iter().try_for_each(|page| self.trace.write_all(&page.to_le_bytes())).map_err(failed)
    }

    /// Computes the counts of MIN at each size.
    fn min(
        self,
        pages: u32,
        frames: &[u32],
        requests: u64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Vec<Counts>, PagingError> {
        let mut trace = self.trace.into_inner().map_err(|error| failed(error.into_error()))?;
        let mut ahead = temporary_file()?;
        write_ahead(pages, &mut trace, &mut ahead).map_err(failed)?;
        trace.rewind().and_then(|()| ahead.rewind()).map_err(failed)?;
        let mut foreseeing = Foreseeing::new(trace, ahead);
        let policies: Vec<Mutex<(Min, Counts)>> = frames
            .iter()
            .map(|&frames| {
                let mut min = Min::new(frames);
                min.grow(pages);
                Mutex::new((min, Counts::default()))
            })
            .collect();
        let mut chunk = Vec::new();
        loop {
            foreseeing.next_chunk(&mut chunk).map_err(failed)?;
            if chunk.is_empty() {
                break;
            }
            parallel(policies.len(), cores(), |number| {
                let (policy, counts) = &mut *policies[number].lock().expect("each policy is one job");
                serve(policy, &chunk, counts);
            });
            if !watch(requests) {
                return Err(PagingError::Interrupted);
            }
        }
        Ok(policies.into_iter().map(|both| both.into_inner().expect("no job panicked").1).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_the_maximum_over_all_larger_sizes() {
        let frames = [8, 2, 32, 16, 4];
        let found = [70, 7, 100, 9, 60, 8, 80, 5, 75, 6];
        let mut bounds = found;
        tighten(&frames, &mut bounds);
        for (size, &here) in frames.iter().enumerate() {
            for weights in 0..2 {
                let larger = (0..5).filter(|&other| frames[other] >= here).map(|other| found[2 * other + weights]);
                assert_eq!(Some(bounds[2 * size + weights]), larger.max(), "{here} frames");
            }
        }
    }
}
