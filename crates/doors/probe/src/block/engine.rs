//! Executes block requests on a real target, one at a time or several in parallel.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use media::{Op, Request};
use rustix::io::{ReadWriteFlags, pwritev2};
use sim::Time;

use super::buffers::Buffers;
use super::ring::Ring;
use super::threads;
use crate::Timed;

/// Maximum queue depth. Linux NVMe queues have 1,023 entries and SATA queues 32; no test needs more than this.
pub(crate) const DEPTH_MAX: u32 = 128;

/// The mechanism that keeps several requests outstanding. At depth 1 neither variant is used: the measuring thread makes
/// one system call per request.
#[derive(Debug)]
pub(crate) enum Engine {
    /// With io_uring.
    Ring(Box<Ring>),
    /// With one thread per outstanding request, where io_uring is not permitted. The scheduler adds jitter to start and
    /// end times.
    Threads,
}

/// Reason why a batch did not finish. No request is outstanding any more.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The request with this index failed with this error.
    Failed(usize, io::Error),
    /// The user interrupted the probe.
    Interrupted,
}

impl Engine {
    /// Returns the best engine that this machine permits.
    pub(crate) fn new() -> Engine {
        Ring::new(DEPTH_MAX).map_or(Engine::Threads, |ring| Engine::Ring(Box::new(ring)))
    }

    /// Returns the engine name recorded in results.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Engine::Ring(_) => "io_uring",
            Engine::Threads => "threads",
        }
    }

    /// Runs the requests of `batch` and fills in `batch.timed`. Returns the time of the last completion.
    pub(crate) fn run(&mut self, batch: &mut Batch<'_>) -> Result<Time, Unfinished> {
        let longest = batch.requests.iter().filter(|request| has_data(request)).map(|request| request.bytes).max();
        batch.buffers.reserve(batch.depth as usize, length(longest.unwrap_or(0)));
        match self {
            _ if batch.depth == 1 => one_by_one(batch)?,
            Engine::Ring(ring) => ring.run(batch)?,
            Engine::Threads => threads::run(batch)?,
        }
        Ok(batch.timed.iter().map(|timed| timed.ended).max().unwrap_or(Time::ZERO))
    }
}

/// The requests an engine runs, with the resources it needs.
pub(crate) struct Batch<'a> {
    pub file: &'a File,
    pub buffers: &'a mut Buffers,
    pub requests: &'a [Request],
    pub depth: u32,
    pub stop: &'a AtomicBool,
    /// One entry per request.
    pub timed: &'a mut [Timed],
}

/// Returns whether the request transfers data.
pub(crate) fn has_data(request: &Request) -> bool {
    matches!(request.op, Op::Read | Op::Write)
}

/// Converts a request length to a buffer length.
pub(crate) fn length(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a request fits into memory")
}

/// Returns the time since `start`, by a monotonic clock (`CLOCK_MONOTONIC`).
pub(crate) fn since(start: Instant) -> Time {
    Time::from_ns(u64::try_from(start.elapsed().as_nanos()).expect("a batch ends within centuries"))
}

fn one_by_one(batch: &mut Batch<'_>) -> Result<(), Unfinished> {
    let start = Instant::now();
    for (index, (request, timed)) in batch.requests.iter().zip(batch.timed.iter_mut()).enumerate() {
        if batch.stop.load(Ordering::Relaxed) {
            return Err(Unfinished::Interrupted);
        }
        let bytes = if has_data(request) { length(request.bytes) } else { 0 };
        let buffer = match request.op {
            Op::Write => batch.buffers.fresh(0, bytes),
            _ => batch.buffers.get(0, bytes),
        };
        timed.submitted = since(start);
        let made = make(batch.file, request, buffer);
        timed.ended = since(start);
        made.map_err(|error| Unfinished::Failed(index, error))?;
    }
    Ok(())
}

/// Executes one request synchronously.
pub(crate) fn make(file: &File, request: &Request, buffer: &mut [u8]) -> io::Result<()> {
    match request.op {
        Op::Read => whole(file.read_at(buffer, request.offset)?, request),
        Op::Write if request.fua => {
            let data = [io::IoSlice::new(buffer)];
            whole(pwritev2(file, &data, request.offset, ReadWriteFlags::DSYNC)?, request)
        }
        Op::Write => whole(file.write_at(buffer, request.offset)?, request),
        Op::Trim => direct::discard(file, request.offset, request.bytes),
        Op::Flush => Ok(rustix::fs::fdatasync(file)?),
        Op::Append | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => {
            unreachable!("the probe uses no zones")
        }
    }
}

/// Treats a short transfer as an error, since its latency would be meaningless.
pub(crate) fn whole(moved: usize, request: &Request) -> io::Result<()> {
    if moved == length(request.bytes) {
        return Ok(());
    }
    Err(io::Error::other(format!("{moved} bytes moved")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    const BLOCK: u64 = 4096;
    const BLOCKS: u64 = 256;

    fn engines() -> Vec<Engine> {
        // Without io_uring in the kernel only the thread engine is tested.
        [Ring::new(DEPTH_MAX).ok().map(|ring| Engine::Ring(Box::new(ring))), Some(Engine::Threads)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// A file of zeros that is removed when the test ends.
    struct Zeros(PathBuf, File);

    impl Zeros {
        fn new(name: &str) -> Zeros {
            let path = std::env::temp_dir().join(format!("nandram-{}-engine-{name}", std::process::id()));
            fs::write(&path, vec![0; (BLOCK * BLOCKS) as usize]).expect("a file for the test");
            let file = File::options().read(true).write(true).open(&path).expect("it is there");
            Zeros(path, file)
        }

        fn run(&self, engine: &mut Engine, requests: &[Request], depth: u32) -> Result<Vec<Timed>, Unfinished> {
            let mut timed = vec![Timed { submitted: Time::ZERO, ended: Time::ZERO }; requests.len()];
            let (mut buffers, stop) = (Buffers::new(1), AtomicBool::new(false));
            let (file, buffers, stop, timed_of) = (&self.1, &mut buffers, &stop, &mut timed[..]);
            engine.run(&mut Batch { file, buffers, requests, depth, stop, timed: timed_of })?;
            Ok(timed)
        }
    }

    impl Drop for Zeros {
        fn drop(&mut self) {
            drop(fs::remove_file(&self.0));
        }
    }

    #[test]
    fn every_engine_writes_exactly_the_requested_blocks() {
        for mut engine in engines() {
            for depth in [1, 5, DEPTH_MAX] {
                let zeros = Zeros::new("writes");
                // Every third block in scrambled order, interleaved with flushes.
                let places = (0..BLOCKS).map(|n| n * 77 % BLOCKS).filter(|n| n.is_multiple_of(3));
                let write = |n: u64| Request { fua: n.is_multiple_of(2), ..Request::new(Op::Write, n * BLOCK, BLOCK) };
                let requests: Vec<Request> = places.flat_map(|n| [write(n), Request::flush()]).collect();
                let timed = zeros.run(&mut engine, &requests, depth).expect("writes work");
                assert!(timed.iter().all(|each| each.ended > each.submitted), "{}", engine.name());
                let written = fs::read(&zeros.0).expect("it is there");
                let mut seen = std::collections::BTreeSet::new();
                for (n, block) in (0..BLOCKS).zip(written.chunks(length(BLOCK))) {
                    assert_eq!(block.iter().any(|byte| *byte != 0), n.is_multiple_of(3), "{} block {n}", engine.name());
                    // All written blocks differ, so that no controller can deduplicate them.
                    assert!(!n.is_multiple_of(3) || seen.insert(block.to_vec()), "{} block {n}", engine.name());
                }
            }
        }
    }

    #[test]
    fn every_engine_reports_the_failed_request_and_stays_usable() {
        for mut engine in engines() {
            for depth in [1, 8] {
                let zeros = Zeros::new("fails");
                let mut requests: Vec<Request> = (0..100).map(|n| Request::new(Op::Read, n * BLOCK, BLOCK)).collect();
                requests[40].offset = BLOCK * BLOCKS;
                match zeros.run(&mut engine, &requests, depth) {
                    Err(Unfinished::Failed(40, error)) => assert_eq!(error.to_string(), "0 bytes moved"),
                    other => panic!("{} at depth {depth}: {other:?}", engine.name()),
                }
                // A plain file does not accept discards.
                let trim = [requests[0], Request::new(Op::Trim, 0, BLOCK)];
                match zeros.run(&mut engine, &trim, depth) {
                    Err(Unfinished::Failed(1, _)) => {}
                    other => panic!("{} at depth {depth}: {other:?}", engine.name()),
                }
                zeros.run(&mut engine, &requests[..40], depth).expect("reads work");
            }
        }
    }

    #[test]
    fn a_failed_ring_is_not_used_again() {
        let zeros = Zeros::new("lost");
        let Ok(ring) = Ring::new(DEPTH_MAX) else { return };
        let mut engine = Engine::Ring(Box::new(ring.lose()));
        let reads = [Request::new(Op::Read, 0, BLOCK), Request::new(Op::Read, 0, BLOCK)];
        let failed = zeros.run(&mut engine, &reads, 2).expect_err("it is lost");
        assert!(matches!(failed, Unfinished::Failed(0, error) if error.to_string() == "io_uring failed before"));
        zeros.run(&mut engine, &reads, 1).expect("one at a time needs no ring");
    }
}
