//! The parts of QEMU that the plug-in uses: functions found by name in the running program.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr;

/// `QEMU_CLOCK_VIRTUAL`.
const CLOCK_VIRTUAL: c_int = 1;
/// `QEMU_TIMER_ATTR_ALL`.
const ALL_TIMERS: c_int = -1;
/// The type of the device that the drive is for QEMU.
const DEVICE_TYPE: &CStr = c"vfio-user-pci";

/// A function that a timer calls.
pub(crate) type TimerCallback = unsafe extern "C" fn(*mut c_void);

type ClockGetNs = unsafe extern "C" fn(c_int) -> i64;
type TimerInitFull = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, c_int, c_int, TimerCallback, *mut c_void);
type TimerModNs = unsafe extern "C" fn(*mut c_void, i64);
type TimerDel = unsafe extern "C" fn(*mut c_void);
type ResolvePathType = unsafe extern "C" fn(*const c_char, *const c_char, *mut bool) -> *mut c_void;
type AllIdle = unsafe extern "C" fn() -> bool;
type DeadlineNs = unsafe extern "C" fn(c_int, c_int) -> i64;
type MsixNotify = unsafe extern "C" fn(*mut c_void, c_uint);

/// The functions of QEMU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions {
    clock_get_ns: ClockGetNs,
    timer_init_full: TimerInitFull,
    timer_mod_ns: TimerModNs,
    timer_del: TimerDel,
    resolve_path_type: ResolvePathType,
    msix_notify: MsixNotify,
    all_idle: AllIdle,
    deadline_ns: DeadlineNs,
}

/// The address of a PCI device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device(pub(crate) *mut c_void);

// SAFETY: the address is only handed back to QEMU, in threads that hold its global lock.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// Looks symbols up in the running program.
///
/// # Errors
/// Fails with the names of those that are absent.
pub(crate) fn symbols<const N: usize>(names: [&'static CStr; N]) -> Result<[*mut c_void; N], Vec<&'static str>> {
    // SAFETY: a name ends with a zero.
    let found = names.map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    let absent = names.iter().zip(found).filter(|(_, address)| address.is_null());
    let absent: Vec<_> = absent.map(|(name, _)| name.to_str().expect("a name in ASCII")).collect();
    if absent.is_empty() { Ok(found) } else { Err(absent) }
}

impl Functions {
    /// Finds all functions.
    ///
    /// # Errors
    /// Fails with the names of the functions that this QEMU does not export.
    pub fn find() -> Result<Functions, Vec<&'static str>> {
        let [clock, init, modify, delete, resolve, notify, idle, deadline] = symbols([
            c"qemu_clock_get_ns",
            c"timer_init_full",
            c"timer_mod_ns",
            c"timer_del",
            c"object_resolve_path_type",
            c"msix_notify",
            c"all_cpu_threads_idle",
            c"qemu_clock_deadline_ns_all",
        ])?;
        // SAFETY: QEMU 11.1 exports functions with these names and types, and none of the addresses is zero.
        unsafe {
            Ok(Functions {
                clock_get_ns: transmute::<*mut c_void, ClockGetNs>(clock),
                timer_init_full: transmute::<*mut c_void, TimerInitFull>(init),
                timer_mod_ns: transmute::<*mut c_void, TimerModNs>(modify),
                timer_del: transmute::<*mut c_void, TimerDel>(delete),
                resolve_path_type: transmute::<*mut c_void, ResolvePathType>(resolve),
                msix_notify: transmute::<*mut c_void, MsixNotify>(notify),
                all_idle: transmute::<*mut c_void, AllIdle>(idle),
                deadline_ns: transmute::<*mut c_void, DeadlineNs>(deadline),
            })
        }
    }

    /// Returns the virtual clock's time, in a thread of QEMU. In an access of the processor it counts the instructions up to
    /// the one that accesses.
    pub fn now(&self) -> u64 {
        // SAFETY: reading a clock is allowed at any time.
        let now = unsafe { (self.clock_get_ns)(CLOCK_VIRTUAL) };
        u64::try_from(now).expect("virtual time begins at zero")
    }

    /// Returns the time until which the guest sleeps if no device wakes it, in a timer's callback at `now`: that of the
    /// next timer of the virtual clock, or `now` if the processor does not sleep.
    pub fn asleep_until(&self, now: u64) -> u64 {
        // SAFETY: the caller holds QEMU's global lock.
        if !unsafe { (self.all_idle)() } {
            return now;
        }
        // SAFETY: as above. The timer that fires is no longer in the list.
        let left = unsafe { (self.deadline_ns)(CLOCK_VIRTUAL, ALL_TIMERS) };
        u64::try_from(left).map_or(u64::MAX, |left| now.saturating_add(left))
    }

    /// Returns the only device of the drive's type, or `None` if there is none or more than one.
    pub fn device(&self) -> Option<Device> {
        let mut is_ambiguous = false;
        // SAFETY: both strings end with a zero; an empty path searches all objects.
        let found = unsafe { (self.resolve_path_type)(c"".as_ptr(), DEVICE_TYPE.as_ptr(), &raw mut is_ambiguous) };
        (!found.is_null() && !is_ambiguous).then_some(Device(found))
    }

    /// Raises an interrupt of `device`, in a thread that holds QEMU's global lock.
    ///
    /// QEMU checks the vector, and that the guest's driver uses it.
    pub fn raise(&self, device: Device, vector: u16) {
        // SAFETY: the device exists as long as the drive's connection, and the caller holds the lock.
        unsafe { (self.msix_notify)(device.0, c_uint::from(vector)) };
    }
}

/// Bytes reserved for a `QEMUTimer`, which takes 48 in QEMU 11.1.
const TIMER_BYTES: usize = 256;

/// A timer of the virtual clock, which lives as long as the process.
#[derive(Debug)]
pub(crate) struct Timer {
    memory: *mut c_void,
}

// SAFETY: QEMU's functions for timers may be called in any thread.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Sync for Timer {}

impl Timer {
    /// Creates a timer that calls `callback` in a thread that holds QEMU's global lock.
    pub fn new(functions: &Functions, callback: TimerCallback) -> Timer {
        let memory = Box::leak(Box::new([0u64; TIMER_BYTES / 8])).as_mut_ptr().cast();
        // SAFETY: the memory is zero, larger than a timer and never freed; a null group is that of the main loop.
        unsafe {
            (functions.timer_init_full)(memory, ptr::null_mut(), CLOCK_VIRTUAL, 1, 0, callback, ptr::null_mut());
        }
        Timer { memory }
    }

    /// Arms the timer for `next`, or disarms it.
    pub fn arm(&self, functions: &Functions, next: Option<u64>) {
        match next {
            // SAFETY: an initialized timer.
            Some(at) => unsafe { (functions.timer_mod_ns)(self.memory, i64::try_from(at).unwrap_or(i64::MAX)) },
            // SAFETY: an initialized timer.
            None => unsafe { (functions.timer_del)(self.memory) },
        }
    }
}
