//! Rebuilding of uncorrectable pages: a page is the exclusive OR of the other pages of its stripe.
//!
//! The failed read waits while the other pages are read, then completes as if it had succeeded: data is moved from the
//! other pages instead of its own. Data read by the host is rewritten elsewhere; data read by collection is already
//! being moved. If a second page of the stripe cannot be read, the data is lost.

use media::{Action, Class, Flash, Move, OpId, PARITY, PageAddr, PlaneMask, ReadOp, Status, Tag};

use crate::buffer::slots::Owner;
use crate::location::Location;
use crate::request::operation::{Operation, OperationKind};
use crate::{Actions, Ftl};

/// A read whose page is being rebuilt.
pub(crate) struct Rebuild {
    /// Reads in progress.
    left: u32,
    /// One of the reads could not be corrected.
    failed: bool,
    /// The failed page, on all planes that were read.
    page: PageAddr,
    /// The other pages of its stripe, including parity; empty while some are being programmed, when the page itself is
    /// read again.
    others: Vec<PageAddr>,
}

/// The units that a read failed to get from one program.
struct Failed {
    block: u32,
    program: u32,
    /// One bit per unit.
    bits: u64,
    class: Class,
}

/// State of a stripe.
enum Stripe {
    /// Complete; holds the other pages.
    Whole(Vec<PageAddr>),
    /// Some are being programmed.
    OnItsWay,
    /// Without parity, or with another page lost.
    Unprotected,
}

/// The pages of a stripe found in flash.
#[derive(Default)]
struct Found {
    others: Vec<PageAddr>,
    /// Highest sequence number of the data on each plane, and that of the parity.
    data: [u64; 16],
    parity: [u64; 16],
    /// Some page was not programmed because an earlier program failed there.
    closed: bool,
}

impl Found {
    fn add(&mut self, page: PageAddr, plane: u32, flash: &impl Flash) {
        let sequence = flash.sequence(page, plane);
        let is_parity = flash.logical(page, plane).first() == Some(&PARITY);
        let of = if is_parity { &mut self.parity } else { &mut self.data };
        of[plane as usize] = of[plane as usize].max(sequence);
    }

    /// Returns true if there is parity on all `planes` and no newer data, which a program after a power cut may have
    /// placed in the stripe.
    fn is_protected(&self, planes: PlaneMask) -> bool {
        planes.iter().all(|plane| self.parity[plane as usize] > self.data[plane as usize])
    }
}

impl Ftl {
    /// Starts to rebuild the page of the failed operation `id`. Returns true if it is a read whose page can be rebuilt.
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
            let read = self.start_operation(OperationKind::Rebuild, id.0);
            let bytes = self.units_on(page.planes, failed.bits) << self.layout.unit_shift;
            self.stats.rebuild_reads += 1;
            out.actions.push(Action::Read(ReadOp { id: read, page, bytes, class: failed.class }));
        }
        let parity = self.durability.parity.as_mut().expect("called only if parity is configured");
        parity.rebuilds.insert(id.0, rebuild);
        true
    }

    /// Returns the units that the read `id` requested, if its page may be rebuilt.
    fn failed_read(&self, id: OpId) -> Option<Failed> {
        let operation = &self.operations[id];
        let (count, class) = match operation.kind {
            OperationKind::HostRead => (operation.count, Class::Host),
            OperationKind::Fill => (1, Class::Host),
            OperationKind::MapRead => (1, Class::Map),
            OperationKind::CollectRead => (0, Class::Collection),
            _ => return None,
        };
        let block = self.layout.block_of(operation.unit);
        if self.buffer.has_read_copies() && self.holds_copies(block) {
            return None;
        }
        let within = operation.unit - block * self.layout.block_units;
        let (program, at) = (within / self.layout.program_units, within % self.layout.program_units);
        let bits = if count == 0 { operation.mask } else { (u64::MAX >> (64 - count)) << at };
        Some(Failed { block, program, bits, class })
    }

    /// Returns those of the planes of a whole program that hold units in `bits`.
    fn planes_of(&self, planes: PlaneMask, bits: u64) -> PlaneMask {
        let first = planes.0.trailing_zeros();
        let concerned = planes.iter().filter(|plane| bits & self.bits_of(plane - first) != 0);
        PlaneMask(concerned.fold(0, |mask, plane| mask | 1 << plane))
    }

    /// Returns the units of plane number `number` of a program, one bit each.
    fn bits_of(&self, number: u32) -> u64 {
        (u64::MAX >> (64 - self.layout.page_units)) << (number * self.layout.page_units)
    }

    /// Returns the number of units in `bits` on `planes`.
    fn units_on(&self, planes: PlaneMask, bits: u64) -> u32 {
        // Programs with parity cover all planes of a die.
        planes.iter().map(|plane| (bits & self.bits_of(plane)).count_ones()).sum()
    }

    /// Returns the stripe of the page that failed on `planes`, without that page.
    fn stripe(&self, failed: &Failed, planes: PlaneMask, flash: &impl Flash) -> Stripe {
        let parity = self.durability.parity.as_ref().expect("called only if parity is configured");
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
                    if !is(self.space.blocks.closed_planes(failed.block, position)) {
                        // Power was lost before the page was programmed.
                        return Stripe::Unprotected;
                    }
                    // Failures of planes before a power cut are not recorded.
                    found.closed |= !is(self.space.blocks.hole(failed.block, position));
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
        let known = !found.closed
            || planes
                .iter()
                .all(|plane| parity.is_since_mount(self.space.placement.sequence(found.parity[plane as usize])));
        if known && found.is_protected(planes) { Stripe::Whole(found.others) } else { Stripe::Unprotected }
    }

    /// Returns true if a program of any of these flash units is in progress.
    fn is_programmed_in(&self, units: std::ops::Range<u32>) -> bool {
        self.operations.under_way().into_iter().any(|id| {
            let Operation { kind, unit, .. } = self.operations[id];
            matches!(kind, OperationKind::Program | OperationKind::Parity)
                && units.contains(&unit)
                && !self.durability.retries.has(id)
        })
    }

    /// Handles the end of a read that rebuilds a page.
    pub(crate) fn rebuild_read_done(
        &mut self,
        id: OpId,
        status: Status,
        flash: &impl Flash,
        out: &mut Actions,
    ) -> Option<(Tag, u32)> {
        let of = OpId(self.operations.end(id).subject);
        let parity = self.durability.parity.as_mut().expect("called only if parity is configured");
        let rebuild = parity.rebuilds.get_mut(&of.0).expect("a page is being rebuilt");
        rebuild.failed |= !status.is_ok();
        rebuild.left -= 1;
        if rebuild.left > 0 {
            return None;
        }
        let Rebuild { failed, page, others, .. } = parity.rebuilds.remove(&of.0).expect("the rebuild was found above");
        if failed && others.is_empty() && self.start_rebuild(of, flash, out) {
            return None;
        }
        let rebuilt = !failed && !others.is_empty();
        if rebuilt {
            self.stats.rebuilt += 1;
            self.relocate(of, &others, out);
        } else if failed {
            self.stats.rebuild_failures += u64::from(!others.is_empty());
        }
        let from = out.moves.len();
        let status = if failed { Status::Uncorrectable } else { Status::Ok };
        let data = self.ended(of, status, flash, out);
        if rebuilt {
            let moves = out.moves.split_off(from);
            moves.into_iter().for_each(|movement| self.move_rebuilt(movement, page, &others, out));
            self.dispatch_pending(out);
        }
        data
    }

    /// Rewrites data read by the host elsewhere, as far as the write cache has room.
    fn relocate(&mut self, id: OpId, others: &[PageAddr], out: &mut Actions) {
        let Operation { kind, unit: first, logical, count, .. } = self.operations[id];
        if kind != OperationKind::HostRead || self.durability.read_only {
            return;
        }
        for (home, unit) in (first..first + count).zip(logical..) {
            let stays = self.map.table.get(unit) == Location::flash(home) && !self.durability.lost.contains(&unit);
            if !stays || !self.reserve(1) {
                continue;
            }
            self.buffer.data_arrived(1);
            let all = self.layout.all_sectors;
            let handle = self.space.placement.handle_of_data(self.layout.block_of(home));
            let slot = self.buffer.dirty.take(&mut self.buffer.slots, unit, Location::flash(home), all, handle);
            debug_assert_eq!(self.buffer.slots[slot].owner, Owner::Host);
            self.map.table.set(unit, Location::buffer(slot));
            if self.config.moves {
                let (page, _, within) = self.layout.address(home);
                self.xor_pages(page, within, others, out);
                out.moves.push(Move::BufferToBuffer { from: self.scratch(), to: slot, keep: 0 });
            }
            self.stats.relocated += 1;
            self.buffer.dirty.request_dispatch();
        }
    }

    fn scratch(&self) -> u32 {
        self.durability.parity.as_ref().expect("called only if parity is configured").scratch
    }

    /// Rebuilds the unit `within` of the single-plane `page` in the scratch slot.
    fn xor_pages(&self, page: PageAddr, within: u32, others: &[PageAddr], out: &mut Actions) {
        let buffer = self.scratch();
        out.moves.push(Move::ZeroBuffer { buffer, keep: 0 });
        for other in others.iter().filter(|other| other.planes.0 & page.planes.0 != 0) {
            let page = PageAddr { planes: page.planes, ..*other };
            out.moves.push(Move::XorFlash { page, unit: within, buffer });
        }
    }

    /// Emits a move, replacing reads of the failed page by the exclusive OR of the other pages of its stripe.
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
