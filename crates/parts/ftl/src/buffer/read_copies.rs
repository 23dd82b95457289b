//! A read cache in flash: copies of data that the host read, in SLC blocks.
//!
//! Units read in full are gathered until they fill a program, or until no read has occurred for a while; then they are
//! programmed to a block set aside, and read from there. A copy refers to a flash unit, which does not change until it
//! is erased: the copy is valid while its logical unit is still at that address. Copies therefore need no durable
//! state: their spare areas name no unit, and a mount begins without any. Their blocks are written as a ring, in which
//! new copies replace the oldest.

use std::collections::{BTreeMap, VecDeque};

use media::{Action, BlockAddr, Class, EraseOp, Move, OpId, PlaneMask, ProgramOp, SECTOR, Status, Tag};
use sim::Time;

use crate::config::Config;
use crate::layout::Layout;
use crate::location::Location;
use crate::request::operation::{Operation, OperationKind};
use crate::space::blocks::Use;
use crate::space::parallel_unit::Room;
use crate::{Actions, Ftl};

#[derive(Clone, Copy)]
struct Copy {
    /// Flash unit of the original.
    home: u32,
    /// Flash unit of the copy; `None` until it is programmed.
    at: Option<u32>,
    ticket: u64,
}

/// A copied logical unit and the ticket of its copy; each copy of a unit has a different ticket.
type Wanted = (u32, u64);

/// State of the block that is written after the open one. It is emptied while the open one is filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ahead {
    /// Erased.
    Ready,
    /// Still to be erased.
    Full,
    /// Being erased.
    Erasing,
}

/// The read copies of a drive.
pub(crate) struct ReadCopies {
    capacity: usize,
    /// The blocks set aside, each with a flag: programmed since its erase.
    blocks: Vec<(u32, bool)>,
    /// Index of the block being written, and its next program.
    open: usize,
    program: u32,
    ahead: Ahead,
    /// Copies by logical unit.
    of: BTreeMap<u32, Copy>,
    /// Copies, oldest first, possibly with some that no longer exist.
    order: VecDeque<Wanted>,
    tickets: u64,
    /// Copies that wait to be programmed.
    gathered: Vec<Wanted>,
    /// Copies in programs in progress, by operation, with their flash units.
    under_way: BTreeMap<u32, Vec<(Wanted, u32)>>,
    last_read: Time,
}

impl ReadCopies {
    pub(crate) fn new(config: &Config, layout: &Layout) -> Option<ReadCopies> {
        let copies = config.read_copies?;
        let blocks = (0..copies.blocks).flat_map(|number| (0..layout.parallel_units).map(move |pu| (pu, number)));
        Some(ReadCopies {
            capacity: copies.units as usize,
            blocks: blocks.map(|(pu, number)| (pu * layout.blocks + number, false)).collect(),
            open: 0,
            program: 0,
            ahead: Ahead::Ready,
            of: BTreeMap::new(),
            order: VecDeque::new(),
            tickets: 0,
            gathered: Vec::new(),
            under_way: BTreeMap::new(),
            last_read: Time::ZERO,
        })
    }

    /// Returns the index of the block after the open one.
    fn next(&self) -> usize {
        (self.open + 1) % self.blocks.len()
    }

    /// Marks the next block as to be erased, if it holds data.
    fn look_ahead(&mut self) {
        self.ahead = if self.blocks[self.next()].1 { Ahead::Full } else { Ahead::Ready };
    }

    /// Records the time of a read.
    pub(crate) fn read_at(&mut self, now: Time) {
        self.last_read = now;
    }

    /// Returns the time at which gathered units are programmed if no read occurs before.
    pub(crate) fn due(&self, idle: Time) -> Option<Time> {
        (!self.gathered.is_empty()).then(|| self.last_read.saturating_add(idle))
    }

    /// Drops the copy of `unit`, whose data changed.
    pub(crate) fn drop_copy(&mut self, unit: u32) {
        self.of.remove(&unit);
    }

    /// Returns the copy, if it is still valid.
    fn get(&mut self, (unit, ticket): Wanted) -> Option<&mut Copy> {
        self.of.get_mut(&unit).filter(|copy| copy.ticket == ticket)
    }

    /// Drops copies that cannot be made.
    fn give_up(&mut self, wanted: impl IntoIterator<Item = Wanted>) {
        for wanted in wanted {
            if self.get(wanted).is_some() {
                self.of.remove(&wanted.0);
            }
        }
    }

    /// Adds a copy of `unit`, which is at `home`; the oldest copies are dropped if necessary. Returns true if a program
    /// is full.
    fn gather(&mut self, unit: u32, home: u32, program_units: u32) -> bool {
        self.drop_copy(unit);
        while self.of.len() >= self.capacity {
            let oldest = self.order.pop_front().expect("each copy is in the order");
            self.give_up([oldest]);
        }
        self.tickets += 1;
        let wanted = (unit, self.tickets);
        self.of.insert(unit, Copy { home, at: None, ticket: self.tickets });
        self.order.push_back(wanted);
        self.gathered.push(wanted);
        if self.order.len() > 2 * self.capacity {
            let of = &self.of;
            self.order.retain(|(unit, ticket)| of.get(unit).is_some_and(|copy| copy.ticket == *ticket));
        }
        self.gathered.len() as u32 >= program_units
    }

    /// Takes the gathered copies that are still valid.
    fn take_gathered(&mut self) -> Vec<Wanted> {
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.retain(|wanted| self.get(*wanted).is_some());
        gathered
    }

    /// Forgets the copies of `block`.
    fn leave(&mut self, block: u32, layout: &Layout) {
        self.of.retain(|_, copy| copy.at.is_none_or(|at| layout.block_of(at) != block));
    }
}

impl Ftl {
    /// Returns true if `block` is set aside for read copies.
    #[inline]
    pub(crate) fn holds_copies(&self, block: u32) -> bool {
        self.config.read_copies.is_some_and(|copies| block % self.layout.blocks < copies.blocks)
    }

    /// Registers a block set aside for copies, found by a mount.
    pub(crate) fn set_aside(&mut self, block: u32, programmed: bool) {
        self.space.blocks.set_usage(block, Use::Copies);
        let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
        let at = copies.blocks.iter().position(|(number, _)| *number == block).expect("the block is registered");
        copies.blocks[at].1 = programmed;
        if at == copies.open && programmed {
            // Assume that it is full.
            copies.program = u32::MAX;
        }
        copies.look_ahead();
    }

    /// Returns the flash unit from which `unit`, which is at `home`, is read for the command `tag`: its copy, if it has
    /// one. Both have the same content, which is moved at once: the original may be erased before the read completes.
    pub(crate) fn copied_to(&mut self, tag: Tag, unit: u32, home: u32, out: &mut Actions) -> u32 {
        let found = self.buffer.read_copies.as_ref().and_then(|copies| copies.of.get(&unit));
        let Some(Copy { at: Some(at), .. }) = found.filter(|copy| copy.home == home).copied() else { return home };
        self.stats.read_copy_hits += 1;
        if self.config.moves {
            let (page, _, within) = self.layout.address(home);
            let part = self.part(tag, unit);
            out.moves.push(Move::FlashToHost {
                page,
                unit: within,
                from: part.from,
                sectors: part.sectors,
                tag,
                to: part.at,
            });
        }
        at
    }

    /// Gathers copies of the units read in full for `tag`, out of the `count` units from `unit` on that were read from
    /// flash units from `home` on.
    pub(crate) fn note_read(&mut self, tag: Tag, home: u32, unit: u32, count: u32, out: &mut Actions) {
        if self.durability.is_read_only() || !self.has_room_for_copies(out) {
            return;
        }
        let whole = 1 << (self.layout.unit_shift - SECTOR.trailing_zeros());
        for i in 0..count {
            let (unit, home) = (unit + i, home + i);
            if self.part(tag, unit).sectors != whole || self.map.table.get(unit) != Location::flash(home) {
                continue;
            }
            let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
            if copies.of.get(&unit).is_some_and(|copy| copy.home == home) {
                continue;
            }
            if copies.gather(unit, home, self.layout.program_units) {
                self.program_copies(out);
            }
        }
    }

    /// Programs gathered copies if no read occurred for the idle time of the write buffer.
    pub(crate) fn copies_timer(&mut self, now: Time, out: &mut Actions) {
        let idle = self.config.buffers.idle;
        if self.buffer.read_copies.as_ref().and_then(|copies| copies.due(idle)).is_some_and(|at| at <= now) {
            self.program_copies(out);
        }
    }

    /// Returns true if there is room for copies. Starts the erase of the next block as soon as no read of it is in
    /// progress.
    fn has_room_for_copies(&mut self, out: &mut Actions) -> bool {
        let copies = self.buffer.read_copies.as_ref().expect("called only if read copies are configured");
        let (open, next) = (copies.blocks[copies.open].0, copies.blocks[copies.next()].0);
        let left = copies.program < self.programs_of(open);
        match copies.ahead {
            Ahead::Ready => return true,
            Ahead::Erasing => {}
            Ahead::Full => self.erase_copies(next, out),
        }
        left
    }

    fn erase_copies(&mut self, block: u32, out: &mut Actions) {
        let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
        copies.leave(block, &self.layout);
        if self.space.blocks.pins(block) > 0 || self.space.blocks.writes(block) > 0 {
            return;
        }
        copies.ahead = Ahead::Erasing;
        let mut erases = 0;
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            let planes = PlaneMask(at.planes.0 & !self.space.blocks.hole(block, position));
            if planes.0 != 0 {
                let id = self.start_operation(OperationKind::CopiesErase, block);
                self.operations[id].logical = position;
                let block = BlockAddr { planes, ..at };
                out.actions.push(Action::Erase(EraseOp { id, block, class: Class::Collection }));
                erases += 1;
            }
        }
        self.space.blocks.set_erasing(block, erases);
        if erases == 0 {
            self.copies_erased();
        }
    }

    pub(crate) fn copies_erase_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let Operation { subject: block, logical: position, .. } = self.operations.end(id);
        if !status.is_ok() {
            self.stats.failures += 1;
            let planes = self.layout.block_at(block, position).planes.0 & !self.space.blocks.hole(block, position);
            self.retire(block, position, planes, out);
        }
        if self.space.blocks.end_erase(block) == 0 {
            self.stats.erases += 1;
            self.space.blocks.set_erases(block, self.space.blocks.erases(block) + 1);
            self.copies_erased();
        }
    }

    /// Marks the next block as erased.
    fn copies_erased(&mut self) {
        let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
        let next = copies.next();
        copies.blocks[next].1 = false;
        copies.ahead = Ahead::Ready;
    }

    /// Programs the gathered copies, or drops them if there is no room.
    fn program_copies(&mut self, out: &mut Actions) {
        let units =
            self.buffer.read_copies.as_mut().expect("called only if read copies are configured").take_gathered();
        if units.is_empty() {
            return;
        }
        let Some(room) = self.room_for_copies() else {
            let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
            copies.give_up(units);
            return;
        };
        let Room { block, unit, units: fits, page, .. } = room;
        let operation = Operation { unit, count: fits, ..Operation::of(OperationKind::CopiesProgram, block) };
        let id = self.operations.start(Operation { mask: u64::from(page.planes.0), ..operation });
        self.operations.pad(id, 0);
        // No operation waits for its durability.
        let sequence = self.durability.sequence.issue();
        self.operations[id].sequence = sequence;
        self.durability.sequence.retire(sequence);
        self.space.blocks.writing(block);
        self.stats.programs += 1;
        // With unusable planes, a program holds fewer units.
        let (units, rest) = units.split_at(units.len().min(fits as usize));
        self.stats.read_copies += units.len() as u64;
        let places = (0..).zip(units).map(|(i, wanted)| (*wanted, self.physical(room, i))).collect();
        let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
        copies.give_up(rest.iter().copied());
        copies.under_way.insert(id.0, places);
        out.actions.push(Action::Program(ProgramOp { id, page, sequence, class: Class::Collection, slc: true }));
    }

    /// Returns room for the next copies.
    fn room_for_copies(&mut self) -> Option<Room> {
        loop {
            let copies = self.buffer.read_copies.as_ref()?;
            let (block, program) = (copies.blocks[copies.open].0, copies.program);
            let end = self.programs_of(block);
            let copies = self.buffer.read_copies.as_mut()?;
            if program >= end {
                if copies.ahead != Ahead::Ready {
                    return None;
                }
                (copies.open, copies.program) = (copies.next(), 0);
                copies.look_ahead();
                continue;
            }
            copies.blocks[copies.open].1 = true;
            copies.program = program + 1;
            let mut page = self.layout.page(block, program);
            page.planes = PlaneMask(page.planes.0 & !self.space.blocks.hole(block, program % self.layout.per_row));
            if page.planes.0 != 0 {
                let units = page.planes.count() * self.layout.page_units;
                let unit = self.layout.unit_of(block, program);
                return Some(Room { pu: self.layout.pu_of(block), block, program, unit, units, page });
            }
        }
    }

    pub(crate) fn copies_program_done(&mut self, id: OpId, status: Status) {
        let block = self.operations.end(id).subject;
        self.space.blocks.end_write(block);
        let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
        let units = copies.under_way.remove(&id.0).expect("a program of copies in progress");
        if !status.is_ok() {
            self.stats.failures += 1;
            copies.give_up(units.into_iter().map(|(wanted, _)| wanted));
            return;
        }
        for (wanted, place) in units {
            if let Some(copy) = copies.get(wanted) {
                copy.at = Some(place);
            }
        }
    }

    /// Reads units from their original addresses after their copies could not be read.
    pub(crate) fn read_past_copies(&mut self, tag: Tag, first: u32, count: u32, out: &mut Actions) {
        let copies = self.buffer.read_copies.as_mut().expect("called only if read copies are configured");
        (first..first + count).for_each(|unit| copies.drop_copy(unit));
        self.read_units(tag, first..first + count, true, out);
    }
}
