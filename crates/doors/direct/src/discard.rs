//! Giving space back: discard of a range of a block device, a hole in a file.

use std::fs::File;
use std::io;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::ioctl::{Setter, ioctl};

/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
const BLKDISCARD: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 119);

/// Tells a drive that a range is no longer needed (NVMe Dataset Management, ATA TRIM, SCSI UNMAP).
///
/// # Errors
/// What the kernel says, of a plain file for one.
pub fn discard(drive: &File, offset: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: BLKDISCARD reads two 64-bit words, first byte and length, from where its argument points, and writes
    // nothing to memory.
    let discarded = unsafe { ioctl(drive, Setter::<BLKDISCARD, [u64; 2]>::new([offset, bytes])) };
    Ok(discarded?)
}

/// Gives a range of a plain file back to the file system; it reads as zeros then.
///
/// # Errors
/// What the kernel says: not all file systems have holes.
pub fn punch(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)?)
}
