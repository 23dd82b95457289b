//! Load and store: a memory at addresses of the process, by userfaultfd(2).
//!
//! [`pages`] says what is mapped and what leaves, [`ahead`] what will be touched next: both know no kernel. [`uffd`] is the kernel,
//! [`core`] brings them together with the memory, a thread of its own ([`pager`]) serves what the program's threads fault on.

mod ahead;
mod calls;
mod core;
#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod overtaken;
mod pager;
mod pages;
mod uffd;

use std::fmt;
use std::sync::Arc;

use nvmm::{Permissions, Token};

pub use ahead::Advice;

use self::core::Core;
use self::pager::Keeper;
use self::uffd::Region;
use crate::device::Device;
use crate::error::Error;
use crate::{Disk, Memory, Shape, Stats};

/// Where faults can be had from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `/dev/userfaultfd`, for whoever may open it.
    Device,
    /// The system call, for whoever may trace any process, or all if `vm.unprivileged_userfaultfd` is 1.
    Call,
    /// The system call, for anybody, and for faults of the program itself alone: a system call that is handed an address that is not mapped
    /// fails (`EFAULT`).
    UserOnly,
}

impl Source {
    /// All, best first.
    pub const ALL: [Source; 3] = [Source::Device, Source::Call, Source::UserOnly];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Device => "/dev/userfaultfd",
            Source::Call => "userfaultfd(2)",
            Source::UserOnly => "userfaultfd(2) for user mode only",
        })
    }
}

/// What was done for loads and stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapStats {
    /// Loads and stores that found nothing mapped.
    pub faults: u64,
    /// First stores to what was mapped for a load, or synced since.
    pub store_faults: u64,
    /// Segments that were mapped before they were asked for.
    pub read_ahead: u64,
    /// Segments that left.
    pub evicted: u64,
    /// Bytes that are mapped.
    pub mapped_bytes: u64,
}

/// A memory that is mapped: its byte at address `a` is at [`base`](Self::base) + `a`, and all calls are there as before.
///
/// A load or store of what is not in DRAM waits until it is. If it cannot be read, is not allocated, or its permissions do not allow it,
/// the process ends with a line that says so: nobody else can be told. The calls tell as before.
pub struct Mapped<D: Device + Send + 'static = Disk> {
    keeper: Arc<Keeper<D>>,
}

/// Addresses of a mapping, that stay its own while this is there.
#[derive(Clone)]
pub struct Area {
    _keeper: Arc<dyn Send + Sync>,
    start: usize,
    bytes: u64,
}

impl Area {
    /// The first.
    pub fn start(&self) -> *mut u8 {
        self.start as *mut u8
    }

    /// How many.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<D: Device + Send + 'static> Mapped<D> {
    /// Maps a memory. Of its DRAM seven parts in eight are for what is mapped.
    ///
    /// # Errors
    /// If the kernel does not let this process have its faults: then the memory is as before.
    pub fn new(memory: Memory<D>) -> Result<Mapped<D>, Box<(Memory<D>, Error)>> {
        Mapped::by(memory, &Source::ALL)
    }

    /// The same, with faults from one of `sources`.
    ///
    /// # Errors
    /// As above.
    pub fn by(memory: Memory<D>, sources: &[Source]) -> Result<Mapped<D>, Box<(Memory<D>, Error)>> {
        let shape = memory.shape();
        let page = rustix::param::page_size();
        if page != shape.segment_bytes as usize {
            let why = format!("its segments have {} bytes, the kernel's pages {page}", shape.segment_bytes);
            let path = memory.path.clone();
            return Err(Box::new((memory, Error::NotMappable { path, why })));
        }
        let bytes = u64::from(shape.pages) * shape.page_bytes();
        let region = match Region::new(bytes, shape.segment_bytes, sources) {
            Ok(region) => region,
            Err(refused) => {
                let refused: Vec<String> = refused.iter().map(|(source, why)| format!("{source}: {why}")).collect();
                let why = format!(
                    "the kernel gives this process no faults ({}): allow it by the sysctl vm.unprivileged_userfaultfd=1, or by access to /dev/userfaultfd; read and write need neither",
                    if refused.is_empty() { "nothing was tried".to_owned() } else { refused.join("; ") }
                );
                let path = memory.path.clone();
                return Err(Box::new((memory, Error::NotMappable { path, why })));
            }
        };
        let core = Core::new(memory, region)?;
        Ok(Mapped { keeper: Keeper::start(core, shape) })
    }

    /// Where its faults come from.
    pub fn source(&self) -> Source {
        self.keeper.source
    }

    /// Where its byte 0 would be.
    pub fn base(&self) -> *mut u8 {
        self.keeper.base as *mut u8
    }

    /// Whether bytes are of the mapping.
    fn has(&self, bytes: &[u8]) -> bool {
        let shape = self.keeper.shape;
        let (base, end) = (self.keeper.base, self.keeper.base + (shape.capacity() + shape.page_bytes()) as usize);
        let start = bytes.as_ptr() as usize;
        start < end && start + bytes.len() > base
    }

    /// What it was made with.
    pub fn shape(&self) -> Shape {
        self.keeper.shape
    }

    /// Where `bytes` bytes from `address` on are.
    ///
    /// # Errors
    /// If they are not allocated, or may not be read.
    pub fn area(&self, address: u64, bytes: u64) -> Result<Area, Error> {
        self.with(|memory| memory.check(address, bytes))?;
        let keeper: Arc<dyn Send + Sync> = self.keeper.clone();
        Ok(Area { start: self.keeper.base + address as usize, _keeper: keeper, bytes })
    }

    /// A call that changes no data: not those that are here too.
    ///
    /// # Errors
    /// As the call's.
    pub fn with<T>(&self, call: impl FnOnce(&mut Memory<D>) -> Result<T, Error>) -> Result<T, Error> {
        self.keeper.enter(|core| core.open().and_then(call))
    }

    /// As [`Memory::read`].
    ///
    /// # Errors
    /// As there.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        if self.has(into) {
            // What is copied to may have to be fetched, which waits for the call to be over.
            let mut copy = vec![0; into.len()];
            self.keeper.enter(|core| core.read(address, &mut copy))?;
            into.copy_from_slice(&copy);
            return Ok(());
        }
        self.keeper.enter(|core| core.read(address, into))
    }

    /// As [`Memory::write`].
    ///
    /// # Errors
    /// As there.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        if self.has(bytes) {
            // So may what is copied from.
            let copy = bytes.to_vec();
            return self.keeper.enter(|core| core.write(address, &copy));
        }
        self.keeper.enter(|core| core.write(address, bytes))
    }

    /// As [`Memory::sync`], of one instant: stores, and loads of what is not in DRAM, wait while it is made.
    ///
    /// # Errors
    /// As there.
    pub fn sync(&self, name: Option<&str>) -> Result<Token, Error> {
        self.keeper.enter(|core| core.sync(name))
    }

    /// As [`Memory::rollback`]. What is mapped shows the restored values from then on; what the token does not know ends whoever touches it.
    ///
    /// # Errors
    /// As there.
    pub fn rollback(&self, token: Token) -> Result<(), Error> {
        self.keeper.enter(|core| core.rollback(token))
    }

    /// As [`Memory::delete`].
    ///
    /// # Errors
    /// As there.
    pub fn delete(&self, address: u64, bytes: u64) -> Result<(), Error> {
        self.keeper.enter(|core| core.delete(address, bytes))
    }

    /// As [`Memory::set_permissions`].
    ///
    /// # Errors
    /// As there.
    pub fn set_permissions(&self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        self.keeper.enter(|core| core.set_permissions(address, bytes, permissions))
    }

    /// Says how a range will be used.
    ///
    /// # Errors
    /// If it is not allocated.
    pub fn advise(&self, address: u64, bytes: u64, advice: Advice) -> Result<(), Error> {
        self.keeper.enter(|core| {
            let memory = core.open()?;
            memory.check(address, bytes)?;
            let segment = u64::from(memory.shape().segment_bytes);
            core.ahead.advise(address / segment..(address + bytes).div_ceil(segment), advice);
            Ok(())
        })
    }

    /// Has a range read, as far as it has room in DRAM; does not wait for it.
    ///
    /// # Errors
    /// If it is not allocated.
    pub fn will_need(&self, address: u64, bytes: u64) -> Result<(), Error> {
        self.keeper.enter(|core| core.will_need(address, bytes))
    }

    /// Makes room of a range: nothing of it is lost, and the next access waits.
    ///
    /// # Errors
    /// If it is not allocated, or there is no room to write it.
    pub fn not_needed(&self, address: u64, bytes: u64) -> Result<(), Error> {
        self.keeper.enter(|core| core.not_needed(address, bytes))
    }

    /// As [`Memory::stats`].
    ///
    /// # Errors
    /// If it was closed.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.keeper.enter(Core::stats)
    }

    /// As [`Memory::close`]. Closing twice does nothing. Addresses stay reserved while there is an [`Area`]: who touches them ends the process.
    ///
    /// # Errors
    /// As there.
    pub fn close(&self) -> Result<(), Error> {
        self.keeper.enter(Core::close)
    }
}
