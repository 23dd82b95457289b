//! Copies of what the host read, in blocks of one bit a cell: a read cache that lives in flash.
//!
//! What is read whole is gathered until it fills a program, or until nothing was read for a while; then it is programmed to a
//! block set aside, and read from there. A copy is of a page of flash, and that does not change until it is erased: the copy
//! counts while its unit is where it was copied from. So nothing about copies need be durable: their spare areas name no
//! unit, and a mount begins without any. Their blocks are written in a ring. What was read first makes way, as soon as something
//! else is to be copied.

use std::collections::{BTreeMap, VecDeque};

use media::{Action, BlockAddr, Class, EraseOp, Move, OpId, PlaneMask, ProgramOp, Status, Tag};
use sim::Time;

use crate::blocks::Use;
use crate::command::{Kind, Operation};
use crate::config::Config;
use crate::layout::Layout;
use crate::location::Location;
use crate::parallel_unit::Room;
use crate::{Actions, Ftl};

#[derive(Clone, Copy)]
struct Copy {
    /// Flash unit that it is of.
    home: u32,
    /// Flash unit where it is; none while it is on its way.
    at: Option<u32>,
    ticket: u64,
}

/// A logical unit that is copied, and the ticket of its copy: of another copy of it the ticket is another.
type Wanted = (u32, u64);

/// The block that is written after the open one. It is emptied while that one is filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ahead {
    /// It is erased.
    Ready,
    /// It is to be.
    Full,
    /// It is being.
    Erasing,
}

/// The copies of a drive.
pub(crate) struct ReadCopies {
    capacity: usize,
    /// The blocks set aside, and whether something was programmed to each since it was erased.
    blocks: Vec<(u32, bool)>,
    /// Which of them is written, and its next program.
    open: usize,
    program: u32,
    ahead: Ahead,
    /// By logical unit.
    of: BTreeMap<u32, Copy>,
    /// The oldest first; with some that are gone.
    order: VecDeque<Wanted>,
    tickets: u64,
    /// Those that wait for their program.
    gathered: Vec<Wanted>,
    /// Those of programs under way, and their places.
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

    /// Number of the block after the open one.
    fn next(&self) -> usize {
        (self.open + 1) % self.blocks.len()
    }

    /// Has the next block erased, if there is something in it.
    fn look_ahead(&mut self) {
        self.ahead = if self.blocks[self.next()].1 { Ahead::Full } else { Ahead::Ready };
    }

    /// A read has come.
    pub(crate) fn read_at(&mut self, now: Time) {
        self.last_read = now;
    }

    /// When what was gathered goes to flash, if nothing is read before.
    pub(crate) fn due(&self, idle: Time) -> Option<Time> {
        (!self.gathered.is_empty()).then(|| self.last_read.saturating_add(idle))
    }

    /// What `unit` is has changed.
    pub(crate) fn drop(&mut self, unit: u32) {
        self.of.remove(&unit);
    }

    /// The copy, if it is still wanted.
    fn get(&mut self, (unit, ticket): Wanted) -> Option<&mut Copy> {
        self.of.get_mut(&unit).filter(|copy| copy.ticket == ticket)
    }

    /// Copies that cannot be made are not wanted any more.
    fn give_up(&mut self, wanted: impl IntoIterator<Item = Wanted>) {
        for wanted in wanted {
            if self.get(wanted).is_some() {
                self.of.remove(&wanted.0);
            }
        }
    }

    /// `unit`, which is at `home`, is to be copied: older copies make way. True if a program is full.
    fn gather(&mut self, unit: u32, home: u32, program_units: u32) -> bool {
        self.drop(unit);
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

    /// What was gathered and is still wanted.
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
    /// True if `block` is set aside for copies.
    #[inline]
    pub(crate) fn holds_copies(&self, block: u32) -> bool {
        self.config.read_copies.is_some_and(|copies| block % self.layout.blocks < copies.blocks)
    }

    /// A block set aside, as a mount finds it.
    pub(crate) fn set_aside(&mut self, block: u32, programmed: bool) {
        self.blocks.set_usage(block, Use::Copies);
        let copies = self.read_copies.as_mut().expect("blocks are set aside for copies");
        let at = copies.blocks.iter().position(|(number, _)| *number == block).expect("one of those");
        copies.blocks[at].1 = programmed;
        if at == copies.open && programmed {
            // To its end, as far as is known.
            copies.program = u32::MAX;
        }
        copies.look_ahead();
    }

    /// Where `unit`, which is at `home`, is read for the command `tag`: from its copy, if it has one. The content of both is
    /// the same, and handed over at once: the copy's page may be all that is left of it when the read has ended.
    pub(crate) fn copied_to(&mut self, tag: Tag, unit: u32, home: u32, out: &mut Actions) -> u32 {
        let found = self.read_copies.as_ref().and_then(|copies| copies.of.get(&unit));
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

    /// `count` units from `unit` on were read for `tag` from flash, from `home` on: what was read whole is copied.
    pub(crate) fn note_read(&mut self, tag: Tag, home: u32, unit: u32, count: u32, out: &mut Actions) {
        if self.read_only || !self.has_room_for_copies(out) {
            return;
        }
        let whole = self.all_sectors.count_ones();
        for i in 0..count {
            let (unit, home) = (unit + i, home + i);
            if self.part(tag, unit).sectors != whole || self.table.get(unit) != Location::flash(home) {
                continue;
            }
            let copies = self.read_copies.as_mut().expect("asked for only where there are some");
            if copies.of.get(&unit).is_some_and(|copy| copy.home == home) {
                continue;
            }
            if copies.gather(unit, home, self.layout.program_units) {
                self.program_copies(out);
            }
        }
    }

    /// Programs what was gathered, if nothing was read for as long as what was written waits.
    pub(crate) fn copies_timer(&mut self, now: Time, out: &mut Actions) {
        let idle = self.config.buffers.idle;
        if self.read_copies.as_ref().and_then(|copies| copies.due(idle)).is_some_and(|at| at <= now) {
            self.program_copies(out);
        }
    }

    /// True if there is room. The next block is erased as soon as nobody reads of it.
    fn has_room_for_copies(&mut self, out: &mut Actions) -> bool {
        let copies = self.read_copies.as_ref().expect("asked for only where there are some");
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
        let copies = self.read_copies.as_mut().expect("blocks are set aside for copies");
        copies.leave(block, &self.layout);
        if self.blocks.pins(block) > 0 || self.blocks.writes(block) > 0 {
            return;
        }
        copies.ahead = Ahead::Erasing;
        let mut erases = 0;
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            let planes = PlaneMask(at.planes.0 & !self.blocks.hole(block, position));
            if planes.0 != 0 {
                let id = self.start_operation(Kind::CopiesErase, block);
                self.operations[id].logical = position;
                let block = BlockAddr { planes, ..at };
                out.actions.push(Action::Erase(EraseOp { id, block, class: Class::Collection }));
                erases += 1;
            }
        }
        self.blocks.set_erasing(block, erases);
        if erases == 0 {
            self.copies_erased();
        }
    }

    pub(crate) fn copies_erase_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let Operation { subject: block, logical: position, .. } = self.operations.end(id);
        if status != Status::Ok {
            self.stats.failures += 1;
            let planes = self.layout.block_at(block, position).planes.0 & !self.blocks.hole(block, position);
            self.retire(block, position, planes, out);
        }
        if self.blocks.end_erase(block) == 0 {
            self.stats.erases += 1;
            self.blocks.set_erases(block, self.blocks.erases(block) + 1);
            self.copies_erased();
        }
    }

    /// The next block is erased.
    fn copies_erased(&mut self) {
        let copies = self.read_copies.as_mut().expect("blocks are set aside for copies");
        let next = copies.next();
        copies.blocks[next].1 = false;
        copies.ahead = Ahead::Ready;
    }

    /// Programs what was gathered. Where there is no room, it is forgotten.
    fn program_copies(&mut self, out: &mut Actions) {
        let units = self.read_copies.as_mut().expect("asked for only where there are some").take_gathered();
        if units.is_empty() {
            return;
        }
        let Some(room) = self.room_for_copies() else {
            let copies = self.read_copies.as_mut().expect("as before");
            copies.give_up(units);
            return;
        };
        let Room { block, unit, units: fits, page, .. } = room;
        let operation = Operation { unit, count: fits, ..Operation::of(Kind::CopiesProgram, block) };
        let id = self.operations.start(Operation { mask: u64::from(page.planes.0), ..operation });
        self.operations.pad(id, 0);
        // Nothing waits for it to be durable.
        let sequence = self.sequence.issue();
        self.operations[id].sequence = sequence;
        self.sequence.retire(sequence);
        self.blocks.writing(block);
        self.stats.programs += 1;
        // Where planes are lost, a program holds less.
        let (units, rest) = units.split_at(units.len().min(fits as usize));
        self.stats.read_copies += units.len() as u64;
        let places = (0..).zip(units).map(|(i, wanted)| (*wanted, self.physical(room, i))).collect();
        let copies = self.read_copies.as_mut().expect("as before");
        copies.give_up(rest.iter().copied());
        copies.under_way.insert(id.0, places);
        out.actions.push(Action::Program(ProgramOp { id, page, sequence, class: Class::Collection, slc: true }));
    }

    /// Room for the next copies.
    fn room_for_copies(&mut self) -> Option<Room> {
        loop {
            let copies = self.read_copies.as_ref()?;
            let (block, program) = (copies.blocks[copies.open].0, copies.program);
            let end = self.programs_of(block);
            let copies = self.read_copies.as_mut()?;
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
            page.planes = PlaneMask(page.planes.0 & !self.blocks.hole(block, program % self.layout.per_row));
            if page.planes.0 != 0 {
                let units = page.planes.count() * self.layout.page_units;
                let unit = self.layout.unit_of(block, program);
                return Some(Room { pu: self.layout.pu_of(block), block, program, unit, units, page });
            }
        }
    }

    pub(crate) fn copies_program_done(&mut self, id: OpId, status: Status) {
        let block = self.operations.end(id).subject;
        self.blocks.end_write(block);
        let copies = self.read_copies.as_mut().expect("blocks are set aside for copies");
        let units = copies.under_way.remove(&id.0).expect("a program of copies under way");
        if status != Status::Ok {
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

    /// Copies could not be read: their units are read from where they were copied from.
    pub(crate) fn read_past_copies(&mut self, tag: Tag, first: u32, count: u32, out: &mut Actions) {
        let copies = self.read_copies.as_mut().expect("blocks are set aside for copies");
        (first..first + count).for_each(|unit| copies.drop(unit));
        self.read_again(tag, first, count, out);
    }
}
