//! A log of all steps of dies and channels, to check that none does two things at once.

use media::OpId;
use sim::Time;

use crate::schedule::op::{Op, OpKind};

/// A step of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Command and address cycles of a read or an erase, on the channel.
    Command,
    /// Command, address and data of a program, on the channel.
    DataIn,
    /// The array's work. A suspended operation has several of these.
    Array,
    /// Data of a read, on the channel.
    DataOut,
}

/// One step, from begin to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The operation.
    pub id: OpId,
    /// Its kind.
    pub kind: OpKind,
    /// The step.
    pub step: Step,
    /// The die.
    pub die: u16,
    /// Begin.
    pub from: Time,
    /// End.
    pub to: Time,
}

/// The log, if enabled.
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

    /// Logs a step, if the log is enabled.
    #[inline]
    pub(crate) fn note(&mut self, id: u32, op: &Op, step: Step, from: Time, to: Time) {
        if self.kept {
            self.push(id, op, step, from, to);
        }
    }

    #[cold]
    fn push(&mut self, id: u32, op: &Op, step: Step, from: Time, to: Time) {
        self.entries.push(LogEntry { id: OpId(id), kind: op.kind, step, die: op.die, from, to });
    }
}
