//! Releases space: discards a range of a block device, or punches a hole into a file.

use std::fs::File;
use std::io;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::ioctl::{Setter, ioctl};

/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
const BLKDISCARD: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 119);

/// Discards a range of a drive (NVMe Dataset Management, ATA TRIM, SCSI UNMAP).
///
/// # Errors
/// The kernel's error, for example if `drive` is a plain file.
pub fn discard(drive: &File, offset: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: BLKDISCARD reads two 64-bit words, offset and length, from its argument, and writes nothing to memory.
    let discarded = unsafe { ioctl(drive, Setter::<BLKDISCARD, [u64; 2]>::new([offset, bytes])) };
    Ok(discarded?)
}

/// Returns a range of a plain file to the file system; the range reads as zeros afterwards.
///
/// # Errors
/// The kernel's error; not all file systems support holes.
pub fn punch(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)?)
}
