//! Host commands in progress, by tag.

use std::ops::Range;

use media::{Op, Request, SECTOR, Status, Tag};
use sim::Dense;

use crate::buffer::slots::NIL;

/// A host command in progress.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Operation.
    pub op: Op,
    /// Force unit access: acknowledged when durable.
    pub fua: bool,
    /// True while the command is in progress.
    pub active: bool,
    /// Worst status so far.
    pub status: Status,
    /// First sector.
    pub first: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// Bytes not yet delivered (read).
    pub left: u64,
    /// First unit (write).
    pub unit: u32,
    /// Number of units (write).
    pub units: u32,
    /// The command covers every sector of its units (write).
    pub whole: bool,
    /// Reclaim unit handle of its data (write).
    pub handle: u8,
    /// Next command in the queue that it waits in.
    pub next: u32,
}

impl Command {
    /// Returns its sectors.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.first..self.first + self.sectors
    }
}

/// Host commands by tag.
pub struct Commands(Dense<Command, Tag>);

impl Commands {
    /// Creates a table for tags below `tags`.
    pub fn new(tags: u32) -> Commands {
        let none = Command {
            op: Op::Flush,
            fua: false,
            active: false,
            status: Status::Ok,
            first: 0,
            sectors: 0,
            left: 0,
            unit: 0,
            units: 0,
            whole: false,
            handle: 0,
            next: NIL,
        };
        Commands(Dense::new(vec![none; tags as usize]))
    }

    /// Drops all commands.
    pub fn forget(&mut self) {
        self.0.iter_mut().for_each(|command| command.active = false);
    }

    /// Starts `request` as `tag`.
    ///
    /// # Panics
    /// If there is no such tag, or a command with it is in progress.
    #[inline]
    pub fn start(&mut self, tag: Tag, request: &Request) -> &mut Command {
        let command = &mut self.0[tag];
        assert!(!command.active, "tag {} is already in use", tag.0);
        *command = Command {
            op: request.op,
            fua: request.fua,
            active: true,
            status: Status::Ok,
            first: request.offset / SECTOR,
            sectors: request.bytes / SECTOR,
            left: request.bytes,
            unit: 0,
            units: 0,
            whole: false,
            handle: request.placement as u8,
            next: NIL,
        };
        command
    }
}

impl std::ops::Index<Tag> for Commands {
    type Output = Command;
    #[inline]
    fn index(&self, tag: Tag) -> &Command {
        &self.0[tag]
    }
}

impl std::ops::IndexMut<Tag> for Commands {
    #[inline]
    fn index_mut(&mut self, tag: Tag) -> &mut Command {
        &mut self.0[tag]
    }
}
