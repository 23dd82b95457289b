//! Checks a request before it is accepted.

use media::{LINE, SECTOR};

use super::{Device, Machine};
use crate::error::Error;
use crate::request::{Op, Request};

impl Device {
    /// Returns what a valid request counts towards the limit: 1 for a drive, its lines for main memory.
    #[inline]
    pub fn units(&self, request: &Request) -> u32 {
        match &self.machine {
            Machine::Drive(_) => 1,
            Machine::Memory(_) => ((request.bytes / LINE) as u32).max(1),
        }
    }

    /// Checks a request and returns what it counts towards the limit of outstanding requests.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<u32, Error> {
        let (unit, serves) = match &self.machine {
            Machine::Drive(_) => (SECTOR, request.op != Op::Rollback),
            Machine::Memory(memory) => {
                let serves = matches!(request.op, Op::Read | Op::Write)
                    || matches!(request.op, Op::Flush | Op::Rollback) && memory.keeps_states();
                (LINE, serves)
            }
        };
        let Request { op, address, bytes, .. } = *request;
        let has_range = !matches!(op, Op::Flush | Op::Rollback);
        let range_is_right = if has_range {
            bytes > 0 && bytes.is_multiple_of(unit) && address.is_multiple_of(unit)
        } else {
            address == 0 && bytes == 0
        };
        let capacity = self.bytes();
        let fits = bytes <= capacity && address <= capacity - bytes;
        let is_small = unit == SECTOR || bytes / LINE <= u64::from(self.options.outstanding);
        if serves && range_is_right && fits && is_small {
            return Ok(self.units(request));
        }
        Err(self.wrong(request, serves, range_is_right, fits))
    }

    /// Returns the mistake of a request.
    fn wrong(&self, request: &Request, serves: bool, range_is_right: bool, fits: bool) -> Error {
        let Request { op, address, bytes, .. } = *request;
        let device = self.options.name.clone();
        let (expected, unit, multiple, positive) = match &self.machine {
            Machine::Drive(_) => {
                ("read, write, flush or trim", SECTOR, "a multiple of 512", "a multiple of 512 above 0")
            }
            Machine::Memory(memory) if memory.keeps_states() => {
                ("read, write, flush or rollback", LINE, "a multiple of 64", "a multiple of 64 above 0")
            }
            Machine::Memory(_) => ("read or write", LINE, "a multiple of 64", "a multiple of 64 above 0"),
        };
        if !serves {
            return Error::Op { op, device, expected };
        }
        if !range_is_right {
            let has_range = !matches!(op, Op::Flush | Op::Rollback);
            let at_fault = if has_range { !address.is_multiple_of(unit) } else { address != 0 };
            let (field, found) = if at_fault { ("address", address) } else { ("bytes", bytes) };
            let expected = match (has_range, at_fault) {
                (false, _) => "0",
                (true, true) => multiple,
                (true, false) => positive,
            };
            return Error::Unaligned { field, found, expected, op, device };
        }
        if !fits {
            return Error::Beyond { address, bytes, capacity: self.bytes(), device };
        }
        Error::Large { bytes, limit: self.options.outstanding, device }
    }
}
