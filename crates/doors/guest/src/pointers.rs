//! Data pointers: from PRP entries or SGL descriptors to ranges of guest memory (sections 4.3 and 4.4).

use crate::entry::{Entry, Status};
use crate::memory::GuestMemory;

/// A contiguous range of guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes, at least 1.
    pub bytes: u64,
}

/// Maximum number of SGL descriptors of a command, so that a command takes bounded time. Assumed: Linux uses one per
/// 4 KiB page, 128 for 512 KiB.
const DESCRIPTORS_MAX: u32 = 2048;
/// Bytes of a PRP entry and of an SGL descriptor.
const PRP: u64 = 8;
const DESCRIPTOR: u64 = 16;

/// Appends a range, merged with the one before it if it continues that.
fn push(segments: &mut Vec<Segment>, memory: &dyn GuestMemory, address: u64, bytes: u64) -> Result<(), Status> {
    if !memory.contains(address, bytes) {
        return Err(Status::DATA_TRANSFER_ERROR);
    }
    match segments.last_mut() {
        Some(last) if last.address + last.bytes == address => last.bytes += bytes,
        _ => segments.push(Segment { address, bytes }),
    }
    Ok(())
}

fn read_quad(memory: &dyn GuestMemory, address: u64) -> Result<u64, Status> {
    let mut quad = [0; 8];
    memory.read(address, &mut quad).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
    Ok(u64::from_le_bytes(quad))
}

/// Returns the ranges of guest memory that hold the `bytes` bytes of data of `entry`, with memory pages of `page`
/// bytes.
///
/// # Errors
/// Fails with the status of the command if its pointers are invalid.
pub(crate) fn segments(memory: &dyn GuestMemory, entry: &Entry, bytes: u64, page: u64) -> Result<Vec<Segment>, Status> {
    match entry.pointer_kind() {
        0 => prp_segments(memory, entry.pointer1(), entry.pointer2(), bytes, page),
        1 | 2 => sgl_segments(memory, [entry.pointer1(), entry.pointer2()], bytes),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Returns the ranges of a transfer described by two PRP entries.
///
/// # Errors
/// Fails with the status of the command if a pointer is invalid.
pub fn prp_segments(
    memory: &dyn GuestMemory,
    prp1: u64,
    prp2: u64,
    bytes: u64,
    page: u64,
) -> Result<Vec<Segment>, Status> {
    let mut segments = Vec::new();
    if bytes == 0 {
        return Ok(segments);
    }
    if !prp1.is_multiple_of(4) {
        return Err(Status::INVALID_PRP_OFFSET);
    }
    let first = bytes.min(page - prp1 % page);
    push(&mut segments, memory, prp1, first)?;
    let mut left = bytes - first;
    if left == 0 {
        return Ok(segments);
    }
    if left <= page {
        if !prp2.is_multiple_of(page) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        push(&mut segments, memory, prp2, left)?;
        return Ok(segments);
    }
    if !prp2.is_multiple_of(PRP) {
        return Err(Status::INVALID_PRP_OFFSET);
    }
    let mut at = prp2;
    while left > 0 {
        let entry = read_quad(memory, at)?;
        if !entry.is_multiple_of(page) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        // The last entry of a list page points to the next list page if more than one page of data is left.
        if at % page == page - PRP && left > page {
            at = entry;
            continue;
        }
        let now = left.min(page);
        push(&mut segments, memory, entry, now)?;
        left -= now;
        at = at.wrapping_add(PRP);
    }
    Ok(segments)
}

/// Types of SGL descriptors (section 4.4.1).
const DATA_BLOCK: u8 = 0x0;
const SEGMENT: u8 = 0x2;
const LAST_SEGMENT: u8 = 0x3;

/// Returns the ranges of a transfer described by an SGL with the descriptor `first`.
///
/// # Errors
/// Fails with the status of the command if a descriptor is invalid, or their lengths do not add up to `bytes`.
pub fn sgl_segments(memory: &dyn GuestMemory, first: [u64; 2], bytes: u64) -> Result<Vec<Segment>, Status> {
    let mut segments = Vec::new();
    let (mut left, mut read) = (bytes, 0);
    let (mut next, mut is_last_segment) = (Some(first), false);
    let (mut at, mut count) = (0u64, 0u64);
    while let Some([address, rest]) = next {
        read += 1;
        if read > DESCRIPTORS_MAX {
            return Err(Status::INVALID_SGL_COUNT);
        }
        let (length, kind, subtype) = (rest & 0xffff_ffff, (rest >> 60) as u8, rest >> 56 & 0xf);
        if subtype != 0 {
            return Err(Status::INVALID_SGL_TYPE);
        }
        match kind {
            DATA_BLOCK if length > left => return Err(Status::INVALID_SGL_LENGTH),
            DATA_BLOCK if length > 0 => {
                push(&mut segments, memory, address, length)?;
                left -= length;
            }
            DATA_BLOCK => {}
            // A descriptor of a segment must be the last of its own, and none follows from the last segment.
            SEGMENT | LAST_SEGMENT if count > 0 || is_last_segment => return Err(Status::INVALID_SGL_SEGMENT),
            SEGMENT | LAST_SEGMENT => {
                if length == 0 || !length.is_multiple_of(DESCRIPTOR) {
                    return Err(Status::INVALID_SGL_SEGMENT);
                }
                (at, count, is_last_segment) = (address, length / DESCRIPTOR, kind == LAST_SEGMENT);
            }
            _ => return Err(Status::INVALID_SGL_TYPE),
        }
        next = None;
        if count > 0 {
            let second = at.checked_add(PRP).ok_or(Status::DATA_TRANSFER_ERROR)?;
            next = Some([read_quad(memory, at)?, read_quad(memory, second)?]);
            at = at.checked_add(DESCRIPTOR).ok_or(Status::DATA_TRANSFER_ERROR)?;
            count -= 1;
        }
    }
    if left > 0 { Err(Status::INVALID_SGL_LENGTH) } else { Ok(segments) }
}

/// Copies `segments` of guest memory to `data`, which they fill. Returns false if a range is no longer memory; the
/// rest of `data` is then unchanged.
pub(crate) fn gather(memory: &dyn GuestMemory, segments: &[Segment], mut data: &mut [u8]) -> bool {
    for segment in segments {
        let (now, later) = data.split_at_mut((segment.bytes as usize).min(data.len()));
        if memory.read(segment.address, now).is_err() {
            return false;
        }
        data = later;
    }
    true
}

/// Copies `data` to `segments` of guest memory. Returns false if a range is no longer memory.
pub(crate) fn scatter(memory: &mut dyn GuestMemory, segments: &[Segment], mut data: &[u8]) -> bool {
    for segment in segments {
        let (now, later) = data.split_at((segment.bytes as usize).min(data.len()));
        if memory.write(segment.address, now).is_err() {
            return false;
        }
        data = later;
    }
    true
}
