//! A log of everything that dies and channels did, for whoever checks that they did no two things at once.

use media::OpId;
use sim::{Schedule, Time};

use crate::nand::Event;
use crate::op::{Kind, Op};

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

/// The log, if one is kept.
#[derive(Default)]
pub(crate) struct Log {
    kept: bool,
    entries: Vec<LogEntry>,
}

impl Log {
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }

    pub(crate) fn take(&mut self) -> Vec<LogEntry> {
        std::mem::take(&mut self.entries)
    }

    /// Notes a step, where the world `S` is watched.
    #[inline(always)]
    pub(crate) fn note<S: Schedule<Event>>(&mut self, id: u32, op: &Op, step: Step, from: Time, to: Time) {
        debug_assert!(S::WATCHED || !self.kept, "a log is kept of what nobody watches");
        if S::WATCHED && self.kept {
            self.push(LogEntry { id: OpId(id), kind: op.kind, step, die: op.die, from, to });
        }
    }

    #[cold]
    #[inline(never)]
    fn push(&mut self, entry: LogEntry) {
        self.entries.push(entry);
    }
}
