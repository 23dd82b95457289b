//! The thread that serves faults, and how others come to the memory beside it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::Source;
use super::core::Core;
use crate::Shape;
use crate::device::Device;
use crate::error::Error;

/// How long the thread waits before it tries again what there was no room for.
const RETRY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long the thread looks for faults and ends of reads of several threads before it sleeps: as long as a read of flash takes. To
/// be woken takes a good part of that, twice a fault. For a thread that is alone it does not look: a virtual processor that spins
/// takes time from the host's thread that reads.
const LOOKS: Duration = Duration::from_micros(60);

/// What the thread and the callers share.
struct Shared<D: Device> {
    core: Mutex<Core<D>>,
    /// Callers that want the core: the thread lets them.
    callers: AtomicUsize,
    stop: AtomicBool,
    /// Rung when the thread is to look.
    bell: OwnedFd,
}

impl<D: Device> Shared<D> {
    fn lock(&self) -> MutexGuard<'_, Core<D>> {
        // Only a call that panicked leaves it poisoned; what it asserted holds for the others' segments all the same.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        // It counts: it is full after 2^64 - 2 times.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

/// Keeps the thread, the addresses and the memory: they go with the last that has it.
pub(super) struct Keeper<D: Device + Send + 'static> {
    shared: Arc<Shared<D>>,
    thread: Option<JoinHandle<()>>,
    pub base: usize,
    pub source: Source,
    pub shape: Shape,
    path: String,
    /// The process that has the thread.
    opener: u32,
}

impl<D: Device + Send + 'static> Keeper<D> {
    pub fn start(core: Core<D>, shape: Shape) -> Arc<Keeper<D>> {
        let (base, source, path) = (core.region.base(), core.region.source, core.path.clone());
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("a descriptor is left");
        let shared = Arc::new(Shared {
            core: Mutex::new(core),
            callers: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            bell,
        });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("nandram-pager".to_owned()).spawn(move || run(&theirs));
        let thread = Some(thread.expect("a thread can be started"));
        Arc::new(Keeper { shared, thread, base, source, shape, path, opener: std::process::id() })
    }

    /// A call, beside the thread.
    pub fn enter<T>(&self, call: impl FnOnce(&mut Core<D>) -> Result<T, Error>) -> Result<T, Error> {
        if std::process::id() != self.opener {
            // The thread that may have the lock is not in this process.
            return Err(Error::Forked { path: self.path.clone(), opener: self.opener });
        }
        self.shared.callers.fetch_add(1, Ordering::SeqCst);
        let mut core = self.shared.lock();
        self.shared.callers.fetch_sub(1, Ordering::SeqCst);
        let result = call(&mut core);
        drop(core);
        // What waits may be able to go on, or must not.
        self.shared.ring();
        result
    }
}

impl<D: Device + Send + 'static> Drop for Keeper<D> {
    fn drop(&mut self) {
        let thread = self.thread.take().expect("it is joined once");
        if std::process::id() != self.opener {
            // Of the parent's: there is no such thread here, nor are there the addresses.
            std::mem::forget((thread, Arc::clone(&self.shared)));
            return;
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.ring();
        let _ = thread.join();
    }
}

/// Ends the process if the thread panics: others would wait forever.
struct Together;

impl Drop for Together {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

fn run<D: Device>(shared: &Shared<D>) {
    let _together = Together;
    let mut ends: Option<OwnedFd> = None;
    let mut asked = false;
    direct::ask_for_short_slices();
    let alone = thread::available_parallelism().map_or(1, usize::from) < 2;
    let looks = if alone { Duration::ZERO } else { LOOKS };
    let mut last = Instant::now();
    while !shared.stop.load(Ordering::SeqCst) {
        let mut core = shared.lock();
        if core.serve() {
            last = Instant::now();
        }
        let device = core.memory.as_ref().map(|memory| memory.engine.storage.device());
        match device {
            // A copy of the descriptor, since the memory may be closed meanwhile.
            Some(device) if !asked => {
                ends = device.fd().and_then(|fd| fd.try_clone_to_owned().ok());
                asked = true;
            }
            Some(_) => {}
            None => ends = None,
        }
        let stuck = core.is_stuck();
        // SAFETY: The region, and with it the descriptor, is as long in the core as this thread runs.
        let faults = unsafe { std::os::fd::BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&core.region.fd())) };
        drop(core);
        while shared.callers.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
        if !stuck && last.elapsed() < looks {
            continue;
        }
        let mut fds = [
            PollFd::new(&faults, PollFlags::IN),
            PollFd::new(&shared.bell, PollFlags::IN),
            PollFd::new(ends.as_ref().unwrap_or(&shared.bell), PollFlags::IN),
        ];
        // Interrupted or not: it looks at everything.
        let woken = poll(&mut fds, stuck.then_some(&RETRY));
        if !fds[1].revents().is_empty() {
            let _ = rustix::io::read(&shared.bell, &mut [0u8; 8]);
        }
        if stuck && woken == Ok(0) {
            shared.lock().try_again();
        }
    }
}
