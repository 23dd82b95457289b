//! Operations under way, by id, and their queues, linked through the operations.

use media::{OpId, PageAddr, PlaneMask, Status};
use sim::Dense;

use crate::config::Sensed;

/// The part of a read of several, but not all pages of a die that make a page of the geometry.
const SEVERAL_PARTS: u32 = 255;

/// No operation, no die.
pub(crate) const NONE: u32 = u32::MAX;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Read.
    Read,
    /// Program.
    Program,
    /// Erase.
    Erase,
}

impl OpKind {
    /// Returns its name on the timeline.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Program => "program",
            OpKind::Erase => "erase",
        }
    }
}

/// A completed operation, to be applied to the store: a successful program with [`program`](crate::Store::program), a
/// failed one with [`tear`](crate::Store::tear), an erase with [`erase`](crate::Store::erase) or
/// [`tear_erase`](crate::Store::tear_erase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The operation, whose id is free again.
    pub id: OpId,
    /// Its result.
    pub status: Status,
    /// Its kind.
    pub kind: OpKind,
}

/// The operation that an event ends, if any, and its result. Reads have a field of their own, and both fields stay in
/// registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A read.
    pub read: Option<(OpId, Status)>,
    /// A program or an erase.
    pub write: Option<(OpId, Status)>,
}

/// The queues of a die. If reads have priority, reads of the map precede reads of the host, and both precede the rest;
/// in order of arrival, all operations wait in `REST`.
pub(crate) const HOST: usize = 0;
pub(crate) const MAP: usize = 1;
pub(crate) const REST: usize = 2;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Its successor in the queue.
    pub next: u32,
    pub block: u32,
    /// The page in the lower half; in the upper half, for reads of flash with a [`Span`](crate::PageSpan), the part that
    /// is read: 0 for all, one more than the number of a page, or [`SEVERAL_PARTS`].
    pub page_and_part: u32,
    /// Bytes transferred from the die.
    pub bytes: u32,
    pub die: u16,
    pub planes: PlaneMask,
    pub suspensions: u32,
    pub kind: OpKind,
    /// Number of planes.
    pub plane_count: u8,
    /// Its queue, also after leaving it.
    pub queue: u8,
    /// Remaining read-retry steps, known once the array is first read.
    pub retries: u8,
    pub active: bool,
    pub slc: bool,
    /// The read fails after all retries.
    pub lost: bool,
    /// The read's outcome is decided.
    pub faced: bool,
    /// Sensed even if the page is in the register: a read retry, with shifted voltages, or one of several parts of a page.
    pub again: bool,
    /// First page number of a part that is read, and the one after the last, counted within a page with a span.
    pub rows: (u8, u8),
}

impl Op {
    const IDLE: Op = Op {
        next: NONE,
        block: 0,
        page_and_part: 0,
        bytes: 0,
        die: 0,
        planes: PlaneMask(0),
        suspensions: 0,
        kind: OpKind::Read,
        plane_count: 0,
        queue: 0,
        retries: 0,
        active: false,
        slc: false,
        lost: false,
        faced: false,
        again: false,
        rows: (0, 0),
    };

    #[inline]
    pub(crate) fn new(kind: OpKind, page: PageAddr, plane_count: u64, queue: u8) -> Op {
        Op {
            block: page.block,
            page_and_part: page.page,
            die: page.die,
            planes: page.planes,
            kind,
            plane_count: plane_count as u8,
            queue,
            active: true,
            ..Op::IDLE
        }
    }

    /// Returns the page within its block.
    #[inline]
    pub(crate) fn page(&self) -> u32 {
        self.page_and_part & 0xFFFF
    }

    /// Returns page, part and planes as one number.
    #[inline]
    pub(crate) fn place(&self) -> u64 {
        u64::from(self.block) << 40 | u64::from(self.page_and_part) << 16 | u64::from(self.planes.0)
    }

    /// Limits the read to the pages in `sensed`.
    pub(crate) fn read_part(&mut self, sensed: Sensed) {
        let part = if sensed.count == 1 { sensed.first + 1 } else { SEVERAL_PARTS };
        self.page_and_part |= part << 16;
        self.plane_count = sensed.planes() as u8;
        self.again = part == SEVERAL_PARTS;
        self.rows = (sensed.rows.0 as u8, sensed.rows.1 as u8);
    }

    /// Returns the number within its die of the single plane that is read, of pages that span `planes`.
    pub(crate) fn plane(&self, planes: u32) -> u32 {
        let part = (self.page_and_part >> 16).saturating_sub(1);
        self.planes.0.trailing_zeros() * planes + part % planes
    }

    /// Ends the read `id`, which needs no further retries.
    #[inline]
    pub(crate) fn end_read(&mut self, id: u32) -> (OpId, Status) {
        self.active = false;
        (OpId(id), if self.lost { Status::Uncorrectable } else { Status::Ok })
    }

    pub(crate) fn address(&self) -> PageAddr {
        PageAddr { die: self.die, planes: self.planes, block: self.block, page: self.page() }
    }
}

/// All operations, by id.
pub(crate) struct Ops {
    slots: Dense<Op>,
}

impl std::ops::Index<u32> for Ops {
    type Output = Op;
    #[inline]
    fn index(&self, id: u32) -> &Op {
        &self.slots[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Ops {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Op {
        &mut self.slots[id as usize]
    }
}

impl Ops {
    /// Creates an empty table.
    pub(crate) fn new() -> Ops {
        Ops { slots: Dense::new(Vec::new()) }
    }

    /// Returns the entry of `id`, which is not under way.
    #[inline]
    pub(crate) fn place(&mut self, id: OpId) -> &mut Op {
        if id.0 as usize >= self.slots.len() {
            self.grow(id);
        }
        // SAFETY: the table had the entry, or has grown to it.
        let slot = unsafe { self.slots.get_unchecked_mut(id.0 as usize) };
        if slot.active {
            in_use(id.0);
        }
        slot
    }

    #[cold]
    fn grow(&mut self, id: OpId) {
        assert!(id.0 < 1 << 28, "operation ids are dense, found {}", id.0);
        self.slots.grow((id.0 as usize + 1).next_power_of_two().max(64), Op::IDLE);
    }

    pub(crate) fn forget_all(&mut self) {
        self.slots.fill(Op::IDLE);
    }
}

fn in_use(id: u32) -> ! {
    panic!("operation {id} is still under way")
}

/// A queue of operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub head: u32,
    tail: u32,
}

impl Queue {
    pub(crate) const EMPTY: Queue = Queue { head: NONE, tail: NONE };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Appends an operation without a successor.
    #[inline]
    pub(crate) fn push_back(&mut self, ops: &mut Ops, id: u32) {
        debug_assert!(ops[id].next == NONE);
        if self.head == NONE {
            self.head = id;
        } else {
            ops[self.tail].next = id;
        }
        self.tail = id;
    }

    /// Removes `id`, which follows `before` or is the first.
    pub(crate) fn remove(&mut self, ops: &mut Ops, id: u32, before: u32) {
        let next = ops[id].next;
        if before == NONE {
            self.head = next;
        } else {
            ops[before].next = next;
        }
        if self.tail == id {
            self.tail = before;
        }
    }

    #[inline]
    pub(crate) fn push_front(&mut self, ops: &mut Ops, id: u32) {
        ops[id].next = self.head;
        if self.head == NONE {
            self.tail = id;
        }
        self.head = id;
    }
}
