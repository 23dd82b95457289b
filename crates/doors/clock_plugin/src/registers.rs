//! The drive's registers as a region of QEMU's memory: an access reaches the plug-in instead of the device's socket.
//!
//! The device puts each of its BARs into a region of QEMU. A region of higher priority in that of BAR 0 takes its place,
//! up to the interrupts' table, which stays QEMU's.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr;

use guest_clock::REGISTER_BYTES;

use crate::qemu::{Device, symbols};

/// The end of the name of the region for BAR 0, among the children of the device.
const BAR_0: &[u8] = b" base BAR 0[0]";
/// Above the device's own regions, whose priorities are 0 and 1.
const PRIORITY: c_int = 2;
/// `DEVICE_LITTLE_ENDIAN`.
const LITTLE_ENDIAN: c_int = 2;
/// Bytes reserved for a `MemoryRegion`, which takes less than 300 in QEMU 11.1.
const REGION_BYTES: usize = 2048;
/// `MO_32`, of the target's byte order.
const WORD: c_uint = 2;
/// Value of the region's word of which [`Functions::install`] checks that it arrives.
const PROBE: u64 = 0x0123_4567;

pub(crate) type Read = unsafe extern "C" fn(*mut c_void, u64, c_uint) -> u64;
pub(crate) type Write = unsafe extern "C" fn(*mut c_void, u64, u64, c_uint);

/// Sizes of accesses: `impl` of `MemoryRegionOps`.
#[repr(C)]
struct Sizes {
    least: c_uint,
    most: c_uint,
    unaligned: bool,
}

/// The accesses that guests may make: `valid` of `MemoryRegionOps`.
#[repr(C)]
struct Valid {
    sizes: Sizes,
    accepts: *const c_void,
}

/// `MemoryRegionOps`.
#[repr(C)]
struct Operations {
    read: Read,
    write: Write,
    with_attributes: [*const c_void; 2],
    endianness: c_int,
    valid: Valid,
    implemented: Sizes,
}

/// `Notifier`, with room for its links.
#[repr(C)]
struct Notifier {
    notify: unsafe extern "C" fn(*mut c_void, *mut c_void),
    links: [*mut c_void; 2],
}

type InitIo = unsafe extern "C" fn(*mut c_void, *mut c_void, *const Operations, *mut c_void, *const c_char, u64);
type AddOverlap = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, c_int);
type DispatchRead = unsafe extern "C" fn(*mut c_void, u64, *mut u64, c_uint, u64) -> c_uint;
type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type ForEachChild = unsafe extern "C" fn(*mut c_void, Visit, *mut c_void) -> c_int;
type PathComponent = unsafe extern "C" fn(*const c_void) -> *const c_char;
type OnMachineDone = unsafe extern "C" fn(*mut Notifier);

/// The functions of QEMU for regions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions {
    init_io: InitIo,
    add_overlap: AddOverlap,
    dispatch_read: DispatchRead,
    for_each_child: ForEachChild,
    path_component: PathComponent,
    on_machine_done: OnMachineDone,
}

/// A search through the children of a device.
struct Search {
    path_component: PathComponent,
    found: *mut c_void,
}

/// Keeps the child that is the region of BAR 0.
unsafe extern "C" fn visit(child: *mut c_void, search: *mut c_void) -> c_int {
    // SAFETY: `Functions::bar` passes a search that lives longer.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY: QEMU calls with an object that has a parent.
    let name = unsafe { (search.path_component)(child) };
    // SAFETY: a name ends with a zero.
    if !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes().ends_with(BAR_0) {
        search.found = child;
    }
    0
}

unsafe extern "C" fn read_probe(_: *mut c_void, _: u64, _: c_uint) -> u64 {
    PROBE
}

unsafe extern "C" fn drop_write(_: *mut c_void, _: u64, _: u64, _: c_uint) {}

impl Functions {
    /// Finds all functions.
    ///
    /// # Errors
    /// Fails with the names of the functions that this QEMU does not export.
    pub fn find() -> Result<Functions, Vec<&'static str>> {
        let [init, add, dispatch, each, component, done] = symbols([
            c"memory_region_init_io",
            c"memory_region_add_subregion_overlap",
            c"memory_region_dispatch_read",
            c"object_child_foreach",
            c"object_get_canonical_path_component",
            c"qemu_add_machine_init_done_notifier",
        ])?;
        // SAFETY: QEMU 11.1 exports functions with these names and types, and none of the addresses is zero.
        unsafe {
            Ok(Functions {
                init_io: transmute::<*mut c_void, InitIo>(init),
                add_overlap: transmute::<*mut c_void, AddOverlap>(add),
                dispatch_read: transmute::<*mut c_void, DispatchRead>(dispatch),
                for_each_child: transmute::<*mut c_void, ForEachChild>(each),
                path_component: transmute::<*mut c_void, PathComponent>(component),
                on_machine_done: transmute::<*mut c_void, OnMachineDone>(done),
            })
        }
    }

    /// Calls `notify` once the machine has all its devices, before the guest starts. QEMU then holds its global lock.
    pub fn when_machine_is_done(&self, notify: unsafe extern "C" fn(*mut c_void, *mut c_void)) {
        let notifier = Box::leak(Box::new(Notifier { notify, links: [ptr::null_mut(); 2] }));
        // SAFETY: a notifier that is never freed.
        unsafe { (self.on_machine_done)(notifier) };
    }

    /// Puts a region with `read` and `write` over the registers of `device`. The caller holds QEMU's global lock.
    ///
    /// # Errors
    /// Fails if the device has no BAR 0, or this QEMU's regions differ from those of QEMU 11.1.
    pub fn install(&self, device: Device, read: Read, write: Write) -> Result<(), String> {
        let mut search = Search { path_component: self.path_component, found: ptr::null_mut() };
        // SAFETY: the device exists, and `visit` fits its argument.
        unsafe { (self.for_each_child)(device.0, visit, ptr::from_mut(&mut search).cast()) };
        if search.found.is_null() {
            return Err("found no region for BAR 0 of the vfio-user-pci device".to_owned());
        }
        let probe = self.region(read_probe, drop_write);
        let mut value = 0;
        // SAFETY: an initialized region, and no attributes.
        let result = unsafe { (self.dispatch_read)(probe, 0, &raw mut value, WORD, 0) };
        if (result, value) != (0, PROBE) {
            return Err("found memory regions unlike those of QEMU 11.1".to_owned());
        }
        // SAFETY: both are regions, which are never freed.
        unsafe { (self.add_overlap)(search.found, 0, self.region(read, write), PRIORITY) };
        Ok(())
    }

    /// Creates a region that is never freed.
    fn region(&self, read: Read, write: Write) -> *mut c_void {
        let sizes = || Sizes { least: 1, most: 8, unaligned: false };
        let operations = Box::leak(Box::new(Operations {
            read,
            write,
            with_attributes: [ptr::null(); 2],
            endianness: LITTLE_ENDIAN,
            valid: Valid { sizes: sizes(), accepts: ptr::null() },
            implemented: sizes(),
        }));
        let region: *mut c_void = Box::leak(Box::new([0u64; REGION_BYTES / 8])).as_mut_ptr().cast();
        let name = c"nandram registers".as_ptr();
        // SAFETY: the memory is zero and larger than a region; it, operations and name are never freed.
        unsafe { (self.init_io)(region, ptr::null_mut(), operations, ptr::null_mut(), name, REGISTER_BYTES) };
        region
    }
}
