//! Sync, rollback and setperms (NVMM, "Software Interface"): calls that concern the memory as a whole, one after another.
//!
//! A sync writes all dirty pages of the cache to flash and then commits the page table, which keeps this state under a
//! token. Line requests go on meanwhile. Syncs that wait together are served by one. The memory keeps as many tokens as
//! [`nvmm::Management::tokens`] allows, or fewer if that would leave too little room for further writes; it releases the oldest in
//! the commit of the next. A rollback holds line requests back, empties the cache, and restores the state of the newest token.

use std::collections::VecDeque;

use dram_cache::Hybrid;
use media::Tag;
use media::line::LineRequest;
use nvmm::{Answer, Input, Request, Token, status::Permissions};
use sim::Time;

use super::HybridMemory;
use super::dispatch_queue::SYSTEM;
use crate::MemoryCall;

/// The progress of the call that is being served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// A call has ended, and another waits.
    Between,
    /// A sync waits until the cache's dirty pages are in flash.
    Cleaning,
    /// A rollback waits until the cache is idle.
    Draining,
    /// The page table serves a request.
    AtTable,
    /// Further pages wait for their permissions.
    Setting,
}

/// The calls to a memory.
#[derive(Default)]
pub(super) struct Calls {
    waiting: VecDeque<(u32, MemoryCall)>,
    phase: Phase,
    /// The calls that are served now: several only for a sync.
    served: Vec<u32>,
    /// Pages of 64 KB whose permissions remain to be set, last first.
    pages: Vec<u64>,
    /// Kept states, oldest first.
    tokens: VecDeque<Token>,
    /// A rollback is under way, and line requests wait for its end.
    rolls_back: bool,
    held: Vec<LineRequest>,
}

impl Calls {
    fn is_busy(&self) -> bool {
        self.phase != Phase::Idle || !self.waiting.is_empty()
    }

    /// Returns whether a call is being served or waits.
    pub fn are_served(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Holds a line request back while a rollback is under way. Returns whether it does.
    pub fn holds(&mut self, request: LineRequest) -> bool {
        if self.rolls_back {
            self.held.push(request);
        }
        self.rolls_back
    }
}

impl HybridMemory {
    /// See [`super::super::MainMemory::call`].
    pub fn call(&mut self, now: Time, id: u32, call: MemoryCall) {
        if self.next_step() <= now {
            self.run(now, false);
        }
        self.calls.waiting.push_back((id, call));
        self.advance_calls(now);
        self.settle(now);
    }

    /// Advances the call that is being served, or begins the next, until it has to wait.
    pub(super) fn advance_calls(&mut self, now: Time) {
        while self.calls.is_busy() {
            match self.calls.phase {
                Phase::Idle | Phase::Between => self.begin_call(now),
                Phase::Cleaning if self.hybrid.has_cleaned() => {
                    let oldest = if self.keeps_another_state() { None } else { self.calls.tokens.pop_front() };
                    let request = oldest.map_or(Request::Sync, |token| Request::Replace { token });
                    self.request(now, request);
                }
                Phase::Draining if self.hybrid.is_idle() => {
                    self.cache_at(now, Hybrid::forget);
                    let newest = self.calls.tokens.back().copied();
                    self.request(now, Request::Rollback { token: newest.unwrap_or(Token(0)) });
                }
                Phase::Setting => self.set_next_permissions(now),
                Phase::Cleaning | Phase::Draining | Phase::AtTable => return,
            }
        }
    }

    /// Returns whether a sync may keep a further state: if the limit of tokens allows it, and a quarter of the entries for
    /// versions and of the flash for them is free (assumed: programs change less between two syncs). Programs write
    /// without asking, so a memory that kept everything until nothing was free could only fail.
    fn keeps_another_state(&self) -> bool {
        let (config, stats) = (&self.config.nvmm, self.nvmm.stats());
        let for_versions = stats.capacity - u64::from(config.pages).min(stats.capacity);
        self.calls.tokens.len() < config.management.tokens as usize
            && stats.free_versions >= config.versions / 4
            && stats.capacity - stats.needed >= for_versions / 4
    }

    fn begin_call(&mut self, now: Time) {
        let (id, call) = self.calls.waiting.pop_front().expect("a call waits");
        self.calls.served.push(id);
        match call {
            MemoryCall::Sync => {
                while let Some((id, MemoryCall::Sync)) = self.calls.waiting.front() {
                    self.calls.served.push(*id);
                    self.calls.waiting.pop_front();
                }
                self.calls.phase = Phase::Cleaning;
                self.cache_at(now, Hybrid::clean);
            }
            MemoryCall::Rollback => (self.calls.phase, self.calls.rolls_back) = (Phase::Draining, true),
            MemoryCall::Permanent { ranges } => {
                let page = u64::from(self.config.nvmm.segments) * u64::from(self.config.cache.page_bytes);
                let pages = ranges.iter().flat_map(|(address, bytes)| {
                    let end = (address + bytes).div_ceil(page);
                    address / page..end
                });
                self.calls.pages = pages.collect();
                self.calls.pages.sort_unstable_by(|a, b| b.cmp(a));
                self.calls.pages.dedup();
                self.set_next_permissions(now);
            }
        }
    }

    /// Makes the next page permanent; ends the call after the last.
    fn set_next_permissions(&mut self, now: Time) {
        let Some(page) = self.calls.pages.pop() else { return self.end_call(now) };
        let (address, _) = self.place(page * u64::from(self.config.nvmm.segments));
        let permissions = Permissions { permanent: true, ..Permissions::PRIVATE };
        self.request(now, Request::SetPermissions { address, permissions });
    }

    /// Sends a request of the present call to the page table.
    fn request(&mut self, now: Time, request: Request) {
        self.calls.phase = Phase::AtTable;
        let tag = Tag(self.config.nvmm.tags - 1);
        self.nvmm.handle(now, Input::Request { tag, application: SYSTEM, request }, &mut self.flash);
        self.perform(now);
    }

    /// Handles the page table's answer to the present call.
    pub(super) fn call_answered(&mut self, now: Time, answer: &Answer) {
        assert_eq!(self.calls.phase, Phase::AtTable, "{answer:?} answers no call");
        if let Answer::Token(token) = answer {
            self.calls.tokens.push_back(*token);
            if let Some(contents) = &mut self.environment.contents {
                contents.keep(token.0);
            }
        }
        if self.calls.rolls_back
            && let Some(contents) = &mut self.environment.contents
            && let Some(newest) = self.calls.tokens.back()
        {
            contents.roll_back(newest.0);
        }
        if self.calls.pages.is_empty() {
            self.end_call(now);
        } else {
            self.calls.phase = Phase::Setting;
        }
    }

    fn end_call(&mut self, now: Time) {
        self.calls.phase = if self.calls.waiting.is_empty() { Phase::Idle } else { Phase::Between };
        for id in std::mem::take(&mut self.calls.served) {
            let at = self.environment.link.answer(now, false);
            self.environment.answers.send(id, at);
        }
        if std::mem::take(&mut self.calls.rolls_back) {
            for request in std::mem::take(&mut self.calls.held) {
                self.arrive(now, request);
            }
        }
    }
}
