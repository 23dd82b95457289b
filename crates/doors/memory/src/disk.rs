//! A file or a block device, past the page cache where it lets itself be.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileExt, FileTypeExt};

use direct::{Aligned, Ring, Transfer};

use crate::device::{Device, Ended, Op, Request};

/// Most transfers under way at once.
const DEPTH: u32 = 128;
/// Most requests that wait to be put together.
const QUEUED: usize = 1024;
/// Most requests in a transfer.
const TOGETHER: usize = 64;

/// Marks of readers are from here on, where no file has bytes: generation by generation.
const READERS: u64 = 1 << 62;

/// Requests that lie one after the other, as one transfer.
#[derive(Debug)]
struct Group {
    requests: Vec<Request>,
    /// Address and length of the memory of each.
    pieces: Vec<[usize; 2]>,
}

/// A device over a file.
#[derive(Debug)]
pub struct Disk {
    file: File,
    is_drive: bool,
    /// None: the kernel has no io_uring, or does not let this process use it; then each request is made when it is started.
    ring: Option<Ring>,
    /// Started, and not handed to the kernel yet: what comes next may lie beside it.
    queued: Vec<Request>,
    /// What the kernel has, by the user data of the queues. Never freed if the queues fail.
    lent: ManuallyDrop<Vec<Option<Group>>>,
    free: Vec<u32>,
    ended: VecDeque<Ended>,
    failed: bool,
    /// The process that opened it.
    opener: u32,
}

impl Disk {
    /// Over `file`, which is open for reading and, unless nothing is written, writing. `queues`: io_uring may be used.
    pub fn new(file: File, queues: bool) -> Disk {
        let is_drive = file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        let ring = if queues { Ring::new(DEPTH).ok() } else { None };
        let lent = ManuallyDrop::new((0..DEPTH).map(|_| None).collect());
        let (queued, ended, free) = (Vec::new(), VecDeque::new(), (0..DEPTH).rev().collect());
        Disk { file, is_drive, ring, queued, lent, free, ended, failed: false, opener: std::process::id() }
    }

    /// How several requests are kept under way: `io_uring`, or `pread` and `pwrite` one by one.
    pub fn engine(&self) -> &'static str {
        if self.ring.is_some() { "io_uring" } else { "pread and pwrite" }
    }

    /// Waits until something has ended, and notes it.
    fn reap(&mut self) -> io::Result<()> {
        let Disk { file, ring, lent, free, ended, .. } = self;
        let ring = ring.as_mut().expect("requests are under way in queues");
        let waited = ring.wait(|user, moved| {
            let slot = usize::try_from(user).expect("an index");
            let Group { requests, .. } = lent[slot].take().expect("it was under way");
            free.push(slot as u32);
            let bytes: usize = requests.iter().map(|request| request.bytes).sum();
            let whole = moved.as_ref().is_ok_and(|moved| *moved == bytes || requests[0].op == Op::Flush);
            let alone = requests.len() == 1;
            for mut request in requests {
                let result = match &moved {
                    _ if whole => Ok(()),
                    // Which of several it was is found by making each by itself.
                    _ if !alone => make(file, &mut request),
                    Ok(moved) => Err(io::Error::other(format!("{moved} of {bytes} bytes moved"))),
                    Err(error) => Err(copy_of(error)),
                };
                ended.push_back(Ended { request, result });
            }
        });
        self.failed |= waited.is_err();
        waited
    }

    /// Makes a request that is all there is: queues would only come between.
    fn make_alone(&mut self) -> Option<Ended> {
        let alone = self.queued.len() == 1 && self.ring.as_ref().is_some_and(|ring| ring.under_way() == 0);
        let mut request = if alone { self.queued.pop()? } else { return None };
        let result = make(&self.file, &mut request);
        Some(Ended { request, result })
    }

    /// Hands what is queued to the kernel, neighbours together.
    fn hand_over(&mut self) {
        let mut queued = std::mem::take(&mut self.queued);
        queued.sort_by_key(|request| (request.op as u8, request.offset));
        let mut requests = queued.drain(..).peekable();
        while let Some(first) = requests.next() {
            let (op, mut end) = (first.op, first.offset + first.bytes as u64);
            let mut group = vec![first];
            let follows = |next: &Request, end: u64, count: usize| {
                next.op == op && op != Op::Flush && next.offset == end && count < TOGETHER
            };
            while let Some(next) = requests.next_if(|next| follows(next, end, group.len())) {
                end += next.bytes as u64;
                group.push(next);
            }
            self.lend(group);
        }
        drop(requests);
        self.queued = queued;
    }

    fn lend(&mut self, mut requests: Vec<Request>) {
        while self.free.is_empty() && !self.failed {
            // What fails here is told by `wait`.
            drop(self.reap());
        }
        let Some(slot) = self.free.pop() else { return };
        let pieces = requests.iter_mut().map(|Request { buffer, bytes, .. }| {
            assert!(*bytes <= buffer.len());
            [buffer.as_mut_ptr() as usize, *bytes]
        });
        let pieces = pieces.collect();
        let Group { requests, pieces } = self.lent[slot as usize].insert(Group { requests, pieces });
        let (op, offset, count) = (requests[0].op, requests[0].offset, requests.len() as u32);
        let transfer = match op {
            Op::Read => Transfer::ReadInto(pieces.as_ptr(), count),
            Op::Write => Transfer::WriteFrom(pieces.as_ptr(), count),
            Op::Flush => Transfer::Flush,
        };
        let ring = self.ring.as_mut().expect("there is one");
        // SAFETY: The pieces are the requests' own memory, on the heap, as long as they say, and so is their list; the group stays in
        // `lent`, untouched, until the completion with its slot comes out, and `lent` is freed only after all have (see `drop`).
        // The file is open as long.
        unsafe { ring.push(&self.file, transfer, offset, u64::from(slot)) };
    }
}

/// Makes one request and waits for it.
fn make(file: &File, request: &mut Request) -> io::Result<()> {
    let Request { op, offset, bytes, ref mut buffer, .. } = *request;
    match op {
        Op::Read => file.read_exact_at(&mut buffer[..bytes], offset),
        Op::Write => file.write_all_at(&buffer[..bytes], offset),
        Op::Flush => file.sync_data(),
    }
}

fn copy_of(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}

impl Device for Disk {
    fn start(&mut self, mut request: Request) {
        if self.ring.is_none() {
            let result = make(&self.file, &mut request);
            self.ended.push_back(Ended { request, result });
            return;
        }
        self.queued.push(request);
        if self.queued.len() >= QUEUED {
            self.hand_over();
        }
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
            if let Some(ended) = self.make_alone() {
                return Ok(ended);
            }
            self.hand_over();
            if self.ended.is_empty() {
                self.reap()?;
            }
        }
    }

    fn is_busy(&self) -> bool {
        let under_way = self.ring.as_ref().is_some_and(|ring| ring.under_way() > 0);
        !self.ended.is_empty() || !self.queued.is_empty() || under_way
    }

    fn register(&mut self, generation: u64) -> io::Result<()> {
        direct::unmark(&self.file)?;
        direct::mark(&self.file, READERS + generation)
    }

    fn reader(&mut self, from: u64, count: u64) -> Option<u64> {
        // Where that cannot be asked nobody can register.
        direct::marked(&self.file, READERS + from, count).ok().flatten().map(|at| at - READERS)
    }

    fn is_ready(&mut self) -> bool {
        if self.ended.is_empty() && !self.failed {
            self.hand_over();
            let Some(ring) = &mut self.ring else { return false };
            // What the kernel did not take it is told again by `wait`, where a failure has its place.
            let refused = ring.submit().is_err();
            return refused || ring.has_ended() || !self.ended.is_empty();
        }
        true
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.ring.as_ref().map(Ring::fd)
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
        if self.opener == std::process::id() {
            // A child made by `fork` has the same open file, and would keep its lock and mark. What cannot be given back ends with the file.
            let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
            let _ = direct::unmark(&self.file);
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

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    /// Neighbours are one transfer, and those of it that fail are told from those that do not.
    #[test]
    fn of_several_requests_that_go_together_each_ends_as_it_would_alone() {
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
            // In any order, with a gap, and more than go together.
            for page in (0..200u64).rev().filter(|page| *page != 100) {
                disk.start(request(Op::Write, page, page as u8));
            }
            disk.start(request(Op::Write, 100, 100));
            while disk.is_busy() {
                disk.wait().expect("it works").result.expect("written");
            }
            disk.start(Request { op: Op::Flush, offset: 0, bytes: 0, buffer: Aligned::new(0), user: 0 });
            disk.wait().expect("it works").result.expect("flushed");
            // The file ends at page 200.
            (150..210).for_each(|page| disk.start(request(Op::Read, page, 0)));
            let mut ends = 0;
            while disk.is_busy() {
                let Ended { request, result } = disk.wait().expect("it works");
                assert_eq!(result.is_ok(), request.user < 200, "page {}: {result:?}", request.user);
                assert!(result.is_err() || request.buffer.iter().all(|byte| u64::from(*byte) == request.user));
                ends += 1;
            }
            assert_eq!(ends, 60);
            // What is under way when it is dropped is waited for.
            disk.start(request(Op::Write, 0, 1));
            if queues && disk.ring.is_some() {
                disk.hand_over();
            }
        }
        std::fs::remove_file(&path).expect("it was there");
    }
}
