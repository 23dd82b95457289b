//! The kernel interface: a range of addresses with page faults through userfaultfd(2), and operations on its pages.
//!
//! Does not work under Valgrind, which runs one thread at a time: here a thread waits for another in the middle of a
//! load.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use linux_raw_sys::general::{
    UFFD_API, UFFD_EVENT_PAGEFAULT, UFFD_FEATURE_PAGEFAULT_FLAG_WP, UFFD_FEATURE_THREAD_ID, UFFD_PAGEFAULT_FLAG_WP,
    UFFD_PAGEFAULT_FLAG_WRITE, UFFDIO_COPY_MODE_DONTWAKE, UFFDIO_COPY_MODE_WP, UFFDIO_REGISTER_MODE_MISSING,
    UFFDIO_REGISTER_MODE_WP, uffd_msg, uffdio_api, uffdio_copy, uffdio_range, uffdio_register, uffdio_writeprotect,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_COPY, UFFDIO_REGISTER, UFFDIO_WAKE, UFFDIO_WRITEPROTECT};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Ioctl, IoctlOutput, Opcode, Updater, ioctl, opcode};
use rustix::mm::{Advice, MapFlags, ProtFlags, UserfaultfdFlags, madvise, mmap_anonymous, munmap, userfaultfd};
use twox_hash::XxHash3_128;

use super::pages::{Kernel, Key};
use super::source::Source;

/// The mode of `UFFDIO_WRITEPROTECT` that sets the protection.
const PROTECT: u64 = 1;
/// `UFFD_USER_MODE_ONLY`.
const USER_MODE_ONLY: u32 = linux_raw_sys::general::UFFD_USER_MODE_ONLY;

/// `USERFAULTFD_IOC_NEW` of /dev/userfaultfd: takes flags and returns a descriptor.
struct New(IntegerSetter<{ opcode::none(0xaa, 0) }>);

// SAFETY: The argument is an integer, and the result is a descriptor that the caller owns.
unsafe impl Ioctl for New {
    type Output = OwnedFd;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        opcode::none(0xaa, 0)
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        self.0.as_ptr()
    }

    unsafe fn output_from_ptr(output: IoctlOutput, _: *mut std::ffi::c_void) -> rustix::io::Result<OwnedFd> {
        // SAFETY: The kernel has just created the descriptor for this call.
        Ok(unsafe { OwnedFd::from_raw_fd(output) })
    }
}

/// A page fault of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub key: Key,
    /// The access is a store.
    pub write: bool,
    /// The page is mapped and write-protected.
    pub protected: bool,
    pub thread: u32,
}

/// A range of addresses, and the descriptor that delivers its page faults.
#[derive(Debug)]
pub(crate) struct Region {
    faults: OwnedFd,
    base: usize,
    bytes: usize,
    segment: usize,
    /// The key of digests.
    secret: u64,
    pub source: Source,
}

fn open(source: Source) -> io::Result<OwnedFd> {
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
    match source {
        Source::Device => {
            let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/userfaultfd")?;
            // SAFETY: The device supports this request with these flags.
            Ok(unsafe { ioctl(device, New(IntegerSetter::new_usize(flags.bits() as usize))) }?)
        }
        // SAFETY: The descriptor can change memory content, but is only used on addresses that this module mapped.
        Source::Call => Ok(unsafe { userfaultfd(flags) }?),
        // SAFETY: See `Source::Call`.
        Source::UserOnly => Ok(unsafe { userfaultfd(flags | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY)) }?),
    }
}

impl Region {
    /// Reserves `bytes` addresses, all unmapped, with page faults from the first of `sources` that this process may
    /// use.
    ///
    /// # Errors
    /// The reason for each source that cannot be used.
    pub fn new(bytes: u64, segment: u32, sources: &[Source]) -> Result<Region, Vec<(Source, io::Error)>> {
        let mut refused = Vec::new();
        for source in sources {
            match open(*source).and_then(|faults| Region::over(faults, bytes as usize, segment as usize, *source)) {
                Ok(region) => return Ok(region),
                Err(error) => refused.push((*source, error)),
            }
        }
        Err(refused)
    }

    fn over(faults: OwnedFd, bytes: usize, segment: usize, source: Source) -> io::Result<Region> {
        // SAFETY: All structures match the kernel's headers, and the address range is new.
        unsafe {
            let features = u64::from(UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID);
            let mut api = uffdio_api { api: u64::from(UFFD_API), features, ioctls: 0 };
            ioctl(&faults, Updater::<{ UFFDIO_API as Opcode }, _>::new(&mut api))?;
            let base = mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?;
            let secret = RandomState::new().build_hasher().finish();
            let region = Region { faults, base: base as usize, bytes, segment, secret, source };
            // A forked child has nothing mapped at these addresses, rather than a random subset of pages.
            madvise(base, bytes, Advice::LinuxDontFork)?;
            madvise(base, bytes, Advice::LinuxDontDump)?;
            // Kernels without huge pages do not support this advice.
            let _ = madvise(base, bytes, Advice::LinuxNoHugepage);
            let range = uffdio_range { start: base as u64, len: bytes as u64 };
            let mode = u64::from(UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
            let mut register = uffdio_register { range, mode, ioctls: 0 };
            ioctl(&region.faults, Updater::<{ UFFDIO_REGISTER as Opcode }, _>::new(&mut register))?;
            Ok(region)
        }
    }

    /// Returns the address of byte 0.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Returns the descriptor, which is readable when there are faults.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.faults.as_fd()
    }

    /// Reads pending faults, up to the capacity of the message buffer.
    pub fn faults(&self, into: &mut Vec<Fault>) -> io::Result<()> {
        let mut messages = [const { MaybeUninit::<uffd_msg>::uninit() }; 64];
        // SAFETY: The slice covers exactly the message array; uninitialized bytes are allowed by its element type.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(
                messages.as_mut_ptr().cast::<MaybeUninit<u8>>(),
                messages.len() * size_of::<uffd_msg>(),
            )
        };
        let read = match rustix::io::read(&self.faults, bytes) {
            Ok((read, _)) => read.len(),
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for message in &messages[..read / size_of::<uffd_msg>()] {
            // SAFETY: The kernel has written the whole message, and all its fields are integers.
            let (event, fault) = unsafe {
                let message = message.assume_init_ref();
                (message.event, message.arg.pagefault)
            };
            assert_eq!(u32::from(event), UFFD_EVENT_PAGEFAULT, "unexpected userfaultfd event");
            // SAFETY: `UFFD_FEATURE_THREAD_ID` was requested.
            let thread = unsafe { fault.feat.ptid };
            let flags = fault.flags as u32;
            into.push(Fault {
                key: (fault.address as usize - self.base) as u64 / self.segment as u64,
                write: flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP) != 0,
                protected: flags & UFFD_PAGEFAULT_FLAG_WP != 0,
                thread,
            });
        }
        Ok(())
    }

    fn address(&self, key: Key) -> usize {
        let at = key as usize * self.segment;
        assert!(at < self.bytes, "segment {key} is beyond the mapping");
        self.base + at
    }

    fn range(&self, first: Key, count: u64) -> uffdio_range {
        let start = self.address(first) as u64;
        uffdio_range { start, len: count * self.segment as u64 }
    }

    fn write_protect(&self, range: uffdio_range, mode: u64) {
        loop {
            let mut argument = uffdio_writeprotect { range, mode };
            // SAFETY: The structure matches the kernel's; the call does not change memory content.
            let done =
                unsafe { ioctl(&self.faults, Updater::<{ UFFDIO_WRITEPROTECT as Opcode }, _>::new(&mut argument)) };
            match done {
                Ok(()) => return,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => panic!("cannot set write protection {mode} of {range:?}: {error}"),
            }
        }
    }
}

impl Kernel for Region {
    fn place(&mut self, key: Key, bytes: &[u8], writable: bool, wakes: bool) {
        let protects = if writable { 0 } else { UFFDIO_COPY_MODE_WP };
        let lets_sleep = if wakes { 0 } else { UFFDIO_COPY_MODE_DONTWAKE };
        let mode = u64::from(protects | lets_sleep);
        let (dst, src) = (self.address(key) as u64, bytes.as_ptr() as u64);
        let last = self.address(key + (bytes.len() / self.segment) as u64 - 1);
        assert_eq!(last as u64 + self.segment as u64 - dst, bytes.len() as u64, "not a multiple of the segment size");
        let mut done_bytes = 0;
        loop {
            let len = bytes.len() as u64 - done_bytes;
            let mut argument = uffdio_copy { dst: dst + done_bytes, src: src + done_bytes, len, mode, copy: 0 };
            // SAFETY: The source has the same length; nothing is mapped at the destination, so no reference to it
            // exists.
            let done = unsafe { ioctl(&self.faults, Updater::<{ UFFDIO_COPY as Opcode }, _>::new(&mut argument)) };
            match done {
                Ok(()) => return,
                // The kernel returns how much it copied before the interruption.
                Err(Errno::AGAIN | Errno::INTR) => done_bytes += argument.copy.max(0).cast_unsigned(),
                Err(error) => panic!("cannot map segment {key}: {error}"),
            }
        }
    }

    fn unprotect(&mut self, first: Key, count: u64) {
        self.write_protect(self.range(first, count), 0);
    }

    fn protect(&mut self, first: Key, count: u64) {
        self.write_protect(self.range(first, count), PROTECT);
    }

    fn copy_out(&self, key: Key, into: &mut [u8]) {
        assert_eq!(into.len(), self.segment);
        // SAFETY: The page is mapped and owned by this region. The program's threads may read it and, unless it is
        // write-protected, store to it, as to any memory that is being copied.
        unsafe { ptr::copy_nonoverlapping(self.address(key) as *const u8, into.as_mut_ptr(), into.len()) };
    }

    fn digest(&self, key: Key) -> u128 {
        // SAFETY: The page is mapped, owned by this region and write-protected, so no thread changes it meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(self.address(key) as *const u8, self.segment) };
        XxHash3_128::oneshot_with_seed(self.secret, bytes)
    }

    fn discard(&mut self, first: Key, count: u64) {
        let range = self.range(first, count);
        // SAFETY: The region owns the mapping; the next access to it faults.
        unsafe { madvise(range.start as *mut _, range.len as usize, Advice::LinuxDontNeed) }
            .expect("the range is mapped");
    }

    fn wake(&mut self, first: Key, count: u64) {
        let mut range = self.range(first, count);
        // SAFETY: The structure matches the kernel's; woken threads only retry their access.
        let woken = unsafe { ioctl(&self.faults, Updater::<{ UFFDIO_WAKE as Opcode }, _>::new(&mut range)) };
        woken.expect("the range is registered");
    }
}

impl Region {
    /// Copies part of a mapped page, starting at `offset`.
    pub fn copy_part_out(&self, key: Key, offset: usize, into: &mut [u8]) {
        assert!(offset + into.len() <= self.segment);
        // SAFETY: See `copy_out`.
        unsafe { ptr::copy_nonoverlapping((self.address(key) + offset) as *const u8, into.as_mut_ptr(), into.len()) };
    }

    /// Stores `bytes` into part of a mapped and writable page.
    pub fn copy_part_in(&mut self, key: Key, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.segment);
        // SAFETY: The page is mapped, writable and owned by this region, so the copy does not fault.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (self.address(key) + offset) as *mut u8, bytes.len()) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: Every holder of an address in the region also holds the region.
        let _ = unsafe { munmap(self.base as *mut _, self.bytes) };
    }
}
