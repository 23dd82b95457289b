//! A memory trace with cycles: traffic that arrives at its own times, whatever the memory does.
//!
//! As in DRAMsim3's trace-driven mode, an access arrives at its cycle of the memory's clock, in the order of the trace, at
//! most one per cycle, and waits while the memory's queue is full. There are no processor, no caches and no page faults.

use std::path::Path;

use dram::Clock;
use media::{LINE, LineKind, LineRequest, Op as Direction, Status};
use sim::{Streams, Time};
use storage::record::{Ended, Recorder};
use storage::run::{Progress, RunOptions, WATCH_EVERY};
use system::System;
use workload::JobInfo;
use workload::memory::{Access, Arrivals, Op, Reader};

use super::MainMemory;
use super::outcome::{CYCLES_MAX, MemoryError, MemoryOutcome};
use super::traffic_report::{self, Queue};

/// Accesses per DRAM channel that may be outstanding, as of `libdramsim3.so`: four full read queues.
const QUEUE: u32 = 256;

/// An access that is outstanding.
#[derive(Clone, Copy)]
struct Outstanding {
    op: Direction,
    due: Time,
    issued: Time,
}

/// Accesses on their way through the memory.
struct Traffic {
    memory: MainMemory,
    clock: Clock,
    recorder: Recorder,
    slots: Vec<Outstanding>,
    free: Vec<u32>,
    done: Vec<(u32, Time)>,
    queue: Queue,
    /// Accesses beyond the memory's end.
    wrapped: u64,
    ended: u64,
    /// End of the last access that completed.
    end: Time,
}

/// Runs the accesses of a trace, whose survey is `arrivals`.
pub(super) fn run(
    system: &System,
    path: &Path,
    arrivals: &Arrivals,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<MemoryOutcome, MemoryError> {
    let file = path.display().to_string();
    let clock = system.memory.dram.device().clock;
    let cycles = if arrivals.relative { arrivals.last } else { arrivals.last - arrivals.first };
    if cycles > CYCLES_MAX {
        return Err(MemoryError::Late { file, cycles });
    }
    let mut traffic = Traffic::new(system, clock, options)?;
    let mut reader = Reader::open(path, None).map_err(workload::Error::from)?;
    let (mut chunk, mut next_edge, mut previous) = (Vec::new(), 0, Time::ZERO);
    let total = arrivals.reads + arrivals.writes;
    let mut taken = 0_u64;
    loop {
        reader.next_chunk(&mut chunk).map_err(workload::Error::from)?;
        if chunk.is_empty() {
            break;
        }
        for access in &chunk {
            let cycle = access.cycle.unwrap_or(0);
            let due = if arrivals.relative {
                traffic.drain();
                previous = previous.max(traffic.end);
                clock.time(first_edge(clock, previous) + cycle)
            } else {
                clock.time(cycle.saturating_sub(arrivals.first))
            };
            let edge = first_edge(clock, due).max(next_edge);
            let edge = traffic.make_room(edge);
            traffic.submit(access, due, clock.time(edge));
            next_edge = edge + 1;
            taken += 1;
            let fraction = taken as f64 / total.max(1) as f64;
            let progress = Progress { fraction, now: clock.time(edge), done: traffic.ended };
            if taken.is_multiple_of(WATCH_EVERY) && !watch(progress) {
                return Err(MemoryError::Interrupted);
            }
        }
    }
    traffic.drain();
    traffic.settle();
    if let Some(error) = traffic.memory.fault() {
        return Err(MemoryError::Failed(error.clone()));
    }
    Ok(traffic.outcome(system, &file, arrivals))
}

/// Returns the first edge that is not before `at`. Times of edges are whole picoseconds, rounded up.
fn first_edge(clock: Clock, at: Time) -> u64 {
    let before = clock.at_or_before(at);
    if clock.time(before) < at { before + 1 } else { before }
}

impl Traffic {
    fn new(system: &System, clock: Clock, options: &RunOptions) -> Result<Traffic, MemoryError> {
        let memory = MainMemory::new(system, &Streams::new(options.seed))?;
        let mut recorder = Recorder::new(1);
        if options.log {
            recorder.keep_log();
        }
        let limit = QUEUE * system.memory.dram.channels;
        Ok(Traffic {
            memory,
            clock,
            recorder,
            slots: vec![Outstanding { op: Direction::Read, due: Time::ZERO, issued: Time::ZERO }; limit as usize],
            free: (0..limit).rev().collect(),
            done: Vec::new(),
            queue: Queue::new(limit),
            wrapped: 0,
            ended: 0,
            end: Time::ZERO,
        })
    }

    /// Advances to `edge`, or to the first later edge at which the queue has room. Returns that edge.
    fn make_room(&mut self, edge: u64) -> u64 {
        self.advance(self.clock.time(edge));
        let mut at = edge;
        while self.free.is_empty() {
            let ended = self.advance_to_completion(Time::MAX);
            at = first_edge(self.clock, ended).max(edge);
        }
        at
    }

    /// Completes everything that ends until `now`.
    fn advance(&mut self, now: Time) {
        loop {
            let before = self.ended;
            self.advance_to_completion(now);
            if self.ended == before {
                return;
            }
        }
    }

    /// Waits for all outstanding accesses.
    fn drain(&mut self) {
        while self.queue.outstanding() > 0 {
            self.advance_to_completion(Time::MAX);
        }
    }

    /// Lets writes that DRAM has accepted reach its banks.
    fn settle(&mut self) {
        let mut done = Vec::new();
        while let MainMemory::Dram(dram) = &mut self.memory
            && let Some(next) = dram.next_event()
        {
            dram.advance(next, &mut done);
            self.end = self.end.max(next);
        }
    }

    /// Advances to the next completions, but not beyond `until`. Returns the time of the last one.
    fn advance_to_completion(&mut self, until: Time) -> Time {
        let mut done = std::mem::take(&mut self.done);
        self.memory.advance_to_completion(until, &mut done);
        for (id, at) in done.drain(..) {
            let Outstanding { op, due, issued } = self.slots[id as usize];
            self.free.push(id);
            self.queue.leave(at);
            let (job, bytes, status) = (0, LINE, Status::Ok);
            self.recorder.ended(&Ended { job, op, bytes, status, due, issued, submitted: issued, at });
            self.ended += 1;
            self.end = self.end.max(at);
        }
        self.done = done;
        self.end
    }

    /// Submits an access at `now`.
    fn submit(&mut self, access: &Access, due: Time, now: Time) {
        let id = self.free.pop().expect("the queue has room");
        let (op, kind) = match access.op {
            Op::Write => (Direction::Write, LineKind::WriteBack),
            Op::Read | Op::Fetch => (Direction::Read, LineKind::Fill),
        };
        let bytes = self.memory.bytes();
        self.wrapped += u64::from(access.address >= bytes);
        let address = access.address % bytes / LINE * LINE;
        self.slots[id as usize] = Outstanding { op, due, issued: now };
        self.queue.enter(now, due);
        self.memory.submit(now, LineRequest { id, address, kind });
    }

    fn outcome(mut self, system: &System, file: &str, arrivals: &Arrivals) -> MemoryOutcome {
        self.recorder.finish();
        let end = self.end;
        let found = traffic_report::Found {
            arrivals,
            clock: self.clock,
            queue: &self.queue,
            wrapped: self.wrapped,
            requests: self.ended,
            end,
        };
        let inside = traffic_report::inside(system, &mut self.memory, &found);
        let options = vec![("file".to_owned(), file.to_owned())];
        let info = JobInfo { name: "trace".to_owned(), group: 0, starts_later: false, options, inherited: 0 };
        MemoryOutcome { recorder: self.recorder, jobs: vec![info], begun: Time::ZERO, end, fills: self.ended, inside }
    }
}
