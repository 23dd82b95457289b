//! Mount: recovers the whole state from the flash alone.
//!
//! The mount examines every readable page of every block; of several copies of a logical unit, the one with the highest
//! sequence number wins. Journal pages then identify trimmed units. A partly written block stays open after its last
//! programmed page: closing it instead would cost one free block per power cut, and a drive that repeatedly loses power
//! while it collects would run out of them. (Assumed: an interrupted program damages only its own page, and no later
//! one.)

use std::ops::Range;

use media::{Flash, PARITY, PageAddr, PlaneMask};
use sim::Time;

use crate::Ftl;
use crate::durability::sequence::Sequence;
use crate::laid::Laid;
use crate::location::{DecodedLocation, Location};
use crate::space::blocks::Use;
use crate::space::parallel_unit::{Stream, WritePoint};
use crate::space::placement::SHARED;

/// Number of pages of a block that are prefetched before they are processed.
const AHEAD: u32 = 16;

/// Findings and cost of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountReport {
    /// Pages whose spare area was read.
    pub pages_read: u64,
    /// Pages whose program was interrupted or failed.
    pub torn_pages: u64,
    /// Physical blocks whose erase was interrupted.
    pub torn_blocks: u32,
    /// Physical blocks marked bad.
    pub bad_blocks: u32,
    /// User units found.
    pub mapped_units: u64,
    /// Units trimmed by a journal page.
    pub trimmed_units: u64,
    /// Largest number of pages read from one die.
    pub pages_of_busiest_die: u64,
}

impl MountReport {
    /// Returns the duration of the scan if all dies work in parallel and each reads its pages one after another in
    /// `page_read`.
    pub fn time(&self, page_read: Time) -> Time {
        page_read * self.pages_of_busiest_die
    }
}

impl Ftl {
    pub(crate) fn scan(&mut self, flash: &impl Flash) -> MountReport {
        assert_eq!(flash.geometry(), &self.config.geometry, "the geometry of the flash differs from the configuration");
        let mut report = MountReport::default();
        let mut newest = Newest { highest: 0, of_translation: vec![0; self.map.translation_count()] };
        let mut by_die = vec![0u64; self.config.geometry.all_dies() as usize];
        let laid = self.take_rule(flash);
        if let Some(laid) = &laid {
            newest.highest = laid.highest();
        }
        for block in 0..self.layout.all_blocks() {
            self.scan_block(block, laid.as_deref(), flash, &mut newest, &mut report, &mut by_die);
        }
        report.pages_of_busiest_die = by_die.into_iter().max().unwrap_or(0);
        self.durability.sequence = Sequence::after(newest.highest);
        self.apply_journal(flash, &mut report);
        if flash.has_lost() {
            self.find_lost(flash);
        }
        self.mark_stale(flash, &newest);
        report.mapped_units = self.mapped_units(laid.is_some());
        self.sort_blocks(flash);
        if let Some(laid) = laid.filter(|laid| laid.highest() == newest.highest) {
            self.rest_as_laid_out(&laid);
            self.collect_as_laid_out(&laid);
        }
        report
    }

    fn scan_block(
        &mut self,
        block: u32,
        laid: Option<&Laid>,
        flash: &impl Flash,
        newest: &mut Newest,
        report: &mut MountReport,
        by_die: &mut [u64],
    ) {
        let mut erases = 0;
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            for plane in at.planes.iter() {
                let info = flash.block(at.die, plane, at.block);
                erases = erases.max(info.erases);
                if info.programmed > 0 {
                    self.gc.refresh.found(block, info.written_s);
                    if info.slc {
                        self.found_slc(block);
                    }
                }
                if info.bad {
                    report.bad_blocks += 1;
                    self.space.blocks.add_hole(block, position, PlaneMask::one(plane).0);
                }
                report.torn_blocks += u32::from(info.torn);
                report.pages_read += u64::from(info.programmed);
                by_die[at.die as usize] += u64::from(info.programmed);
                let by_rule = laid.filter(|_| flash.is_laid_out(at.die, plane, at.block));
                let from = by_rule.map_or(0, |laid| laid.pages(block, position));
                for page in from..info.programmed {
                    if page % AHEAD == 0 || page == from {
                        self.fetch_ahead(block, position, plane, page..info.programmed.min(page + AHEAD), flash);
                    }
                    let program = page * self.layout.per_row + position;
                    let at = PageAddr { page, ..self.layout.page(block, program) };
                    let readable = self.scan_page(at, plane, program, block, flash, newest);
                    report.torn_pages += u64::from(!readable);
                }
            }
        }
        self.space.blocks.set_erases(block, erases);
    }

    /// Prefetches the map entries of the units of `pages` into the processor's caches: each lookup misses them on a
    /// large drive, and independent misses overlap.
    fn fetch_ahead(&self, block: u32, position: u32, plane: u32, pages: Range<u32>, flash: &impl Flash) {
        let at = self.layout.page(block, position);
        let mut mapped = 0u32;
        for page in pages {
            for unit in flash.logical(PageAddr { page, ..at }, plane).iter().filter(|unit| **unit < PARITY) {
                assert!(
                    self.map.table.holds(*unit),
                    "the flash holds logical unit {unit}, which the drive does not have"
                );
                mapped += u32::from(self.map.table.get(*unit) != Location::NOWHERE);
            }
        }
        std::hint::black_box(mapped);
    }

    fn scan_page(
        &mut self,
        page: PageAddr,
        plane: u32,
        program: u32,
        block: u32,
        flash: &impl Flash,
        newest: &mut Newest,
    ) -> bool {
        let spare = flash.logical(page, plane);
        if spare.is_empty() {
            return false;
        }
        let sequence = self.space.placement.sequence(flash.sequence(page, plane));
        newest.highest = newest.highest.max(sequence);
        let first = page.planes.0.trailing_zeros();
        let base = self.layout.unit_of(block, program) + (plane - first) * self.layout.page_units;
        for (i, unit) in spare.iter().enumerate() {
            if *unit >= PARITY {
                continue;
            }
            assert!(self.map.table.holds(*unit), "the flash holds logical unit {unit}, which the drive does not have");
            let physical = base + i as u32;
            let older = self.map.table.get(*unit);
            if older != Location::NOWHERE {
                if self.sequence_at(older, flash) > sequence {
                    continue;
                }
                self.forget(older);
            }
            if let Some(t) = self.map.translation_of(*unit) {
                let of = &mut newest.of_translation[t as usize];
                *of = (*of).max(sequence);
            }
            self.map.table.set(*unit, Location::flash(physical));
            self.space.blocks.set_valid(block, physical);
        }
        true
    }

    /// Returns the sequence number of the program that wrote `location`; 0 for nowhere.
    fn sequence_at(&self, location: Location, flash: &impl Flash) -> u64 {
        match location.place(self.buffer.slots.count()) {
            DecodedLocation::Flash(physical) => {
                let (page, plane, _) = self.layout.address(physical);
                self.space.placement.sequence(flash.sequence(page, plane))
            }
            _ => 0,
        }
    }

    fn forget(&mut self, location: Location) {
        if let DecodedLocation::Flash(physical) = location.place(self.buffer.slots.count()) {
            self.space.blocks.clear_valid(self.layout.block_of(physical), physical);
        }
    }

    fn apply_journal(&mut self, flash: &impl Flash, report: &mut MountReport) {
        let first = self.config.user_units;
        for unit in first..first + crate::sizes::journal_units(&self.config) {
            let DecodedLocation::Flash(physical) = self.place(unit) else { continue };
            let (page, plane, within) = self.layout.address(physical);
            let note = flash.note(page, plane, within);
            assert!(!note.is_empty(), "journal unit {unit} has no content");
            let (as_of, trimmed) = self.durability.journal.found(unit, note);
            // Later pages must not carry a lower sequence number T than this one.
            if as_of > self.durability.sequence.next() {
                self.durability.sequence = Sequence::after(as_of);
            }
            for unit in trimmed {
                let location = self.map.table.get(unit);
                if location != Location::NOWHERE && self.sequence_at(location, flash) < as_of {
                    self.forget(location);
                    self.map.table.set(unit, Location::NOWHERE);
                }
                if self.map.table.get(unit) == Location::NOWHERE {
                    self.durability.journal.restore(unit);
                    report.trimmed_units += 1;
                }
            }
        }
    }

    fn find_lost(&mut self, flash: &impl Flash) {
        for (unit, location) in self.map.table.iter_touched(self.config.user_units) {
            if let DecodedLocation::Flash(physical) = location.place(self.buffer.slots.count()) {
                let (page, plane, within) = self.layout.address(physical);
                if flash.lost(page, plane, within) {
                    self.durability.lost.insert(unit);
                }
            }
        }
    }

    /// Marks translation units older than data they map, which are rewritten when they are next used.
    fn mark_stale(&mut self, flash: &impl Flash, newest: &Newest) {
        let first = self.config.user_units + crate::sizes::journal_units(&self.config);
        for (t, newest) in (0u32..).zip(&newest.of_translation) {
            let stale = *newest > self.sequence_at(self.map.table.get(first + t), flash);
            self.map.set_stale(t, stale);
        }
    }

    /// Determines the usage of each block.
    fn sort_blocks(&mut self, flash: &impl Flash) {
        for pu in 0..self.layout.parallel_units {
            self.measure(pu);
        }
        for block in 0..self.layout.all_blocks() {
            let pu = self.layout.pu_of(block) as usize;
            if self.space.blocks.usable_planes(&self.layout, block) == 0 && self.space.blocks.valid(block) == 0 {
                self.space.blocks.set_usage(block, Use::Bad);
                continue;
            }
            let state = self.look_at(block, flash);
            if self.holds_copies(block) {
                self.set_aside(block, state.programmed > 0 || state.torn);
                continue;
            }
            let slc = self.is_slc(block);
            if state.programmed == 0 && !state.torn {
                self.space.blocks.set_usage(block, Use::Free);
                self.space.parallel_units[pu].add_free(block, slc, &self.layout);
                continue;
            }
            if let Some(stamp) = state.newest_stamp.filter(|_| self.space.placement.is_on()) {
                self.space.placement.set_handle(block, self.space.placement.handle(stamp));
            }
            if !state.torn && self.reopen(block, &state) {
                continue;
            }
            self.space.blocks.close(block, state.newest_stamp.map_or(0, |stamp| self.space.placement.sequence(stamp)));
            if slc {
                self.space.blocks.withhold(block);
                self.space.parallel_units[pu].add_closed_slc(block);
            }
            if state.torn {
                self.gc.force(pu as u32, block);
            }
        }
        for pu in 0..self.layout.parallel_units {
            self.leave_room_to_copies(pu);
        }
    }

    /// Assigns the open blocks of `pu` to streams. The flash does not record which block was open for which stream. If
    /// collection has no free block left, it needs the open block with more room, which may be the last one it had
    /// opened.
    fn leave_room_to_copies(&mut self, pu: u32) {
        if self.is_reserved(pu, 0) {
            return;
        }
        let unit = &self.space.parallel_units[pu as usize];
        let left = |stream: Stream| unit.write_point(stream).map_or(0, |f| self.capacity(f.block, f.end - f.next));
        if left(Stream::Host) > left(Stream::Copy) {
            self.space.parallel_units[pu as usize].swap_write_points();
            self.relabel(pu);
        }
    }

    /// Makes the handles of the blocks open for host data and for copies in `pu` those of their new streams.
    fn relabel(&mut self, pu: u32) {
        if self.space.placement.is_on() {
            for (stream, handle) in [(Stream::Host, 0), (Stream::Copy, SHARED)] {
                if let Some(open) = self.space.parallel_units[pu as usize].write_point(stream) {
                    self.space.placement.set_handle(open.block, handle);
                }
            }
        }
    }

    fn look_at(&self, block: u32, flash: &impl Flash) -> Found {
        let mut found = Found::default();
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            let hole = self.space.blocks.hole(block, position);
            let mut pages = None;
            for plane in at.planes.iter() {
                let info = flash.block(at.die, plane, at.block);
                found.torn |= info.torn;
                if hole >> plane & 1 != 0 {
                    continue;
                }
                // Planes of a position are programmed together.
                debug_assert!(pages.is_none_or(|p| p == info.programmed) || info.torn);
                pages = Some(info.programmed);
                found.programmed += info.programmed;
                if info.programmed > 0 {
                    let last = PageAddr { page: info.programmed - 1, ..self.layout.page(block, position) };
                    if flash.readable(last, plane) {
                        found.newest_stamp = found.newest_stamp.max(Some(flash.sequence(last, plane)));
                    }
                }
            }
            found.pages.push(pages);
        }
        found
    }

    /// Reopens `block` if it is not full and its parallel unit has no open block for that stream yet.
    fn reopen(&mut self, block: u32, found: &Found) -> bool {
        let (per_row, end) = (self.layout.per_row, self.programs_of(block));
        let next_of = |position: u32, pages: u32| pages * per_row + position;
        let usable = || (0..per_row).zip(&found.pages).filter_map(|(position, pages)| Some((position, (*pages)?)));
        let Some(first) = usable().map(|(position, pages)| next_of(position, pages)).min() else { return false };
        if first >= end {
            return false;
        }
        // Dies do not complete their programs in lockstep: some programs are ahead of the first missing one.
        let mut ahead = Vec::new();
        for (position, pages) in usable() {
            ahead.extend((0..pages).map(|page| next_of(position, page)).filter(|program| *program > first));
        }
        let placed;
        let streams: &[Stream] = match (self.is_slc(block), self.config.collection.separate) {
            (false, _) if self.space.placement.is_on() => {
                placed = self.space.placement.streams_of(self.space.placement.handle_of(block));
                &placed
            }
            (true, _) => &[Stream::Slc],
            (false, true) => &[Stream::Copy, Stream::Host],
            (false, false) => &[Stream::Copy],
        };
        let l = &mut self.space.parallel_units[self.layout.pu_of(block) as usize];
        let open = WritePoint { block, next: first, end };
        if !streams.iter().any(|stream| l.reopen(*stream, open, &ahead, &self.layout)) {
            return false;
        }
        self.space.blocks.set_usage(block, Use::Open);
        true
    }
}

/// State of a block found by the mount.
#[derive(Default)]
struct Found {
    /// Number of programmed pages, over all planes.
    programmed: u32,
    /// Number of programmed pages per position; `None` if no plane is usable.
    pages: Vec<Option<u32>>,
    torn: bool,
    /// Stamp of the newest readable page.
    newest_stamp: Option<u64>,
}

/// The highest sequence numbers seen in the scan: overall, and for the data that each translation unit maps.
struct Newest {
    highest: u64,
    of_translation: Vec<u64>,
}
