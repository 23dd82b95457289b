//! Host commands and the flash operations they start.

pub(crate) mod admission;
mod ahead;
pub(crate) mod command;
pub(crate) mod fragments;
pub(crate) mod operation;
pub(crate) mod read;
pub(crate) mod write;

use crate::activity::Activity;
use admission::Queue;
use command::Commands;
use fragments::Fragments;

/// Host commands, and what they wait for.
pub(crate) struct Requests {
    pub(crate) commands: Commands,
    /// Units of reads that wait.
    pub(crate) fragments: Fragments,
    /// Commands that wait for room in the write cache.
    pub(crate) queue: Queue,
    pub(crate) activity: Activity,
}

impl Requests {
    /// Creates the state without commands, for tags below `tags`.
    pub(crate) fn new(tags: u32) -> Requests {
        Requests {
            commands: Commands::new(tags),
            fragments: Fragments::new(),
            queue: Queue::EMPTY,
            activity: Activity::default(),
        }
    }

    /// Drops all commands.
    pub(crate) fn forget(&mut self) {
        self.commands.forget();
        self.fragments = Fragments::new();
        self.queue = Queue::EMPTY;
    }
}
