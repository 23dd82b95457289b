//! Segments on their way to flash, and the write points that they go to.

use crate::space::place::OpenBlock;
use crate::table::vector::Vector;

/// Segments of a page that lie in one block, from one starting flash page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The starting flash page.
    pub mapping: u64,
    pub vector: Vector,
}

/// Segments of one page on their way to flash.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageWrite {
    active: bool,
    page: u32,
    /// Segments without a place yet, one bit each.
    unplaced: u32,
    /// Programs under way.
    programs: u32,
    parts: Vec<Part>,
    write_point: u32,
}

impl PageWrite {
    pub fn page(&self) -> u32 {
        self.page
    }

    pub fn unplaced(&self) -> u32 {
        self.unplaced
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub fn write_point(&self) -> u32 {
        self.write_point
    }

    /// Returns whether all segments are in flash.
    pub fn is_programmed(&self) -> bool {
        self.unplaced == 0 && self.programs == 0
    }

    /// Places segments in a block. Returns the part's number.
    pub fn place(&mut self, part: Part, segments: u32) -> u8 {
        self.unplaced &= !part.vector.segments(segments);
        self.parts.push(part);
        self.parts.len() as u8 - 1
    }

    pub fn start_program(&mut self) {
        self.programs += 1;
    }

    /// Ends a program. Returns whether it was the last one under way.
    pub fn end_program(&mut self) -> bool {
        self.programs -= 1;
        self.programs == 0
    }

    /// Takes a segment whose program failed out of its part.
    pub fn unplace(&mut self, part: u8, bit: u8) {
        self.parts[part as usize].vector.0 &= !(1 << bit);
    }

    /// Places a segment again, in another flash page of its part.
    pub fn place_again(&mut self, part: u8, bit: u8) {
        self.parts[part as usize].vector.0 |= 1 << bit;
    }

    /// Gives a segment back that needs a place in another block.
    pub fn give_back(&mut self, segment: u32) {
        self.unplaced |= 1 << segment;
    }
}

/// An open block, or the lack of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct WritePoint {
    pub open: OpenBlock,
    pub is_open: bool,
    pub erasing: bool,
    /// Page writes that go to it.
    page_writes: u32,
}

/// All page writes: one per tag of a request, and one of collection.
pub(crate) struct Writes {
    list: Vec<PageWrite>,
    /// Numbers of those under way, in the order in which they began.
    active: Vec<u32>,
    /// The write points; the last is collection's.
    points: Vec<WritePoint>,
    next_point: u32,
    /// A write point found no free block.
    pub starved: bool,
    /// Unreadable chunks and blocks were retried, and no program has succeeded since.
    pub retried_reads: bool,
}

impl Writes {
    pub fn new(tags: u32, open_blocks: u32) -> Writes {
        Writes {
            list: vec![PageWrite::default(); tags as usize + 1],
            active: Vec::with_capacity(tags as usize + 1),
            points: vec![WritePoint::default(); open_blocks as usize + 1],
            next_point: 0,
            starved: false,
            retried_reads: false,
        }
    }

    pub fn get(&self, number: u32) -> &PageWrite {
        &self.list[number as usize]
    }

    pub fn get_mut(&mut self, number: u32) -> &mut PageWrite {
        &mut self.list[number as usize]
    }

    pub fn point(&self, number: u32) -> &WritePoint {
        &self.points[number as usize]
    }

    pub fn point_mut(&mut self, number: u32) -> &mut WritePoint {
        &mut self.points[number as usize]
    }

    /// Write points of the host.
    fn host_points(&self) -> u32 {
        self.points.len() as u32 - 1
    }

    /// Starts page write `number`; collection's is the last and goes to the last write point.
    ///
    /// # Panics
    /// If it is under way.
    pub fn start(&mut self, number: u32, page: u32, segments: u32) {
        let is_collection = number as usize == self.list.len() - 1;
        let write_point = if is_collection { self.host_points() } else { self.next_host_point() };
        self.points[write_point as usize].page_writes += 1;
        let write = &mut self.list[number as usize];
        assert!(!write.active, "page write {number} is under way");
        let mut parts = std::mem::take(&mut write.parts);
        parts.clear();
        *write = PageWrite { active: true, page, unplaced: segments, programs: 0, parts, write_point };
        self.active.push(number);
    }

    /// Returns the next write point in turn that has no more page writes than its share: a die that is slow for a while,
    /// because it erases or reads, delays only its own share.
    fn next_host_point(&mut self) -> u32 {
        let (points, mut point) = (self.host_points(), self.next_point);
        let share = self.active.len() as u32 / points;
        while self.points[point as usize].page_writes > share {
            point = (point + 1) % points;
        }
        self.next_point = (point + 1) % points;
        point
    }

    /// Ends page write `number`, whose parts stay readable.
    pub fn end(&mut self, number: u32) {
        let write = &mut self.list[number as usize];
        write.active = false;
        self.points[write.write_point as usize].page_writes -= 1;
    }

    pub fn any_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns whether a page write with a number below `limit` is under way.
    pub fn any_below(&self, limit: u32) -> bool {
        self.active.iter().any(|number| *number < limit)
    }

    /// Returns whether a program of a page write is under way.
    pub fn any_program(&self) -> bool {
        self.list.iter().any(|write| write.active && write.programs > 0)
    }

    /// Returns the active page write at a position of their order.
    pub fn active_at(&self, at: usize) -> Option<u32> {
        self.active.get(at).copied()
    }

    pub fn remove_active(&mut self, at: usize) {
        self.active.remove(at);
    }

    pub fn take_active(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.active)
    }
}
