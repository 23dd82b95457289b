//! `libnandram`: memory on a file, for C. What the calls do is said in `include/nandram.h`, and by crate `memory`, whose calls they are.
//!
//! Every call returns 0 or the code of an error, whose message the thread keeps ([`nandram_message`]). No pointer is kept, but to what the
//! calls themselves made.
#![cfg(target_os = "linux")]

mod calls;
mod code;
mod reader;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;

pub use code::Code;
use memory::Error;

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Why a call failed.
pub(crate) enum Failure {
    Memory(Error),
    Argument(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Memory(error)
    }
}

/// The code of `result`; its message stays with the thread.
pub(crate) fn told(result: Result<(), Failure>) -> c_int {
    let (code, message) = match result {
        Ok(()) => return Code::Ok as c_int,
        Err(Failure::Memory(error)) => (Code::of(&error), error.to_string()),
        Err(Failure::Argument(what)) => (Code::Argument, what),
    };
    let message = CString::new(message.replace('\0', " ")).expect("no zeros are left");
    MESSAGE.with_borrow_mut(|kept| *kept = message);
    code as c_int
}

/// The message of this thread's last call that failed; it stays until the next that does.
#[unsafe(no_mangle)]
pub extern "C" fn nandram_message() -> *const c_char {
    MESSAGE.with_borrow(|kept| kept.as_ptr())
}

/// What a pointer points to.
///
/// # Safety
/// If it is not null it points to one, which nobody changes meanwhile.
pub(crate) unsafe fn given<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: The caller says so.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::Argument(format!("{what} is NULL")))
}

/// Puts `value` where a pointer points, which may be null if it need not be told.
///
/// # Safety
/// If it is not null there is room for one.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: The caller says so.
        unsafe { pointer.write(value) };
    }
}

/// A text that is not null.
///
/// # Safety
/// It ends with a zero and stays as it is meanwhile.
pub(crate) unsafe fn text<'a>(what: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::Argument(format!("{what} is NULL")));
    }
    // SAFETY: The caller says so.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::Argument(format!("{what} is not UTF-8")))
}

/// A path, of any bytes.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn path<'a>(what: &str, pointer: *const c_char) -> Result<&'a Path, Failure> {
    use std::os::unix::ffi::OsStrExt;
    if pointer.is_null() {
        return Err(Failure::Argument(format!("{what} is NULL")));
    }
    // SAFETY: The caller says so.
    let text = unsafe { CStr::from_ptr(pointer) };
    Ok(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

/// `bytes` bytes that are read, which may be null if they are none.
///
/// # Safety
/// There are as many, and nobody changes them meanwhile.
pub(crate) unsafe fn bytes<'a>(what: &str, pointer: *const u8, count: usize) -> Result<&'a [u8], Failure> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Failure::Argument(format!("{what} is NULL"))),
        // SAFETY: The caller says so.
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer, count) }),
    }
}

/// `bytes` bytes that are written, which may be null if they are none.
///
/// # Safety
/// There is room for as many, and nobody looks at them meanwhile.
pub(crate) unsafe fn room<'a>(what: &str, pointer: *mut u8, count: usize) -> Result<&'a mut [u8], Failure> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&mut []),
        (_, true) => Err(Failure::Argument(format!("{what} is NULL"))),
        // SAFETY: The caller says so.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) }),
    }
}

/// A text for C, of a name, which has no zeros.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).expect("no zeros are left")
}
