//! Memory of a guest, as a device reaches it.

use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffer::{Buffer, PlainBuffer};

/// An access outside the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} are outside guest memory")]
pub struct BadAddress {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Memory of a guest. An implementation must check every address, because addresses come from the guest.
pub trait GuestMemory: Debug + Send {
    /// Returns true if all `bytes` from `address` on are memory.
    fn contains(&self, address: u64, bytes: u64) -> bool;

    /// Reads memory.
    ///
    /// # Errors
    /// Fails if the range is not all memory; `to` is then unspecified.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BadAddress>;

    /// Writes memory.
    ///
    /// # Errors
    /// Fails if the range is not all memory; nothing outside memory is written.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress>;

    /// Creates the memory of a shared buffer, `bytes` of zeros that guest and device both reach, which replaces an
    /// earlier one.
    ///
    /// # Errors
    /// Fails if there is no memory.
    fn create_buffer(&mut self, bytes: u64) -> io::Result<Arc<dyn Buffer>>;
}

/// Guest memory from address zero on, shared with its owner.
#[derive(Clone, Debug)]
pub struct Ram {
    bytes: Arc<Mutex<Vec<u8>>>,
    buffer: Arc<Mutex<Option<Arc<PlainBuffer>>>>,
}

impl Ram {
    /// Creates `bytes` bytes of zeros.
    pub fn new(bytes: usize) -> Ram {
        Ram { bytes: Arc::new(Mutex::new(vec![0; bytes])), buffer: Arc::default() }
    }

    /// Returns the shared buffer, if the device has created one.
    pub fn buffer(&self) -> Option<Arc<PlainBuffer>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets `act` use the memory's bytes.
    fn with<R>(&self, act: impl FnOnce(&mut [u8]) -> R) -> R {
        act(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the range of indices of `bytes` bytes at `address` in memory of `size` bytes.
fn range(address: u64, bytes: usize, size: usize) -> Result<std::ops::Range<usize>, BadAddress> {
    let end = address.checked_add(bytes as u64).filter(|end| *end <= size as u64);
    end.map(|end| address as usize..end as usize).ok_or(BadAddress { address, bytes: bytes as u64 })
}

impl GuestMemory for Ram {
    fn contains(&self, address: u64, bytes: u64) -> bool {
        self.with(|ram| address.checked_add(bytes).is_some_and(|end| end <= ram.len() as u64))
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BadAddress> {
        self.with(|ram| {
            to.copy_from_slice(&ram[range(address, to.len(), ram.len())?]);
            Ok(())
        })
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        self.with(|ram| {
            let at = range(address, from.len(), ram.len())?;
            ram[at].copy_from_slice(from);
            Ok(())
        })
    }

    fn create_buffer(&mut self, bytes: u64) -> io::Result<Arc<dyn Buffer>> {
        let buffer = Arc::new(PlainBuffer::new(bytes));
        *self.buffer.lock().unwrap_or_else(PoisonError::into_inner) = Some(buffer.clone());
        Ok(buffer)
    }
}
