//! The calls to a memory that is open for writing.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

use memory::{Advised, Error, Held, Memory, Options, Permissions, Stats, Token};

use crate::{Code, Failure, bytes, c_text, given, path, put, room, text, told};

/// A memory that is open. Threads may share it: calls go one after the other.
pub struct Handle(Mutex<Option<Held>>);

impl Handle {
    fn call<T>(&self, call: impl FnOnce(&mut Held) -> T) -> T {
        call(self.0.lock().expect("no call panics").as_mut().expect("it is not closed"))
    }
}

/// How a memory is made or opened; 0: as if it were not said.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NandramOptions {
    capacity: u64,
    dram: u64,
    space: u64,
    tokens: u32,
}

/// What was done since it was opened, and how it is.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NandramStats {
    hits: u64,
    misses: u64,
    read_bytes: u64,
    written_bytes: u64,
    data_bytes: u64,
    flushes: u64,
    dirty_segments: u64,
    dram_bytes: u64,
    needed_bytes: u64,
    space_bytes: u64,
    faults: u64,
    store_faults: u64,
    read_ahead: u64,
    evicted: u64,
    mapped_bytes: u64,
}

impl NandramStats {
    pub(crate) fn of(stats: &Stats, segment: u64) -> NandramStats {
        NandramStats {
            hits: stats.hits,
            misses: stats.misses,
            read_bytes: stats.read_bytes,
            written_bytes: stats.written_bytes,
            data_bytes: stats.controller.programs[0] * segment,
            flushes: stats.flushes,
            dirty_segments: stats.dirty,
            dram_bytes: stats.dram_bytes,
            needed_bytes: stats.needed_bytes,
            space_bytes: stats.space_bytes,
            faults: stats.map.faults,
            store_faults: stats.map.store_faults,
            read_ahead: stats.map.read_ahead,
            evicted: stats.map.evicted,
            mapped_bytes: stats.map.mapped_bytes,
        }
    }
}

pub(crate) type Each<T> = Option<unsafe extern "C" fn(*mut c_void, T, *const c_char)>;

/// Calls `call` with the memory.
///
/// # Safety
/// `handle` is null or comes from `nandram_create` or `nandram_open`, and was not closed.
unsafe fn with(handle: *const Handle, call: impl FnOnce(&mut Held) -> Result<(), Failure>) -> c_int {
    // SAFETY: The caller says so.
    told(unsafe { given("memory", handle) }.and_then(|handle| handle.call(call)))
}

/// # Safety
/// As `nandram.h` has it.
unsafe fn begin(
    name: *const c_char,
    options: *const NandramOptions,
    out: *mut *mut Handle,
    open: impl FnOnce(&std::path::Path, &Options) -> Result<Memory, Error>,
) -> c_int {
    let begun = || {
        // SAFETY: The caller says so, of each.
        let (name, wanted) = unsafe { (path("path", name)?, options.as_ref()) };
        if out.is_null() {
            return Err(Failure::Argument("memory is NULL".to_owned()));
        }
        let mut options = Options::default();
        if let Some(wanted) = wanted {
            let said = |value: u64| (value != 0).then_some(value);
            (options.capacity, options.space) = (said(wanted.capacity), said(wanted.space));
            options.dram = said(wanted.dram).unwrap_or(options.dram);
            options.tokens = if wanted.tokens == 0 { options.tokens } else { wanted.tokens };
        }
        let memory = open(name, &options)?;
        // SAFETY: It is not null, and the caller says that there is room.
        unsafe { put(out, Box::into_raw(Box::new(Handle(Mutex::new(Some(Held::Plain(Box::new(memory)))))))) };
        Ok(())
    };
    told(begun())
}

/// # Safety
/// As `nandram.h` has it: `path` is a text, `options` null or an `nandram_options`, `out` has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_create(
    path: *const c_char,
    options: *const NandramOptions,
    out: *mut *mut Handle,
) -> c_int {
    // SAFETY: The caller says so.
    unsafe { begin(path, options, out, Memory::create) }
}

/// # Safety
/// As `nandram_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_open(
    path: *const c_char,
    options: *const NandramOptions,
    out: *mut *mut Handle,
) -> c_int {
    // SAFETY: The caller says so.
    unsafe { begin(path, options, out, Memory::open) }
}

/// # Safety
/// `memory` is null or open; it is freed, whatever is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_close(memory: *mut Handle) -> c_int {
    if memory.is_null() {
        return Code::Ok as c_int;
    }
    // SAFETY: It came from a box, and the caller does not use it again.
    let held = unsafe { Box::from_raw(memory) }.0.into_inner().expect("no call panics");
    told(held.map_or(Ok(()), Held::close).map_err(Failure::from))
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_capacity(memory: *const Handle) -> u64 {
    let capacity = |held: &mut Held| held.with(|memory| Ok(memory.shape().capacity())).unwrap_or(0);
    // SAFETY: The caller says so.
    unsafe { memory.as_ref() }.map_or(0, |handle| handle.call(capacity))
}

/// # Safety
/// `memory` is null or open, `address` null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_alloc(memory: *mut Handle, bytes: u64, temporary: c_int, address: *mut u64) -> c_int {
    // SAFETY: The caller says so.
    unsafe {
        with(memory, |held| {
            held.with(|memory| memory.alloc(bytes, temporary != 0)).map(|at| put(address, at)).map_err(Failure::from)
        })
    }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_delete(memory: *mut Handle, address: u64, bytes: u64) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| Ok(held.delete(address, bytes)?)) }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_set_permissions(memory: *mut Handle, address: u64, bytes: u64, allowed: u32) -> c_int {
    let call = |held: &mut Held| {
        if allowed > 7 {
            return Err(Failure::Argument(format!("permissions are {allowed:#x}, expected bits of 0x7")));
        }
        let (read, write, permanent) = (allowed & 1 != 0, allowed & 2 != 0, allowed & 4 != 0);
        Ok(held.set_permissions(address, bytes, Permissions { read, write, permanent, ..Permissions::PRIVATE })?)
    };
    // SAFETY: The caller says so.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open; `into` has room for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_read(memory: *mut Handle, address: u64, into: *mut c_void, count: usize) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| Ok(held.read(address, room("into", into.cast(), count)?)?)) }
}

/// # Safety
/// `memory` is null or open; `from` has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_write(memory: *mut Handle, address: u64, from: *const c_void, count: usize) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| Ok(held.write(address, bytes("from", from.cast(), count)?)?)) }
}

/// # Safety
/// `memory` is null or open; `name` is null or a text; `token` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sync(memory: *mut Handle, name: *const c_char, token: *mut u64) -> c_int {
    let call = |held: &mut Held| {
        // SAFETY: The caller says so.
        let name = if name.is_null() { None } else { Some(unsafe { text("name", name) }?) };
        let given = held.sync(name)?;
        // SAFETY: The caller says so.
        unsafe { put(token, given.0) };
        Ok(())
    };
    // SAFETY: The caller says so.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_rollback(memory: *mut Handle, token: u64) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| Ok(held.rollback(Token(token))?)) }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_drop(memory: *mut Handle, token: u64) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| Ok(held.with(|memory| memory.drop_token(Token(token)))?)) }
}

/// # Safety
/// `memory` is null or open; `name` is a text; `token` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_token(memory: *mut Handle, name: *const c_char, token: *mut u64) -> c_int {
    // SAFETY: The caller says so.
    unsafe {
        with(memory, |held| {
            let name = text("name", name)?;
            held.with(|memory| memory.token(name)).map(|found| put(token, found.0)).map_err(Failure::from)
        })
    }
}

/// Calls `each` with every token and its name, or null.
///
/// # Safety
/// It may be called so.
pub(crate) unsafe fn each_token(
    tokens: Vec<(Token, Option<String>)>,
    each: Each<u64>,
    user: *mut c_void,
) -> Result<(), Failure> {
    for (token, name) in tokens {
        let name = name.as_deref().map(c_text);
        let name = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        let Some(each) = each else { continue };
        // SAFETY: The caller says so; the text lives until it returns.
        unsafe { each(user, token.0, name) };
    }
    Ok(())
}

/// # Safety
/// `memory` is null or open; `each` is null or may be called with `user`, and calls nothing of this memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_tokens(memory: *mut Handle, each: Each<u64>, user: *mut c_void) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| each_token(held.with(Memory::tokens)?, each, user)) }
}

/// # Safety
/// `memory` is null or open; `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_name(memory: *mut Handle, name: *const c_char, address: u64, bytes: u64) -> c_int {
    // SAFETY: The caller says so.
    unsafe {
        with(memory, |held| {
            let name = text("name", name)?;
            Ok(held.with(|memory| memory.name(name, address, bytes))?)
        })
    }
}

/// # Safety
/// `memory` is null or open; `name` is a text; `address` and `bytes` are null or have room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_find(
    memory: *mut Handle,
    name: *const c_char,
    address: *mut u64,
    bytes: *mut u64,
) -> c_int {
    let call = |held: &mut Held| {
        // SAFETY: The caller says so.
        let name = unsafe { text("name", name) }?;
        let (at, size) = held.with(|memory| memory.find(name))?;
        // SAFETY: The caller says so.
        unsafe { (put(address, at), put(bytes, size)) };
        Ok(())
    };
    // SAFETY: The caller says so.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open; `each` is null or may be called with `user` and a message, and calls nothing of this memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_verify(memory: *mut Handle, each: Each<c_int>, user: *mut c_void) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| each_lost(held.with(Memory::verify)?.0, each, user)) }
}

/// Calls `each` with the code and message of everything that cannot be read, and fails with the last.
///
/// # Safety
/// It may be called so.
pub(crate) unsafe fn each_lost(lost: Vec<Error>, each: Each<c_int>, user: *mut c_void) -> Result<(), Failure> {
    for error in &lost {
        let message = c_text(&error.to_string());
        // SAFETY: The caller says so; the text lives until it returns.
        let Some(each) = each else { continue };
        // SAFETY: The caller says so; the text lives until it returns.
        unsafe { each(user, Code::of(error) as c_int, message.as_ptr()) };
    }
    lost.into_iter().next_back().map_or(Ok(()), |error| Err(error.into()))
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_compact(memory: *mut Handle) -> c_int {
    // SAFETY: The caller says so.
    unsafe { with(memory, |held| Ok(held.with(Memory::compact)?)) }
}

/// # Safety
/// `memory` is null or open; `stats` has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_get_stats(memory: *mut Handle, stats: *mut NandramStats) -> c_int {
    let call = |held: &mut Held| {
        let segment = held.with(|memory| Ok(memory.shape().segment_bytes))?;
        // SAFETY: The caller says so.
        unsafe { put(stats, NandramStats::of(&held.stats()?, segment.into())) };
        Ok(())
    };
    // SAFETY: The caller says so.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open; `at` has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_map(memory: *mut Handle, address: u64, bytes: u64, at: *mut *mut c_void) -> c_int {
    let mapped = || {
        // SAFETY: The caller says so.
        let handle = unsafe { given("memory", memory) }?;
        if at.is_null() {
            return Err(Failure::Argument("at is NULL".to_owned()));
        }
        let mut guard = handle.0.lock().expect("no call panics");
        let (held, area) = guard.take().expect("it is not closed").area(address, bytes);
        *guard = Some(held);
        // SAFETY: It is not null, and the caller says that there is room.
        unsafe { put(at, area?.start().cast()) };
        Ok(())
    };
    told(mapped())
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_advise(memory: *mut Handle, address: u64, bytes: u64, advice: c_int) -> c_int {
    let call = |held: &mut Held| {
        let known = usize::try_from(advice).ok().and_then(|advice| Advised::ALL.get(advice));
        let Some(advised) = known else {
            return Err(Failure::Argument(format!("advice is {advice}, expected 0 to 4")));
        };
        Ok(held.advise(address, bytes, *advised)?)
    };
    // SAFETY: The caller says so.
    unsafe { with(memory, call) }
}
