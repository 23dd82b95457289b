//! Counts and latencies of I/O commands, for a summary.

use media::Op;
use sim::{Histogram, Time};

/// Commands of one kind.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// From the fetch of the command's entry to the arrival of its completion at the host: the interrupt, or the entry
    /// if the queue has no interrupt.
    pub latencies: Histogram,
    /// Bytes read, written or deallocated.
    pub bytes: u64,
    /// Commands that failed.
    pub errors: u64,
}

/// All I/O commands by kind.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Read.
    pub read: Class,
    /// Write and Write Zeroes.
    pub write: Class,
    /// Dataset Management.
    pub trim: Class,
    /// Flush, Compare, Verify and Copy, zone management, and commands that do not exist.
    pub other: Class,
    /// Admin commands.
    pub admin: u64,
}

impl Statistics {
    /// Records a command that ended after `latency`; one that is no read, write or trim counts as a flush.
    pub(crate) fn record(&mut self, op: Op, bytes: u64, latency: Time, failed: bool) {
        let class = match op {
            Op::Read => &mut self.read,
            Op::Write | Op::Append => &mut self.write,
            Op::Trim => &mut self.trim,
            _ => &mut self.other,
        };
        class.latencies.record(latency);
        class.errors += u64::from(failed);
        class.bytes += if failed { 0 } else { bytes };
    }
}
