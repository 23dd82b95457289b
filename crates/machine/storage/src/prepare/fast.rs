//! The translation layer over flash without time: every operation ends immediately. Used to prepare drives and wherever
//! only counts matter.

use std::collections::VecDeque;

use media::{Action, Actions, OpId, PageAddr, ProgramUnit, Request, Status, Tag};
use nand::{Store, TagBuffers, UnitWrite};
use sim::Time;
use system::parts::Translation;

/// Writes the units of program `id` of `ftl` into `page` of `store`.
#[inline]
pub fn apply_program(ftl: &Translation, store: &mut Store, id: OpId, page: PageAddr, slc: bool) {
    match store.program_plain(page, ftl.program_sequence(id), slc) {
        Some(to) => {
            if !ftl.program_logical(id, to) {
                keep_rest(ftl, store, id, page, true);
            }
        }
        None => apply_units(ftl, store, id, page, slc),
    }
}

/// The general case of [`apply_program`], for pages with holes, notes or lost units.
fn apply_units(ftl: &Translation, store: &mut Store, id: OpId, page: PageAddr, slc: bool) {
    let user_units = ftl.user_units();
    let mut notes = false;
    let units = ftl.program_units(id).map(|ProgramUnit { logical, buffer, lost }| {
        notes |= logical >= user_units && logical != media::NOBODY;
        UnitWrite { logical, buffer, lost }
    });
    store.program(page, ftl.program_sequence(id), slc, units);
    if notes {
        keep_rest(ftl, store, id, page, false);
    }
}

/// Stores the notes of the layer's own units and, with `lost`, marks the lost units.
fn keep_rest(ftl: &Translation, store: &mut Store, id: OpId, page: PageAddr, lost: bool) {
    let per_page = store.geometry().units_per_page();
    for (at, unit) in (0..).zip(ftl.program_units(id)).filter(|(_, unit)| unit.logical != media::NOBODY) {
        let plane = page.planes.iter().nth((at / per_page) as usize).expect("a plane for each page of units");
        if lost && unit.lost {
            store.set_lost(page, plane, at % per_page);
        }
        if let Some(note) = ftl.note(id, unit.logical) {
            store.set_note(page, plane, at % per_page, note);
        }
    }
}

/// A translation layer and its flash, driven one command at a time.
pub struct Fast<'a> {
    ftl: &'a mut Translation,
    store: &'a mut Store,
    out: Actions,
    data: TagBuffers,
    pending: VecDeque<Action>,
}

const TAG: Tag = Tag(0);

impl<'a> Fast<'a> {
    /// Creates a driver of `ftl` over `store`.
    pub fn new(ftl: &'a mut Translation, store: &'a mut Store) -> Fast<'a> {
        let data = TagBuffers::new(store.payload());
        Fast { ftl, store, out: Actions::default(), data, pending: VecDeque::new() }
    }

    /// Performs what the mount of the layer left to do, such as to move data that it found in a log.
    pub fn start(&mut self) {
        self.ftl.start(&mut self.out);
        self.settle();
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Translation {
        self.ftl
    }

    /// Executes `request` and everything that follows from it. Where payload is kept, writes store zeros.
    pub fn request(&mut self, request: Request) -> Status {
        debug_assert!(self.pending.is_empty());
        self.data.open(TAG, if request.op.has_data() { (request.bytes / media::SECTOR) as u32 } else { 0 });
        self.ftl.command(Time::ZERO, TAG, &request, &mut self.out);
        let mut answer = self.settle();
        // What takes time in the controller, as zone management does, ends with its timer.
        while answer.is_none()
            && let Some(at) = self.ftl.next_timer()
        {
            self.ftl.timer(at, &mut self.out);
            answer = self.settle();
        }
        answer.expect("every command is answered once no action and no timer is pending")
    }

    /// Returns the data of the last request, where payload is kept: of a read, what was read.
    pub fn data(&self) -> &[u8] {
        self.data.data(TAG)
    }

    /// Writes changed parts of the map back to flash, like a drive before an orderly shutdown. This may trigger
    /// collection, which changes the map again; those changes are written back as well.
    pub fn write_back_map(&mut self) {
        loop {
            let written = self.ftl.stats().programmed_system;
            let mut from = Some(0);
            while let Some(number) = from {
                from = self.ftl.write_back_map(number, &mut self.out);
                self.settle();
            }
            if self.ftl.stats().programmed_system == written {
                return;
            }
        }
    }

    /// Performs all pending actions and everything that follows from them.
    fn settle(&mut self) -> Option<Status> {
        let mut answer = None;
        self.collect();
        while let Some(action) = self.pending.pop_front() {
            self.act(action, &mut answer);
            self.collect();
        }
        answer
    }

    fn collect(&mut self) {
        for movement in self.out.moves.drain(..) {
            self.store.apply(&movement, &mut self.data);
        }
        self.pending.extend(self.out.actions.drain(..));
    }

    fn act(&mut self, action: Action, answer: &mut Option<Status>) {
        let mut done = |ftl: &mut Translation, store: &Store, id: OpId| ftl.done(id, Status::Ok, store, &mut self.out);
        match action {
            Action::Program(op) => {
                apply_program(self.ftl, self.store, op.id, op.page, op.slc);
                done(self.ftl, self.store, op.id);
            }
            Action::Erase(op) => {
                self.store.erase(op.block);
                done(self.ftl, self.store, op.id);
            }
            Action::Read(op) => done(self.ftl, self.store, op.id),
            Action::Barrier(id) | Action::HostMemory { id, .. } => done(self.ftl, self.store, id),
            Action::Retire(block) => self.store.mark_bad(block),
            Action::Ready { tag } => self.ftl.arrived(Time::ZERO, tag, &mut self.out),
            Action::Data { end: None, .. }
            | Action::HostMemoryFree { .. }
            | Action::HostMemoryReleased
            | Action::Reallocated { .. }
            | Action::HandleModified { .. } => {}
            Action::Data { end: Some(status), .. } | Action::Complete { status, .. } => *answer = Some(status),
        }
    }
}
