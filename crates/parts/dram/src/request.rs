//! Requests to a memory and their completions.

use sim::Time;

/// Read or write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestKind {
    /// From memory.
    #[default]
    Read,
    /// To memory.
    Write,
}

/// The point at which a write is done. Reads are done when their last data has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ack {
    /// When the controller's write queue has accepted it: later reads through this controller see it.
    #[default]
    Accepted,
    /// When its last data is in the memory device: reads from the device's other side see it.
    Written,
    /// Never: the write has no completion, for callers that do not wait for one.
    Silent,
}

/// A read or a write of any length. The controller splits it into bursts as its queues have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The caller's name for the request, below 2^63 for a [`Memory`](crate::Memory). It comes back with the completion
    /// and need not be unique.
    pub id: u64,
    /// Port of the controller that the request comes from (a CPU, a DMA, a device).
    pub port: u8,
    /// Read or write.
    pub kind: RequestKind,
    /// Address of the first byte.
    pub address: u64,
    /// Length in bytes, at least 1. Partially covered bursts are transferred as a whole.
    pub bytes: u32,
    /// The point at which a write is done.
    pub ack: Ack,
}

impl Request {
    /// Returns true if it is done when its last burst has been served, rather than when that burst has entered.
    #[inline]
    pub(crate) fn ends_served(&self) -> bool {
        self.kind == RequestKind::Read || self.ack == Ack::Written
    }

    /// Returns true if it has no completion.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        self.kind == RequestKind::Write && self.ack == Ack::Silent
    }
}

/// A completed request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The request's id.
    pub id: u64,
    /// Its port.
    pub port: u8,
    /// Read or write.
    pub kind: RequestKind,
    /// Kind of rank that answered.
    pub rank_kind: RankKind,
    /// Time of submission.
    pub submitted: Time,
    /// Time of completion.
    pub at: Time,
}

/// Kind of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankKind {
    /// Memory.
    #[default]
    Dram,
    /// A device's buffer that answers like DRAM (the storage device of `drambus`): the same commands and timing, but no
    /// memory for other uses, no cells to refresh, and its energy is counted by its device.
    Buffer,
}
