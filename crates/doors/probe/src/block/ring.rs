//! Several outstanding requests with io_uring.

use std::io;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;
use std::time::Instant;

use direct::Transfer;
use media::{Op, Request};

use super::buffers::Buffers;
use super::engine::{Batch, Unfinished, length, since, whole};

/// The submission and completion queues, and the requests outstanding in them.
#[derive(Debug)]
pub(crate) struct Ring {
    ring: direct::Ring,
    /// Indices of buffers without a request.
    free: Vec<usize>,
    /// The request that uses each buffer.
    request_of: Vec<usize>,
    /// Whether requests may still be outstanding that no caller waits for.
    lost: bool,
}

impl Ring {
    /// Creates queues for `entries` requests.
    ///
    /// # Errors
    /// If the kernel has no io_uring or does not permit it for this process.
    pub(crate) fn new(entries: u32) -> io::Result<Ring> {
        let count = entries as usize;
        let (free, request_of) = (Vec::with_capacity(count), vec![0; count]);
        Ok(Ring { ring: direct::Ring::new(entries)?, free, request_of, lost: false })
    }

    /// Simulates a failure of the queues.
    #[cfg(test)]
    pub(crate) fn lose(mut self) -> Ring {
        self.lost = true;
        self
    }

    /// Runs a batch. On return no request is outstanding, unless the queues themselves failed.
    pub(crate) fn run(&mut self, batch: &mut Batch<'_>) -> Result<(), Unfinished> {
        if self.lost {
            return Err(Unfinished::Failed(0, io::Error::other("io_uring failed before")));
        }
        // Presume failure. If this function is left with requests outstanding, by a return or a panic, their buffers
        // are leaked to the kernel and the queues are never used again.
        self.lost = true;
        let mut lent = ManuallyDrop::new(batch.buffers.take());
        let unfinished = self.run_with(batch, &mut lent).map_err(|error| Unfinished::Failed(0, error))?;
        *batch.buffers = ManuallyDrop::into_inner(lent);
        self.lost = false;
        unfinished.map_or(Ok(()), Err)
    }

    /// Like [`Ring::run`], with buffers that are not freed. Returns with no request outstanding, or with an error of
    /// the queues.
    fn run_with(&mut self, batch: &mut Batch<'_>, buffers: &mut Buffers) -> io::Result<Option<Unfinished>> {
        self.free.clear();
        self.free.extend((0..batch.depth as usize).rev());
        let (mut next, mut under_way) = (0, 0_u32);
        let mut unfinished = None;
        let start = Instant::now();
        loop {
            while unfinished.is_none() && next < batch.requests.len() && under_way < batch.depth {
                if batch.stop.load(Ordering::Relaxed) {
                    unfinished = Some(Unfinished::Interrupted);
                } else if batch.requests[next].op == Op::Trim {
                    unfinished = trim(batch, next, start).err();
                } else {
                    self.submit(batch, buffers, next, start)?;
                    under_way += 1;
                }
                next += 1;
            }
            if under_way == 0 {
                return Ok(unfinished);
            }
            let Ring { ring, free, request_of, .. } = self;
            ring.wait(|buffer, moved| {
                let buffer = usize::try_from(buffer).expect("the index of a buffer");
                let index = request_of[buffer];
                batch.timed[index].ended = since(start);
                free.push(buffer);
                under_way -= 1;
                if let (Err(error), None) = (result(moved, &batch.requests[index]), &unfinished) {
                    unfinished = Some(Unfinished::Failed(index, error));
                }
            })?;
        }
    }

    /// Submits the request with index `index`.
    fn submit(&mut self, batch: &mut Batch<'_>, buffers: &mut Buffers, index: usize, start: Instant) -> io::Result<()> {
        let buffer = self.free.pop().expect("there are as many buffers as requests under way");
        let transfer = transfer(buffers, &batch.requests[index], buffer);
        self.request_of[buffer] = index;
        batch.timed[index].submitted = since(start);
        // SAFETY: The transfer uses the first bytes of a buffer that no other request has (`free`). Buffers were
        // reserved for the longest request before the batch, so none moves or is freed while it runs, and `run` frees
        // them only once every request has completed. The file is borrowed past the next line, which submits.
        unsafe { self.ring.push(batch.file, transfer, batch.requests[index].offset, buffer as u64) };
        self.ring.submit()
    }
}

/// Executes a trim synchronously, because the queues do not support trims. It delays the requests behind it.
fn trim(batch: &mut Batch<'_>, index: usize, start: Instant) -> Result<(), Unfinished> {
    let request = &batch.requests[index];
    batch.timed[index].submitted = since(start);
    let made = direct::discard(batch.file, request.offset, request.bytes);
    batch.timed[index].ended = since(start);
    made.map_err(|error| Unfinished::Failed(index, error))
}

/// Converts a completion to the result of its request.
fn result(moved: io::Result<usize>, request: &Request) -> io::Result<()> {
    match moved? {
        _ if request.op == Op::Flush => Ok(()),
        moved => whole(moved, request),
    }
}

fn transfer(buffers: &mut Buffers, request: &Request, buffer: usize) -> Transfer {
    let bytes = length(request.bytes);
    let short = u32::try_from(request.bytes).expect("a request is below 4 GiB");
    match request.op {
        Op::Read => Transfer::Read(buffers.get(buffer, bytes).as_mut_ptr(), short),
        Op::Write => Transfer::Write(buffers.fresh(buffer, bytes).as_ptr(), short, request.fua),
        Op::Flush => Transfer::Flush,
        op => unreachable!("{op:?} is made without the queues"),
    }
}
