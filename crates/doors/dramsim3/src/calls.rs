//! The C functions below `cpp/dramsim3.cc`. A mistake of the user's prints one line and ends the process with status 2,
//! because the interface has no way to report one.

use std::ffi::{CStr, c_char};
use std::path::PathBuf;

use crate::memory::{Done, Memory};

/// A memory, and where its summary goes.
pub struct Handle {
    memory: Memory,
    output: PathBuf,
    done: Vec<Done>,
}

fn fail(message: &str) -> ! {
    eprintln!("libdramsim3: {message}");
    std::process::exit(2);
}

/// # Safety
/// The pointer must be null or point to a text that ends with a zero and does not change meanwhile.
unsafe fn text<'a>(what: &str, pointer: *const c_char) -> &'a str {
    if pointer.is_null() {
        fail(&format!("{what} is NULL"));
    }
    // SAFETY: Guaranteed by the caller.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap_or_else(|_| fail(&format!("{what} is not UTF-8")))
}

/// Creates the memory of the system file, or preset, `config`; its summaries go to the folder `output`.
///
/// # Safety
/// Both pointers must be null or point to texts that end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_open(config: *const c_char, output: *const c_char) -> *mut Handle {
    // SAFETY: Guaranteed by the caller.
    let (config, output) = unsafe { (text("config_file", config), text("output_dir", output)) };
    let memory = Memory::new(config).unwrap_or_else(|message| fail(&message));
    let output = if output.is_empty() { PathBuf::from(".") } else { PathBuf::from(output) };
    Box::into_raw(Box::new(Handle { memory, output, done: Vec::new() }))
}

/// Frees a memory.
///
/// # Safety
/// `handle` must come from [`nandram_ds3_open`] and not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_close(handle: *mut Handle) {
    // SAFETY: Guaranteed by the caller.
    drop(unsafe { Box::from_raw(handle) });
}

/// Returns the clock's period in nanoseconds.
///
/// # Safety
/// `handle` must come from [`nandram_ds3_open`], like those of all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_period(handle: *const Handle) -> f64 {
    // SAFETY: Guaranteed by the caller.
    unsafe { &*handle }.memory.clock().period_ps() / 1000.0
}

/// Returns the maximum number of outstanding transactions.
///
/// # Safety
/// As of [`nandram_ds3_period`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_queue(handle: *const Handle) -> u32 {
    // SAFETY: Guaranteed by the caller.
    unsafe { &*handle }.memory.queue()
}

/// Returns 1 if there is room for a transaction, else 0.
///
/// # Safety
/// As of [`nandram_ds3_period`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_room(handle: *const Handle) -> u32 {
    // SAFETY: Guaranteed by the caller.
    unsafe { &*handle }.memory.has_room().into()
}

/// Adds a transaction after `cycle` ticks, and returns the first cycle in which something may happen.
///
/// # Safety
/// As of [`nandram_ds3_period`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_add(handle: *mut Handle, cycle: u64, address: u64, is_write: u32) -> u64 {
    // SAFETY: Guaranteed by the caller.
    let handle = unsafe { &mut *handle };
    handle.memory.add(cycle, address, is_write != 0).unwrap_or_else(|message| fail(&message))
}

/// Advances to edge `cycle`. Returns `count` completed transactions, valid until the next call, and stores the
/// first cycle in which something may happen next in `due`.
///
/// # Safety
/// As of [`nandram_ds3_period`]; `count` and `due` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_tick(
    handle: *mut Handle,
    cycle: u64,
    count: *mut u64,
    due: *mut u64,
) -> *const Done {
    // SAFETY: Guaranteed by the caller.
    let handle = unsafe { &mut *handle };
    handle.done.clear();
    let next = handle.memory.tick(cycle, &mut handle.done);
    // SAFETY: Guaranteed by the caller.
    unsafe {
        count.write(handle.done.len() as u64);
        due.write(next);
    }
    handle.done.as_ptr()
}

/// Writes the summary at edge `cycle` to `nandram.json` in the output folder.
///
/// # Safety
/// As of [`nandram_ds3_period`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_print(handle: *mut Handle, cycle: u64) {
    // SAFETY: Guaranteed by the caller.
    let handle = unsafe { &mut *handle };
    let path = handle.output.join("nandram.json");
    let text = format!("{:#}\n", handle.memory.summary(cycle));
    if let Err(error) = std::fs::write(&path, text) {
        fail(&format!("{}: {error}", path.display()));
    }
}

/// Forgets the counts so far.
///
/// # Safety
/// As of [`nandram_ds3_period`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_ds3_reset(handle: *mut Handle, cycle: u64) {
    // SAFETY: Guaranteed by the caller.
    unsafe { &mut *handle }.memory.reset(cycle);
}
