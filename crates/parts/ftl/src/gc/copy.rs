//! Garbage collection: reads the valid units of a victim and programs them elsewhere.

use media::{Action, Class, Flash, Move, NOBODY, OpId, PageAddr, PlaneMask, ReadOp, Status};

use crate::buffer::slots::{Holds, Owner, Slot};
use crate::gc::collection::{GcScan, Stop};
use crate::gc::fold::UNORDERED;
use crate::gc::pending::Purpose;
use crate::layout::Layout;
use crate::location::{DecodedLocation, Location};
use crate::request::operation::{Operation, OperationKind};
use crate::space::blocks::Use;
use crate::{Actions, Ftl};

impl Ftl {
    /// Opens the emergency reserve of `pu`, which is short of room while no operation is in progress, until one of its
    /// blocks is erased. Returns true if it was not open before.
    pub(crate) fn enter_emergency(&mut self, pu: u32, out: &mut Actions) -> bool {
        if std::mem::replace(&mut self.gc.units[pu as usize].emergency, true) {
            return false;
        }
        self.back_out(pu, out);
        true
    }

    /// Notes that a unit of `block` is superseded. If the block is a victim, a copy of the unit may be pending, and
    /// units that need no copying free up room.
    #[inline]
    pub(crate) fn superseded_in(&mut self, block: u32) {
        self.gc.losses.note(block, self.durability.sequence.next());
        if self.space.blocks.is_collectable(block) {
            return;
        }
        let pu = self.layout.pu_of(block);
        self.space.host_room.rejoin(pu);
        if self.space.blocks.pins(block) > 0 {
            for purpose in Purpose::ALL {
                self.gc.units[pu as usize].pending_mut(purpose).superseded = true;
            }
        }
    }

    /// Unblocks `pu`, where nothing else can proceed: drops copies that have no room, whose sources still exist, and
    /// makes the blocks they came from available for selection again.
    pub(crate) fn back_out(&mut self, pu: u32, out: &mut Actions) {
        self.space.host_room.rejoin(pu);
        for purpose in Purpose::ALL {
            while let Some(slot) = self.gc.units[pu as usize].pending_mut(purpose).slots.pop_front() {
                let home = self.buffer.slots[slot].home;
                self.gc.units[pu as usize].in_flight -= 1;
                self.buffer.slots.give(slot);
                self.unpin_home(home, out);
            }
        }
        if self.gc.units[pu as usize].is_reading_any() {
            return;
        }
        (self.gc.units[pu as usize].scan, self.gc.units[pu as usize].background.scan) = (None, None);
        for block in pu * self.layout.blocks..(pu + 1) * self.layout.blocks {
            if self.space.blocks.usage(block) != Use::Victim {
                continue;
            }
            if self.space.blocks.valid(block) == 0 {
                self.emptied(block);
            } else {
                self.space.blocks.set_usage(block, Use::Closed);
                self.gc.units[pu as usize].victims.remove(block);
                if self.is_slc(block) {
                    self.space.blocks.withhold(block);
                    self.space.parallel_units[pu as usize].add_closed_slc(block);
                }
            }
        }
    }

    /// Continues to collect `pu`, or starts to if it is short of free space.
    pub(crate) fn collect(&mut self, pu: u32, out: &mut Actions) {
        self.gc.units[pu as usize].barren = false;
        self.collect_on(pu, out);
    }

    /// Like [`collect`](Self::collect), called after each operation of collection.
    #[inline(always)]
    pub(crate) fn collect_on(&mut self, pu: u32, out: &mut Actions) {
        if self.durability.retries.any() {
            // A failed program holds up erases, so it is retried first.
            self.retry(pu, out);
        }
        let before = self.progress();
        let shortage = self.shortage(pu);
        self.read_victims(pu, shortage, out);
        self.program_pending(pu, Purpose::Collection, out);
        if self.gc.batch.is_on() {
            self.program_batch(pu, out);
        }
        self.update_share(pu);
        self.release_host(pu, before);
    }

    #[inline(always)]
    fn read_victims(&mut self, pu: u32, mut shortage: i64, out: &mut Actions) {
        loop {
            // In a batch, folding goes first: it is what host data waits for.
            let short = shortage > 0 && !self.gc.batch.is_in_progress() || self.lacks_room(pu);
            let collection = &self.gc.units[pu as usize];
            let Some(scan) = collection.scan.filter(|scan| short || scan.forced) else {
                if collection.scan.is_some() || !self.next_scan(pu, short) {
                    return self.fold_on(pu, short, out);
                }
                continue;
            };
            if self.copies_wait() {
                self.gc.waits = true;
                return;
            }
            let (quota, in_flight, stop) = (collection.quota, collection.in_flight, collection.stop);
            let copies = if self.gc.batch.is_in_progress() {
                // Host data waits for the room as well.
                quota
            } else {
                self.copies_allowed(quota, scan, shortage)
            };
            // Nothing has changed for the next program.
            if stop.valid > 0 && in_flight + stop.valid > copies {
                debug_assert_eq!(
                    (stop.unit, ones(self.space.blocks.valid_bits(stop.unit, self.layout.read_units))),
                    (self.layout.read_unit(scan.block, self.gc.order.read(scan.cursor, scan.end)), stop.valid)
                );
                return;
            }
            if !self.read_victim(pu, scan, false, copies, out) {
                return;
            }
            self.gc.units[pu as usize].scan = None;
            if self.space.blocks.valid(scan.block) == 0 {
                self.emptied(scan.block);
            }
            // A victim without valid units returns its block at once.
            shortage = self.shortage(pu);
        }
    }

    /// Chooses the block that `pu` collects next; returns false if there is none.
    fn next_scan(&mut self, pu: u32, short: bool) -> bool {
        if self.space.placement.is_persistent() && self.drains(pu) {
            return false;
        }
        let Some((victim, forced)) = self.next_victim(pu, short) else {
            self.gc.units[pu as usize].barren = true;
            return false;
        };
        let scan = self.start_victim(pu, victim, forced);
        let collection = &mut self.gc.units[pu as usize];
        (collection.scan, collection.stop) = (Some(scan), Stop::default());
        true
    }

    /// Returns true if copies of the last victim are still being read or not yet in a program: a victim of another handle
    /// would separate them from those that follow.
    fn drains(&self, pu: u32) -> bool {
        let collection = &self.gc.units[pu as usize];
        collection.is_reading_any() || collection.count_pending() > 0
    }

    /// Continues to read the victim `scan` of `pu`, that of the background or of collection, with at most `copies` units
    /// in flight; returns true at its end.
    #[inline(always)]
    pub(crate) fn read_victim(
        &mut self,
        pu: u32,
        scan: GcScan,
        background: bool,
        copies: u32,
        out: &mut Actions,
    ) -> bool {
        debug_assert_eq!(background, self.gc.unit(pu).scan.is_none_or(|of| of.block != scan.block));
        let batch = self.batch_room(copies);
        if !self.gc.units[pu as usize].takes(batch, copies) {
            return false;
        }
        let whole = self.layout.read_units;
        let order = self.gc.order;
        let mut batch_end = order.batch_end(scan.cursor, scan.end);
        let folded = background && self.gc.batch.is_in_progress() && self.is_slc(scan.block);
        let collection = &mut self.gc.units[pu as usize];
        if !background {
            collection.stop = Stop::default();
        }
        let (mut reads, mut cursor) = (0, scan.cursor);
        while cursor < scan.end {
            if cursor == batch_end {
                if !collection.takes(batch, copies) {
                    break;
                }
                batch_end = order.batch_end(cursor, scan.end);
            }
            // Data in the background stays in the order in which it was written.
            let read = if background { cursor } else { order.read(cursor, scan.end) };
            let unit = self.layout.read_unit(scan.block, read);
            let bits = self.space.blocks.valid_bits(unit, whole);
            if bits != 0 {
                let count = ones(bits);
                if collection.in_flight + count > copies {
                    if !background {
                        collection.stop = Stop { unit, valid: count };
                    }
                    break;
                }
                collection.in_flight += count;
                reads += 1;
                if folded {
                    self.gc.batch.read(count);
                }
                let mut page = self.layout.read_in(pu, scan.block, read);
                if self.layout.planes > 1 {
                    page.planes = planes_of(&self.layout, page.planes, bits);
                }
                let (id, operation) = self.operations.start_bare(OperationKind::CollectRead, pu);
                (operation.unit, operation.logical, operation.mask) = (unit, read, bits);
                operation.sequence = if background { collection.background.order.issued() } else { UNORDERED };
                self.gc.refresh.read(scan.block, page);
                let bytes = count << self.layout.unit_shift;
                out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Collection }));
            }
            cursor += 1;
        }
        if cursor == scan.cursor {
            // Nothing was read.
            return cursor == scan.end;
        }
        let (current, purpose) = if background {
            (&mut collection.background.scan, collection.background.purpose)
        } else {
            (&mut collection.scan, Purpose::Collection)
        };
        if let Some(current) = current {
            current.cursor = cursor;
        }
        collection.pending_mut(purpose).reading += reads;
        self.space.blocks.pin_reads(scan.block, reads);
        self.stats.copy_reads += u64::from(reads);
        cursor == scan.end
    }

    #[inline(always)]
    pub(crate) fn collect_read_done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        let Operation { subject: pu, unit, logical: read, mask, sequence: number, .. } = self.operations[id];
        self.operations.free(id);
        let block = self.layout.block_of(unit);
        let collection = &mut self.gc.units[pu as usize];
        let purpose = if number == UNORDERED { Purpose::Collection } else { collection.background.purpose };
        collection.pending_mut(purpose).reading -= 1;
        // Units superseded in the meantime are not copied.
        let bits = mask & self.space.blocks.valid_bits(unit, self.layout.read_units);
        if bits != mask {
            collection.in_flight -= ones(mask & !bits);
        }
        if bits != 0 {
            let page = self.layout.read_in(pu, block, read);
            self.copy_units(pu, purpose, page, unit, bits, status, flash, out);
            // The source block must not be erased, and written with the same unit again, until each copy is issued or
            // dropped. The pin of the completed read covers one copy.
            self.space.blocks.pin_reads(block, ones(bits) - 1);
        } else {
            self.unpin(block, out);
        }
        if number != UNORDERED {
            self.put_in_order(pu, number, ones(bits));
        }
        self.collect_on(pu, out);
        self.dispatch_pending(out);
    }

    /// Takes slots for the units in `bits`, counted from `first`, read from `page`.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn copy_units(
        &mut self,
        pu: u32,
        purpose: Purpose,
        page: PageAddr,
        first: u32,
        bits: u64,
        status: Status,
        flash: &impl Flash,
        out: &mut Actions,
    ) {
        if self.layout.planes == 1 {
            let units = flash.logical(page, page.planes.0.trailing_zeros());
            return self.copy_page(pu, purpose, units, first, bits, status, flash, out);
        }
        let per_page = self.layout.page_units;
        let in_page = u64::MAX >> (64 - per_page);
        for (number, plane) in (0..).zip(page.planes.iter()) {
            let of_page = bits >> (number * per_page) & in_page;
            if of_page != 0 {
                let units = flash.logical(page, plane);
                self.copy_page_of_several(pu, purpose, units, first + number * per_page, of_page, status, flash, out);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn copy_page_of_several(
        &mut self,
        pu: u32,
        purpose: Purpose,
        units: &[u32],
        first: u32,
        bits: u64,
        status: Status,
        flash: &impl Flash,
        out: &mut Actions,
    ) {
        self.copy_page(pu, purpose, units, first, bits, status, flash, out);
    }

    /// Takes slots for the units in `bits` of a single-plane page that holds the logical `units`, beginning at flash
    /// unit `first`.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn copy_page(
        &mut self,
        pu: u32,
        purpose: Purpose,
        units: &[u32],
        first: u32,
        mut bits: u64,
        status: Status,
        flash: &impl Flash,
        out: &mut Actions,
    ) {
        let plain = status.is_ok()
            && !self.config.moves
            && !self.durability.has_lost()
            && !flash.has_lost()
            && !self.space.placement.is_on();
        let pending = &mut self.gc.units[pu as usize].pending_mut(purpose).slots;
        let (from, mut unsettled) = (pending.len(), false);
        while bits != 0 {
            let within = bits.trailing_zeros();
            bits &= bits - 1;
            let (unit, home) = (units[within as usize], Location::flash(first + within));
            debug_assert_ne!(unit, NOBODY);
            let slot = self.buffer.slots.take(unit, home, Holds::Moving, Owner::Copy, self.layout.all_sectors);
            pending.push_back(slot);
            unsettled |= !plain || !self.map.table.is_at(unit, home);
        }
        if unsettled {
            self.copy_contents(pu, purpose, from, plain, status, flash, out);
        }
    }

    /// Settles the details of the pending copies of `pu` from the one with index `from` on, but for `plain` copies whose
    /// unit is where it was read.
    #[allow(clippy::too_many_arguments)]
    fn copy_contents(
        &mut self,
        pu: u32,
        purpose: Purpose,
        from: usize,
        plain: bool,
        status: Status,
        flash: &impl Flash,
        out: &mut Actions,
    ) {
        for at in from..self.gc.units[pu as usize].pending(purpose).slots.len() {
            let slot = self.gc.units[pu as usize].pending(purpose).slots[at];
            let Slot { unit, home, .. } = self.buffer.slots[slot];
            if !plain || !self.map.table.is_at(unit, home) {
                self.copy_content(slot, status, flash, out);
            }
        }
    }

    /// Settles the details of the copy in `slot`: whether newer data of the unit is in RAM, where its payload comes
    /// from, and whether it is lost.
    fn copy_content(&mut self, slot: u32, status: Status, flash: &impl Flash, out: &mut Actions) {
        let Slot { unit, home, .. } = self.buffer.slots[slot];
        if self.space.placement.is_on() {
            let block = self.layout.block_of(home.flash_unit());
            self.buffer.slots[slot].handle = self.space.placement.handle_of(block);
        }
        let location = self.map.table.get(unit);
        if location != home {
            assert_eq!(self.home(unit), home, "unit {unit} is valid at {home:?}, but the map has it elsewhere");
            if let DecodedLocation::Buffer(clean) = location.place(self.buffer.slots.count())
                && self.buffer.slots[clean].holds == Holds::Clean
            {
                self.buffer.slots[slot].lost = self.buffer.slots[clean].lost;
                if self.config.moves {
                    out.moves.push(Move::BufferToBuffer { from: clean, to: slot, keep: 0 });
                }
                return;
            }
        }
        if status.is_ok() {
            // The source and the newer data in RAM can be lost independently of each other.
            self.buffer.slots[slot].lost =
                if location == home { self.durability.is_lost(unit) } else { self.is_lost_in(home, flash) };
            if self.config.moves {
                let (page, _, unit) = self.layout.address(home.flash_unit());
                out.moves.push(Move::FlashToBuffer { page, unit, buffer: slot, keep: 0 });
            }
        } else {
            self.buffer.slots[slot].lost = true;
            // Newer data in RAM is not lost; the copy is made only because that data may not survive.
            if location == home {
                self.lose(unit);
            }
        }
    }
}

/// Returns the planes of a program that the units in `bits` lie on.
fn planes_of(layout: &Layout, planes: PlaneMask, bits: u64) -> PlaneMask {
    let in_page = u64::MAX >> (64 - layout.page_units);
    let of_plane = |(i, _): &(u32, u32)| bits >> (i * layout.page_units) & in_page != 0;
    let concerned = (0..).zip(planes.iter()).filter(of_plane);
    PlaneMask(concerned.fold(0, |mask, (_, plane)| mask | 1 << plane))
}

/// Counts set bits. Most programs have few units, and not every processor counts bits in a single instruction.
#[inline]
fn ones(bits: u64) -> u32 {
    if bits < 4 { bits as u32 - (bits as u32 >> 1) } else { bits.count_ones() }
}
