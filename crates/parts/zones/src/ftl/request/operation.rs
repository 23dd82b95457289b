//! Host commands and flash operations in progress.

use media::{Op, OpId, PageAddr, Status, Tag};

use crate::ftl::space::blocks::Block;

/// A host command in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub op: Op,
    pub fua: bool,
    pub active: bool,
    /// Worst status so far.
    pub status: Status,
    /// Bytes not yet delivered (read), or zones not yet done (zone management, flush).
    pub left: u64,
    /// First logical unit: of an append, where its data goes.
    pub unit: u32,
    /// Number of units.
    pub units: u32,
    /// The extent whose units are written.
    pub extent: u32,
    /// Number of the extent's use, so that a write notices that its zone was reset.
    pub usage: u64,
}

impl Command {
    pub(crate) const NONE: Command = Command {
        op: Op::Flush,
        fua: false,
        active: false,
        status: Status::Ok,
        left: 0,
        unit: 0,
        units: 0,
        extent: 0,
        usage: 0,
    };
}

/// Purpose of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Not in progress.
    Free,
    /// Reads units of a zone for the command `tag`; `None` after a reset dropped it.
    Read { tag: Option<Tag> },
    /// Programs a row of a column.
    Program,
    /// Reads a page to be moved to another block.
    CopyRead,
    /// Programs a moved page.
    CopyProgram,
    /// Programs a record of the log.
    Log,
    /// Erases a block of a zone that was reset.
    Erase(Block),
    /// Erases a block that was replaced, or that the mount found useless.
    Discard(Block),
    /// Erases a block of the log.
    LogErase(Block),
}

/// A flash operation in progress.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub kind: OperationKind,
    pub extent: u32,
    pub column: u32,
    /// First unit within the zone.
    pub first: u32,
    /// Number of units.
    pub count: u32,
    /// The page, on the planes concerned.
    pub page: PageAddr,
    /// First unit within that page (read).
    pub at: u32,
    /// Number for the spare area (program).
    pub sequence: u64,
    /// Filler of a zone that is being finished (program).
    pub dummy: bool,
    /// Buffers of a program's units, [`NIL`](crate::ftl::request::buffer::NIL) for padding.
    pub slots: Vec<u32>,
}

/// Flash operations by number.
#[derive(Default)]
pub(crate) struct Operations {
    all: Vec<Operation>,
    free: Vec<u32>,
}

impl Operations {
    /// Starts an operation of `kind` on `page` for `column` of `extent`.
    pub(crate) fn start(&mut self, kind: OperationKind, extent: u32, column: u32, page: PageAddr) -> OpId {
        let id = self.free.pop().unwrap_or_else(|| {
            let slots = Vec::new();
            self.all.push(Operation {
                kind: OperationKind::Free,
                extent,
                column,
                first: 0,
                count: 0,
                page,
                at: 0,
                sequence: 0,
                dummy: false,
                slots,
            });
            self.all.len() as u32 - 1
        });
        let operation = &mut self.all[id as usize];
        operation.slots.clear();
        (operation.kind, operation.extent, operation.column, operation.page) = (kind, extent, column, page);
        (operation.first, operation.count, operation.at, operation.sequence) = (0, 0, 0, 0);
        operation.dummy = false;
        OpId(id)
    }

    /// Ends an operation. Its buffers must be returned by [`free`](Self::free).
    pub(crate) fn end(&mut self, id: OpId) -> Operation {
        let operation = &mut self.all[id.0 as usize];
        let slots = std::mem::take(&mut operation.slots);
        let ended = Operation { slots, ..operation.clone() };
        operation.kind = OperationKind::Free;
        ended
    }

    /// Makes the number of an ended operation available again, with the memory of its list of buffers.
    pub(crate) fn free(&mut self, id: OpId, slots: Vec<u32>) {
        debug_assert_eq!(self.all[id.0 as usize].kind, OperationKind::Free);
        self.all[id.0 as usize].slots = slots;
        self.free.push(id.0);
    }

    /// Returns the number of operations in progress.
    pub(crate) fn active(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Iterates over the kinds of the operations in progress.
    pub(crate) fn in_progress(&self) -> impl Iterator<Item = OperationKind> + '_ {
        self.all.iter().map(|operation| operation.kind).filter(|kind| *kind != OperationKind::Free)
    }

    /// Returns the lowest number for a spare area among the programs in progress.
    pub(crate) fn oldest_sequence(&self) -> Option<u64> {
        let programs = |operation: &&Operation| {
            matches!(operation.kind, OperationKind::Program | OperationKind::CopyProgram | OperationKind::Log)
        };
        self.all.iter().filter(programs).map(|operation| operation.sequence).min()
    }

    /// Drops the commands of reads.
    pub(crate) fn forget_commands(&mut self) {
        for operation in &mut self.all {
            if let OperationKind::Read { tag } = &mut operation.kind {
                *tag = None;
            }
        }
    }
}

impl std::ops::Index<OpId> for Operations {
    type Output = Operation;
    fn index(&self, id: OpId) -> &Operation {
        &self.all[id.0 as usize]
    }
}

impl std::ops::IndexMut<OpId> for Operations {
    fn index_mut(&mut self, id: OpId) -> &mut Operation {
        &mut self.all[id.0 as usize]
    }
}
