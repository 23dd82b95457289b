//! The calls to a concurrent reader, and backup.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

use memory::{Options, Reader, Token};

use crate::calls::{Each, each_lost, each_token};
use crate::{Code, Failure, bytes_mut, deref, path, report, store, text};

/// An open reader. Threads may share it; calls are serialized.
pub struct ReaderHandle(Mutex<Reader>);

/// Calls `call` with the reader.
///
/// # Safety
/// `reader` is null or comes from `nandram_reader_open`, and was not closed.
unsafe fn with(reader: *const ReaderHandle, call: impl FnOnce(&mut Reader) -> Result<(), Failure>) -> c_int {
    // SAFETY: Guaranteed by the caller.
    report(unsafe { deref("reader", reader) }.and_then(|reader| call(&mut reader.0.lock().expect("no call panics"))))
}

/// # Safety
/// `file` is a C string; `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_open(file: *const c_char, dram: u64, out: *mut *mut ReaderHandle) -> c_int {
    let open = || {
        // SAFETY: Guaranteed by the caller.
        let file = unsafe { path("path", file) }?;
        if out.is_null() {
            return Err(Failure::Argument("reader is NULL".to_owned()));
        }
        let reader = Reader::open(file, if dram == 0 { Options::default().dram } else { dram })?;
        // SAFETY: The pointer is not null, and the caller guarantees that it is writable.
        unsafe { store(out, Box::into_raw(Box::new(ReaderHandle(Mutex::new(reader))))) };
        Ok(())
    };
    report(open())
}

/// # Safety
/// `reader` is null or open; it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_close(reader: *mut ReaderHandle) -> c_int {
    if !reader.is_null() {
        // SAFETY: The pointer came from a box, and the caller does not use it again.
        drop(unsafe { Box::from_raw(reader) });
    }
    Code::Ok as c_int
}

/// # Safety
/// `reader` is null or open; `into` is writable for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_read(
    reader: *mut ReaderHandle,
    address: u64,
    into: *mut c_void,
    count: usize,
) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(reader, |reader| Ok(reader.read(address, bytes_mut("into", into.cast(), count)?)?)) }
}

/// # Safety
/// `reader` is null or open; `name` is a C string; `address` and `bytes` are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_find(
    reader: *mut ReaderHandle,
    name: *const c_char,
    address: *mut u64,
    bytes: *mut u64,
) -> c_int {
    let call = |reader: &mut Reader| {
        // SAFETY: Guaranteed by the caller.
        let (at, size) = reader.find(unsafe { text("name", name) }?)?;
        // SAFETY: Guaranteed by the caller.
        unsafe { (store(address, at), store(bytes, size)) };
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(reader, call) }
}

/// # Safety
/// `reader` is null or open; `each` is null or safe to call with `user`, and makes no calls on this reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_tokens(reader: *mut ReaderHandle, each: Each<u64>, user: *mut c_void) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(reader, |reader| each_token(reader.tokens()?, each, user)) }
}

/// # Safety
/// `reader` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_go_to(reader: *mut ReaderHandle, token: u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(reader, |reader| Ok(reader.go_to(Token(token))?)) }
}

/// # Safety
/// `reader` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_refresh(reader: *mut ReaderHandle) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(reader, |reader| Ok(reader.refresh()?)) }
}

/// # Safety
/// `reader` is null or open; `each` is null or safe to call with `user` and a message, and makes no calls on this
/// reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_verify(
    reader: *mut ReaderHandle,
    each: Each<c_int>,
    user: *mut c_void,
) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(reader, |reader| each_lost(reader.verify()?.0, each, user)) }
}

/// # Safety
/// `reader` is null or open; `name` is null or a C string; `to` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_export(
    reader: *mut ReaderHandle,
    name: *const c_char,
    to: *const c_char,
) -> c_int {
    let call = |reader: &mut Reader| {
        // SAFETY: Guaranteed by the caller.
        let name = if name.is_null() { None } else { Some(unsafe { text("name", name) }?) };
        // SAFETY: Guaranteed by the caller.
        reader.export(name, unsafe { path("to", to) }?)?;
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(reader, call) }
}

/// # Safety
/// `from` and `to` are C strings; `each` is null or safe to call with `user` and a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_backup(
    from: *const c_char,
    to: *const c_char,
    each: Each<c_int>,
    user: *mut c_void,
) -> c_int {
    let copied = || {
        // SAFETY: Guaranteed by the caller.
        let (from, to) = unsafe { (path("from", from)?, path("to", to)?) };
        // SAFETY: Guaranteed by the caller.
        unsafe { each_lost(memory::backup(from, to)?, each, user) }
    };
    report(copied())
}
