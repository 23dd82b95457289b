//! The Python class for a memory on a file. It releases the global interpreter lock during I/O.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ::memory::{Error, Hint, MappableMemory, Memory, Options, Permissions, Token, grow, shape_of};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::calls::user_error;
use crate::mapping::{ADVICE, MemoryArea};

/// Converts an error to `nandram.StorageError` if the file or device is at fault, and to `nandram.UserError` otherwise.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let fault = matches!(
        error,
        Error::Io { .. }
            | Error::Damaged { .. }
            | Error::Truncated { .. }
            | Error::DiskFull { .. }
            | Error::Unreadable { .. }
            | Error::TableUnreadable { .. }
            | Error::Broken { .. }
            | Error::Stale { .. }
    );
    if !fault {
        return user_error(py, error);
    }
    let class = py.import("nandram.errors").and_then(|module| module.getattr("StorageError"));
    match class.and_then(|class| class.call1((error.to_string(),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// A memory, open or closed.
#[pyclass(frozen)]
pub struct MemoryFile {
    memory: Mutex<Option<MappableMemory>>,
    path: String,
    file: PathBuf,
    /// Size of the DRAM cache in bytes.
    dram: u64,
    /// Shared with all areas that Python holds; its reference count tells whether there are any.
    exports: Arc<()>,
}

impl MemoryFile {
    /// Executes a call that changes no data.
    fn with<T: Send>(&self, py: Python<'_>, call: impl FnOnce(&mut Memory) -> Result<T, Error> + Send) -> PyResult<T> {
        self.call(py, |memory| memory.with(call))
    }

    /// Checks that no array or buffer on the open memory exists.
    fn check_exports(&self) -> PyResult<()> {
        match Arc::strong_count(&self.exports) > 1 && self.memory.lock().expect("no call panics").is_some() {
            true => Err(PyBufferError::new_err("cannot close exported pointers exist")),
            false => Ok(()),
        }
    }

    fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut MappableMemory) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let called = py.detach(|| {
            let mut memory = self.memory.lock().expect("no call panics");
            memory.as_mut().map(call)
        });
        match called {
            Some(result) => result.map_err(|error| raise(py, &error)),
            None => Err(user_error(py, format!("{}: the memory is closed", self.path))),
        }
    }
}

pub(crate) fn size(py: Python<'_>, what: &str, text: Option<&str>) -> PyResult<Option<u64>> {
    let parse = |text| sim::units::size(text).map_err(|error| user_error(py, format!("{what}: {error}")));
    text.map(parse).transpose()
}

#[pymethods]
impl MemoryFile {
    /// Creates or opens a memory.
    #[staticmethod]
    #[pyo3(signature = (path, make, capacity, dram, space, tokens))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        make: bool,
        capacity: Option<&str>,
        dram: Option<&str>,
        space: Option<&str>,
        tokens: Option<u32>,
    ) -> PyResult<MemoryFile> {
        let mut options = Options { capacity: size(py, "capacity", capacity)?, ..Options::default() };
        options.space = size(py, "space", space)?;
        options.dram = size(py, "dram", dram)?.unwrap_or(options.dram);
        options.tokens = tokens.unwrap_or(options.tokens);
        let opened = py.detach(|| match make {
            true => Memory::create(&path, &options),
            false => Memory::open(&path, &options),
        });
        let memory = opened.map_err(|error| raise(py, &error))?;
        let memory = Mutex::new(Some(MappableMemory::Plain(Box::new(memory))));
        let (name, dram) = (path.display().to_string(), options.dram);
        Ok(MemoryFile { memory, path: name, file: path, dram, exports: Arc::new(()) })
    }

    fn alloc(&self, py: Python<'_>, bytes: u64, temporary: bool) -> PyResult<u64> {
        self.with(py, |memory| memory.alloc(bytes, temporary))
    }

    fn delete(&self, py: Python<'_>, address: u64, bytes: u64) -> PyResult<()> {
        self.call(py, |memory| memory.delete(address, bytes))
    }

    fn set_permissions(&self, py: Python<'_>, address: u64, bytes: u64, allowed: (bool, bool, bool)) -> PyResult<()> {
        let (read, write, permanent) = allowed;
        let permissions = Permissions { read, write, permanent, ..Permissions::PRIVATE };
        self.call(py, |memory| memory.set_permissions(address, bytes, permissions))
    }

    fn read<'py>(&self, py: Python<'py>, address: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = self.call(py, |memory| {
            // Check the range before allocating the buffer.
            memory.with(|memory| memory.check(address, bytes as u64))?;
            let mut into = vec![0; bytes];
            memory.read(address, &mut into).map(|()| into)
        })?;
        Ok(PyBytes::new(py, &read))
    }

    fn read_into(&self, py: Python<'_>, address: u64, into: PyBuffer<u8>) -> PyResult<()> {
        let mut bytes = vec![0; into.item_count()];
        self.call(py, |memory| memory.read(address, &mut bytes))?;
        into.copy_from_slice(py, &bytes)
    }

    fn write(&self, py: Python<'_>, address: u64, bytes: PyBuffer<u8>) -> PyResult<()> {
        let bytes = bytes.to_vec(py)?;
        self.call(py, |memory| memory.write(address, &bytes))
    }

    #[pyo3(signature = (name))]
    fn sync(&self, py: Python<'_>, name: Option<&str>) -> PyResult<u64> {
        self.call(py, |memory| memory.sync(name).map(|token| token.0))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, MappableMemory::flush)
    }

    fn rollback(&self, py: Python<'_>, token: u64) -> PyResult<()> {
        self.call(py, |memory| memory.rollback(Token(token)))
    }

    fn drop_token(&self, py: Python<'_>, token: u64) -> PyResult<()> {
        self.with(py, |memory| memory.drop_token(Token(token)))
    }

    fn tokens(&self, py: Python<'_>) -> PyResult<Vec<(u64, Option<String>)>> {
        let tokens = self.with(py, Memory::tokens)?;
        Ok(tokens.into_iter().map(|(token, name)| (token.0, name)).collect())
    }

    fn token(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        self.with(py, |memory| memory.token(name).map(|token| token.0))
    }

    fn name(&self, py: Python<'_>, name: &str, address: u64, size: u64) -> PyResult<()> {
        self.with(py, |memory| memory.name(name, address, size))
    }

    fn find(&self, py: Python<'_>, name: &str) -> PyResult<(u64, u64)> {
        self.with(py, |memory| memory.find(name))
    }

    fn names(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, String)>> {
        self.with(py, Memory::names)
    }

    /// Returns an error message for each unreadable part, and the number of pages.
    fn verify(&self, py: Python<'_>) -> PyResult<(Vec<String>, u64)> {
        let (errors, pages) = self.with(py, Memory::verify)?;
        Ok((errors.iter().map(Error::to_string).collect(), pages))
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Memory::compact)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.call(py, |memory| memory.stats())?;
        let [host, table, copies] = stats.controller.programs;
        let counts = [
            ("hits", stats.hits),
            ("misses", stats.misses),
            ("read_bytes", stats.read_bytes),
            ("written_bytes", stats.written_bytes),
            ("flushes", stats.flushes),
            ("dirty_segments", stats.dirty),
            ("dram_bytes", stats.dram_bytes),
            ("needed_bytes", stats.needed_bytes),
            ("space_bytes", stats.space_bytes),
            ("data_segments", host),
            ("table_segments", table),
            ("copied_segments", copies),
            ("blocks_collected", stats.controller.collected),
            ("commits", stats.controller.commits),
            ("pages_rolled_back", stats.controller.rolled_back),
            ("faults", stats.map.faults),
            ("store_faults", stats.map.store_faults),
            ("segments_read_ahead", stats.map.read_ahead),
            ("segments_evicted", stats.map.evicted),
            ("mapped_bytes", stats.map.mapped_bytes),
        ];
        let dict = PyDict::new(py);
        for (name, count) in counts {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    /// Returns a range of mapped addresses; the first call maps the memory.
    fn area(&self, py: Python<'_>, address: u64, bytes: u64) -> PyResult<MemoryArea> {
        let area = py.detach(|| {
            let mut slot = self.memory.lock().expect("no call panics");
            slot.take().map(|memory| {
                let (memory, area) = memory.area(address, bytes);
                *slot = Some(memory);
                area
            })
        });
        match area {
            Some(Ok(area)) => Ok(MemoryArea { area, _export: Arc::clone(&self.exports) }),
            Some(Err(error)) => Err(raise(py, &error)),
            None => Err(user_error(py, format!("{}: the memory is closed", self.path))),
        }
    }

    /// Returns whether system calls accept mapped addresses, or `None` if the memory is not mapped.
    fn serves_system_calls(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        self.call(py, |memory| Ok(memory.serves_system_calls()))
    }

    /// Converts an address of the process to an address in the memory.
    fn address_of(&self, py: Python<'_>, pointer: usize) -> PyResult<Option<u64>> {
        self.call(py, |memory| Ok(memory.address_of(pointer)))
    }

    fn advise(&self, py: Python<'_>, address: u64, bytes: u64, how: &str) -> PyResult<()> {
        let known = ADVICE.iter().position(|name| *name == how);
        let Some(advice) = known.map(|which| Hint::ALL[which]) else {
            return Err(user_error(py, format!("advice is {how:?}, expected {}", ADVICE.join(", "))));
        };
        self.call(py, |memory| memory.advise(address, bytes, advice))
    }

    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |memory| Ok(memory.shape().capacity()))
    }

    /// Grows the memory, which is synced, closed and opened again. Fails while arrays or buffers on it exist.
    #[pyo3(signature = (capacity, space))]
    fn grow(&self, py: Python<'_>, capacity: Option<&str>, space: Option<&str>) -> PyResult<()> {
        let (capacity, space) = (size(py, "capacity", capacity)?, size(py, "space", space)?);
        self.check_exports()?;
        let grown = py.detach(|| {
            let mut slot = self.memory.lock().expect("no call panics");
            let mut memory = slot.take()?;
            if let Err(error) = memory.flush() {
                *slot = Some(memory);
                return Some(Err(error));
            }
            let grown = memory.close().and_then(|()| grow(&self.file, capacity, space));
            let opened = Memory::open(&self.file, &Options { dram: self.dram, ..Options::default() });
            Some(match opened {
                Ok(memory) => {
                    *slot = Some(MappableMemory::Plain(Box::new(memory)));
                    grown
                }
                Err(error) => grown.and(Err(error)),
            })
        });
        match grown {
            Some(grown) => grown.map_err(|error| raise(py, &error)),
            None => Err(user_error(py, format!("{}: the memory is closed", self.path))),
        }
    }

    /// Closes the memory unless it is already closed. Fails while arrays or buffers on it exist, because a later load
    /// would abort the process.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.check_exports()?;
        let closed = py.detach(|| {
            let memory = self.memory.lock().expect("no call panics").take();
            memory.map_or(Ok(()), MappableMemory::close)
        });
        closed.map_err(|error| raise(py, &error))
    }
}

/// Returns facts about the memory in a file, by name, without opening it.
#[pyfunction]
pub fn memory_info(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let shape = shape_of(Path::new(&path)).map_err(|error| raise(py, &error))?;
    let info = shape.info();
    let dict = PyDict::new(py);
    dict.set_item("capacity", info.capacity)?;
    dict.set_item("file_bytes", info.file_bytes)?;
    dict.set_item("page_bytes", shape.page_bytes())?;
    dict.set_item("segment_bytes", shape.segment_bytes)?;
    dict.set_item("block_bytes", shape.block_bytes())?;
    dict.set_item("tokens", shape.tokens)?;
    Ok(dict)
}
