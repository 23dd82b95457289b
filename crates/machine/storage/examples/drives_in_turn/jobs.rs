//! The jobs: each keeps a number of requests outstanding and visits the drives in turn.

use media::{Op, Request};
use sim::Histogram;

/// Bytes of a request.
pub const BYTES: u64 = 4096;

/// A sequence of random addresses. Jobs with the same sequence repeat each other.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Number of the sequence.
    pub sequence: u64,
    /// Number of requests that fit on a drive.
    pub requests: u64,
}

impl Addresses {
    /// Returns request `index` of the sequence, drawn by the finalizer of splitmix64.
    pub fn request(self, op: Op, index: u64) -> Request {
        let mut bits = (index ^ (self.sequence << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
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
    /// Index of its next request.
    next: u64,
    /// Core on which it runs; `None` if it hardly uses one.
    pub core: Option<usize>,
    /// Response times in the measured part.
    pub times: Histogram,
}

impl Job {
    /// Creates a job that begins with request `next` of its sequence.
    pub fn new(op: Op, depth: u32, addresses: Addresses, next: u64, core: Option<usize>) -> Job {
        Job { op, depth, addresses, next, core, times: Histogram::new() }
    }

    /// Returns the next request and the drive that it visits.
    pub fn next(&mut self, drives: usize) -> (usize, Request) {
        let index = self.next;
        self.next += 1;
        ((index % drives as u64) as usize, self.addresses.request(self.op, index))
    }
}
