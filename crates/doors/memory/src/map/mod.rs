//! Maps a memory into the address space of the process with userfaultfd(2), for plain loads and stores.
//!
//! [`pages`] decides what is mapped and what is evicted, and [`ahead`] what to read ahead; neither touches the kernel.
//! [`uffd`] wraps the kernel interface. [`mapping`] combines them with the memory, and a thread ([`pager`]) serves the
//! faults of the program's threads.

mod ahead;
mod calls;
mod digests;
#[cfg(test)]
mod interleavings;
mod mapping;
#[cfg(test)]
mod overtaken;
mod pager;
mod pages;
mod source;
mod stats;
mod uffd;

use std::sync::Arc;

use nvmm::{Permissions, Token};

pub use ahead::Advice;
pub use source::Source;
pub use stats::MapStats;

use self::mapping::Mapping;
use self::pager::PagerHandle;
use self::uffd::Region;
use crate::device::Device;
use crate::error::Error;
use crate::{Disk, Memory, Shape, Stats};

/// A mapped memory: its byte at address `a` is at [`base`](Self::base) + `a`. All calls of [`Memory`] remain available.
///
/// A load or store of data outside DRAM waits until the data is fetched. If the data cannot be read, is not allocated
/// or may not be accessed, the process aborts with a one-line message, because the load or store cannot return an
/// error. Calls return errors as usual.
pub struct Mapped<D: Device + Send + 'static = Disk> {
    pager: Arc<PagerHandle<D>>,
}

/// A range of mapped addresses, which stay reserved until the area is dropped.
#[derive(Clone)]
pub struct Area {
    _pager: Arc<dyn Send + Sync>,
    start: usize,
    bytes: u64,
}

impl Area {
    /// Returns the address of the first byte.
    pub fn start(&self) -> *mut u8 {
        self.start as *mut u8
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<D: Device + Send + 'static> Mapped<D> {
    /// Maps a memory. Seven eighths of its DRAM hold mapped segments.
    ///
    /// # Errors
    /// If the kernel does not allow this process to use userfaultfd. The memory is returned unchanged.
    pub fn new(memory: Memory<D>) -> Result<Mapped<D>, Box<(Memory<D>, Error)>> {
        Mapped::with_sources(memory, &Source::ALL)
    }

    /// Maps a memory with page faults from the first usable interface in `sources`.
    ///
    /// # Errors
    /// Same as [`new`](Self::new).
    pub fn with_sources(memory: Memory<D>, sources: &[Source]) -> Result<Mapped<D>, Box<(Memory<D>, Error)>> {
        let shape = memory.shape();
        let page = rustix::param::page_size();
        if page != shape.segment_bytes as usize {
            let why = format!("its segments are {} bytes, but the kernel's pages are {page}", shape.segment_bytes);
            let path = memory.path.clone();
            return Err(Box::new((memory, Error::NotMappable { path, why })));
        }
        let bytes = u64::from(shape.pages) * shape.page_bytes();
        let region = match Region::new(bytes, shape.segment_bytes, sources) {
            Ok(region) => region,
            Err(refused) => {
                let refused: Vec<String> = refused.iter().map(|(source, why)| format!("{source}: {why}")).collect();
                let why = format!(
                    "the kernel does not allow this process to use userfaultfd ({}): set the sysctl vm.unprivileged_userfaultfd=1 or grant access to /dev/userfaultfd; read and write work without either",
                    if refused.is_empty() { "nothing was tried".to_owned() } else { refused.join("; ") }
                );
                let path = memory.path.clone();
                return Err(Box::new((memory, Error::NotMappable { path, why })));
            }
        };
        let mapping = Mapping::new(memory, region)?;
        Ok(Mapped { pager: PagerHandle::start(mapping, shape) })
    }

    /// Returns the interface that delivers the page faults.
    pub fn source(&self) -> Source {
        self.pager.source
    }

    /// Returns the address that corresponds to the memory's address 0.
    pub fn base(&self) -> *mut u8 {
        self.pager.base as *mut u8
    }

    /// Returns whether `bytes` overlap the mapping.
    fn has(&self, bytes: &[u8]) -> bool {
        let shape = self.pager.shape;
        let (base, end) = (self.pager.base, self.pager.base + (shape.capacity() + shape.page_bytes()) as usize);
        let start = bytes.as_ptr() as usize;
        start < end && start + bytes.len() > base
    }

    /// Returns the memory's fixed parameters.
    pub fn shape(&self) -> Shape {
        self.pager.shape
    }

    /// Returns the mapped addresses of `bytes` bytes starting at `address`.
    ///
    /// # Errors
    /// If a page is not allocated or may not be read.
    pub fn area(&self, address: u64, bytes: u64) -> Result<Area, Error> {
        self.with(|memory| memory.check(address, bytes))?;
        let pager: Arc<dyn Send + Sync> = self.pager.clone();
        Ok(Area { start: self.pager.base + address as usize, _pager: pager, bytes })
    }

    /// Calls `call`, which must neither change data nor invoke a call that `Mapped` provides itself.
    ///
    /// # Errors
    /// Those of `call`.
    pub fn with<T>(&self, call: impl FnOnce(&mut Memory<D>) -> Result<T, Error>) -> Result<T, Error> {
        self.pager.with_mapping(|mapping| mapping.open().and_then(call))
    }

    /// Reads; see [`Memory::read`].
    ///
    /// # Errors
    /// Same as [`Memory::read`].
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        if self.has(into) {
            // Storing to the destination may fault, and the pager serves no fault during a call, so copy afterwards.
            let mut copy = vec![0; into.len()];
            self.pager.with_mapping(|mapping| mapping.read(address, &mut copy))?;
            into.copy_from_slice(&copy);
            return Ok(());
        }
        self.pager.with_mapping(|mapping| mapping.read(address, into))
    }

    /// Writes; see [`Memory::write`].
    ///
    /// # Errors
    /// Same as [`Memory::write`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        if self.has(bytes) {
            // Loading from the source may fault too, so copy beforehand.
            let copy = bytes.to_vec();
            return self.pager.with_mapping(|mapping| mapping.write(address, &copy));
        }
        self.pager.with_mapping(|mapping| mapping.write(address, bytes))
    }

    /// Syncs a consistent snapshot; see [`Memory::sync`]. Stores, and loads of data outside DRAM, wait meanwhile.
    ///
    /// # Errors
    /// Same as [`Memory::sync`].
    pub fn sync(&self, name: Option<&str>) -> Result<Token, Error> {
        self.pager.with_mapping(|mapping| mapping.sync(name))
    }

    /// Syncs like [`sync`](Self::sync), without a token; see [`Memory::flush`].
    ///
    /// # Errors
    /// Same as [`Memory::flush`].
    pub fn flush(&self) -> Result<(), Error> {
        self.pager.with_mapping(Mapping::flush)
    }

    /// Rolls back; see [`Memory::rollback`]. From then on the mapping shows the restored data; touching a page that the
    /// restored state does not have aborts the process.
    ///
    /// # Errors
    /// Same as [`Memory::rollback`].
    pub fn rollback(&self, token: Token) -> Result<(), Error> {
        self.pager.with_mapping(|mapping| mapping.rollback(token))
    }

    /// Deletes pages; see [`Memory::delete`].
    ///
    /// # Errors
    /// Same as [`Memory::delete`].
    pub fn delete(&self, address: u64, bytes: u64) -> Result<(), Error> {
        self.pager.with_mapping(|mapping| mapping.delete(address, bytes))
    }

    /// Sets permissions; see [`Memory::set_permissions`].
    ///
    /// # Errors
    /// Same as [`Memory::set_permissions`].
    pub fn set_permissions(&self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        self.pager.with_mapping(|mapping| mapping.set_permissions(address, bytes, permissions))
    }

    /// Announces the access order of a range.
    ///
    /// # Errors
    /// If the range is not allocated.
    pub fn advise(&self, address: u64, bytes: u64, advice: Advice) -> Result<(), Error> {
        self.pager.with_mapping(|mapping| {
            let memory = mapping.open()?;
            memory.check(address, bytes)?;
            let segment = u64::from(memory.shape().segment_bytes);
            mapping.ahead.advise(address / segment..(address + bytes).div_ceil(segment), advice);
            Ok(())
        })
    }

    /// Starts reading a range into DRAM, as far as there is room, and returns without waiting.
    ///
    /// # Errors
    /// If the range is not allocated.
    pub fn will_need(&self, address: u64, bytes: u64) -> Result<(), Error> {
        self.pager.with_mapping(|mapping| mapping.will_need(address, bytes))
    }

    /// Evicts a range from the mapping. Dirty data is kept, and the next access faults.
    ///
    /// # Errors
    /// If the range is not allocated, or there is no space to write dirty data back.
    pub fn not_needed(&self, address: u64, bytes: u64) -> Result<(), Error> {
        self.pager.with_mapping(|mapping| mapping.not_needed(address, bytes))
    }

    /// Returns the statistics; see [`Memory::stats`].
    ///
    /// # Errors
    /// If the memory was closed.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.pager.with_mapping(Mapping::stats)
    }

    /// Closes the memory; see [`Memory::close`]. Closing twice has no effect. Addresses stay reserved while an [`Area`]
    /// exists, but touching them aborts the process.
    ///
    /// # Errors
    /// Same as [`Memory::close`].
    pub fn close(&self) -> Result<(), Error> {
        self.pager.with_mapping(Mapping::close)
    }
}
