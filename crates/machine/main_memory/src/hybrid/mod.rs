//! Flash as main memory: a link, the hybrid controller with its DRAM, the NVMM controller with its page table, flash; one
//! event loop.

mod data;
mod dispatch;
mod energy;
mod events;
mod link_fifo;
mod port;
mod report;

use dram_cache::{Hybrid, Input, PORTS};
use link::LineLink;
use media::line::{LineKind, LineRequest};
use nand::{Nand, PayloadKind};
use nvmm::{Address, Nvmm};
use sim::{EventQueue, Streams, Time};

use super::dram::Modules;
use data::Contents;
use dispatch::DispatchQueue;
pub use dispatch::DispatchStats;
pub use energy::{EnergyByMemory, Wear};
use events::{Event, View};
use link_fifo::LinkFifo;
use port::{Environment, purpose_of};
pub use report::Reading;
use system::parts::{CONTROLLER, HybridConfig};

/// Why there is no such memory.
#[derive(Debug, thiserror::Error)]
pub enum HybridError {
    /// The cache cannot work.
    #[error("memory.cache: {0}")]
    Cache(String),
    /// The DRAM cannot work.
    #[error("memory.dram: {0}")]
    Dram(#[from] dram::ConfigError),
    /// The DRAM is smaller than the cache and its tags.
    #[error("memory.dram: found {found} bytes, expected at least {wanted} for the cache and its tags")]
    Room {
        /// What it has.
        found: u64,
        /// What is needed.
        wanted: u64,
    },
    /// The page table cannot work.
    #[error("nvmm: {0}")]
    Nvmm(#[from] nvmm::OpenError),
    /// What was to be there before could not be written.
    #[error("nvmm: {0}")]
    Full(#[from] nvmm::Error),
}

/// Main memory of flash, with DRAM as its cache.
pub struct HybridMemory {
    queue: EventQueue<Event>,
    /// Requests on their way to the controller.
    arrivals: LinkFifo<LineRequest>,
    hybrid: Hybrid,
    environment: Environment,
    /// When DRAM has something to do; never: [`Time::MAX`].
    dram_at: Time,
    nvmm: Nvmm,
    flash: nvmm::Actions,
    nand: Nand,
    /// The first request to the page table that was refused.
    fault: Option<nvmm::Error>,
    table_dram: energy::TableDram,
    /// What the page table had done before time began: setting up is not counted.
    before: nvmm::Stats,
    config: HybridConfig,
}

impl HybridMemory {
    /// An empty memory, whose page table is set up.
    ///
    /// # Errors
    /// If its parts cannot work or do not fit.
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
        config.dram.populated = Some(wanted);
        config.nvmm.controller = CONTROLLER;
        config.nvmm.tags = config.cache.fetches + slots + 1;
        config.nand.payload = if config.verify { PayloadKind::Bytes } else { PayloadKind::None };
        config.nand.buffers = if config.verify { slots + config.nvmm.segments } else { 0 };
        let nand = Nand::new(&config.nand, streams);
        let blank = dispatch::Blank(nand.store());
        let nvmm = match config.full {
            true => Nvmm::format_full(config.nvmm.clone(), &blank)?,
            false => Nvmm::format(config.nvmm.clone(), &blank)?,
        };
        let mut memory = HybridMemory {
            queue: EventQueue::new(View::LANES),
            arrivals: LinkFifo::new(),
            hybrid: Hybrid::new(&config.cache),
            environment: Environment {
                now: Time::ZERO,
                modules: Modules::new(&config.dram, PORTS)?,
                dram_asked: false,
                dispatch: DispatchQueue::new(config.cache.fetches, &config.nvmm),
                link: LineLink::new(&config.link),
                answers: LinkFifo::new(),
                contents: config.verify.then(|| Box::new(Contents::new(&config.cache))),
            },
            dram_at: Time::MAX,
            table_dram: energy::TableDram::new(&config)?,
            before: nvmm::Stats::default(),
            nvmm,
            flash: nvmm::Actions::default(),
            nand,
            fault: None,
            config,
        };
        memory.set_up();
        if memory.config.full {
            memory.nvmm.open_points();
        }
        memory.before = memory.nvmm.stats();
        Ok(memory)
    }

    /// See [`super::MainMemory::submit`].
    #[inline]
    pub fn submit(&mut self, now: Time, request: LineRequest) {
        // What is due before must not come after.
        if self.next_step() <= now {
            self.run(now, false);
        }
        let at = self.environment.link.request(now, request.kind == LineKind::WriteBack);
        if at > now {
            self.arrivals.send(request, at);
        } else {
            self.arrive_at_once(now, request);
        }
    }

    #[cold]
    #[inline(never)]
    fn arrive_at_once(&mut self, now: Time, request: LineRequest) {
        self.arrive(now, request);
        self.settle(now, now, false);
    }

    #[inline(always)]
    fn arrive(&mut self, now: Time, request: LineRequest) {
        if let Some(contents) = &mut self.environment.contents {
            contents.ask(request);
        }
        self.environment.now = now;
        self.hybrid.line(request, &mut self.environment);
    }

    /// See [`super::MainMemory::next_event`].
    pub fn next_event(&mut self) -> Option<Time> {
        let next = self.environment.answers.first_at().min(self.next_step());
        (next != Time::MAX).then_some(next)
    }

    /// When something is to be done, if ever.
    #[inline]
    fn next_step(&self) -> Time {
        self.arrivals.first_at().min(self.dram_at).min(self.queue.next_at())
    }

    /// See [`super::MainMemory::advance`].
    pub fn advance(&mut self, now: Time, completions: &mut Vec<(u32, Time)>) {
        self.run(now, false);
        self.give(now, completions);
    }

    /// See [`super::MainMemory::go_on`].
    pub fn go_on(&mut self, until: Time, completions: &mut Vec<(u32, Time)>) {
        self.run(until, true);
        self.give(until.min(self.environment.answers.first_at()), completions);
    }

    /// Appends the answers that come until `now`.
    #[inline]
    fn give(&mut self, now: Time, completions: &mut Vec<(u32, Time)>) {
        while self.environment.answers.first_at() <= now {
            completions.push(self.environment.answers.take());
        }
    }

    /// Does all that is due until `until`, or, if it `stops` there, until the first answer comes: of one time requests
    /// first, then DRAM, then flash.
    fn run(&mut self, until: Time, stops: bool) {
        // What comes never is not due.
        let until = until.min(Time::from_ps(u64::MAX - 1));
        loop {
            let now = self.next_step();
            if now > self.last(until, stops) {
                return;
            }
            if self.arrivals.first_at() == now {
                // Of those that come together DRAM is asked but once.
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
            self.settle(now, until, stops);
        }
    }

    /// All that comes at `now` for one of the parts was told: who was asked for something says when it is called next. See
    /// [`run`](Self::run).
    #[inline(always)]
    fn settle(&mut self, now: Time, until: Time, stops: bool) {
        self.ask_dram();
        if self.environment.dispatch.is_ready() {
            self.translate(now, until, stops);
        }
    }

    /// Until when [`run`](Self::run) goes.
    #[inline(always)]
    fn last(&self, until: Time, stops: bool) -> Time {
        if stops { until.min(self.environment.answers.first_at()) } else { until }
    }

    /// DRAM was asked for something, perhaps: it says when it is to be called next.
    #[inline]
    fn ask_dram(&mut self) {
        if std::mem::take(&mut self.environment.dram_asked) {
            self.dram_at = self.environment.modules.memory.next_done().unwrap_or(Time::MAX);
        }
    }

    #[inline(always)]
    fn advance_dram(&mut self, now: Time) {
        self.environment.modules.memory.come_to_done(now);
        self.environment.now = now;
        while let Some(done) = self.environment.modules.memory.take_done(now) {
            self.hybrid.dram(purpose_of(done.id), &mut self.environment);
        }
        self.environment.dram_asked = true;
    }

    /// Tells the hybrid controller, which says what it wants done.
    fn tell(&mut self, now: Time, input: Input) {
        self.environment.now = now;
        self.hybrid.handle(input, &mut self.environment);
    }

    /// Where flash page `page` of the memory is: the page of 64 KB, and which of its segments.
    fn place(&self, page: u64) -> (Address, u32) {
        let segments = self.config.nvmm.segments;
        let shift = segments.trailing_zeros();
        (Address::new(CONTROLLER, (page >> shift) as u32, 0), page as u32 & (segments - 1))
    }

    /// Bytes that can be addressed, from 0 on.
    pub fn bytes(&self) -> u64 {
        self.config.cache.pages * u64::from(self.config.cache.page_bytes)
    }

    /// Before time begins: see [`super::MainMemory::was_written`].
    pub fn was_written(&mut self, address: u64, bytes: u64) {
        let page = u64::from(self.config.cache.page_bytes);
        self.hybrid.was_written(address / page..(address + bytes).div_ceil(page));
    }

    /// All that is changed in the cache is to be written to flash: done when [`is_clean`](Self::is_clean).
    pub fn clean(&mut self, now: Time) {
        self.run(now, false);
        self.tell(now, Input::Clean);
        self.settle(now, now, false);
    }

    /// See [`clean`](Self::clean).
    pub fn is_clean(&self) -> bool {
        self.hybrid.is_clean()
    }

    /// The cache, for its counters and decisions.
    pub fn cache(&self) -> &Hybrid {
        &self.hybrid
    }

    /// The cache, to keep its decisions.
    pub fn cache_mut(&mut self) -> &mut Hybrid {
        &mut self.hybrid
    }

    /// The page table.
    pub fn table(&self) -> &Nvmm {
        &self.nvmm
    }

    /// The flash.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// The DRAM of the cache.
    pub fn dram(&self) -> &dram::Memory {
        &self.environment.modules.memory
    }

    /// Counters of the queues before the flash.
    pub fn dispatch_stats(&self) -> DispatchStats {
        self.environment.dispatch.stats()
    }

    /// What it is made of.
    pub fn config(&self) -> &HybridConfig {
        &self.config
    }

    /// The first request that the page table refused (no space, worn out, unreadable): what was to be written is lost, and
    /// the run means nothing from then on.
    pub fn fault(&self) -> Option<&nvmm::Error> {
        self.fault.as_ref()
    }
}
