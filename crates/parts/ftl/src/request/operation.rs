//! Flash operations in progress, in a dense table.

use media::{Class, OpId};
use sim::Dense;

use crate::buffer::slots::NIL;

/// Purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Not in progress; `subject` is the next free entry.
    Free,
    /// Reads `count` units from flash unit `unit` on for the command `subject`; the first of them is logical unit
    /// `logical`.
    HostRead,
    /// Reads the whole pages around `unit` ahead of the host.
    Ahead,
    /// Reads the missing sectors of slot `subject`.
    Fill,
    /// Reads the units in `mask`, counted from `unit`, to be copied for parallel unit `subject`; `logical` is the
    /// number of the read in its block.
    CollectRead,
    /// Reads translation unit `subject`.
    MapRead,
    /// Looks up an entry of translation unit `subject` in host memory; the reads from `waiters` on wait.
    MapLookup,
    /// Moves data, or a part of the map, to or from host memory; nothing waits for it.
    HostCopy,
    /// Loads `bytes` bytes for the command `subject` from host memory.
    HostLoad,
    /// Loads the data of `count` dirty slots (in the slot table) from host memory, to be written to flash.
    BringIn,
    /// A read whose command was dropped by a reset.
    Orphan,
    /// Programs a page; `subject` is the parallel unit, and the slot table holds its slots.
    Program,
    /// Programs parity; `subject` is the block, `logical` the buffer.
    Parity,
    /// Reads another page of a stripe to rebuild the read `subject`, or repeats its own page.
    Rebuild,
    /// Erases position `logical` of block `subject`.
    Erase,
    /// Programs read copies in block `subject`.
    CopiesProgram,
    /// Erases position `logical` of block `subject`, which is set aside for read copies.
    CopiesErase,
    /// Barrier, after which the command `subject` completes.
    Barrier,
}

/// An operation in progress.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Purpose.
    pub kind: OperationKind,
    /// See [`OperationKind`].
    pub subject: u32,
    /// First flash unit.
    pub unit: u32,
    /// Block of that unit (host read).
    pub block: u32,
    /// First logical unit.
    pub logical: u32,
    /// Number of units.
    pub count: u32,
    /// Bytes of these units that the command requests (host read).
    pub bytes: u32,
    /// First of the reads that wait for it ([`NIL`]: none).
    pub waiters: u32,
    /// Units or planes concerned, one bit each; meaning depends on the kind.
    pub mask: u64,
    /// Sequence number (program).
    pub sequence: u64,
    /// Sequence number of the first attempt (program), which is not durable before this attempt is.
    pub first_sequence: u64,
    /// Traffic class (program).
    pub class: Class,
    /// Logical unit numbers fully describe its content (program): no units of the layer itself, and no lost units.
    pub plain: bool,
}

impl Operation {
    /// Makes the operation a program of an extent (units, first unit, mask of planes) with a new `sequence` number.
    #[inline]
    pub(crate) fn begin_program(&mut self, (units, unit, mask): (u32, u32, u64), class: Class, sequence: u64) {
        (self.count, self.unit, self.mask) = (units, unit, mask);
        self.class = class;
        (self.sequence, self.first_sequence) = (sequence, sequence);
    }

    /// Creates an operation of `kind` for `subject`, with all other fields empty.
    #[inline]
    pub const fn of(kind: OperationKind, subject: u32) -> Operation {
        Operation {
            kind,
            subject,
            unit: 0,
            block: 0,
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
    all: Dense<Operation, OpId>,
    free: u32,
    /// Slots of each program, `program_units` entries per operation.
    slots: Dense<u32>,
    stride: usize,
    active: u32,
}

impl Operations {
    /// Creates an empty table; a program has up to `program_units` slots.
    pub fn new(program_units: u32) -> Operations {
        let all = Dense::new(Vec::new());
        let slots = Dense::new(Vec::new());
        Operations { all, free: NIL, slots, stride: program_units as usize, active: 0 }
    }

    /// Starts an operation.
    #[inline]
    pub fn start(&mut self, operation: Operation) -> OpId {
        self.active += 1;
        if self.free == NIL {
            return self.grow(operation);
        }
        let id = OpId(self.free);
        let entry = &mut self.all[id];
        self.free = entry.subject;
        *entry = operation;
        id
    }

    /// Like [`start`](Self::start), for kinds whose caller sets every field they use: the other fields keep their old
    /// values. Returns the operation along with its number.
    #[inline]
    pub fn start_bare(&mut self, kind: OperationKind, subject: u32) -> (OpId, &mut Operation) {
        self.active += 1;
        if self.free == NIL {
            // The number of the new entry is as free as any other.
            self.free = self.grow(Operation::of(kind, NIL)).0;
        }
        let id = OpId(self.free);
        let entry = &mut self.all[id];
        self.free = entry.subject;
        (entry.kind, entry.subject) = (kind, subject);
        (id, entry)
    }

    #[cold]
    fn grow(&mut self, operation: Operation) -> OpId {
        self.all.push(operation);
        self.slots.grow(self.all.len() * self.stride, NIL);
        OpId(self.all.len() as u32 - 1)
    }

    /// Ends an operation and returns it.
    #[inline]
    pub fn end(&mut self, id: OpId) -> Operation {
        let was = self.all[id];
        self.free(id);
        was
    }

    /// Ends an operation.
    #[inline]
    pub fn free(&mut self, id: OpId) {
        let entry = &mut self.all[id];
        assert!(entry.kind != OperationKind::Free, "operation {} is not in progress", id.0);
        entry.kind = OperationKind::Free;
        entry.subject = self.free;
        self.free = id.0;
        self.active -= 1;
    }

    /// Returns the slots of the program `id`: one per unit, [`NIL`] for padding.
    #[inline]
    pub fn slots(&self, id: OpId) -> &[u32] {
        self.slots.part(id.0 as usize * self.stride, self.stride)
    }

    /// Returns the `i`th slot of the program `id`.
    #[inline]
    pub fn slot(&self, id: OpId, i: u32) -> u32 {
        debug_assert!((i as usize) < self.stride);
        self.slots[self.first_slot(id) + i as usize]
    }

    /// Returns the index of the first slot of `id`, for [`slot_at`](Self::slot_at).
    #[inline]
    pub fn first_slot(&self, id: OpId) -> usize {
        id.0 as usize * self.stride
    }

    /// Returns the slot at index `at` of the slot table.
    #[inline]
    pub fn slot_at(&self, at: usize) -> u32 {
        self.slots[at]
    }

    /// Sets the `i`th slot of the program `id`.
    #[inline]
    pub fn set_slot(&mut self, id: OpId, i: u32, slot: u32) {
        debug_assert!((i as usize) < self.stride);
        self.slots[id.0 as usize * self.stride + i as usize] = slot;
    }

    /// Marks the slots from the `taken`th on as padding.
    #[inline]
    pub fn pad(&mut self, id: OpId, taken: u32) {
        if (taken as usize) < self.stride {
            self.slots_mut(id)[taken as usize..].fill(NIL);
        }
    }

    /// Returns the slots of the program `id`, mutable.
    #[inline]
    pub fn slots_mut(&mut self, id: OpId) -> &mut [u32] {
        self.slots.part_mut(id.0 as usize * self.stride, self.stride)
    }

    /// Returns the number of operations in progress.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Returns the operations in progress, in order of their numbers.
    pub fn under_way(&self) -> Vec<OpId> {
        let all = self.all.iter().zip(0..);
        all.filter(|(operation, _)| operation.kind != OperationKind::Free).map(|(_, id)| OpId(id)).collect()
    }
}

impl std::ops::Index<OpId> for Operations {
    type Output = Operation;
    #[inline]
    fn index(&self, id: OpId) -> &Operation {
        &self.all[id]
    }
}

impl std::ops::IndexMut<OpId> for Operations {
    #[inline]
    fn index_mut(&mut self, id: OpId) -> &mut Operation {
        &mut self.all[id]
    }
}
