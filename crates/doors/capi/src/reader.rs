//! The calls to a reader beside the writer, and backup.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

use memory::{Options, Reader, Token};

use crate::calls::{Each, each_lost, each_token};
use crate::{Code, Failure, given, path, put, room, text, told};

/// A reader that is open. Threads may share it: calls go one after the other.
pub struct Reading(Mutex<Reader>);

/// Calls `call` with the reader.
///
/// # Safety
/// `reader` is null or comes from `nandram_reader_open`, and was not closed.
unsafe fn with(reader: *const Reading, call: impl FnOnce(&mut Reader) -> Result<(), Failure>) -> c_int {
    // SAFETY: The caller says so.
    told(unsafe { given("reader", reader) }.and_then(|reader| call(&mut reader.0.lock().expect("no call panics"))))
}

/// # Safety
/// `file` is a text, `out` has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_open(file: *const c_char, dram: u64, out: *mut *mut Reading) -> c_int {
    let begun = || {
        // SAFETY: The caller says so.
        let file = unsafe { path("path", file) }?;
        if out.is_null() {
            return Err(Failure::Argument("reader is NULL".to_owned()));
        }
        let reader = Reader::open(file, if dram == 0 { Options::default().dram } else { dram })?;
        // SAFETY: It is not null, and the caller says that there is room.
        unsafe { put(out, Box::into_raw(Box::new(Reading(Mutex::new(reader))))) };
        Ok(())
    };
    told(begun())
}

/// # Safety
/// `reader` is null or open; it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_close(reader: *mut Reading) -> c_int {
    if !reader.is_null() {
        // SAFETY: It came from a box, and the caller does not use it again.
        drop(unsafe { Box::from_raw(reader) });
    }
    Code::Ok as c_int
}

/// # Safety
/// `reader` is null or open; `into` has room for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_read(
    reader: *mut Reading,
    address: u64,
    into: *mut c_void,
    count: usize,
) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(reader, |reader| Ok(reader.read(address, room("into", into.cast(), count)?)?)) }
}

/// # Safety
/// `reader` is null or open; `name` is a text; `address` and `bytes` are null or have room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_find(
    reader: *mut Reading,
    name: *const c_char,
    address: *mut u64,
    bytes: *mut u64,
) -> c_int {
    let call = |reader: &mut Reader| {
        // SAFETY: The caller says so.
        let (at, size) = reader.find(unsafe { text("name", name) }?)?;
        // SAFETY: The caller says so.
        unsafe { (put(address, at), put(bytes, size)) };
        Ok(())
    };
    // SAFETY: The caller says so.
    unsafe { with(reader, call) }
}

/// # Safety
/// `reader` is null or open; `each` is null or may be called with `user`, and calls nothing of this reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_tokens(reader: *mut Reading, each: Each<u64>, user: *mut c_void) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(reader, |reader| each_token(reader.tokens()?, each, user)) }
}

/// # Safety
/// `reader` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_go_to(reader: *mut Reading, token: u64) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(reader, |reader| Ok(reader.go_to(Token(token))?)) }
}

/// # Safety
/// `reader` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_refresh(reader: *mut Reading) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(reader, |reader| Ok(reader.refresh()?)) }
}

/// # Safety
/// `reader` is null or open; `each` is null or may be called with `user` and a message, and calls nothing of this reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_verify(reader: *mut Reading, each: Each<c_int>, user: *mut c_void) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(reader, |reader| each_lost(reader.verify()?.0, each, user)) }
}

/// # Safety
/// `reader` is null or open; `name` is null or a text; `to` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_reader_export(reader: *mut Reading, name: *const c_char, to: *const c_char) -> c_int {
    let call = |reader: &mut Reader| {
        // SAFETY: The caller says so, of each.
        let name = if name.is_null() { None } else { Some(unsafe { text("name", name) }?) };
        // SAFETY: The caller says so.
        reader.export(name, unsafe { path("to", to) }?)?;
        Ok(())
    };
    // SAFETY: The caller says so.
    unsafe { with(reader, call) }
}

/// # Safety
/// `from` and `to` are texts; `each` is null or may be called with `user` and a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_backup(
    from: *const c_char,
    to: *const c_char,
    each: Each<c_int>,
    user: *mut c_void,
) -> c_int {
    let copied = || {
        // SAFETY: The caller says so, of each.
        let (from, to) = unsafe { (path("from", from)?, path("to", to)?) };
        // SAFETY: The caller says so.
        unsafe { each_lost(memory::backup(from, to)?, each, user) }
    };
    told(copied())
}
