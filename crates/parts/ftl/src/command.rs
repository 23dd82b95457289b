//! Host commands and flash operations under way, in dense tables.

use media::{Class, Op, OpId, Request, SECTOR, Status, Tag};
use sim::Dense;

use crate::buffer::NIL;

/// A host command under way.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// What it asks.
    pub op: Op,
    /// Acknowledge when durable.
    pub fua: bool,
    /// It is under way.
    pub active: bool,
    /// Worst status so far.
    pub status: Status,
    /// First sector.
    pub first: u64,
    /// Sectors.
    pub sectors: u64,
    /// Bytes not yet there (read).
    pub left: u64,
    /// First unit (write).
    pub unit: u32,
    /// Units (write).
    pub units: u32,
    /// It covers all of them (write).
    pub whole: bool,
    /// Next in the queue it waits in.
    pub next: u32,
}

/// Host commands by tag.
pub struct Commands(Vec<Command>);

impl Commands {
    /// Room for tags below `tags`.
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
            next: NIL,
        };
        Commands(vec![none; tags as usize])
    }

    /// None is under way any more.
    pub fn forget(&mut self) {
        self.0.iter_mut().for_each(|command| command.active = false);
    }

    /// Starts `request` as `tag`.
    ///
    /// # Panics
    /// If the tag is under way already.
    #[inline]
    pub fn start(&mut self, tag: Tag, request: &Request) -> &mut Command {
        let command = &mut self.0[tag.0 as usize];
        assert!(!command.active, "tag {} is under way already", tag.0);
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
            next: NIL,
        };
        command
    }
}

impl std::ops::Index<Tag> for Commands {
    type Output = Command;
    #[inline]
    fn index(&self, tag: Tag) -> &Command {
        &self.0[tag.0 as usize]
    }
}

impl std::ops::IndexMut<Tag> for Commands {
    #[inline]
    fn index_mut(&mut self, tag: Tag) -> &mut Command {
        &mut self.0[tag.0 as usize]
    }
}

/// What a flash operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not under way; `subject` is the next free entry.
    Free,
    /// `count` units from flash unit `unit` on, for the command `subject`, logical from `logical` on.
    HostRead,
    /// All that a command asks, `subject`: `bytes` of the flash unit `unit`. The command is known nowhere else.
    WholeRead,
    /// The rest of the slot `subject`.
    Fill,
    /// Units in `mask` of the program at `unit`, to be copied for parallel unit `subject`; it is program number `logical` of its
    /// block.
    CollectRead,
    /// Translation unit `subject`.
    MapRead,
    /// A look-up of translation unit `subject` in the host's memory; reads from `waiters` wait.
    MapLookup,
    /// Data, or a part of the map, goes to the host's memory or comes from there, and nobody waits for it.
    HostCopy,
    /// `bytes` for the command `subject`, from the host's memory.
    HostLoad,
    /// The data of `count` dirty slots in the slot table comes from the host's memory, to be written to flash.
    BringIn,
    /// A read for a command that is gone.
    Orphan,
    /// A program; `subject` is the parallel unit, its slots are in the slot table.
    Program,
    /// A program of parity; `subject` is the block, `logical` its buffer.
    Parity,
    /// A read of another page of its stripe for the read `subject`, or of the same page once more.
    Rebuild,
    /// Erase of position `logical` of block `subject`.
    Erase,
    /// A program of copies of what was read, to block `subject`.
    CopiesProgram,
    /// Erase of position `logical` of block `subject`, which is set aside for those.
    CopiesErase,
    /// A barrier; then the command `subject` ends.
    Barrier,
}

/// A flash operation under way.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What for.
    pub kind: Kind,
    /// See [`Kind`].
    pub subject: u32,
    /// First flash unit.
    pub unit: u32,
    /// First logical unit.
    pub logical: u32,
    /// Units.
    pub count: u32,
    /// Bytes that the command asks of them (host read).
    pub bytes: u32,
    /// Reads that wait ([`NIL`]: none).
    pub waiters: u32,
    /// Units concerned, a bit each.
    pub mask: u64,
    /// Sequence number it was issued under (program).
    pub sequence: u64,
    /// Sequence number of its first attempt (program): not durable before this one is.
    pub first_sequence: u64,
    /// For whom (program).
    pub class: Class,
    /// Logical numbers are all there is to what it writes (program): no unit of the layer's own, and none that is lost.
    pub plain: bool,
}

impl Operation {
    /// An operation of `kind` for `subject`, all else empty.
    #[inline]
    pub const fn of(kind: Kind, subject: u32) -> Operation {
        Operation {
            kind,
            subject,
            unit: 0,
            logical: 0,
            count: 0,
            bytes: 0,
            waiters: NIL,
            mask: 0,
            sequence: 0,
            first_sequence: 0,
            class: Class::Host,
            plain: false,
        }
    }
}

/// Flash operations by [`OpId`].
pub struct Operations {
    all: Dense<Operation>,
    free: u32,
    /// Slots of each program, `program_units` an operation.
    slots: Dense<u32>,
    stride: usize,
    active: u32,
}

impl Operations {
    /// None under way; a program has up to `program_units` slots.
    pub fn new(program_units: u32) -> Operations {
        // SAFETY: operations are numbered by those that were started; the flash says of those that ended.
        let all = unsafe { Dense::new(Vec::new()) };
        // SAFETY: as above, each with its stride of slots.
        let slots = unsafe { Dense::new(Vec::new()) };
        Operations { all, free: NIL, slots, stride: program_units as usize, active: 0 }
    }

    /// Starts an operation.
    #[inline]
    pub fn start(&mut self, operation: Operation) -> OpId {
        self.active += 1;
        if self.free == NIL {
            return self.grow(operation);
        }
        let id = self.free;
        let entry = &mut self.all[id as usize];
        self.free = entry.subject;
        *entry = operation;
        OpId(id)
    }

    /// As [`start`](Self::start), for a kind that sets all it uses: the other fields are what they were last.
    #[inline]
    pub fn start_bare(&mut self, kind: Kind, subject: u32) -> OpId {
        if self.free == NIL {
            return self.start(Operation::of(kind, subject));
        }
        self.active += 1;
        let id = self.free;
        let entry = &mut self.all[id as usize];
        self.free = entry.subject;
        (entry.kind, entry.subject) = (kind, subject);
        OpId(id)
    }

    #[cold]
    fn grow(&mut self, operation: Operation) -> OpId {
        self.all.push(operation);
        self.slots.grow(self.all.len() * self.stride, NIL);
        OpId(self.all.len() as u32 - 1)
    }

    /// Starts a [`Kind::WholeRead`]: as [`start`](Self::start), but writes no more than such a read has.
    #[inline(always)]
    pub fn start_whole_read(&mut self, tag: Tag, unit: u32, bytes: u32) -> OpId {
        let id = self.free;
        let Some(entry) = self.all.get_mut(id as usize) else {
            return self.start(Operation { unit, bytes, ..Operation::of(Kind::WholeRead, tag.0) });
        };
        self.active += 1;
        self.free = entry.subject;
        (entry.kind, entry.subject, entry.unit, entry.bytes) = (Kind::WholeRead, tag.0, unit, bytes);
        OpId(id)
    }

    /// Ends a [`Kind::WholeRead`], if `id` is one: its command, flash unit and bytes.
    #[inline(always)]
    pub fn end_whole_read(&mut self, id: OpId) -> Option<(Tag, u32, u32)> {
        let entry = &mut self.all[id.0 as usize];
        let Operation { kind, subject, unit, bytes, .. } = *entry;
        if kind != Kind::WholeRead {
            return None;
        }
        (entry.kind, entry.subject) = (Kind::Free, self.free);
        self.free = id.0;
        self.active -= 1;
        Some((Tag(subject), unit, bytes))
    }

    /// Ends an operation and returns it.
    #[inline]
    pub fn end(&mut self, id: OpId) -> Operation {
        let was = self.all[id.0 as usize];
        self.free(id);
        was
    }

    /// Ends an operation.
    #[inline]
    pub fn free(&mut self, id: OpId) {
        let entry = &mut self.all[id.0 as usize];
        assert!(entry.kind != Kind::Free, "operation {} is not under way", id.0);
        entry.kind = Kind::Free;
        entry.subject = self.free;
        self.free = id.0;
        self.active -= 1;
    }

    /// Slots of the program `id`: one a unit, [`NIL`] where there is padding.
    #[inline]
    pub fn slots(&self, id: OpId) -> &[u32] {
        self.slots.part(id.0 as usize * self.stride, self.stride)
    }

    /// The `i`th of them.
    #[inline]
    pub fn slot(&self, id: OpId, i: u32) -> u32 {
        debug_assert!((i as usize) < self.stride);
        self.slots[self.first_slot(id) + i as usize]
    }

    /// Where in [`slot_at`](Self::slot_at) they begin.
    #[inline]
    pub fn first_slot(&self, id: OpId) -> usize {
        id.0 as usize * self.stride
    }

    /// A slot of some program.
    #[inline]
    pub fn slot_at(&self, at: usize) -> u32 {
        self.slots[at]
    }

    /// Sets the `i`th of them.
    #[inline]
    pub fn set_slot(&mut self, id: OpId, i: u32, slot: u32) {
        debug_assert!((i as usize) < self.stride);
        self.slots[id.0 as usize * self.stride + i as usize] = slot;
    }

    /// From the `taken`th on they are padding.
    #[inline]
    pub fn pad(&mut self, id: OpId, taken: u32) {
        if (taken as usize) < self.stride {
            self.slots_mut(id)[taken as usize..].fill(NIL);
        }
    }

    /// The same, to be set.
    #[inline]
    pub fn slots_mut(&mut self, id: OpId) -> &mut [u32] {
        self.slots.part_mut(id.0 as usize * self.stride, self.stride)
    }

    /// How many are under way.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Those under way, by number.
    pub fn under_way(&self) -> Vec<OpId> {
        let all = self.all.iter().zip(0..);
        all.filter(|(operation, _)| operation.kind != Kind::Free).map(|(_, id)| OpId(id)).collect()
    }
}

impl std::ops::Index<OpId> for Operations {
    type Output = Operation;
    #[inline]
    fn index(&self, id: OpId) -> &Operation {
        &self.all[id.0 as usize]
    }
}

impl std::ops::IndexMut<OpId> for Operations {
    #[inline]
    fn index_mut(&mut self, id: OpId) -> &mut Operation {
        &mut self.all[id.0 as usize]
    }
}
