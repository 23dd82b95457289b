//! Checks a request before it is accepted.

use media::{LINE, SECTOR};

use super::{Device, Machine};
use crate::error::Error;
use crate::request::{Op, Request};

/// What a device serves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// A bit for each operation, by its number.
    ops: u8,
    /// Addresses and sizes are multiples of so many bytes.
    unit: u64,
    /// Addressable bytes.
    bytes: u64,
    /// Maximum size of a request.
    largest: u64,
}

impl Service {
    /// Returns the service of a machine, with `outstanding` requests or lines at most.
    pub fn new(machine: &Machine, outstanding: u32) -> Service {
        const DRIVE: &[Op] = &[Op::Read, Op::Write, Op::Flush, Op::Trim];
        const STATES: &[Op] = &[Op::Read, Op::Write, Op::Flush, Op::Rollback];
        const LINES: &[Op] = &[Op::Read, Op::Write];
        let (ops, unit, bytes, largest) = match machine {
            Machine::Drive(drive) => (DRIVE, SECTOR, drive.capacity, drive.capacity),
            Machine::Memory(memory) => {
                let ops = if memory.keeps_states() { STATES } else { LINES };
                let bytes = memory.memory.bytes();
                (ops, LINE, bytes, bytes.min(u64::from(outstanding) * LINE))
            }
        };
        Service { ops: ops.iter().fold(0, |bits, op| bits | (1 << *op as u8)), unit, bytes, largest }
    }

    /// Returns the addressable bytes, from 0 on.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns what a request counts towards the limit of outstanding requests: 1 for a drive, its lines for main memory.
    /// `None` if it is not served.
    #[inline]
    pub fn units(&self, request: &Request) -> Option<u32> {
        let Request { op, address, bytes, .. } = *request;
        let fits = match op {
            Op::Flush | Op::Rollback => address | bytes == 0,
            Op::Read | Op::Write | Op::Trim => {
                let is_aligned = (address | bytes) & (self.unit - 1) == 0;
                is_aligned && bytes > 0 && bytes <= self.largest && address <= self.bytes - bytes
            }
        };
        let units = if self.unit == LINE { ((bytes / LINE) as u32).max(1) } else { 1 };
        (fits && self.has(op)).then_some(units)
    }

    #[inline]
    fn has(&self, op: Op) -> bool {
        (self.ops >> op as u8) & 1 == 1
    }
}

impl Device {
    /// Returns the error of `more` requests, or lines, for which there is no room.
    pub fn full(&self, more: u64) -> Box<Error> {
        let (limit, outstanding) = (self.options.outstanding, self.outstanding);
        Box::new(Error::Full { device: self.options.name.clone(), outstanding, more, limit })
    }

    /// Returns why it does not serve a request.
    pub fn refusal(&self, request: &Request) -> Box<Error> {
        let Request { op, address, bytes, .. } = *request;
        let (device, unit) = (self.options.name.clone(), self.service.unit);
        let (expected, multiple, positive) = match &self.machine {
            Machine::Drive(_) => ("read, write, flush or trim", "a multiple of 512", "a multiple of 512 above 0"),
            Machine::Memory(memory) => {
                let states = memory.keeps_states();
                let expected = if states { "read, write, flush or rollback" } else { "read or write" };
                (expected, "a multiple of 64", "a multiple of 64 above 0")
            }
        };
        let unaligned =
            |field, found, expected| Error::Unaligned { field, found, expected, op, device: device.clone() };
        let has_range = !matches!(op, Op::Flush | Op::Rollback);
        Box::new(match (address, bytes) {
            _ if !self.service.has(op) => Error::Op { op, device, expected },
            (0, _) if !has_range => unaligned("bytes", bytes, "0"),
            _ if !has_range => unaligned("address", address, "0"),
            _ if !address.is_multiple_of(unit) => unaligned("address", address, multiple),
            _ if bytes == 0 || !bytes.is_multiple_of(unit) => unaligned("bytes", bytes, positive),
            _ if bytes > self.bytes() || address > self.bytes() - bytes => {
                Error::Beyond { address, bytes, capacity: self.bytes(), device }
            }
            _ => Error::Large { bytes, limit: self.options.outstanding, device },
        })
    }
}
