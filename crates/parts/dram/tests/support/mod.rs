//! Traffic for the tests: patterns of requests, and drivers that keep a number of them outstanding.
#![allow(dead_code, reason = "each test uses its part")]

pub mod audit;

use dram::{Channel, Completion, Request, RequestKind};
use sim::{Rng, Time};

/// A pattern of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Random reads.
    RandomRead,
    /// Sequential reads.
    SequentialRead,
    /// Random requests, two reads per write.
    RandomMixed,
    /// Two sequential streams of reads and one of writes: reads of a and b, writes of c.
    Copy,
    /// Random writes.
    RandomWrite,
}

/// Generates requests of a pattern over `bytes` bytes of memory, 64 bytes each.
pub struct Traffic {
    pub pattern: Pattern,
    pub bytes: u64,
    pub rng: Rng,
    count: u64,
    reads: u64,
    writes: u64,
}

impl Traffic {
    pub fn new(pattern: Pattern, bytes: u64, rng: Rng) -> Traffic {
        Traffic { pattern, bytes, rng, count: 0, reads: 0, writes: 0 }
    }

    pub fn next(&mut self) -> Request {
        let lines = self.bytes / 64;
        let third = self.count % 3 == 2;
        let (kind, line) = match self.pattern {
            Pattern::RandomRead => (RequestKind::Read, self.rng.below(lines)),
            Pattern::RandomWrite => (RequestKind::Write, self.rng.below(lines)),
            Pattern::SequentialRead => (RequestKind::Read, self.count % lines),
            Pattern::RandomMixed => (if third { RequestKind::Write } else { RequestKind::Read }, self.rng.below(lines)),
            Pattern::Copy if third => {
                self.writes += 1;
                (RequestKind::Write, lines / 2 + (self.writes - 1) % (lines / 2))
            }
            Pattern::Copy => {
                self.reads += 1;
                (RequestKind::Read, (self.reads - 1) % (lines / 2))
            }
        };
        self.count += 1;
        Request { id: self.count, port: 0, kind, address: line * 64, bytes: 64, ..Request::default() }
    }
}

/// Results of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    pub completions: u64,
    pub first: Time,
    pub end: Time,
    pub read_latency: Time,
    pub reads: u64,
    pub events: u64,
}

impl Outcome {
    /// Returns the mean latency of a read in nanoseconds.
    pub fn latency_ns(&self) -> f64 {
        self.read_latency.ps() as f64 / self.reads as f64 / 1000.0
    }

    /// Returns the bandwidth in GB/s.
    pub fn gigabytes_per_s(&self) -> f64 {
        self.completions as f64 * 64.0 / (self.end - self.first).ps() as f64 * 1000.0
    }
}

/// Runs `requests` requests with `outstanding` in progress: each completion is followed by the next request one clock
/// later.
pub fn run(channel: &mut Channel, traffic: &mut Traffic, requests: u64, outstanding: u64) -> Outcome {
    let gap = channel.config().device.clock.time(1);
    let mut outcome = Outcome::default();
    let mut done: Vec<Completion> = Vec::new();
    let mut submitted = outstanding.min(requests);
    for _ in 0..submitted {
        channel.submit(Time::ZERO, traffic.next());
    }
    while let Some(now) = channel.next_event() {
        outcome.events += 1;
        channel.advance(now, &mut done);
        for completion in done.drain(..) {
            outcome.completions += 1;
            outcome.end = outcome.end.max(completion.at);
            if completion.kind == RequestKind::Read {
                outcome.reads += 1;
                outcome.read_latency += completion.at - completion.submitted;
            }
            if submitted < requests {
                submitted += 1;
                channel.submit(completion.at + gap, traffic.next());
            }
        }
    }
    assert_eq!(outcome.completions, requests);
    outcome
}

/// Runs `requests` requests, one every `cycles` clocks.
pub fn run_paced(channel: &mut Channel, traffic: &mut Traffic, requests: u64, cycles: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut done = Vec::new();
    let clock = channel.config().device.clock;
    for number in 0..requests {
        let at = clock.time(number * cycles);
        while let Some(now) = channel.next_event().filter(|now| *now <= at) {
            channel.advance(now, &mut done);
        }
        channel.submit(at, traffic.next());
    }
    while let Some(now) = channel.next_event() {
        channel.advance(now, &mut done);
    }
    for completion in done {
        outcome.completions += 1;
        outcome.end = outcome.end.max(completion.at);
        outcome.reads += 1;
        outcome.read_latency += completion.at - completion.submitted;
    }
    assert_eq!(outcome.completions, requests);
    outcome
}
