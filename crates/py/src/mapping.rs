//! A memory that is mapped, or is not yet; and a range of it as a buffer, which NumPy's arrays are made on.

use std::ffi::c_int;

use ::memory::{Advice, Area, Error, Mapped, Memory, Permissions, Source, Stats, Token};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// A memory: mapped from the first area on.
pub enum Held {
    Plain(Box<Memory>),
    Mapped(Mapped),
}

/// How a range will be used.
#[derive(Clone, Copy)]
pub enum Advised {
    As(Advice),
    Soon,
    NotSoon,
}

impl Advised {
    pub const NAMES: [&str; 5] = ["normal", "random", "sequential", "willneed", "dontneed"];

    pub fn of(name: &str) -> Option<Advised> {
        match name {
            "normal" => Some(Advised::As(Advice::Normal)),
            "random" => Some(Advised::As(Advice::Random)),
            "sequential" => Some(Advised::As(Advice::Sequential)),
            "willneed" => Some(Advised::Soon),
            "dontneed" => Some(Advised::NotSoon),
            _ => None,
        }
    }
}

impl Held {
    /// A call that changes no data.
    pub fn with<T>(&mut self, call: impl FnOnce(&mut Memory) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Held::Plain(memory) => call(memory),
            Held::Mapped(mapped) => mapped.with(call),
        }
    }

    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.read(address, into),
            Held::Mapped(mapped) => mapped.read(address, into),
        }
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.write(address, bytes),
            Held::Mapped(mapped) => mapped.write(address, bytes),
        }
    }

    pub fn sync(&mut self, name: Option<&str>) -> Result<Token, Error> {
        match self {
            Held::Plain(memory) => memory.sync(name),
            Held::Mapped(mapped) => mapped.sync(name),
        }
    }

    pub fn rollback(&mut self, token: Token) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.rollback(token),
            Held::Mapped(mapped) => mapped.rollback(token),
        }
    }

    pub fn delete(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.delete(address, bytes),
            Held::Mapped(mapped) => mapped.delete(address, bytes),
        }
    }

    pub fn set_permissions(&mut self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.set_permissions(address, bytes, permissions),
            Held::Mapped(mapped) => mapped.set_permissions(address, bytes, permissions),
        }
    }

    pub fn stats(&mut self) -> Result<Stats, Error> {
        match self {
            Held::Plain(memory) => Ok(memory.stats()),
            Held::Mapped(mapped) => mapped.stats(),
        }
    }

    /// Nothing of it matters to a memory that is not mapped.
    pub fn advise(&mut self, address: u64, bytes: u64, advised: Advised) -> Result<(), Error> {
        match (self, advised) {
            (Held::Plain(memory), _) => memory.check(address, bytes),
            (Held::Mapped(mapped), Advised::As(advice)) => mapped.advise(address, bytes, advice),
            (Held::Mapped(mapped), Advised::Soon) => mapped.will_need(address, bytes),
            (Held::Mapped(mapped), Advised::NotSoon) => mapped.not_needed(address, bytes),
        }
    }

    pub fn close(self) -> Result<(), Error> {
        match self {
            Held::Plain(memory) => memory.close(),
            Held::Mapped(mapped) => mapped.close(),
        }
    }

    /// The memory, mapped if it can be, and an area.
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

    pub fn serves_system_calls(&self) -> Option<bool> {
        match self {
            Held::Plain(_) => None,
            Held::Mapped(mapped) => Some(mapped.source() != Source::UserOnly),
        }
    }

    pub fn address_of(&self, pointer: usize) -> Option<u64> {
        let Held::Mapped(mapped) = self else { return None };
        let address = pointer.checked_sub(mapped.base() as usize)? as u64;
        (address < u64::from(mapped.shape().pages) * mapped.shape().page_bytes()).then_some(address)
    }
}

/// A range of a mapped memory: a buffer that can be written.
#[pyclass(frozen)]
pub struct MemoryArea {
    pub area: Area,
}

#[pymethods]
impl MemoryArea {
    fn __len__(&self) -> usize {
        self.area.bytes() as usize
    }

    // SAFETY: Python hands a view that it wants filled in. The addresses stay the area's as long as the object is there, which the view
    // keeps.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill in"));
        }
        let (start, bytes) = (slf.get().area.start(), slf.get().area.bytes() as isize);
        // SAFETY: As above.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start.cast(), bytes, 0, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
