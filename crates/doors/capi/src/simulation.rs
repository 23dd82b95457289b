//! The calls to a simulation, of `nandram_sim.h`.

use std::ffi::{c_char, c_int};
use std::path::PathBuf;

use parking_lot::Mutex;
use sim::Time;
use simulation::{Completion, DeviceOptions, Error, Op, Options, Request, Simulation};
use storage::prepare::Preparation;
use system::System;

use crate::{Code, Failure, deref, null, path, report, store, text};

/// A simulation. Threads may share it; calls are serialized.
pub struct SimHandle(Mutex<Simulation>);

/// The `nandram_sim_device` structure.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NandramSimDevice {
    system: *const c_char,
    set: *const c_char,
    prepare: *const c_char,
    cache: *const c_char,
    name: *const c_char,
    outstanding: u32,
    reserved: u32,
}

/// The `nandram_sim_request` structure.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NandramSimRequest {
    at: u64,
    address: u64,
    bytes: u64,
    handle: u64,
    device: u16,
    thread: u16,
    op: u8,
    reserved: [u8; 3],
}

/// The `nandram_sim_completion` structure.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NandramSimCompletion {
    id: u64,
    handle: u64,
    submitted: u64,
    completed: u64,
    device: u16,
    status: u8,
    reserved: [u8; 5],
}

const FUA: u8 = 0x80;

impl NandramSimRequest {
    /// Returns the time and the request; `None` if the structure stands for none.
    #[inline]
    fn request(&self) -> Option<(Time, Request)> {
        let NandramSimRequest { at, address, bytes, handle, device, thread, op, reserved } = *self;
        let (op, fua) = (Op::of_code(op & !FUA)?, op & FUA != 0);
        let is_valid = reserved == [0; 3] && (!fua || op == Op::Write);
        is_valid.then_some((Time::from_ps(at), Request { device, op, fua, thread, address, bytes, handle }))
    }

    /// Returns the error of a structure that stands for no request.
    fn wrong(&self) -> Failure {
        let op = self.op;
        argument(match Op::of_code(op & !FUA) {
            _ if self.reserved != [0; 3] => "reserved is not 0".to_owned(),
            Some(_) => format!("op is {op:#x}, expected NANDRAM_SIM_FUA with NANDRAM_SIM_WRITE alone"),
            None => format!("op is {op:#x}, expected 0 to 4"),
        })
    }
}

impl From<Completion> for NandramSimCompletion {
    fn from(completion: Completion) -> NandramSimCompletion {
        let Completion { id, handle, device, status, submitted, completed } = completion;
        let (submitted, completed) = (submitted.ps(), completed.ps());
        NandramSimCompletion { id, handle, submitted, completed, device, status: status.number(), reserved: [0; 5] }
    }
}

/// Calls `call` with the simulation.
///
/// # Safety
/// `simulation` is null or comes from `nandram_sim_open` or `nandram_sim_restore`, and was not closed.
unsafe fn with(simulation: *const SimHandle, call: impl FnOnce(&mut Simulation) -> Result<(), Failure>) -> c_int {
    // SAFETY: Guaranteed by the caller.
    let handle = unsafe { deref("simulation", simulation) };
    match handle.and_then(|handle| call(&mut handle.0.lock())) {
        Ok(()) => Code::Ok as c_int,
        failed => report(failed),
    }
}

fn argument(what: impl Into<String>) -> Failure {
    Failure::Argument(what.into())
}

/// Reads the structure of a device.
///
/// # Safety
/// Its strings are null or valid.
unsafe fn device(device: &NandramSimDevice) -> Result<DeviceOptions, Failure> {
    if device.reserved != 0 {
        return Err(argument("reserved is not 0"));
    }
    let given = |what: &str, at: *const c_char| {
        if at.is_null() {
            return Ok(None);
        }
        // SAFETY: Guaranteed by the caller, for each of the texts.
        unsafe { text(what, at) }.map(Some)
    };
    // SAFETY: Guaranteed by the caller.
    let source = unsafe { text("system", device.system) }?;
    let sets = given("set", device.set)?.unwrap_or_default();
    let sets = sets.lines().filter(|line| !line.is_empty()).map(System::split_set).collect::<Result<Vec<_>, _>>();
    let system =
        sets.and_then(|sets| System::load(source, &sets)).map_err(|error| Failure::System(error.to_string()))?;
    let name = given("name", device.name)?.unwrap_or(source);
    let mut options = DeviceOptions::new(name, system);
    if let Some(found) = given("prepare", device.prepare)? {
        let known = Preparation::NAMES.iter().find(|(name, _)| *name == found);
        let (_, preparation) = known
            .ok_or_else(|| argument(format!("prepare is `{found}`, expected none, fill, random, steady or rested")))?;
        options.preparation = *preparation;
    }
    if !device.cache.is_null() {
        // SAFETY: Guaranteed by the caller.
        options.cache = Some(PathBuf::from(unsafe { path("cache", device.cache) }?));
    }
    if device.outstanding != 0 {
        options.outstanding = device.outstanding;
    }
    Ok(options)
}

/// Stores a new simulation.
///
/// # Safety
/// `out` is writable.
unsafe fn store_new(out: *mut *mut SimHandle, simulation: Simulation) {
    let handle = SimHandle(Mutex::new(simulation));
    // SAFETY: Guaranteed by the caller.
    unsafe { store(out, Box::into_raw(Box::new(handle))) };
}

/// # Safety
/// `devices` is readable for `count` structures, whose strings are null or valid; `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_open(
    devices: *const NandramSimDevice,
    count: usize,
    seed: u64,
    out: *mut *mut SimHandle,
) -> c_int {
    let open = || {
        if out.is_null() {
            return Err(argument("simulation is NULL"));
        }
        // SAFETY: Guaranteed by the caller.
        let devices = unsafe { slice("devices", devices, count) }?;
        let built = devices.iter().enumerate().map(|(index, one)| {
            // SAFETY: Guaranteed by the caller.
            unsafe { device(one) }.map_err(|failure| match failure {
                Failure::Argument(what) => argument(format!("device {index}: {what}")),
                other => other,
            })
        });
        let simulation = Simulation::new(built.collect::<Result<_, _>>()?, Options { seed, ..Options::default() })?;
        // SAFETY: The pointer is not null, and the caller guarantees that it is writable.
        unsafe { store_new(out, simulation) };
        Ok(())
    };
    report(open())
}

/// # Safety
/// `path` and `cache` are null or C strings; `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_restore(
    file: *const c_char,
    cache: *const c_char,
    out: *mut *mut SimHandle,
) -> c_int {
    let open = || {
        if out.is_null() {
            return Err(argument("simulation is NULL"));
        }
        // SAFETY: Guaranteed by the caller.
        let (file, cache) =
            unsafe { (path("path", file)?, if cache.is_null() { None } else { Some(path("cache", cache)?) }) };
        let simulation = Simulation::restore(file, cache, &mut || true)?;
        // SAFETY: The pointer is not null, and the caller guarantees that it is writable.
        unsafe { store_new(out, simulation) };
        Ok(())
    };
    report(open())
}

/// # Safety
/// `simulation` is null or open; it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_close(simulation: *mut SimHandle) -> c_int {
    if !simulation.is_null() {
        // SAFETY: The pointer came from a box, and the caller does not use it again.
        drop(unsafe { Box::from_raw(simulation) });
    }
    Code::Ok as c_int
}

/// Returns `count` structures to read; the pointer may be null if `count` is 0.
///
/// # Safety
/// They must be readable and not change meanwhile.
unsafe fn slice<'a, T>(what: &str, from: *const T, count: usize) -> Result<&'a [T], Failure> {
    match (count, from.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(null(what)),
        (count, _) if count > isize::MAX as usize / size_of::<T>() => Err(count_is(count)),
        // SAFETY: Guaranteed by the caller.
        _ => Ok(unsafe { std::slice::from_raw_parts(from, count) }),
    }
}

fn count_is(count: usize) -> Failure {
    argument(format!("count is {count}"))
}

/// Adds to a failure which request it is about.
fn of_request(index: usize, failure: Failure) -> Failure {
    match failure {
        Failure::Argument(what) => argument(format!("request {index}: {what}")),
        Failure::Simulation(full) if matches!(*full, Error::Full { .. }) => full.into(),
        Failure::Simulation(cause) => Box::new(Error::InBatch { index, cause }).into(),
        other => other,
    }
}

/// Submits any number of requests, or none.
fn submit_all(simulation: &mut Simulation, given: &[NandramSimRequest]) -> Result<u64, Failure> {
    if let Some((index, one)) = given.iter().enumerate().find(|(_, one)| one.request().is_none()) {
        return Err(of_request(index, one.wrong()));
    }
    Ok(simulation.submit_all(given.iter().filter_map(NandramSimRequest::request))?)
}

/// # Safety
/// `simulation` is null or open; `requests` is readable for `count` structures; `first` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_submit(
    simulation: *mut SimHandle,
    requests: *const NandramSimRequest,
    count: usize,
    first: *mut u64,
) -> c_int {
    let call = |simulation: &mut Simulation| {
        // SAFETY: Guaranteed by the caller.
        let given = unsafe { slice("requests", requests, count) }?;
        let id = match given {
            [one] => match one.request() {
                Some((at, request)) => simulation.submit(at, request).map_err(|error| of_request(0, error.into())),
                None => Err(of_request(0, one.wrong())),
            },
            _ => submit_all(simulation, given),
        }?;
        // SAFETY: Guaranteed by the caller.
        unsafe { store(first, id) };
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(simulation, call) }
}

/// Returns the error of a call that has nowhere to store completions.
fn no_output(out: *mut NandramSimCompletion, capacity: usize) -> Failure {
    argument(match capacity {
        0 => "capacity is 0",
        _ if out.is_null() => "completions is NULL",
        _ => "count is NULL",
    })
}

/// Advances to `until`, or only to the first completions before (`stops`). `u64::MAX` then stands for no time.
///
/// # Safety
/// `simulation` is null or open; `out` is writable for `capacity` structures; `count` is writable.
unsafe fn advance(
    simulation: *mut SimHandle,
    until: u64,
    out: *mut NandramSimCompletion,
    capacity: usize,
    count: *mut usize,
    stops: bool,
) -> c_int {
    let call = |simulation: &mut Simulation| {
        if capacity == 0 || out.is_null() || count.is_null() {
            return Err(no_output(out, capacity));
        }
        let until = (!stops || until != u64::MAX).then_some(Time::from_ps(until));
        let mut stored = 0;
        loop {
            let mut found = simulation.next_completions(until, capacity - stored)?;
            let is_last = stops || found.is_empty();
            while let [completion, others @ ..] = found {
                // SAFETY: No more than `capacity` structures are stored, for which there is room.
                unsafe { out.add(stored).write((*completion).into()) };
                stored += 1;
                found = others;
            }
            if is_last || stored == capacity {
                break;
            }
        }
        // SAFETY: Guaranteed by the caller.
        unsafe { count.write(stored) };
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(simulation, call) }
}

/// # Safety
/// `simulation` is null or open; `out` is writable for `capacity` structures; `count` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_advance(
    simulation: *mut SimHandle,
    until: u64,
    out: *mut NandramSimCompletion,
    capacity: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { advance(simulation, until, out, capacity, count, false) }
}

/// # Safety
/// Same as `nandram_sim_advance`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_advance_to_completion(
    simulation: *mut SimHandle,
    until: u64,
    out: *mut NandramSimCompletion,
    capacity: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { advance(simulation, until, out, capacity, count, true) }
}

/// Stores a value that the simulation knows.
///
/// # Safety
/// `simulation` is null or open; `out` is null or writable.
unsafe fn get<T>(
    simulation: *mut SimHandle,
    what: &str,
    out: *mut T,
    get: impl FnOnce(&mut Simulation) -> Result<T, Box<Error>>,
) -> c_int {
    let call = |simulation: &mut Simulation| {
        if out.is_null() {
            return Err(null(what));
        }
        let value = get(simulation)?;
        // SAFETY: Guaranteed by the caller.
        unsafe { store(out, value) };
        Ok(())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { with(simulation, call) }
}

/// # Safety
/// `simulation` is null or open; `at` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_next_event(simulation: *mut SimHandle, at: *mut u64) -> c_int {
    let next = |simulation: &mut Simulation| Ok(simulation.next_event().map_or(u64::MAX, Time::ps));
    // SAFETY: Guaranteed by the caller.
    unsafe { get(simulation, "at", at, next) }
}

/// # Safety
/// `simulation` is null or open; `now` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_now(simulation: *mut SimHandle, now: *mut u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { get(simulation, "now", now, |simulation| Ok(simulation.now().ps())) }
}

/// # Safety
/// `simulation` is null or open; `room` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_room(simulation: *mut SimHandle, device: u16, room: *mut u32) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { get(simulation, "room", room, |simulation| simulation.room(device.into())) }
}

/// # Safety
/// `simulation` is null or open; `bytes` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_bytes(simulation: *mut SimHandle, device: u16, bytes: *mut u64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { get(simulation, "bytes", bytes, |simulation| simulation.bytes(device.into())) }
}

/// # Safety
/// `simulation` is null or open; `joules` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_energy(simulation: *mut SimHandle, device: u16, joules: *mut f64) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { get(simulation, "joules", joules, |simulation| simulation.energy_j(device.into())) }
}

/// # Safety
/// `simulation` is null or open; `out` is null or writable for `capacity` bytes; `length` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_summary(
    simulation: *mut SimHandle,
    device: u16,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    let summary = |simulation: &mut Simulation| {
        let text = simulation.summary(device.into())?.to_string();
        if !out.is_null() && capacity > text.len() {
            // SAFETY: There is room for the text and a zero, as the caller guarantees.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len());
                out.add(text.len()).write(0);
            }
        }
        Ok(text.len())
    };
    // SAFETY: Guaranteed by the caller.
    unsafe { get(simulation, "length", length, summary) }
}

/// # Safety
/// `simulation` is null or open; `file` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandram_sim_save(simulation: *mut SimHandle, file: *const c_char) -> c_int {
    // SAFETY: Guaranteed by the caller.
    unsafe { with(simulation, |simulation| Ok(simulation.save(path("path", file)?)?)) }
}
