//! One device: the machine, its requests to come and in progress, and its measurements.

mod check;
pub(crate) mod drive;
pub(crate) mod memory;

use sim::{Streams, Time};
use storage::record::{Ended, Recorder};
use system::LinkType;
use system::memory::{Files, MainMemory as MemoryType};

use crate::error::Error;
use crate::options::DeviceOptions;
use crate::pending::Pending;
use crate::request::{Completion, Request};
use crate::slots::{InProgress, Slots};
use check::Service;
use drive::{Drive, storage_op};
use memory::Memory;

/// The machine behind a device.
pub(crate) enum Machine {
    /// A drive behind its host's driver.
    Drive(Box<Drive>),
    /// Main memory below the last-level cache.
    Memory(Box<Memory>),
}

impl Machine {
    #[inline]
    fn submit(&mut self, now: Time, slot: u32, request: &Request) {
        match self {
            Machine::Drive(drive) => drive.submit(now, slot, request),
            Machine::Memory(memory) => memory.submit(now, slot, request),
        }
    }
}

/// A device of a simulation.
pub(crate) struct Device {
    pub options: DeviceOptions,
    pub machine: Machine,
    service: Service,
    index: u16,
    pending: Pending,
    slots: Slots,
    /// All events before this time have been handled, and all at this time unless a request completed then.
    now: Time,
    /// Outstanding requests, or lines of main memory.
    pub outstanding: u32,
    pub recorder: Recorder,
    /// Number of completed requests.
    pub completed: u64,
    /// Completions being processed.
    done: Vec<storage::Completion>,
}

impl Device {
    pub fn new(options: DeviceOptions, index: u16, seed: u64) -> Result<Device, Box<Error>> {
        let wrong = |cause: String| Box::new(Error::Device { device: options.name.clone(), cause });
        let (system, streams) = (&options.system, Streams::new(seed));
        if options.outstanding == 0 || options.outstanding > DeviceOptions::OUTSTANDING_MAX {
            let (found, max) = (options.outstanding, DeviceOptions::OUTSTANDING_MAX);
            return Err(wrong(format!("outstanding: found {found}, expected 1 to {max}")));
        }
        if system.link.kind == LinkType::OneNand {
            return Err(wrong("link.type: found onenand, expected a drive or main memory".to_owned()));
        }
        let machine = if system.memory.kind == MemoryType::None {
            let drive = Drive::new(system, options.preparation, &streams, options.cache.as_deref());
            Machine::Drive(Box::new(drive.map_err(|cause| wrong(cause.to_string()))?))
        } else {
            if system.memory.files == Files::Drive {
                let cause = "memory.files: found drive, expected main memory or a drive, each a device of its own";
                return Err(wrong(cause.to_owned()));
            }
            if options.preparation != storage::prepare::Preparation::Erased {
                return Err(wrong(format!("prepare: found {}, expected none for main memory", options.preparation)));
            }
            let memory = Memory::new(system, &streams).map_err(|cause| wrong(cause.to_string()))?;
            Machine::Memory(Box::new(memory))
        };
        Ok(Device {
            service: Service::new(&machine, options.outstanding),
            options,
            machine,
            index,
            pending: Pending::new(),
            slots: Slots::default(),
            now: Time::ZERO,
            outstanding: 0,
            recorder: Recorder::new(1),
            completed: 0,
            done: Vec::new(),
        })
    }

    /// Returns the addressable bytes, from 0 on.
    pub fn bytes(&self) -> u64 {
        self.service.bytes()
    }

    /// Returns what a request counts towards the limit of outstanding requests. `None` if the device does not serve it;
    /// [`refusal`](Self::refusal) returns why.
    #[inline]
    pub fn units(&self, request: &Request) -> Option<u32> {
        self.service.units(request)
    }

    /// Returns how many more requests, or lines of main memory, may be outstanding.
    #[inline]
    pub fn room(&self) -> u32 {
        self.options.outstanding - self.outstanding
    }

    /// Adds a request that counts `units` towards the limit of outstanding requests.
    #[inline]
    pub fn submit(&mut self, at: Time, id: u64, request: &Request, units: u32) {
        self.outstanding += units;
        let slot = self.slots.open(InProgress { id, at, request: *request, units, lines: units });
        if at <= self.now && self.pending.first_at() > self.now {
            // The machine would get it before anything else happens.
            self.machine.submit(self.now, slot, request);
        } else {
            self.pending.push(at, id, slot);
        }
    }

    /// Returns the time of the next event, or [`Time::MAX`].
    #[inline]
    pub fn next_event(&mut self) -> Time {
        let next = match &mut self.machine {
            Machine::Drive(drive) => drive.machine.next_event(),
            Machine::Memory(memory) => memory.memory.next_event(),
        };
        next.unwrap_or(Time::MAX).min(self.pending.first_at())
    }

    /// Advances to the first time at which requests complete, at most to `limit`, and appends them to `ready`. Returns
    /// that time, if any.
    ///
    /// Requests reach the machine after its events of their time; but after a completion they come first, like those
    /// that a program submits when it is notified.
    #[inline]
    pub fn advance(&mut self, limit: Time, ready: &mut Vec<Completion>) -> Option<Time> {
        loop {
            while let Some(slot) = self.pending.pop_until(self.now) {
                self.machine.submit(self.now, slot, &self.slots.get(slot).request);
            }
            let due = self.pending.first_at();
            let until = limit.min(due);
            let stops = match &mut self.machine {
                Machine::Drive(drive) => drive.advance(until, &mut self.done),
                Machine::Memory(memory) => memory.advance(until, &mut self.slots, &mut self.done),
            };
            if stops {
                return Some(self.complete(ready));
            }
            if until < Time::MAX {
                self.now = until;
            }
            if due > limit || due == Time::MAX {
                return None;
            }
        }
    }

    /// Lets the time pass to `until`, before which nothing happens.
    pub fn wait(&mut self, until: Time) {
        self.now = until;
    }

    /// Records the completions of one time, which it returns.
    #[inline]
    fn complete(&mut self, ready: &mut Vec<Completion>) -> Time {
        for &storage::Completion { io, status, submitted: rung, at } in &self.done {
            let &InProgress { id, at: submitted, request, units, .. } = self.slots.close(io);
            self.outstanding -= units;
            self.completed += 1;
            let (op, bytes) = (storage_op(request.op), request.bytes);
            let (due, issued) = (submitted, submitted);
            self.recorder.ended(&Ended { job: 0, op, bytes, status, due, issued, submitted: rung, at });
            let (device, handle) = (self.index, request.handle);
            ready.push(Completion { id, handle, device, status, submitted, completed: at });
            self.now = at;
        }
        self.done.clear();
        self.now
    }
}
