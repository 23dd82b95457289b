//! Parity across dies: the last program of each stripe of a superblock holds the exclusive OR of the others.
//!
//! A stripe consists of [`Layout::stripe`] consecutive programs of a block, each on a different die. While it is
//! written, its parity accumulates in a controller buffer; it is programmed after the last data program is issued.
//! Until the parity is in flash the stripe is not protected, and neither is one that was being written when power was
//! lost.
//!
//! A program that fails while its stripe is open is removed from the parity. One that fails later costs the stripe its
//! protection; its block is emptied like any block with a failed program. The parity takes the last program that has
//! all planes: with unusable planes, it changes places with the stripe's last program.
//!
//! The spare area of a parity program identifies it ([`media::PARITY`]), so that it can be found again.

use std::collections::{BTreeMap, BTreeSet};

use media::{Action, Class, Move, OpId, ProgramOp, Status};

use crate::buffer::slots::{Holds, NIL, Owner, Slots};
use crate::config::Config;
use crate::durability::rebuild::Rebuild;
use crate::layout::Layout;
use crate::location::Location;
use crate::request::operation::{Operation, OperationKind};
use crate::sizes;
use crate::space::blocks::Use;
use crate::space::parallel_unit::Room;
use crate::{Actions, Ftl};

/// An open stripe.
struct Open {
    block: u32,
    /// Its first program.
    first: u32,
    /// The program that holds its parity.
    place: u32,
    /// First slot of its parity buffer.
    set: u32,
    /// At least one program has joined it.
    begun: bool,
}

/// Parity state of a drive.
pub(crate) struct Parity {
    /// First slots of the free buffers.
    sets: Vec<u32>,
    /// A stripe could not begin because no buffer was free.
    waiting: bool,
    open: Vec<Open>,
    /// Failed programs, by block and number, that are excluded from the parity of their stripe.
    left_out: BTreeSet<(u32, u32)>,
    /// Sequence number of the first parity program since the mount.
    since: Option<u64>,
    /// Slot in which a unit is rebuilt.
    pub(crate) scratch: u32,
    /// Reads whose page is being rebuilt, by operation.
    pub(crate) rebuilds: BTreeMap<u32, Rebuild>,
}

impl Parity {
    pub(crate) fn new(config: &Config, layout: &Layout, slots: &mut Slots) -> Option<Parity> {
        config.parity?;
        let mut take = || slots.take(media::PARITY, Location::NOWHERE, Holds::Moving, Owner::System, 0);
        let scratch = take();
        let sets = (0..sizes::parity_sets(config, layout)).map(|_| {
            let first = take();
            (1..layout.program_units).for_each(|i| assert_eq!(take(), first + i, "new slots come in order"));
            first
        });
        Some(Parity {
            sets: sets.collect(),
            waiting: false,
            open: Vec::new(),
            left_out: BTreeSet::new(),
            since: None,
            scratch,
            rebuilds: BTreeMap::new(),
        })
    }

    /// Returns true if `program` of `block` failed and is excluded from its stripe.
    pub(crate) fn leaves_out(&self, block: u32, program: u32) -> bool {
        self.left_out.contains(&(block, program))
    }

    /// Returns true if the parity program with this sequence number was issued since the mount.
    pub(crate) fn is_since_mount(&self, sequence: u64) -> bool {
        self.since.is_some_and(|since| since <= sequence)
    }

    /// Returns true if the stripe of `block` that begins with program `first` is open.
    pub(crate) fn is_open(&self, block: u32, first: u32) -> bool {
        self.open.iter().any(|open| (open.block, open.first) == (block, first))
    }

    fn of(&self, block: u32) -> Option<usize> {
        self.open.iter().position(|open| open.block == block)
    }

    /// Drops the open stripe of `block`, which gets no parity.
    fn drop_open(&mut self, block: u32) {
        if let Some(at) = self.of(block) {
            let open = self.open.swap_remove(at);
            self.sets.push(open.set);
        }
    }
}

impl Ftl {
    /// Returns the program to use in `block` as its next program `next`, in the order of its stripe. Returns `None` if
    /// a stripe begins and no buffer is free for its parity.
    pub(crate) fn enter_stripe(&mut self, pu: u32, block: u32, next: u32) -> Option<u32> {
        let stripe = self.layout.stripe;
        let place = if next.is_multiple_of(stripe) { self.parity_place(pu, block, next) } else { None };
        let parity = self.durability.parity.as_mut().expect("called only if parity is configured");
        if next.is_multiple_of(stripe) {
            parity.drop_open(block);
            if let Some(place) = place {
                let Some(set) = parity.sets.pop() else {
                    parity.waiting = true;
                    return None;
                };
                parity.open.push(Open { block, first: next, place, set, begun: false });
            }
        }
        let Some(at) = parity.of(block) else { return Some(next) };
        let Open { first, place, .. } = parity.open[at];
        let last = first + stripe - 1;
        if next == last {
            // No earlier program is usable any more, or the parity's own location takes no program: data may go there.
            parity.drop_open(block);
            return Some(place);
        }
        Some(if next == place { last } else { next })
    }

    /// Returns the program for the parity of the stripe of `block` that begins with `first`; `None` if the stripe has
    /// fewer than two usable programs, or some were written before the mount.
    fn parity_place(&self, pu: u32, block: u32, first: u32) -> Option<u32> {
        let programs = first..first + self.layout.stripe;
        if self.space.parallel_units[pu as usize].is_written_ahead(block, &programs) {
            return None;
        }
        let units = |program: &u32| self.room_at(pu, block, *program).units;
        let usable = programs.clone().filter(|program| units(program) > 0).count();
        programs.max_by_key(units).filter(|_| usable > 1)
    }

    /// Returns true if the host waits for a parity buffer, until a parity program completes.
    #[inline]
    pub(crate) fn waits_for_parity(&self) -> bool {
        self.durability.parity.as_ref().is_some_and(|parity| parity.waiting)
    }

    /// Adds the units of the program `id` at `room` to the parity of its stripe, which is issued if they are the last.
    pub(crate) fn join_stripe(&mut self, id: OpId, room: Room, class: Class, out: &mut Actions) {
        let parity = self.durability.parity.as_mut().expect("called only if parity is configured");
        let Some(at) = parity.of(room.block) else { return };
        let open = &mut parity.open[at];
        if room.program.wrapping_sub(open.first) >= self.layout.stripe {
            return;
        }
        let (set, begun) = (open.set, std::mem::replace(&mut open.begun, true));
        if self.config.moves {
            if !begun {
                let zero = |i| Move::ZeroBuffer { buffer: set + i, keep: 0 };
                out.moves.extend((0..self.layout.program_units).map(zero));
            }
            self.xor_units(id, room, set, out);
        }
        self.end_stripe(room, class, out);
    }

    /// Adds the units of the program `id` to the parity in `set`, or removes them.
    fn xor_units(&self, id: OpId, room: Room, set: u32, out: &mut Actions) {
        for i in 0..room.units {
            let from = self.operations.slot(id, i);
            if from != NIL {
                out.moves.push(Move::XorBuffer { from, to: set + self.physical(room, i) - room.unit });
            }
        }
    }

    /// Writes the parity of the open stripe of the block at `room` if it takes no more data.
    fn end_stripe(&mut self, Room { pu, block, .. }: Room, class: Class, out: &mut Actions) {
        let stripe = self.layout.stripe;
        let parity = self.durability.parity.as_ref().expect("called only if parity is configured");
        let Some(Open { first, place, .. }) = parity.of(block).map(|at| &parity.open[at]) else { return };
        let (last, place) = (first + stripe - 1, *place);
        let Some(next) = self.space.parallel_units[pu as usize].next_in(block) else { return };
        let data = |next: u32| if next == place { last } else { next };
        let room = self.room_at(pu, block, place);
        // If no plane is left for the parity, the next program drops it.
        if room.units == 0 || (next..last).any(|next| self.room_at(pu, block, data(next)).units > 0) {
            return;
        }
        if self.space.parallel_units[pu as usize].skip_to(block, last + 1, &self.layout) {
            self.space.blocks.set_usage(block, Use::Full);
        }
        self.program_parity(room, class, out);
    }

    fn program_parity(&mut self, room: Room, class: Class, out: &mut Actions) {
        let parity = self.durability.parity.as_mut().expect("called only if parity is configured");
        let at = parity.of(room.block).expect("an open stripe");
        let Open { set, .. } = parity.open.swap_remove(at);
        let sequence = self.durability.sequence.issue();
        parity.since.get_or_insert(sequence);
        // No operation waits for its durability.
        self.durability.sequence.retire(sequence);
        let id = self.operations.start(Operation {
            unit: room.unit,
            logical: set,
            count: room.units,
            mask: u64::from(room.page.planes.0),
            sequence,
            first_sequence: sequence,
            class,
            ..Operation::of(OperationKind::Parity, room.block)
        });
        for i in 0..room.units {
            self.operations.set_slot(id, i, set + self.physical(room, i) - room.unit);
        }
        self.operations.pad(id, room.units);
        self.stats.programs += 1;
        self.stats.parity_programs += 1;
        self.stats.programmed_parity += u64::from(room.units);
        self.space.blocks.writing(room.block);
        let slc = self.is_slc(room.block);
        let sequence = self.space.placement.stamp(room.block, sequence);
        out.actions.push(Action::Program(ProgramOp { id, page: room.page, sequence, class, slc }));
    }

    /// Handles the end of a parity program.
    pub(crate) fn parity_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let Operation { subject: block, unit, logical: set, mask, .. } = self.operations.end(id);
        if !status.is_ok() {
            // The stripe is not protected.
            self.stats.failures += 1;
            let program = (unit - block * self.layout.block_units) / self.layout.program_units;
            self.close_failed(block, program, mask as u16, out);
        }
        let parity = self.durability.parity.as_mut().expect("called only if parity is configured");
        parity.sets.push(set);
        let waiting = std::mem::take(&mut parity.waiting);
        self.written(block);
        if waiting {
            self.space.host_room.resume();
            self.collect_on(self.layout.pu_of(block), out);
        }
        self.dispatch_pending(out);
    }

    /// Removes the units of the failed program `id` at `room` from the parity, if that is not written yet.
    pub(crate) fn leave_stripe(&mut self, id: OpId, room: Room, out: &mut Actions) {
        let parity = self.durability.parity.as_mut().expect("called only if parity is configured");
        let Some(at) = parity.of(room.block) else { return };
        let Open { first, set, .. } = parity.open[at];
        if room.program.wrapping_sub(first) < self.layout.stripe {
            parity.left_out.insert((room.block, room.program));
            if self.config.moves {
                self.xor_units(id, room, set, out);
            }
        }
    }

    /// Drops the open stripe of `block`, which takes no further program.
    pub(crate) fn drop_stripe(&mut self, block: u32) {
        if let Some(parity) = &mut self.durability.parity {
            parity.drop_open(block);
        }
    }

    /// Forgets the failed programs of `block`, which is erased.
    pub(crate) fn forget_stripes(&mut self, block: u32) {
        if let Some(parity) = &mut self.durability.parity {
            parity.left_out.retain(|(at, _)| *at != block);
        }
    }
}
