//! The drives below host memory: simulated drives under one clock, a queue of requests each, and groups of requests that
//! end together.

use std::collections::{HashMap, VecDeque};

use ftl::config::ConfigError;
use media::{Op, Request, SECTOR};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::counters::Counters;
use storage::prepare::{Preparation, PrepareError, Prepared, prepare};
use storage::record::{Ended, Recorder};
use storage::run::RunOptions;
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;

use crate::config::{DriveTier, Placement};
use crate::slice::slice;

/// Reasons why the drives cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The parts do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A drive could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The drive cannot be sampled so.
    #[error("{0}")]
    Sample(String),
}

/// Use of a group of requests; also the number of its job in the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Reads of a cached block.
    Fetch = 0,
    /// Writes of an evicted block.
    Offload = 1,
    /// Reads of streamed weights.
    Weights = 2,
}

impl Use {
    /// Names of the jobs, in order.
    pub const NAMES: [&'static str; 3] = ["fetch", "offload", "weights"];
}

/// A request that waits or is outstanding.
#[derive(Clone, Copy, Debug)]
struct Io {
    group: u64,
    of: Use,
    request: Request,
    due: Time,
    issued: Time,
}

/// A drive and its queues. Reads and writes have a queue and a depth each, as threads of their own would give them: a
/// request waits for an answer to a fetch, none for a write.
struct Drive {
    machine: Machine,
    /// Requests not yet submitted, and the number outstanding: reads, writes.
    waiting: [VecDeque<Io>; 2],
    busy: [usize; 2],
    outstanding: Vec<Option<Io>>,
    free: Vec<u32>,
}

/// The drives.
pub struct Drives {
    drives: Vec<Drive>,
    tier: DriveTier,
    /// Requests left of each group.
    groups: HashMap<u64, u32>,
    next_group: u64,
    completions: Vec<Completion>,
    /// Bytes of a block, and of weights on each drive, as simulated.
    block: u64,
    weights: u64,
    /// Bytes that a slot occupies on each drive that it uses.
    share: u64,
    slots: u64,
    request: u64,
    system: System,
    prepared: Option<Prepared>,
    /// Bytes submitted and not completed.
    pending_reads: u64,
    failed: u64,
}

impl Drives {
    /// Creates and prepares the drives: `tier.count` of `system`, for blocks of `block` bytes, behind `weights` bytes of
    /// weights over all drives.
    ///
    /// # Errors
    /// If the system cannot be built, sampled or prepared.
    pub fn new(
        system: &System,
        tier: &DriveTier,
        block: u64,
        weights: u64,
        options: &RunOptions,
    ) -> Result<Drives, DriveError> {
        let part = slice(system, tier.sample).map_err(DriveError::Sample)?;
        let parts = Parts::new(&part, PayloadKind::None)?;
        let up = |bytes: u64| bytes.div_ceil(tier.sample).next_multiple_of(SECTOR);
        let (block, request) = (up(block), up(tier.request));
        let mut drives = Vec::new();
        let mut prepared = None;
        for number in 0..tier.count {
            let streams = match number {
                0 => Streams::new(options.seed),
                _ => Streams::new(Streams::new(options.seed).stream(&format!("serving.drive.{number}")).bits()),
            };
            // The cache of prepared drives knows whole systems only.
            let cache = options.cache.as_deref().filter(|_| tier.sample == 1);
            // Streamed weights are read and never written.
            let by_default = if weights > 0 { Preparation::Filled } else { Preparation::Erased };
            let preparation = options.preparation.unwrap_or(by_default);
            let (store, how) = prepare(&part, &parts, preparation, &streams, cache)?;
            let (nand, ftl, _) = parts.mount(store, &streams)?;
            prepared = prepared.or(Some(how));
            drives.push(Drive {
                machine: Machine::new(&parts, ftl, nand),
                waiting: Default::default(),
                busy: [0; 2],
                outstanding: Vec::new(),
                free: Vec::new(),
            });
        }
        let count = tier.count.max(1) as u64;
        let weights = weights.div_ceil(count).div_ceil(tier.sample).next_multiple_of(request);
        let share = match tier.placement {
            Placement::Stripe => block.div_ceil(request).div_ceil(count) * request,
            Placement::Block => block,
        };
        let room = ((part.user_bytes as f64 * tier.used) as u64).saturating_sub(weights);
        let slots = match (tier.count, tier.placement) {
            (0, _) => 0,
            (_, Placement::Stripe) => room / share,
            (_, Placement::Block) => room / share * count,
        };
        Ok(Drives {
            drives,
            tier: *tier,
            groups: HashMap::new(),
            next_group: 0,
            completions: Vec::new(),
            block,
            weights,
            share,
            slots,
            request,
            system: part,
            prepared,
            pending_reads: 0,
            failed: 0,
        })
    }

    /// Returns the number of slots for blocks.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Returns the simulated system of each drive.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Returns how the drives were prepared; `None` without drives.
    pub fn prepared(&self) -> Option<&Prepared> {
        self.prepared.as_ref()
    }

    /// Returns the machine of a drive.
    pub fn machine(&self, drive: usize) -> Option<&Machine> {
        self.drives.get(drive).map(|drive| &drive.machine)
    }

    /// Returns the counters of every drive at `now`.
    pub fn counters(&self, now: Time) -> Vec<Counters> {
        self.drives.iter().map(|drive| Counters::read(&drive.machine, now.max(drive.machine.now()), 0)).collect()
    }

    /// Returns the bytes of reads that have not completed, as whole drives would have them.
    pub fn pending_read_bytes(&self) -> u64 {
        self.pending_reads * self.tier.sample
    }

    /// Returns the number of failed requests.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Returns whether a request waits or is outstanding.
    pub fn is_busy(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Reads or writes the block in `slot`. Returns its group.
    pub fn block(&mut self, now: Time, of: Use, slot: u64) -> u64 {
        let (count, base) = (self.drives.len() as u64, self.weights);
        let op = if of == Use::Offload { Op::Write } else { Op::Read };
        let mut ios = Vec::new();
        for (number, at) in (0..self.block).step_by(self.request as usize).enumerate() {
            let bytes = self.request.min(self.block - at);
            let (drive, offset) = match self.tier.placement {
                // The first request of each slot is on another drive, so that all are used alike.
                Placement::Stripe => {
                    let turn = number as u64 + slot;
                    (turn % count, slot * self.share + number as u64 / count * self.request)
                }
                Placement::Block => (slot % count, slot / count * self.share + at),
            };
            ios.push((drive as usize, Request::new(op, base + offset, bytes)));
        }
        self.start(now, of, ios)
    }

    /// Reads the weights of one step from all drives. Returns the group.
    pub fn weights(&mut self, now: Time) -> u64 {
        let mut ios = Vec::new();
        for at in (0..self.weights).step_by(self.request as usize) {
            for drive in 0..self.drives.len() {
                ios.push((drive, Request::new(Op::Read, at, self.request.min(self.weights - at))));
            }
        }
        self.start(now, Use::Weights, ios)
    }

    fn start(&mut self, now: Time, of: Use, ios: Vec<(usize, Request)>) -> u64 {
        let group = self.next_group;
        self.next_group += 1;
        self.groups.insert(group, ios.len() as u32);
        for (drive, request) in ios {
            if request.op == Op::Read {
                self.pending_reads += request.bytes;
            }
            let io = Io { group, of, request, due: now, issued: now };
            self.drives[drive].waiting[way(request.op)].push_back(io);
        }
        for drive in &mut self.drives {
            drive.issue(now, self.tier.depth);
        }
        group
    }

    /// Returns the time of the next event of any drive.
    pub fn next_event(&self) -> Option<Time> {
        self.drives.iter().filter_map(|drive| drive.machine.next_event()).min()
    }

    /// Handles events up to `until`, stopping after the first that completes requests; returns its time. Appends the
    /// groups that ended.
    pub fn advance(&mut self, until: Time, recorder: &mut Recorder, ended: &mut Vec<u64>) -> Option<Time> {
        loop {
            // The drive that is behind goes on until another one is.
            let next = |drive: &Drive| drive.machine.next_event().unwrap_or(Time::MAX);
            let first = (0..self.drives.len()).min_by_key(|at| next(&self.drives[*at]))?;
            if next(&self.drives[first]) > until {
                return None;
            }
            let others = (0..self.drives.len()).filter(|at| *at != first).map(|at| next(&self.drives[at])).min();
            let limit = others.unwrap_or(Time::MAX).min(until);
            let drive = &mut self.drives[first];
            if drive.machine.advance(limit, &mut self.completions) {
                let now = drive.machine.now();
                self.take(first, now, recorder, ended);
                return Some(now);
            }
        }
    }

    fn take(&mut self, drive: usize, now: Time, recorder: &mut Recorder, ended: &mut Vec<u64>) {
        for Completion { io, status, submitted, at } in self.completions.drain(..) {
            let found = self.drives[drive].outstanding[io as usize].take().expect("an outstanding request");
            self.drives[drive].free.push(io);
            self.drives[drive].busy[way(found.request.op)] -= 1;
            let Request { op, bytes, .. } = found.request;
            if op == Op::Read {
                self.pending_reads -= bytes;
            }
            self.failed += u64::from(!status.is_ok());
            recorder.ended(&Ended {
                job: found.of as u16,
                op,
                bytes: bytes * self.tier.sample,
                status,
                due: found.due,
                issued: found.issued,
                submitted,
                at,
            });
            let left = self.groups.get_mut(&found.group).expect("a group in progress");
            *left -= 1;
            if *left == 0 {
                self.groups.remove(&found.group);
                ended.push(found.group);
            }
        }
        self.drives[drive].issue(now, self.tier.depth);
    }
}

/// Returns the queue of an operation.
fn way(op: Op) -> usize {
    usize::from(op == Op::Write)
}

impl Drive {
    /// Submits waiting requests while fewer than `depth` of their kind are outstanding.
    fn issue(&mut self, now: Time, depth: usize) {
        for way in [0, 1] {
            while self.busy[way] < depth {
                let Some(mut io) = self.waiting[way].pop_front() else { break };
                io.issued = now;
                let id = self.free.pop().unwrap_or_else(|| {
                    self.outstanding.push(None);
                    self.outstanding.len() as u32 - 1
                });
                self.outstanding[id as usize] = Some(io);
                self.busy[way] += 1;
                self.machine.submit(now, id, io.of as u16, io.request);
            }
        }
    }
}
