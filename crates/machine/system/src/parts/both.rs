//! A zoned drive with a conventional part: the layer of zones on the first blocks of every plane, a page-mapped one on the
//! rest. Each keeps its own state and durability; they share dies and channels.
//!
//! The zones come first in the drive's addresses. Operations of the page-mapped layer have odd numbers outside, those of
//! the zones even ones; its buffers follow those of the zones.

use ftl::config::ConfigError;
use ftl::{Ftl, MountReport, Stats};
use media::{
    Action, Actions, BlockInfo, Flash, Geometry, Move, OpId, PageAddr, ProgramUnit, ReadOp, Request, SECTOR, Status,
    Tag,
};
use sim::{Streams, Time};
use zones::ftl::ZonedFtl;

use super::promise::Promise;

/// The two layers of a zoned drive with a conventional part.
pub struct Both {
    pub(super) zones: ZonedFtl,
    pub(super) pages: Ftl,
    /// The first block of the page-mapped layer in each plane, and its geometry.
    first_block: u32,
    geometry: Geometry,
    /// Bytes of the zones.
    zoned_bytes: u64,
    /// Buffers of the zones.
    buffers: u32,
    /// The tags whose command belongs to the page-mapped layer.
    is_paged: Vec<bool>,
}

/// The blocks of one layer, as a flash of its own.
struct Blocks<'a, F> {
    flash: &'a F,
    geometry: &'a Geometry,
    first: u32,
}

impl<F: Flash> Flash for Blocks<'_, F> {
    fn geometry(&self) -> &Geometry {
        self.geometry
    }
    fn block(&self, die: u16, plane: u32, block: u32) -> BlockInfo {
        self.flash.block(die, plane, block + self.first)
    }
    fn logical(&self, page: PageAddr, plane: u32) -> &[u32] {
        self.flash.logical(shifted(page, self.first), plane)
    }
    fn sequence(&self, page: PageAddr, plane: u32) -> u64 {
        self.flash.sequence(shifted(page, self.first), plane)
    }
    fn note(&self, page: PageAddr, plane: u32, unit: u32) -> &[u8] {
        self.flash.note(shifted(page, self.first), plane, unit)
    }
    fn has_lost(&self) -> bool {
        self.flash.has_lost()
    }
    fn lost(&self, page: PageAddr, plane: u32, unit: u32) -> bool {
        self.flash.lost(shifted(page, self.first), plane, unit)
    }
    fn readable(&self, page: PageAddr, plane: u32) -> bool {
        self.flash.readable(shifted(page, self.first), plane)
    }
}

fn shifted(page: PageAddr, by: u32) -> PageAddr {
    PageAddr { block: page.block + by, ..page }
}

impl Both {
    /// Mounts the page-mapped layer of `config` on the last of `blocks` blocks of each plane, next to the mounted layer of
    /// zones.
    ///
    /// # Errors
    /// If a configuration cannot work.
    pub(super) fn mount(
        (zones, found): (ZonedFtl, MountReport),
        blocks: u32,
        config: &ftl::config::Config,
        flash: &impl Flash,
        streams: &Streams,
    ) -> Result<(Both, MountReport), ConfigError> {
        let first_block = blocks - config.geometry.blocks;
        let view = Blocks { flash, geometry: &config.geometry, first: first_block };
        let (pages, report) = Ftl::mount(config.clone(), &view, streams)?;
        let report = MountReport {
            pages_read: report.pages_read + found.pages_read,
            pages_of_busiest_die: report.pages_of_busiest_die + found.pages_of_busiest_die,
            ..report
        };
        let both = Both {
            buffers: zones.buffer_count(),
            zoned_bytes: u64::from(zones.user_units()) * u64::from(zones.unit_bytes()),
            is_paged: vec![false; config.tags as usize],
            geometry: config.geometry,
            zones,
            pages,
            first_block,
        };
        Ok((both, report))
    }

    /// Returns the first contents of the page-mapped layer's blocks that it cannot have left, if there are any.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub(super) fn contradiction(
        blocks: u32,
        config: &ftl::config::Config,
        flash: &impl Flash,
        streams: &Streams,
    ) -> Result<Option<String>, ConfigError> {
        let view = Blocks { flash, geometry: &config.geometry, first: blocks - config.geometry.blocks };
        Ftl::contradiction(config, &view, streams)
    }

    /// Appends reads of the pages that hold these units of the zones to `reads`. The conventional part is not read ahead.
    pub(super) fn read_ahead(&mut self, units: std::ops::Range<u32>, reads: &mut Vec<ReadOp>) {
        let from = reads.len();
        self.zones.read_ahead(units, reads);
        reads[from..].iter_mut().for_each(|op| op.id = OpId(2 * op.id.0));
    }

    /// Lets the layer of zones act, whose output goes to `out`.
    fn with_zones(&mut self, out: &mut Actions, act: impl FnOnce(&mut ZonedFtl, &mut Actions)) {
        let from = out.actions.len();
        act(&mut self.zones, out);
        for action in &mut out.actions[from..] {
            match action {
                Action::Read(op) => op.id = OpId(2 * op.id.0),
                Action::Program(op) => op.id = OpId(2 * op.id.0),
                Action::Erase(op) => op.id = OpId(2 * op.id.0),
                Action::Barrier(id) => *id = OpId(2 * id.0),
                _ => {}
            }
        }
    }

    /// Lets the page-mapped layer act, whose output goes to `out`.
    fn with_pages(&mut self, out: &mut Actions, act: impl FnOnce(&mut Ftl, &mut Actions)) {
        let (actions, moves) = (out.actions.len(), out.moves.len());
        act(&mut self.pages, out);
        for action in &mut out.actions[actions..] {
            self.move_out(action);
        }
        for movement in &mut out.moves[moves..] {
            *movement = self.moved(*movement);
        }
    }

    /// Gives an action of the page-mapped layer the drive's number and address.
    fn move_out(&self, action: &mut Action) {
        let (number, first) = (|id: OpId| OpId(2 * id.0 + 1), self.first_block);
        match action {
            Action::Read(op) => (op.id, op.page) = (number(op.id), shifted(op.page, first)),
            Action::Program(op) => (op.id, op.page) = (number(op.id), shifted(op.page, first)),
            Action::Erase(op) => {
                op.id = number(op.id);
                op.block.block += first;
            }
            Action::Retire(block) => block.block += first,
            Action::Barrier(id) => *id = number(*id),
            _ => {}
        }
    }

    /// Returns a move of the page-mapped layer with the drive's buffers and addresses.
    fn moved(&self, movement: Move) -> Move {
        let (first, own) = (self.first_block, |buffer: u32| buffer + self.buffers);
        match movement {
            Move::HostToBuffer { tag, from, sectors, buffer, to } => {
                Move::HostToBuffer { tag, from, sectors, buffer: own(buffer), to }
            }
            Move::BufferToHost { buffer, from, sectors, tag, to } => {
                Move::BufferToHost { buffer: own(buffer), from, sectors, tag, to }
            }
            Move::FlashToHost { page, unit, from, sectors, tag, to } => {
                Move::FlashToHost { page: shifted(page, first), unit, from, sectors, tag, to }
            }
            Move::FlashToBuffer { page, unit, buffer, keep } => {
                Move::FlashToBuffer { page: shifted(page, first), unit, buffer: own(buffer), keep }
            }
            Move::BufferToBuffer { from, to, keep } => Move::BufferToBuffer { from: own(from), to: own(to), keep },
            Move::ZeroBuffer { buffer, keep } => Move::ZeroBuffer { buffer: own(buffer), keep },
            Move::XorBuffer { from, to } => Move::XorBuffer { from: own(from), to: own(to) },
            Move::XorFlash { page, unit, buffer } => {
                Move::XorFlash { page: shifted(page, first), unit, buffer: own(buffer) }
            }
            Move::ZeroToHost { .. } => movement,
        }
    }

    /// Starts what the mounts left to do.
    pub(super) fn start(&mut self, out: &mut Actions) {
        self.pages.warm_map();
        self.with_zones(out, |zones, out| zones.resume(out));
    }

    /// Starts a host command of the layer that its address belongs to, also that of a flush.
    pub(super) fn command(&mut self, now: Time, tag: Tag, request: &Request, out: &mut Actions) {
        let is_paged = request.offset >= self.zoned_bytes;
        self.is_paged[tag.0 as usize] = is_paged;
        if is_paged {
            let request = Request { offset: request.offset - self.zoned_bytes, ..*request };
            debug_assert!(request.offset.is_multiple_of(SECTOR));
            self.with_pages(out, |pages, out| pages.command(now, tag, &request, out));
        } else {
            self.with_zones(out, |zones, out| zones.command(now, tag, request, out));
        }
    }

    /// Accepts the data of a write.
    pub(super) fn arrived(&mut self, now: Time, tag: Tag, out: &mut Actions) {
        if self.is_paged[tag.0 as usize] {
            self.with_pages(out, |pages, out| pages.arrived(now, tag, out));
        } else {
            self.with_zones(out, |zones, out| zones.arrived(now, tag, out));
        }
    }

    /// Handles the end of an operation.
    pub(super) fn done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        let own = OpId(id.0 / 2);
        if id.0.is_multiple_of(2) {
            return self.with_zones(out, |zones, out| zones.done(own, status, flash, out));
        }
        let (geometry, first) = (self.geometry, self.first_block);
        let view = Blocks { flash, geometry: &geometry, first };
        self.with_pages(out, |pages, out| pages.done(own, status, &view, out));
    }

    /// Returns the first byte that a flash read needs of its pages.
    pub(super) fn read_from(&self, id: OpId) -> u32 {
        if id.0.is_multiple_of(2) { 0 } else { self.pages.read_from(OpId(id.0 / 2)) }
    }

    /// Returns the command that a flash read delivers data to.
    pub(super) fn reader(&self, id: OpId) -> Option<Tag> {
        let own = OpId(id.0 / 2);
        if id.0.is_multiple_of(2) { self.zones.reader(own) } else { self.pages.reader(own) }
    }

    /// Returns true if the command has waited for a buffer of the page-mapped layer since the last call.
    pub(super) fn take_buffer_wait(&mut self, tag: Tag) -> bool {
        self.is_paged[tag.0 as usize] && self.pages.take_buffer_wait(tag)
    }

    /// Returns the number for the spare area of a program.
    pub(super) fn program_sequence(&self, id: OpId) -> u64 {
        let own = OpId(id.0 / 2);
        if id.0.is_multiple_of(2) { self.zones.program_sequence(own) } else { self.pages.program_sequence(own) }
    }

    /// Iterates over the units of a program.
    pub(super) fn program_units(&self, id: OpId) -> Box<dyn Iterator<Item = ProgramUnit> + '_> {
        let own = OpId(id.0 / 2);
        if id.0.is_multiple_of(2) {
            return Box::new(self.zones.program_units(own));
        }
        let units = self.pages.program_units(own);
        Box::new(units.map(|unit| ProgramUnit { buffer: unit.buffer.wrapping_add(self.buffers), ..unit }))
    }

    /// Returns the content of a unit of a layer itself, in the program `id`.
    pub(super) fn note(&self, id: OpId, unit: u32) -> Option<&[u8]> {
        if id.0.is_multiple_of(2) { self.zones.note(unit) } else { self.pages.note(unit) }
    }

    /// Returns the time at which to call [`timer`](Self::timer).
    pub(super) fn next_timer(&self) -> Option<Time> {
        self.zones.next_timer().into_iter().chain(self.pages.next_timer()).min()
    }

    /// Handles the timers that are due.
    pub(super) fn timer(&mut self, now: Time, out: &mut Actions) {
        self.with_zones(out, |zones, out| zones.timer(now, out));
        if self.pages.next_timer().is_some_and(|at| at <= now) {
            self.with_pages(out, |pages, out| pages.timer(now, out));
        }
    }

    /// Resets the controller.
    pub(super) fn controller_reset(&mut self, kept: bool, flash: &impl Flash) -> ftl::HostMemoryLoss {
        self.zones.controller_reset();
        let (geometry, first) = (self.geometry, self.first_block);
        self.pages.controller_reset(kept, &Blocks { flash, geometry: &geometry, first })
    }

    /// Goes on after a reset of the controller.
    pub(super) fn resume(&mut self, out: &mut Actions) {
        self.with_zones(out, |zones, out| zones.resume(out));
        self.with_pages(out, |pages, out| pages.resume(out));
    }

    /// Begins to write all buffered data to flash.
    pub(super) fn write_out(&mut self, out: &mut Actions) {
        self.with_zones(out, |zones, out| zones.write_out(out));
        self.with_pages(out, |pages, out| pages.write_out(out));
    }

    /// Returns true if no data is only in a buffer.
    pub(super) fn is_written_out(&self) -> bool {
        self.zones.is_written_out() && self.pages.is_written_out()
    }

    /// Writes back a changed part of the map from number `from` on. Returns the next number, if there is more.
    pub(super) fn write_back_map(&mut self, from: u32, out: &mut Actions) -> Option<u32> {
        let mut next = None;
        self.with_pages(out, |pages, out| next = pages.write_back_map(from, out));
        next
    }

    /// Returns the promise of a command's successful end.
    pub(super) fn promise(&self, tag: Tag) -> Promise {
        if self.is_paged[tag.0 as usize] {
            Promise::of_pages(&self.pages, tag)
        } else {
            Promise::of_zones(&self.zones, tag)
        }
    }

    /// Returns a number for spare areas below which all programs have completed. That of the page-mapped layer, whose
    /// numbers are all lower than those of the zones.
    pub(super) fn oldest_sequence(&self) -> u64 {
        self.pages.oldest_sequence()
    }

    /// Returns the counters of both layers.
    pub(super) fn stats(&self, zones: Stats) -> Stats {
        let pages = self.pages.stats();
        Stats {
            host_units: zones.host_units + pages.host_units,
            host_bytes: zones.host_bytes + pages.host_bytes,
            programmed_host: zones.programmed_host + pages.programmed_host,
            programmed_copy: zones.programmed_copy + pages.programmed_copy,
            programmed_system: zones.programmed_system + pages.programmed_system,
            programmed_padding: zones.programmed_padding + pages.programmed_padding,
            programs: zones.programs + pages.programs,
            host_reads: zones.host_reads + pages.host_reads,
            read_hits: zones.read_hits + pages.read_hits,
            read_misses: zones.read_misses + pages.read_misses,
            read_unwritten: zones.read_unwritten + pages.read_unwritten,
            copy_reads: zones.copy_reads + pages.copy_reads,
            erases: zones.erases + pages.erases,
            failures: zones.failures + pages.failures,
            lost_units: zones.lost_units + pages.lost_units,
            ..*pages
        }
    }

    /// Resets the counters.
    pub(super) fn reset_stats(&mut self) {
        self.zones.reset_stats();
        self.pages.reset_stats();
    }

    /// Returns the minimum, mean and maximum number of erases of a block.
    pub(super) fn wear(&self) -> (u32, f64, u32) {
        let ((low, mean, high), (own_low, own_mean, own_high)) = (self.zones.wear(), self.pages.wear());
        let share = f64::from(self.geometry.blocks) / f64::from(self.geometry.blocks + self.first_block);
        (low.min(own_low), mean * (1.0 - share) + own_mean * share, high.max(own_high))
    }

    /// Returns true if neither layer accepts writes any more.
    pub(super) fn is_read_only(&self) -> bool {
        self.zones.is_read_only() && self.pages.is_read_only()
    }
}
