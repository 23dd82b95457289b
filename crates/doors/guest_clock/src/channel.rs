//! The shared file and what its mailboxes carry.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::mailbox::{Gone, Mailbox, Words};

/// Identifies the file and the version of its layout.
const MAGIC: u64 = u64::from_le_bytes(*b"nandrck3");
/// Bytes of the file: one page.
const BYTES: usize = 4096;
/// Maximum number of interrupt vectors.
pub const VECTORS_MAX: u16 = 128;
/// Bytes of BAR 0, from its start, whose accesses the channel carries. What follows is the table of interrupts.
pub const REGISTER_BYTES: u64 = 0x2000;
/// A time that never comes.
const NEVER: u64 = u64::MAX;
/// Requests of the monitor: the timer's time has come, or the guest accesses registers. The bytes of an access follow
/// from bit 8 on.
const FIRE: u64 = 1;
const READ: u64 = 2;
const WRITE: u64 = 3;
const KIND: u64 = 0xff;
const BYTES_SHIFT: u32 = 8;

/// The content of the file.
#[repr(C)]
#[derive(Debug)]
struct Layout {
    magic: AtomicU64,
    /// Set by the plug-in when it is loaded.
    attached: AtomicU32,
    reserved: AtomicU32,
    /// From the plug-in to the drive, while the guest's processor waits or is stopped.
    calls: Mailbox,
    /// From the drive to the plug-in: a new time for the timer.
    timer: Mailbox,
}

/// An access to registers of at most 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The first register's offset in BAR 0.
    pub offset: u64,
    /// Number of bytes, 1 to 8.
    pub bytes: usize,
    /// The value to write, little-endian, or `None` for a read.
    pub write: Option<u64>,
}

/// The drive's answer to an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The value that was read, little-endian.
    pub value: u64,
    /// The drive's next time, if any.
    pub next: Option<u64>,
}

/// The drive's side of the channel: what it does when it is called.
pub trait Handler {
    /// Performs an access of the guest at `now`.
    fn access(&mut self, now: u64, access: Access) -> Answer;

    /// Does the drive's work at the timer's time `now`. The guest sleeps until `asleep` unless the drive wakes it.
    fn fire(&mut self, now: u64, asleep: u64) -> Due;
}

/// The drive's answer to the timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The interrupt vectors to raise, one bit each.
    pub vectors: u128,
    /// When they are due: the timer's time, or later while the guest sleeps.
    pub at: u64,
    /// The drive's next time after that, if any.
    pub next: Option<u64>,
}

/// Reasons why a channel cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The file cannot be created, opened or mapped.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file is no channel, or one of another version.
    #[error("{}: expected the clock channel of a nandram of this version", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

/// A mapped channel. The drive's side creates the file, locks it for as long as it exists, and removes it at the end.
#[derive(Debug)]
pub struct Channel {
    layout: NonNull<Layout>,
    file: File,
    /// The path to remove, on the drive's side.
    created: Option<PathBuf>,
}

// SAFETY: the mapping belongs to the `Channel` and holds only atomics.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

impl Channel {
    /// Creates the file of a channel: the drive's side.
    ///
    /// # Errors
    /// Fails if the file exists already or cannot be created.
    pub fn create(path: &Path) -> Result<Channel, ChannelError> {
        let fail = |error| ChannelError::Io { path: path.to_owned(), error };
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path).map_err(fail)?;
        let mut channel = Channel::map(path, file)?;
        channel.created = Some(path.to_owned());
        flock(&channel.file, FlockOperation::LockExclusive).map_err(|error| fail(error.into()))?;
        channel.layout().magic.store(MAGIC, Ordering::Release);
        Ok(channel)
    }

    /// Opens the channel that a drive has created: the plug-in's side.
    ///
    /// # Errors
    /// Fails if the file does not exist or is no channel.
    pub fn open(path: &Path) -> Result<Channel, ChannelError> {
        let fail = |error| ChannelError::Io { path: path.to_owned(), error };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.len() != BYTES as u64 {
            return Err(ChannelError::Foreign { path: path.to_owned() });
        }
        let channel = Channel::map(path, file)?;
        if channel.layout().magic.load(Ordering::Acquire) != MAGIC {
            return Err(ChannelError::Foreign { path: path.to_owned() });
        }
        channel.layout().attached.store(1, Ordering::Release);
        Ok(channel)
    }

    fn map(path: &Path, file: File) -> Result<Channel, ChannelError> {
        const { assert!(size_of::<Layout>() <= BYTES) };
        let fail = |error| ChannelError::Io { path: path.to_owned(), error };
        file.set_len(BYTES as u64).map_err(fail)?;
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { mmap(std::ptr::null_mut(), BYTES, access, flags, &file, 0) };
        let base = base.map_err(|error| fail(error.into()))?;
        let layout = NonNull::new(base.cast()).expect("a mapping is not at address zero");
        Ok(Channel { layout, file, created: None })
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the mapping is page-aligned, larger than `Layout`, and lives as long as `self`; every bit pattern is
        // a valid atomic integer.
        unsafe { self.layout.as_ref() }
    }

    /// Returns true once a plug-in has opened the channel.
    pub fn is_attached(&self) -> bool {
        self.layout().attached.load(Ordering::Acquire) != 0
    }

    /// Has the plug-in arm its timer for `next`, or disarm it, when that has changed outside of a call. `exists` is called
    /// now and then while waiting.
    ///
    /// # Errors
    /// Fails once `exists` returns false.
    pub fn arm(&self, next: Option<u64>, exists: impl FnMut() -> bool) -> Result<(), Gone> {
        self.layout().timer.call([next.unwrap_or(NEVER), 0, 0, 0], exists).map(|_| ())
    }

    /// Waits for the plug-in's next call and passes it to `handler`.
    ///
    /// # Errors
    /// Fails once `goes_on` returns false.
    pub fn serve(&self, handler: &mut impl Handler, goes_on: impl FnMut() -> bool) -> Result<(), Gone> {
        let answer = |[kind, now, first, second]: Words| {
            if kind & KIND == FIRE {
                let Due { vectors, at, next } = handler.fire(now, first);
                return [vectors as u64, (vectors >> 64) as u64, next.unwrap_or(NEVER), at];
            }
            let bytes = (kind >> BYTES_SHIFT).clamp(1, 8) as usize;
            let write = (kind & KIND == WRITE).then_some(second);
            let Answer { value, next } = handler.access(now, Access { offset: first, bytes, write });
            [value, next.unwrap_or(NEVER), 0, 0]
        };
        self.layout().calls.serve(answer, goes_on)
    }

    /// Waits for the drive's next request to arm the timer, and passes it to `arm`.
    ///
    /// # Errors
    /// Fails once the drive is gone.
    pub fn serve_timer(&self, arm: impl FnOnce(Option<u64>)) -> Result<(), Gone> {
        let answer = |request: Words| {
            arm(time(request[0]));
            [0; 4]
        };
        self.layout().timer.serve(answer, || self.has_drive())
    }

    /// Passes an access of the guest at `now` to the drive.
    ///
    /// # Errors
    /// Fails once the drive is gone.
    pub fn access(&self, now: u64, access: Access) -> Result<Answer, Gone> {
        let kind = if access.write.is_some() { WRITE } else { READ };
        let kind = kind | (access.bytes as u64) << BYTES_SHIFT;
        let request = [kind, now, access.offset, access.write.unwrap_or(0)];
        let reply = self.layout().calls.call(request, || self.has_drive())?;
        Ok(Answer { value: reply[0], next: time(reply[1]) })
    }

    /// Reports the timer's time `now` to the drive, and that the guest sleeps until `asleep` unless the drive wakes it.
    ///
    /// # Errors
    /// Fails once the drive is gone.
    pub fn fire(&self, now: u64, asleep: u64) -> Result<Due, Gone> {
        let reply = self.layout().calls.call([FIRE, now, asleep, 0], || self.has_drive())?;
        Ok(Due { vectors: u128::from(reply[0]) | u128::from(reply[1]) << 64, at: reply[3], next: time(reply[2]) })
    }

    /// Wakes the thread in [`serve`](Self::serve), so that it checks whether to go on.
    pub fn wake(&self) {
        self.layout().calls.wake();
    }

    /// Ends the drive's side: a plug-in that waits no longer finds a drive.
    pub fn abandon(&self) {
        // The lock also ends with the process.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }

    /// Removes the file, on the drive's side. A plug-in that has opened it keeps its mapping.
    pub fn remove(&self) {
        if let Some(path) = &self.created {
            // It may have been removed before, and its folder may be gone.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Returns true while the drive's side exists: the kernel drops its lock when it ends in any way.
    fn has_drive(&self) -> bool {
        match flock(&self.file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => true,
            Ok(()) | Err(_) => false,
        }
    }
}

fn time(word: u64) -> Option<u64> {
    (word != NEVER).then_some(word)
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and no reference to it outlives `self`.
        let unmapped = unsafe { munmap(self.layout.as_ptr().cast(), BYTES) };
        debug_assert!(unmapped.is_ok());
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("nandram-clock-{}-{name}", std::process::id()))
    }

    /// A drive that answers with what it was called with.
    struct Echo;

    impl Handler for Echo {
        fn access(&mut self, now: u64, access: Access) -> Answer {
            let value = access.write.map_or(access.offset, |value| value + access.bytes as u64);
            Answer { value, next: now.is_multiple_of(2).then_some(now + 5) }
        }

        fn fire(&mut self, now: u64, asleep: u64) -> Due {
            Due { vectors: 1 << 100 | u128::from(now), at: asleep, next: now.is_multiple_of(2).then_some(now + 7) }
        }
    }

    #[test]
    fn both_sides_serve_each_other() {
        let path = path("both");
        let drive = Channel::create(&path).expect("a channel");
        assert!(!drive.is_attached());
        let monitor = Channel::open(&path).expect("the channel");
        assert!(drive.is_attached());
        thread::scope(|scope| {
            scope.spawn(|| {
                for now in 1..=100 {
                    let even = now % 2 == 0;
                    let read = monitor.access(now, Access { offset: now + 1, bytes: 4, write: None });
                    assert_eq!(read, Ok(Answer { value: now + 1, next: even.then_some(now + 5) }));
                    let write = monitor.access(now, Access { offset: 0, bytes: 8, write: Some(u64::MAX - 8) });
                    assert_eq!(write, Ok(Answer { value: u64::MAX, next: even.then_some(now + 5) }));
                    let due = monitor.fire(now, now + 9).expect("the drive");
                    let vectors = 1 << 100 | u128::from(now);
                    assert_eq!(due, Due { vectors, at: now + 9, next: even.then_some(now + 7) });
                    monitor.serve_timer(|next| assert_eq!(next, even.then_some(now))).expect("the drive");
                }
            });
            for now in 1..=100 {
                for _ in 0..3 {
                    drive.serve(&mut Echo, || true).expect("the monitor");
                }
                drive.arm((now % 2 == 0).then_some(now), || true).expect("the monitor");
            }
        });
        drop(drive);
        assert!(!path.exists());
    }

    #[test]
    fn a_side_that_waits_notices_that_the_other_is_gone() {
        let path = path("gone");
        let drive = Channel::create(&path).expect("a channel");
        let monitor = Channel::open(&path).expect("the channel");
        assert_eq!(drive.arm(None, || false), Err(Gone));
        let stopped = AtomicBool::new(false);
        thread::scope(|scope| {
            let served = scope.spawn(|| drive.serve(&mut Echo, || !stopped.load(Ordering::Relaxed)));
            stopped.store(true, Ordering::Relaxed);
            assert_eq!(served.join().expect("no panic"), Err(Gone));
        });
        drop(drive);
        assert_eq!(monitor.fire(7, 7), Err(Gone));
    }

    #[test]
    fn other_files_are_refused() {
        let path = path("other");
        assert!(matches!(Channel::open(&path), Err(ChannelError::Io { .. })), "absent");
        for bytes in [0, 4096, 5000] {
            std::fs::write(&path, vec![7; bytes]).expect("a file");
            assert!(matches!(Channel::open(&path), Err(ChannelError::Foreign { .. })), "{bytes} bytes");
            assert_eq!(std::fs::metadata(&path).expect("the file").len(), bytes as u64, "unchanged");
        }
        assert!(matches!(Channel::create(&path), Err(ChannelError::Io { .. })), "exists");
        std::fs::remove_file(&path).expect("the file");
    }
}
