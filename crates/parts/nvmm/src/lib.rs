//! Journaled main memory on flash: the controller of Jacob et al., "A Journaled, NAND-Flash Main-Memory System" (NVMM).
//!
//! A state machine without a clock or I/O: requests and completed operations come in through [`Nvmm::handle`], and the
//! operations to perform go out in [`Actions`]. Simulated flash performs them, or a file.
//!
//! Rules of durability:
//!
//! * The table points to data only after all of it is programmed. Commits (`durability/commit.rs`) write the table's
//!   changes to flash, with a barrier between the data and the journal pages that point to it, and another behind the journal.
//! * After a power cut, the memory returns to the last completed sync or rollback. The table in flash may hold newer
//!   versions, because collection commits at any time; opening removes them by their time.
//! * A block is erased only after a commit in which nothing in it was needed: not by the present, the last sync, or any
//!   live token. It is erased just before it is written, so the controller need not remember which blocks are erased.
//! * Root numbers grow. A journal page belongs to a root and a group, and counts only if its group and all groups before
//!   it are complete.

pub mod action;
pub mod address;
pub mod config;
mod durability;
mod injected;
mod introspection;
mod multi_controller;
mod operations;
pub mod request;
mod serve;
mod space;
mod stats;
mod table;

use media::{Action, Class, OpId, ReadOp, Status, Tag};
use sim::{Injected, Time};

pub use action::{Actions, Content, Input, Move};
pub use address::{Address, Controller};
pub use config::{Config, ConfigError, Environment, Keys, Management, Order, PAGE, Policy};
pub use durability::medium::{Medium, OpenError, OpenReport};
#[cfg(feature = "injected-faults")]
pub use injected::InjectedFault;
pub use multi_controller::{MultiController, MultiControllerAnswer, MultiControllerToken};
pub use request::{Answer, Application, Error, Reply, Request};
pub use stats::Stats;
pub use table::entry::{self, Entry};
pub use table::epochs::Token;
pub use table::status::{self, EntryState, Permissions};
pub use table::vector::{self, Vector};

use durability::Durable;
#[cfg(not(feature = "injected-faults"))]
use injected::InjectedFault;
use operations::{OperationKind, Operations};
use serve::promises::Promises;
use serve::requests::Requests;
use space::blocks::Blocks;
use space::collect::Collector;
use space::gather::Gathering;
use space::layout::Layout;
use space::writes::Writes;
use table::chain::Chain;
use table::epochs::Epochs;
use table::lookup::Lookup;
use table::{Data, Fault, NOWHERE, Table};

/// Outcome of an attempt to serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    /// Answered, or under way.
    Done,
    /// Cannot be served yet.
    Wait,
    /// Answered with an error.
    Refused,
}

/// One controller. See the crate's documentation.
pub struct Nvmm {
    config: Config,
    layout: Layout,
    table: Table,
    blocks: Blocks,
    epochs: Epochs,
    requests: Requests,
    writes: Writes,
    promises: Promises,
    operations: Operations,
    chain: Chain,
    lookup: Lookup,
    durable: Durable,
    collector: Collector,
    gathering: Gathering,
    sequence: u64,
    /// Page at which the search for an unused page continues.
    next_page: u32,
    /// Nothing can be written any more.
    worn_out: bool,
    /// Something changed that waiting work may depend on.
    wake: bool,
    stats: Stats,
    injected: Injected<InjectedFault>,
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
        Ok(Nvmm {
            table: Table::new(&config),
            blocks,
            epochs: Epochs::new(),
            requests: Requests::new(config.tags),
            writes: Writes::new(config.tags, config.open_blocks),
            promises: Promises::default(),
            operations: Operations::default(),
            chain: Chain::default(),
            lookup: Lookup::default(),
            durable: Durable::default(),
            collector: Collector::default(),
            gathering: Gathering::default(),
            sequence: 0,
            next_page: 0,
            worn_out: false,
            wake: false,
            stats: Stats::default(),
            injected: Injected::NONE,
            layout,
            config,
        })
    }

    /// Handles an input and appends the resulting actions to `out`.
    ///
    /// # Panics
    /// If a request uses a tag that is under way, or an operation ends that is not.
    pub fn handle(&mut self, _now: Time, input: Input, out: &mut Actions) {
        match input {
            Input::Request { tag, application, request } => self.accept(tag, application, request, out),
            Input::Done { id, status, content } => self.done(id, status, content, out),
        }
        self.pump(out);
    }

    /// Returns when [`handle`](Self::handle) must be called without an input: never, since nothing here waits for time.
    pub fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Returns what the program `id`, which is under way, writes.
    ///
    /// # Panics
    /// If `id` is no program under way.
    pub fn content(&self, id: OpId) -> Content<'_> {
        match self.operations.get(id) {
            OperationKind::Program { page_write, bit, .. } => {
                let segment = u32::from(bit) % self.config.segments;
                match page_write < self.config.tags {
                    true => Content::Host { tag: Tag(page_write), segment },
                    false => Content::Buffer(segment),
                }
            }
            OperationKind::Commit { .. } => Content::Own(self.durable.page_under_way(id)),
            other => panic!("{other:?} is no program"),
        }
    }

    fn accept(&mut self, tag: Tag, application: Application, request: Request, out: &mut Actions) {
        self.requests.begin(tag, application, request);
        let home = match request {
            Request::Alloc { controller, .. } => controller,
            _ => request.address().map(Address::controller),
        };
        let is_elsewhere = |home: &Controller| !home.is_local() && *home != self.config.controller;
        if let Some(home) = home.filter(is_elsewhere) {
            return self.reply(tag, Answer::Forward(home), out);
        }
        if let Err(error) = self.check_place(request) {
            self.refuse(tag, error, out);
            return;
        }
        if let Request::Read { address, segments } = request
            && self.is_quiet()
            && self.try_read(tag, address, segments, out) != Tried::Wait
        {
            return;
        }
        self.requests.wait(tag);
        self.wake = true;
    }

    fn check_place(&self, request: Request) -> Result<(), Error> {
        let Some(address) = request.address() else { return Ok(()) };
        if address.page() >= self.config.pages {
            return Err(Error::NoSuchPage { address, last: self.config.pages - 1 });
        }
        match request {
            Request::Read { segments, .. } | Request::Write { segments, .. } => self.check_segments(address, segments),
            _ => Ok(()),
        }
    }

    fn done(&mut self, id: OpId, status: Status, content: &[u8], out: &mut Actions) {
        match self.operations.end(id) {
            OperationKind::Free => unreachable!("it is under way"),
            OperationKind::Read { tag, flash, segment } => self.read_done(Tag(tag), flash, segment, status, out),
            OperationKind::Copy { flash, segment } => self.copy_read(flash, segment, status, out),
            OperationKind::Program { page_write, part, bit } => self.program_done(page_write, part, bit, status, out),
            OperationKind::Open { write_point, block } => self.opened(write_point, block, status, out),
            OperationKind::Load { chunk } => {
                let good = status.is_ok() && content.len() == self.config.geometry.page_bytes as usize;
                let data = if good { Data::Here(content.into()) } else { Data::Broken };
                self.table.chunks[chunk as usize].data = data;
                self.wake = true;
            }
            OperationKind::Prepare { block } => self.prepared(block, status, out),
            OperationKind::Commit { flash } => self.page_written(id, flash, status),
            OperationKind::Barrier => self.barrier_done(out),
        }
    }

    /// Advances all waiting work until nothing changes any more.
    fn pump(&mut self, out: &mut Actions) {
        while self.wake {
            self.wake = false;
            if self.injected.is(InjectedFault::ErasedEarly) {
                self.blocks.release_emptied();
            }
            self.run_commit(out);
            self.run_page_writes(out);
            self.run_collection(out);
            self.run_queue(out);
            let is_stuck = self.operations.active() == 0 && self.durable.is_idle() && self.writes.any_active();
            if !self.wake && is_stuck {
                self.give_up(out);
            }
        }
    }

    /// Refuses all writes under way: no operation is under way and no space is left for them, because pages wore out faster
    /// than foreseen. Before that, retries once whatever could not be read.
    fn give_up(&mut self, out: &mut Actions) {
        let any_unread = self.table.read_again() | self.blocks.try_again();
        if any_unread && !self.writes.retried_reads {
            (self.writes.retried_reads, self.wake) = (true, true);
            return;
        }
        self.worn_out = true;
        for number in self.writes.take_active() {
            self.end_page_write(number);
            if number < self.config.tags {
                self.end_promises(Tag(number));
                self.refuse(Tag(number), Error::WornOut, out);
            }
        }
    }

    fn reply(&mut self, tag: Tag, answer: Answer, out: &mut Actions) {
        self.requests.end(tag);
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

    /// Starts to read a chunk of the table, unless its read is already under way.
    fn load(&mut self, chunk: u32, out: &mut Actions) {
        let state = &mut self.table.chunks[chunk as usize];
        if let Data::InFlash = state.data {
            assert_ne!(state.home, NOWHERE, "chunk {chunk} has no home");
            state.data = Data::Coming;
            let page = self.layout.page(state.home);
            let id = self.operations.start(OperationKind::Load { chunk });
            let bytes = self.config.geometry.page_bytes;
            out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Map }));
        }
    }
}

#[cfg(feature = "injected-faults")]
impl Nvmm {
    /// Injects a fault.
    pub fn inject(&mut self, fault: InjectedFault) {
        self.injected.inject((fault != InjectedFault::None).then_some(fault));
    }
}
