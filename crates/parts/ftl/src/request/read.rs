//! Host reads.

use std::ops::Range;

use media::{Action, Class, Move, OpId, PageAddr, ReadOp, SECTOR, Status, Tag};

use crate::buffer::slots::{Holds, NIL, Owner};
use crate::config::{Allocation, Config};
use crate::layout::UNITS_MAX;
use crate::location::{DecodedLocation, Location};
use crate::map::cache::Ready;
use crate::request::operation::{Operation, OperationKind};
use crate::{Actions, Ftl};

/// Consecutive logical units at consecutive flash units of one program: one flash read. May be empty.
#[derive(Clone, Copy, Default)]
struct Run {
    unit: u32,
    logical: u32,
    count: u32,
}

/// The sectors of one unit that a command covers.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// First sector within the unit.
    pub from: u32,
    /// Number of sectors.
    pub sectors: u32,
    /// First sector, counted from the start of the command.
    pub at: u32,
}

impl Ftl {
    /// Returns the first and last unit of the range of `tag`.
    #[inline]
    pub(crate) fn range(&self, tag: Tag) -> (u32, u32) {
        self.units_of(&self.requests.commands[tag].range())
    }

    /// Returns the first and last unit of these `sectors` of a command.
    #[inline]
    pub(crate) fn units_of(&self, sectors: &Range<u64>) -> (u32, u32) {
        let shift = self.layout.unit_shift - SECTOR.trailing_zeros();
        debug_assert!(!sectors.is_empty(), "empty command");
        let last = (sectors.end - 1) >> shift;
        assert!(last < u64::from(self.config.user_units), "command exceeds the capacity of the drive");
        ((sectors.start >> shift) as u32, last as u32)
    }

    /// Returns the part of `unit` that the command `tag` covers.
    #[inline]
    pub(crate) fn part(&self, tag: Tag, unit: u32) -> Part {
        let shift = self.layout.unit_shift - SECTOR.trailing_zeros();
        let command = &self.requests.commands[tag];
        let start = u64::from(unit) << shift;
        let from = command.first.max(start);
        let to = (command.first + command.sectors).min(start + (1 << shift));
        Part { from: (from - start) as u32, sectors: (to - from) as u32, at: (from - command.first) as u32 }
    }

    /// Reads the `sectors` of the command `tag`.
    #[inline]
    pub(crate) fn read(&mut self, tag: Tag, sectors: &Range<u64>, out: &mut Actions) {
        let (first, last) = self.units_of(sectors);
        self.read_units(tag, first..last + 1, false, out);
    }

    /// Reads `units` for the command `tag`. `mapped`: their translation units were already consulted.
    pub(crate) fn read_units(&mut self, tag: Tag, units: Range<u32>, mapped: bool, out: &mut Actions) {
        let (mut run, mut at_hand) = (Run::default(), 0);
        let mut unit = units.start;
        while unit < units.end {
            if let Some(next) = self.read_unit(tag, unit, mapped, &mut run, &mut at_hand, out) {
                self.issue_read(tag, run, out);
                run = next;
            }
            unit += 1;
        }
        if run.count > 0 {
            self.issue_read(tag, run, out);
        }
        if at_hand > 0 {
            self.deliver(tag, at_hand as u32, out);
        }
    }

    /// Reads one unit: from RAM, as part of the run's page, or after a wait. Returns the unit as a run of its own if it
    /// does not continue `run`, which is not empty then. `mapped`: its translation unit was already consulted.
    #[inline]
    fn read_unit(
        &mut self,
        tag: Tag,
        unit: u32,
        mapped: bool,
        run: &mut Run,
        at_hand: &mut u64,
        out: &mut Actions,
    ) -> Option<Run> {
        let held = self.map.table.held(unit);
        if self.durability.is_lost(unit) {
            self.requests.commands[tag].status = Status::Uncorrectable;
            *at_hand += u64::from(self.part(tag, unit).sectors) * SECTOR;
            return None;
        }
        let buffers = self.buffer.slots.count();
        if let Some(location) = held
            && let DecodedLocation::Buffer(slot) = location.place(buffers)
        {
            if mapped {
                // It was written while the read waited for the map.
                self.buffer.drop_claims(unit..unit + 1);
            }
            self.read_slot(tag, unit, slot, at_hand, out);
            return None;
        }
        if self.looks_up && !mapped {
            if self.claims_space() {
                // The data is looked up before the map, in the order of the request.
                self.claim_clean(unit);
            }
            if self.map.is_cached()
                && let Ready::After(id) = self.map_ready(unit, out)
            {
                let waiters = &mut self.operations[id].waiters;
                *waiters = self.requests.fragments.chain(tag, unit, *waiters);
                return None;
            }
        }
        // Evaluating the rule of a laid-out drive takes long: only once the read can go on.
        let location = held.unwrap_or_else(|| self.map.table.by_rule(unit));
        let DecodedLocation::Flash(home) = location.place(buffers) else {
            let part = self.part(tag, unit);
            self.buffer.drop_claims(unit..unit + 1);
            self.stats.read_unwritten += 1;
            if self.config.moves {
                out.moves.push(Move::ZeroToHost { tag, to: part.at, sectors: part.sectors });
            }
            *at_hand += u64::from(part.sectors) * SECTOR;
            return None;
        };
        let copied = self.buffer.has_read_copies();
        let physical = if copied { self.copied_to(tag, unit, home, out) } else { home };
        let own = Run { unit: physical, logical: unit, count: 1 };
        if run.count == 0 {
            *run = own;
            return None;
        }
        let together = physical == run.unit + run.count
            && unit == run.logical + run.count
            && physical % self.layout.program_units != 0;
        run.count += u32::from(together);
        (!together).then_some(own)
    }

    fn read_slot(&mut self, tag: Tag, unit: u32, slot: u32, at_hand: &mut u64, out: &mut Actions) {
        let part = self.part(tag, unit);
        let wanted = sector_mask(self.layout.grain, part.from, part.sectors);
        let s = &mut self.buffer.slots[slot];
        if s.have & wanted != wanted {
            s.waiters = self.requests.fragments.chain(tag, unit, s.waiters);
            self.requests.waits_for_buffer(tag);
            return;
        }
        if s.holds == Holds::Clean {
            self.buffer.use_clean(slot);
        }
        self.stats.read_hits += 1;
        if self.config.moves {
            let Part { from, sectors, at } = part;
            out.moves.push(Move::BufferToHost { buffer: slot, from, sectors, tag, to: at });
        }
        if self.buffer.slots[slot].away {
            let bytes = part.sectors * SECTOR as u32;
            let id = self.host_access(OperationKind::HostLoad, tag.0, bytes, false, out);
            self.operations[id].bytes = bytes;
            self.requests.waits_for_buffer(tag);
            self.stats.host_memory_hits += 1;
            return;
        }
        *at_hand += u64::from(part.sectors) * SECTOR;
    }

    /// Resumes a chain of fragments. `mapped`: they waited for their translation unit.
    pub(crate) fn wake(&mut self, mut chain: u32, mapped: bool, out: &mut Actions) {
        while chain != NIL {
            let fragment = self.requests.fragments.take(chain);
            chain = fragment.next;
            self.read_units(fragment.tag, fragment.unit..fragment.unit + 1, mapped, out);
        }
    }

    #[inline(always)]
    fn issue_read(&mut self, tag: Tag, Run { unit, logical, count }: Run, out: &mut Actions) {
        let bytes = self.run_bytes(tag, logical, count);
        let (block, page) = (self.layout.block_of(unit), self.layout.span(unit, count));
        let (id, operation) = self.operations.start_bare(OperationKind::HostRead, tag.0);
        (operation.unit, operation.block) = (unit, block);
        (operation.logical, operation.count, operation.bytes) = (logical, count, bytes);
        self.space.blocks.pin(block);
        self.stats.host_reads += 1;
        self.stats.read_misses += u64::from(count);
        let bytes = match self.attends_reads {
            true => sim::rarely(self, move |it| it.attend_read(block, page, (count, bytes))),
            false => bytes,
        };
        out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Host }));
    }

    /// Counts a read of `count` units for refresh. Returns the bytes that it takes from flash: the `bytes` of its command, or
    /// whole units.
    fn attend_read(&mut self, block: u32, page: PageAddr, (count, bytes): (u32, u32)) -> u32 {
        self.gc.refresh.read(block, page);
        if self.claims_space() { count << self.layout.unit_shift } else { bytes }
    }

    /// Returns true if reads of whole units claim the space of their data in the read cache when they begin.
    #[inline]
    fn claims_space(&self) -> bool {
        self.config.buffers.allocation == Allocation::Miss
    }

    /// Returns the first byte that the read `id` needs of the pages that it reads.
    pub fn read_from(&self, id: OpId) -> u32 {
        let Operation { kind, subject, logical, .. } = self.operations[id];
        match kind {
            OperationKind::HostRead if !self.claims_space() => self.part(Tag(subject), logical).from * SECTOR as u32,
            _ => 0,
        }
    }

    /// Returns the number of bytes of the `count` units from `logical` on that the command `tag` covers.
    #[inline]
    fn run_bytes(&self, tag: Tag, logical: u32, count: u32) -> u32 {
        let shift = self.layout.unit_shift - SECTOR.trailing_zeros();
        let command = &self.requests.commands[tag];
        let from = command.first.max(u64::from(logical) << shift);
        let to = (command.first + command.sectors).min(u64::from(logical + count) << shift);
        ((to - from) * SECTOR) as u32
    }

    /// Handles the end of the flash read `id` of a command, and returns the data for the host.
    #[inline(always)]
    pub(crate) fn host_read_done(&mut self, id: OpId, status: Status, out: &mut Actions) -> Option<(Tag, u32)> {
        let Operation { subject, unit, block, logical, count, bytes, .. } = self.operations[id];
        self.operations.free(id);
        let tag = Tag(subject);
        if !status.is_ok() {
            self.buffer.drop_claims(logical..logical + count);
            if self.is_copied(block) {
                self.unpin(block, out);
                self.read_past_copies(tag, logical, count, out);
                return None;
            }
            self.requests.commands[tag].status = status;
        } else if self.uses_read_data() && !self.is_copied(block) {
            self.use_read_data(tag, Run { unit, logical, count }, out);
        }
        self.unpin(block, out);
        Some((tag, bytes))
    }

    /// Returns true if `block` holds read copies.
    fn is_copied(&self, block: u32) -> bool {
        self.buffer.has_read_copies() && self.holds_copies(block)
    }

    /// Returns true if data that was read is moved, copied or cached on its way to the host.
    #[inline]
    fn uses_read_data(&self) -> bool {
        let Config { buffers, host_memory, moves, .. } = &self.config;
        *moves || self.buffer.has_read_copies() || buffers.read > 0 || host_memory.is_some()
    }

    fn use_read_data(&mut self, tag: Tag, Run { unit, logical, count }: Run, out: &mut Actions) {
        if self.config.moves {
            self.move_to_host(tag, unit, logical, count, out);
        }
        if self.buffer.has_read_copies() {
            self.note_read(tag, unit, logical, count, out);
        }
        if self.config.buffers.read > 0 || self.config.host_memory.is_some() {
            self.keep_clean(tag, unit, logical, count, out);
        }
    }

    fn move_to_host(&mut self, tag: Tag, unit: u32, logical: u32, count: u32, out: &mut Actions) {
        for i in 0..count {
            let (page, _, within) = self.layout.address(unit + i);
            let Part { from, sectors, at } = self.part(tag, logical + i);
            out.moves.push(Move::FlashToHost { page, unit: within, from, sectors, tag, to: at });
        }
    }

    /// Caches units that were read in full, if there is room for clean data and they are still the newest.
    fn keep_clean(&mut self, tag: Tag, unit: u32, logical: u32, count: u32, out: &mut Actions) {
        for i in 0..count {
            let home = Location::flash(unit + i);
            let Some(epoch) = self.place_in_cache(tag, logical + i) else { continue };
            if self.map.table.get(logical + i) != home || !self.room_for_clean() {
                continue;
            }
            let slot = self.buffer.slots.take(logical + i, home, Holds::Clean, Owner::Host, self.layout.all_sectors);
            self.buffer.insert_clean(slot, epoch);
            if self.map.has_host_memory() {
                self.place_clean(slot, out);
            }
            self.map.table.set(logical + i, Location::buffer(slot));
            if self.config.moves {
                let (page, _, within) = self.layout.address(unit + i);
                out.moves.push(Move::FlashToBuffer { page, unit: within, buffer: slot, keep: 0 });
            }
        }
    }

    /// Returns the place of `unit` in the order of the clean data: that of its claim, or the last if the command read it
    /// in full. `None` if it is not cached.
    fn place_in_cache(&mut self, tag: Tag, unit: u32) -> Option<u64> {
        if self.claims_space() {
            return self.buffer.end_claim(unit);
        }
        let whole = 1 << (self.layout.unit_shift - SECTOR.trailing_zeros());
        (self.part(tag, unit).sectors == whole).then(|| self.buffer.next_use())
    }

    /// Delivers `bytes` more of a read; the command ends with the last.
    #[inline]
    pub(crate) fn deliver(&mut self, tag: Tag, bytes: u32, out: &mut Actions) {
        let command = &mut self.requests.commands[tag];
        debug_assert!(command.active);
        command.left -= u64::from(bytes);
        command.active = command.left > 0;
        let end = (command.left == 0).then_some(command.status);
        out.actions.push(Action::Data { tag, bytes, end });
    }
}

/// Returns a mask of the bits, of 2^`grain` sectors each, for `sectors` sectors from `from` on.
#[inline]
pub(crate) fn sector_mask(grain: u32, from: u32, sectors: u32) -> u64 {
    debug_assert!(sectors > 0 && (from + sectors - 1) >> grain < UNITS_MAX);
    let (first, last) = (from >> grain, (from + sectors - 1) >> grain);
    (u64::MAX >> (UNITS_MAX - 1 - (last - first))) << first
}
