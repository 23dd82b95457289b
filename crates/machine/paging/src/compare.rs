//! Policies side by side on a page trace, at several SRAM sizes, in memory that does not grow with the trace.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::path::Path;
use std::sync::Mutex;

use pager::future::{Foreseeing, write_ahead};
use pager::policy::{Min, Name, Online, Reading, serve};
use pager::sweep::{StackDistances, cores, parallel};
use pager::{Counts, Numbering, Policy, Weights, bound};

use super::{PagingError, Requests, frames};

/// Requests that are served at a time: enough that threads are worth their start.
const BATCH: usize = 1 << 19;

/// Longest trace whose lower bound is looked for, in requests: the bound takes 150 bytes for each run of a page.
pub const BOUND_REQUESTS_MAX: u64 = 1 << 22;

/// What is to be known of a trace.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which policies.
    pub policies: Vec<Name>,
    /// With how much SRAM, in bytes.
    pub sram_bytes: Vec<u64>,
    /// With how many buffers.
    pub buffers: u32,
    /// How PM-XIP is read.
    pub reading: Reading,
    /// What each of the four things costs in time: what rent-or-buy keeps low, and the first bound.
    pub time: Weights,
    /// And in energy: the second bound.
    pub energy: Weights,
    /// Rounds of the bounds; 0 for none.
    pub bound_rounds: u32,
    /// Of the trace, at most the first so many requests.
    pub requests_max: Option<u64>,
}

/// A policy at an SRAM size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The policy.
    pub policy: Name,
    /// SRAM, in bytes.
    pub sram_bytes: u64,
    /// What it did.
    pub counts: Counts,
}

/// What no schedule can beat at an SRAM size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// SRAM, in bytes.
    pub sram_bytes: u64,
    /// In picoseconds.
    pub time_ps: u64,
    /// In picojoules.
    pub energy_pj: u64,
}

/// What is known of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Requests of the trace.
    pub requests: u64,
    /// Different pages.
    pub pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// By SRAM size, then in the order of the policies.
    pub served: Vec<Served>,
    /// By SRAM size; empty if none were asked for, or the trace is longer than [`BOUND_REQUESTS_MAX`].
    pub bounds: Vec<Bounds>,
}

/// Serves the trace of a file with every policy at every SRAM size. `watch` is told the requests served so far, and says
/// whether to go on.
///
/// On-line policies see the trace once; LRU is known at all sizes from its stack distances. MIN sees it twice: what it
/// must know is kept in the folder for temporary files meanwhile, eight bytes a request.
///
/// # Errors
/// If the trace cannot be read or is empty, an SRAM is not made of its pages, or there is no room for what MIN needs.
///
/// # Panics
/// If there are no buffers, policies or sizes.
pub fn compare(
    path: &Path,
    question: &Question,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Comparison, PagingError> {
    let mut reader = Requests::open(path, question.requests_max)?;
    let page_bytes = reader.page_bytes();
    let frames = frames(path, page_bytes, &question.sram_bytes)?;
    let mut all = Everyone::new(question, &frames);
    let mut kept = if question.policies.contains(&Name::Min) { Some(Kept::new()?) } else { None };
    let mut whole = (question.bound_rounds > 0).then(Vec::new);
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
        if let Some(kept) = &mut kept {
            kept.append(&batch)?;
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
    let min = match kept {
        Some(kept) => kept.min(pages, &frames, requests, watch)?,
        None => Vec::new(),
    };
    let served = all.served(question, &frames, &min);
    let bounds = whole.map_or_else(Vec::new, |whole| bounds(pages, &whole, question, &frames, &served));
    Ok(Comparison { requests, pages, page_bytes, served, bounds })
}

/// All on-line policies at all sizes.
struct Everyone {
    /// By size, then in the order of those policies that are on line and not LRU.
    online: Vec<Mutex<(Online, Counts)>>,
    lru: Option<StackDistances>,
}

impl Everyone {
    fn new(question: &Question, frames: &[u32]) -> Everyone {
        let online = frames.iter().flat_map(|&frames| {
            let names = question.policies.iter().filter(|&&name| name != Name::Lru);
            names.filter_map(move |&name| Online::new(name, frames, question.buffers, question.reading, &question.time))
        });
        Everyone {
            online: online.map(|policy| Mutex::new((policy, Counts::default()))).collect(),
            lru: question.policies.contains(&Name::Lru).then(|| StackDistances::new(0)),
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

    fn served(self, question: &Question, frames: &[u32], min: &[Counts]) -> Vec<Served> {
        let lru = self.lru.map(|distances| (distances.misses(), distances.requests()));
        let mut online = self.online.into_iter().map(|both| both.into_inner().expect("no job panicked").1);
        let mut served = Vec::new();
        for (size, (&frames, &sram_bytes)) in frames.iter().zip(&question.sram_bytes).enumerate() {
            for &policy in &question.policies {
                let counts = match (policy, &lru) {
                    (Name::Lru, Some((misses, requests))) => {
                        Counts::conventional(*requests, misses[(frames as usize).min(misses.len() - 1)])
                    }
                    (Name::Min, _) => min[size],
                    _ => online.next().expect("one a size and policy"),
                };
                served.push(Served { policy, sram_bytes, counts });
            }
        }
        served
    }
}

fn bounds(pages: u32, whole: &[u32], question: &Question, frames: &[u32], served: &[Served]) -> Vec<Bounds> {
    let mut found = parallel(2 * frames.len(), cores(), |job| {
        let size = job / 2;
        let weights = if job % 2 == 0 { &question.time } else { &question.energy };
        let here = served.iter().filter(|each| each.sram_bytes == question.sram_bytes[size]);
        let known = here.map(|each| weights.total(&each.counts)).min().expect("there are policies");
        bound::lower_bound(pages, whole, frames[size], question.buffers, weights, known, question.bound_rounds)
    });
    tighten(frames, &mut found);
    let pairs = question.sram_bytes.iter().zip(found.chunks_exact(2));
    pairs.map(|(&sram_bytes, two)| Bounds { sram_bytes, time_ps: two[0], energy_pj: two[1] }).collect()
}

/// Raises each size's pair of bounds to the highest of all larger sizes: more frames never cost more, so that what bounds a
/// larger size bounds the smaller ones too.
fn tighten(frames: &[u32], bounds: &mut [u64]) {
    let mut by_size: Vec<usize> = (0..frames.len()).collect();
    by_size.sort_by_key(|&size| std::cmp::Reverse(frames[size]));
    for pair in by_size.windows(2) {
        for weights in 0..2 {
            bounds[2 * pair[1] + weights] = bounds[2 * pair[1] + weights].max(bounds[2 * pair[0] + weights]);
        }
    }
}

/// The numbered trace in a file that has no name: it is gone with the process.
struct Kept {
    trace: BufWriter<File>,
}

fn nameless() -> Result<File, PagingError> {
    let folder = std::env::temp_dir();
    let kept = |error| PagingError::Kept { folder: folder.display().to_string(), error };
    for number in 0..u32::MAX {
        let path = folder.join(format!("nandram-{}-{number}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path).map_err(kept)?;
                return Ok(file);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(kept(error)),
        }
    }
    unreachable!("a folder with 2^32 of our files")
}

fn failed(error: std::io::Error) -> PagingError {
    PagingError::Kept { folder: std::env::temp_dir().display().to_string(), error }
}

impl Kept {
    fn new() -> Result<Kept, PagingError> {
        Ok(Kept { trace: BufWriter::with_capacity(1 << 20, nameless()?) })
    }

    fn append(&mut self, batch: &[u32]) -> Result<(), PagingError> {
        batch.iter().try_for_each(|page| self.trace.write_all(&page.to_le_bytes())).map_err(failed)
    }

    /// The counts of MIN at each size.
    fn min(
        self,
        pages: u32,
        frames: &[u32],
        requests: u64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Vec<Counts>, PagingError> {
        let mut trace = self.trace.into_inner().map_err(|error| failed(error.into_error()))?;
        let mut ahead = nameless()?;
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
    fn a_bound_is_the_highest_of_all_sizes_as_large() {
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
