//! Parallel units, which allocate and collect independently; opening, filling and closing blocks.

use std::collections::VecDeque;

use media::{PageAddr, PlaneMask};

use crate::Ftl;
use crate::config::Config;
use crate::layout::Layout;
use crate::sizes;
use crate::space::blocks::Use;
use crate::space::placement;
pub(crate) use crate::space::stream::Stream;

/// An open block, of which programs `next..end` are still to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WritePoint {
    pub(crate) block: u32,
    pub(crate) next: u32,
    pub(crate) end: u32,
}

/// Location for one program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub pu: u32,
    pub block: u32,
    pub program: u32,
    /// First unit of the program, regardless of missing planes.
    pub unit: u32,
    /// Number of units that fit.
    pub units: u32,
    pub page: PageAddr,
}

impl Room {
    /// Returns the program's units, its first unit, and the mask of its planes.
    #[inline]
    pub(crate) fn extent(&self) -> (u32, u32, u64) {
        (self.units, self.unit, u64::from(self.page.planes.0))
    }
}

/// A set of planes that allocates and collects independently: its free and open blocks.
#[derive(Default)]
pub(crate) struct ParallelUnit {
    pub(super) free: Vec<u32>,
    pub(super) slc_free: Vec<u32>,
    /// SLC blocks in the order in which they were filled.
    pub(super) slc_closed: VecDeque<u32>,
    write_points: [Option<WritePoint>; 3],
    /// Write points of [`Stream::Placed`].
    placed: Box<[Option<WritePoint>]>,
    /// Units that fit into the free blocks and the blocks open for the host and for copies, if every plane is usable.
    room: u64,
    /// Programs of blocks reopened by the mount that were already written: block and program.
    pub(super) ahead: Vec<(u32, u32)>,
    /// Capacity of its largest block in units.
    pub(super) largest: i64,
    /// Number of usable planes over all blocks.
    pub(super) planes: u32,
}

impl ParallelUnit {
    /// Creates a parallel unit whose blocks are still to be found.
    pub(crate) fn new(config: &Config) -> ParallelUnit {
        ParallelUnit { placed: vec![None; placement::write_points(config) as usize].into(), ..ParallelUnit::default() }
    }

    pub(crate) fn add_free(&mut self, block: u32, slc: bool, layout: &Layout) {
        if slc {
            self.slc_free.push(block)
        } else {
            self.free.push(block)
        }
        self.room_changed(layout);
    }

    /// Returns the units that fit into the free blocks and the blocks open for the host and for copies, if every plane
    /// is usable. The number is stored, because pacing reads it more often than it changes.
    #[inline]
    pub(crate) fn units_left(&self, layout: &Layout) -> u64 {
        debug_assert_eq!(self.room, self.count_room(layout), "room in {:?} and {:?}", self.free, self.write_points);
        self.room
    }

    /// Updates the room after a change of the free list or an open block.
    #[inline]
    fn room_changed(&mut self, layout: &Layout) {
        self.room = self.count_room(layout);
    }

    /// Passes the next program of `open`, the open block of `stream`, which is no longer open after its last.
    #[inline]
    fn advance(&mut self, stream: Stream, open: WritePoint, layout: &Layout) {
        let WritePoint { block, next, end } = open;
        *self.write_point_mut(stream) = (next + 1 != end).then_some(WritePoint { block, next: next + 1, end });
        if stream != Stream::Slc {
            let passed = layout.data_after(end - next) - layout.data_after(end - next - 1);
            self.room -= u64::from(passed * layout.program_units);
        }
    }

    fn count_room(&self, layout: &Layout) -> u64 {
        let rest = |stream: Stream| self.write_point(stream).map_or(0, |open| layout.data_after(open.end - open.next));
        let mut rest = rest(Stream::Host) + rest(Stream::Copy);
        for open in self.placed.iter().flatten() {
            rest += layout.data_after(open.end - open.next);
        }
        self.free.len() as u64 * u64::from(layout.data_units) + u64::from(rest * layout.program_units)
    }

    /// Returns the free blocks, except those of the static SLC cache.
    #[inline]
    pub(crate) fn free(&self) -> &[u32] {
        &self.free
    }

    /// Returns the number of free blocks of the static SLC cache.
    pub(crate) fn slc_free(&self) -> usize {
        self.slc_free.len()
    }

    /// Returns the open block of `stream`.
    #[inline]
    pub(crate) fn write_point(&self, stream: Stream) -> Option<WritePoint> {
        match stream {
            Stream::Placed(n) => self.placed[n as usize],
            Stream::Host | Stream::Copy | Stream::Slc => self.write_points[stream.place()],
        }
    }

    /// Returns the entry of the open block of `stream`.
    #[inline]
    fn write_point_mut(&mut self, stream: Stream) -> &mut Option<WritePoint> {
        match stream {
            Stream::Placed(n) => &mut self.placed[n as usize],
            Stream::Host | Stream::Copy | Stream::Slc => &mut self.write_points[stream.place()],
        }
    }

    /// Returns all open blocks except those of the SLC cache.
    pub(crate) fn open_blocks(&self) -> impl Iterator<Item = WritePoint> + '_ {
        self.write_points[..2].iter().chain(&self.placed).flatten().copied()
    }

    /// Returns the entry of the open block `block`, if it is open.
    fn entry_of(&mut self, block: u32) -> Option<&mut Option<WritePoint>> {
        let mut all = self.write_points.iter_mut().chain(&mut self.placed);
        all.find(|open| open.is_some_and(|open| open.block == block))
    }

    /// Exchanges the open blocks of host data and of copies.
    pub(crate) fn swap_write_points(&mut self) {
        self.write_points.swap(0, 1);
    }

    /// Returns the full SLC blocks in the order in which they were filled.
    pub(crate) fn closed_slc(&self) -> &VecDeque<u32> {
        &self.slc_closed
    }

    /// Adds the full SLC block `block`.
    pub(crate) fn add_closed_slc(&mut self, block: u32) {
        self.slc_closed.push_back(block);
    }

    /// Removes `block`, which is being emptied, from the full SLC blocks.
    pub(crate) fn remove_closed_slc(&mut self, block: u32) {
        self.slc_closed.retain(|closed| *closed != block);
    }

    /// Returns true if some of the `programs` of `block` were written before the mount.
    pub(crate) fn is_written_ahead(&self, block: u32, programs: &std::ops::Range<u32>) -> bool {
        self.ahead.iter().any(|(at, program)| *at == block && programs.contains(program))
    }

    /// Forgets which programs of `block` were written before the mount.
    pub(crate) fn forget_ahead(&mut self, block: u32) {
        self.ahead.retain(|(at, _)| *at != block);
    }

    /// Returns the next program of `block`, if it is open.
    pub(crate) fn next_in(&self, block: u32) -> Option<u32> {
        let all = self.write_points.iter().chain(&self.placed);
        all.flatten().find(|open| open.block == block).map(|open| open.next)
    }

    /// Continues to write the open `block` at program `next`. Returns true if that is its end, and the block is no
    /// longer open.
    pub(crate) fn skip_to(&mut self, block: u32, next: u32, layout: &Layout) -> bool {
        let open = self.entry_of(block).expect("the block is open");
        *open = open.filter(|open| next < open.end).map(|open| WritePoint { next, ..open });
        let closed = open.is_none();
        self.room_changed(layout);
        closed
    }

    /// Opens a block for `stream`; its programs in `ahead` are already written. Returns false if the stream already has
    /// an open block.
    pub(crate) fn reopen(&mut self, stream: Stream, open: WritePoint, ahead: &[u32], layout: &Layout) -> bool {
        let write_point = self.write_point_mut(stream);
        if write_point.is_some() {
            return false;
        }
        let block = open.block;
        *write_point = Some(open);
        self.room_changed(layout);
        self.ahead.extend(ahead.iter().map(|program| (block, *program)));
        true
    }
}

/// Free blocks that host writes leave to collection.
pub(crate) const RESERVE: usize = 1;

/// Returns the number of open blocks per parallel unit, without those of the static SLC cache.
pub(crate) fn write_points(config: &Config) -> u32 {
    let lent = u32::from(config.slc.is_some_and(|slc| slc.dynamic > 0));
    lent + if config.separates() { 2 } else { 1 } + placement::write_points(config)
}

impl Ftl {
    /// Returns true if `block` is in SLC mode.
    #[inline]
    pub(crate) fn is_slc(&self, block: u32) -> bool {
        self.config.slc.is_some_and(|slc| block % self.layout.blocks < slc.blocks || self.space.lent.holds(block))
    }

    /// Returns the number of programs of a block in SLC mode.
    pub(crate) fn slc_programs(&self) -> u32 {
        self.layout.pages / self.config.slc.map_or(1, |slc| slc.bits) * self.layout.per_row
    }

    /// Returns the number of programs of `block` in its current mode.
    pub(crate) fn programs_of(&self, block: u32) -> u32 {
        match self.config.slc {
            Some(_) if self.is_slc(block) => self.slc_programs(),
            _ => self.layout.block_programs,
        }
    }

    /// Returns room for a host program, in the next parallel unit that has any. Host writes stall if none has.
    pub(crate) fn host_room(&mut self) -> Option<Room> {
        let stream = self.host_stream();
        debug_assert!(
            (0..self.layout.parallel_units).all(|pu| !self.space.host_room.leaves_out(pu) || self.host_waits(pu))
        );
        let mut paced = false;
        for (mut from, end) in self.space.host_room.turns.search() {
            while let Some(pu) = self.space.host_room.turns.first(from, end) {
                from = pu + 1;
                if self.config.slc.is_some()
                    && (self.space.parallel_units[pu as usize].write_point(Stream::Slc).is_some()
                        || self.takes_more(pu))
                    && let Some(room) = self.room(pu, Stream::Slc)
                {
                    self.space.host_room.turns.took(pu);
                    return Some(room);
                }
                if self.host_waits(pu) {
                    paced = true;
                    self.leave_turns(pu);
                    continue;
                }
                if self.waits_for_parity() {
                    paced = true;
                    continue;
                }
                if self.is_open_to_host(pu, stream)
                    && let Some(room) = self.room(pu, stream)
                {
                    self.space.host_room.turns.took(pu);
                    return Some(room);
                }
                paced |= self.waits_for_parity();
            }
        }
        self.space.host_room.stall(paced || self.space.host_room.turns.any_waits());
        None
    }

    /// Returns room for a program of the map, in the next parallel unit that has any, whether or not host writes wait
    /// for copies there.
    pub(crate) fn map_room(&mut self) -> Option<Room> {
        let stream = self.host_stream();
        for (from, end) in self.space.host_room.turns.search() {
            for pu in from..end {
                if self.is_open_to_host(pu, stream)
                    && let Some(room) = self.room(pu, stream)
                {
                    self.space.host_room.turns.took(pu);
                    return Some(room);
                }
            }
        }
        None
    }

    /// Returns the stream of the host data that is written to flash next.
    #[inline]
    fn host_stream(&self) -> Stream {
        if self.space.placement.is_on() {
            self.space.placement.host_stream(self.buffer.dirty.handle())
        } else if self.config.collection.separate {
            Stream::Host
        } else {
            Stream::Copy
        }
    }

    /// Returns true if host writes may go to the open block of `stream` in `pu`, or to a free one.
    #[inline]
    pub(crate) fn is_open_to_host(&self, pu: u32, stream: Stream) -> bool {
        let l = &self.space.parallel_units[pu as usize];
        // A shared block that was opened for copies as the last free one is reserved for them.
        let open = l.write_point(stream).is_some() && (stream != Stream::Copy || self.is_reserved(pu, 0));
        open || self.may_open(pu)
    }

    /// Returns true if `pu` may open a block for the host.
    fn may_open(&self, pu: u32) -> bool {
        self.is_open_reserved(pu) && self.takes_more(pu)
    }

    /// Returns true if `pu` may open a block for the host and still leave collection the blocks it needs.
    #[inline]
    fn is_open_reserved(&self, pu: u32) -> bool {
        if self.space.blocks.is_whole() { self.is_reserved(pu, 1) } else { self.is_reserved_in_pool(pu, 1) }
    }

    /// Returns true if the free blocks of `pu`, without `taken` of them, suffice for collection to proceed.
    #[inline]
    pub(crate) fn is_reserved(&self, pu: u32, taken: usize) -> bool {
        self.space.parallel_units[pu as usize].free.len() >= RESERVE + taken
            && (self.space.blocks.is_whole() || self.reserves_units(pu, taken))
    }

    /// Like [`is_reserved`](Self::is_reserved), with unusable planes: counts units, because blocks differ in capacity
    /// and the victim may have all its planes.
    fn reserves_units(&self, pu: u32, taken: usize) -> bool {
        let l = &self.space.parallel_units[pu as usize];
        let units = |block: &u32| self.capacity(*block, self.layout.block_programs);
        let (all, most) = l.free.iter().map(units).fold((0, 0), |(all, most), units| (all + units, most.max(units)));
        all - taken as i64 * most >= RESERVE as i64 * l.largest
    }

    /// Returns true if `pu` should collect regardless of its shortage: the host has no room at all, or the free blocks
    /// hold too little for it to get any.
    #[inline]
    pub(crate) fn lacks_room(&self, pu: u32) -> bool {
        self.space.host_room.waits_for_erase()
            || (!self.space.blocks.is_whole() && self.gc.unit(pu).has_no_victim() && !self.is_reserved(pu, 1))
    }

    /// Returns true if `pu` may open one more block for the host. Parallel units take programs in turn, and programs
    /// need not be full: without a limit one parallel unit could come to hold more data than it can collect, while
    /// others are half empty. Some parallel unit always holds at most its share, and a share can always be collected,
    /// as the check of the configuration ensures.
    fn takes_more(&self, pu: u32) -> bool {
        if self.layout.parallel_units == 1
            || self.space.parallel_units[pu as usize].free.len() > self.config.collection.start as usize + 1
        {
            return true;
        }
        let (mut valid, mut room) = (0, 0);
        for block in pu * self.layout.blocks..(pu + 1) * self.layout.blocks {
            valid += i64::from(self.space.blocks.valid(block));
            if !self.is_slc(block) && self.space.blocks.usage(block) != Use::Bad {
                let units = self.capacity(block, self.layout.block_programs);
                room += units - i64::from(self.layout.program_units);
            }
        }
        // The host may use all but the reserve, and a block opened now will be full of valid units.
        let held_back = i64::from(write_points(&self.config) + RESERVE as u32 + 1) * i64::from(self.layout.block_units);
        valid <= (room - held_back).max(self.share_of(pu))
    }

    /// Returns room for copies in `pu`. The last programs of the last block are left to the trim journal, for which an
    /// erase may wait.
    #[inline(always)]
    pub(crate) fn copy_room(&mut self, pu: u32) -> Option<Room> {
        let l = &self.space.parallel_units[pu as usize];
        if l.free.is_empty() {
            let open = l.write_point(Stream::Copy);
            let left = open.map_or(0, |write_point| self.layout.data_after(write_point.end - write_point.next));
            if left <= self.journal_programs()
                && left > 0
                && !(self.gc.unit(pu).is_in_emergency() && self.is_erasable(pu))
            {
                return None;
            }
        }
        self.room(pu, Stream::Copy)
    }

    /// Returns room in `pu` for copies out of blocks of `handle`, in a block of that handle: the open one, or a free one
    /// beyond the reserve of collection.
    pub(crate) fn placed_copy_room(&mut self, pu: u32, handle: u8) -> Option<Room> {
        let stream = self.space.placement.copy_stream(handle)?;
        let open = self.space.parallel_units[pu as usize].write_point(stream).is_some();
        if open || self.is_open_reserved(pu) { self.room(pu, stream) } else { None }
    }

    /// Returns true if no block being emptied in `pu` waits for a trim to become durable: the last programs may then be
    /// used to empty them, as their erase needs no journal page.
    fn is_erasable(&self, pu: u32) -> bool {
        let mut blocks = pu * self.layout.blocks..(pu + 1) * self.layout.blocks;
        blocks.all(|b| {
            self.space.blocks.usage(b) != Use::Victim
                || self.durability.journal.is_durable(self.space.blocks.trimmed(b))
        })
    }

    /// Returns the number of programs set aside for journal pages: one for future trims, more if there are trims not
    /// yet recorded.
    pub(crate) fn journal_programs(&self) -> u32 {
        if self.durability.journal.all_durable() {
            return 1;
        }
        let all = sizes::journal_units(&self.config).div_ceil(self.layout.program_units);
        all.min(self.layout.block_programs / 6).max(1)
    }

    /// Returns room for a program in `pu`, opening a block if needed; `None` if there is none to open.
    #[inline(always)]
    pub(crate) fn room(&mut self, pu: u32, stream: Stream) -> Option<Room> {
        loop {
            let mut l = &mut self.space.parallel_units[pu as usize];
            let Some(WritePoint { block, next, end }) = l.write_point(stream) else {
                self.open(pu, stream)?;
                continue;
            };
            let mut program = next;
            if self.durability.has_parity() {
                program = self.enter_stripe(pu, block, program)?;
                l = &mut self.space.parallel_units[pu as usize];
            }
            let full = next + 1 == end;
            l.advance(stream, WritePoint { block, next, end }, &self.layout);
            let mounted = !l.ahead.is_empty();
            let room = self.room_at(pu, block, program);
            let used = room.units > 0 && !(mounted && self.done_before(pu, block, program));
            if full {
                // The block is closed when its last program completes.
                self.space.blocks.set_usage(block, Use::Full);
                if stream == Stream::Host {
                    self.rest(pu, block);
                }
                if !used {
                    self.close_if_written(block);
                }
            }
            if used {
                return Some(room);
            }
        }
    }

    /// Returns the location of program number `program` of `block`, on its usable planes.
    #[inline(always)]
    pub(crate) fn room_at(&self, pu: u32, block: u32, program: u32) -> Room {
        let mut page = self.layout.page_in(pu, block, program);
        let mut units = self.layout.program_units;
        if !self.space.blocks.is_whole() {
            let hole = self.space.blocks.closed_planes(block, program % self.layout.per_row);
            page.planes = PlaneMask(page.planes.0 & !hole);
            units = page.planes.count() * self.layout.page_units;
        }
        Room { pu, block, program, unit: self.layout.unit_of(block, program), units, page }
    }

    /// Returns true if this program was written before the mount.
    #[inline]
    pub(crate) fn done_before(&mut self, pu: u32, block: u32, program: u32) -> bool {
        let ahead = &mut self.space.parallel_units[pu as usize].ahead;
        if ahead.is_empty() {
            return false;
        }
        match ahead.iter().position(|done| *done == (block, program)) {
            Some(at) => {
                ahead.swap_remove(at);
                true
            }
            None => false,
        }
    }

    fn open(&mut self, pu: u32, stream: Stream) -> Option<()> {
        let slc = stream == Stream::Slc;
        let lends = slc && self.lends(pu);
        let l = &mut self.space.parallel_units[pu as usize];
        let free = if slc && !lends { &mut l.slc_free } else { &mut l.free };
        let at = if self.config.wear.dynamic {
            (0..free.len()).min_by_key(|i| self.space.blocks.erases(free[*i]))?
        } else if free.is_empty() {
            return None;
        } else {
            0
        };
        // The order does not matter if the least worn block is chosen; otherwise use the block that was freed first.
        let block = if self.config.wear.dynamic { free.swap_remove(at) } else { free.remove(at) };
        debug_assert_eq!(self.space.blocks.usage(block), Use::Free);
        debug_assert_eq!(self.space.blocks.valid(block), 0);
        self.space.blocks.set_usage(block, Use::Open);
        if lends {
            self.lend(block);
        }
        let write_point = WritePoint { block, next: 0, end: self.programs_of(block) };
        let l = &mut self.space.parallel_units[pu as usize];
        *l.write_point_mut(stream) = Some(write_point);
        l.room_changed(&self.layout);
        if self.space.placement.is_on() {
            self.space.placement.opened(block, stream);
        }
        self.gc.opened(pu, block);
        Some(())
    }

    /// Handles the end of a program in `block`.
    #[inline]
    pub(crate) fn written(&mut self, block: u32) {
        if self.space.blocks.end_write(block) == 0 {
            self.close_if_written(block);
        }
    }

    pub(crate) fn close_if_written(&mut self, block: u32) {
        if self.space.blocks.usage(block) != Use::Full || self.space.blocks.writes(block) > 0 {
            return;
        }
        self.space.blocks.close(block, self.durability.sequence.next());
        let pu = self.layout.pu_of(block) as usize;
        self.look_at_lent_again(pu as u32);
        if self.space.blocks.is_failing(block) {
            self.gc.force(pu as u32, block);
        }
        if self.is_slc(block) {
            self.space.parallel_units[pu].slc_closed.push_back(block);
            // Only folding collects it, in order.
            self.space.blocks.withhold(block);
        }
        self.withhold_resting(pu as u32, block);
    }

    /// Closes `block` to further programs.
    pub(crate) fn abandon(&mut self, block: u32) {
        self.drop_stripe(block);
        let pu = self.layout.pu_of(block) as usize;
        let l = &mut self.space.parallel_units[pu];
        if let Some(open) = l.entry_of(block) {
            *open = None;
            l.room_changed(&self.layout);
            self.space.blocks.set_usage(block, Use::Full);
            return;
        }
        if self.space.blocks.usage(block) == Use::Closed {
            self.gc.force(pu as u32, block);
        }
    }
}
