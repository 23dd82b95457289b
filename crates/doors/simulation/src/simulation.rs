//! Devices under one clock.

use sim::Time;

use crate::device::{Device, Machine};
use crate::error::Error;
use crate::history::History;
use crate::options::{DeviceOptions, Options};
use crate::request::{Completion, Request};

/// Maximum number of devices.
pub const DEVICES_MAX: usize = 256;
/// Latest time of the clock, about 106 days.
pub const LATEST: Time = Time::from_ps(9_200_000_000_000_000_000);

/// One or several devices under one clock, driven by a program outside.
pub struct Simulation {
    pub(crate) devices: Vec<Device>,
    pub(crate) options: Options,
    now: Time,
    /// Number of the next request.
    next_id: u64,
    /// Completions up to now; empty when all have been returned.
    ready: Vec<Completion>,
    /// How many have been returned.
    returned: usize,
    pub(crate) history: History,
}

impl Simulation {
    /// Creates the devices, at time zero, and prepares the drives.
    ///
    /// # Errors
    /// If there are no devices or more than [`DEVICES_MAX`], or one cannot be built or prepared.
    pub fn new(devices: Vec<DeviceOptions>, options: Options) -> Result<Simulation, Error> {
        if devices.is_empty() || devices.len() > DEVICES_MAX {
            return Err(Error::Devices { found: devices.len(), max: DEVICES_MAX });
        }
        if options.history > Options::HISTORY_MAX {
            return Err(Error::History { found: options.history, max: Options::HISTORY_MAX });
        }
        let numbered = (0..).zip(devices);
        let built = numbered.map(|(index, device)| {
            let seed = options.seed.wrapping_add(u64::from(index));
            Device::new(device, index, seed)
        });
        Ok(Simulation {
            devices: built.collect::<Result<_, _>>()?,
            history: History::new(options.history),
            options,
            now: Time::ZERO,
            next_id: 0,
            ready: Vec::new(),
            returned: 0,
        })
    }

    /// Returns the present time: that of the last completion returned, or until which the simulation advanced.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// Returns the name of a device.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn name(&self, device: usize) -> Result<&str, Error> {
        Ok(&self.device(device)?.options.name)
    }

    /// Returns the bytes of a device, addressable from 0 on.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn bytes(&self, device: usize) -> Result<u64, Error> {
        Ok(self.device(device)?.bytes())
    }

    /// Returns how much `device` accepts now: requests of a drive, or lines of main memory, until as many are
    /// outstanding as [`DeviceOptions::outstanding`] allows.
    ///
    /// # Errors
    /// If it does not exist.
    #[inline]
    pub fn room(&self, device: usize) -> Result<u32, Error> {
        let device = self.device(device)?;
        Ok(device.options.outstanding - device.outstanding)
    }

    /// Returns the number of outstanding requests of a drive, or lines of main memory.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn outstanding(&self, device: usize) -> Result<u32, Error> {
        Ok(self.device(device)?.outstanding)
    }

    #[inline]
    pub(crate) fn device(&self, device: usize) -> Result<&Device, Error> {
        self.devices.get(device).ok_or_else(|| self.no_device(device))
    }

    fn no_device(&self, found: usize) -> Error {
        Error::NoDevice { found: found as u64, devices: self.devices.len() }
    }

    /// Submits a request at `at`, now or later, and returns its number. Numbers count submissions from 0.
    ///
    /// Requests of one time are submitted in the order of these calls.
    ///
    /// # Errors
    /// If the request is invalid, `at` has passed, or too many requests are outstanding.
    #[inline]
    pub fn submit(&mut self, at: Time, request: Request) -> Result<u64, Error> {
        let units = self.check(at, &request)?;
        self.check_room(usize::from(request.device), u64::from(units))?;
        Ok(self.accept(at, &request, units))
    }

    /// Checks all of a request but the room for it. Returns what it counts towards the limit of outstanding requests.
    #[inline]
    fn check(&self, at: Time, request: &Request) -> Result<u32, Error> {
        self.check_time("at", at)?;
        let device = self.device(usize::from(request.device))?;
        if device.serves(request) { Ok(device.units(request)) } else { Err(device.refusal(request)) }
    }

    /// Submits several requests, each with its time, and returns the number of the first; the others follow. All are
    /// submitted, or none.
    ///
    /// # Errors
    /// If a request is invalid or its time has passed ([`Error::InBatch`] names the first), or too many requests are
    /// outstanding.
    pub fn submit_all<I>(&mut self, requests: I) -> Result<u64, Error>
    where
        I: IntoIterator<Item = (Time, Request)> + Clone,
    {
        let first = self.next_id;
        self.check_all(requests.clone().into_iter())?;
        for (at, request) in requests {
            let units = self.devices[usize::from(request.device)].units(&request);
            self.accept(at, &request, units);
        }
        Ok(first)
    }

    /// Checks whether all of several requests would be accepted.
    fn check_all(&self, requests: impl Iterator<Item = (Time, Request)>) -> Result<(), Error> {
        let mut more = [0_u64; DEVICES_MAX];
        for (index, (at, request)) in requests.enumerate() {
            match self.check(at, &request) {
                Ok(units) => more[usize::from(request.device)] += u64::from(units),
                Err(cause) => return Err(Error::InBatch { index, cause: Box::new(cause) }),
            }
        }
        more.iter().enumerate().take(self.devices.len()).try_for_each(|(device, more)| self.check_room(device, *more))
    }

    #[inline]
    fn accept(&mut self, at: Time, request: &Request, units: u32) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.history.submitted(at, request);
        self.devices[usize::from(request.device)].submit(at, id, request, units);
        id
    }

    /// Checks the time of a call.
    #[inline]
    fn check_time(&self, call: &'static str, found: Time) -> Result<(), Error> {
        if found < self.now {
            return Err(Error::Past { call, found, now: self.now });
        }
        if found > LATEST {
            return Err(Error::Late { call, found, max: LATEST });
        }
        Ok(())
    }

    #[inline]
    fn check_room(&self, device: usize, more: u64) -> Result<(), Error> {
        let device = &self.devices[device];
        let (limit, outstanding) = (device.options.outstanding, device.outstanding);
        if more > u64::from(limit - outstanding) {
            return Err(Error::Full { device: device.options.name.clone(), outstanding, more, limit });
        }
        Ok(())
    }

    /// Returns the time of the next event: nothing completes earlier unless it is submitted. `None` if nothing will
    /// happen.
    ///
    /// Most events complete nothing. While completions of the present are still to be returned, this is
    /// [`now`](Self::now).
    pub fn next_event(&mut self) -> Option<Time> {
        if !self.ready.is_empty() {
            return Some(self.now);
        }
        let next = self.devices.iter_mut().map(Device::next_event).min().unwrap_or(Time::MAX);
        (next < Time::MAX).then_some(next)
    }

    /// Advances to `until` and appends all completions up to then, in order of time and, at equal times, of device.
    ///
    /// # Errors
    /// If `until` has passed.
    pub fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> Result<(), Error> {
        self.check_time("until", until)?;
        while let Some(completion) = self.next_within(until) {
            completions.push(completion);
        }
        Ok(())
    }

    /// Advances to the first completion, or to `until` if that is earlier, and appends the completions that one event
    /// causes. Without `until` it advances to the next completion, and stays in the present if nothing is outstanding.
    ///
    /// A program that submits its next request when one completes continues exactly like the host of a run: its
    /// requests come before the remaining events of that time.
    ///
    /// # Errors
    /// If `until` has passed.
    pub fn advance_to_completion(
        &mut self,
        until: Option<Time>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        let mut next = self.next_completion(until)?;
        while let Some(completion) = next {
            completions.push(completion);
            next = self.take_ready();
        }
        Ok(())
    }

    /// Like [`advance_to_completion`](Self::advance_to_completion), for one completion at a time. Returns `None` once
    /// the simulation has advanced to `until`, or if nothing is outstanding.
    ///
    /// # Errors
    /// If `until` has passed.
    #[inline]
    pub fn next_completion(&mut self, until: Option<Time>) -> Result<Option<Completion>, Error> {
        if let Some(until) = until {
            self.check_time("until", until)?;
            return Ok(self.next_within(until));
        }
        Ok(if self.ready.is_empty() && self.is_idle() { None } else { self.next_within(Time::MAX) })
    }

    /// Returns whether no device has outstanding requests.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.devices.iter().all(|device| device.outstanding == 0)
    }

    #[inline]
    fn next_within(&mut self, until: Time) -> Option<Completion> {
        if self.ready.is_empty() {
            self.step(until);
        }
        self.take_ready()
    }

    /// Returns a completion of the present that has not been returned, if there is one, without advancing.
    #[inline]
    pub fn take_ready(&mut self) -> Option<Completion> {
        let completion = *self.ready.get(self.returned)?;
        self.returned += 1;
        if self.returned == self.ready.len() {
            self.ready.clear();
            self.returned = 0;
        }
        self.history.returned();
        Some(completion)
    }

    /// Advances to the first completions, at most to `until`. Returns whether there are any.
    #[inline]
    pub(crate) fn step(&mut self, until: Time) -> bool {
        let completed = match &mut self.devices[..] {
            [device] => device.advance(until, &mut self.ready),
            _ => self.step_several(until),
        };
        match completed {
            Some(at) => self.now = at,
            None if until < Time::MAX => self.now = until,
            None => panic!("requests are outstanding but no event is pending"),
        }
        self.history.stepped(completed.is_some(), self.now);
        completed.is_some()
    }

    /// Advances the device whose event is first until another's is, in turn. At equal times devices come in order of
    /// their indices.
    fn step_several(&mut self, until: Time) -> Option<Time> {
        loop {
            let (mut next, mut first, mut limit) = (0, Time::MAX, until);
            for (index, device) in self.devices.iter_mut().enumerate() {
                let at = device.next_event();
                if at < first {
                    // Events of a device with a lower index come first.
                    if first < Time::MAX {
                        limit = until.min(Time::from_ps(first.ps() - 1));
                    }
                    (next, first) = (index, at);
                } else {
                    limit = limit.min(at);
                }
            }
            if first > until || first == Time::MAX {
                for device in &mut self.devices {
                    let none = device.advance(until, &mut self.ready);
                    assert!(none.is_none(), "a completion before the next event");
                }
                return None;
            }
            let completed = self.devices[next].advance(limit, &mut self.ready);
            if completed.is_some() {
                return completed;
            }
        }
    }

    /// Reads the energy of a device since the start of the simulation, in joules.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn energy_j(&mut self, device: usize) -> Result<f64, Error> {
        self.device(device)?;
        let now = self.now;
        Ok(match &mut self.devices[device].machine {
            Machine::Drive(drive) => storage::counters::Counters::read(&drive.machine, now, 0).energy.total().joules(),
            Machine::Memory(memory) => memory.memory.reading(now).energy.joules(),
        })
    }
}
