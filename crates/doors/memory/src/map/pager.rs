//! The pager thread, which serves faults, and the lock through which callers share the mapping with it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::mapping::Mapping;
use super::source::Source;
use crate::Shape;
use crate::device::Device;
use crate::error::Error;

/// Time for which the pager waits before it retries requests that found no space.
const RETRY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Time for which the pager polls for faults and completions of several threads before it sleeps: as long as a flash read
/// takes. Waking up costs a good part of that, twice per fault. The pager does not poll on behalf of a single thread: a
/// spinning virtual CPU takes time from the host thread that executes the read.
const POLL: Duration = Duration::from_micros(60);

/// The state that the pager and the callers share.
struct Shared<D: Device> {
    mapping: Mutex<Mapping<D>>,
    /// Number of callers waiting for the lock, to which the pager yields.
    callers: AtomicUsize,
    stop: AtomicBool,
    /// Signaled when the pager must look for work.
    wakeup: OwnedFd,
}

impl<D: Device> Shared<D> {
    fn lock(&self) -> MutexGuard<'_, Mapping<D>> {
        // A panic in a call poisons the lock, but its assertions do not affect other segments.
        self.mapping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        // The write fails only if the counter is full, and then the pager wakes up anyway.
        let _ = rustix::io::write(&self.wakeup, &1u64.to_ne_bytes());
    }
}

/// Owns the pager thread and, through it, the addresses and the memory. The last owner dropped stops the thread.
pub(super) struct PagerHandle<D: Device + Send + 'static> {
    shared: Arc<Shared<D>>,
    thread: Option<JoinHandle<()>>,
    pub base: usize,
    pub source: Source,
    pub shape: Shape,
    path: String,
    /// The process that runs the thread.
    opener: u32,
}

impl<D: Device + Send + 'static> PagerHandle<D> {
    pub fn start(mapping: Mapping<D>, shape: Shape) -> Arc<PagerHandle<D>> {
        let (base, source, path) = (mapping.region.base(), mapping.region.source, mapping.path.clone());
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("a descriptor is left");
        let shared = Arc::new(Shared {
            mapping: Mutex::new(mapping),
            callers: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            wakeup,
        });
        let pager_shared = Arc::clone(&shared);
        let thread = thread::Builder::new().name("nandram-pager".to_owned()).spawn(move || run(&pager_shared));
        let thread = Some(thread.expect("a thread can be started"));
        Arc::new(PagerHandle { shared, thread, base, source, shape, path, opener: std::process::id() })
    }

    /// Calls `call` with the mapping locked.
    pub fn with_mapping<T>(&self, call: impl FnOnce(&mut Mapping<D>) -> Result<T, Error>) -> Result<T, Error> {
        if std::process::id() != self.opener {
            // The thread that may hold the lock does not exist in a forked child.
            return Err(Error::Forked { path: self.path.clone(), opener: self.opener });
        }
        self.shared.callers.fetch_add(1, Ordering::SeqCst);
        let mut mapping = self.shared.lock();
        self.shared.callers.fetch_sub(1, Ordering::SeqCst);
        let result = call(&mut mapping);
        drop(mapping);
        // The call may have unblocked waiting faults, or made them fail.
        self.shared.notify();
        result
    }
}

impl<D: Device + Send + 'static> Drop for PagerHandle<D> {
    fn drop(&mut self) {
        let thread = self.thread.take().expect("it is joined once");
        if std::process::id() != self.opener {
            // A forked child has neither the thread nor the addresses: leak the handles.
            std::mem::forget((thread, Arc::clone(&self.shared)));
            return;
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.notify();
        let _ = thread.join();
    }
}

/// Aborts the process if the pager panics, because the faulting threads would wait forever.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

fn run<D: Device>(shared: &Shared<D>) {
    let _abort_on_panic = AbortOnPanic;
    let mut completions: Option<OwnedFd> = None;
    let mut duplicated = false;
    direct::request_short_slices();
    let alone = thread::available_parallelism().map_or(1, usize::from) < 2;
    let polling = if alone { Duration::ZERO } else { POLL };
    let mut last = Instant::now();
    while !shared.stop.load(Ordering::SeqCst) {
        let mut mapping = shared.lock();
        if mapping.serve() {
            last = Instant::now();
        }
        let device = mapping.memory.as_ref().map(|memory| memory.engine.storage.device());
        match device {
            // Duplicate the descriptor, since the memory may be closed meanwhile.
            Some(device) if !duplicated => {
                completions = device.fd().and_then(|fd| fd.try_clone_to_owned().ok());
                duplicated = true;
            }
            Some(_) => {}
            None => completions = None,
        }
        let stuck = mapping.is_stuck();
        // SAFETY: The mapping owns the region, and with it the descriptor, for as long as this thread runs.
        let faults =
            unsafe { std::os::fd::BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&mapping.region.fd())) };
        drop(mapping);
        while shared.callers.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
        if !stuck && last.elapsed() < polling {
            continue;
        }
        let mut fds = [
            PollFd::new(&faults, PollFlags::IN),
            PollFd::new(&shared.wakeup, PollFlags::IN),
            PollFd::new(completions.as_ref().unwrap_or(&shared.wakeup), PollFlags::IN),
        ];
        // The result does not matter: after an interruption the loop checks everything.
        let woken = poll(&mut fds, stuck.then_some(&RETRY));
        if !fds[1].revents().is_empty() {
            let _ = rustix::io::read(&shared.wakeup, &mut [0u8; 8]);
        }
        if stuck && woken == Ok(0) {
            shared.lock().retry();
        }
    }
}
