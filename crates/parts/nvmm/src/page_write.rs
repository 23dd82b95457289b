//! Writing segments to flash: for a request, or for collection. The table learns of them when all are there.

use media::{Action, Class, EraseOp, ProgramOp, Status};

use crate::blocks::Use;
use crate::operations::Kind;
use crate::place::OpenBlock;
use crate::table::Fault;
use crate::vector::Vector;
use crate::{Actions, Nvmm};

/// Segments that lie in one block, from one starting page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The starting flash page.
    pub mapping: u64,
    pub vector: Vector,
}

/// Segments of one page on their way to flash.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageWrite {
    pub active: bool,
    pub page: u32,
    /// Segments that have no place yet.
    pub todo: u32,
    /// Programs under way.
    pub flying: u32,
    pub parts: Vec<Part>,
    /// The write point it goes to.
    write_point: u32,
}

/// Where blocks are filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct WritePoint {
    open: OpenBlock,
    is_open: bool,
    erasing: bool,
    /// Puts that go to it.
    page_writes: u32,
}

impl Nvmm {
    /// Starts to write `segments` of `page`.
    pub(crate) fn start_page_write(&mut self, number: u32, page: u32, segments: u32) {
        let host = number < self.config.tags;
        let write_point = if host { self.take_write_point() } else { self.config.open_blocks };
        self.write_points[write_point as usize].page_writes += 1;
        let page_write = &mut self.page_writes[number as usize];
        assert!(!page_write.active, "page write {number} is under way");
        page_write.parts.clear();
        (page_write.active, page_write.page, page_write.todo, page_write.flying, page_write.write_point) =
            (true, page, segments, 0, write_point);
        self.active_page_writes.push(number);
        self.wake = true;
    }

    /// The next write point in turn that has no more to write than its share: a die that is slow for a while, as it erases or
    /// reads, holds up only what it has.
    fn take_write_point(&mut self) -> u32 {
        let (write_points, mut write_point) = (self.config.open_blocks, self.next_point);
        let share = self.active_page_writes.len() as u32 / write_points;
        while self.write_points[write_point as usize].page_writes > share {
            write_point = (write_point + 1) % write_points;
        }
        self.next_point = (write_point + 1) % write_points;
        write_point
    }

    /// Goes on with all that write, in the order in which they began.
    pub(crate) fn run_puts(&mut self, out: &mut Actions) {
        let mut at = 0;
        while at < self.active_page_writes.len() {
            let number = self.active_page_writes[at];
            if self.commit.is_idle() && self.page_writes[number as usize].todo != 0 {
                self.place_put(number, out);
            }
            let page_write = &self.page_writes[number as usize];
            let ended = page_write.todo == 0 && page_write.flying == 0 && !self.commit.holds_the_table();
            if ended && self.end_put(number, out) {
                self.active_page_writes.remove(at);
                self.wake = true;
            } else {
                at += 1;
            }
        }
    }

    fn end_put(&mut self, number: u32, out: &mut Actions) -> bool {
        let ended = if number < self.config.tags { self.end_write(number, out) } else { self.end_copy() };
        if let Err(fault) = ended {
            self.fault(fault, out);
            return false;
        }
        self.forget_put(number);
        true
    }

    /// Its fragments are in the table, or will never be.
    pub(crate) fn forget_put(&mut self, number: u32) {
        let page_write = &mut self.page_writes[number as usize];
        page_write.active = false;
        self.write_points[page_write.write_point as usize].page_writes -= 1;
        for part in &page_write.parts {
            self.blocks.get_mut(self.layout.block_of(part.mapping)).writers -= 1;
        }
    }

    fn place_put(&mut self, number: u32, out: &mut Actions) {
        let PageWrite { page, write_point, .. } = self.page_writes[number as usize];
        while self.page_writes[number as usize].todo != 0 {
            if !self.ready_point(write_point, out) {
                return;
            }
            let open = &mut self.write_points[write_point as usize].open;
            let todo = self.page_writes[number as usize].todo;
            let placed = open.place(todo, self.config.segments, self.layout.pages, self.config.order);
            let Some((start, vector)) = placed else {
                self.close_point(write_point);
                continue;
            };
            let block = open.block;
            let mapping = self.layout.flash_page(block, start);
            let page_write = &mut self.page_writes[number as usize];
            page_write.todo &= !vector.segments(self.config.segments);
            let part = page_write.parts.len() as u8;
            page_write.parts.push(Part { mapping, vector });
            self.blocks.get_mut(block).writers += 1;
            for bit in vector.iter() {
                self.program(number, part, bit as u8, out);
            }
            debug_assert_eq!(self.page_writes[number as usize].page, page);
        }
    }

    fn program(&mut self, number: u32, part: u8, bit: u8, out: &mut Actions) {
        let page_write = &mut self.page_writes[number as usize];
        page_write.flying += 1;
        let flash = self.layout.reach(page_write.parts[part as usize].mapping, u32::from(bit));
        self.sequence += 1;
        let class = if number < self.config.tags { Class::Host } else { Class::Collection };
        let id = self.operations.start(Kind::Program { page_write: number, part, bit });
        self.stats.programs[class as usize] += 1;
        let program = ProgramOp { id, page: self.layout.page(flash), sequence: self.sequence, class, slc: false };
        out.actions.push(Action::Program(program));
    }

    pub(crate) fn program_done(&mut self, number: u32, part: u8, bit: u8, status: Status, out: &mut Actions) {
        let page_write = &mut self.page_writes[number as usize];
        page_write.flying -= 1;
        self.wake = true;
        if status == Status::Ok {
            self.tried_again = false;
            return;
        }
        let (mapping, segment) = (page_write.parts[part as usize].mapping, u32::from(bit) % self.config.segments);
        page_write.parts[part as usize].vector.0 &= !(1 << bit);
        let vector = page_write.parts[part as usize].vector;
        let write_point = page_write.write_point as usize;
        let (block, flash) = (self.layout.block_of(mapping), self.layout.reach(mapping, u32::from(bit)));
        self.blocks.wear_out(block, (flash - self.layout.flash_page(block, 0)) as u32);
        // Another distance within the block, if it is still being written; else anywhere.
        let write_point = &mut self.write_points[write_point];
        if write_point.is_open && write_point.open.block == block && self.commit.is_idle() {
            let start = (mapping - self.layout.flash_page(block, 0)) as u32;
            let (segments, pages) = (self.config.segments, self.layout.pages);
            let other = write_point.open.alternative(segment, start, vector, segments, pages, self.config.order);
            if let Some(bit) = other {
                self.page_writes[number as usize].parts[part as usize].vector.0 |= 1 << bit;
                self.program(number, part, bit as u8, out);
                return;
            }
        }
        self.page_writes[number as usize].todo |= 1 << segment;
    }

    /// True if `write_point` has a block with room; else one is being opened, or there is none.
    fn ready_point(&mut self, number: u32, out: &mut Actions) -> bool {
        let write_point = &self.write_points[number as usize];
        if write_point.erasing {
            return false;
        }
        if write_point.is_open && write_point.open.left() > 0 {
            return true;
        }
        if write_point.is_open {
            self.close_point(number);
        }
        // The last free block is collection's.
        let keep = usize::from(number < self.config.open_blocks);
        if self.blocks.free_count() <= keep {
            self.starved = true;
            return false;
        }
        let block = self.blocks.open(true).expect("free blocks were counted");
        let first = self.layout.flash_page(block, 0);
        if let Err(fault) = self.table.ensure_owners(first..first + u64::from(self.layout.pages)) {
            if fault == Fault::Broken {
                // Whose its pages are cannot be noted, so that it could not be collected: it is not used.
                self.blocks.set_aside(block);
                self.wake = true;
            } else {
                self.blocks.unopen(block);
                self.fault(fault, out);
            }
            return false;
        }
        self.write_points[number as usize].erasing = true;
        let id = self.operations.start(Kind::Open { write_point: number, block });
        let class = if keep > 0 { Class::Host } else { Class::Collection };
        out.actions.push(Action::Erase(EraseOp { id, block: self.layout.block(block), class }));
        false
    }

    /// Opens a block for each write point, the first of them nearly full and the last empty: what a memory in use finds, where
    /// erases are due one after the other and not all at once, and each point goes on with a block of the die that it was on.
    /// Nothing in these blocks is needed. Blocks are left for collection. For simulations, before the first request.
    ///
    /// # Panics
    /// If something was written before.
    pub fn open_points(&mut self) {
        for number in 0..self.config.open_blocks {
            if self.blocks.free_count() <= self.config.collect_start as usize + 1 {
                return;
            }
            let block = self.blocks.open(true).expect("free blocks were counted");
            let (first, pages) = (self.layout.flash_page(block, 0), self.layout.pages);
            if self.table.ensure_owners(first..first + u64::from(pages)).is_err() {
                return self.blocks.unopen(block);
            }
            let write_point = &mut self.write_points[number as usize];
            assert!(!write_point.is_open && !write_point.erasing, "write point {number} is in use");
            write_point.open.start(block, pages, self.blocks.worn(block));
            let left = u64::from(number + 1) * u64::from(pages) / u64::from(self.config.open_blocks);
            for page in 0..pages - (left.max(1) as u32) {
                if write_point.open.is_free(page) {
                    write_point.open.take(page);
                }
            }
            write_point.is_open = true;
        }
    }

    fn close_point(&mut self, number: u32) {
        let write_point = &mut self.write_points[number as usize];
        write_point.is_open = false;
        self.blocks.close(write_point.open.block);
    }

    pub(crate) fn opened(&mut self, number: u32, block: u32, status: Status, out: &mut Actions) {
        self.wake = true;
        let write_point = &mut self.write_points[number as usize];
        write_point.erasing = false;
        self.blocks.get_mut(block).erases += 1;
        if status != Status::Ok {
            self.retire(block, out);
            return;
        }
        write_point.open.start(block, self.layout.pages, self.blocks.worn(block));
        if write_point.open.left() == 0 {
            self.retire(block, out);
            return;
        }
        write_point.is_open = true;
    }

    /// A block that is never to be used again.
    pub(crate) fn retire(&mut self, block: u32, out: &mut Actions) {
        debug_assert_eq!(self.blocks.get(block).used, Use::Open);
        self.blocks.retire(block);
        self.newly_bad.push(block);
        out.actions.push(Action::Retire(self.layout.block(block)));
    }

    /// A chunk that is not in DRAM is read; who needed it tries again when it is there.
    pub(crate) fn fault(&mut self, fault: Fault, out: &mut Actions) {
        if let Fault::Missing(chunk) = fault {
            self.load(chunk, out);
        }
    }
}
