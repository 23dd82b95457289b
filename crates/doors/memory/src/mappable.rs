//! A memory that is mapped when its first area is requested. The C and Python interfaces hold one of these.

use nvmm::{Permissions, Token};

use crate::error::Error;
use crate::{Advice, Area, Mapped, Memory, Source, Stats};

/// A memory that may or may not be mapped, with the calls that [`Memory`] and [`Mapped`] share.
pub enum MappableMemory {
    /// No area has been requested yet.
    Plain(Box<Memory>),
    /// An area has been requested.
    Mapped(Mapped),
}

/// A hint about the future use of a range, like the `advice` argument of madvise(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The expected access order.
    Pattern(Advice),
    /// The range will be used soon; start reading it.
    WillNeed,
    /// The range will not be used soon; evict it.
    DontNeed,
}

impl Hint {
    /// All hints, in the order of madvise(2).
    pub const ALL: [Hint; 5] = [
        Hint::Pattern(Advice::Normal),
        Hint::Pattern(Advice::Random),
        Hint::Pattern(Advice::Sequential),
        Hint::WillNeed,
        Hint::DontNeed,
    ];
}

impl MappableMemory {
    /// Calls `call`, which must not change any data.
    ///
    /// # Errors
    /// Those of `call`.
    pub fn with<T>(&mut self, call: impl FnOnce(&mut Memory) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            MappableMemory::Plain(memory) => call(memory),
            MappableMemory::Mapped(mapped) => mapped.with(call),
        }
    }

    /// Reads; see [`Memory::read`].
    ///
    /// # Errors
    /// Same as [`Memory::read`].
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        match self {
            MappableMemory::Plain(memory) => memory.read(address, into),
            MappableMemory::Mapped(mapped) => mapped.read(address, into),
        }
    }

    /// Writes; see [`Memory::write`].
    ///
    /// # Errors
    /// Same as [`Memory::write`].
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        match self {
            MappableMemory::Plain(memory) => memory.write(address, bytes),
            MappableMemory::Mapped(mapped) => mapped.write(address, bytes),
        }
    }

    /// Syncs; see [`Memory::sync`].
    ///
    /// # Errors
    /// Same as [`Memory::sync`].
    pub fn sync(&mut self, name: Option<&str>) -> Result<Token, Error> {
        match self {
            MappableMemory::Plain(memory) => memory.sync(name),
            MappableMemory::Mapped(mapped) => mapped.sync(name),
        }
    }

    /// Syncs without a token; see [`Memory::flush`].
    ///
    /// # Errors
    /// Same as [`Memory::flush`].
    pub fn flush(&mut self) -> Result<(), Error> {
        match self {
            MappableMemory::Plain(memory) => memory.flush(),
            MappableMemory::Mapped(mapped) => mapped.flush(),
        }
    }

    /// Rolls back; see [`Memory::rollback`].
    ///
    /// # Errors
    /// Same as [`Memory::rollback`].
    pub fn rollback(&mut self, token: Token) -> Result<(), Error> {
        match self {
            MappableMemory::Plain(memory) => memory.rollback(token),
            MappableMemory::Mapped(mapped) => mapped.rollback(token),
        }
    }

    /// Deletes pages; see [`Memory::delete`].
    ///
    /// # Errors
    /// Same as [`Memory::delete`].
    pub fn delete(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        match self {
            MappableMemory::Plain(memory) => memory.delete(address, bytes),
            MappableMemory::Mapped(mapped) => mapped.delete(address, bytes),
        }
    }

    /// Sets permissions; see [`Memory::set_permissions`].
    ///
    /// # Errors
    /// Same as [`Memory::set_permissions`].
    pub fn set_permissions(&mut self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        match self {
            MappableMemory::Plain(memory) => memory.set_permissions(address, bytes, permissions),
            MappableMemory::Mapped(mapped) => mapped.set_permissions(address, bytes, permissions),
        }
    }

    /// Returns the statistics; see [`Memory::stats`].
    ///
    /// # Errors
    /// If the memory was closed.
    pub fn stats(&mut self) -> Result<Stats, Error> {
        match self {
            MappableMemory::Plain(memory) => Ok(memory.stats()),
            MappableMemory::Mapped(mapped) => mapped.stats(),
        }
    }

    /// Announces how a range will be used. Has no effect unless the memory is mapped.
    ///
    /// # Errors
    /// If the range is not allocated, or there is no space to write evicted data back.
    pub fn advise(&mut self, address: u64, bytes: u64, hint: Hint) -> Result<(), Error> {
        match (self, hint) {
            (MappableMemory::Plain(memory), _) => memory.check(address, bytes),
            (MappableMemory::Mapped(mapped), Hint::Pattern(advice)) => mapped.advise(address, bytes, advice),
            (MappableMemory::Mapped(mapped), Hint::WillNeed) => mapped.will_need(address, bytes),
            (MappableMemory::Mapped(mapped), Hint::DontNeed) => mapped.not_needed(address, bytes),
        }
    }

    /// Closes the memory; see [`Memory::close`].
    ///
    /// # Errors
    /// Same as [`Memory::close`].
    pub fn close(self) -> Result<(), Error> {
        match self {
            MappableMemory::Plain(memory) => memory.close(),
            MappableMemory::Mapped(mapped) => mapped.close(),
        }
    }

    /// Maps the memory if necessary, and returns it with an area.
    ///
    /// # Errors
    /// If the area is not allocated or may not be read, or if the kernel does not allow this process to use
    /// userfaultfd.
    pub fn area(self, address: u64, bytes: u64) -> (MappableMemory, Result<Area, Error>) {
        let mapped = match self {
            MappableMemory::Mapped(mapped) => mapped,
            MappableMemory::Plain(mut memory) => {
                if let Err(error) = memory.check(address, bytes) {
                    return (MappableMemory::Plain(memory), Err(error));
                }
                match Mapped::new(*memory) {
                    Ok(mapped) => mapped,
                    Err(refused) => {
                        let (memory, error) = *refused;
                        return (MappableMemory::Plain(Box::new(memory)), Err(error));
                    }
                }
            }
        };
        let area = mapped.area(address, bytes);
        (MappableMemory::Mapped(mapped), area)
    }

    /// Returns whether system calls accept mapped addresses, or `None` if the memory is not mapped.
    pub fn serves_system_calls(&self) -> Option<bool> {
        match self {
            MappableMemory::Plain(_) => None,
            MappableMemory::Mapped(mapped) => Some(mapped.source() != Source::UserOnly),
        }
    }

    /// Converts a pointer into the mapping to an address of the memory.
    pub fn address_of(&self, pointer: usize) -> Option<u64> {
        let MappableMemory::Mapped(mapped) = self else { return None };
        let address = pointer.checked_sub(mapped.base() as usize)? as u64;
        (address < u64::from(mapped.shape().pages) * mapped.shape().page_bytes()).then_some(address)
    }
}
