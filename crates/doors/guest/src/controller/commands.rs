//! Commands in the controller, from the fetch of their entry to the post of their completion.
//!
//! [`device::Nvme`] knows a command by its tag and, as its identifier, by its slot here; the host's identifiers may
//! repeat.

use std::collections::VecDeque;

use media::Request;
use sim::Time;

use super::admin::opcode;
use super::queues::Completed;
use crate::entry::{Entry, Status};
use crate::pointers::Segment;

/// A command.
#[derive(Clone, Debug)]
pub(super) struct Command {
    /// The submission queue it came from.
    pub queue: u16,
    pub entry: Entry,
    /// The requests to the translation layer that perform it, one after another.
    pub plan: VecDeque<Request>,
    /// Guest memory of its data.
    pub segments: Vec<Segment>,
    /// Data read from flash that stay in the controller's memory: those that Compare or Copy needs.
    pub buffer: Vec<u8>,
    /// Time at which all data requested so far are in the controller's memory.
    pub arrives: Time,
    pub status: Status,
    /// Dwords 0 and 1 of its completion.
    pub result: u64,
    /// Bytes of the list that the controller reads before it can decode the command.
    pub list: u64,
    /// Bytes of its requests.
    pub bytes: u64,
    /// Reclaim unit handles that it updates, a bit each.
    pub handles: u16,
    /// When its entry was fetched.
    pub fetched: Time,
    /// Its tag, once it is decoded.
    pub tag: Option<u16>,
    /// The slot of the other command of a fused pair.
    pub partner: Option<u16>,
    /// Its requests are in the translation layer, one after another.
    pub runs: bool,
}

impl Command {
    /// Returns true for Namespace Management.
    pub fn manages_namespaces(&self) -> bool {
        self.queue == 0 && self.entry.opcode() == opcode::NAMESPACE_MANAGEMENT
    }

    pub fn completed(&self) -> Completed {
        Completed { queue: self.queue, cid: self.entry.cid(), status: self.status, result: self.result }
    }
}

/// All commands, by slot.
#[derive(Clone, Debug)]
pub(super) struct Commands {
    slots: Vec<Option<Command>>,
    free: Vec<u16>,
    /// Slot of each tag in use.
    by_tag: Vec<u16>,
}

impl Commands {
    /// Creates room for `count` commands.
    pub fn new(count: u16) -> Commands {
        Commands {
            slots: vec![None; usize::from(count)],
            free: (0..count).rev().collect(),
            by_tag: vec![u16::MAX; usize::from(count)],
        }
    }

    /// Opens a command and returns its slot.
    ///
    /// # Panics
    /// Panics if all slots are in use: the controller admits no more commands than it has tags.
    pub fn open(&mut self, command: Command) -> u16 {
        let slot = self.free.pop().expect("a slot for every tag of the controller");
        self.slots[usize::from(slot)] = Some(command);
        slot
    }

    /// Records the tag of the command in `slot`.
    pub fn tag(&mut self, slot: u16, tag: u16) {
        self.by_tag[usize::from(tag)] = slot;
        if let Some(command) = &mut self.slots[usize::from(slot)] {
            command.tag = Some(tag);
        }
    }

    /// Makes the commands in two slots a fused pair.
    pub fn join(&mut self, first: u16, second: u16) {
        for (slot, partner) in [(first, second), (second, first)] {
            if let Some(command) = &mut self.slots[usize::from(slot)] {
                command.partner = Some(partner);
            }
        }
    }

    /// Returns the commands whose requests are in the translation layer.
    pub fn running(&self) -> impl Iterator<Item = &Command> {
        self.slots.iter().flatten().filter(|command| command.runs)
    }

    /// Returns the command in `slot`.
    pub fn in_slot(&self, slot: u16) -> Option<&Command> {
        self.slots[usize::from(slot)].as_ref()
    }

    /// Returns true if there is no command.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    pub fn of_tag(&self, tag: u16) -> &Command {
        let slot = self.by_tag[usize::from(tag)];
        self.slots[usize::from(slot)].as_ref().expect("a command of this tag")
    }

    pub fn of_tag_mut(&mut self, tag: u16) -> &mut Command {
        let slot = self.by_tag[usize::from(tag)];
        self.slots[usize::from(slot)].as_mut().expect("a command of this tag")
    }

    /// Frees the slot of the command with this tag.
    pub fn close(&mut self, tag: u16) {
        let slot = std::mem::replace(&mut self.by_tag[usize::from(tag)], u16::MAX);
        self.slots[usize::from(slot)] = None;
        self.free.push(slot);
    }

    /// Drops all commands.
    pub fn clear(&mut self) {
        *self = Commands::new(self.slots.len() as u16);
    }
}
