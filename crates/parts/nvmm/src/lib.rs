//! Journaled main memory on flash: the controller of Jacob et al., "A Journaled, NAND-Flash Main-Memory System" (NVMM),
//! as a state machine. It has no clock and does no I/O: requests and ends of operations come in by [`Nvmm::handle`], what is
//! to be done goes out in [`Actions`]. Who performs them is not its business: simulated flash, or a file.
//!
//! Rules of durability:
//!
//! * The table learns of data when all of it is programmed, and flash learns of the table in commits ([`mod@commit`]): a
//!   barrier stands between data and the journal that points to it, and behind the journal.
//! * What a power cut leads back to is the last completed sync or rollback. Versions newer than that may be in the table
//!   in flash, since collection commits at any time; opening takes them back by the time in them.
//! * A block is erased only after a commit in which nothing in it was needed: not by the present, nor by the last sync, nor
//!   by any live token. It is erased just before it is written, so that what is erased need not be remembered.
//! * Roots grow; a journal page belongs to a root and a group, and counts only if its group and all before are whole.

mod access;
pub mod action;
pub mod address;
mod alone;
mod blocks;
mod calls;
mod chain;
mod codec;
mod collect;
mod commit;
pub mod config;
pub mod entry;
mod epochs;
mod format;
mod introspection;
mod layout;
mod lookup;
mod mapping;
mod multi_controller;
mod open;
mod operations;
mod page_write;
mod place;
mod prefilled;
mod prepare;
pub mod request;
mod stats;
pub mod status;
mod table;
pub mod vector;

use std::collections::VecDeque;

use media::{Action, Class, OpId, ReadOp, Status, Tag};
use sim::Time;

pub use action::{Actions, Content, Input, Move};
pub use address::{Address, Controller};
pub use config::{Config, ConfigError, Order, Policy};
pub use entry::Entry;
pub use epochs::Token;
pub use multi_controller::{MultiController, MultiControllerAnswer, MultiControllerToken};
pub use open::{Medium, OpenError, OpenReport};
pub use request::{Answer, Application, Error, Reply, Request};
pub use stats::Stats;
pub use status::{Permissions, State};
pub use vector::Vector;

use blocks::Blocks;
use chain::Chain;
use collect::Collector;
use commit::{Cause, Commit};
use epochs::Epochs;
use layout::Layout;
use lookup::Lookup;
use mapping::{Anchors, Journal, Log};
use operations::{Kind, Operations};
use page_write::{PageWrite, WritePoint};
use table::{Data, Fault, NOWHERE, Table};

/// Bugs that tests inject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// None.
    #[default]
    None,
    /// The journal does not wait for the data.
    BarrierSkipped,
    /// The root does not wait for the directory and the chunks.
    RootBarrierSkipped,
    /// Versions are dropped that a token needs.
    VersionDropped,
    /// Copies are made and never pointed to.
    CopyNotRepointed,
    /// Blocks are erased before what emptied them is durable.
    ErasedEarly,
    /// What was written after the last sync is there after a power cut.
    UnsyncedKept,
}

/// Epochs that are kept, newest first.
fn retained(epochs: &Epochs, injected: InjectedFault) -> &[u32] {
    match injected {
        InjectedFault::VersionDropped => &epochs.views()[..1],
        _ => epochs.views(),
    }
}

/// What came of trying a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    /// It is answered, or on its way.
    Done,
    /// It has to wait.
    Wait,
    /// It is answered: refused.
    Refused,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    request: Request,
    application: Application,
    segments: u32,
    /// Parts of a read that have not ended.
    left: u32,
    /// The first segment that could not be read.
    failed: Option<u8>,
    busy: bool,
}

/// One controller. See the crate's documentation.
pub struct Nvmm {
    config: Config,
    layout: Layout,
    table: Table,
    blocks: Blocks,
    epochs: Epochs,
    requests: Vec<Slot>,
    /// Requests that wait, in the order in which they came.
    queue: VecDeque<Tag>,
    /// Those of writes by tag, and collection's.
    page_writes: Vec<PageWrite>,
    active_page_writes: Vec<u32>,
    /// Blocks being written; the last is collection's.
    write_points: Vec<WritePoint>,
    next_point: u32,
    /// Pages that are being written, and which segments of each: one entry per write.
    locks: Vec<(u32, u32)>,
    operations: Operations,
    chain: Chain,
    lookup: Lookup,
    commit: Commit,
    collector: Collector,
    journal: Journal,
    log: Log,
    anchors: Anchors,
    directory: Vec<u64>,
    old_directory: Vec<u64>,
    worn_since: Vec<u64>,
    newly_bad: Vec<u32>,
    /// Flash pages and version entries that requests under way may come to need.
    promised_pages: u64,
    promised_entries: u32,
    next_page: u32,
    sequence: u64,
    /// The newest durable commit: root and group.
    committed: (u64, u64),
    /// Something may seem needed that is not.
    stale: bool,
    starved: bool,
    /// Nothing is collected.
    still: bool,
    /// Blocks are no longer kept for readers, and nobody was told yet.
    revoked: bool,
    want_commit: bool,
    want_sweep: bool,
    want_open: bool,
    gathering_is_futile: bool,
    worn_out: bool,
    /// What could not be read was given a second try, and nothing was programmed since.
    tried_again: bool,
    /// Something changed that others may have waited for.
    wake: bool,
    stats: Stats,
    injected: InjectedFault,
}

impl Nvmm {
    fn empty(config: Config, medium: &impl Medium) -> Result<Nvmm, OpenError> {
        config.check()?;
        if *medium.geometry() != config.geometry {
            let (found, expected) = (Box::new(*medium.geometry()), Box::new(config.geometry));
            return Err(OpenError::Geometry { found, expected });
        }
        let layout = Layout::new(&config);
        let mut blocks = Blocks::new(&config, &layout);
        for block in (0..layout.blocks).filter(|block| medium.is_bad(layout.block(*block))) {
            blocks.retire(block);
        }
        let slot = Slot {
            request: Request::Sync,
            application: Application(0),
            segments: 0,
            left: 0,
            failed: None,
            busy: false,
        };
        Ok(Nvmm {
            table: Table::new(&config),
            blocks,
            epochs: Epochs::new(),
            requests: vec![slot; config.tags as usize],
            queue: VecDeque::with_capacity(config.tags as usize),
            page_writes: vec![PageWrite::default(); config.tags as usize + 1],
            active_page_writes: Vec::with_capacity(config.tags as usize + 1),
            write_points: vec![WritePoint::default(); config.open_blocks as usize + 1],
            next_point: 0,
            locks: Vec::new(),
            operations: Operations::default(),
            chain: Chain::default(),
            lookup: Lookup::default(),
            commit: Commit::default(),
            collector: Collector::default(),
            journal: Journal::default(),
            log: Log::default(),
            anchors: Anchors::default(),
            directory: Vec::new(),
            old_directory: Vec::new(),
            worn_since: Vec::new(),
            newly_bad: Vec::new(),
            promised_pages: 0,
            promised_entries: 0,
            next_page: 0,
            sequence: 0,
            committed: (0, 0),
            stale: false,
            starved: false,
            still: false,
            revoked: false,
            want_commit: false,
            want_sweep: false,
            want_open: false,
            gathering_is_futile: false,
            worn_out: false,
            tried_again: false,
            wake: false,
            stats: Stats::default(),
            injected: InjectedFault::None,
            layout,
            config,
        })
    }

    /// Something happened at `now`: what is to be done is appended to `out`.
    ///
    /// # Panics
    /// If a tag is used that is under way, or an operation ends that is not.
    pub fn handle(&mut self, _now: Time, input: Input, out: &mut Actions) {
        match input {
            Input::Request { tag, application, request } => self.accept(tag, application, request, out),
            Input::Done { id, status, content } => self.done(id, status, content, out),
        }
        self.pump(out);
    }

    /// When [`handle`](Self::handle) is to be called, if nothing else happens before: never, nothing here waits for time.
    pub fn next_timer(&self) -> Option<Time> {
        None
    }

    /// What the program `id`, which is under way, writes.
    pub fn content(&self, id: OpId) -> Content<'_> {
        match self.operations.get(id) {
            Kind::Program { page_write, part, bit } => {
                let _ = part;
                let segment = u32::from(bit) % self.config.segments;
                match page_write < self.config.tags {
                    true => Content::Host { tag: Tag(page_write), segment },
                    false => Content::Buffer(segment),
                }
            }
            Kind::Commit { .. } => {
                let page = self.commit.flying.iter().find(|(flying, _)| *flying == id).expect("a page of the commit");
                Content::Own(&page.1.bytes)
            }
            other => panic!("{other:?} is no program"),
        }
    }

    /// Whether the read `id`, which is under way, is for the table: only then is its content wanted.
    #[inline]
    pub fn reads_table(&self, id: OpId) -> bool {
        matches!(self.operations.get(id), Kind::Load { .. })
    }

    /// Plants a bug.
    #[doc(hidden)]
    pub fn inject(&mut self, fault: InjectedFault) {
        self.injected = fault;
    }

    fn accept(&mut self, tag: Tag, application: Application, request: Request, out: &mut Actions) {
        let slot = &mut self.requests[tag.0 as usize];
        assert!(!slot.busy, "tag {} is under way", tag.0);
        let segments = match request {
            Request::Read { segments, .. } | Request::Write { segments, .. } => segments,
            _ => 0,
        };
        *slot = Slot { request, application, segments, left: 0, failed: None, busy: true };
        let elsewhere = |c: Controller| !c.is_local() && c != self.config.controller;
        let home = match request {
            Request::Alloc { controller, .. } => controller,
            _ => request.address().map(Address::controller),
        };
        if let Some(home) = home.filter(|home| elsewhere(*home)) {
            return self.reply(tag, Answer::Forward(home), out);
        }
        if let Some(address) = request.address() {
            if address.page() >= self.config.pages {
                let last = self.config.pages - 1;
                self.refuse(tag, Error::NoSuchPage { address, last }, out);
                return;
            }
            if matches!(request, Request::Read { .. } | Request::Write { .. })
                && let Err(error) = self.check_segments(address, segments)
            {
                self.refuse(tag, error, out);
                return;
            }
        }
        if let Request::Read { address, segments } = request
            && self.is_quiet()
            && self.try_read(tag, address, segments, out) != Tried::Wait
        {
            return;
        }
        self.queue.push_back(tag);
        self.wake = true;
    }

    fn done(&mut self, id: OpId, status: Status, content: &[u8], out: &mut Actions) {
        match self.operations.end(id) {
            Kind::Free => unreachable!("it is under way"),
            Kind::Read { tag, flash, segment } => self.read_done(Tag(tag), flash, segment, status, out),
            Kind::Copy { flash, segment } => self.copy_read(flash, segment, status, out),
            Kind::Program { page_write, part, bit } => self.program_done(page_write, part, bit, status, out),
            Kind::Open { write_point, block } => self.opened(write_point, block, status, out),
            Kind::Load { chunk } => {
                let good = status == Status::Ok && content.len() == self.config.geometry.page_bytes as usize;
                let data = if good { Data::Here(content.into()) } else { Data::Broken };
                self.table.chunks[chunk as usize].data = data;
                self.wake = true;
            }
            Kind::Prepare { block } => self.prepared(block, status, out),
            Kind::Commit { flash } => self.page_written(id, flash, status),
            Kind::Barrier => self.barrier_done(out),
        }
    }

    /// Whatever can go on goes on.
    fn pump(&mut self, out: &mut Actions) {
        while self.wake {
            self.wake = false;
            if self.injected == InjectedFault::ErasedEarly {
                self.blocks.release_emptied();
            }
            self.run_commit(out);
            self.run_puts(out);
            self.run_collection(out);
            self.run_queue(out);
            if !self.wake
                && self.operations.active() == 0
                && !self.active_page_writes.is_empty()
                && self.commit.is_idle()
            {
                self.give_up(out);
            }
        }
    }

    /// Nothing is under way, and what is to be written has no place: pages wore out faster than it was foreseen. What could
    /// not be read is read once more before.
    #[cold]
    fn give_up(&mut self, out: &mut Actions) {
        let unread = self.table.read_again() | self.blocks.try_again();
        if unread && !self.tried_again {
            (self.tried_again, self.wake) = (true, true);
            return;
        }
        self.worn_out = true;
        for number in std::mem::take(&mut self.active_page_writes) {
            self.forget_put(number);
            if number < self.config.tags {
                let (page, segments) =
                    (self.page_writes[number as usize].page, self.requests[number as usize].segments);
                self.end_promises(page, segments);
                self.refuse(Tag(number), Error::WornOut, out);
            }
        }
    }

    /// Tries what waits, in order; nothing overtakes a request for the same page, nor a sync or its like.
    fn run_queue(&mut self, out: &mut Actions) {
        let mut at = 0;
        while let Some(tag) = self.queue.get(at).copied() {
            let Slot { request, .. } = self.requests[tag.0 as usize];
            let fence = match request {
                Request::Sync => Some(Cause::Sync(tag)),
                Request::Rollback { token } => Some(Cause::Rollback(tag, token)),
                Request::Drop { token } => Some(Cause::Drop(tag, token)),
                Request::End => Some(Cause::End(tag)),
                _ => None,
            };
            if let Some(cause) = fence {
                let writing = self.active_page_writes.iter().any(|page_write| *page_write < self.config.tags);
                if at > 0 || writing || !self.commit.is_idle() || self.must_not_commit() {
                    return;
                }
                self.queue.pop_front();
                match self.worn_out && !matches!(cause, Cause::End(_)) {
                    true => {
                        self.refuse(tag, Error::WornOut, out);
                    }
                    false => self.begin(cause),
                }
                continue;
            }
            let page = request.address().map(Address::page);
            let overtakes = |other: &Tag| {
                let before = self.requests[other.0 as usize].request.address().map(Address::page);
                page.is_some() && before == page
            };
            if self.queue.iter().take(at).any(overtakes) {
                at += 1;
                continue;
            }
            let tried = match request {
                Request::Read { address, segments } => self.try_read(tag, address, segments, out),
                Request::Write { address, segments } => self.try_write(tag, address, segments, out),
                Request::Alloc { permissions, .. } => self.try_alloc(tag, permissions, out),
                Request::Delete { address } => self.try_delete(tag, address, out),
                Request::SetPermissions { address, permissions } => self.try_set(tag, address, permissions, out),
                _ => unreachable!("a fence"),
            };
            match tried {
                Tried::Wait => at += 1,
                Tried::Done | Tried::Refused => {
                    self.queue.remove(at);
                }
            }
        }
    }

    fn reply(&mut self, tag: Tag, answer: Answer, out: &mut Actions) {
        self.requests[tag.0 as usize].busy = false;
        out.replies.push(Reply { tag, answer });
    }

    fn refuse(&mut self, tag: Tag, error: Error, out: &mut Actions) -> Tried {
        self.reply(tag, Answer::Refused(error), out);
        Tried::Refused
    }

    fn wait_for(&mut self, tag: Tag, fault: Fault, out: &mut Actions) -> Tried {
        match fault {
            Fault::Missing(chunk) => {
                self.load(chunk, out);
                Tried::Wait
            }
            Fault::Broken => self.refuse(tag, Error::TableUnreadable, out),
        }
    }

    /// Reads a chunk of the table, if that is not under way.
    fn load(&mut self, chunk: u32, out: &mut Actions) {
        let state = &mut self.table.chunks[chunk as usize];
        if let Data::InFlash = state.data {
            assert_ne!(state.home, NOWHERE, "chunk {chunk} has no home");
            state.data = Data::Coming;
            let page = self.layout.page(state.home);
            let id = self.operations.start(Kind::Load { chunk });
            let bytes = self.config.geometry.page_bytes;
            out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Map }));
        }
    }

    fn is_locked(&self, page: u32) -> bool {
        self.locks.iter().any(|(locked, _)| *locked == page)
    }

    /// Whether one of `segments` of `page` is being written.
    fn is_written(&self, page: u32, segments: u32) -> bool {
        self.locks.iter().any(|(locked, written)| *locked == page && written & segments != 0)
    }

    fn unlock(&mut self, page: u32, segments: u32) {
        let at = self.locks.iter().position(|locked| *locked == (page, segments)).expect("it is locked");
        self.locks.swap_remove(at);
        self.wake = true;
    }
}
