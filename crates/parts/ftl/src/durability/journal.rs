//! The trim journal: records trimmed units, which spare areas cannot express.
//!
//! Logical units beyond the user's hold bitmap pages, each for one region of the drive: "as of sequence T these units
//! are trimmed". A page is issued only when all programs before T are durable. Recovery takes the page with the highest
//! T of each region and drops the units whose newest copy is older than T. A trimmed unit that is written again has a
//! higher sequence number and wins, regardless of the page.

use std::collections::VecDeque;

use media::{Class, SECTOR, Status, Tag};

use crate::buffer::slots::{Holds, NIL};
use crate::config::Config;
use crate::location::{DecodedLocation, Location};
use crate::request::operation::OperationKind;
use crate::sizes::{self, HEADER};
use crate::space::parallel_unit::Stream;
use crate::{Actions, Ftl, InjectedFault};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No pages to write.
    Idle,
    /// Pages were composed as of this sequence number; all programs before it must be durable.
    Drawn(u64),
    /// Pages are being assigned to programs.
    Writing,
    /// All pages are in programs below this sequence number.
    Sealed(u64),
}

/// Trimmed units, and the pages that record them.
pub(crate) struct Journal {
    first: u32,
    region_units: u32,
    regions: u32,
    user_units: u32,
    trimmed: Vec<u64>,
    any: bool,
    /// Regions whose page is outdated.
    stale: Vec<bool>,
    stale_count: u32,
    /// Pages composed but not issued.
    drawn: VecDeque<(u32, Box<[u8]>)>,
    /// Last issued content of each page.
    issued: Vec<Option<Box<[u8]>>>,
    phase: Phase,
    /// Pages in slots that are not in a program yet.
    in_slots: u32,
    /// Number of times pages were composed; later trims belong to the next generation.
    generation: u32,
    /// The last generation that is durable.
    durable: u32,
    /// The generation whose durability was requested.
    wanted: u32,
}

impl Journal {
    pub(crate) fn new(config: &Config) -> Journal {
        let regions = sizes::journal_units(config);
        Journal {
            first: config.user_units,
            region_units: sizes::region_units(config),
            regions,
            user_units: config.user_units,
            trimmed: vec![0; config.user_units.div_ceil(64) as usize],
            any: false,
            stale: vec![false; regions as usize],
            stale_count: 0,
            drawn: VecDeque::new(),
            issued: vec![None; regions as usize],
            phase: Phase::Idle,
            in_slots: 0,
            generation: 0,
            durable: 0,
            wanted: 0,
        }
    }

    /// Returns the generation that makes every trim so far durable, and requests its durability.
    pub(crate) fn want_trims(&mut self) -> u32 {
        let generation = self.generation + u32::from(self.stale_count > 0);
        self.wanted = self.wanted.max(generation);
        generation
    }

    /// Requests that `generation` become durable; returns true if it already is.
    pub(crate) fn want(&mut self, generation: u32) -> bool {
        self.wanted = self.wanted.max(generation);
        generation <= self.durable
    }

    /// Returns true if `generation` is durable.
    pub(crate) fn is_durable(&self, generation: u32) -> bool {
        generation <= self.durable
    }

    /// Returns true if every trim so far is durable.
    pub(crate) fn all_durable(&self) -> bool {
        self.stale_count == 0 && self.durable == self.generation
    }

    /// Returns true while a requested generation is not durable.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted > self.durable
    }

    /// Clears the trim of `unit`, which is in a program again.
    #[inline]
    pub(crate) fn written(&mut self, unit: u32) {
        if self.any && unit < self.user_units {
            self.trimmed[unit as usize / 64] &= !(1 << (unit % 64));
        }
    }

    fn trim(&mut self, unit: u32) {
        self.any = true;
        self.trimmed[unit as usize / 64] |= 1 << (unit % 64);
        let stale = &mut self.stale[(unit / self.region_units) as usize];
        self.stale_count += u32::from(!*stale);
        *stale = true;
    }

    /// Returns the last issued content of the page `unit`.
    pub(crate) fn note(&self, unit: u32) -> Option<&[u8]> {
        let region = unit.checked_sub(self.first)?;
        self.issued.get(region as usize)?.as_deref()
    }

    /// Composes the page of `region` as of `sequence`.
    fn draw(&self, region: u32, sequence: u64) -> Box<[u8]> {
        let mut page = vec![0u8; (HEADER + self.region_units / 8) as usize];
        page[..HEADER as usize].copy_from_slice(&sequence.to_le_bytes());
        let from = region * self.region_units;
        let to = (from + self.region_units).min(self.user_units);
        for unit in from..to {
            if self.trimmed[unit as usize / 64] >> (unit % 64) & 1 != 0 {
                let bit = unit - from;
                page[(HEADER + bit / 8) as usize] |= 1 << (bit % 8);
            }
        }
        page.into_boxed_slice()
    }

    /// Takes over a page found in flash; returns its sequence number T and the units that it trims.
    pub(crate) fn found(&mut self, unit: u32, page: &[u8]) -> (u64, impl Iterator<Item = u32> + use<>) {
        let region = unit - self.first;
        let (head, bits) = page.split_at(HEADER as usize);
        let sequence = u64::from_le_bytes(head.try_into().unwrap_or_default());
        self.issued[region as usize] = Some(page.into());
        let (from, bits) = (region * self.region_units, bits.to_vec());
        let set = (0..bits.len() as u32 * 8).filter(move |i| bits[*i as usize / 8] >> (i % 8) & 1 != 0);
        (sequence, set.map(move |i| from + i))
    }

    /// Marks a unit as trimmed by a page found in flash.
    pub(crate) fn restore(&mut self, unit: u32) {
        self.any = true;
        self.trimmed[unit as usize / 64] |= 1 << (unit % 64);
    }

    /// Notes that the page `unit` is in a program.
    pub(crate) fn issued(&mut self, unit: u32) {
        self.in_slots -= u32::from(self.owns(unit));
    }

    /// Returns true if logical unit `unit` is a page of the journal.
    pub(crate) fn owns(&self, unit: u32) -> bool {
        (self.first..self.first + self.regions).contains(&unit)
    }
}

impl Ftl {
    pub(crate) fn trim(&mut self, tag: Tag, out: &mut Actions) {
        if self.requests.commands[tag].sectors > 0 {
            // Refuses a range beyond the capacity.
            self.range(tag);
            let shift = self.layout.unit_shift - SECTOR.trailing_zeros();
            let command = &self.requests.commands[tag];
            // Only whole units are trimmed; partially covered units stay.
            let mut unit = command.first.div_ceil(1 << shift);
            let end = (command.first + command.sectors) >> shift;
            let (whole, mut noted) = (unit..end, None);
            while unit < end {
                if self.map.table.get(unit as u32) == Location::NOWHERE {
                    unit = self.map.table.next_touched(unit).max(unit + 1);
                    continue;
                }
                self.trim_unit(unit as u32, out);
                if self.map.is_cached() {
                    self.map_trimmed(unit as u32, &whole, &mut noted, out);
                }
                unit += 1;
            }
        }
        self.complete(tag, Status::Ok, out);
        self.admit(out);
        self.dispatch(out);
    }

    fn trim_unit(&mut self, unit: u32, out: &mut Actions) {
        self.durability.replace(unit);
        self.buffer.drop_read_copy(unit);
        let home = self.home(unit);
        let place = self.place(unit);
        self.map.table.set(unit, Location::NOWHERE);
        // Discarded data that a command may wait for will not reach flash.
        let mut discarded = self.durability.retries.any() && self.forget_failed(unit);
        if let DecodedLocation::Buffer(slot) = place {
            // Reads that wait for its data now find the unit trimmed.
            let chain = std::mem::replace(&mut self.buffer.slots[slot].waiters, NIL);
            self.wake(chain, true, out);
            match self.buffer.slots[slot].holds {
                Holds::Dirty => {
                    discarded = true;
                    self.leave_host_memory(slot);
                    self.buffer.dirty.remove(&mut self.buffer.slots, slot);
                    if self.buffer.slots[slot].filling {
                        self.buffer.slots[slot].holds = Holds::Doomed;
                    } else {
                        self.buffer.slots.give(slot);
                        self.buffer.release_write();
                    }
                }
                Holds::Clean => {
                    self.leave_host_memory(slot);
                    self.buffer.remove_clean(slot);
                    self.buffer.slots.give(slot);
                }
                // Its program continues; on completion no entry refers to it.
                Holds::Moving | Holds::Nothing | Holds::Doomed => {}
            }
        }
        self.durability.journal.trim(unit);
        if discarded {
            self.wait_for_trims();
        }
        if let DecodedLocation::Flash(physical) = home.place(self.buffer.slots.count()) {
            // If the newest copy were erased before the trim is durable, an older one could reappear.
            self.space.blocks.set_trimmed(self.layout.block_of(physical), self.durability.journal.generation + 1);
        }
        self.invalidate(home);
    }

    /// Advances the journal until the requested generation is durable.
    pub(crate) fn drive_journal(&mut self, out: &mut Actions) {
        while self.durability.journal.is_wanted() {
            match self.durability.journal.phase {
                Phase::Idle => self.draw_journal(),
                Phase::Drawn(sequence) => {
                    if self.durability.sequence.oldest() < sequence {
                        return;
                    }
                    self.durability.journal.phase = Phase::Writing;
                }
                Phase::Writing => {
                    if !self.durability.journal.drawn.is_empty() {
                        self.write_journal(out);
                    }
                    if self.durability.journal.in_slots > 0 || !self.durability.journal.drawn.is_empty() {
                        return;
                    }
                    self.durability.journal.phase = Phase::Sealed(self.durability.sequence.next());
                }
                Phase::Sealed(seal) => {
                    if self.durability.sequence.oldest() < seal {
                        return;
                    }
                    self.durability.journal.phase = Phase::Idle;
                    self.durability.journal.durable = self.durability.journal.generation;
                }
            }
        }
    }

    fn draw_journal(&mut self) {
        let sequence = self.durability.sequence.next();
        for region in 0..self.durability.journal.regions {
            if std::mem::replace(&mut self.durability.journal.stale[region as usize], false)
                && !self.injected.strikes(InjectedFault::JournalSkipped)
            {
                let page = self.durability.journal.draw(region, sequence);
                self.durability.journal.drawn.push_back((region, page));
            }
        }
        debug_assert!(self.durability.journal.stale_count > 0, "a generation without trims was requested");
        self.durability.journal.stale_count = 0;
        self.durability.journal.generation += 1;
        self.durability.journal.phase = Phase::Drawn(sequence);
    }

    /// Moves composed pages into slots, as far as any are free, and forces their write.
    fn write_journal(&mut self, out: &mut Actions) {
        while let Some((region, _)) = self.durability.journal.drawn.front() {
            let unit = self.durability.journal.first + *region;
            // Collection may be moving the previous version of the page, so the new version gets its own slot.
            if self.system_slot(unit).is_none() {
                break;
            }
            if let Some((region, page)) = self.durability.journal.drawn.pop_front() {
                self.durability.journal.issued[region as usize] = Some(page);
            }
            self.durability.journal.in_slots += 1;
        }
        self.buffer.dirty.force();
        self.destage(out);
    }

    /// Writes journal pages to the blocks for copies, since host writes have no room and erases may wait for the
    /// journal.
    pub(crate) fn rescue_journal(&mut self, out: &mut Actions) {
        let mut pages = Vec::new();
        for head in self.buffer.dirty.heads() {
            let mut slot = head;
            while slot != NIL {
                if self.durability.journal.owns(self.buffer.slots[slot].unit) {
                    pages.push(slot);
                }
                slot = self.buffer.slots.next(slot);
            }
        }
        // Journal pages use up the room that a parallel unit reserves for them, so begin with units that get a block
        // erased in return.
        let waits = |block: &u32| !self.durability.journal.is_durable(self.space.blocks.trimmed(*block));
        let waiting = self.space.erase_queue.blocks().filter(waits).map(|block| self.layout.pu_of(block));
        let parallel_units: Vec<u32> = waiting.chain(0..self.layout.parallel_units).collect();
        let mut parallel_units = parallel_units.into_iter();
        let mut next = parallel_units.next();
        while let Some(pu) = next.filter(|_| !pages.is_empty()) {
            let Some(room) = self.room(pu, Stream::Copy) else {
                next = parallel_units.next();
                continue;
            };
            let id = self.start_operation(OperationKind::Program, pu);
            let now = pages.split_off(pages.len().saturating_sub(room.units as usize));
            self.operations.slots_mut(id).fill(NIL);
            for (i, slot) in now.into_iter().enumerate() {
                self.buffer.dirty.remove(&mut self.buffer.slots, slot);
                self.operations.slots_mut(id)[i] = slot;
            }
            self.issue_program(id, room, Class::Host, out);
        }
    }
}
