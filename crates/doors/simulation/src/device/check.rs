//! Checks a request before it is accepted.

use media::{LINE, SECTOR};

use super::{Device, Machine};
use crate::error::Error;
use crate::request::{Op, Request};

/// Returns whether a request has a range, of whole units within the capacity.
#[inline]
fn has_range(request: &Request, unit: u64, capacity: u64) -> bool {
    let Request { address, bytes, .. } = *request;
    bytes > 0 && (address | bytes).is_multiple_of(unit) && bytes <= capacity && address <= capacity - bytes
}

impl Device {
    /// Returns what a valid request counts towards the limit: 1 for a drive, its lines for main memory.
    #[inline]
    pub fn units(&self, request: &Request) -> u32 {
        match &self.machine {
            Machine::Drive(_) => 1,
            Machine::Memory(_) => ((request.bytes / LINE) as u32).max(1),
        }
    }

    /// Returns whether the device serves the request.
    #[inline]
    pub fn serves(&self, request: &Request) -> bool {
        let Request { op, address, bytes, .. } = *request;
        match (&self.machine, op) {
            (Machine::Drive(drive), Op::Read | Op::Write | Op::Trim) => has_range(request, SECTOR, drive.capacity),
            (Machine::Drive(_), Op::Flush) => (address, bytes) == (0, 0),
            (Machine::Drive(_), Op::Rollback) | (Machine::Memory(_), Op::Trim) => false,
            (Machine::Memory(_), Op::Read | Op::Write) => {
                has_range(request, LINE, self.bytes()) && bytes / LINE <= u64::from(self.options.outstanding)
            }
            (Machine::Memory(memory), Op::Flush | Op::Rollback) => memory.keeps_states() && (address, bytes) == (0, 0),
        }
    }

    /// Returns why it does not serve a request.
    pub fn refusal(&self, request: &Request) -> Error {
        let Request { op, address, bytes, .. } = *request;
        let device = self.options.name.clone();
        let (expected, serves) = match &self.machine {
            Machine::Drive(_) => ("read, write, flush or trim", op != Op::Rollback),
            Machine::Memory(memory) if memory.keeps_states() => ("read, write, flush or rollback", op != Op::Trim),
            Machine::Memory(_) => ("read or write", matches!(op, Op::Read | Op::Write)),
        };
        let (unit, multiple, positive) = match &self.machine {
            Machine::Drive(_) => (SECTOR, "a multiple of 512", "a multiple of 512 above 0"),
            Machine::Memory(_) => (LINE, "a multiple of 64", "a multiple of 64 above 0"),
        };
        let unaligned =
            |field, found, expected| Error::Unaligned { field, found, expected, op, device: device.clone() };
        let has_range = !matches!(op, Op::Flush | Op::Rollback);
        match (address, bytes) {
            _ if !serves => Error::Op { op, device, expected },
            (0, _) if !has_range => unaligned("bytes", bytes, "0"),
            _ if !has_range => unaligned("address", address, "0"),
            _ if !address.is_multiple_of(unit) => unaligned("address", address, multiple),
            _ if bytes == 0 || !bytes.is_multiple_of(unit) => unaligned("bytes", bytes, positive),
            _ if bytes > self.bytes() || address > self.bytes() - bytes => {
                Error::Beyond { address, bytes, capacity: self.bytes(), device }
            }
            _ => Error::Large { bytes, limit: self.options.outstanding, device },
        }
    }
}
