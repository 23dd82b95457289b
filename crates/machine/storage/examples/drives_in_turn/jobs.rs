//! The jobs: each keeps a number of requests outstanding and visits the drives in turn.

use media::{Op, Request};
use sim::Histogram;

/// Bytes of a request.
pub const BYTES: u64 = 4096;

/// The random addresses that jobs send to a drive, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Number of the sequence of the first writer.
    pub sequence: u64,
    /// True if each writer has a sequence of its own. Otherwise, they repeat each other.
    pub own: bool,
    /// Number of requests that fit on a drive.
    pub requests: u64,
}

impl Addresses {
    /// Returns request `index` of `writer`, drawn by the finalizer of splitmix64.
    pub fn request(self, op: Op, writer: u64, index: u64) -> Request {
        let sequence = self.sequence + if self.own { writer << 20 } else { 0 };
        let mut bits = (index ^ (sequence << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let at = (u128::from(bits) * u128::from(self.requests)) >> 64;
        Request::new(op, at as u64 * BYTES, BYTES)
    }
}

/// A job and its measurements.
pub struct Job {
    op: Op,
    /// Number of requests that it keeps outstanding.
    pub depth: u32,
    addresses: Addresses,
    /// Whose addresses it sends.
    writer: u64,
    /// Index of its first request to each drive.
    first: Vec<u64>,
    /// Number of requests so far.
    sent: u64,
    /// Core on which it runs; `None` if it hardly uses one.
    pub core: Option<usize>,
    /// Response times in the measured part.
    pub times: Histogram,
}

impl Job {
    /// Creates a job that sends addresses of `writer`, those with the indexes `first` on.
    pub fn new(op: Op, depth: u32, (addresses, writer): (Addresses, u64), first: Vec<u64>, core: Option<usize>) -> Job {
        Job { op, depth, addresses, writer, first, sent: 0, core, times: Histogram::new() }
    }

    /// Returns the next request and the drive that it visits.
    pub fn next(&mut self) -> (usize, Request) {
        let drives = self.first.len() as u64;
        let (turn, drive) = (self.sent / drives, (self.sent % drives) as usize);
        self.sent += 1;
        (drive, self.addresses.request(self.op, self.writer, self.first[drive] + turn))
    }
}
