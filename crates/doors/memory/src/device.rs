//! What keeps bytes: a file, a drive, or what a test puts in their place.

use std::io;
use std::os::fd::BorrowedFd;

use direct::Aligned;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The first bytes of the buffer are read.
    Read,
    /// They are written.
    Write,
    /// What was written by requests that have ended is to be durable.
    Flush,
}

/// A request. Offset and bytes are multiples of a segment's bytes or of 4 KiB, whichever is less.
#[derive(Debug)]
pub struct Request {
    /// What.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// How many.
    pub bytes: usize,
    /// Memory of at least as many; of a flush, whatever.
    pub buffer: Aligned,
    /// Comes back with the end.
    pub user: u64,
}

/// A request has ended.
#[derive(Debug)]
pub struct Ended {
    /// The request. Its buffer is free again.
    pub request: Request,
    /// How.
    pub result: io::Result<()>,
}

/// Keeps bytes.
pub trait Device {
    /// Starts a request. It may overtake others, and be torn at any sector if the machine fails before a flush.
    fn start(&mut self, request: Request);
    /// The end of one that was started; waits for it if need be.
    ///
    /// # Errors
    /// If the device fails as a whole: nothing that was started ever ends.
    ///
    /// # Panics
    /// If nothing is under way.
    fn wait(&mut self) -> io::Result<Ended>;
    /// Whether anything is under way.
    fn is_busy(&self) -> bool;
    /// Registers whoever opened this as a reader beside the writer, under `generation` and no other, until this is dropped.
    ///
    /// # Errors
    /// If the system refuses.
    fn register(&mut self, _generation: u64) -> io::Result<()> {
        Ok(())
    }
    /// The first generation, of the `count` (0: all) from `from` on, under which readers beside are registered.
    fn reader(&mut self, _from: u64, _count: u64) -> Option<u64> {
        None
    }
    /// Whether [`wait`](Self::wait) returns at once. What was started goes on by itself from here.
    fn is_ready(&mut self) -> bool {
        self.is_busy()
    }
    /// Readable when something has ended, if what is started can be waited for that way.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// A range holds nothing any more. What it reads as then does not matter; that it cannot be given back neither.
    fn release(&mut self, offset: u64, bytes: u64);
}
