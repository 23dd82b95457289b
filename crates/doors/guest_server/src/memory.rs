//! The guest's memory: mappings of the file descriptors that the monitor sends.
//!
//! An access to a mapping beyond the end of its file ends the process (SIGBUS), and a monitor can shorten a file after it
//! was mapped. QEMU's `memory-backend-memfd` seals its files against that by default, and this module seals a file that
//! allows it. Any other file is not accessed through its mapping but read and written, which takes a system call per
//! access and fails beyond the end.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use guest::{BadAddress, Buffer, GuestMemory};
use rustix::fs::{SealFlags, fcntl_add_seals, fcntl_get_seals, fstatfs};
use vm_memory::{
    Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion, GuestRegionMmap,
    MmapRegion,
};

use crate::shared_memory::SharedMemory;

/// `HUGETLBFS_MAGIC` of `linux/magic.h`: files that can only be mapped.
const HUGETLBFS: u64 = 0x958_458f6;

/// The guest's memory, shared between the drive and the socket's thread, which changes the mappings.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    guest: Arc<RwLock<Guest>>,
    buffer: Arc<Mutex<Option<Arc<SharedMemory>>>>,
}

/// The mappings, and the addresses whose file the monitor can shorten.
#[derive(Debug, Default)]
struct Guest {
    memory: GuestMemoryMmap,
    unsealed: BTreeSet<u64>,
}

impl Guest {
    /// Calls `act` for the files, offsets and bytes that hold `bytes` bytes at `address`, if a file among them can be
    /// shortened. Returns false if none can: then the mappings can be used.
    fn through_files(
        &self,
        address: u64,
        bytes: usize,
        mut act: impl FnMut(&File, u64, Range<usize>) -> io::Result<()>,
    ) -> io::Result<bool> {
        if self.unsealed.is_empty() {
            return Ok(false);
        }
        let mut done = 0;
        while done < bytes {
            let at = GuestAddress(address.checked_add(done as u64).ok_or_else(invalid)?);
            let (region, within) = self.memory.to_region_addr(at).ok_or_else(invalid)?;
            let count = (bytes - done).min((region.len() - within.0) as usize);
            let place = region.file_offset().ok_or_else(invalid)?;
            act(place.file(), place.start() + within.0, done..done + count)?;
            done += count;
        }
        Ok(true)
    }
}

/// Seals a file against shortening. Returns false if that is impossible.
///
/// # Errors
/// Fails for a file that can neither be sealed nor be read and written.
fn seal(file: &File) -> io::Result<bool> {
    let is_sealed = || fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    if is_sealed() || fcntl_add_seals(file, SealFlags::SHRINK).is_ok() {
        return Ok(true);
    }
    if fstatfs(file)?.f_type as u64 == HUGETLBFS {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(false)
}

impl Mappings {
    /// Adds `size` bytes at guest address `address`, which begin at `offset` of `file`.
    ///
    /// # Errors
    /// Fails if the range is empty, overlaps another mapping, or is not all in the file; and for a file of huge pages that
    /// can be shortened.
    pub fn map(&self, address: u64, size: u64, offset: u64, file: File) -> io::Result<()> {
        let is_sealed = seal(&file)?;
        let end = offset.checked_add(size).ok_or_else(invalid)?;
        if end > file.metadata()?.len() {
            return Err(invalid());
        }
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let region = MmapRegion::from_file(FileOffset::new(file, offset), size).map_err(io::Error::other)?;
        let region = GuestRegionMmap::new(region, GuestAddress(address)).ok_or_else(invalid)?;
        let mut guest = self.guest.write().unwrap_or_else(PoisonError::into_inner);
        guest.memory = guest.memory.insert_region(Arc::new(region)).map_err(io::Error::other)?;
        if !is_sealed {
            guest.unsealed.insert(address);
        }
        Ok(())
    }

    /// Removes all mappings that lie in `size` bytes at `address`.
    ///
    /// # Errors
    /// Fails if a mapping lies only partly in the range.
    pub fn unmap(&self, address: u64, size: u64) -> io::Result<()> {
        let mut guest = self.guest.write().unwrap_or_else(PoisonError::into_inner);
        let end = address.checked_add(size).ok_or_else(invalid)?;
        let overlapping: Vec<(u64, u64)> = guest
            .memory
            .iter()
            .map(|region| (region.start_addr().0, region.len()))
            .filter(|(from, bytes)| *from < end && address < from + bytes)
            .collect();
        if overlapping.iter().any(|(from, bytes)| *from < address || from + bytes > end) {
            return Err(invalid());
        }
        for (from, bytes) in overlapping {
            (guest.memory, _) = guest.memory.remove_region(GuestAddress(from), bytes).map_err(io::Error::other)?;
            guest.unsealed.remove(&from);
        }
        Ok(())
    }

    /// Removes all mappings.
    pub fn clear(&self) {
        *self.guest.write().unwrap_or_else(PoisonError::into_inner) = Guest::default();
    }

    /// Returns the memory of the drive's shared buffer, if it has one.
    pub(crate) fn buffer(&self) -> Option<Arc<SharedMemory>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets `act` use the current mappings.
    fn with<R>(&self, act: impl FnOnce(&Guest) -> R) -> R {
        act(&self.guest.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidInput.into()
}

/// Writes to a file without making it longer.
fn write_within(file: &File, from: &[u8], at: u64) -> io::Result<()> {
    if at + from.len() as u64 > file.metadata()?.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.write_all_at(from, at)
}

impl GuestMemory for Mappings {
    fn contains(&self, address: u64, bytes: u64) -> bool {
        let (Ok(length), Some(_)) = (usize::try_from(bytes), address.checked_add(bytes)) else { return false };
        self.with(|guest| guest.memory.check_range(GuestAddress(address), length))
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BadAddress> {
        let bytes = to.len() as u64;
        let done = self.with(|guest| {
            let read = |file: &File, at: u64, range: Range<usize>| file.read_exact_at(&mut to[range], at);
            if guest.through_files(address, bytes as usize, read)? {
                return Ok(());
            }
            guest.memory.read_slice(to, GuestAddress(address)).map_err(io::Error::other)
        });
        done.map_err(|_| BadAddress { address, bytes })
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let bytes = from.len() as u64;
        if !self.contains(address, bytes) {
            return Err(BadAddress { address, bytes });
        }
        let done = self.with(|guest| {
            let write = |file: &File, at: u64, range: Range<usize>| write_within(file, &from[range], at);
            if guest.through_files(address, bytes as usize, write)? {
                return Ok(());
            }
            guest.memory.write_slice(from, GuestAddress(address)).map_err(io::Error::other)
        });
        done.map_err(|_| BadAddress { address, bytes })
    }

    fn create_buffer(&mut self, bytes: u64) -> io::Result<Arc<dyn Buffer>> {
        let memory = Arc::new(SharedMemory::new(bytes)?);
        *self.buffer.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory.clone());
        Ok(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};

    fn file(bytes: u64) -> File {
        let file = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).expect("memory"));
        file.set_len(bytes).expect("a size");
        file
    }

    #[test]
    fn accesses_cross_adjacent_mappings_and_reach_their_files() {
        let (mut memory, low, high) = (Mappings::default(), file(8192), file(4096));
        memory.map(0x1000, 4096, 4096, low.try_clone().expect("a copy")).expect("a mapping");
        memory.map(0x2000, 4096, 0, high).expect("a mapping");
        assert!(memory.contains(0x1000, 8192) && !memory.contains(0x1000, 8193) && !memory.contains(0xfff, 1));
        memory.write(0x1ffe, &[1, 2, 3, 4]).expect("memory");
        let (mut read, mut stored) = ([0; 4], [0; 2]);
        memory.read(0x1ffe, &mut read).expect("memory");
        low.read_exact_at(&mut stored, 8190).expect("the file");
        assert_eq!((read, stored), ([1, 2, 3, 4], [1, 2]));
        memory.unmap(0x1000, 4096).expect("a mapping");
        assert_eq!(memory.read(0x1ffe, &mut read), Err(BadAddress { address: 0x1ffe, bytes: 4 }));
        assert_eq!(memory.write(0x2ffe, &[0; 4]), Err(BadAddress { address: 0x2ffe, bytes: 4 }));
    }

    #[test]
    fn mappings_that_cannot_be_are_refused() {
        let memory = Mappings::default();
        assert!(memory.map(0, 8192, 0, file(4096)).is_err(), "beyond the end of the file");
        assert!(memory.map(0, 0, 0, file(4096)).is_err(), "empty");
        assert!(memory.map(u64::MAX - 4095, 8192, 0, file(8192)).is_err(), "beyond the last address");
        memory.map(0x1000, 8192, 0, file(8192)).expect("a mapping");
        assert!(memory.map(0x2000, 4096, 0, file(4096)).is_err(), "overlaps");
        assert!(memory.unmap(0x2000, 4096).is_err(), "a part of a mapping");
        assert!(memory.unmap(u64::MAX, 2).is_err(), "beyond the last address");
        memory.unmap(0, 1 << 40).expect("all mappings");
        assert!(!memory.contains(0x1000, 1));
    }

    #[test]
    fn memory_that_the_monitor_shortens_fails_accesses_and_nothing_else() {
        for flags in [MemfdFlags::CLOEXEC, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING] {
            let file = File::from(memfd_create("guest", flags).expect("memory"));
            file.set_len(1 << 20).expect("a size");
            let mut memory = Mappings::default();
            memory.map(0x1000, 8192, 4096, file.try_clone().expect("a copy")).expect("a mapping");
            memory.map(0x3000, 4096, 0, super::tests::file(4096)).expect("a mapping");
            memory.write(0x2ff0, &[5; 32]).expect("memory");
            let (mut read, mut stored) = ([0; 32], [0; 16]);
            memory.read(0x2ff0, &mut read).expect("memory");
            file.read_exact_at(&mut stored, 4096 + 0x1ff0).expect("the file");
            assert_eq!((read, stored), ([5; 32], [5; 16]));
            if file.set_len(4096).is_err() {
                assert!(flags.contains(MemfdFlags::ALLOW_SEALING), "only a file that allows it is sealed");
                continue;
            }
            assert_eq!(flags, MemfdFlags::CLOEXEC);
            assert_eq!(memory.read(0x1000, &mut [0; 4]), Err(BadAddress { address: 0x1000, bytes: 4 }));
            assert_eq!(memory.write(0x1000, &[1; 4]), Err(BadAddress { address: 0x1000, bytes: 4 }));
            assert_eq!(file.metadata().expect("a file").len(), 4096, "it does not grow either");
            memory.write(0x3000, &[1; 4]).expect("the other memory");
        }
    }
}
