//! A drive behind its socket.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use guest::Drive;
use guest_clock::Channel;
use sim::Time;
use vfio_user::Server;

use crate::backend::{Backend, interrupts, regions};
use crate::clock::Clock;
use crate::real_clock::RealClock;
use crate::virtual_clock::VirtualClock;
use crate::{Mappings, ServiceError, socket};

/// The clock of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// The host's clock; the drive's time runs this many times slower.
    Real(u32),
    /// The virtual clock of a QEMU with the plug-in, over a channel at this path.
    Virtual(PathBuf),
}

/// A drive behind its socket, for one connection.
pub struct Service {
    server: Server,
    memory: Mappings,
    clock: Arc<dyn Clock>,
    failure: Arc<Mutex<Option<ServiceError>>>,
    stop: Stop,
}

/// Ends a service from another thread.
#[derive(Clone)]
pub struct Stop {
    listener: Arc<OwnedFd>,
    clock: Arc<dyn Clock>,
    stopped: Arc<AtomicBool>,
    path: PathBuf,
}

impl Stop {
    /// Stops the drive's clock, removes the socket, and ends [`Service::run`] if it still waits for a monitor to connect.
    /// Once a monitor is connected, only its disconnection ends `run`.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.clock.stop();
        // The listener may have ended already.
        let _ = rustix::net::shutdown(self.listener.as_fd(), rustix::net::Shutdown::Both);
        // The folder may be gone.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Lets `act` use the drive and the time of its last access or event.
    pub fn inspect<R>(&self, act: impl FnOnce(&mut Drive, Time) -> R) -> R {
        let (mut act, mut result) = (Some(act), None);
        self.clock.inspect(&mut |drive, now| result = act.take().map(|act| act(drive, now)));
        result.expect("a clock calls its argument once")
    }
}

impl Service {
    /// Listens at `socket` for a monitor whose guest has `memory`, which `drive` was made with.
    ///
    /// # Errors
    /// Fails if the socket or the clock's channel cannot be created.
    pub fn listen(socket: &Path, kind: &ClockKind, memory: Mappings, drive: Drive) -> Result<Service, ServiceError> {
        let clock: Arc<dyn Clock> = match kind {
            ClockKind::Real(dilation) => Arc::new(RealClock::new(drive, *dilation)),
            ClockKind::Virtual(path) => Arc::new(VirtualClock::new(drive, Channel::create(path)?)),
        };
        let listener = OwnedFd::from(socket::listen(socket)?);
        let copy = listener.try_clone().map_err(|error| socket::SocketError::Io { path: socket.to_owned(), error })?;
        let path = socket.to_owned();
        let stop = Stop { listener: Arc::new(copy), clock: clock.clone(), stopped: Arc::default(), path };
        Ok(Service {
            server: Server::from_owned_fd(listener, true, interrupts(), regions(&memory)),
            memory,
            clock,
            failure: Arc::default(),
            stop,
        })
    }

    /// Returns a handle that ends the service and reaches its drive.
    pub fn handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves the first monitor that connects, until it disconnects.
    ///
    /// # Errors
    /// Fails if the connection fails, or the clock was not there when the guest accessed the drive.
    pub fn run(&self) -> Result<(), ServiceError> {
        let mut backend = Backend::new(self.clock.clone(), self.memory.clone(), self.failure.clone());
        let result = thread::scope(|scope| {
            let clock = scope.spawn(|| self.clock.run());
            let result = self.server.run(&mut backend);
            self.clock.stop();
            clock.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result
        });
        if let Some(failure) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failure);
        }
        match result {
            Err(error) if !self.stop.stopped.load(Ordering::Relaxed) => Err(ServiceError::Connection(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.stop();
    }
}
