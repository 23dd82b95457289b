//! Reads of pages that cannot be corrected: what they held is the exclusive or of the other pages of their stripe.
//!
//! The read waits while the others are read, then ends as if it had found its page: what would move from the page comes
//! from the others instead. What the host read is written elsewhere; what collection read is on its way there already.
//! A second page of the stripe that cannot be read loses the data.

use media::{Action, Class, Flash, Move, OpId, PARITY, PageAddr, PlaneMask, ReadOp, Status};

use crate::buffer::Owner;
use crate::command::{Kind, Operation};
use crate::location::Location;
use crate::{Actions, Delivery, Ftl};

/// A read whose page is being rebuilt.
pub(crate) struct Rebuild {
    /// Reads under way.
    left: u32,
    /// One of them could not be corrected.
    failed: bool,
    /// The page that failed, on all planes that were read.
    page: PageAddr,
    /// The others of its stripe, parity among them; none while some are on their way to flash, and the page is read again.
    others: Vec<PageAddr>,
}

/// What a read that failed was for: its units of one program.
struct Failed {
    block: u32,
    program: u32,
    /// A bit a unit.
    bits: u64,
    class: Class,
}

/// What there is of a stripe.
enum Stripe {
    /// The other pages.
    Whole(Vec<PageAddr>),
    /// Some are being programmed.
    OnItsWay,
    /// It has no parity, or lost another page.
    Unprotected,
}

/// The pages of a stripe, as they are in flash.
#[derive(Default)]
struct Found {
    others: Vec<PageAddr>,
    /// Highest sequence number of the data on each plane, and that of the parity.
    data: [u64; 16],
    parity: [u64; 16],
    /// Some place took no program since an earlier one failed there.
    closed: bool,
}

impl Found {
    fn add(&mut self, page: PageAddr, plane: u32, flash: &impl Flash) {
        let sequence = flash.sequence(page, plane);
        let is_parity = flash.logical(page, plane).first() == Some(&PARITY);
        let of = if is_parity { &mut self.parity } else { &mut self.data };
        of[plane as usize] = of[plane as usize].max(sequence);
    }

    /// True if there is parity on all `planes`, and no data that is younger: it went where a power cut had left room.
    fn is_protected(&self, planes: PlaneMask) -> bool {
        planes.iter().all(|plane| self.parity[plane as usize] > self.data[plane as usize])
    }
}

impl Ftl {
    /// The operation `id` failed: true if that is a read, and its page is rebuilt.
    #[cold]
    #[inline(never)]
    pub(crate) fn start_rebuild(&mut self, id: OpId, flash: &impl Flash, out: &mut Actions) -> bool {
        let Some(failed) = self.failed_read(id) else { return false };
        let mut page = self.layout.page(failed.block, failed.program);
        page.planes = self.planes_of(page.planes, failed.bits);
        let (others, read) = match self.stripe(&failed, page.planes, flash) {
            Stripe::Whole(others) => (others.clone(), others),
            Stripe::OnItsWay => (Vec::new(), vec![page]),
            Stripe::Unprotected => {
                self.stats.rebuild_failures += 1;
                return false;
            }
        };
        let rebuild = Rebuild { left: read.len() as u32, failed: false, page, others };
        for page in read {
            let read = self.start_operation(Kind::Rebuild, id.0);
            let bytes = self.units_on(page.planes, failed.bits) << self.unit_shift;
            self.stats.rebuild_reads += 1;
            out.actions.push(Action::Read(ReadOp { id: read, page, bytes, class: failed.class }));
        }
        let parity = self.parity.as_mut().expect("called only where there is parity");
        parity.rebuilds.insert(id.0, rebuild);
        true
    }

    /// What the read `id` was for, if its page can be rebuilt.
    fn failed_read(&self, id: OpId) -> Option<Failed> {
        let operation = &self.operations[id];
        let (count, class) = match operation.kind {
            Kind::HostRead => (operation.count, Class::Host),
            Kind::Fill => (1, Class::Host),
            Kind::MapRead => (1, Class::Map),
            Kind::CollectRead => (0, Class::Collection),
            _ => return None,
        };
        let block = self.layout.block_of(operation.unit);
        if self.read_copies.is_some() && self.holds_copies(block) {
            return None;
        }
        let within = operation.unit - block * self.layout.block_units;
        let (program, at) = (within / self.layout.program_units, within % self.layout.program_units);
        let bits = if count == 0 { operation.mask } else { (u64::MAX >> (64 - count)) << at };
        Some(Failed { block, program, bits, class })
    }

    /// The planes among those of a whole program that units in `bits` lie on.
    fn planes_of(&self, planes: PlaneMask, bits: u64) -> PlaneMask {
        let first = planes.0.trailing_zeros();
        let concerned = planes.iter().filter(|plane| bits & self.bits_of(plane - first) != 0);
        PlaneMask(concerned.fold(0, |mask, plane| mask | 1 << plane))
    }

    /// The units of plane number `number` of a program, a bit each.
    fn bits_of(&self, number: u32) -> u64 {
        (u64::MAX >> (64 - self.layout.page_units)) << (number * self.layout.page_units)
    }

    /// Units in `bits` that lie on `planes`.
    fn units_on(&self, planes: PlaneMask, bits: u64) -> u32 {
        // Programs with parity cover all planes of a die.
        planes.iter().map(|plane| (bits & self.bits_of(plane)).count_ones()).sum()
    }

    /// The stripe of the page that failed on `planes`, without that page.
    fn stripe(&self, failed: &Failed, planes: PlaneMask, flash: &impl Flash) -> Stripe {
        let parity = self.parity.as_ref().expect("called only where there is parity");
        let first = failed.program - failed.program % self.layout.stripe;
        let programs = first..first + self.layout.stripe;
        if parity.is_open(failed.block, first) {
            return Stripe::Unprotected;
        }
        let from = self.layout.unit_of(failed.block, first);
        if self.is_programmed_in(from..from + self.layout.stripe * self.layout.program_units) {
            return Stripe::OnItsWay;
        }
        let mut found = Found::default();
        for program in programs {
            let mut page = self.layout.page(failed.block, program);
            page.planes.0 &= planes.0;
            for plane in PlaneMask(page.planes.0).iter() {
                if flash.block(page.die, plane, page.block).programmed <= page.page {
                    let position = program % self.layout.per_row;
                    let is = |planes: u16| planes >> plane & 1 != 0;
                    if !is(self.blocks.closed_planes(failed.block, position)) {
                        // The power was cut before it was programmed.
                        return Stripe::Unprotected;
                    }
                    // Which planes had failed before a power cut is not known.
                    found.closed |= !is(self.blocks.hole(failed.block, position));
                    page.planes.0 &= !PlaneMask::one(plane).0;
                } else if flash.readable(page, plane) {
                    found.add(page, plane, flash);
                } else if parity.leaves_out(failed.block, program) {
                    page.planes.0 &= !PlaneMask::one(plane).0;
                } else {
                    return Stripe::Unprotected;
                }
            }
            if page.planes.0 != 0 && program != failed.program {
                found.others.push(page);
            }
        }
        let known = !found.closed || planes.iter().all(|plane| parity.is_since_mount(found.parity[plane as usize]));
        if known && found.is_protected(planes) { Stripe::Whole(found.others) } else { Stripe::Unprotected }
    }

    /// True if a program of some of these flash units is under way.
    fn is_programmed_in(&self, units: std::ops::Range<u32>) -> bool {
        let failed = |id: &OpId| self.parallel_units.iter().any(|pu| pu.retry.contains(id));
        self.operations.under_way().into_iter().any(|id| {
            let Operation { kind, unit, .. } = self.operations[id];
            matches!(kind, Kind::Program | Kind::Parity) && units.contains(&unit) && !failed(&id)
        })
    }

    /// A read for the rebuilding of a page has ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn rebuild_read_done(
        &mut self,
        id: OpId,
        status: Status,
        flash: &impl Flash,
        out: &mut Actions,
    ) -> Option<Delivery> {
        let of = OpId(self.operations.end(id).subject);
        let parity = self.parity.as_mut().expect("called only where there is parity");
        let rebuild = parity.rebuilds.get_mut(&of.0).expect("a page is being rebuilt");
        rebuild.failed |= status != Status::Ok;
        rebuild.left -= 1;
        if rebuild.left > 0 {
            return None;
        }
        let Rebuild { failed, page, others, .. } = parity.rebuilds.remove(&of.0).expect("as before");
        if failed && others.is_empty() && self.start_rebuild(of, flash, out) {
            return None;
        }
        if failed {
            self.stats.rebuild_failures += u64::from(!others.is_empty());
            return self.read_ended(of, Status::Uncorrectable, flash, out);
        }
        if others.is_empty() {
            return self.read_ended(of, Status::Ok, flash, out);
        }
        self.stats.rebuilt += 1;
        self.relocate(of, &others, out);
        let from = out.moves.len();
        let delivery = self.read_ended(of, Status::Ok, flash, out);
        let moves = out.moves.split_off(from);
        moves.into_iter().for_each(|movement| self.move_rebuilt(movement, page, &others, out));
        self.dispatch_pending(out);
        delivery
    }

    /// The read `id` ends, as it would have at once.
    fn read_ended(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) -> Option<Delivery> {
        if self.operations[id].kind == Kind::CollectRead {
            self.collect_read_done(id, status, flash, out);
            return None;
        }
        self.other_done(id, status, flash, out)
    }

    /// What the host read is written elsewhere, as far as the write cache has room.
    fn relocate(&mut self, id: OpId, others: &[PageAddr], out: &mut Actions) {
        let Operation { kind, unit: first, logical, count, .. } = self.operations[id];
        if kind != Kind::HostRead || self.read_only {
            return;
        }
        for (home, unit) in (first..first + count).zip(logical..) {
            let stays = self.table.get(unit) == Location::flash(home) && !self.lost.contains(&unit);
            if !stays || !self.reserve(1) {
                continue;
            }
            self.reserved -= 1;
            self.epoch += 1;
            let all = self.all_sectors();
            let slot = self.slots.take_dirty(&mut self.dirty, self.epoch, unit, Location::flash(home), all);
            debug_assert_eq!(self.slots[slot].owner, Owner::Host);
            self.table.set(unit, Location::buffer(slot));
            if self.config.moves {
                let (page, _, within) = self.layout.address(home);
                self.xor_pages(page, within, others, out);
                out.moves.push(Move::BufferToBuffer { from: self.scratch(), to: slot, keep: 0 });
            }
            self.stats.relocated += 1;
            self.has_work = true;
        }
    }

    fn scratch(&self) -> u32 {
        self.parity.as_ref().expect("called only where there is parity").scratch
    }

    /// Rebuilds the unit `within` of `page`, of one plane, in the scratch slot.
    fn xor_pages(&self, page: PageAddr, within: u32, others: &[PageAddr], out: &mut Actions) {
        let buffer = self.scratch();
        out.moves.push(Move::ZeroBuffer { buffer, keep: 0 });
        for other in others.iter().filter(|other| other.planes.0 & page.planes.0 != 0) {
            let page = PageAddr { planes: page.planes, ..*other };
            out.moves.push(Move::XorFlash { page, unit: within, buffer });
        }
    }

    /// What would come from the page that failed comes from the others of its stripe.
    fn move_rebuilt(&mut self, movement: Move, failed: PageAddr, others: &[PageAddr], out: &mut Actions) {
        let of_failed = |page: &PageAddr| PageAddr { planes: failed.planes, ..*page } == failed;
        match movement {
            Move::FlashToHost { page, unit, from, sectors, tag, to } if of_failed(&page) => {
                self.xor_pages(page, unit, others, out);
                out.moves.push(Move::BufferToHost { buffer: self.scratch(), from, sectors, tag, to });
            }
            Move::FlashToBuffer { page, unit, buffer, keep } if of_failed(&page) => {
                self.xor_pages(page, unit, others, out);
                out.moves.push(Move::BufferToBuffer { from: self.scratch(), to: buffer, keep });
            }
            other => out.moves.push(other),
        }
    }
}
