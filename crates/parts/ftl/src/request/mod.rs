//! Host commands and the flash operations they start.

pub(crate) mod admission;
mod ahead;
pub(crate) mod command;
pub(crate) mod fragments;
pub(crate) mod operation;
pub(crate) mod read;
pub(crate) mod write;

use media::{OpId, Tag};
use sim::Dense;

use crate::Ftl;
use crate::activity::Activity;
use admission::Queue;
use command::Commands;
use fragments::Fragments;
use operation::OperationKind;

/// Host commands, and what they wait for.
pub(crate) struct Requests {
    pub(crate) commands: Commands,
    /// Units of reads that wait.
    pub(crate) fragments: Fragments,
    /// Commands that wait for room in the write cache.
    pub(crate) queue: Queue,
    pub(crate) activity: Activity,
    /// The commands, by tag, that have waited for a buffer since [`Ftl::take_buffer_wait`] was last called.
    buffer_waits: Dense<bool, Tag>,
}

impl Requests {
    /// Creates the state without commands, for tags below `tags`.
    pub(crate) fn new(tags: u32) -> Requests {
        Requests {
            commands: Commands::new(tags),
            fragments: Fragments::new(),
            queue: Queue::EMPTY,
            activity: Activity::default(),
            buffer_waits: Dense::new(vec![false; tags as usize]),
        }
    }

    /// Records that the command `tag` waits for a buffer: for room, or for its content.
    pub(crate) fn waits_for_buffer(&mut self, tag: Tag) {
        self.buffer_waits[tag] = true;
    }

    /// Drops all commands.
    pub(crate) fn forget(&mut self) {
        self.commands.forget();
        self.fragments = Fragments::new();
        self.queue = Queue::EMPTY;
    }
}

impl Ftl {
    /// Returns the command that the flash read `id`, which is in progress, delivers data to; `None` for any other operation.
    pub fn reader(&self, id: OpId) -> Option<Tag> {
        let operation = &self.operations[id];
        (operation.kind == OperationKind::HostRead).then_some(Tag(operation.subject))
    }

    /// Returns true if the command `tag` has waited for a buffer since the last call: for room in it, or for its content.
    pub fn take_buffer_wait(&mut self, tag: Tag) -> bool {
        std::mem::take(&mut self.requests.buffer_waits[tag])
    }
}
