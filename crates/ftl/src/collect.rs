//! Blocks: opened, filled, closed, collected, erased, retired. One *lane* at a time, by itself.

use media::{Action, BlockAddr, Class, EraseOp, Flash, Move, NOBODY, OpId, PageAddr, PlaneMask, ReadOp, Status};

use crate::blocks::{Blocks, Use};
use crate::buffer::{Holds, NIL, Owner};
use crate::command::Kind;
use crate::config::Policy;
use crate::location::{Location, Place};
use crate::{Actions, Ftl, journal};

/// What a block is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Host,
    Copy,
    Slc,
}

/// An open block: programs `next..end` of it are to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    block: u32,
    next: u32,
    end: u32,
}

/// A place for one program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub lane: u32,
    pub block: u32,
    pub program: u32,
    /// First unit of the program, whatever planes are missing.
    pub unit: u32,
    /// Units that fit.
    pub units: u32,
    pub page: PageAddr,
}

/// A block being read for its valid units: programs before `cursor` have been.
#[derive(Clone, Copy, Debug)]
struct Job {
    block: u32,
    cursor: u32,
    end: u32,
}

/// What allocates and collects by itself.
pub(crate) struct Lane {
    free: Vec<u32>,
    slc_free: Vec<u32>,
    /// SLC blocks in the order in which they were filled.
    slc_closed: std::collections::VecDeque<u32>,
    fronts: [Option<Front>; 3],
    job: Option<Job>,
    /// Slots read, to be programmed.
    pending: Vec<u32>,
    /// Units being read, pending or being programmed.
    pub(crate) in_flight: u32,
    quota: u32,
    /// Reads of collection under way.
    reading: u32,
    /// Blocks collected whose erase has not ended.
    draining: u32,
    /// The policy's choice, until it is taken.
    chosen: Option<u32>,
    /// Blocks to be collected whatever the policy says.
    forced: Vec<u32>,
    /// Failed programs that wait for room.
    pub(crate) retry: Vec<OpId>,
    /// It may use what it otherwise sets aside.
    desperate: bool,
    /// Programs of blocks reopened at the mount that were done before: block and program.
    ahead: Vec<(u32, u32)>,
    /// Erases since wear was looked at.
    since_wear: u32,
}

impl Lane {
    pub(crate) fn new(quota: u32) -> Lane {
        Lane {
            free: Vec::new(),
            slc_free: Vec::new(),
            slc_closed: std::collections::VecDeque::new(),
            fronts: [None; 3],
            job: None,
            pending: Vec::with_capacity(quota as usize),
            in_flight: 0,
            quota,
            reading: 0,
            draining: 0,
            chosen: None,
            forced: Vec::new(),
            retry: Vec::new(),
            desperate: false,
            ahead: Vec::new(),
            since_wear: 0,
        }
    }

    pub(crate) fn add_free(&mut self, block: u32, slc: bool) {
        if slc { self.slc_free.push(block) } else { self.free.push(block) }
    }

    pub(crate) fn add_closed_slc(&mut self, block: u32) {
        self.slc_closed.push_back(block);
    }

    pub(crate) fn force(&mut self, block: u32) {
        self.forced.push(block);
    }

    /// Opens `block` from program `next` on for `stream`, unless that has one; programs in `ahead` are done already.
    pub(crate) fn reopen(&mut self, stream: Stream, block: u32, next: u32, end: u32, ahead: &[u32]) -> bool {
        let front = &mut self.fronts[stream as usize];
        if front.is_some() {
            return false;
        }
        *front = Some(Front { block, next, end });
        self.ahead.extend(ahead.iter().map(|program| (block, *program)));
        true
    }
}

/// Free blocks that host writes leave to collection.
const RESERVE: usize = 1;

impl Ftl {
    // ---- opening and filling ----

    /// True if `block` holds one bit a cell.
    #[inline]
    pub(crate) fn is_slc(&self, block: u32) -> bool {
        self.config.slc.is_some_and(|slc| block % self.layout.blocks < slc.blocks)
    }

    /// Programs a block of this kind takes.
    pub(crate) fn programs_of(&self, block: u32) -> u32 {
        match self.config.slc {
            Some(slc) if self.is_slc(block) => self.layout.pages / slc.bits * self.layout.per_row,
            _ => self.layout.block_programs,
        }
    }

    /// Room for a program of the host, in the next lane that has some.
    pub(crate) fn host_room(&mut self) -> Option<Room> {
        for _ in 0..self.layout.lanes {
            let lane = self.next_lane;
            self.next_lane = if lane + 1 == self.layout.lanes { 0 } else { lane + 1 };
            if self.config.slc.is_some()
                && let Some(room) = self.room(lane, Stream::Slc)
            {
                return Some(room);
            }
            let separate = self.config.collection.separate;
            let stream = if separate { Stream::Host } else { Stream::Copy };
            let l = &self.lanes[lane as usize];
            // A block shared with copies, opened for them as the last free one, is theirs.
            let open = l.fronts[stream as usize].is_some() && (separate || l.free.len() >= RESERVE);
            if (open || l.free.len() > RESERVE)
                && let Some(room) = self.room(lane, stream)
            {
                return Some(room);
            }
        }
        None
    }

    /// Room for copies in `lane`: the last programs of the last block are left to the journal of trims, for which an
    /// erase may wait.
    pub(crate) fn copy_room(&mut self, lane: u32) -> Option<Room> {
        let l = &self.lanes[lane as usize];
        if l.free.is_empty() {
            let left = l.fronts[Stream::Copy as usize].map_or(0, |front| front.end - front.next);
            if left <= self.journal_programs() && left > 0 {
                return None;
            }
        }
        self.room(lane, Stream::Copy)
    }

    /// Programs set aside for pages of the journal: one for trims that may come, more for those that it does not tell of
    /// yet.
    fn journal_programs(&self) -> u32 {
        if self.journal.all_durable() {
            return 1;
        }
        let all = journal::units(&self.config).div_ceil(self.layout.program_units);
        all.min(self.layout.block_programs / 6).max(1)
    }

    /// Nothing is under way, and `lane` is short of room: what it otherwise sets aside may be used, until a block of it
    /// is erased. True if that is new.
    pub(crate) fn despair(&mut self, lane: u32, out: &mut Actions) -> bool {
        if std::mem::replace(&mut self.lanes[lane as usize].desperate, true) {
            return false;
        }
        self.back_out(lane, out);
        true
    }

    /// Nothing else can go on in `lane`: copies that have no room are dropped, their sources are still there, and the
    /// blocks they came from may be chosen again.
    fn back_out(&mut self, lane: u32, out: &mut Actions) {
        while let Some(slot) = self.lanes[lane as usize].pending.pop() {
            let home = self.slots[slot].home;
            self.lanes[lane as usize].in_flight -= 1;
            self.slots.give(slot);
            self.unpin_home(home, out);
        }
        if self.lanes[lane as usize].reading > 0 {
            return;
        }
        self.lanes[lane as usize].job = None;
        for block in lane * self.layout.blocks..(lane + 1) * self.layout.blocks {
            if self.blocks.usage(block) == Use::Victim && self.blocks.valid(block) > 0 {
                self.blocks.set_usage(block, Use::Closed);
                self.lanes[lane as usize].draining -= 1;
                if self.is_slc(block) {
                    self.blocks.withhold(block);
                    self.lanes[lane as usize].slc_closed.push_back(block);
                }
            }
        }
    }

    /// Room for a program in `lane`; opens a block if need be. `None` if there is none to open.
    #[inline]
    pub(crate) fn room(&mut self, lane: u32, stream: Stream) -> Option<Room> {
        loop {
            let front = match self.lanes[lane as usize].fronts[stream as usize] {
                Some(front) => front,
                None => self.open(lane, stream)?,
            };
            let Front { block, next: program, end } = front;
            let next = (program + 1 < end).then_some(Front { block, next: program + 1, end });
            self.lanes[lane as usize].fronts[stream as usize] = next;
            let mut page = self.layout.page(block, program);
            let hole = self.blocks.hole(block, program % self.layout.per_row);
            page.planes = PlaneMask(page.planes.0 & !hole);
            let room = Room {
                lane,
                block,
                program,
                unit: self.layout.unit_of(block, program),
                units: page.planes.count() * self.layout.page_units,
                page,
            };
            let used = room.units > 0 && !self.done_before(lane, block, program);
            if next.is_none() {
                // Not closed before its last program is done.
                self.blocks.set_usage(block, Use::Full);
                if !used {
                    self.close_if_written(block);
                }
            }
            if used {
                return Some(room);
            }
        }
    }

    /// True if this program was done before the mount.
    #[inline]
    fn done_before(&mut self, lane: u32, block: u32, program: u32) -> bool {
        let ahead = &mut self.lanes[lane as usize].ahead;
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

    #[cold]
    fn open(&mut self, lane: u32, stream: Stream) -> Option<Front> {
        let l = &mut self.lanes[lane as usize];
        let slc = stream == Stream::Slc;
        let free = if slc { &mut l.slc_free } else { &mut l.free };
        let at = if self.config.wear.dynamic {
            (0..free.len()).min_by_key(|i| self.blocks.erases(free[*i]))?
        } else if free.is_empty() {
            return None;
        } else {
            0
        };
        // Order does not matter where the least worn is taken; else the block freed longest ago is.
        let block = if self.config.wear.dynamic { free.swap_remove(at) } else { free.remove(at) };
        debug_assert_eq!(self.blocks.usage(block), Use::Free);
        debug_assert_eq!(self.blocks.valid(block), 0);
        self.blocks.set_usage(block, Use::Open);
        let front = Front { block, next: 0, end: self.programs_of(block) };
        self.lanes[lane as usize].fronts[stream as usize] = Some(front);
        self.short_lanes.push(lane);
        Some(front)
    }

    /// A program in `block` is done.
    pub(crate) fn written(&mut self, block: u32) {
        if self.blocks.end_write(block) == 0 {
            self.close_if_written(block);
        }
    }

    fn close_if_written(&mut self, block: u32) {
        if self.blocks.usage(block) != Use::Full || self.blocks.writes(block) > 0 {
            return;
        }
        self.blocks.close(block, self.sequence.next());
        let lane = self.layout.lane_of(block) as usize;
        if self.blocks.is_failing(block) {
            self.lanes[lane].forced.push(block);
        }
        if self.is_slc(block) {
            self.lanes[lane].slc_closed.push_back(block);
            // Only folding takes it, in its turn.
            self.blocks.withhold(block);
        }
    }

    /// No further program goes into `block`.
    pub(crate) fn abandon(&mut self, block: u32) {
        let lane = self.layout.lane_of(block) as usize;
        for front in &mut self.lanes[lane].fronts {
            if front.is_some_and(|f| f.block == block) {
                *front = None;
                self.blocks.set_usage(block, Use::Full);
                return;
            }
        }
        if self.blocks.usage(block) == Use::Closed {
            self.lanes[lane].forced.push(block);
        }
    }

    // ---- collecting ----

    /// Goes on collecting `lane`, or starts to, if it is short of free blocks.
    pub(crate) fn collect(&mut self, lane: u32, out: &mut Actions) {
        if self.retries > 0 {
            // A failed program holds up erases: it goes first.
            self.retry(lane, out);
        }
        self.read_victims(lane, out);
        self.program_pending(lane, out);
    }

    fn read_victims(&mut self, lane: u32, out: &mut Actions) {
        loop {
            let l = &self.lanes[lane as usize];
            let Some(job) = l.job else {
                let Some(victim) = self.next_victim(lane) else { return };
                self.start_job(lane, victim);
                continue;
            };
            if job.cursor == job.end {
                self.lanes[lane as usize].job = None;
                if self.blocks.valid(job.block) == 0 {
                    self.emptied(job.block);
                }
                continue;
            }
            let unit = self.layout.unit_of(job.block, job.cursor);
            let bits = self.blocks.valid_bits(unit, self.layout.program_units);
            if bits != 0 {
                let count = bits.count_ones();
                if l.in_flight + count > l.quota {
                    return;
                }
                self.read_copy(lane, job, unit, bits, out);
            }
            if let Some(job) = &mut self.lanes[lane as usize].job {
                job.cursor += 1;
            }
        }
    }

    /// Reads the units in `bits` of the program at `unit`, to copy them.
    fn read_copy(&mut self, lane: u32, job: Job, unit: u32, bits: u64, out: &mut Actions) {
        let per_page = self.layout.page_units;
        let mut page = self.layout.page(job.block, job.cursor);
        let first = page.planes.0.trailing_zeros();
        let in_page = u64::MAX >> (64 - per_page);
        let mut planes = 0;
        for plane in 0..self.layout.planes {
            if bits >> (plane * per_page) & in_page != 0 {
                planes |= 1 << (first + plane);
            }
        }
        page.planes = PlaneMask(planes);
        let count = bits.count_ones();
        let l = &mut self.lanes[lane as usize];
        l.in_flight += count;
        l.reading += 1;
        let id = self.start_operation(Kind::CollectRead, lane);
        let operation = &mut self.operations[id];
        (operation.unit, operation.mask) = (unit, bits);
        self.blocks.pin(job.block);
        self.stats.copy_reads += 1;
        let bytes = count << self.unit_shift;
        out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Collection }));
    }

    pub(crate) fn collect_read_done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        let operation = self.operations.end(id);
        let lane = operation.subject;
        let block = self.layout.block_of(operation.unit);
        let mut bits = operation.mask;
        while bits != 0 {
            let i = bits.trailing_zeros();
            bits &= bits - 1;
            let physical = operation.unit + i;
            if !self.copy_unit(physical, status, flash, out) {
                self.lanes[lane as usize].in_flight -= 1;
            }
        }
        self.lanes[lane as usize].reading -= 1;
        self.unpin(block, out);
        self.collect(lane, out);
        self.pump(out);
    }

    /// Takes the unit at `physical` into a slot, if it is still the newest.
    fn copy_unit(&mut self, physical: u32, status: Status, flash: &impl Flash, out: &mut Actions) -> bool {
        if !self.blocks.is_valid(physical) {
            return false;
        }
        let (page, plane, within) = self.layout.address(physical);
        let unit = flash.logical(page, plane)[within as usize];
        debug_assert_ne!(unit, NOBODY);
        let home = Location::flash(physical);
        assert_eq!(self.home(unit), home, "unit {unit} is valid at {physical}, but the map has it elsewhere");
        let slot = self.slots.take(unit, home, Holds::Moving, Owner::Copy);
        self.slots[slot].have = self.all_sectors();
        // Until the copy is issued or dropped its source must not be erased and written with the same unit again.
        self.blocks.pin(self.layout.block_of(physical));
        let lane = self.layout.lane_of(self.layout.block_of(physical)) as usize;
        self.lanes[lane].pending.push(slot);
        let clean = match self.place(unit) {
            Place::Buffer(other) if self.slots[other].holds == Holds::Clean => Some(other),
            _ => None,
        };
        match clean {
            Some(clean) => {
                self.slots[slot].lost = self.slots[clean].lost;
                if self.config.moves {
                    out.moves.push(Move::BufferToBuffer { from: clean, to: slot, keep: 0 });
                }
            }
            None if status == Status::Ok => {
                self.slots[slot].lost = !self.lost.is_empty() && self.lost.contains(&unit);
                if self.config.moves {
                    out.moves.push(Move::FlashToBuffer { page, unit: within, buffer: slot, keep: 0 });
                }
            }
            None => {
                self.slots[slot].lost = true;
                // Newer data in RAM is not lost; this copy is kept only because that data may not survive.
                if self.table.get(unit) == home {
                    self.lose(unit);
                }
            }
        }
        true
    }

    /// Programs what was read: whole programs, and the rest once nothing more is being read.
    fn program_pending(&mut self, lane: u32, out: &mut Actions) {
        loop {
            let l = &self.lanes[lane as usize];
            let all_read = l.job.is_none() && l.reading == 0;
            let pending = l.pending.len();
            if pending == 0 || (pending < self.layout.program_units as usize && !all_read) {
                return;
            }
            if !self.drop_superseded(lane, out) {
                continue;
            }
            let Some(room) = self.copy_room(lane) else { return };
            let id = self.start_operation(Kind::Program, lane);
            let mut taken = 0;
            while taken < room.units {
                let Some(slot) = self.lanes[lane as usize].pending.pop() else { break };
                self.operations.slots_mut(id)[taken as usize] = slot;
                taken += 1;
                let home = self.slots[slot].home;
                self.unpin_home(home, out);
            }
            self.operations.slots_mut(id)[taken as usize..].fill(NIL);
            self.issue_program(id, room, Class::Collection, out);
        }
    }

    /// Gives back pending slots whose unit moved on; true if at least a program, or all there is, is left.
    fn drop_superseded(&mut self, lane: u32, out: &mut Actions) -> bool {
        let before = self.lanes[lane as usize].pending.len();
        let mut i = 0;
        while i < self.lanes[lane as usize].pending.len() {
            let slot = self.lanes[lane as usize].pending[i];
            let s = self.slots[slot];
            if self.home(s.unit) == s.home {
                i += 1;
            } else {
                self.lanes[lane as usize].pending.swap_remove(i);
                self.lanes[lane as usize].in_flight -= 1;
                self.slots.give(slot);
                self.unpin_home(s.home, out);
            }
        }
        self.lanes[lane as usize].pending.len() == before
    }

    // ---- choosing ----

    /// The block that `lane` should collect now, if any.
    fn next_victim(&mut self, lane: u32) -> Option<u32> {
        let l = &self.lanes[lane as usize];
        if l.free.is_empty() && l.draining > 0 {
            // The last room belongs to the block that is being emptied, and to what its erase waits for.
            return None;
        }
        let l = &mut self.lanes[lane as usize];
        if let Some(block) = l.forced.pop() {
            if self.blocks.usage(block) == Use::Closed && self.fits(lane, block) {
                return Some(block);
            }
            if self.blocks.usage(block) == Use::Closed {
                self.lanes[lane as usize].forced.insert(0, block);
            }
        }
        let l = &self.lanes[lane as usize];
        if l.free.len() + l.draining as usize <= self.config.collection.start as usize
            && let Some(block) = self.gainful(lane)
        {
            return Some(block);
        }
        // Folding takes room without making any, so it comes after.
        let (slc, l) = (self.config.slc?, &self.lanes[lane as usize]);
        let block = l.slc_closed.front().copied()?;
        let due = l.slc_free.len() <= slc.fold as usize && l.free.len() > RESERVE;
        if !due || !self.fits(lane, block) {
            return None;
        }
        Some(block)
    }

    /// The policy's victim; where collecting that one would gain nothing or not fit, the one with the fewest valid
    /// units.
    fn gainful(&mut self, lane: u32) -> Option<u32> {
        // A choice stands until it is taken: were it made anew whenever it does not fit, the fuller ones would never be.
        let stands = |block: &u32| self.blocks.usage(*block) == Use::Closed;
        let chosen = match self.lanes[lane as usize].chosen.filter(stands) {
            Some(chosen) => chosen,
            None => self.choose(lane)?,
        };
        self.lanes[lane as usize].chosen = Some(chosen);
        if self.gains(chosen) && self.fits(lane, chosen) {
            self.lanes[lane as usize].chosen = None;
            return Some(chosen);
        }
        // What is under way will make room: the policy's choice is worth waiting for.
        let l = &self.lanes[lane as usize];
        if (l.in_flight > 0 || l.draining > 0) && !l.desperate {
            return None;
        }
        self.least_valid(lane).filter(|block| self.gains(*block) && self.fits(lane, *block))
    }

    fn gains(&self, block: u32) -> bool {
        self.blocks.valid(block) < self.programs_of(block) * self.layout.program_units
    }

    /// The collectable block with the fewest valid units.
    fn least_valid(&self, lane: u32) -> Option<u32> {
        let ranks = self.blocks.ranks(&self.layout, lane);
        let least = ranks.iter().copied().min().filter(|rank| Blocks::collectable(*rank))?;
        Some(lane * self.layout.blocks + ranks.iter().position(|rank| *rank == least)? as u32)
    }

    /// True if what is valid in `block`, and all that is on its way, fits into the open block and the free ones:
    /// collection never starts what it may be unable to finish.
    fn fits(&self, lane: u32, block: u32) -> bool {
        let needed = self.blocks.valid(block) + self.lanes[lane as usize].in_flight;
        if needed == 0 {
            return true;
        }
        let l = &self.lanes[lane as usize];
        // Set aside, unless this is the last way out: a program in part at the end of a job, what a power cut may spoil.
        // And pages of the journal of trims, which may have to go where copies go.
        let mut programs = 0;
        if !l.desperate {
            let spoilt = l.quota / self.layout.program_units;
            programs = (2 + spoilt).min(self.layout.block_programs / 3);
        }
        programs += self.journal_programs();
        let mut room = -i64::from(programs * self.layout.program_units);
        if let Some(front) = l.fronts[Stream::Copy as usize] {
            room += self.capacity(front.block, front.end - front.next);
        }
        for free in &l.free {
            if room >= i64::from(needed) {
                break;
            }
            room += self.capacity(*free, self.layout.block_programs);
        }
        i64::from(needed.next_multiple_of(self.layout.program_units)) <= room
    }

    /// Units that `programs` programs of `block` hold, those on planes that are lost left out.
    fn capacity(&self, block: u32, programs: u32) -> i64 {
        let planes = self.blocks.usable_planes(&self.layout, block);
        i64::from(programs / self.layout.per_row) * i64::from(planes * self.layout.page_units)
    }

    fn choose(&mut self, lane: u32) -> Option<u32> {
        let first = lane * self.layout.blocks;
        let ranks = self.blocks.ranks(&self.layout, lane);
        let collectable = || ranks.iter().enumerate().filter(|(_, rank)| Blocks::collectable(**rank));
        let at = match self.config.collection.policy {
            Policy::Greedy => return self.least_valid(lane),
            Policy::Fifo => collectable().map(|(i, _)| i).min_by_key(|i| self.blocks.closed_at(first + *i as u32))?,
            Policy::CostBenefit => {
                let (now, whole) = (self.sequence.next(), u64::from(self.layout.block_units));
                let benefit = |i: usize| {
                    let (valid, age) = (u64::from(ranks[i]), now - self.blocks.closed_at(first + i as u32));
                    // (1 - u) x age / 2u, as whole numbers to the same scale; an empty block is the best there is.
                    if valid == 0 {
                        u128::MAX
                    } else {
                        ((u128::from(whole - valid.min(whole)) * u128::from(age)) << 32) / u128::from(2 * valid)
                    }
                };
                collectable().map(|(i, _)| i).max_by_key(|i| (benefit(*i), std::cmp::Reverse(*i)))?
            }
            Policy::Choices(choices) => {
                let mut best: Option<usize> = None;
                let mut tries = 0;
                let mut drawn = 0;
                while drawn < choices && tries < 64 * choices {
                    tries += 1;
                    let i = self.rng.below(ranks.len() as u64) as usize;
                    if Blocks::collectable(ranks[i]) {
                        drawn += 1;
                        best = if best.is_some_and(|b| ranks[b] <= ranks[i]) { best } else { Some(i) };
                    }
                }
                // Hardly anything is closed: look at all of it.
                match best {
                    Some(best) => best,
                    None => collectable().min_by_key(|(_, rank)| **rank)?.0,
                }
            }
        };
        Some(first + at as u32)
    }

    fn start_job(&mut self, lane: u32, block: u32) {
        self.blocks.set_usage(block, Use::Victim);
        self.stats.victims += 1;
        self.stats.victim_units += u64::from(self.blocks.valid(block));
        let (end, slc) = (self.programs_of(block), self.is_slc(block));
        let l = &mut self.lanes[lane as usize];
        if slc {
            l.slc_closed.retain(|closed| *closed != block);
        }
        l.draining += 1;
        l.job = Some(Job { block, cursor: 0, end });
    }

    // ---- erasing ----

    /// The last valid unit of `block` was superseded.
    pub(crate) fn emptied(&mut self, block: u32) {
        let lane = self.layout.lane_of(block) as usize;
        let being_read = self.lanes[lane].job.is_some_and(|j| j.block == block);
        if self.blocks.usage(block) == Use::Victim && !being_read && !self.empty.iter().any(|(b, _)| *b == block) {
            self.empty.push((block, self.sequence.next() - 1));
        }
    }

    /// A read of `block` ended.
    #[inline]
    pub(crate) fn unpin(&mut self, block: u32, out: &mut Actions) {
        if self.blocks.unpin(block) == 0 && !self.empty.is_empty() {
            self.erase_empty(out);
        }
    }

    /// The copy whose source is at `home` is issued or dropped.
    #[inline]
    fn unpin_home(&mut self, home: Location, out: &mut Actions) {
        if let Place::Flash(physical) = home.place(self.slots.count()) {
            self.unpin(self.layout.block_of(physical), out);
        }
    }

    /// Erases the empty victims that nothing holds any more.
    pub(crate) fn erase_empty(&mut self, out: &mut Actions) {
        let mut i = 0;
        while i < self.empty.len() {
            let (block, waits) = self.empty[i];
            let trims = self.blocks.trimmed(block);
            let durable = trims == 0 || self.journal.want(trims);
            if self.sequence.oldest() > waits && self.blocks.pins(block) == 0 && durable {
                self.empty.swap_remove(i);
                self.erase(block, out);
            } else {
                i += 1;
            }
        }
    }

    fn erase(&mut self, block: u32, out: &mut Actions) {
        assert_eq!(self.blocks.valid(block), 0, "block {block} is erased with valid units in it");
        self.blocks.set_usage(block, Use::Erasing);
        for (position, mask) in self.blocks.take_failing(block) {
            self.retire(block, position, mask, out);
        }
        let mut erases = 0;
        for position in 0..self.layout.per_row {
            let mut at = self.layout.block_at(block, position);
            at.planes = PlaneMask(at.planes.0 & !self.blocks.hole(block, position));
            if at.planes.0 == 0 {
                continue;
            }
            let id = self.start_operation(Kind::Erase, block);
            self.operations[id].logical = position;
            out.actions.push(Action::Erase(EraseOp { id, block: at, class: Class::Collection }));
            erases += 1;
        }
        self.blocks.set_erasing(block, erases);
        if erases == 0 {
            self.erased(block, out);
        }
    }

    fn retire(&mut self, block: u32, position: u32, mask: u16, out: &mut Actions) {
        self.blocks.add_hole(block, position, mask);
        let at = self.layout.block_at(block, position);
        out.actions.push(Action::Retire(BlockAddr { planes: PlaneMask(mask), ..at }));
    }

    pub(crate) fn erase_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(id);
        let (block, position) = (operation.subject, operation.logical);
        if status != Status::Ok {
            self.stats.failures += 1;
            let planes = self.layout.block_at(block, position).planes.0 & !self.blocks.hole(block, position);
            self.retire(block, position, planes, out);
        }
        if self.blocks.end_erase(block) == 0 {
            self.erased(block, out);
            self.pump(out);
        }
    }

    /// `block` is erased on all its planes that are left.
    fn erased(&mut self, block: u32, out: &mut Actions) {
        self.stats.erases += 1;
        let lane = self.layout.lane_of(block);
        self.blocks.set_erases(block, self.blocks.erases(block) + 1);
        self.blocks.set_trimmed(block, 0);
        let slc = self.is_slc(block);
        let l = &mut self.lanes[lane as usize];
        l.draining -= 1;
        l.desperate = false;
        if self.blocks.usable_planes(&self.layout, block) == 0 {
            self.blocks.set_usage(block, Use::Bad);
        } else {
            self.blocks.set_usage(block, Use::Free);
            l.add_free(block, slc);
        }
        self.host_stalled = false;
        self.level_wear(lane);
        self.collect(lane, out);
    }

    /// Static wear levelling: what lies in the least worn block never moves by itself, so it is moved.
    fn level_wear(&mut self, lane: u32) {
        let Some(threshold) = self.config.wear.static_threshold else { return };
        let l = &mut self.lanes[lane as usize];
        l.since_wear += 1;
        if l.since_wear < 16 || !l.forced.is_empty() {
            return;
        }
        l.since_wear = 0;
        let from = lane * self.layout.blocks;
        let closed = |b: &u32| self.blocks.usage(*b) == Use::Closed && !self.is_slc(*b);
        let least = (from..from + self.layout.blocks).filter(closed).min_by_key(|b| self.blocks.erases(*b));
        let most = (from..from + self.layout.blocks).map(|b| self.blocks.erases(b)).max();
        if let (Some(least), Some(most)) = (least, most)
            && most - self.blocks.erases(least) > threshold
        {
            self.lanes[lane as usize].forced.push(least);
        }
    }
}
