//! Several requests at a time by io_uring.

use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Instant;

use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use media::{Op, Request};
use rustix::io::ReadWriteFlags;

use super::buffers::Buffers;
use super::discard;
use super::engine::{Batch, Unfinished, length, since, whole};

/// A pair of queues shared with the kernel.
pub(crate) struct Ring {
    ring: IoUring,
    /// Buffers that have no request.
    free: Vec<usize>,
    /// The request of each buffer.
    request_of: Vec<usize>,
    /// Requests may be under way of which nobody waits for the end.
    lost: bool,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl Ring {
    /// Queues for `entries` requests.
    ///
    /// # Errors
    /// If the kernel has no io_uring or does not let this process use it.
    pub(crate) fn new(entries: u32) -> io::Result<Ring> {
        let count = entries as usize;
        let (free, request_of) = (Vec::with_capacity(count), vec![0; count]);
        Ok(Ring { ring: IoUring::new(entries)?, free, request_of, lost: false })
    }

    /// As if the queues had failed.
    #[cfg(test)]
    pub(crate) fn lose(mut self) -> Ring {
        self.lost = true;
        self
    }

    /// Runs a batch. When it returns, nothing is under way, unless the queues themselves failed.
    pub(crate) fn run(&mut self, batch: &mut Batch<'_>) -> Result<(), Unfinished> {
        if self.lost {
            return Err(Unfinished::Failed(0, io::Error::other("io_uring failed before")));
        }
        // Lost until shown otherwise. Whoever leaves here with requests under way, by a return or a panic, leaves their
        // memory to the kernel for good, and the queues to nobody.
        self.lost = true;
        let mut lent = ManuallyDrop::new(batch.buffers.take());
        let unfinished = self.run_with(batch, &mut lent).map_err(|error| Unfinished::Failed(0, error))?;
        *batch.buffers = ManuallyDrop::into_inner(lent);
        self.lost = false;
        unfinished.map_or(Ok(()), Err)
    }

    /// The same with buffers that are not freed. Returns with nothing under way, or an error of the queues.
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
            retried(|| self.ring.submit_and_wait(1))?;
            for entry in self.ring.completion() {
                let buffer = usize::try_from(entry.user_data()).expect("the index of a buffer");
                let index = self.request_of[buffer];
                batch.timed[index].ended = since(start);
                self.free.push(buffer);
                under_way -= 1;
                if let (Err(error), None) = (result(entry.result(), &batch.requests[index]), &unfinished) {
                    unfinished = Some(Unfinished::Failed(index, error));
                }
            }
        }
    }

    /// Hands a request over.
    fn submit(&mut self, batch: &mut Batch<'_>, buffers: &mut Buffers, index: usize, start: Instant) -> io::Result<()> {
        let buffer = self.free.pop().expect("there are as many buffers as requests under way");
        let entry = entry(batch, buffers, &batch.requests[index], buffer).user_data(buffer as u64);
        self.request_of[buffer] = index;
        batch.timed[index].submitted = since(start);
        // SAFETY: The entry's memory is the first bytes of a buffer that no other request has (`free`). Buffers were reserved
        // for the longest request before the batch, so that none moves or is freed while it runs; and `run` frees them only
        // once every request has ended. The kernel has its own hold of the open file.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the queue has room for as many as can be under way");
        retried(|| self.ring.submit()).map(|_| ())
    }
}

/// A signal, or a queue that is full for a moment, is no failure.
fn retried(mut enter: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    use io::ErrorKind::{Interrupted, ResourceBusy, WouldBlock};
    loop {
        match enter() {
            Err(error) if matches!(error.kind(), Interrupted | ResourceBusy | WouldBlock) => {}
            other => return other,
        }
    }
}

/// The queues know no trims: one is made at once, and holds up what comes behind it.
fn trim(batch: &mut Batch<'_>, index: usize, start: Instant) -> Result<(), Unfinished> {
    let request = &batch.requests[index];
    batch.timed[index].submitted = since(start);
    let made = discard::discard(batch.file, request.offset, request.bytes);
    batch.timed[index].ended = since(start);
    made.map_err(|error| Unfinished::Failed(index, error))
}

/// What a completion says of its request: bytes moved, or an error's number below zero.
fn result(result: i32, request: &Request) -> io::Result<()> {
    match usize::try_from(result) {
        Err(_) => Err(io::Error::from_raw_os_error(-result)),
        Ok(_) if request.op == Op::Flush => Ok(()),
        Ok(moved) => whole(moved, request),
    }
}

fn entry(batch: &Batch<'_>, buffers: &mut Buffers, request: &Request, buffer: usize) -> Entry {
    let file = types::Fd(batch.file.as_raw_fd());
    let bytes = length(request.bytes);
    let short = u32::try_from(request.bytes).expect("a request is below 4 GiB");
    match request.op {
        Op::Read => {
            opcode::Read::new(file, buffers.get(buffer, bytes).as_mut_ptr(), short).offset(request.offset).build()
        }
        Op::Write => {
            let flags = if request.fua { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
            let data = buffers.fresh(buffer, bytes).as_ptr();
            opcode::Write::new(file, data, short).offset(request.offset).rw_flags(flags.bits().cast_signed()).build()
        }
        Op::Flush => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        Op::Trim => unreachable!("a trim is made without the queues"),
    }
}
