//! A memory that is mapped from its first area on: what C and Python hold.

use nvmm::{Permissions, Token};

use crate::error::Error;
use crate::{Advice, Area, Mapped, Memory, Source, Stats};

/// A memory that is mapped, or is not yet. The calls are those of [`Memory`] and [`Mapped`].
pub enum Held {
    /// Nobody has asked for an area.
    Plain(Box<Memory>),
    /// Somebody has.
    Mapped(Mapped),
}

/// How a range will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advised {
    /// In some order.
    As(Advice),
    /// Soon: it is read meanwhile.
    Soon,
    /// Not soon: it makes room.
    NotSoon,
}

impl Advised {
    /// All, as madvise(2) orders them.
    pub const ALL: [Advised; 5] = [
        Advised::As(Advice::Normal),
        Advised::As(Advice::Random),
        Advised::As(Advice::Sequential),
        Advised::Soon,
        Advised::NotSoon,
    ];
}

impl Held {
    /// A call that changes no data.
    ///
    /// # Errors
    /// As the call's.
    pub fn with<T>(&mut self, call: impl FnOnce(&mut Memory) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Held::Plain(memory) => call(memory),
            Held::Mapped(mapped) => mapped.with(call),
        }
    }

    /// As [`Memory::read`].
    ///
    /// # Errors
    /// As there.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.read(address, into),
            Held::Mapped(mapped) => mapped.read(address, into),
        }
    }

    /// As [`Memory::write`].
    ///
    /// # Errors
    /// As there.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.write(address, bytes),
            Held::Mapped(mapped) => mapped.write(address, bytes),
        }
    }

    /// As [`Memory::sync`].
    ///
    /// # Errors
    /// As there.
    pub fn sync(&mut self, name: Option<&str>) -> Result<Token, Error> {
        match self {
            Held::Plain(memory) => memory.sync(name),
            Held::Mapped(mapped) => mapped.sync(name),
        }
    }

    /// As [`Memory::rollback`].
    ///
    /// # Errors
    /// As there.
    pub fn rollback(&mut self, token: Token) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.rollback(token),
            Held::Mapped(mapped) => mapped.rollback(token),
        }
    }

    /// As [`Memory::delete`].
    ///
    /// # Errors
    /// As there.
    pub fn delete(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.delete(address, bytes),
            Held::Mapped(mapped) => mapped.delete(address, bytes),
        }
    }

    /// As [`Memory::set_permissions`].
    ///
    /// # Errors
    /// As there.
    pub fn set_permissions(&mut self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.set_permissions(address, bytes, permissions),
            Held::Mapped(mapped) => mapped.set_permissions(address, bytes, permissions),
        }
    }

    /// As [`Memory::stats`].
    ///
    /// # Errors
    /// If it was closed.
    pub fn stats(&mut self) -> Result<Stats, Error> {
        match self {
            Held::Plain(memory) => Ok(memory.stats()),
            Held::Mapped(mapped) => mapped.stats(),
        }
    }

    /// Says how a range will be used: nothing of it matters to a memory that is not mapped.
    ///
    /// # Errors
    /// If it is not allocated, or there is no room to write what leaves.
    pub fn advise(&mut self, address: u64, bytes: u64, advised: Advised) -> Result<(), Error> {
        match (self, advised) {
            (Held::Plain(memory), _) => memory.check(address, bytes),
            (Held::Mapped(mapped), Advised::As(advice)) => mapped.advise(address, bytes, advice),
            (Held::Mapped(mapped), Advised::Soon) => mapped.will_need(address, bytes),
            (Held::Mapped(mapped), Advised::NotSoon) => mapped.not_needed(address, bytes),
        }
    }

    /// As [`Memory::close`].
    ///
    /// # Errors
    /// As there.
    pub fn close(self) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.close(),
            Held::Mapped(mapped) => mapped.close(),
        }
    }

    /// The memory, mapped if it can be, and an area.
    ///
    /// # Errors
    /// If it is not allocated, may not be read, or the kernel does not let this process have its faults.
    pub fn area(self, address: u64, bytes: u64) -> (Held, Result<Area, Error>) {
        let mapped = match self {
            Held::Mapped(mapped) => mapped,
            Held::Plain(mut memory) => {
                if let Err(error) = memory.check(address, bytes) {
                    return (Held::Plain(memory), Err(error));
                }
                match Mapped::new(*memory) {
                    Ok(mapped) => mapped,
                    Err(refused) => {
                        let (memory, error) = *refused;
                        return (Held::Plain(Box::new(memory)), Err(error));
                    }
                }
            }
        };
        let area = mapped.area(address, bytes);
        (Held::Mapped(mapped), area)
    }

    /// Whether system calls into what is mapped work too; nothing if it is not mapped.
    pub fn serves_system_calls(&self) -> Option<bool> {
        match self {
            Held::Plain(_) => None,
            Held::Mapped(mapped) => Some(mapped.source() != Source::UserOnly),
        }
    }

    /// The memory's address of a pointer into what is mapped.
    pub fn address_of(&self, pointer: usize) -> Option<u64> {
        let Held::Mapped(mapped) = self else { return None };
        let address = pointer.checked_sub(mapped.base() as usize)? as u64;
        (address < u64::from(mapped.shape().pages) * mapped.shape().page_bytes()).then_some(address)
    }
}
