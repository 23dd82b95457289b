//! Memory of a shared buffer: a file without a name that the monitor maps into the guest, so that the guest's loads and
//! stores need no message.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use shared_buffer::{Region, WORD};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

/// The memory, mapped here.
#[derive(Debug)]
pub(crate) struct SharedMemory(MmapRegion);

impl SharedMemory {
    /// Creates `bytes` bytes of zeros.
    ///
    /// # Errors
    /// Fails if there is no memory.
    pub fn new(bytes: u64) -> io::Result<SharedMemory> {
        let file = File::from(memfd_create("nandram-buffer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        file.set_len(bytes)?;
        // If the monitor could shorten the file, an access here would end the process.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let size = usize::try_from(bytes).map_err(io::Error::other)?;
        Ok(SharedMemory(MmapRegion::from_file(FileOffset::new(file, 0), size).map_err(io::Error::other)?))
    }

    /// Returns the file that the monitor maps.
    pub fn file(&self) -> &File {
        self.0.file_offset().expect("the memory is a file").file()
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    /// Reads bytes at `offset`; beyond the end, ones.
    pub fn read(&self, offset: u64, to: &mut [u8]) {
        to.fill(0xff);
        if let Ok(at) = usize::try_from(offset) {
            // It fails only beyond the end.
            let _ = self.0.as_volatile_slice().read(to, at);
        }
    }

    /// Writes bytes at `offset`, as far as it has any.
    pub fn write(&self, offset: u64, from: &[u8]) {
        if let Ok(at) = usize::try_from(offset) {
            // It fails only beyond the end.
            let _ = self.0.as_volatile_slice().write(from, at);
        }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        self.0.get_atomic_ref(at * WORD).unwrap_or_else(|error| panic!("word {at} of the buffer: {error}"))
    }
}

impl Region for SharedMemory {
    fn words(&self) -> usize {
        self.0.len() / WORD
    }

    fn load(&self, at: usize, order: Ordering) -> u64 {
        u64::from_le(self.word(at).load(order))
    }

    fn store(&self, at: usize, value: u64, order: Ordering) {
        self.word(at).store(value.to_le(), order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn both_sides_see_the_same_bytes_and_neither_can_shorten_them() {
        let memory = SharedMemory::new(8192).expect("memory");
        assert_eq!((memory.words(), memory.bytes()), (1024, 8192));
        Region::store(&memory, 2, 0x0807_0605_0403_0201, Ordering::Release);
        let mut seen = [0; 8];
        memory.file().read_exact_at(&mut seen, 16).expect("the file");
        assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
        memory.file().write_all_at(&[9], 16).expect("the file");
        assert_eq!(Region::load(&memory, 2, Ordering::Acquire), 0x0807_0605_0403_0209);
        assert!(memory.file().set_len(4096).is_err(), "the file is sealed");
    }

    #[test]
    fn accesses_of_any_size_stay_inside() {
        let memory = SharedMemory::new(4096).expect("memory");
        memory.write(4095, &[1, 2, 3]);
        memory.write(u64::MAX, &[7; 8]);
        let mut read = [0; 4];
        memory.read(4094, &mut read);
        assert_eq!(read, [0, 1, 0xff, 0xff]);
        memory.read(u64::MAX - 1, &mut read);
        assert_eq!(read, [0xff; 4]);
    }
}
