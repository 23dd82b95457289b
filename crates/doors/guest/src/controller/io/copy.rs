//! Copy: all source ranges are read into the controller's memory, then written to the destination as one write.
//!
//! So a destination may overlap the sources: it receives what they held when the command began. Assumed, because the
//! text of the specification was not available: QEMU refuses an overlap only for the formats that name namespaces, which
//! are not supported.

use device::nvme::MEMORY_PAGE;
use media::{Op, Request};

use super::Plan;
use crate::controller::Controller;
use crate::controller::namespaces::Namespace;
use crate::entry::{Entry, Status};
use crate::pointers;

/// Maximum number of source ranges (MSRC + 1). Assumed: QEMU's default.
pub(in crate::controller) const RANGES_MAX: u32 = 128;
/// Copy descriptor formats, a bit each (OCFS): format 0 only.
pub(in crate::controller) const FORMATS: u16 = 1;
/// Bytes of a source range of format 0.
const RANGE: u64 = 32;

impl Controller {
    /// Returns the most blocks of a source range (MSSRL) and of a whole copy (MCL): those of the largest transfer, for
    /// which the drive's buffers have room.
    pub(in crate::controller) fn copy_limits(&self, namespace: &Namespace) -> (u16, u32) {
        let blocks = self.transfer_max >> namespace.shift();
        (blocks.min(u64::from(u16::MAX)) as u16, blocks as u32)
    }

    /// Returns the plan of Copy: a read of each source range, and the write. If it fails, no range counts as copied, so
    /// that dword 0 of the completion, the first such range, is 0.
    pub(super) fn plan_copy(&self, entry: &Entry) -> Plan {
        let (namespace, fields) = (self.namespace(entry)?, entry.dword(12));
        let (count, format) = ((fields & 0xff) + 1, fields >> 8 & 15);
        if FORMATS >> format & 1 == 0 {
            return Err(Status::INVALID_FIELD);
        }
        if count > RANGES_MAX {
            return Err(Status::SIZE_LIMIT_EXCEEDED);
        }
        let placement = self.handle_of(entry)?;
        let list_bytes = u64::from(count) * RANGE;
        let mut list = vec![0; list_bytes as usize];
        let segments = pointers::segments(&*self.memory, entry, list_bytes, MEMORY_PAGE)?;
        if !pointers::gather(&*self.memory, &segments, &mut list) {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        let sources: Vec<(u64, u64)> = list.chunks_exact(RANGE as usize).map(source).collect();
        let (one_max, all_max) = self.copy_limits(namespace);
        let blocks = sources.iter().map(|(_, blocks)| blocks).sum();
        if blocks > u64::from(all_max) || sources.iter().any(|(_, blocks)| *blocks > u64::from(one_max)) {
            return Err(Status::SIZE_LIMIT_EXCEEDED);
        }
        let range = |first, blocks| namespace.range(first, blocks).ok_or(Status::LBA_OUT_OF_RANGE);
        let read = |(first, blocks)| range(first, blocks).map(|(offset, bytes)| Request::new(Op::Read, offset, bytes));
        let reads: Result<Vec<Request>, Status> = sources.into_iter().map(read).collect();
        let (offset, bytes) = range(entry.lba(), blocks)?;
        let fua = fields >> 30 & 1 == 1 || !self.features.write_cache();
        let write = Request { fua, placement, ..Request::new(Op::Write, offset, bytes) };
        Ok((reads?.into_iter().chain([write]).collect(), list_bytes))
    }
}

/// Returns the first block and the number of blocks of a source range.
fn source(range: &[u8]) -> (u64, u64) {
    let first = u64::from_le_bytes(std::array::from_fn(|i| range[8 + i]));
    (first, u64::from(u16::from_le_bytes([range[16], range[17]])) + 1)
}
