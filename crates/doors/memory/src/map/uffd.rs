//! The kernel's side: addresses whose faults come to us (userfaultfd(2)), and what can be done with the pages there.
//!
//! Valgrind cannot look at it: it runs one thread at a time, and here one waits, in the midst of a load, for another.

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

use super::Source;
use super::pages::{Kernel, Key};

/// The mode of `UFFDIO_WRITEPROTECT` that protects.
const PROTECT: u64 = 1;
/// `UFFD_USER_MODE_ONLY`.
const USER_MODE_ONLY: u32 = linux_raw_sys::general::UFFD_USER_MODE_ONLY;

/// `USERFAULTFD_IOC_NEW` of /dev/userfaultfd: flags go in, a descriptor comes out.
struct New(IntegerSetter<{ opcode::none(0xaa, 0) }>);

// SAFETY: The argument is an integer, and what is returned is a descriptor of ours.
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
        // SAFETY: The kernel just made it for us.
        Ok(unsafe { OwnedFd::from_raw_fd(output) })
    }
}

/// A thread stands at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub key: Key,
    /// It stores.
    pub write: bool,
    /// The page is there, and protected.
    pub protected: bool,
    pub thread: u32,
}

/// A range of addresses, and the descriptor that its faults come from.
#[derive(Debug)]
pub(crate) struct Region {
    faults: OwnedFd,
    base: usize,
    bytes: usize,
    segment: usize,
    pub source: Source,
}

fn open(source: Source) -> io::Result<OwnedFd> {
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
    match source {
        Source::Device => {
            let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/userfaultfd")?;
            // SAFETY: This is the request that the device knows, with flags that it knows.
            Ok(unsafe { ioctl(device, New(IntegerSetter::new_usize(flags.bits() as usize))) }?)
        }
        // SAFETY: What the descriptor makes possible, to change what is at addresses, is done to our own mapping alone.
        Source::Call => Ok(unsafe { userfaultfd(flags) }?),
        // SAFETY: As above.
        Source::UserOnly => Ok(unsafe { userfaultfd(flags | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY)) }?),
    }
}

impl Region {
    /// `bytes` addresses, nothing at any of them, whose faults come from the first of `sources` that this process may use.
    ///
    /// # Errors
    /// Why each of them is not to be had.
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
        // SAFETY: All structures are as the kernel's headers have them; the addresses are new ones, of nobody else.
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
            let region = Region { faults, base: base as usize, bytes, segment, source };
            // A child has nothing at these addresses, rather than what was there by chance.
            madvise(base, bytes, Advice::LinuxDontFork)?;
            madvise(base, bytes, Advice::LinuxDontDump)?;
            // Kernels without large pages do not know this one.
            let _ = madvise(base, bytes, Advice::LinuxNoHugepage);
            let range = uffdio_range { start: base as u64, len: bytes as u64 };
            let mode = u64::from(UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
            let mut register = uffdio_register { range, mode, ioctls: 0 };
            ioctl(&region.faults, Updater::<{ UFFDIO_REGISTER as Opcode }, _>::new(&mut register))?;
            Ok(region)
        }
    }

    /// The address of byte 0.
    pub fn base(&self) -> usize {
        self.base
    }

    /// What is ready when there are faults.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.faults.as_fd()
    }

    /// The faults that there are, as many as `into` has room for.
    pub fn faults(&self, into: &mut Vec<Fault>) -> io::Result<()> {
        let mut messages = [const { MaybeUninit::<uffd_msg>::uninit() }; 64];
        // SAFETY: So many bytes are there, and any are valid as bytes that nobody looks at.
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
            // SAFETY: The kernel has written it whole; all its parts are numbers.
            let (event, fault) = unsafe {
                let message = message.assume_init_ref();
                (message.event, message.arg.pagefault)
            };
            assert_eq!(u32::from(event), UFFD_EVENT_PAGEFAULT, "no other event was asked for");
            // SAFETY: The thread's number was asked for.
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
            // SAFETY: The structure is the kernel's own; nothing at the addresses changes.
            let done =
                unsafe { ioctl(&self.faults, Updater::<{ UFFDIO_WRITEPROTECT as Opcode }, _>::new(&mut argument)) };
            match done {
                Ok(()) => return,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => panic!("{range:?} cannot be protected by {mode}: {error}"),
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
        assert_eq!(last as u64 + self.segment as u64 - dst, bytes.len() as u64, "whole segments");
        let mut done_bytes = 0;
        loop {
            let len = bytes.len() as u64 - done_bytes;
            let mut argument = uffdio_copy { dst: dst + done_bytes, src: src + done_bytes, len, mode, copy: 0 };
            // SAFETY: The source is as long; at the destination there is nothing yet, so that nobody can have looked at it.
            let done = unsafe { ioctl(&self.faults, Updater::<{ UFFDIO_COPY as Opcode }, _>::new(&mut argument)) };
            match done {
                Ok(()) => return,
                // What was done before it was interrupted it says.
                Err(Errno::AGAIN | Errno::INTR) => done_bytes += argument.copy.max(0).cast_unsigned(),
                Err(error) => panic!("segment {key} cannot be placed: {error}"),
            }
        }
    }

    fn unprotect(&mut self, key: Key) {
        self.write_protect(self.range(key, 1), 0);
    }

    fn protect(&mut self, first: Key, count: u64) {
        self.write_protect(self.range(first, count), PROTECT);
    }

    fn copy_out(&self, key: Key, into: &mut [u8]) {
        assert_eq!(into.len(), self.segment);
        // SAFETY: The page is there and ours. The program's threads may read it, and, if it is not protected, store to it as they could to any
        // memory that is being copied.
        unsafe { ptr::copy_nonoverlapping(self.address(key) as *const u8, into.as_mut_ptr(), into.len()) };
    }

    fn discard(&mut self, first: Key, count: u64) {
        let range = self.range(first, count);
        // SAFETY: The mapping is ours; whoever looks next faults.
        unsafe { madvise(range.start as *mut _, range.len as usize, Advice::LinuxDontNeed) }
            .expect("the mapping is there");
    }

    fn wake(&mut self, first: Key, count: u64) {
        let mut range = self.range(first, count);
        // SAFETY: The structure is the kernel's own; threads only look again.
        let woken = unsafe { ioctl(&self.faults, Updater::<{ UFFDIO_WAKE as Opcode }, _>::new(&mut range)) };
        woken.expect("the range is registered");
    }
}

impl Region {
    /// Bytes of a page that is there, from `offset` on.
    pub fn copy_part_out(&self, key: Key, offset: usize, into: &mut [u8]) {
        assert!(offset + into.len() <= self.segment);
        // SAFETY: As in `copy_out`.
        unsafe { ptr::copy_nonoverlapping((self.address(key) + offset) as *const u8, into.as_mut_ptr(), into.len()) };
    }

    /// The same into a page that is there and not protected.
    pub fn copy_part_in(&mut self, key: Key, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.segment);
        // SAFETY: The page is there, ours and writable, so that nothing faults.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (self.address(key) + offset) as *mut u8, bytes.len()) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: Whoever had an address of it kept the region.
        let _ = unsafe { munmap(self.base as *mut _, self.bytes) };
    }
}
