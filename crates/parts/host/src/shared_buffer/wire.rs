//! Conversion of operations and statuses to and from those of queue entries.

use ::shared_buffer::Opcode;
use media::{Op, Status};

pub(super) fn opcode(op: Op) -> Opcode {
    match op {
        Op::Read => Opcode::Read,
        Op::Write => Opcode::Write,
        Op::Trim => Opcode::Trim,
        Op::Flush => Opcode::Flush,
        Op::Append | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => {
            unreachable!("only NVMe drives have zones")
        }
    }
}

/// Converts a status to that of an entry.
pub fn to_wire(status: Status) -> ::shared_buffer::Status {
    match status {
        Status::Ok => ::shared_buffer::Status::Success,
        Status::Uncorrectable => ::shared_buffer::Status::ReadError,
        Status::Failed => ::shared_buffer::Status::WriteError,
        Status::NoSpace => ::shared_buffer::Status::NoSpace,
        Status::Refused(_) => ::shared_buffer::Status::InvalidOpcode,
    }
}

/// Converts an entry's status.
///
/// # Panics
/// Panics if the status reports an invalid command, which the driver never writes.
pub fn from_wire(status: ::shared_buffer::Status) -> Status {
    use ::shared_buffer::Status as Wire;
    match status {
        Wire::Success => Status::Ok,
        Wire::ReadError => Status::Uncorrectable,
        Wire::WriteError => Status::Failed,
        Wire::NoSpace => Status::NoSpace,
        Wire::InvalidOpcode | Wire::InvalidField | Wire::OutOfRange => {
            panic!("the device rejected a command: {status:?}")
        }
    }
}
