//! Evaluates many configurations: in one pass where the policy permits it, otherwise on all cores.

mod stack_distance;
mod thresholds;

pub use stack_distance::StackDistances;
pub use thresholds::thresholds;

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory::Counts;
use crate::policy::Reading;

/// Returns the number of cores of this machine, or 1 if unknown.
pub fn cores() -> NonZero<usize> {
    std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Runs `job(0)`, `job(1)`, … `job(jobs - 1)` on `threads` threads, each taking the next free job. Returns the results
/// in job order, independent of the threads.
///
/// # Panics
/// If a job panics.
pub fn parallel<T: Send>(jobs: usize, threads: NonZero<usize>, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..jobs).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(jobs) {
            scope.spawn(|| {
                loop {
                    // Only the number matters; the mutex and the join synchronize the results.
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= jobs {
                        break;
                    }
                    let result = job(number);
                    *results[number].lock().expect("no other thread takes this job") = Some(result);
                }
            });
        }
    });
    let done = results.into_iter().map(|result| result.into_inner().expect("a job that panics ends the scope"));
    done.map(|result| result.expect("every job was done")).collect()
}

/// One point of a PM-XIP sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// SRAM size in pages.
    pub frames: u32,
    /// Window in requests.
    pub window: u32,
    /// Threshold in occurrences.
    pub threshold: u32,
    /// Operation counts.
    pub counts: Counts,
}

/// Evaluates PM-XIP on one trace of pages `0..pages` for each of `frames`, each of `windows`, and every threshold from
/// 0 to the window. The points are sorted by frames, window and threshold.
///
/// # Panics
/// See [`thresholds`].
pub fn windows(
    pages: u32,
    trace: &[u32],
    frames: &[u32],
    buffers: u32,
    windows: &[u32],
    reading: Reading,
    threads: NonZero<usize>,
) -> Vec<Point> {
    // The largest windows have the most thresholds. They run first, so that no thread starts one at the end.
    let mut jobs: Vec<(u32, u32)> = frames.iter().flat_map(|&f| windows.iter().map(move |&w| (f, w))).collect();
    jobs.sort_by_key(|&(frames, window)| (std::cmp::Reverse(window), frames));
    let counts = parallel(jobs.len(), threads, |number| {
        let (frames, window) = jobs[number];
        thresholds(pages, trace, frames, buffers, window, reading)
    });
    let mut points: Vec<Point> = jobs
        .iter()
        .zip(counts)
        .flat_map(|(&(frames, window), counts)| {
            (0..).zip(counts).map(move |(threshold, counts)| Point { frames, window, threshold, counts })
        })
        .collect();
    points.sort_by_key(|point| (point.frames, point.window, point.threshold));
    points
}
