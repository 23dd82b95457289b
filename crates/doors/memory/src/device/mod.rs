//! The interface to whatever stores the bytes: a file, a drive or a test double.

pub(crate) mod disk;
pub(crate) mod overlay;

use std::io;
use std::os::fd::BorrowedFd;

use direct::Aligned;

/// The operation of a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads into the first bytes of the buffer.
    Read,
    /// Writes the first bytes of the buffer.
    Write,
    /// Makes the data of all completed writes durable.
    Flush,
}

/// An I/O request. Offset and length are multiples of the segment size or of 4 KiB, whichever is smaller.
#[derive(Debug)]
pub struct Request {
    /// The operation.
    pub op: Op,
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: usize,
    /// A buffer of at least `bytes` bytes; unused by a flush.
    pub buffer: Aligned,
    /// Returned with the completion.
    pub user: u64,
}

/// A completed request.
#[derive(Debug)]
pub struct Ended {
    /// The request, whose buffer may be reused.
    pub request: Request,
    /// The outcome.
    pub result: io::Result<()>,
}

/// A store of bytes with asynchronous requests.
pub trait Device {
    /// Starts a request. Requests may be reordered, and a write may be torn at any sector if the machine fails before
    /// a flush.
    fn start(&mut self, request: Request);
    /// Returns the next completed request, waiting for it if necessary.
    ///
    /// # Errors
    /// If the device fails as a whole. Then no started request ever completes.
    ///
    /// # Panics
    /// If no request is in flight.
    fn wait(&mut self) -> io::Result<Ended>;
    /// Returns whether any request is in flight.
    fn is_busy(&self) -> bool;
    /// Registers this opener as a concurrent reader under `generation`, replacing any earlier registration, until the
    /// device is dropped.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn register(&mut self, _generation: u64) -> io::Result<()> {
        Ok(())
    }
    /// Returns the first generation with registered readers among the `count` (0: all) generations starting at
    /// `from`.
    fn reader(&mut self, _from: u64, _count: u64) -> Option<u64> {
        None
    }
    /// Returns whether [`wait`](Self::wait) would return at once. After this call, started requests make progress on
    /// their own.
    fn is_ready(&mut self) -> bool {
        self.is_busy()
    }
    /// Returns a descriptor that is readable when a request has completed, if the device has one.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Discards the data of a range. Its content is unspecified afterwards, and failure to free the space is ignored.
    fn release(&mut self, offset: u64, bytes: u64);
}
