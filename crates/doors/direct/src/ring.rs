//! Asynchronous requests through io_uring.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use rustix::io::ReadWriteFlags;

/// A request to the kernel.
#[derive(Clone, Copy, Debug)]
pub enum Transfer {
    /// Reads that many bytes into memory.
    Read(*mut u8, u32),
    /// Writes that many bytes from memory; if the flag is set, they are durable at completion.
    Write(*const u8, u32, bool),
    /// Reads into several buffers in order, given as an array of that many pairs of address and length.
    ReadInto(*const [usize; 2], u32),
    /// Writes from several buffers in order, given in the same form.
    WriteFrom(*const [usize; 2], u32),
    /// Makes all preceding writes durable.
    Flush,
}

/// A submission and a completion queue shared with the kernel.
pub struct Ring {
    ring: IoUring,
    entries: u32,
    in_flight: u32,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

impl Ring {
    /// Creates queues for `entries` requests.
    ///
    /// # Errors
    /// If the kernel does not support io_uring or does not allow this process to use it.
    pub fn new(entries: u32) -> io::Result<Ring> {
        // Completions are posted when this thread enters the kernel, instead of interrupting it. Kernels before 5.19 do
        // not support this.
        let ring = IoUring::builder().setup_coop_taskrun().build(entries).or_else(|_| IoUring::new(entries))?;
        Ok(Ring { ring, entries, in_flight: 0 })
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Queues a request; [`submit`](Self::submit) or [`wait`](Self::wait) passes it to the kernel.
    ///
    /// # Safety
    /// The file must stay open until the request is submitted. The memory (and an array of buffers itself) must be
    /// valid for the transfer, and unused by anything else, until the completion with `user` is reaped. If the queues
    /// fail and it never is, the memory must never be freed.
    ///
    /// # Panics
    /// If the maximum number of requests is in flight.
    pub unsafe fn push(&mut self, file: &File, transfer: Transfer, offset: u64, user: u64) {
        assert!(self.in_flight < self.entries, "{} requests are in flight", self.in_flight);
        let entry = entry(file, transfer, offset).user_data(user);
        // SAFETY: The caller keeps the memory valid, and keeps the file open until the kernel has its own reference.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the queue has room for all requests in flight");
        self.in_flight += 1;
    }

    /// Submits the queued requests to the kernel.
    ///
    /// # Errors
    /// The kernel's error; the queues are unusable afterwards.
    pub fn submit(&mut self) -> io::Result<()> {
        if self.ring.submission().is_empty() {
            return Ok(());
        }
        retry(|| self.ring.submit()).map(|_| ())
    }

    /// Returns whether a completion is ready to be reaped. Callers that poll must make some system call in between,
    /// because that is when completions are posted.
    pub fn has_ended(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Returns a descriptor that is readable when a completion is ready.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: The descriptor is open for as long as the queues, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }

    /// Submits the queued requests, waits for at least one completion, and calls `each` for all that are ready, with
    /// the user data and either the number of bytes transferred or the error.
    ///
    /// # Errors
    /// The kernel's error; the queues are unusable afterwards.
    pub fn wait(&mut self, mut each: impl FnMut(u64, io::Result<usize>)) -> io::Result<()> {
        if self.ring.completion().is_empty() {
            retry(|| self.ring.submit_and_wait(1))?;
        } else {
            self.submit()?;
        }
        for entry in self.ring.completion() {
            self.in_flight -= 1;
            let result = entry.result();
            let moved = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            each(entry.user_data(), moved);
        }
        Ok(())
    }
}

/// Retries after a signal or while a queue is temporarily full.
fn retry(mut enter: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    use io::ErrorKind::{Interrupted, ResourceBusy, WouldBlock};
    loop {
        match enter() {
            Err(error) if matches!(error.kind(), Interrupted | ResourceBusy | WouldBlock) => {}
            other => return other,
        }
    }
}

fn entry(file: &File, transfer: Transfer, offset: u64) -> Entry {
    let file = types::Fd(file.as_raw_fd());
    match transfer {
        Transfer::Read(memory, bytes) => opcode::Read::new(file, memory, bytes).offset(offset).build(),
        Transfer::Write(memory, bytes, durable) => {
            let flags = if durable { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
            opcode::Write::new(file, memory, bytes).offset(offset).rw_flags(flags.bits().cast_signed()).build()
        }
        // A pair of address and length has the layout of the kernel's iovec.
        Transfer::ReadInto(iovecs, count) => opcode::Readv::new(file, iovecs.cast(), count).offset(offset).build(),
        Transfer::WriteFrom(iovecs, count) => opcode::Writev::new(file, iovecs.cast(), count).offset(offset).build(),
        Transfer::Flush => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
    }
}
