//! A long computation that updates a table in memory and makes checkpoints, to which it returns after a fault.

use media::{Act, Step};
use sim::Rng;

use super::builder::{Backing, Builder, InitialState, Thread};
use super::sequential::transfer;
use crate::error::Error;
use crate::trace::TraceError;

const LINE: u64 = 64;
/// Bytes per update.
const WORD: u64 = 8;
/// Updates generated per call.
const BATCH: u64 = 256;
/// Bytes per call when the table is copied.
const BLOCK: u64 = 64 << 10;

const METHODS: [&str; 3] = ["none", "sync", "copy"];

/// The way in which a checkpoint is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    None,
    /// A sync of the table: of its state in flash, or of the file that is mapped there.
    Sync,
    /// A copy of the table to a file, and fsync. Two files take turns, so that one is always whole.
    Copy,
}

/// Builds the program. Keys: `table`; `updates`, each a load and a store of the same word; `interval`, the updates between
/// two checkpoints; `dirty`, the size of the part of the table that an interval updates, elsewhere for each; `method`;
/// `faults`, after each of which the program restores the last checkpoint and repeats what followed it: half of an interval.
/// The program first writes the table and makes a checkpoint, then measurement begins.
pub(super) fn make(builder: &mut Builder<'_>, _: &'static str) -> Result<(), Error> {
    let keys = &mut *builder.keys;
    let bytes = keys.size("table", BLOCK, None)?;
    let updates = keys.count("updates", (1, u64::MAX >> 8), None)?;
    let interval = keys.count("interval", (2, u64::MAX >> 8), None)?;
    let dirty = keys.size("dirty", 4096, Some(bytes))?;
    let method = [Method::None, Method::Sync, Method::Copy][keys.choice("method", &METHODS, Some(1))?];
    let intervals = updates.div_ceil(interval);
    let faults = keys.count("faults", (0, u64::MAX >> 8), Some(0))?;
    if dirty > bytes {
        return Err(keys.error("dirty", "found more than the table, expected at most that"));
    }
    if faults > intervals {
        let expected = format!("at most {intervals}, one for each interval");
        return Err(keys.error("faults", &format!("found {faults}, expected {expected}")));
    }
    if faults > 0 && method == Method::None {
        return Err(keys.error("faults", "found faults without checkpoints, expected method \"sync\" or \"copy\""));
    }
    let backing = if method == Method::Sync { Backing::Mapped } else { Backing::Anonymous };
    let table = builder.regions.add("table", backing, InitialState::Allocated, bytes);
    let files = match method {
        Method::Copy => {
            let first = builder.regions.add("checkpoint", Backing::File, InitialState::Allocated, bytes);
            [first, builder.regions.add("other checkpoint", Backing::File, InitialState::Allocated, bytes)]
        }
        Method::None | Method::Sync => [0; 2],
    };
    builder.threads.push(Box::new(Computation {
        rng: builder.stream(0),
        table: (table, bytes),
        files,
        method,
        updates,
        interval,
        dirty,
        faults,
        intervals,
        number: 0,
        stage: Stage::Create(0),
    }));
    Ok(())
}

/// The next action of the program.
enum Stage {
    /// Writes the table from this byte on.
    Create(u64),
    /// Makes a checkpoint; copies from this byte on.
    Checkpoint(u64),
    /// Updates that remain until an interval's end. Before a fault, the program makes only half.
    Update {
        left: u64,
        part: u64,
        until_fault: Option<u64>,
        rng: Box<Rng>,
    },
    /// Restores the last checkpoint, from this byte on.
    Restore(u64),
    End,
}

struct Computation {
    rng: Rng,
    table: (u64, u64),
    files: [u64; 2],
    method: Method,
    updates: u64,
    interval: u64,
    dirty: u64,
    faults: u64,
    intervals: u64,
    /// Number of checkpoints made.
    number: u64,
    stage: Stage,
}

impl Computation {
    /// Returns the updates of the interval after the last checkpoint.
    fn of_interval(&self) -> u64 {
        self.interval.min(self.updates - self.interval * (self.number - 1))
    }

    /// Begins the interval after the last checkpoint.
    fn begin_interval(&mut self, may_fault: bool) -> Stage {
        let at = self.number - 1;
        if at == self.intervals {
            return Stage::End;
        }
        let left = self.of_interval();
        // Faults are spread evenly over the intervals.
        let is_hit = (at + 1) * self.faults / self.intervals > at * self.faults / self.intervals;
        let until_fault = (may_fault && is_hit).then_some(left / 2);
        let pages = (self.table.1 - self.dirty) / 4096;
        let mut rng = self.rng.clone();
        let part = self.table.0 + rng.below(pages + 1) * 4096;
        Stage::Update { left, part, until_fault, rng: Box::new(rng) }
    }

    fn checkpoint(&mut self, from: u64, steps: &mut Vec<Step>) -> Stage {
        let (table, bytes) = self.table;
        if self.method == Method::Copy && from < bytes {
            let length = BLOCK.min(bytes - from);
            transfer(steps, true, self.files[(self.number % 2) as usize] + from, length, table + from);
            return Stage::Checkpoint(from + length);
        }
        let address = if self.method == Method::Copy { self.files[(self.number % 2) as usize] } else { table };
        if self.method != Method::None {
            steps.push(Step { instructions: 0, act: Act::Sync, bytes: 0, address });
        }
        self.number += 1;
        if self.number == 1 {
            if self.method == Method::Sync {
                let mut at = 0;
                while at < bytes {
                    let length = (bytes - at).min(1 << 30);
                    steps.push(Step {
                        instructions: 0,
                        act: Act::Permanent,
                        bytes: length as u32,
                        address: table + at,
                    });
                    at += length;
                }
            }
            steps.push(Step { act: Act::Begin, ..Step::default() });
        }
        self.begin_interval(true)
    }

    fn restore(&mut self, from: u64, steps: &mut Vec<Step>) -> Stage {
        let (table, bytes) = self.table;
        if from == 0 {
            steps.push(Step { instructions: 0, act: Act::Rollback, bytes: 0, address: table });
        }
        if self.method == Method::Copy && from < bytes {
            let length = BLOCK.min(bytes - from);
            transfer(steps, false, self.files[((self.number - 1) % 2) as usize] + from, length, table + from);
            return Stage::Restore(from + length);
        }
        self.begin_interval(false)
    }
}

impl Thread for Computation {
    fn next(&mut self, steps: &mut Vec<Step>) -> Result<(), TraceError> {
        while steps.is_empty() {
            self.stage = match std::mem::replace(&mut self.stage, Stage::End) {
                Stage::Create(from) => {
                    let (table, bytes) = self.table;
                    let end = bytes.min(from + BATCH * LINE);
                    steps.extend((from..end).step_by(LINE as usize).map(|at| Step {
                        // These include the stores to the line's other seven words.
                        instructions: 15,
                        act: Act::Store,
                        bytes: 64,
                        address: table + at,
                    }));
                    if end < bytes { Stage::Create(end) } else { Stage::Checkpoint(0) }
                }
                Stage::Checkpoint(from) => self.checkpoint(from, steps),
                Stage::Restore(from) => self.restore(from, steps),
                Stage::Update { left, part, until_fault, mut rng } => {
                    let now = BATCH.min(until_fault.unwrap_or(left));
                    for _ in 0..now {
                        let (bytes, address) = (WORD as u32, part + rng.below(self.dirty / WORD) * WORD);
                        steps.push(Step { instructions: 60, act: Act::OrderedLoad, bytes, address });
                        steps.push(Step { instructions: 1, act: Act::Store, bytes, address });
                    }
                    match until_fault.map(|until| until - now) {
                        // The same updates follow again.
                        Some(0) => Stage::Restore(0),
                        until_fault if left > now => Stage::Update { left: left - now, part, until_fault, rng },
                        _ => {
                            self.rng = *rng;
                            Stage::Checkpoint(0)
                        }
                    }
                }
                Stage::End => return Ok(()),
            };
        }
        Ok(())
    }
}
