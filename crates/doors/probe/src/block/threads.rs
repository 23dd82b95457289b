//! Several outstanding requests without io_uring: one thread per outstanding request.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;

use media::Op;

use super::buffers::stamp;
use super::engine::{Batch, Unfinished, has_data, length, make, since};
use crate::Timed;

/// Runs a batch. The clock starts when all threads are ready.
pub(crate) fn run(batch: &mut Batch<'_>) -> Result<(), Unfinished> {
    let (requests, file, stop) = (batch.requests, batch.file, batch.stop);
    let workers = (batch.depth as usize).min(requests.len());
    let longest = requests.iter().filter(|request| has_data(request)).map(|request| length(request.bytes)).max();
    let longest = longest.unwrap_or(0);
    // Stamps depend on the index of the request, so that no two threads write the same data.
    let stamps: Vec<u64> = requests.iter().map(|request| batch.buffers.stamps(length(request.bytes))).collect();
    let (next, ending) = (AtomicUsize::new(0), AtomicBool::new(false));
    let ready = Barrier::new(workers);
    let start: Mutex<Option<Instant>> = Mutex::new(None);
    let work = |buffer: &mut [u8]| -> (Vec<(usize, Timed)>, Option<Unfinished>) {
        let mut done = Vec::with_capacity(requests.len());
        ready.wait();
        let start = *start.lock().expect("no thread panics here").get_or_insert_with(Instant::now);
        loop {
            if stop.load(Ordering::Relaxed) {
                return (done, Some(Unfinished::Interrupted));
            }
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= requests.len() || ending.load(Ordering::Relaxed) {
                return (done, None);
            }
            let request = &requests[index];
            let buffer = &mut buffer[..if has_data(request) { length(request.bytes) } else { 0 }];
            if request.op == Op::Write {
                stamp(buffer, stamps[index]);
            }
            let submitted = since(start);
            let made = make(file, request, buffer);
            done.push((index, Timed { submitted, ended: since(start) }));
            if let Err(error) = made {
                ending.store(true, Ordering::Relaxed);
                return (done, Some(Unfinished::Failed(index, error)));
            }
        }
    };
    let buffers: Vec<&mut [u8]> = batch.buffers.all(longest).take(workers).collect();
    let work = &work;
    let ended: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = buffers.into_iter().map(|buffer| scope.spawn(move || work(buffer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that makes requests does not panic")).collect()
    });
    let mut unfinished = None;
    for (done, why) in ended {
        done.into_iter().for_each(|(index, timed)| batch.timed[index] = timed);
        unfinished = match (unfinished, why) {
            // Report the failure with the lowest index, on whichever thread; a failure takes precedence over an
            // interruption.
            (Some(Unfinished::Failed(a, e)), Some(Unfinished::Failed(b, f))) => {
                Some(if a < b { Unfinished::Failed(a, e) } else { Unfinished::Failed(b, f) })
            }
            (Some(Unfinished::Failed(a, e)), _) => Some(Unfinished::Failed(a, e)),
            (before, None) => before,
            (_, why) => why,
        };
    }
    unfinished.map_or(Ok(()), Err)
}
