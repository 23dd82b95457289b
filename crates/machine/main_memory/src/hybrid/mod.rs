//! Flash as main memory: a link, the hybrid controller with its DRAM, the NVMM controller with its page table, and
//! flash, in one event loop.

mod calls;
mod data;
mod dispatch;
mod dispatch_queue;
mod energy;
mod error;
mod events;
mod link_fifo;
mod port;
mod report;
mod table_dram;

use dram_cache::{Hybrid, PORTS};
use link::LineLink;
use media::line::{LineKind, LineRequest};
use nand::{Nand, PayloadKind};
use nvmm::{Address, Nvmm};
use sim::{EventQueue, Streams, Time};

use super::dram::Modules;
use calls::Calls;
use data::Contents;
use dispatch_queue::{Blank, DispatchQueue};
pub use energy::{EnergyByMemory, Wear};
pub use error::HybridError;
use events::{HybridEvent, View};
use link_fifo::LinkFifo;
use port::{Environment, purpose_of};
pub use report::Reading;
use system::parts::{CONTROLLER, HybridConfig};
use table_dram::TableDram;

/// Main memory of flash, with DRAM as its cache.
pub struct HybridMemory {
    queue: EventQueue<HybridEvent>,
    /// Requests on their way to the controller.
    arrivals: LinkFifo<LineRequest>,
    hybrid: Hybrid,
    environment: Environment,
    /// The next event of DRAM; [`Time::MAX`] if there is none.
    dram_at: Time,
    nvmm: Nvmm,
    flash: nvmm::Actions,
    /// Syncs, rollbacks and other calls.
    calls: Calls,
    nand: Nand,
    /// The page table's first refusal.
    fault: Option<nvmm::Error>,
    table_dram: TableDram,
    /// The page table's counters after set-up, which is not counted.
    before: nvmm::Stats,
    config: HybridConfig,
}

impl HybridMemory {
    /// Creates an empty memory with its page table set up.
    ///
    /// # Errors
    /// If its parts are invalid or do not fit together.
    pub fn new(config: &HybridConfig, streams: &Streams) -> Result<HybridMemory, HybridError> {
        if let Some(fault) = config.cache.fault() {
            return Err(HybridError::Cache(fault));
        }
        let (found, wanted) = (config.dram.bytes(), config.cache.dram_bytes());
        if found < wanted {
            return Err(HybridError::Room { found, wanted });
        }
        let mut config = config.clone();
        let slots = config.cache.write_backs();
        config.cache.moves = config.verify;
        config.nvmm.controller = CONTROLLER;
        config.nvmm.tags = config.cache.keys.fetches + slots + 1;
        config.nand.payload = if config.verify { PayloadKind::Bytes } else { PayloadKind::None };
        config.nand.buffers = if config.verify { slots + config.nvmm.segments } else { 0 };
        let nand = Nand::new(&config.nand, streams);
        let blank = Blank(nand.store());
        let nvmm = match config.environment.full {
            true => Nvmm::format_full(config.nvmm.clone(), &blank)?,
            false => Nvmm::format(config.nvmm.clone(), &blank)?,
        };
        let mut memory = HybridMemory {
            queue: EventQueue::new(View::LANES),
            arrivals: LinkFifo::new(),
            hybrid: Hybrid::new(&config.cache),
            environment: Environment {
                now: Time::ZERO,
                modules: Modules::new(&config.dram, PORTS, wanted)?,
                dram_changed: false,
                dispatch: DispatchQueue::new(config.cache.keys.fetches, &config.nvmm),
                link: LineLink::new(&config.link),
                answers: LinkFifo::new(),
                contents: config.verify.then(|| Box::new(Contents::new(&config.cache))),
            },
            dram_at: Time::MAX,
            table_dram: TableDram::new(&config)?,
            before: nvmm::Stats::default(),
            nvmm,
            flash: nvmm::Actions::default(),
            calls: Calls::default(),
            nand,
            fault: None,
            config,
        };
        memory.set_up();
        if memory.config.environment.full {
            memory.nvmm.open_points();
        }
        memory.before = memory.nvmm.stats();
        Ok(memory)
    }

    /// See [`MainMemory::submit`](crate::MainMemory::submit).
    pub fn submit(&mut self, now: Time, request: LineRequest) {
        // Earlier events come first.
        if self.next_step() <= now {
            self.run(now, false);
        }
        let at = self.environment.link.request(now, request.kind == LineKind::WriteBack);
        if at > now {
            self.arrivals.send(request, at);
        } else {
            self.arrive(now, request);
            self.settle(now);
        }
    }

    fn arrive(&mut self, now: Time, request: LineRequest) {
        if self.calls.holds(request) {
            return;
        }
        if let Some(contents) = &mut self.environment.contents {
            contents.request(request);
        }
        self.cache_at(now, |cache, environment| cache.request(request, environment));
    }

    /// See [`MainMemory::next_event`](crate::MainMemory::next_event).
    pub fn next_event(&mut self) -> Option<Time> {
        let next = self.environment.answers.first_at().min(self.next_step());
        (next != Time::MAX).then_some(next)
    }

    /// Returns the time of the next event, or [`Time::MAX`].
    fn next_step(&self) -> Time {
        self.arrivals.first_at().min(self.dram_at).min(self.queue.next_at())
    }

    /// See [`MainMemory::advance`](crate::MainMemory::advance).
    pub fn advance(&mut self, now: Time, completions: &mut Vec<(u32, Time)>) {
        self.run(now, false);
        self.deliver(now, completions);
    }

    /// See [`MainMemory::advance_to_completion`](crate::MainMemory::advance_to_completion).
    pub fn advance_to_completion(&mut self, until: Time, completions: &mut Vec<(u32, Time)>) {
        self.run(until, true);
        self.deliver(until.min(self.environment.answers.first_at()), completions);
    }

    /// Appends the answers that arrive until `now`.
    fn deliver(&mut self, now: Time, completions: &mut Vec<(u32, Time)>) {
        while self.environment.answers.first_at() <= now {
            completions.push(self.environment.answers.take());
        }
    }

    /// Handles all events until `until` or, if `stops`, until the first answer arrives. At equal times, requests come
    /// before DRAM, and DRAM before flash.
    fn run(&mut self, until: Time, stops: bool) {
        // [`Time::MAX`] means never.
        let until = until.min(Time::from_ps(u64::MAX - 1));
        loop {
            let now = self.next_step();
            if now > self.last(until, stops) {
                return;
            }
            if self.arrivals.first_at() == now {
                // DRAM is asked once for all requests that arrive together.
                while self.arrivals.first_at() == now {
                    let (request, _) = self.arrivals.take();
                    self.arrive(now, request);
                }
            } else if self.dram_at == now {
                self.advance_dram(now);
            } else {
                let (now, event) = self.queue.pop().expect("it is due");
                self.handle(now, event);
            }
            self.settle(now);
        }
    }

    /// After the inputs of `now`: advances calls, updates when DRAM is due next, and begins a translation.
    #[inline]
    fn settle(&mut self, now: Time) {
        if self.calls.are_served() {
            self.advance_calls(now);
        }
        self.schedule_dram();
        self.translate(now);
    }

    /// Returns the time up to which [`run`](Self::run) handles events.
    fn last(&self, until: Time, stops: bool) -> Time {
        if stops { until.min(self.environment.answers.first_at()) } else { until }
    }

    /// Updates the next event of DRAM after a request to it.
    fn schedule_dram(&mut self) {
        if std::mem::take(&mut self.environment.dram_changed) {
            self.dram_at = self.environment.modules.memory.next_done().unwrap_or(Time::MAX);
        }
    }

    fn advance_dram(&mut self, now: Time) {
        self.environment.modules.memory.come_to_done(now);
        while let Some(done) = self.environment.modules.memory.take_done(now) {
            self.cache_at(now, |cache, environment| cache.dram_done(purpose_of(done.id), environment));
        }
        self.environment.dram_changed = true;
    }

    /// Passes an input to the hybrid controller. Each kind has its own function, so that none is looked up.
    #[inline]
    fn cache_at(&mut self, now: Time, input: impl FnOnce(&mut Hybrid, &mut Environment)) {
        self.environment.now = now;
        input(&mut self.hybrid, &mut self.environment);
    }

    /// Returns the address of a flash page of the memory: the page of 64 KB, and its segment.
    fn place(&self, page: u64) -> (Address, u32) {
        let segments = self.config.nvmm.segments;
        let shift = segments.trailing_zeros();
        (Address::new(CONTROLLER, (page >> shift) as u32, 0), page as u32 & (segments - 1))
    }

    /// Returns the addressable bytes, from 0 on.
    pub fn bytes(&self) -> u64 {
        self.config.cache.pages * u64::from(self.config.cache.page_bytes)
    }

    /// See [`MainMemory::was_written`](crate::MainMemory::was_written).
    pub fn was_written(&mut self, address: u64, bytes: u64) {
        let page = u64::from(self.config.cache.page_bytes);
        self.hybrid.was_written(address / page..(address + bytes).div_ceil(page), self.config.environment.synced);
    }

    /// Returns the cache, for its counters and decisions.
    pub fn cache(&self) -> &Hybrid {
        &self.hybrid
    }

    /// Returns the page table.
    pub fn table(&self) -> &Nvmm {
        &self.nvmm
    }

    /// Returns the flash.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// Returns the DRAM of the cache.
    pub fn dram(&self) -> &dram::Memory {
        &self.environment.modules.memory
    }

    /// Returns the configuration.
    pub fn config(&self) -> &HybridConfig {
        &self.config
    }

    /// Returns the first request that the page table refused (no space, worn out, unreadable). Its data is lost, and
    /// the run is meaningless from then on.
    pub fn fault(&self) -> Option<&nvmm::Error> {
        self.fault.as_ref()
    }
}
