//! The Python class for a concurrent reader, and backup. Both release the global interpreter lock during I/O.

use std::path::PathBuf;
use std::sync::Mutex;

use ::memory::{Error, Options, Reader, Token, backup};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::calls::user_error;
use crate::memory::{raise, size};

/// A reader, open or closed.
#[pyclass(frozen)]
pub struct MemoryReading {
    reader: Mutex<Option<Reader>>,
    path: String,
}

impl MemoryReading {
    fn with<T: Send>(&self, py: Python<'_>, call: impl FnOnce(&mut Reader) -> Result<T, Error> + Send) -> PyResult<T> {
        let called = py.detach(|| {
            let mut reader = self.reader.lock().expect("no call panics");
            reader.as_mut().map(call)
        });
        match called {
            Some(result) => result.map_err(|error| raise(py, &error)),
            None => Err(user_error(py, format!("{}: the reader is closed", self.path))),
        }
    }
}

#[pymethods]
impl MemoryReading {
    #[staticmethod]
    #[pyo3(signature = (path, dram))]
    fn open(py: Python<'_>, path: PathBuf, dram: Option<&str>) -> PyResult<MemoryReading> {
        let dram = size(py, "dram", dram)?.unwrap_or(Options::default().dram);
        let reader = py.detach(|| Reader::open(&path, dram)).map_err(|error| raise(py, &error))?;
        Ok(MemoryReading { reader: Mutex::new(Some(reader)), path: path.display().to_string() })
    }

    fn read<'py>(&self, py: Python<'py>, address: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = self.with(py, |reader| {
            // Check the range before allocating the buffer.
            reader.check(address, bytes as u64)?;
            let mut into = vec![0; bytes];
            reader.read(address, &mut into).map(|()| into)
        })?;
        Ok(PyBytes::new(py, &read))
    }

    fn read_into(&self, py: Python<'_>, address: u64, into: PyBuffer<u8>) -> PyResult<()> {
        let mut bytes = vec![0; into.item_count()];
        self.with(py, |reader| reader.read(address, &mut bytes))?;
        into.copy_from_slice(py, &bytes)
    }

    fn tokens(&self, py: Python<'_>) -> PyResult<Vec<(u64, Option<String>)>> {
        let tokens = self.with(py, Reader::tokens)?;
        Ok(tokens.into_iter().map(|(token, name)| (token.0, name)).collect())
    }

    fn token(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        self.with(py, |reader| reader.token(name).map(|token| token.0))
    }

    fn find(&self, py: Python<'_>, name: &str) -> PyResult<(u64, u64)> {
        self.with(py, |reader| reader.find(name))
    }

    fn names(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, String)>> {
        self.with(py, Reader::names)
    }

    fn go_to(&self, py: Python<'_>, token: u64) -> PyResult<()> {
        self.with(py, |reader| reader.go_to(Token(token)))
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Reader::refresh)
    }

    fn verify(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let (errors, _) = self.with(py, Reader::verify)?;
        Ok(errors.iter().map(Error::to_string).collect())
    }

    #[pyo3(signature = (to, name))]
    fn export(&self, py: Python<'_>, to: PathBuf, name: Option<&str>) -> PyResult<u64> {
        self.with(py, |reader| reader.export(name, &to))
    }

    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |reader| Ok(reader.shape().capacity()))
    }

    /// Closes the reader unless it is already closed.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.reader.lock().expect("no call panics").take()));
    }
}

/// Creates the file `to` as a copy of the memory in `path`. Returns an error message for each unreadable part.
#[pyfunction]
pub fn memory_backup(py: Python<'_>, path: PathBuf, to: PathBuf) -> PyResult<Vec<String>> {
    let errors = py.detach(|| backup(&path, &to)).map_err(|error| raise(py, &error))?;
    Ok(errors.iter().map(Error::to_string).collect())
}
