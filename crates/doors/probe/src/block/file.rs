//! Checks that requests to a plain file reach a drive: that they bypass the page cache and are not served by the file
//! system alone.

use std::fs::File;

use rustix::fs::{AtFlags, SeekFrom, StatxFlags, fstatfs, seek, statx};

use super::refusal::Refusal;
use super::usage::Mount;

/// Magic numbers of memory file systems (statfs(2)).
const IN_MEMORY: [(i64, &str); 2] = [(0x0102_1994, "tmpfs"), (0x8584_58f6, "ramfs")];

/// Refuses a file on a memory file system.
pub(super) fn in_memory(path: &str, file: &File) -> Result<(), Refusal> {
    let found = fstatfs(file).map_err(|error| Refusal::io(path, error))?;
    match IN_MEMORY.iter().find(|(magic, _)| *magic == found.f_type as i64) {
        Some((_, kind)) => Err(Refusal::InMemory { path: path.to_owned(), kind }),
        None => Ok(()),
    }
}

/// Returns the alignment that direct I/O requires, in bytes (statx(2), `STATX_DIOALIGN`, since Linux 6.1; on older
/// kernels one page, which satisfies every file system).
pub(super) fn direct_alignment(path: &str, file: &File, mount: Option<&Mount>) -> Result<u64, Refusal> {
    let none = || {
        let kind = mount.map_or_else(String::new, |mount| format!(" ({})", mount.kind));
        Refusal::NoDirect { path: path.to_owned(), kind }
    };
    let found =
        statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).map_err(|error| Refusal::io(path, error))?;
    if found.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Ok(4096);
    }
    match u64::from(found.stx_dio_offset_align) {
        0 => Err(none()),
        bytes => Ok(bytes.max(512)),
    }
}

/// Returns the bytes for which the file system stores no data: never written, or only preallocated.
pub(super) fn holes(path: &str, file: &File, bytes: u64) -> Result<u64, Refusal> {
    let failed = |error| Refusal::io(path, error);
    let (mut at, mut holes) = (0, 0);
    while at < bytes {
        let hole = seek(file, SeekFrom::Hole(at)).map_err(failed)?;
        if hole >= bytes {
            break;
        }
        at = match seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(bytes),
            Err(rustix::io::Errno::NXIO) => bytes,
            Err(error) => return Err(failed(error)),
        };
        holes += at - hole;
    }
    Ok(holes)
}
