//! The guest's memory: mappings of the file descriptors that the monitor sends.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use guest::{BadAddress, Buffer, GuestMemory};
use vm_memory::{
    Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion, GuestRegionMmap,
    MmapRegion,
};

use crate::shared_memory::SharedMemory;

/// The guest's memory, shared between the drive and the socket's thread, which changes the mappings.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    guest: Arc<RwLock<GuestMemoryMmap>>,
    buffer: Arc<Mutex<Option<Arc<SharedMemory>>>>,
}

impl Mappings {
    /// Adds `size` bytes at guest address `address`, which begin at `offset` of `file`.
    ///
    /// # Errors
    /// Fails if the range is empty, overlaps another mapping, or is not all in the file.
    pub fn map(&self, address: u64, size: u64, offset: u64, file: File) -> io::Result<()> {
        // An access beyond the end of the file would end the process.
        let end = offset.checked_add(size).ok_or_else(invalid)?;
        if end > file.metadata()?.len() {
            return Err(invalid());
        }
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let region = MmapRegion::from_file(FileOffset::new(file, offset), size).map_err(io::Error::other)?;
        let region = GuestRegionMmap::new(region, GuestAddress(address)).ok_or_else(invalid)?;
        let mut memory = self.guest.write().unwrap_or_else(PoisonError::into_inner);
        *memory = memory.insert_region(Arc::new(region)).map_err(io::Error::other)?;
        Ok(())
    }

    /// Removes all mappings that lie in `size` bytes at `address`.
    ///
    /// # Errors
    /// Fails if a mapping lies only partly in the range.
    pub fn unmap(&self, address: u64, size: u64) -> io::Result<()> {
        let mut memory = self.guest.write().unwrap_or_else(PoisonError::into_inner);
        let end = address.checked_add(size).ok_or_else(invalid)?;
        let overlapping: Vec<(u64, u64)> = memory
            .iter()
            .map(|region| (region.start_addr().0, region.len()))
            .filter(|(from, bytes)| *from < end && address < from + bytes)
            .collect();
        if overlapping.iter().any(|(from, bytes)| *from < address || from + bytes > end) {
            return Err(invalid());
        }
        for (from, bytes) in overlapping {
            (*memory, _) = memory.remove_region(GuestAddress(from), bytes).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Removes all mappings.
    pub fn clear(&self) {
        *self.guest.write().unwrap_or_else(PoisonError::into_inner) = GuestMemoryMmap::new();
    }

    /// Returns the memory of the drive's shared buffer, if it has one.
    pub(crate) fn buffer(&self) -> Option<Arc<SharedMemory>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets `act` use the current mappings.
    fn with<R>(&self, act: impl FnOnce(&GuestMemoryMmap) -> R) -> R {
        act(&self.guest.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidInput.into()
}

impl GuestMemory for Mappings {
    fn contains(&self, address: u64, bytes: u64) -> bool {
        let (Ok(length), Some(_)) = (usize::try_from(bytes), address.checked_add(bytes)) else { return false };
        self.with(|memory| memory.check_range(GuestAddress(address), length))
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BadAddress> {
        let bytes = to.len() as u64;
        self.with(|memory| memory.read_slice(to, GuestAddress(address))).map_err(|_| BadAddress { address, bytes })
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let bytes = from.len() as u64;
        if !self.contains(address, bytes) {
            return Err(BadAddress { address, bytes });
        }
        self.with(|memory| memory.write_slice(from, GuestAddress(address))).map_err(|_| BadAddress { address, bytes })
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
    use std::os::unix::fs::FileExt;

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
}
