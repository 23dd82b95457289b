//! The calls to a memory that is open for writing.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

use memory::{Error, Hint, MappableMemory, Memory, Options, Permissions, Stats, Token};

use crate::{Code, Failure, bytes, bytes_mut, c_text, deref, path, report, store, text};

/// An open memory. Threads may share it; calls are serialized.
pub struct Handle(Mutex<Option<MappableMemory>>);

impl Handle {
    fn call<T>(&self, call: impl FnOnce(&mut MappableMemory) -> T) -> T {
        call(self.0.lock().expect("no call panics").as_mut().expect("open until freed"))
    }
}

/// The `nandram_options` structure; 0 selects a default.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NandramOptions {
    capacity: u64,
    dram: u64,
    space: u64,
    tokens: u32,
}

/// The `nandram_stats` structure.
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
unsafe fn with(handle: *const Handle, call: impl FnOnce(&mut MappableMemory) -> Result<(), Failure>) -> c_int {
    // SAFETY: Guaranteed by the caller.
    report(unsafe { deref("memory", handle) }.and_then(|handle| handle.call(call)))
}

/// # Safety
/// As documented in `nandram.h`.
unsafe fn open_with(
    name: *const c_char,
    options: *const NandramOptions,
    out: *mut *mut Handle,
    open: impl FnOnce(&std::path::Path, &Options) -> Result<Memory, Error>,
) -> c_int {
    let open = || {
        // SAFETY: Guaranteed by the caller.
        let (name, given) = unsafe { (path("path", name)?, options.as_ref()) };
        if out.is_null() {
            return Err(Failure::Argument("memory is NULL".to_owned()));
        }
        let mut options = Options::default();
        if let Some(given) = given {
            let nonzero = |value: u64| (value != 0).then_some(value);
            (options.capacity, options.space) = (nonzero(given.capacity), nonzero(given.space));
            options.dram = nonzero(given.dram).unwrap_or(options.dram);
            options.tokens = if given.tokens == 0 { options.tokens } else { given.tokens };
        }
        let memory = open(name, &options)?;
        // SAFETY: The pointer is not null, and the caller guarantees that it is writable.
        unsafe {
            store(out, Box::into_raw(Box::new(Handle(Mutex::new(Some(MappableMemory::Plain(Box::new(memory))))))))
        };
        Ok(())
    };
    report(open())
}

/// # Safety
/// As documented in `nandram.h`: `path` is a C string, `options` is null or valid, and `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_create(
    path: *const c_char,
    options: *const NandramOptions,
    out: *mut *mut Handle,
) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { open_with(path, options, out, Memory::create) }
}

/// # Safety
/// Same as `nandram_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_open(
    path: *const c_char,
    options: *const NandramOptions,
    out: *mut *mut Handle,
) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { open_with(path, options, out, Memory::open) }
}

/// # Safety
/// `file` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_grow(file: *const c_char, capacity: u64, space: u64) -> c_int {
    let nonzero = |value: u64| (value != 0).then_some(value);
    // SAFETY: Guaranteed by the caller.
    let grown =
        unsafe { path("path", file) }.and_then(|file| Ok(memory::grow(file, nonzero(capacity), nonzero(space))?));
    report(grown)
}

/// # Safety
/// `memory` is null or open; it is freed even if the call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_close(memory: *mut Handle) -> c_int {
    if memory.is_null() {
        return Code::Ok as c_int;
    }
    // SAFETY: The pointer came from a box, and the caller does not use it again.
    let memory = unsafe { Box::from_raw(memory) }.0.into_inner().expect("no call panics");
    report(memory.map_or(Ok(()), MappableMemory::close).map_err(Failure::from))
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_capacity(memory: *const Handle) -> u64 {
    let capacity = |memory: &mut MappableMemory| memory.with(|memory| Ok(memory.shape().capacity())).unwrap_or(0);
    // SAFETY: Guaranteed by the caller.
    unsafe { memory.as_ref() }.map_or(0, |handle| handle.call(capacity))
}

/// # Safety
/// `memory` is null or open; `address` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_alloc(memory: *mut Handle, bytes: u64, temporary: c_int, address: *mut u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe {
        with(memory, |memory| {
            memory
                .with(|memory| memory.alloc(bytes, temporary != 0))
                .map(|at| store(address, at))
                .map_err(Failure::from)
        })
    }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_delete(memory: *mut Handle, address: u64, bytes: u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| Ok(memory.delete(address, bytes)?)) }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_set_permissions(memory: *mut Handle, address: u64, bytes: u64, allowed: u32) -> c_int {
    let call = |memory: &mut MappableMemory| {
        if allowed > 7 {
            return Err(Failure::Argument(format!("permissions are {allowed:#x}, expected bits of 0x7")));
        }
        let (read, write, permanent) = (allowed & 1 != 0, allowed & 2 != 0, allowed & 4 != 0);
        Ok(memory.set_permissions(address, bytes, Permissions { read, write, permanent, ..Permissions::PRIVATE })?)
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open; `into` is writable for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_read(memory: *mut Handle, address: u64, into: *mut c_void, count: usize) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| Ok(memory.read(address, bytes_mut("into", into.cast(), count)?)?)) }
}

/// # Safety
/// `memory` is null or open; `from` is readable for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_write(memory: *mut Handle, address: u64, from: *const c_void, count: usize) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| Ok(memory.write(address, bytes("from", from.cast(), count)?)?)) }
}

/// # Safety
/// `memory` is null or open; `name` is null or a C string; `token` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sync(memory: *mut Handle, name: *const c_char, token: *mut u64) -> c_int {
    let call = |memory: &mut MappableMemory| {
        // SAFETY: Guaranteed by the caller.
        let name = if name.is_null() { None } else { Some(unsafe { text("name", name) }?) };
        let given = memory.sync(name)?;
        // SAFETY: Guaranteed by the caller.
        unsafe { store(token, given.0) };
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_rollback(memory: *mut Handle, token: u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| Ok(memory.rollback(Token(token))?)) }
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_drop(memory: *mut Handle, token: u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| Ok(memory.with(|memory| memory.drop_token(Token(token)))?)) }
}

/// # Safety
/// `memory` is null or open; `name` is a C string; `token` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_token(memory: *mut Handle, name: *const c_char, token: *mut u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe {
        with(memory, |memory| {
            let name = text("name", name)?;
            memory.with(|memory| memory.token(name)).map(|found| store(token, found.0)).map_err(Failure::from)
        })
    }
}

/// Calls `each` with every token and its name or null.
///
/// # Safety
/// `each` must be safe to call with these arguments.
pub(crate) unsafe fn each_token(
    tokens: Vec<(Token, Option<String>)>,
    each: Each<u64>,
    user: *mut c_void,
) -> Result<(), Failure> {
    for (token, name) in tokens {
        let name = name.as_deref().map(c_text);
        let name = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        let Some(each) = each else { continue };
        // SAFETY: Guaranteed by the caller; the string outlives the call.
        unsafe { each(user, token.0, name) };
    }
    Ok(())
}

/// # Safety
/// `memory` is null or open; `each` is null or safe to call with `user`, and makes no calls on this memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_tokens(memory: *mut Handle, each: Each<u64>, user: *mut c_void) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| each_token(memory.with(Memory::tokens)?, each, user)) }
}

/// # Safety
/// `memory` is null or open; `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_name(memory: *mut Handle, name: *const c_char, address: u64, bytes: u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe {
        with(memory, |memory| {
            let name = text("name", name)?;
            Ok(memory.with(|memory| memory.name(name, address, bytes))?)
        })
    }
}

/// # Safety
/// `memory` is null or open; `name` is a C string; `address` and `bytes` are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_find(
    memory: *mut Handle,
    name: *const c_char,
    address: *mut u64,
    bytes: *mut u64,
) -> c_int {
    let call = |memory: &mut MappableMemory| {
        // SAFETY: Guaranteed by the caller.
        let name = unsafe { text("name", name) }?;
        let (at, size) = memory.with(|memory| memory.find(name))?;
        // SAFETY: Guaranteed by the caller.
        unsafe { (store(address, at), store(bytes, size)) };
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open; `each` is null or safe to call with `user` and a message, and makes no calls on this
/// memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_verify(memory: *mut Handle, each: Each<c_int>, user: *mut c_void) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| each_lost(memory.with(Memory::verify)?.0, each, user)) }
}

/// Calls `each` with the code and message of each loss, and returns the last as the error.
///
/// # Safety
/// `each` must be safe to call with these arguments.
pub(crate) unsafe fn each_lost(lost: Vec<Error>, each: Each<c_int>, user: *mut c_void) -> Result<(), Failure> {
    for error in &lost {
        let message = c_text(&error.to_string());
        let Some(each) = each else { continue };
        // SAFETY: Guaranteed by the caller; the string outlives the call.
        unsafe { each(user, Code::of(error) as c_int, message.as_ptr()) };
    }
    lost.into_iter().next_back().map_or(Ok(()), |error| Err(error.into()))
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_compact(memory: *mut Handle) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, |memory| Ok(memory.with(Memory::compact)?)) }
}

/// # Safety
/// `memory` is null or open; `stats` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_get_stats(memory: *mut Handle, stats: *mut NandramStats) -> c_int {
    let call = |memory: &mut MappableMemory| {
        let segment = memory.with(|memory| Ok(memory.shape().segment_bytes))?;
        // SAFETY: Guaranteed by the caller.
        unsafe { store(stats, NandramStats::of(&memory.stats()?, segment.into())) };
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, call) }
}

/// # Safety
/// `memory` is null or open; `at` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_map(memory: *mut Handle, address: u64, bytes: u64, at: *mut *mut c_void) -> c_int {
    let mapped = || {
        // SAFETY: Guaranteed by the caller.
        let handle = unsafe { deref("memory", memory) }?;
        if at.is_null() {
            return Err(Failure::Argument("at is NULL".to_owned()));
        }
        let mut guard = handle.0.lock().expect("no call panics");
        let (memory, area) = guard.take().expect("open until freed").area(address, bytes);
        *guard = Some(memory);
        // SAFETY: The pointer is not null, and the caller guarantees that it is writable.
        unsafe { store(at, area?.start().cast()) };
        Ok(())
    };
    report(mapped())
}

/// # Safety
/// `memory` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_advise(memory: *mut Handle, address: u64, bytes: u64, advice: c_int) -> c_int {
    let call = |memory: &mut MappableMemory| {
        let known = usize::try_from(advice).ok().and_then(|advice| Hint::ALL.get(advice));
        let Some(hint) = known else {
            return Err(Failure::Argument(format!("advice is {advice}, expected 0 to 4")));
        };
        Ok(memory.advise(address, bytes, *hint)?)
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(memory, call) }
}
