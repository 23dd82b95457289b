//! Commands on a channel's command bus.

use crate::clock::Clock;
use sim::Time;

/// What a command does.
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
    /// PDE: power-down entry.
    PowerDown,
    /// PDX: power-down exit.
    PowerUp,
    /// SRE: self-refresh entry.
    SelfRefresh,
    /// SRX: self-refresh exit.
    SelfRefreshExit,
}

/// One command, on its clock edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The clock edge it is issued on, counted from time zero.
    pub cycle: u64,
    /// What it does.
    pub kind: CommandKind,
    /// The rank.
    pub rank: u8,
    /// The bank group; 0 for commands to a rank.
    pub group: u8,
    /// The bank within its group; 0 for commands to a rank.
    pub bank: u8,
    /// The row that it opens or that a column command expects open; 0 otherwise.
    pub row: u32,
    /// The column of a column command, counted in bursts; 0 otherwise.
    pub column: u32,
    /// The request that a column command serves, as its caller named it; 0 otherwise.
    pub request: u64,
}

impl Command {
    /// When its edge is.
    pub fn at(&self, clock: Clock) -> Time {
        clock.time(self.cycle)
    }
}

/// The commands of a channel, if they are kept.
#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) kept: bool,
    entries: Vec<Command>,
}

impl Log {
    #[inline(always)]
    pub(crate) fn note(&mut self, command: impl FnOnce() -> Command) {
        if self.kept {
            self.entries.push(command());
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.entries)
    }
}
