//! The mount: finds zones, write pointers and the log from the spare areas of flash.

use std::sync::Arc;

use media::{Flash, Move};

use crate::ftl::config::{ConfigError, ZonedFtlConfig};
use crate::ftl::durability::log::Head;
use crate::ftl::request::buffer::NIL;
use crate::ftl::space::blocks::Block;
use crate::ftl::space::extent::{Finishing, Recovered};
use crate::ftl::space::laid::LaidZones;
use crate::ftl::space::layout::Program;
use crate::ftl::{ZonedFtl, split_stamp};

/// Work of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountReport {
    /// Spare areas that a drive would have read.
    pub pages_read: u64,
    /// Zones with data.
    pub zones: u32,
    /// Blocks with pages after a write pointer, to be replaced or erased before their zone is written again.
    pub replaced: u32,
    /// Units found in the log, which are in the write buffer now.
    pub from_log: u32,
}

/// A block of a zone.
#[derive(Clone, Copy, Debug)]
struct ZoneBlock {
    at: Block,
    generation: u32,
    column: u32,
    block: u32,
    /// Pages programmed, readable or not.
    programmed: u32,
    /// Readable pages from the block's start.
    readable: u32,
    /// It was laid out as part of a full zone, and not erased since.
    laid: bool,
}

/// A record of a zone's end in the log.
#[derive(Clone, Copy, Debug)]
struct LogRecord {
    head: Head,
    at: Block,
    page: u32,
    /// Number of the block.
    number: u64,
}

/// What the scan of all blocks found.
struct Scan {
    /// By zone.
    blocks: Vec<Vec<ZoneBlock>>,
    /// Blocks of the log, with the sequence number of their first page, and their pages.
    log: Vec<(u64, Block, u32)>,
}

impl ZonedFtl {
    /// Mounts `flash`, either erased or as an earlier instance of the same configuration left it. All state is
    /// recovered from the flash alone. [`resume`](Self::resume) must follow.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn mount(config: ZonedFtlConfig, flash: &impl Flash) -> Result<(ZonedFtl, MountReport), ConfigError> {
        let mut ftl = ZonedFtl::empty(config)?;
        let mut report = MountReport::default();
        let mut scan = ftl.scan(flash, &mut report);
        let records = ftl.read_log(flash, &mut scan, &mut report);
        for zone in 0..ftl.config.zones.zones {
            let blocks = std::mem::take(&mut scan.blocks[zone as usize]);
            ftl.recover_zone(flash, zone, blocks, records[zone as usize], &mut report);
        }
        ftl.renew_recovered();
        Ok((ftl, report))
    }

    /// Starts what the mount or a reset of the controller left to do: moves recovered data to the buffer, and erases and
    /// replaces blocks.
    pub fn resume(&mut self, out: &mut media::Actions) {
        out.moves.append(&mut self.found);
        for block in std::mem::take(&mut self.garbage) {
            self.log.useless += 1;
            self.erase(crate::ftl::request::operation::OperationKind::Discard(block), NIL, block, out);
        }
        for zone in 0..self.current.len() {
            let id = self.current[zone];
            self.erase_replaced(id, out);
            self.go_on_finishing(id, out);
        }
        self.go_on_moving(out);
        self.go_on_logging(out);
        self.clean_log(out);
    }

    fn scan(&mut self, flash: &impl Flash, report: &mut MountReport) -> Scan {
        let g = self.config.geometry;
        let rule = laid_zones(flash);
        if let Some(rule) = &rule {
            self.sequence = rule.last_sequence();
        }
        let mut scan = Scan { blocks: vec![Vec::new(); self.config.zones.zones as usize], log: Vec::new() };
        for die in 0..g.all_dies() as u16 {
            for block in 0..g.blocks {
                let at = Block { die, block };
                let infos = || (0..g.planes).map(|plane| flash.block(die, plane, block));
                self.blocks.set_erases(at, infos().map(|info| info.erases).max().unwrap_or(0));
                if infos().any(|info| info.bad) {
                    continue;
                }
                let programmed = infos().map(|info| info.programmed).max().unwrap_or(0);
                if infos().any(|info| info.torn) {
                    self.garbage.push(at);
                } else if programmed == 0 {
                    self.blocks.give(at);
                } else {
                    report.pages_read += u64::from(programmed);
                    match &rule {
                        Some(rule) if flash.is_laid_out(die, 0, block) => {
                            identify_laid(rule, at, programmed, &mut scan)
                        }
                        _ => self.identify(flash, at, programmed, &mut scan),
                    }
                }
            }
        }
        scan
    }

    /// Returns true if a page can be read on all planes.
    fn is_readable(&self, flash: &impl Flash, at: Block, page: u32) -> bool {
        let address = self.layout.page(at.die, at.block, page);
        (0..self.config.geometry.planes).all(|plane| flash.readable(address, plane))
    }

    /// Adds a block with pages to what the scan found, by its first page.
    fn identify(&mut self, flash: &impl Flash, at: Block, programmed: u32, scan: &mut Scan) {
        if !self.is_readable(flash, at, 0) {
            self.garbage.push(at);
            return;
        }
        let page = |page| self.layout.page(at.die, at.block, page);
        let readable = (0..programmed).take_while(|page| self.is_readable(flash, at, *page)).count() as u32;
        let (generation, sequence, _) = split_stamp(flash.sequence(page(0), 0));
        let last = (0..programmed).rev().find(|page| self.is_readable(flash, at, *page)).unwrap_or(0);
        self.sequence = self.sequence.max(split_stamp(flash.sequence(page(last), 0)).1);
        let unit = flash.logical(page(0), 0)[0];
        if unit == self.layout.user_units {
            scan.log.push((sequence, at, programmed));
            return;
        }
        let (zone, unit) = self.layout.split(unit);
        let Program { column, block, .. } = self.layout.program(unit / self.layout.program_units);
        scan.blocks[zone as usize].push(ZoneBlock { at, generation, column, block, programmed, readable, laid: false });
    }

    /// Reads the log, the oldest block first. Returns the newest record of each zone.
    fn read_log(&mut self, flash: &impl Flash, scan: &mut Scan, report: &mut MountReport) -> Vec<Option<LogRecord>> {
        let mut records = vec![None::<LogRecord>; self.config.zones.zones as usize];
        scan.log.sort_unstable();
        for &(_, at, pages) in &scan.log {
            let number = self.log.add_old(at, pages);
            for page in 0..pages {
                report.pages_read += 1;
                if !self.is_readable(flash, at, page) {
                    continue;
                }
                let head = Head::read(flash.note(self.layout.page(at.die, at.block, page), 0, 0));
                let head = head.expect("a record of the log has a head");
                let newest = &mut records[head.zone as usize];
                // The record of a reset may follow one of data written after it.
                let rank = |head: Head| (head.generation, head.count > 0);
                if newest.is_none_or(|newest| rank(head) >= rank(newest.head)) {
                    *newest = Some(LogRecord { head, at, page, number });
                }
            }
        }
        records
    }

    /// Recovers a zone from its blocks and its newest record.
    fn recover_zone(
        &mut self,
        flash: &impl Flash,
        zone: u32,
        all: Vec<ZoneBlock>,
        record: Option<LogRecord>,
        report: &mut MountReport,
    ) {
        let generations = all.iter().map(|block| block.generation).chain(record.map(|record| record.head.generation));
        let Some(generation) = generations.max() else { return };
        let id = self.current[zone as usize];
        self.extents[id as usize].generation = generation;
        let (mine, stale): (Vec<_>, Vec<_>) = all.into_iter().partition(|block| block.generation == generation);
        self.garbage.extend(stale.iter().map(|block| block.at));
        let record = record.filter(|record| record.head.generation == generation && record.head.count > 0);
        if mine.is_empty() && record.is_none() {
            return;
        }
        report.zones += 1;
        self.extents[id as usize].activate(self.layout.width, self.layout.blocks);
        let kept = self.choose_copies(id, mine, report);
        // The rule of a laid-out drive has full zones alone, so their spare areas need not be computed.
        let laid = kept.len() as u32 == self.layout.used_blocks() && kept.iter().all(|block| block.laid);
        let (mut written, finished) = if laid { (self.layout.capacity, false) } else { self.run_of(flash, id, &kept) };
        let is_full = finished || written == self.layout.capacity;
        let extent = &mut self.extents[id as usize];
        (extent.buffered_from, extent.arrived) = (written, written);
        if is_full {
            // Nothing more is programmed, even if the power went before the last filler was.
            for column in 0..self.layout.width {
                self.extents[id as usize].columns[column as usize].next_row = self.layout.rows(column);
            }
        } else {
            self.set_rows(id, written / self.layout.program_units, &kept, report);
            // A record may be durable although a program before its units was not.
            let continues = |head: Head| head.first <= written && head.first + head.count > written;
            if let Some(record) = record.filter(|record| continues(record.head)) {
                written = self.take_from_log(id, written, record, report);
            } else if record.is_some_and(|record| record.head.first > written) {
                self.wait_for_record(id);
            }
        }
        if !self.zones.restore(zone, u64::from(written), is_full) {
            // Too many zones are active, because one that made room was not finished or reset durably.
            self.extents[id as usize].finishing = Some(Finishing { tag: None, programs: 0 });
        }
    }

    /// Decides between blocks for the same place, one of which was being replaced by the other. Returns those kept.
    fn choose_copies(&mut self, id: u32, mine: Vec<ZoneBlock>, report: &mut MountReport) -> Vec<ZoneBlock> {
        let mut kept: Vec<ZoneBlock> = Vec::new();
        for block in mine {
            let same = kept.iter_mut().find(|other| (other.column, other.block) == (block.column, block.block));
            let useless = match same {
                Some(other) if other.readable >= block.readable => Some(block),
                Some(other) => Some(std::mem::replace(other, block)),
                None => {
                    kept.push(block);
                    None
                }
            };
            if let Some(useless) = useless {
                self.replace_before_writing(id, useless.at, report);
            }
        }
        for block in &kept {
            let at = (block.column * self.layout.blocks + block.block) as usize;
            self.extents[id as usize].blocks[at] = block.at.block;
        }
        kept
    }

    fn replace_before_writing(&mut self, id: u32, at: Block, report: &mut MountReport) {
        report.replaced += 1;
        let extent = &mut self.extents[id as usize];
        extent.replaced.push(at);
        extent.repairs += 1;
    }

    /// Returns the number of units in the run of programs from the zone's start, and whether filler or padding ends it.
    fn run_of(&mut self, flash: &impl Flash, id: u32, kept: &[ZoneBlock]) -> (u32, bool) {
        let mut pages = vec![0; self.extents[id as usize].blocks.len()];
        for block in kept {
            pages[(block.column * self.layout.blocks + block.block) as usize] = block.readable;
        }
        let zone = self.extents[id as usize].zone;
        let check_lost = flash.has_lost();
        for program in 0..self.layout.programs {
            let units = self.layout.units(program);
            let place = self.layout.program(program);
            let at = (place.column * self.layout.blocks + place.block) as usize;
            if place.page >= pages[at] {
                return (units.start, false);
            }
            let die = self.layout.die(zone, place.column);
            let page = self.layout.page(die, self.extents[id as usize].blocks[at], place.page);
            if split_stamp(flash.sequence(page, 0)).2 {
                return (units.start, true);
            }
            for (at, unit) in (0..).zip(units) {
                let (plane, of_page) = self.layout.plane_of(at);
                if flash.logical(page, plane)[of_page as usize] == media::NOBODY {
                    return (unit, true);
                }
                if check_lost && flash.lost(page, plane, of_page) {
                    self.extents[id as usize].lost.push(unit);
                }
            }
        }
        (self.layout.capacity, false)
    }

    /// Lets the columns continue after the first `programs` programs. Blocks with pages after those must be replaced.
    fn set_rows(&mut self, id: u32, programs: u32, kept: &[ZoneBlock], report: &mut MountReport) {
        let (width, pages) = (self.layout.width, self.layout.pages());
        for column in 0..width {
            self.extents[id as usize].columns[column as usize].next_row = (programs + width - 1 - column) / width;
        }
        for block in kept {
            let row = self.extents[id as usize].columns[block.column as usize].next_row;
            let valid = row.saturating_sub(block.block * pages).min(pages);
            if block.programmed <= valid {
                continue;
            }
            if valid == 0 {
                let at = (block.column * self.layout.blocks + block.block) as usize;
                self.extents[id as usize].blocks[at] = NIL;
                self.replace_before_writing(id, block.at, report);
            } else {
                report.replaced += 1;
                self.extents[id as usize].repairs += 1;
                self.queue_relocation(id, block.column);
            }
        }
    }

    /// Takes the units from `written` on that a record holds into the buffer. Returns the end of the zone's units.
    fn take_from_log(&mut self, id: u32, written: u32, record: LogRecord, report: &mut MountReport) -> u32 {
        let LogRecord { head, at, page, number } = record;
        let end = head.first + head.count;
        for unit in written..end {
            let slot = self.buffer.take_unreserved();
            self.extents[id as usize].slots.push_back(slot);
            // After the record's head.
            let (plane, unit) = self.layout.plane_of(unit - head.first + 1);
            let page =
                media::PageAddr { planes: media::PlaneMask::one(plane), ..self.layout.page(at.die, at.block, page) };
            if self.config.moves {
                self.found.push(Move::FlashToBuffer { page, unit, buffer: slot, keep: 0 });
            }
        }
        report.from_log += end - written;
        self.extents[id as usize].arrived = end;
        self.extents[id as usize].recovered = Some(Recovered { end, log_block: number });
        end
    }
}

/// Returns the rule by which the zones were laid out, if they were.
fn laid_zones(flash: &impl Flash) -> Option<Arc<LaidZones>> {
    flash.laid_out().and_then(|rule| Arc::clone(rule).into_any().downcast().ok())
}

/// Adds a block that still follows the rule to what the scan found.
fn identify_laid(rule: &LaidZones, at: Block, programmed: u32, scan: &mut Scan) {
    let place = rule.place(at).expect("a laid-out block is one of the rule");
    let readable = place.pages.min(programmed);
    let (column, block, laid) = (place.column, place.block, programmed == place.pages);
    scan.blocks[place.zone as usize].push(ZoneBlock { at, generation: 0, column, block, programmed, readable, laid });
}
