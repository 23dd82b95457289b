//! Discard of a range of a block device.

use std::fs::File;
use std::io;

use rustix::ioctl::{Setter, ioctl};

/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
const BLKDISCARD: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 119);

/// Tells a drive that a range is no longer needed (NVMe Dataset Management, ATA TRIM, SCSI UNMAP).
pub(crate) fn discard(drive: &File, offset: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: BLKDISCARD reads two 64-bit words, first byte and length, from where its argument points, and writes
    // nothing to memory.
    let discarded = unsafe { ioctl(drive, Setter::<BLKDISCARD, [u64; 2]>::new([offset, bytes])) };
    Ok(discarded?)
}
