//! Commands on a channel's command bus.

use crate::device::Clock;
use sim::Time;

/// Kind of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandKind {
    /// ACT: opens a row.
    #[default]
    Activate,
    /// PRE: closes a bank.
    Precharge,
    /// PREA: closes all banks of a rank.
    PrechargeAll,
    /// RD.
    Read,
    /// RDA: a read that closes its bank.
    ReadPrecharge,
    /// WR.
    Write,
    /// WRA: a write that closes its bank.
    WritePrecharge,
    /// REF (all banks).
    Refresh,
    /// REFsb: refreshes the bank of this number in every bank group.
    RefreshSameBank,
    /// REFpb: refreshes one bank.
    RefreshBank,
    /// PDE: power-down entry.
    PowerDown,
    /// PDX: power-down exit.
    PowerUp,
    /// SRE: self-refresh entry.
    SelfRefresh,
    /// SRX: self-refresh exit.
    SelfRefreshExit,
}

/// A command and its clock edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The clock edge on which it is issued, counted from time zero.
    pub cycle: u64,
    /// Kind of the command.
    pub kind: CommandKind,
    /// Number of the rank.
    pub rank: u8,
    /// Bank group; 0 for commands to a rank.
    pub group: u8,
    /// Bank within its group; 0 for commands to a rank.
    pub bank: u8,
    /// Row that it opens, or that a column command needs open; 0 otherwise.
    pub row: u32,
    /// Column of a column command, counted in bursts; 0 otherwise.
    pub column: u32,
    /// Id of the request that a column command serves; 0 otherwise.
    pub request: u64,
}

impl Command {
    /// Returns the time of its edge.
    pub fn at(&self, clock: Clock) -> Time {
        clock.time(self.cycle)
    }
}

/// The commands of a channel, if they are logged.
#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) kept: bool,
    entries: Vec<Command>,
}

impl Log {
    #[inline]
    pub(crate) fn note(&mut self, command: impl FnOnce() -> Command) {
        if self.kept {
            self.entries.push(command());
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.entries)
    }
}
