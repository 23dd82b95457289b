//! Requests of the program outside, and their completions.

use media::Status;
use sim::Time;

/// Operation of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// Reads bytes.
    #[default]
    Read = 0,
    /// Writes bytes.
    Write = 1,
    /// Drives: makes all completed writes durable. Flash behind DRAM: a sync, which keeps this state for a rollback.
    Flush = 2,
    /// Drives: declares the bytes unused (NVMe Deallocate, ATA TRIM, SCSI UNMAP).
    Trim = 3,
    /// Flash behind DRAM: restores the state of the last sync.
    Rollback = 4,
}

impl Op {
    /// User-visible names of all operations.
    pub const NAMES: [(&'static str, Op); 5] = [
        ("read", Op::Read),
        ("write", Op::Write),
        ("flush", Op::Flush),
        ("trim", Op::Trim),
        ("rollback", Op::Rollback),
    ];

    /// Returns the operation with number `code`.
    pub fn of_code(code: u8) -> Option<Op> {
        match code {
            0 => Some(Op::Read),
            1 => Some(Op::Write),
            2 => Some(Op::Flush),
            3 => Some(Op::Trim),
            4 => Some(Op::Rollback),
            _ => None,
        }
    }

    /// Returns the user-visible name.
    pub fn name(self) -> &'static str {
        Op::NAMES[self as usize].0
    }
}

/// A request to one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Index of the device.
    pub device: u16,
    /// Operation.
    pub op: Op,
    /// Drives: acknowledge the write only once it is durable (force unit access).
    pub fua: bool,
    /// Drives: the submitting thread of the host, which selects processor core and queue pair.
    pub thread: u16,
    /// First byte; 0 for a flush or a rollback. A multiple of 512 for drives, of 64 for main memory.
    pub address: u64,
    /// Number of bytes, a multiple like the address; 0 for a flush or a rollback.
    pub bytes: u64,
    /// The caller's name for the request, repeated in its completion.
    pub handle: u64,
}

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's number, from [`Simulation::submit`](crate::Simulation::submit).
    pub id: u64,
    /// The caller's name for the request.
    pub handle: u64,
    /// Index of the device.
    pub device: u16,
    /// Final status.
    pub status: Status,
    /// The time passed to [`Simulation::submit`](crate::Simulation::submit).
    pub submitted: Time,
    /// Time at which the program was notified: for a drive, after the driver's work; for main memory, when the last
    /// line arrived (read) or was accepted (write).
    pub completed: Time,
}
