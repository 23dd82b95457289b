//! Directions, transfers and traffic of every kind of link.

use sim::Time;

/// Direction of travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From host to device (PCIe: downstream).
    ToDevice,
    /// From device to host (PCIe: upstream).
    ToHost,
}

/// Times at which a command's data leaves and arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time at which the last byte has left, so that the next message can follow.
    pub sent: Time,
    /// Time at which the last byte has reached the other end.
    pub arrives: Time,
}

/// Traffic carried by one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// The direction.
    pub direction: Direction,
    /// Time during which the wire was occupied; at most `elapsed`.
    pub busy: Time,
    /// Time since the start of the run.
    pub elapsed: Time,
    /// Bytes of data, commands, completions and registers.
    pub payload: u64,
    /// Bytes on the wire before encoding: payload, headers, framing, and packets that carry no payload.
    pub wire: u64,
    /// Packets (PCIe: TLPs, SATA: frames, UFS: data frames).
    pub packets: u64,
}

impl Utilization {
    /// Returns busy time over elapsed time, or zero at the start of a run.
    pub fn fraction(&self) -> f64 {
        if self.elapsed == Time::ZERO { 0.0 } else { self.busy.ps() as f64 / self.elapsed.ps() as f64 }
    }
}
