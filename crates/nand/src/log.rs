//! A log of everything that dies and channels did, for whoever checks that they did no two things at once.

use media::OpId;
use sim::Time;

use crate::op::Kind;

/// A step of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Command and address cycles of a read or an erase, on the channel.
    Command,
    /// Command, address and data of a program, on the channel.
    DataIn,
    /// The array works. A suspended operation has several of these.
    Array,
    /// Data of a read, on the channel.
    DataOut,
}

/// One step, from its begin to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The operation.
    pub id: OpId,
    /// What it is.
    pub kind: Kind,
    /// The step.
    pub step: Step,
    /// The die.
    pub die: u16,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
}
