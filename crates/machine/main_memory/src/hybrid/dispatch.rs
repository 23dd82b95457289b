//! The path from the hybrid controller to the dies and back (NVMM, "Nonvolatile Main Memory System Architecture"). One
//! queue holds requests whose physical address is unknown; the page table translates them in turn, and each die has a
//! queue of operations. If a read finds its die's queue full, translation waits for it. Programs and erases wait in a
//! queue of their own, which never delays a read, until their die has at most one other operation. The first queue
//! holds all fetches and write-backs of the hybrid controller; a shorter one would make the same requests wait in the
//! same order in front of it.

use media::{Action, BlockAddr, OpId, PageAddr, ProgramOp, Status, Tag};
use nand::UnitWrite;
use nvmm::{Answer, Content, Input, Move, Reply, Request, Token};
use sim::Time;

use super::HybridMemory;
use super::dispatch_queue::SYSTEM;
use super::events::{HybridEvent, TRANSLATED, View};

fn is_read(action: &Action) -> bool {
    matches!(action, Action::Read(_))
}

impl HybridMemory {
    /// Begins the next translation, if one [may](DispatchQueue::is_ready) begin.
    #[inline]
    pub(super) fn translate(&mut self, now: Time) {
        if self.environment.dispatch.is_ready() {
            self.begin_translation(now);
        }
    }

    #[inline(never)]
    fn begin_translation(&mut self, now: Time) {
        self.environment.dispatch.is_translating = true;
        self.queue.push(TRANSLATED, now + self.config.environment.translation, HybridEvent::Translated);
    }

    /// Handles an event of the translation or of the flash.
    pub(super) fn handle(&mut self, now: Time, event: HybridEvent) {
        match event {
            HybridEvent::Translated => self.translated(now),
            HybridEvent::Flash(event) => {
                let outcome = self.nand.outcome_of(now, event, &mut View(&mut self.queue));
                if let Some((id, status)) = outcome.read {
                    self.read_done(now, self.nand.place_of(id).0, id, status);
                } else if let Some((id, status)) = outcome.write {
                    self.write_done(now, self.nand.place_of(id).0, self.nand.done(id, status));
                } else {
                    return;
                }
                self.perform(now);
            }
        }
    }

    /// The translation of the queue's head has ended: the page table serves the request.
    fn translated(&mut self, now: Time) {
        self.environment.dispatch.is_translating = false;
        let (tag, page, write) = self.environment.dispatch.queue.pop_front().expect("its head was translated");
        self.environment.dispatch.stats.translated += 1;
        self.table_dram.accesses += 1;
        let (address, segment) = self.place(page);
        let segments = 1 << segment;
        let request = if write { Request::Write { address, segments } } else { Request::Read { address, segments } };
        self.nvmm.handle(now, Input::Request { tag: Tag(tag), application: SYSTEM, request }, &mut self.flash);
        self.perform(now);
    }

    /// A read of `page` has ended: the page table's controller gets its contents.
    fn read_done(&mut self, now: Time, page: PageAddr, id: OpId, status: Status) {
        let plane = page.planes.0.trailing_zeros();
        let store = self.nand.store();
        let content = if store.readable(page, plane) { media::Flash::note(store, page, plane, 0) } else { &[] };
        self.nvmm.handle(now, Input::Done { id, status, content }, &mut self.flash);
    }

    /// A program or an erase at `page` has ended: its effect on the contents, then the page table's controller.
    fn write_done(&mut self, now: Time, page: PageAddr, done: nand::Done) {
        let nand::Done { id, status, kind } = done;
        match (kind, status) {
            (nand::OpKind::Program, status) => self.program(page, id, status),
            (nand::OpKind::Erase, Status::Ok) => self.nand.store_mut().erase(page.block()),
            (nand::OpKind::Erase, _) => self.nand.store_mut().tear_erase(page.block()),
            (nand::OpKind::Read, _) => unreachable!("{id:?} is a read"),
        }
        self.nvmm.handle(now, Input::Done { id, status, content: &[] }, &mut self.flash);
    }

    fn program(&mut self, page: PageAddr, id: OpId, status: Status) {
        let plane = page.planes.0.trailing_zeros();
        let store = self.nand.store_mut();
        // The controller skips worn pages, but the chip requires them to be programmed.
        if store.order() == nand::Order::InOrder {
            for skipped in store.block(page.die, plane, page.block).programmed..page.page {
                store.tear(PageAddr { page: skipped, ..page }, false);
            }
        }
        if !status.is_ok() {
            store.tear(page, false);
            return;
        }
        let sequence = self.environment.dispatch.sequences[id.0 as usize];
        let slots = self.config.cache.write_backs();
        let unit = |logical, buffer| UnitWrite { logical, buffer, lost: false };
        match self.nvmm.content(id) {
            Content::Host { tag, segment } => {
                let slot = tag.0 - self.environment.dispatch.fetches;
                if let Some(contents) = &self.environment.contents {
                    contents.load(slot, store.buffer_mut(slot));
                }
                store.program(page, sequence, false, [unit(segment, slot)]);
            }
            Content::Buffer(buffer) => {
                let logical = self.environment.dispatch.copies[buffer as usize];
                store.program(page, sequence, false, [unit(logical, slots + buffer)]);
            }
            Content::Own(bytes) => {
                store.program(page, sequence, false, [unit(media::NOBODY, 0)]);
                store.set_note(page, plane, 0, bytes);
            }
        }
    }

    /// Performs the actions of the page table's controller: moves at once, operations through the queues.
    pub(super) fn perform(&mut self, now: Time) {
        let waited = self.environment.dispatch.is_waiting();
        if !self.flash.moves.is_empty() || !self.flash.actions.is_empty() {
            self.act(now);
        }
        if waited {
            self.dispatch(now);
        }
        for at in 0..self.flash.replies.len() {
            self.reply(now, at);
        }
        self.flash.replies.clear();
    }

    /// Performs moves and actions. Operations go straight to their dies unless others wait.
    fn act(&mut self, now: Time) {
        loop {
            if !self.flash.moves.is_empty() {
                self.move_all();
            }
            match self.flash.actions[..] {
                [] => return,
                [action @ Action::Read(_)] => {
                    self.flash.actions.clear();
                    return self.start_in_turn(now, action);
                }
                _ => {}
            }
            let mut actions = std::mem::take(&mut self.flash.actions);
            let mut barriers = false;
            for action in &actions {
                match *action {
                    Action::Retire(block) => self.nand.store_mut().mark_bad(block),
                    // On simulated flash, programmed data is durable.
                    Action::Barrier(_) => barriers = true,
                    other => self.start_in_turn(now, other),
                }
            }
            if barriers {
                for action in actions.drain(..) {
                    if let Action::Barrier(id) = action {
                        self.nvmm.handle(now, Input::Done { id, status: Status::Ok, content: &[] }, &mut self.flash);
                    }
                }
                continue;
            }
            actions.clear();
            self.flash.actions = actions;
            return;
        }
    }

    fn move_all(&mut self) {
        for at in 0..self.flash.moves.len() {
            self.move_data(self.flash.moves[at]);
        }
        self.flash.moves.clear();
    }

    fn move_data(&mut self, movement: Move) {
        let store = self.nand.store_mut();
        let slots = self.config.cache.write_backs();
        match movement {
            Move::FlashToHost { page, tag, .. } => {
                if let Some(contents) = &mut self.environment.contents {
                    let readable = store.readable(page, page.planes.0.trailing_zeros());
                    contents.arrive(tag.0, readable.then(|| store.unit(page, 0)));
                }
            }
            Move::ZeroToHost { tag, .. } => {
                if let Some(contents) = &mut self.environment.contents {
                    contents.arrive(tag.0, None);
                }
            }
            Move::FlashToBuffer { page, buffer } => {
                let plane = page.planes.0.trailing_zeros();
                let readable = store.readable(page, plane);
                let logical = if readable { media::Flash::logical(store, page, plane)[0] } else { 0 };
                self.environment.dispatch.copies[buffer as usize] = logical;
                if self.environment.contents.is_some() {
                    // Prefilled data reads as zeros.
                    let bytes = if readable { store.unit(page, 0).to_vec() } else { Vec::new() };
                    let to = store.buffer_mut(slots + buffer);
                    to.fill(0);
                    to[..bytes.len()].copy_from_slice(&bytes);
                }
            }
        }
    }

    /// Returns whether the queue of `die` has room.
    fn has_room(&mut self, die: u16) -> bool {
        let has_room = self.nand.die_load(die) <= self.config.environment.die_queue;
        self.environment.dispatch.stats.blocked += u64::from(!has_room);
        has_room
    }

    /// Sends an operation to its die, or queues it behind those that wait.
    fn start_in_turn(&mut self, now: Time, action: Action) {
        let dispatch = &self.environment.dispatch;
        let waits = if is_read(&action) { !dispatch.operations.is_empty() } else { !dispatch.writes.is_empty() };
        if waits || !self.start(now, action) {
            let dispatch = &mut self.environment.dispatch;
            if is_read(&action) { dispatch.operations.push_back(action) } else { dispatch.writes.push_back(action) }
        }
    }

    /// Sends waiting operations to the dies, in order, as far as their queues have room.
    fn dispatch(&mut self, now: Time) {
        while let Some(action) = self.environment.dispatch.operations.front().copied()
            && self.start(now, action)
        {
            self.environment.dispatch.operations.pop_front();
        }
        while let Some(action) = self.environment.dispatch.writes.front().copied()
            && self.start(now, action)
        {
            self.environment.dispatch.writes.pop_front();
        }
    }

    /// Sends an operation to its die. Returns false if the die's queue has no room.
    fn start(&mut self, now: Time, action: Action) -> bool {
        let die = match action {
            Action::Read(op) => op.page.die,
            Action::Program(op) => op.page.die,
            Action::Erase(op) => op.block.die,
            other => unreachable!("{other:?} is no operation"),
        };
        // Die queues are for reads: a program or an erase waits until at most one other operation is there.
        if !is_read(&action) && self.nand.die_load(die) > 1 || !self.has_room(die) {
            return false;
        }
        match action {
            Action::Read(op) => self.nand.submit_read(now, op, &mut View(&mut self.queue)),
            Action::Program(op) => {
                self.note_sequence(op);
                self.nand.submit_program(now, op, &mut View(&mut self.queue));
            }
            Action::Erase(op) => self.nand.submit_erase(now, op, &mut View(&mut self.queue)),
            _ => unreachable!("found above"),
        }
        true
    }

    fn note_sequence(&mut self, op: ProgramOp) {
        let id = op.id.0 as usize;
        if self.environment.dispatch.sequences.len() <= id {
            self.environment.dispatch.sequences.resize(id + 1, 0);
        }
        self.environment.dispatch.sequences[id] = op.sequence;
    }

    /// Handles an answer of the page table's controller.
    fn reply(&mut self, now: Time, at: usize) {
        let Reply { tag, answer } = &self.flash.replies[at];
        let tag = *tag;
        if let Answer::Refused(error) = answer {
            self.fault.get_or_insert(error.clone());
        }
        match tag.0.checked_sub(self.environment.dispatch.fetches) {
            None => self.cache_at(now, |cache, environment| cache.fetched(tag.0, environment)),
            Some(_) if tag.0 == self.config.nvmm.tags - 1 => {
                let answer = answer.clone();
                self.call_answered(now, &answer);
            }
            Some(slot) => self.cache_at(now, |cache, environment| cache.written(slot, environment)),
        }
    }

    /// Sets the page table up before the simulation begins, with immediate completions.
    pub(super) fn set_up(&mut self) {
        // No such token exists; but the first request causes the table to be opened.
        self.request_at_once(Request::Drop { token: Token(u64::MAX) });
        self.fault = None;
    }

    /// See [`MainMemory::is_allocated`](crate::MainMemory::is_allocated). Deletes the pages of 64 KB in this range, so
    /// that first use creates them, as after an `alloc`.
    pub fn is_allocated(&mut self, address: u64, bytes: u64) {
        if !self.config.environment.full {
            return;
        }
        let (segment, segments) = (u64::from(self.config.cache.page_bytes), u64::from(self.config.nvmm.segments));
        for page in address / segment / segments..(address + bytes).div_ceil(segment * segments) {
            let (address, _) = self.place(page * segments);
            self.request_at_once(Request::Delete { address });
        }
        self.before = self.nvmm.stats();
    }

    /// See [`MainMemory::is_set_up`](crate::MainMemory::is_set_up). Commits the table by a sync, whose state is not
    /// kept.
    pub fn is_set_up(&mut self) {
        if !self.config.environment.full {
            return;
        }
        self.request_at_once(Request::Sync);
        let kept: Vec<Token> = self.nvmm.tokens().collect();
        for token in kept {
            self.request_at_once(Request::Drop { token });
        }
        self.before = self.nvmm.stats();
    }

    /// Performs a request to the page table before the simulation begins.
    pub(super) fn request_at_once(&mut self, request: Request) {
        let tag = Tag(self.config.nvmm.tags - 1);
        self.nvmm.handle(Time::ZERO, Input::Request { tag, application: SYSTEM, request }, &mut self.flash);
        loop {
            self.move_all();
            let actions = std::mem::take(&mut self.flash.actions);
            for reply in std::mem::take(&mut self.flash.replies) {
                if let Answer::Refused(error) = reply.answer {
                    self.fault.get_or_insert(error);
                }
            }
            if actions.is_empty() {
                return;
            }
            for action in actions {
                let (id, kind, page) = match action {
                    Action::Read(op) => {
                        self.read_done(Time::ZERO, op.page, op.id, Status::Ok);
                        continue;
                    }
                    Action::Program(op) => {
                        self.note_sequence(op);
                        (op.id, nand::OpKind::Program, op.page)
                    }
                    Action::Erase(op) => {
                        let BlockAddr { die, planes, block } = op.block;
                        (op.id, nand::OpKind::Erase, PageAddr { die, planes, block, page: 0 })
                    }
                    Action::Retire(block) => {
                        self.nand.store_mut().mark_bad(block);
                        continue;
                    }
                    Action::Barrier(id) => {
                        let input = Input::Done { id, status: Status::Ok, content: &[] };
                        self.nvmm.handle(Time::ZERO, input, &mut self.flash);
                        continue;
                    }
                    other => unreachable!("{other:?} is none of the page table's"),
                };
                self.write_done(Time::ZERO, page, nand::Done { id, status: Status::Ok, kind });
            }
        }
    }
}
