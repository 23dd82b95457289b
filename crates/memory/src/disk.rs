//! A file or a block device, past the page cache where it lets itself be.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{FileExt, FileTypeExt};

use direct::{Aligned, Ring, Transfer};

use crate::device::{Device, Ended, Op, Request};

/// Most requests under way at once.
const DEPTH: u32 = 128;

/// A device over a file.
#[derive(Debug)]
pub struct Disk {
    file: File,
    is_drive: bool,
    /// None: the kernel has no io_uring, or does not let this process use it; then each request is made when it is started.
    ring: Option<Ring>,
    /// What the kernel has, by the user data of the queues. Never freed if the queues fail.
    lent: ManuallyDrop<Vec<Option<Request>>>,
    free: Vec<u32>,
    ended: VecDeque<Ended>,
    failed: bool,
}

impl Disk {
    /// Over `file`, which is open for reading and writing. `queues`: io_uring may be used.
    pub fn new(file: File, queues: bool) -> Disk {
        let is_drive = file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        let ring = if queues { Ring::new(DEPTH).ok() } else { None };
        let lent = ManuallyDrop::new((0..DEPTH).map(|_| None).collect());
        Disk { file, is_drive, ring, lent, free: (0..DEPTH).rev().collect(), ended: VecDeque::new(), failed: false }
    }

    /// How several requests are kept under way: `io_uring`, or `pread` and `pwrite` one by one.
    pub fn engine(&self) -> &'static str {
        if self.ring.is_some() { "io_uring" } else { "pread and pwrite" }
    }

    fn make(&self, request: &mut Request) -> io::Result<()> {
        let Request { op, offset, bytes, ref mut buffer, .. } = *request;
        match op {
            Op::Read => self.file.read_exact_at(&mut buffer[..bytes], offset),
            Op::Write => self.file.write_all_at(&buffer[..bytes], offset),
            Op::Flush => self.file.sync_data(),
        }
    }

    /// Waits until something has ended, and notes it.
    fn reap(&mut self) -> io::Result<()> {
        let Disk { ring, lent, free, ended, .. } = self;
        let ring = ring.as_mut().expect("requests are under way in queues");
        let waited = ring.wait(|user, moved| {
            let slot = usize::try_from(user).expect("an index");
            let request = lent[slot].take().expect("it was under way");
            free.push(slot as u32);
            let whole = |moved| match moved {
                moved if request.op == Op::Flush || moved == request.bytes => Ok(()),
                moved => Err(io::Error::other(format!("{moved} of {} bytes moved", request.bytes))),
            };
            let result = moved.and_then(whole);
            ended.push_back(Ended { request, result });
        });
        self.failed |= waited.is_err();
        waited
    }
}

impl Device for Disk {
    fn start(&mut self, mut request: Request) {
        if self.ring.is_none() {
            let result = self.make(&mut request);
            self.ended.push_back(Ended { request, result });
            return;
        }
        while self.free.is_empty() && !self.failed {
            // What fails here is told by `wait`.
            drop(self.reap());
        }
        let Some(slot) = self.free.pop() else { return };
        let request = self.lent[slot as usize].insert(request);
        let bytes = u32::try_from(request.bytes).expect("a request is below 4 GiB");
        assert!(request.op == Op::Flush || request.bytes <= request.buffer.len());
        let transfer = match request.op {
            Op::Read => Transfer::Read(request.buffer.as_mut_ptr(), bytes),
            Op::Write => Transfer::Write(request.buffer.as_ptr(), bytes, false),
            Op::Flush => Transfer::Flush,
        };
        let ring = self.ring.as_mut().expect("there is one");
        // SAFETY: The memory is the request's own, on the heap, as long as it says; the request stays in `lent`, untouched, until the
        // completion with its slot comes out, and `lent` is freed only after all have (see `drop`). The file is open as long.
        unsafe { ring.push(&self.file, transfer, request.offset, u64::from(slot)) };
    }

    fn wait(&mut self) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.ended.pop_front() {
                return Ok(ended);
            }
            if self.failed {
                return Err(io::Error::other("io_uring failed before"));
            }
            assert!(self.is_busy(), "nothing is under way");
            self.reap()?;
        }
    }

    fn is_busy(&self) -> bool {
        !self.ended.is_empty() || self.ring.as_ref().is_some_and(|ring| ring.under_way() > 0)
    }

    fn release(&mut self, offset: u64, bytes: u64) {
        // Space that cannot be given back stays taken, and is used again.
        drop(match self.is_drive {
            true => direct::discard(&self.file, offset, bytes),
            false => direct::punch(&self.file, offset, bytes),
        });
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        while !self.failed && self.ring.as_ref().is_some_and(|ring| ring.under_way() > 0) {
            drop(self.reap());
        }
        if !self.failed {
            // SAFETY: No request is under way, so that the kernel has none of the memory; and nothing uses `lent` after this.
            unsafe { ManuallyDrop::drop(&mut self.lent) };
        }
    }
}

/// Memory for requests of up to so many bytes, used again and again.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Vec<Aligned>,
    bytes: usize,
}

impl Pool {
    pub fn new(bytes: usize) -> Pool {
        Pool { free: Vec::new(), bytes }
    }

    pub fn take(&mut self) -> Aligned {
        self.free.pop().unwrap_or_else(|| Aligned::new(self.bytes))
    }

    pub fn give(&mut self, buffer: Aligned) {
        self.free.push(buffer);
    }
}
