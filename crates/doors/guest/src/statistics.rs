//! Counts and latencies of I/O commands, for a summary.

use sim::{Histogram, Time};

use crate::entry::opcode;

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
    /// Flush, and commands that do not exist.
    pub other: Class,
    /// Admin commands.
    pub admin: u64,
}

impl Statistics {
    /// Records a command of I/O queues that ended after `latency`.
    pub(crate) fn record(&mut self, code: u8, bytes: u64, latency: Time, failed: bool) {
        let class = match code {
            opcode::READ => &mut self.read,
            opcode::WRITE | opcode::WRITE_ZEROES => &mut self.write,
            opcode::DATASET_MANAGEMENT => &mut self.trim,
            _ => &mut self.other,
        };
        class.latencies.record(latency);
        class.errors += u64::from(failed);
        class.bytes += if failed { 0 } else { bytes };
    }
}
