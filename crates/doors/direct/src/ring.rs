//! Several requests at a time by io_uring.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use rustix::io::ReadWriteFlags;

/// What the kernel is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Transfer {
    /// So many bytes into memory.
    Read(*mut u8, u32),
    /// So many bytes from memory; durable when it has ended, if so asked.
    Write(*const u8, u32, bool),
    /// Into several pieces of memory, one after the other: so many pairs of address and length.
    ReadInto(*const [usize; 2], u32),
    /// From several pieces of memory.
    WriteFrom(*const [usize; 2], u32),
    /// All that was written before is durable when this has ended.
    Flush,
}

/// A pair of queues shared with the kernel.
pub struct Ring {
    ring: IoUring,
    entries: u32,
    under_way: u32,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("under_way", &self.under_way).finish_non_exhaustive()
    }
}

impl Ring {
    /// Queues for `entries` requests.
    ///
    /// # Errors
    /// If the kernel has no io_uring or does not let this process use it.
    pub fn new(entries: u32) -> io::Result<Ring> {
        // The ends of requests are noted when the thread that made them calls the kernel, rather than by interrupting it. Kernels before 5.19 do
        // not know that.
        let ring = IoUring::builder().setup_coop_taskrun().build(entries).or_else(|_| IoUring::new(entries))?;
        Ok(Ring { ring, entries, under_way: 0 })
    }

    /// Requests that were put in and have not come out.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Puts a request into the queue; the kernel learns of it by [`submit`](Self::submit) or [`wait`](Self::wait).
    ///
    /// # Safety
    /// The file must stay open until the kernel knows of the request. The memory (of pieces, their list too) must be valid for the transfer, and used by nothing else, until a completion with `user` came out, even if the
    /// queues fail and it never does: then it must never be freed.
    ///
    /// # Panics
    /// If as many are under way as there are entries.
    pub unsafe fn push(&mut self, file: &File, transfer: Transfer, offset: u64, user: u64) {
        assert!(self.under_way < self.entries, "{} requests are under way", self.under_way);
        let entry = entry(file, transfer, offset).user_data(user);
        // SAFETY: The caller keeps the memory, and the file open until the kernel has its own hold of it.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the queue has room for as many as can be under way");
        self.under_way += 1;
    }

    /// Tells the kernel of what was put in.
    ///
    /// # Errors
    /// What the kernel says; the queues are of no use any more then.
    pub fn submit(&mut self) -> io::Result<()> {
        if self.ring.submission().is_empty() {
            return Ok(());
        }
        retried(|| self.ring.submit()).map(|_| ())
    }

    /// Whether something has ended that did not come out. Whoever looks again and again calls the kernel in between, for whatever: that is when
    /// ends are noted.
    pub fn has_ended(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Readable when something has ended.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: It is open as long as the queues, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }

    /// Tells the kernel of what was put in, waits until something has ended, and calls `each` with what has: its user data, and bytes
    /// moved or an error.
    ///
    /// # Errors
    /// What the kernel says; the queues are of no use any more then.
    pub fn wait(&mut self, mut each: impl FnMut(u64, io::Result<usize>)) -> io::Result<()> {
        if self.ring.completion().is_empty() {
            retried(|| self.ring.submit_and_wait(1))?;
        } else {
            self.submit()?;
        }
        for entry in self.ring.completion() {
            self.under_way -= 1;
            let result = entry.result();
            let moved = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            each(entry.user_data(), moved);
        }
        Ok(())
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

fn entry(file: &File, transfer: Transfer, offset: u64) -> Entry {
    let file = types::Fd(file.as_raw_fd());
    match transfer {
        Transfer::Read(memory, bytes) => opcode::Read::new(file, memory, bytes).offset(offset).build(),
        Transfer::Write(memory, bytes, durable) => {
            let flags = if durable { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
            opcode::Write::new(file, memory, bytes).offset(offset).rw_flags(flags.bits().cast_signed()).build()
        }
        // A pair of address and length is what the kernel calls an iovec.
        Transfer::ReadInto(pieces, count) => opcode::Readv::new(file, pieces.cast(), count).offset(offset).build(),
        Transfer::WriteFrom(pieces, count) => opcode::Writev::new(file, pieces.cast(), count).offset(offset).build(),
        Transfer::Flush => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
    }
}
