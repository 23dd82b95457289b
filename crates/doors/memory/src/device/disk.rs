//! A file or a block device, bypassing the page cache where possible.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileExt, FileTypeExt};

use direct::{Aligned, Ring, Transfer};

use crate::device::{Device, Ended, Op, Request};

/// Maximum number of transfers in flight.
const DEPTH: u32 = 128;
/// Maximum number of requests queued for merging.
const QUEUED: usize = 1024;
/// Maximum number of requests merged into one transfer.
const GROUP_MAX: usize = 64;

/// Readers register by locking byte `READERS` + generation, an offset at which no file has data.
const READERS: u64 = 1 << 62;

/// Adjacent requests that are merged into one transfer.
#[derive(Debug)]
struct Group {
    requests: Vec<Request>,
    /// Address and length of each request's buffer: the layout of `struct iovec`.
    iovecs: Vec<[usize; 2]>,
}

/// A [`Device`] on a file or block device.
#[derive(Debug)]
pub struct Disk {
    file: File,
    is_drive: bool,
    /// `None` if the kernel does not support io_uring or does not allow it; then `start` executes each request
    /// synchronously.
    ring: Option<Ring>,
    /// Started requests that are not yet submitted to the kernel, so that adjacent ones can be merged.
    queued: Vec<Request>,
    /// Groups submitted to the kernel, indexed by their user data. Never freed if the ring fails, because the kernel
    /// may still access the buffers.
    in_flight: ManuallyDrop<Vec<Option<Group>>>,
    free: Vec<u32>,
    ended: VecDeque<Ended>,
    failed: bool,
    /// The process that opened the device.
    opener: u32,
}

impl Disk {
    /// Wraps `file`, which must be open for reading and, unless it is never written, for writing. `queues` allows the
    /// use of io_uring.
    pub fn new(file: File, queues: bool) -> Disk {
        let is_drive = file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        let ring = if queues { Ring::new(DEPTH).ok() } else { None };
        let in_flight = ManuallyDrop::new((0..DEPTH).map(|_| None).collect());
        let (queued, ended, free) = (Vec::new(), VecDeque::new(), (0..DEPTH).rev().collect());
        Disk { file, is_drive, ring, queued, in_flight, free, ended, failed: false, opener: std::process::id() }
    }

    /// Returns the I/O mechanism: `io_uring`, or `pread` and `pwrite` one at a time.
    pub fn engine(&self) -> &'static str {
        if self.ring.is_some() { "io_uring" } else { "pread and pwrite" }
    }

    /// Waits for at least one completion and collects all that are available.
    fn reap(&mut self) -> io::Result<()> {
        let Disk { file, ring, in_flight, free, ended, .. } = self;
        let ring = ring.as_mut().expect("requests are in flight in the ring");
        let waited = ring.wait(|user, moved| {
            let slot = usize::try_from(user).expect("an index");
            let Group { requests, .. } = in_flight[slot].take().expect("the slot is in use");
            free.push(slot as u32);
            let bytes: usize = requests.iter().map(|request| request.bytes).sum();
            let whole = moved.as_ref().is_ok_and(|moved| *moved == bytes || requests[0].op == Op::Flush);
            let alone = requests.len() == 1;
            for mut request in requests {
                let result = match &moved {
                    _ if whole => Ok(()),
                    // A merged transfer failed: execute its requests one by one to find out which.
                    _ if !alone => execute(file, &mut request),
                    Ok(moved) => Err(io::Error::other(format!("only {moved} of {bytes} bytes were transferred"))),
                    Err(error) => Err(clone_error(error)),
                };
                ended.push_back(Ended { request, result });
            }
        });
        self.failed |= waited.is_err();
        waited
    }

    /// Executes the only outstanding request synchronously, which is faster than through the ring.
    fn execute_only(&mut self) -> Option<Ended> {
        let alone = self.queued.len() == 1 && self.ring.as_ref().is_some_and(|ring| ring.in_flight() == 0);
        let mut request = if alone { self.queued.pop()? } else { return None };
        let result = execute(&self.file, &mut request);
        Some(Ended { request, result })
    }

    /// Submits the queued requests to the kernel, merging adjacent ones.
    fn submit_queued(&mut self) {
        let mut queued = std::mem::take(&mut self.queued);
        queued.sort_by_key(|request| (request.op as u8, request.offset));
        let mut requests = queued.drain(..).peekable();
        while let Some(first) = requests.next() {
            let (op, mut end) = (first.op, first.offset + first.bytes as u64);
            let mut group = vec![first];
            let follows = |next: &Request, end: u64, count: usize| {
                next.op == op && op != Op::Flush && next.offset == end && count < GROUP_MAX
            };
            while let Some(next) = requests.next_if(|next| follows(next, end, group.len())) {
                end += next.bytes as u64;
                group.push(next);
            }
            self.submit(group);
        }
        drop(requests);
        self.queued = queued;
    }

    fn submit(&mut self, mut requests: Vec<Request>) {
        while self.free.is_empty() && !self.failed {
            // `wait` reports a failure.
            drop(self.reap());
        }
        let Some(slot) = self.free.pop() else { return };
        let iovecs = requests.iter_mut().map(|Request { buffer, bytes, .. }| {
            assert!(*bytes <= buffer.len());
            [buffer.as_mut_ptr() as usize, *bytes]
        });
        let iovecs = iovecs.collect();
        let Group { requests, iovecs } = self.in_flight[slot as usize].insert(Group { requests, iovecs });
        let (op, offset, count) = (requests[0].op, requests[0].offset, requests.len() as u32);
        let transfer = match op {
            Op::Read => Transfer::ReadInto(iovecs.as_ptr(), count),
            Op::Write => Transfer::WriteFrom(iovecs.as_ptr(), count),
            Op::Flush => Transfer::Flush,
        };
        let ring = self.ring.as_mut().expect("requests are only queued for a ring");
        // SAFETY: The iovecs point to the requests' heap buffers and hold their lengths. The list and the buffers
        // stay in `in_flight`, untouched, until the completion with this slot is reaped, and `in_flight` is freed
        // only after all completions (see `drop`). The file is open at least as long.
        unsafe { ring.push(&self.file, transfer, offset, u64::from(slot)) };
    }
}

/// Executes one request synchronously.
fn execute(file: &File, request: &mut Request) -> io::Result<()> {
    let Request { op, offset, bytes, ref mut buffer, .. } = *request;
    match op {
        Op::Read => file.read_exact_at(&mut buffer[..bytes], offset),
        Op::Write => file.write_all_at(&buffer[..bytes], offset),
        Op::Flush => file.sync_data(),
    }
}

fn clone_error(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}

impl Device for Disk {
    fn start(&mut self, mut request: Request) {
        if self.ring.is_none() {
            let result = execute(&self.file, &mut request);
            self.ended.push_back(Ended { request, result });
            return;
        }
        self.queued.push(request);
        if self.queued.len() >= QUEUED {
            self.submit_queued();
        }
    }

    fn wait(&mut self) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.ended.pop_front() {
                return Ok(ended);
            }
            if self.failed {
                return Err(io::Error::other("io_uring failed earlier"));
            }
            assert!(self.is_busy(), "no request is in flight");
            if let Some(ended) = self.execute_only() {
                return Ok(ended);
            }
            self.submit_queued();
            if self.ended.is_empty() {
                self.reap()?;
            }
        }
    }

    fn is_busy(&self) -> bool {
        let in_flight = self.ring.as_ref().is_some_and(|ring| ring.in_flight() > 0);
        !self.ended.is_empty() || !self.queued.is_empty() || in_flight
    }

    fn register(&mut self, generation: u64) -> io::Result<()> {
        direct::unmark(&self.file)?;
        direct::mark(&self.file, READERS + generation)
    }

    fn reader(&mut self, from: u64, count: u64) -> Option<u64> {
        // On a file system without such locks no reader can register either.
        direct::marked(&self.file, READERS + from, count).ok().flatten().map(|at| at - READERS)
    }

    fn is_ready(&mut self) -> bool {
        if self.ended.is_empty() && !self.failed {
            self.submit_queued();
            let Some(ring) = &mut self.ring else { return false };
            // Ignore submission errors here; `wait` meets and reports them again.
            let refused = ring.submit().is_err();
            return refused || ring.has_ended() || !self.ended.is_empty();
        }
        true
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.ring.as_ref().map(Ring::fd)
    }

    fn release(&mut self, offset: u64, bytes: u64) {
        // On failure the space stays allocated and is reused later.
        drop(match self.is_drive {
            true => direct::discard(&self.file, offset, bytes),
            false => direct::punch(&self.file, offset, bytes),
        });
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        while !self.failed && self.ring.as_ref().is_some_and(|ring| ring.in_flight() > 0) {
            drop(self.reap());
        }
        if !self.failed {
            // SAFETY: No request is in flight, so the kernel holds no pointers into the buffers, and `in_flight` is
            // not used after this.
            unsafe { ManuallyDrop::drop(&mut self.in_flight) };
        }
        if self.opener == std::process::id() {
            // A forked child shares the open file description and would keep the lock and the mark. Errors are
            // harmless: closing the file releases both.
            let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
            let _ = direct::unmark(&self.file);
        }
    }
}

/// A pool of reusable request buffers of a fixed size.
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

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn merged_requests_succeed_and_fail_individually() {
        let path = std::env::temp_dir().join(format!("nandram-{}-disk.memory", std::process::id()));
        let open =
            || OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
        for queues in [true, false] {
            let mut disk = Disk::new(open(), queues);
            let request = |op, page: u64, fill: u8| {
                let mut buffer = Aligned::new(4096);
                buffer.fill(fill);
                Request { op, offset: page * 4096, bytes: 4096, buffer, user: page }
            };
            // In descending order, with a gap, and more than fit into one group.
            for page in (0..200u64).rev().filter(|page| *page != 100) {
                disk.start(request(Op::Write, page, page as u8));
            }
            disk.start(request(Op::Write, 100, 100));
            while disk.is_busy() {
                disk.wait().expect("a working device").result.expect("written");
            }
            disk.start(Request { op: Op::Flush, offset: 0, bytes: 0, buffer: Aligned::new(0), user: 0 });
            disk.wait().expect("a working device").result.expect("flushed");
            // The file ends before page 200, so later reads fail.
            (150..210).for_each(|page| disk.start(request(Op::Read, page, 0)));
            let mut ends = 0;
            while disk.is_busy() {
                let Ended { request, result } = disk.wait().expect("a working device");
                assert_eq!(result.is_ok(), request.user < 200, "page {}: {result:?}", request.user);
                assert!(result.is_err() || request.buffer.iter().all(|byte| u64::from(*byte) == request.user));
                ends += 1;
            }
            assert_eq!(ends, 60);
            // Dropping the disk waits for requests in flight.
            disk.start(request(Op::Write, 0, 1));
            if queues && disk.ring.is_some() {
                disk.submit_queued();
            }
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
