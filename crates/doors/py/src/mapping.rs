//! A range of a memory that is mapped as a buffer, which NumPy's arrays are made on.

use std::ffi::c_int;
use std::sync::Arc;

use ::memory::Area;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// What Python calls each of [`Advised::ALL`](::memory::Advised::ALL).
pub const ADVICE: [&str; 5] = ["normal", "random", "sequential", "willneed", "dontneed"];

/// A range of a mapped memory: a buffer that can be written.
#[pyclass(frozen)]
pub struct MemoryArea {
    pub area: Area,
    /// Keeps the memory from being closed.
    pub _export: Arc<()>,
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
