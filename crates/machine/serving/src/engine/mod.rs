//! The event loop of a server: requests, copies between tiers and steps of the GPUs, in virtual time.

mod admit;
mod agenda;
mod expected;
pub mod run;
mod sequence;
mod step;
mod traffic;

use std::collections::{HashMap, VecDeque};

use sim::Time;
use storage::record::Recorder;

use crate::blocks::Blocks;
use crate::config::Config;
use crate::drives::{Drives, Use};
use crate::gpu::Roofline;
use crate::load::{Arrivals, Request};
use crate::results::tally::{Snapshot, Tally};
use agenda::{Agenda, Event};
use expected::Expected;
use sequence::Sequence;
use step::Step;
use traffic::{HostLink, Purpose};

/// A server under load.
pub(crate) struct Server {
    config: Config,
    roofline: Roofline,
    blocks: Blocks,
    drives: Drives,
    expected: Expected,
    agenda: Agenda,
    sequences: Vec<Sequence>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    /// The first waiting sequence found no room, and none has become free since.
    blocked: bool,
    /// Admitted sequences, in order of admission.
    running: Vec<u32>,
    step: Option<Step>,
    link: HostLink,
    groups: HashMap<u64, Purpose>,
    recorder: Recorder,
    tally: Tally,
    begin: Option<Snapshot>,
    end: Option<Snapshot>,
    now: Time,
}

impl Server {
    pub(crate) fn new(config: Config, blocks: Blocks, drives: Drives, arrivals: Arrivals) -> Server {
        let mut server = Server {
            roofline: config.gpus.roofline(),
            blocks,
            drives,
            expected: Expected::new(arrivals),
            agenda: Agenda::default(),
            sequences: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            blocked: false,
            running: Vec::new(),
            step: None,
            link: HostLink::default(),
            groups: HashMap::new(),
            recorder: Recorder::new(Use::NAMES.len()),
            tally: Tally::default(),
            begin: None,
            end: None,
            now: Time::ZERO,
            config,
        };
        server.agenda.add(server.config.load.warm_up, Event::Begin);
        if server.config.load.duration < Time::MAX {
            server.agenda.add(server.config.load.duration, Event::End);
        }
        server.expect_arrival();
        server
    }

    /// Runs until the next event is handled. Returns false at the end of the run.
    pub(crate) fn advance(&mut self) -> bool {
        let until = self.agenda.next_time().unwrap_or(Time::MAX);
        if until == Time::MAX && !self.drives.is_busy() {
            assert!(self.running.is_empty() && self.waiting.is_empty(), "requests are left but no event is pending");
            return false;
        }
        let mut ended = Vec::new();
        let reads = self.drives.pending_read_bytes() > 0;
        let before = self.now;
        match self.drives.advance(until, &mut self.recorder, &mut ended) {
            Some(now) => {
                self.pass(now);
                for group in ended {
                    self.group_ended(group);
                }
            }
            None => {
                let (now, event) = self.agenda.pop().expect("requests are outstanding but no event is pending");
                self.pass(now);
                self.handle(event);
            }
        }
        if reads {
            self.tally.fetch_busy += self.now - before;
        }
        self.admit();
        self.start_step();
        true
    }

    /// Advances the clock.
    fn pass(&mut self, now: Time) {
        let inside = (self.waiting.len() + self.running.len()) as u128;
        self.tally.request_ps += inside * u128::from((now - self.now).ps());
        self.now = now;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival => {
                let request = self.expected.take_next();
                self.arrive(request);
                self.expect_arrival();
            }
            Event::Turn(number) => {
                let request = self.expected.take_turn(number);
                self.arrive(request);
            }
            Event::Begin => {
                self.begin = Some(self.snapshot());
                self.recorder = Recorder::beginning(Use::NAMES.len(), self.now);
            }
            Event::End => self.end = Some(self.snapshot()),
            Event::Copied(sequence, what) => self.copied(sequence, what),
            Event::Step => self.step_computed(),
        }
    }

    fn expect_arrival(&mut self) {
        if let Some(at) = self.expected.draw() {
            self.agenda.add(at, Event::Arrival);
        }
    }

    fn arrive(&mut self, request: Request) {
        self.tally.arrived += 1;
        let blocks = (request.prompt + request.output).div_ceil(self.config.scheduler.block);
        if blocks > self.config.gpu_blocks() {
            self.tally.rejected += 1;
            return;
        }
        let id = self.free.pop().unwrap_or(self.sequences.len() as u32);
        if id as usize == self.sequences.len() {
            self.sequences.push(Sequence::new(request));
        } else {
            self.sequences[id as usize] = Sequence::new(request);
        }
        self.waiting.push_back(id);
    }

    /// Schedules the turn that follows `request`, if there is one.
    fn expect_turn(&mut self, request: &Request) {
        if let Some((number, at)) = self.expected.answered(request, self.now) {
            self.agenda.add(at, Event::Turn(number));
        }
    }

    fn snapshot(&self) -> Snapshot {
        let running = self.step.as_ref().map_or(Time::ZERO, |step| self.now.saturating_sub(step.started));
        let mut tally = self.tally.clone();
        tally.gpu_busy += running;
        Snapshot {
            at: self.now,
            tally,
            drives: self.drives.counters(self.now),
            inside: self.waiting.len() + self.running.len(),
        }
    }
}
