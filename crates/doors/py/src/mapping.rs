//! A mapped range of a memory as a Python buffer, on which NumPy creates arrays.

use std::ffi::c_int;
use std::sync::Arc;

use ::memory::Area;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The Python names of [`Hint::ALL`](::memory::Hint::ALL), in the same order.
pub const ADVICE: [&str; 5] = ["normal", "random", "sequential", "willneed", "dontneed"];

/// A range of a mapped memory, exported as a writable buffer.
#[pyclass(frozen)]
pub struct MemoryArea {
    pub area: Area,
    /// Prevents the memory from being closed.
    pub _export: Arc<()>,
}

#[pymethods]
impl MemoryArea {
    fn __len__(&self) -> usize {
        self.area.bytes() as usize
    }

    // SAFETY: Python passes a view to fill in. The addresses remain valid for as long as the object exists, and the
    // view holds a reference to it.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill in"));
        }
        let (start, bytes) = (slf.get().area.start(), slf.get().area.bytes() as isize);
        // SAFETY: See above.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start.cast(), bytes, 0, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
