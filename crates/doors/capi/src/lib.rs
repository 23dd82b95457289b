//! `libnandram`: the C interface to crates `memory` and `simulation`. `include/nandram.h` and `include/nandram_sim.h`
//! document the calls.
//!
//! Every call returns 0 or an error code, and stores the error message per thread ([`nandram_message`]). The library
//! keeps no pointers except to objects that its own calls created.
#![cfg(target_os = "linux")]

mod calls;
mod code;
mod reader;
mod simulation;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;

pub use code::Code;
use memory::Error;

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// The reason why a call failed.
pub(crate) enum Failure {
    Memory(Error),
    Simulation(Box<::simulation::Error>),
    System(String),
    Argument(String),
}

impl From<Box<::simulation::Error>> for Failure {
    fn from(error: Box<::simulation::Error>) -> Failure {
        Failure::Simulation(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Memory(error)
    }
}

/// Returns the code of `result`, and stores the message of an error for this thread.
pub(crate) fn report(result: Result<(), Failure>) -> c_int {
    let (code, message) = match result {
        Ok(()) => return Code::Ok as c_int,
        Err(Failure::Memory(error)) => (Code::of(&error), error.to_string()),
        Err(Failure::Simulation(error)) => (Code::of_simulation(&error), error.to_string()),
        Err(Failure::System(what)) => (Code::System, what),
        Err(Failure::Argument(what)) => (Code::Argument, what),
    };
    let message = CString::new(message.replace('\0', " ")).expect("zero bytes were replaced");
    MESSAGE.with_borrow_mut(|last| *last = message);
    code as c_int
}

/// Returns the message of the last failed call in this thread. The pointer is valid until the next failure.
#[unsafe(no_mangle)]
pub extern "C" fn nandram_message() -> *const c_char {
    MESSAGE.with_borrow(|last| last.as_ptr())
}

/// Dereferences a pointer, or fails if it is null.
///
/// # Safety
/// The pointer must be null or point to a `T` that does not change meanwhile.
pub(crate) unsafe fn deref<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: Guaranteed by the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Returns the failure of a call with a null pointer.
pub(crate) fn null(what: &str) -> Failure {
    Failure::Argument(format!("{what} is NULL"))
}

/// Stores `value` through a pointer unless it is null.
///
/// # Safety
/// The pointer must be null or writable.
pub(crate) unsafe fn store<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: Guaranteed by the caller.
        unsafe { pointer.write(value) };
    }
}

/// Returns the text of a C string, or fails if the pointer is null.
///
/// # Safety
/// The pointer must be null or point to a string that ends with a zero and does not change meanwhile.
pub(crate) unsafe fn text<'a>(what: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::Argument(format!("{what} is NULL")));
    }
    // SAFETY: Guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::Argument(format!("{what} is not UTF-8")))
}

/// Returns the path in a C string, which may contain any bytes.
///
/// # Safety
/// Same as [`text`].
pub(crate) unsafe fn path<'a>(what: &str, pointer: *const c_char) -> Result<&'a Path, Failure> {
    use std::os::unix::ffi::OsStrExt;
    if pointer.is_null() {
        return Err(Failure::Argument(format!("{what} is NULL")));
    }
    // SAFETY: Guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    Ok(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

/// Returns `count` bytes to read; the pointer may be null if `count` is 0.
///
/// # Safety
/// The bytes must be readable and not change meanwhile.
pub(crate) unsafe fn bytes<'a>(what: &str, pointer: *const u8, count: usize) -> Result<&'a [u8], Failure> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Failure::Argument(format!("{what} is NULL"))),
        // SAFETY: Guaranteed by the caller.
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer, count) }),
    }
}

/// Returns `count` bytes to write; the pointer may be null if `count` is 0.
///
/// # Safety
/// The bytes must be writable and not be accessed otherwise meanwhile.
pub(crate) unsafe fn bytes_mut<'a>(what: &str, pointer: *mut u8, count: usize) -> Result<&'a mut [u8], Failure> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&mut []),
        (_, true) => Err(Failure::Argument(format!("{what} is NULL"))),
        // SAFETY: Guaranteed by the caller.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) }),
    }
}

/// Converts a text to a C string, replacing zero bytes.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).expect("zero bytes were replaced")
}
