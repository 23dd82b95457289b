//! Writing segments to flash, for requests and for collection. The table points to them once all are programmed.

use media::{Action, Class, EraseOp, ProgramOp, Status};

use crate::operations::OperationKind;
use crate::space::blocks::Use;
use crate::space::writes::Part;
use crate::table::Fault;
use crate::{Actions, Nvmm};

impl Nvmm {
    /// Starts to write `segments` of `page`.
    pub(crate) fn start_page_write(&mut self, number: u32, page: u32, segments: u32) {
        self.writes.start(number, page, segments);
        self.wake = true;
    }

    /// Advances all page writes, in the order in which they began.
    pub(crate) fn run_page_writes(&mut self, out: &mut Actions) {
        let mut at = 0;
        while let Some(number) = self.writes.active_at(at) {
            if self.durable.is_idle() && self.writes.get(number).unplaced() != 0 {
                self.place_segments(number, out);
            }
            let is_programmed = self.writes.get(number).is_programmed();
            if is_programmed && !self.durable.holds_table() && self.enter_into_table(number, out) {
                self.writes.remove_active(at);
                self.wake = true;
            } else {
                at += 1;
            }
        }
    }

    /// Lets the table point to what was written. Returns false if a chunk of the table must be read first.
    fn enter_into_table(&mut self, number: u32, out: &mut Actions) -> bool {
        let entered = if number < self.config.tags { self.end_write(number, out) } else { self.end_copy() };
        if let Err(fault) = entered {
            self.load_missing(fault, out);
            return false;
        }
        self.end_page_write(number);
        true
    }

    /// Ends a page write: its segments are in the table, or never will be.
    pub(crate) fn end_page_write(&mut self, number: u32) {
        self.writes.end(number);
        for part in self.writes.get(number).parts() {
            self.blocks.get_mut(self.layout.block_of(part.mapping)).writers -= 1;
        }
    }

    fn place_segments(&mut self, number: u32, out: &mut Actions) {
        let point = self.writes.get(number).write_point();
        while self.writes.get(number).unplaced() != 0 {
            if !self.has_open_block(point, out) {
                return;
            }
            let (segments, pages) = (self.config.segments, self.layout.pages);
            let unplaced = self.writes.get(number).unplaced();
            let open = &mut self.writes.point_mut(point).open;
            let block = open.block;
            let Some((start, vector)) = open.place(unplaced, segments, pages, self.config.order) else {
                self.close_point(point);
                continue;
            };
            let part = Part { mapping: self.layout.flash_page(block, start), vector };
            let part = self.writes.get_mut(number).place(part, segments);
            self.blocks.get_mut(block).writers += 1;
            for bit in vector.iter() {
                self.program(number, part, bit as u8, out);
            }
        }
    }

    fn program(&mut self, number: u32, part: u8, bit: u8, out: &mut Actions) {
        let write = self.writes.get_mut(number);
        write.start_program();
        let flash = self.layout.reach(write.parts()[part as usize].mapping, u32::from(bit));
        self.sequence += 1;
        let class = if number < self.config.tags { Class::Host } else { Class::Collection };
        let id = self.operations.start(OperationKind::Program { page_write: number, part, bit });
        self.stats.programs[class as usize] += 1;
        let program = ProgramOp { id, page: self.layout.page(flash), sequence: self.sequence, class, slc: false };
        out.actions.push(Action::Program(program));
    }

    pub(crate) fn program_done(&mut self, number: u32, part: u8, bit: u8, status: Status, out: &mut Actions) {
        let write = self.writes.get_mut(number);
        // All that waits for programs waits for the last one of a page write.
        self.wake |= write.end_program() || !status.is_ok();
        if status.is_ok() {
            self.writes.retried_reads = false;
            return;
        }
        write.unplace(part, bit);
        let (Part { mapping, vector }, point) = (write.parts()[part as usize], write.write_point());
        let (segments, pages) = (self.config.segments, self.layout.pages);
        let segment = u32::from(bit) % segments;
        let (block, flash) = (self.layout.block_of(mapping), self.layout.reach(mapping, u32::from(bit)));
        let first = self.layout.flash_page(block, 0);
        self.blocks.wear_out(block, (flash - first) as u32);
        // Try another flash page that the part can reach while the block is open; otherwise another block.
        let point = self.writes.point_mut(point);
        if point.is_open && point.open.block == block && self.durable.is_idle() {
            let start = (mapping - first) as u32;
            let other = point.open.alternative(segment, start, vector, segments, pages, self.config.order);
            if let Some(bit) = other {
                self.writes.get_mut(number).place_again(part, bit as u8);
                self.program(number, part, bit as u8, out);
                return;
            }
        }
        self.writes.get_mut(number).give_back(segment);
    }

    /// Returns whether a write point has an open block, which may be full. If not, begins to open one, if there is one.
    fn has_open_block(&mut self, number: u32, out: &mut Actions) -> bool {
        let point = self.writes.point(number);
        if point.erasing {
            return false;
        }
        if point.is_open {
            return true;
        }
        // The last free block is reserved for collection.
        let reserved = usize::from(number < self.config.open_blocks);
        if self.blocks.free_count() <= reserved {
            self.writes.starved = true;
            return false;
        }
        let block = self.blocks.open(true).expect("free blocks were counted");
        if let Err(fault) = self.ensure_owners_of(block) {
            if fault == Fault::Broken {
                // The owners of its pages cannot be recorded, so the block could never be collected; leave it unused.
                self.blocks.set_aside(block);
                self.wake = true;
            } else {
                self.blocks.unopen(block);
                self.load_missing(fault, out);
            }
            return false;
        }
        self.writes.point_mut(number).erasing = true;
        let id = self.operations.start(OperationKind::Open { write_point: number, block });
        let class = if reserved > 0 { Class::Host } else { Class::Collection };
        out.actions.push(Action::Erase(EraseOp { id, block: self.layout.block(block), class }));
        false
    }

    /// Checks that the owners of all pages of `block` can be set.
    fn ensure_owners_of(&self, block: u32) -> Result<(), Fault> {
        let first = self.layout.flash_page(block, 0);
        self.table.ensure_owners(first..first + u64::from(self.layout.pages))
    }

    /// Opens a block for each write point, with the first point's block nearly full and the last one's empty. This is how a
    /// memory in use looks: erases come due one after another rather than all at once, and each point continues on its own die.
    /// The written pages of these blocks hold nothing valid. Leaves the blocks that collection needs. For simulations, before
    /// the first request.
    ///
    /// # Panics
    /// If anything was written before.
    pub fn open_points(&mut self) {
        for number in 0..self.config.open_blocks {
            if self.blocks.free_count() <= self.config.management.collect_start as usize + 1 {
                return;
            }
            let block = self.blocks.open(true).expect("free blocks were counted");
            assert_eq!(self.ensure_owners_of(block), Ok(()), "the table of a new memory is in DRAM");
            let pages = self.layout.pages;
            let point = self.writes.point_mut(number);
            assert!(!point.is_open && !point.erasing, "write point {number} is in use");
            point.open.start(block, pages, self.blocks.worn(block));
            let left = u64::from(number + 1) * u64::from(pages) / u64::from(self.config.open_blocks);
            for page in 0..pages - (left.max(1) as u32) {
                if point.open.is_free(page) {
                    point.open.take(page);
                }
            }
            point.is_open = true;
        }
    }

    fn close_point(&mut self, number: u32) {
        let point = self.writes.point_mut(number);
        point.is_open = false;
        self.blocks.close(point.open.block);
    }

    pub(crate) fn opened(&mut self, number: u32, block: u32, status: Status, out: &mut Actions) {
        self.wake = true;
        let point = self.writes.point_mut(number);
        point.erasing = false;
        self.blocks.get_mut(block).erases += 1;
        if !status.is_ok() {
            self.retire(block, out);
            return;
        }
        point.open.start(block, self.layout.pages, self.blocks.worn(block));
        if point.open.left() == 0 {
            self.retire(block, out);
            return;
        }
        point.is_open = true;
    }

    /// Takes a block out of use for good.
    fn retire(&mut self, block: u32, out: &mut Actions) {
        debug_assert_eq!(self.blocks.get(block).used, Use::Open);
        self.blocks.retire(block);
        self.durable.add_bad_block(block);
        out.actions.push(Action::Retire(self.layout.block(block)));
    }

    /// Starts to read a missing chunk of the table. Work that needs the chunk is tried again when it is in DRAM.
    pub(crate) fn load_missing(&mut self, fault: Fault, out: &mut Actions) {
        if let Fault::Missing(chunk) = fault {
            self.load(chunk, out);
        }
    }
}
