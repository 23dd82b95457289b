//! Features (section 5.21.1). None is saved across a power cycle or a reset.

use device::Coalescing;
use host_interface::Output;
use sim::Time;

use super::admin::{Course, Outcome};
use super::{Controller, QUEUES};
use crate::entry::{Entry, Status};

/// Feature identifiers.
const ARBITRATION: u8 = 0x01;
const POWER_MANAGEMENT: u8 = 0x02;
const TEMPERATURE_THRESHOLD: u8 = 0x04;
const ERROR_RECOVERY: u8 = 0x05;
const WRITE_CACHE: u8 = 0x06;
const NUMBER_OF_QUEUES: u8 = 0x07;
const COALESCING: u8 = 0x08;
const VECTOR: u8 = 0x09;
const WRITE_ATOMICITY: u8 = 0x0a;
const EVENTS: u8 = 0x0b;
const HOST_MEMORY_BUFFER: u8 = 0x0d;
const TIMESTAMP: u8 = 0x0e;
const COMMAND_SET_PROFILE: u8 = 0x19;
const HOST_IDENTIFIER: u8 = 0x81;

/// Recommended Arbitration Burst after a reset: no limit (5.21.1.1).
const ARBITRATION_DEFAULT: u32 = 0b111;
/// Over-temperature threshold after a reset: WCTEMP.
const TEMPERATURE_DEFAULT: u32 = 343;
/// Bit of Asynchronous Event Configuration: namespace attribute notices.
const NAMESPACE_NOTICES: u32 = 1 << 8;

/// Current values.
#[derive(Clone, Debug)]
pub(super) struct Features {
    arbitration: u32,
    /// Over- and under-temperature threshold.
    temperature: [u32; 2],
    error_recovery: u32,
    write_cache: bool,
    coalescing: u32,
    /// Vectors that do not coalesce.
    uncoalesced: [bool; QUEUES as usize],
    atomicity: u32,
    events: u32,
    /// The host's time in ms, and when it was set.
    timestamp: (u64, Time),
    host_identifier: [u8; 16],
}

impl Features {
    pub fn new() -> Features {
        Features {
            arbitration: ARBITRATION_DEFAULT,
            temperature: [TEMPERATURE_DEFAULT, 0],
            error_recovery: 0,
            write_cache: true,
            coalescing: 0,
            uncoalesced: [false; QUEUES as usize],
            atomicity: 0,
            events: 0,
            timestamp: (0, Time::ZERO),
            host_identifier: [0; 16],
        }
    }

    pub const fn write_cache(&self) -> bool {
        self.write_cache
    }

    /// Returns true if the vector's interrupts are coalesced, as far as the feature is on.
    pub fn coalesces(&self, vector: u16) -> bool {
        !self.uncoalesced.get(usize::from(vector)).copied().unwrap_or(false)
    }

    /// Returns the value of the feature Timestamp at `now` (5.21.1.14).
    pub fn timestamp(&self, now: Time) -> u64 {
        let (set, at) = self.timestamp;
        let stamp = set + (now - at).ps() / Time::from_ms(1).ps();
        // Bits 51:49: set by the host, or counted since power-on.
        let origin = u64::from(set != 0) << 49;
        stamp & 0xffff_ffff_ffff | origin
    }

    pub const fn reports_namespaces(&self) -> bool {
        self.events & NAMESPACE_NOTICES != 0
    }
}

impl Controller {
    /// Performs Set Features.
    pub(super) fn set_features(&mut self, now: Time, tag: u16, entry: &Entry, out: &mut Vec<Output>) -> Outcome {
        let (feature, value) = (entry.dword(10) as u8, entry.dword(11));
        if let Some(outcome) = self.set_placement_feature(now, tag, entry) {
            return outcome;
        }
        if entry.dword(10) >> 31 == 1 {
            return Err(Status::NOT_SAVEABLE);
        }
        let features = &mut self.features;
        match feature {
            ARBITRATION => {
                features.arbitration = value;
                let burst = value & 0b111;
                self.device.set_arbitration_burst((burst < 7).then_some(1 << burst));
            }
            // The controller has one power state.
            POWER_MANAGEMENT if value & 0x1f == 0 => {}
            TEMPERATURE_THRESHOLD => {
                let (sensor, kind) = (value >> 16 & 15, value >> 20 & 3);
                // Sensor 0 is the composite temperature, 15 every sensor.
                if kind > 1 || !matches!(sensor, 0 | 15) {
                    return Err(Status::INVALID_FIELD);
                }
                features.temperature[kind as usize] = value & 0xffff;
            }
            ERROR_RECOVERY => features.error_recovery = value & 0xffff,
            WRITE_CACHE if self.has_write_cache => features.write_cache = value & 1 == 1,
            NUMBER_OF_QUEUES => return self.set_number_of_queues(value),
            COALESCING => {
                features.coalescing = value & 0xffff;
                let (threshold, time) = ((value & 0xff) + 1, u64::from(value >> 8 & 0xff));
                let on = threshold > 1 && time > 0;
                self.device.set_coalescing(on.then_some(Coalescing { threshold, time: Time::from_us(100 * time) }));
            }
            VECTOR => match features.uncoalesced.get_mut((value & 0xffff) as usize) {
                Some(uncoalesced) => *uncoalesced = value >> 16 & 1 == 1,
                None => return Err(Status::INVALID_FIELD),
            },
            WRITE_ATOMICITY => features.atomicity = value & 1,
            EVENTS => features.events = value,
            // The controller has one combination of command sets.
            COMMAND_SET_PROFILE if self.has_zones() && value & 0x1ff == 0 => {}
            HOST_MEMORY_BUFFER => return self.set_host_memory(now, tag, entry, out),
            TIMESTAMP => {
                let mut timestamp = [0; 8];
                self.receive(now, tag, &mut timestamp)?;
                self.features.timestamp = (u64::from_le_bytes(timestamp) & 0xffff_ffff_ffff, now);
            }
            HOST_IDENTIFIER => {
                let mut identifier = [0; 16];
                let bytes = if value & 1 == 1 { 16 } else { 8 };
                self.receive(now, tag, &mut identifier[..bytes])?;
                self.features.host_identifier = identifier;
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(Course::Ends(0))
    }

    /// Number of Queues: may only be set before the first I/O queue is created.
    fn set_number_of_queues(&mut self, value: u32) -> Outcome {
        if value & 0xffff == 0xffff || value >> 16 == 0xffff {
            return Err(Status::INVALID_FIELD);
        }
        if self.queues.completion[1..].iter().any(Option::is_some) {
            return Err(Status::SEQUENCE_ERROR);
        }
        Ok(Course::Ends(queues_allocated()))
    }

    /// Performs Get Features.
    pub(super) fn get_features(&mut self, now: Time, tag: u16, entry: &Entry) -> Outcome {
        let (feature, select) = (entry.dword(10) as u8, entry.dword(10) >> 8 & 7);
        if let Some(outcome) = self.get_placement_feature(now, tag, entry) {
            return outcome;
        }
        let known = Features::new();
        let of = match select {
            0 => &self.features,
            // Default and saved.
            1 | 2 => &known,
            3 => return self.feature_capabilities(feature),
            _ => return Err(Status::INVALID_FIELD),
        };
        let value = match feature {
            ARBITRATION => of.arbitration,
            POWER_MANAGEMENT => 0,
            TEMPERATURE_THRESHOLD => of.temperature[(entry.dword(11) >> 20 & 1) as usize],
            ERROR_RECOVERY => of.error_recovery,
            WRITE_CACHE if self.has_write_cache => u32::from(of.write_cache),
            NUMBER_OF_QUEUES => queues_allocated(),
            COALESCING => of.coalescing,
            VECTOR => {
                let vector = entry.dword(11) & 0xffff;
                let uncoalesced = of.uncoalesced.get(vector as usize).ok_or(Status::INVALID_FIELD)?;
                vector | u32::from(*uncoalesced) << 16
            }
            WRITE_ATOMICITY => of.atomicity,
            EVENTS => of.events,
            COMMAND_SET_PROFILE if self.has_zones() => 0,
            HOST_MEMORY_BUFFER => {
                let (enabled, attributes) = self.host_memory.attributes()?;
                self.send(now, tag, &attributes)?;
                u32::from(enabled)
            }
            TIMESTAMP => {
                let stamp = of.timestamp(now);
                self.send(now, tag, &stamp.to_le_bytes())?;
                0
            }
            HOST_IDENTIFIER => {
                let (identifier, bytes) = (of.host_identifier, if entry.dword(11) & 1 == 1 { 16 } else { 8 });
                self.send(now, tag, &identifier[..bytes])?;
                0
            }
            _ => return Err(Status::INVALID_FIELD),
        };
        Ok(Course::Ends(value))
    }

    /// Returns the capabilities of a feature: all can be changed, none is saved or specific to a namespace.
    pub(super) fn feature_capabilities(&self, feature: u8) -> Outcome {
        let known = matches!(
            feature,
            ARBITRATION..=POWER_MANAGEMENT
                | TEMPERATURE_THRESHOLD..=ERROR_RECOVERY
                | NUMBER_OF_QUEUES..=EVENTS
                | TIMESTAMP
                | HOST_IDENTIFIER
        ) || feature == WRITE_CACHE && self.has_write_cache
            || feature == COMMAND_SET_PROFILE && self.has_zones()
            || feature == HOST_MEMORY_BUFFER && self.host_memory.identify().hmpre > 0;
        if known { Ok(Course::Ends(1 << 2)) } else { Err(Status::INVALID_FIELD) }
    }
}

/// Returns the number of I/O submission and completion queues, both less one.
fn queues_allocated() -> u32 {
    let queues = u32::from(QUEUES) - 2;
    queues | queues << 16
}
