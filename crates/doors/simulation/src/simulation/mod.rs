//! Devices under one clock.

mod advance;
mod submit;

use sim::Time;

use crate::device::{Device, Machine};
use crate::error::Error;
use crate::history::History;
use crate::options::{DeviceOptions, Options};
use crate::request::Completion;

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
    /// Number of requests that have completed.
    completed: u64,
    /// The completions of the last step.
    pub(crate) ready: Vec<Completion>,
    /// Number of these completions that have been returned.
    pub(crate) returned: usize,
    pub(crate) history: History,
}

impl Simulation {
    /// Creates the devices, at time zero, and prepares the drives.
    ///
    /// # Errors
    /// If there are no devices or more than [`DEVICES_MAX`], or one cannot be built or prepared.
    pub fn new(devices: Vec<DeviceOptions>, options: Options) -> Result<Simulation, Box<Error>> {
        if devices.is_empty() || devices.len() > DEVICES_MAX {
            return Err(Error::Devices { found: devices.len(), max: DEVICES_MAX }.into());
        }
        if options.history > Options::HISTORY_MAX {
            return Err(Error::History { found: options.history, max: Options::HISTORY_MAX }.into());
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
            completed: 0,
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
    pub fn name(&self, device: usize) -> Result<&str, Box<Error>> {
        Ok(&self.device(device)?.options.name)
    }

    /// Returns the bytes of a device, addressable from 0 on.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn bytes(&self, device: usize) -> Result<u64, Box<Error>> {
        Ok(self.device(device)?.bytes())
    }

    /// Returns how much `device` accepts now: requests of a drive, or lines of main memory, until as many are
    /// outstanding as [`DeviceOptions::outstanding`] allows.
    ///
    /// # Errors
    /// If it does not exist.
    #[inline]
    pub fn room(&self, device: usize) -> Result<u32, Box<Error>> {
        Ok(self.device(device)?.room())
    }

    /// Returns the number of outstanding requests of a drive, or lines of main memory.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn outstanding(&self, device: usize) -> Result<u32, Box<Error>> {
        Ok(self.device(device)?.outstanding)
    }

    #[inline]
    pub(crate) fn device(&self, device: usize) -> Result<&Device, Box<Error>> {
        self.devices.get(device).ok_or_else(|| self.no_device(device))
    }

    fn no_device(&self, found: usize) -> Box<Error> {
        Box::new(Error::NoDevice { found: found as u64, devices: self.devices.len() })
    }

    /// Checks the time of a call.
    #[inline]
    fn check_time(&self, call: &'static str, found: Time) -> Result<(), Box<Error>> {
        if found < self.now || found > LATEST { Err(self.wrong_time(call, found)) } else { Ok(()) }
    }

    fn wrong_time(&self, call: &'static str, found: Time) -> Box<Error> {
        Box::new(match found < self.now {
            true => Error::Past { call, found, now: self.now },
            false => Error::Late { call, found, max: LATEST },
        })
    }

    /// Reads the energy of a device since the start of the simulation, in joules.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn energy_j(&mut self, device: usize) -> Result<f64, Box<Error>> {
        self.device(device)?;
        let now = self.now;
        Ok(match &mut self.devices[device].machine {
            Machine::Drive(drive) => storage::counters::Counters::read(&drive.machine, now, 0).energy.total().joules(),
            Machine::Memory(memory) => memory.memory.reading(now).energy.joules(),
        })
    }
}
