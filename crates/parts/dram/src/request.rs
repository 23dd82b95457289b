//! What is asked of a memory, and what comes back.

use sim::Time;

/// Read or write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// From memory.
    #[default]
    Read,
    /// To memory.
    Write,
}

/// When a write is said to be done. Reads are done when their last data have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ack {
    /// When the controller's write queue has it: later reads see it, whoever asks through this controller.
    #[default]
    Accepted,
    /// When its last data are in the memory device: whoever looks there from the other side sees it.
    Written,
    /// Never: it comes back with no completion. For who does not wait for it.
    Untold,
}

/// A read or a write of any length: the controller makes bursts of it, one after another, as its queues have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The caller's name for it, below 2^63 for a [`Memory`](crate::Memory); comes back with its completion and need not be unique.
    pub id: u64,
    /// Who asks: a port of the controller (a CPU, a DMA, a device).
    pub port: u8,
    /// Read or write.
    pub kind: Kind,
    /// First byte.
    pub address: u64,
    /// Length in bytes, at least 1. Bursts that it covers in part are moved whole.
    pub bytes: u32,
    /// When a write is done.
    pub ack: Ack,
}

impl Request {
    /// It is done when its last burst is served, not when that has entered.
    #[inline(always)]
    pub(crate) fn ends_served(&self) -> bool {
        self.kind == Kind::Read || self.ack == Ack::Written
    }

    /// Nobody is told that it is done.
    #[inline(always)]
    pub(crate) fn ends_untold(&self) -> bool {
        self.kind == Kind::Write && self.ack == Ack::Untold
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's id.
    pub id: u64,
    /// Its port.
    pub port: u8,
    /// Read or write.
    pub kind: Kind,
    /// What answered.
    pub rank_kind: RankKind,
    /// When it was submitted.
    pub submitted: Time,
    /// When it was done.
    pub at: Time,
}

/// What a rank is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankKind {
    /// Memory.
    #[default]
    Dram,
    /// A device's buffer that answers as DRAM does (the storage device of `drambus`): the same commands and timing, no
    /// memory for anybody else, no cells to refresh, and its energy is its device's.
    Buffer,
}
