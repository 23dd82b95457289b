//! Issues a workload's requests: a state machine without a clock, driven by the machine's event loop.
//!
//! The loop calls [`Player::next`] until it returns something other than [`Next::Issue`], and [`Player::complete`] for
//! each request that the machine has finished. Requests involve no allocation and no hashing, and their cost does not
//! depend on the size of the drive or the number of jobs.
//!
//! # Traces
//!
//! In an open-loop replay, each request is due at its timestamp, with the first at the start. [`Io::due`] holds that
//! time, and response times count from it even if the request had to wait. There is no limit on outstanding requests
//! (unless the job sets `iodepth`). A flush is issued once it is due and the writes before it are complete, like an
//! fsync; other requests do not wait for it.
//!
//! In a closed-loop replay, timestamps and waits are ignored: requests are issued in the trace's order, up to the given
//! number at a time. A flush waits for the outstanding writes and delays everything after it.
//!
//! A trace without timestamps (fio iolog version 2) is replayed in the same way, with one request at a time or its
//! job's `iodepth`, but its waits are kept.
//!
//! [`Workload::open`] describes the layout of a trace's devices on the drive, and the rounding to sectors.

mod errors;
mod flow;
mod generated;
mod log;
mod monitor;
mod options;
mod order;
mod pattern;
mod placing;
mod region;
mod replay;
mod slots;
mod step;
mod trims;
mod written;
mod zoned;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use media::{Op, Request, SECTOR};
use sim::{Dense, Streams, Time};

use crate::error::Error;
use crate::fio::{ExitAll, WRITE, ZoneMode};
use crate::placement::Placement;
use crate::workload::{JobPlan, PlanSource, Workload};
use errors::OnError;
use flow::{Flows, Share};
use generated::Generated;
use log::Log;
use monitor::{Monitor, Verdict};
pub use options::{Beyond, DriveZones, Options, Replay};
use pattern::Pattern;
use placing::{AsDrawn, Files};
pub(crate) use region::Region;
use slots::{Ready, Slot, Slots};
use step::{Draft, Step};
use zoned::{InZones, ZonedJob, Zones};

/// The player's instruction to the event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Submit this request now and call [`Player::next`] again.
    Issue(Io),
    /// No request before this time, unless a completion comes first.
    At(Time),
    /// No request until a completion.
    Blocked,
    /// No more requests, and none outstanding.
    Finished,
}

/// A request to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Identifies the request until it completes: dense from 0, then reused.
    pub id: u32,
    /// Its job: an index into [`Workload::jobs`].
    pub job: u16,
    /// The operation and range.
    pub request: Request,
    /// Arrival time, from which response times count: now, or earlier if a replay's request had to wait.
    pub due: Time,
    /// Whether the request counts in statistics; false during `ramp_time`.
    pub measured: bool,
    /// Whether the data read must be verified.
    pub verify: bool,
}

/// A request that has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its job: an index into [`Workload::jobs`].
    pub job: u16,
    /// The operation.
    pub op: Op,
    /// Length in bytes.
    pub bytes: u64,
    /// Arrival time: [`Io::due`].
    pub due: Time,
    /// Issue time.
    pub issued: Time,
    /// Whether the request counts in statistics.
    pub measured: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Number of completed requests.
    pub completed: u64,
    /// Total number of requests, if known.
    pub total: Option<u64>,
    /// Fraction of the work that has been issued, from 0 to 1: the mean over all jobs, each measured by its bytes,
    /// requests or time.
    pub fraction: f64,
}

/// Issues the requests of a [`Workload`].
pub struct Player {
    jobs: Dense<Job>,
    ready: Ready,
    timers: BinaryHeap<Reverse<(Time, u16)>>,
    next_timer: Time,
    slots: Slots,
    total: Option<u64>,
    flows: Flows,
    // Zones of the jobs with `zonemode=zbd`, if there are some.
    zones: Option<Box<Zones>>,
    notes: Vec<String>,
    // The current stage.
    stage: u32,
    // Jobs of the stage that have not ended.
    running: usize,
    // Whether any job waits for others.
    waits: bool,
    // Whether any job limits its latencies.
    limits_latency: bool,
    now: Time,
}

/// Number of depth counters: 1, 2-3, 4-7, 8-15, 16-31, 32-63, and 64 or more outstanding requests.
pub const DEPTHS: usize = 7;

/// A job and its state in the player.
struct Job {
    state: JobState,
    in_flight: u32,
    depth: u32,
    // End of the wait in state `Timed`.
    timer: Time,
    source: Source,
    // Requests by the number outstanding at their issue, themselves included.
    levels: [u64; DEPTHS],
    lifecycle: Box<Lifecycle>,
}

/// Start and end conditions of a job, and rarely used features.
struct Lifecycle {
    stage: u32,
    group: u32,
    /// Jobs that must end first.
    waits_for: Vec<u16>,
    delay: Time,
    /// The job has started.
    begun: bool,
    /// The job has ended.
    over: bool,
    /// The job must not issue more requests.
    stop: bool,
    exit_all: Option<ExitAll>,
    on_error: OnError,
    /// A job that reached its depth issues again once this many requests fewer than its depth are outstanding.
    batch: u32,
    /// Upper limit on the outstanding requests at that point.
    low: u32,
    /// The job has reached its depth and does not issue yet.
    draining: bool,
    share: Option<Share>,
    flow_sleep: Time,
    monitor: Option<Monitor>,
    log: Option<Log>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobState {
    /// Its stage has not started.
    Idle,
    /// In the ready queue.
    Ready,
    /// Waits for a time.
    Timed,
    /// Waits for a completion.
    Parked,
    /// Waits for another job of its flow.
    Delayed,
    /// Issues no more requests.
    Ended,
}

enum Source {
    /// A job on the short path ([`Generated::is_plain`]).
    Plain(Box<Generated>),
    Generated(Box<Generated>),
    /// A job on several drives.
    Files(Box<(Generated, Files)>),
    /// A job with `zonemode=zbd`.
    Zoned(Box<(Generated, ZonedJob)>),
    Replay(Box<replay::Replay>),
}

impl Source {
    /// Returns the generated job, if it is one.
    fn generated(&mut self) -> Option<&mut Generated> {
        match self {
            Source::Plain(generated) | Source::Generated(generated) => Some(generated),
            Source::Files(files) => Some(&mut files.0),
            Source::Zoned(zoned) => Some(&mut zoned.0),
            Source::Replay(_) => None,
        }
    }
}

impl Player {
    /// Creates a player of `workload` at time zero. Each job draws from the stream `workload.NAME.N` of `streams`, or
    /// from its own seed if it has one.
    ///
    /// # Errors
    /// If a job's region does not fit on the drive, a trace extends beyond it, or an option is invalid.
    pub fn new(workload: &Workload, options: &Options, streams: &Streams) -> Result<Player, Error> {
        let options = Options { capacity: options.capacity - options.capacity % SECTOR, ..*options };
        options.check()?;
        let mut jobs = Vec::with_capacity(workload.plans.len());
        let mut total = Some(0);
        let (mut flows, mut notes) = (Flows::default(), Vec::new());
        let mut zones: Option<Box<Zones>> = None;
        for (plan, info) in workload.plans.iter().zip(workload.jobs()) {
            let (source, depth, requests) = match &plan.source {
                PlanSource::Generate(job, clone) => {
                    let region = Region::new(&workload.file, job, *clone, &options)?;
                    if let (Some(wanted), 0) = (region.cut, *clone) {
                        notes.push(format!(
                            "{}: job \"{}\": size={wanted} is limited to {} bytes by the end of the drive, as in fio",
                            workload.file, job.name, region.bytes
                        ));
                    }
                    let streams = job.seed.map_or(*streams, Streams::new);
                    let pace = streams.stream(&format!("{}.pace", plan.stream));
                    let rngs = (streams.stream(&plan.stream), pace);
                    let choice = streams.stream(&format!("{}.placement", plan.stream));
                    let placement = Placement::new(&workload.file, job, options.handles, choice)?;
                    let unit = match job.zone_mode {
                        ZoneMode::Zbd => zoned::unit(workload.plan_jobs().flatten(), region.zone),
                        ZoneMode::None | ZoneMode::Strided => job.granularity(WRITE),
                    };
                    let generated = Generated::new(&workload.file, job, region, rngs, placement, unit)?;
                    let requests = generated.known_total();
                    let source = match job.zone_mode {
                        ZoneMode::Zbd => {
                            notes.extend(ZonedJob::rounding(&workload.file, job, &region).filter(|_| *clone == 0));
                            let zones = match &mut zones {
                                Some(zones) => zones,
                                none => none.insert(Box::new(Zones::new(
                                    &workload.file,
                                    job,
                                    workload.plans.len(),
                                    &options,
                                )?)),
                            };
                            let zoned = ZonedJob::new(&workload.file, job, jobs.len() as u16, region, zones)?;
                            Source::Zoned(Box::new((generated, zoned)))
                        }
                        _ if job.on.len() > 1 => {
                            let other = |number: &u16| {
                                let part = region.on(job, *number, options.capacity);
                                let choice = streams.stream(&format!("{}.placement.{number}", plan.stream));
                                let placement = Placement::new(&workload.file, job, options.handles, choice)?;
                                let rng = streams.stream(&format!("{}.{number}", plan.stream));
                                Pattern::new(job, part.start, part.bytes, rng, placement)
                                    .map_err(|why| Error::from(job.error(&workload.file, "random_distribution", &why)))
                            };
                            let others = job.on[1..].iter().map(other).collect::<Result<Vec<_>, Error>>()?;
                            let choice = streams.stream(&format!("{}.drive", plan.stream));
                            let files = Files::new(others, job.service, region.bytes, choice);
                            Source::Files(Box::new((generated, files)))
                        }
                        _ if generated.is_plain() => Source::Plain(Box::new(generated)),
                        _ => Source::Generated(Box::new(generated)),
                    };
                    (source, job.outstanding(), requests)
                }
                PlanSource::Replay(trace, job) => {
                    let replay = replay::Replay::new(trace, job.as_deref(), &options)?;
                    let requests = job.as_ref().is_none_or(|job| job.runtime.is_none()).then(|| replay.total());
                    let bound = replay.bound(job.as_deref());
                    (Source::Replay(Box::new(replay)), bound, requests)
                }
            };
            total = total.zip(requests).map(|(a, b): (u64, u64)| a.saturating_add(b));
            let on_error = OnError::new(options.continue_on_error);
            let lifecycle =
                Box::new(Lifecycle::new(plan, info.group, (depth, options.capacity), on_error, &mut flows, streams)?);
            let (state, timer, levels) = (JobState::Idle, Time::ZERO, [0; DEPTHS]);
            jobs.push(Job { state, in_flight: 0, depth, timer, source, levels, lifecycle });
        }
        if let Some(zones) = zones.as_ref().filter(|zones| !zones.are_real()) {
            notes.push(zones.emulated(&workload.file));
        }
        let limits_latency = jobs.iter().any(|job| job.lifecycle.on_error.limits_latency());
        let mut player = Player {
            ready: Ready::new(jobs.len()),
            jobs: Dense::new(jobs),
            timers: BinaryHeap::new(),
            next_timer: Time::MAX,
            slots: Slots::new(),
            total,
            flows,
            zones,
            notes,
            stage: 0,
            running: 0,
            waits: workload.plans.iter().any(|plan| !plan.waits_for.is_empty()),
            limits_latency,
            now: Time::ZERO,
        };
        player.start_stage(Time::ZERO);
        Ok(player)
    }

    /// Returns notes on how the jobs were fitted to the drive, one line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of requests of `job` by the number outstanding at their issue, themselves included: 1, 2 and
    /// 3, 4 to 7, and so on up to 64 and more.
    pub fn depths(&self, job: usize) -> [u64; DEPTHS] {
        self.jobs[job].levels
    }

    /// Returns the latency target of `job`, the duration of one measurement, and the percentage of requests that must
    /// meet the target.
    pub fn latency_target(&self, job: usize) -> Option<(Time, Time, f64)> {
        self.jobs[job].lifecycle.monitor.as_ref().and_then(Monitor::latency_target)
    }

    /// Returns the number of requests that `job` may have outstanding: the current result, if it searches for a latency
    /// target.
    pub fn depth(&self, job: usize) -> u32 {
        self.jobs[job].depth
    }

    /// Returns the next instruction at `now`. Must be called until it returns something other than [`Next::Issue`].
    ///
    /// # Errors
    /// If a trace cannot be read, or has changed since it was opened. The run cannot continue.
    pub fn next(&mut self, now: Time) -> Result<Next, Error> {
        match self.next_at_once(now) {
            Some(next) => Ok(next),
            None => self.next_otherwise(now),
        }
    }

    /// Common case of [`next`](Self::next), which cannot fail: a plain job issues a request, or no job can issue.
    /// Callers that try it first need no error in memory.
    #[inline]
    pub fn next_at_once(&mut self, now: Time) -> Option<Next> {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        if self.ready.first().is_none() {
            return (now < self.next_timer).then(|| self.idle());
        }
        self.next_plain(now).map(Next::Issue)
    }

    /// Like [`next`](Self::next), after [`next_at_once`](Self::next_at_once) has returned `None`.
    ///
    /// # Errors
    /// Like [`next`](Self::next).
    pub fn next_otherwise(&mut self, now: Time) -> Result<Next, Error> {
        if self.ready.first().is_none() { self.next_of_expired(now) } else { self.next_general(now) }
    }

    /// Issues a request of the first job in the queue, if that job is plain. `None` does not mean that there is nothing
    /// to do.
    fn next_plain(&mut self, now: Time) -> Option<Io> {
        let index = self.ready.first()?;
        self.now = now;
        let job = &mut self.jobs[index as usize];
        let Source::Plain(generated) = &mut job.source else { return None };
        let request = generated.plain_request(now)?;
        let (measured, verify) = (generated.is_measured(now), generated.checks_reads());
        job.count(&mut self.ready);
        let Request { op, bytes, .. } = request;
        let id = self.slots.take(Slot { job: index, op, measured, bytes, due: now, issued: now, epoch: 0 });
        Some(Io { id, job: index, request, due: now, measured, verify })
    }

    /// Returns the instruction for a time at which no job can issue.
    fn idle(&self) -> Next {
        if self.next_timer != Time::MAX {
            Next::At(self.next_timer)
        } else if self.outstanding() > 0 {
            Next::Blocked
        } else {
            Next::Finished
        }
    }

    fn next_of_expired(&mut self, now: Time) -> Result<Next, Error> {
        self.now = now;
        self.expire(now);
        self.next_general(now)
    }

    fn next_general(&mut self, now: Time) -> Result<Next, Error> {
        while let Some(index) = self.ready.first() {
            let job = &mut self.jobs[index as usize];
            debug_assert!(job.state == JobState::Ready);
            if job.in_flight >= job.depth {
                job.state = JobState::Parked;
                self.ready.pop();
                continue;
            }
            if let Some(share) = &job.lifecycle.share
                && !job.lifecycle.stop
                && !self.flows.admits(share)
            {
                self.ready.pop();
                self.delay(now, index);
                continue;
            }
            let step = match &mut job.source {
                _ if job.lifecycle.stop => Step::Done,
                Source::Plain(generated) | Source::Generated(generated) => {
                    generated.step(now, job.in_flight, &mut AsDrawn)
                }
                Source::Files(files) => {
                    let (generated, files) = &mut **files;
                    generated.step(now, job.in_flight, files)
                }
                Source::Zoned(zoned) => {
                    let (generated, job_zones) = &mut **zoned;
                    let zones = self.zones.as_mut().expect("a job uses zones");
                    generated.step(now, job.in_flight, &mut InZones { job: job_zones, zones })
                }
                Source::Replay(replay) => replay.step(now, job.in_flight)?,
            };
            if let Step::Issue(Draft { request, due, measured, verify, epoch }) = step {
                job.count(&mut self.ready);
                let lifecycle = &mut job.lifecycle;
                lifecycle.draining =
                    job.state == JobState::Parked && (lifecycle.batch > 1 || lifecycle.low < job.depth);
                if let Some(log) = &mut lifecycle.log {
                    log.write(now, &request)?;
                }
                if let Some(share) = &mut lifecycle.share {
                    let waiting = self.flows.count(share);
                    self.recheck(&waiting);
                }
                let Request { op, bytes, .. } = request;
                let id = self.slots.take(Slot { job: index, op, measured, bytes, due, issued: now, epoch });
                return Ok(Next::Issue(Io { id, job: index, request, due, measured, verify }));
            }
            self.ready.pop();
            match step {
                Step::Issue(_) => unreachable!("returned above"),
                Step::Wait(at) => {
                    assert!(at > now, "job {index} waits for {at}, which is not after {now}");
                    (job.state, job.timer) = (JobState::Timed, at);
                    self.timers.push(Reverse((at, index)));
                    self.next_timer = self.next_timer.min(at);
                }
                Step::Park => {
                    assert!(job.in_flight > 0, "job {index} waits for a completion but has no outstanding requests");
                    job.state = JobState::Parked;
                }
                Step::Hold => {
                    job.state = JobState::Delayed;
                    self.zones.as_mut().expect("a job uses zones").wait(index);
                }
                Step::Done => {
                    job.state = JobState::Ended;
                    if let Some(log) = &mut job.lifecycle.log {
                        log.finish()?;
                    }
                    if job.in_flight == 0 {
                        self.end_of_job(now, index);
                    }
                }
            }
        }
        if self.next_timer <= now { self.next_of_expired(now) } else { Ok(self.idle()) }
    }

    /// Completes request `id`. Returns its description.
    ///
    /// # Panics
    /// If the request is not outstanding.
    pub fn complete(&mut self, now: Time, id: u32) -> Ended {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        let slot = self.slots.release(id);
        let job = &mut self.jobs[slot.job as usize];
        job.in_flight -= 1;
        if job.state == JobState::Parked && matches!(job.source, Source::Plain(_)) {
            job.state = JobState::Ready;
            self.ready.push(slot.job);
        } else {
            self.complete_general(now, slot);
        }
        let Slot { job, op, measured, bytes, due, issued, .. } = slot;
        Ended { job, op, bytes, due, issued, measured }
    }

    fn complete_general(&mut self, now: Time, slot: Slot) {
        let job = &mut self.jobs[slot.job as usize];
        let woken = match &mut job.source {
            Source::Plain(_) => false,
            Source::Generated(generated) => {
                generated.complete(slot.op);
                false
            }
            Source::Files(files) => {
                files.0.complete(slot.op);
                false
            }
            Source::Zoned(_) => return self.complete_zoned(now, slot),
            Source::Replay(replay) => replay.complete(slot.op, slot.epoch),
        };
        self.settle(now, slot, woken);
    }

    /// Completes a request of a job with zones, for which other jobs may wait.
    fn complete_zoned(&mut self, now: Time, slot: Slot) {
        let zones = self.zones.as_mut().expect("a job uses zones");
        if let Source::Zoned(zoned) = &mut self.jobs[slot.job as usize].source {
            zoned.0.complete(slot.op);
            zoned.1.ended(slot.op, slot.epoch, zones);
        }
        // A zone that was reset goes to the job that reset it, any other to the job that waits.
        let waiting = zones.take_waiting();
        if !slot.measured && matches!(slot.op, Op::ZoneReset | Op::ZoneFinish) {
            self.settle(now, slot, false);
            self.recheck(&waiting);
        } else {
            self.recheck(&waiting);
            self.settle(now, slot, false);
        }
    }

    /// Lets a job react to the completion of one of its requests. `woken`: the job need not wait for its timer.
    #[inline]
    fn settle(&mut self, now: Time, slot: Slot, woken: bool) {
        let job = &mut self.jobs[slot.job as usize];
        let lifecycle = &mut job.lifecycle;
        match lifecycle
            .monitor
            .as_mut()
            .map_or(Verdict::Nothing, |monitor| monitor.completed(now, slot.due, slot.bytes))
        {
            Verdict::Nothing => {}
            Verdict::Depth(depth) => job.depth = depth,
            Verdict::End => lifecycle.stop = true,
        }
        match job.state {
            JobState::Parked => {
                if lifecycle.draining {
                    if !lifecycle.stop && job.in_flight > lifecycle.low.min(job.depth.saturating_sub(lifecycle.batch)) {
                        return;
                    }
                    lifecycle.draining = false;
                }
            }
            // The timer remains queued and is ignored when it expires.
            JobState::Timed if woken || lifecycle.stop => {}
            JobState::Ended if job.in_flight == 0 => return self.end_of_job(now, slot.job),
            _ => return,
        }
        job.state = JobState::Ready;
        self.ready.push(slot.job);
    }

    /// Returns the number of completed requests.
    pub fn completed(&self) -> u64 {
        self.slots.completed()
    }

    /// Returns the progress of the run.
    pub fn progress(&self) -> Progress {
        let fraction = |job: &Job| match (&job.source, job.state) {
            (_, JobState::Idle) => 0.0,
            (_, JobState::Ended) => 1.0,
            (Source::Plain(generated) | Source::Generated(generated), _) => generated.progress(self.now),
            (Source::Files(files), _) => files.0.progress(self.now),
            (Source::Zoned(zoned), _) => zoned.0.progress(self.now),
            (Source::Replay(replay), _) => replay.progress(),
        };
        let fraction = self.jobs.iter().map(fraction).sum::<f64>() / self.jobs.len() as f64;
        Progress { completed: self.completed(), total: self.total, fraction }
    }

    /// Returns the number of outstanding requests.
    pub fn outstanding(&self) -> u32 {
        self.slots.outstanding()
    }

    /// Makes jobs ready whose time has come.
    fn expire(&mut self, now: Time) {
        while let Some(Reverse((at, index))) = self.timers.peek().copied() {
            let job = &mut self.jobs[index as usize];
            let stale = job.state != JobState::Timed || job.timer != at;
            if at > now && !stale {
                break;
            }
            self.timers.pop();
            if !stale {
                job.state = JobState::Ready;
                self.ready.push(index);
            }
        }
        self.next_timer = self.timers.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
    }

    /// Delays a job that is ahead of its share: for a fixed time, or until another job of its flow progresses.
    fn delay(&mut self, now: Time, index: u16) {
        let job = &mut self.jobs[index as usize];
        let share = job.lifecycle.share.as_ref().expect("a job with a flow");
        if job.lifecycle.flow_sleep > Time::ZERO {
            (job.state, job.timer) = (JobState::Timed, now.saturating_add(job.lifecycle.flow_sleep));
            self.timers.push(Reverse((job.timer, index)));
            self.next_timer = self.next_timer.min(job.timer);
        } else {
            job.state = JobState::Delayed;
            self.flows.wait(share, index);
        }
    }

    /// Makes delayed jobs ready, so that they check their shares again.
    fn recheck(&mut self, waiting: &[u16]) {
        for index in waiting {
            let job = &mut self.jobs[*index as usize];
            if job.state == JobState::Delayed {
                job.state = JobState::Ready;
                self.ready.push(*index);
            }
        }
    }

    fn end_of_job(&mut self, now: Time, index: u16) {
        self.running -= 1;
        let lifecycle = &mut self.jobs[index as usize].lifecycle;
        lifecycle.over = true;
        let (group, exit_all) = (lifecycle.group, lifecycle.exit_all);
        if let Some(share) = lifecycle.share {
            let waiting = self.flows.leave(&share);
            self.recheck(&waiting);
        }
        if let Some(which) = exit_all {
            self.stop_all(which, group);
        }
        if self.running == 0 || self.waits {
            self.start_stage(now);
        }
    }

    /// Starts the jobs of the stage whose conditions are met. Moves on to the next stages if the stage has no running
    /// jobs.
    fn start_stage(&mut self, now: Time) {
        loop {
            let last = self.jobs.iter().map(|job| job.lifecycle.stage).max().unwrap_or(0);
            // A job that ends without starting may allow others to start.
            while self.begin_jobs(now) {}
            if self.running > 0 || self.stage > last {
                return;
            }
            self.stage += 1;
        }
    }

    /// Starts all jobs that can start. Returns whether a job ended without starting.
    fn begin_jobs(&mut self, now: Time) -> bool {
        let mut dropped = false;
        for index in 0..self.jobs.len() {
            let lifecycle = &self.jobs[index].lifecycle;
            if lifecycle.begun
                || lifecycle.stage != self.stage
                || lifecycle.waits_for.iter().any(|other| !self.jobs[*other as usize].lifecycle.over)
            {
                continue;
            }
            let job = &mut self.jobs[index];
            job.lifecycle.begun = true;
            if job.lifecycle.stop {
                (job.state, job.lifecycle.over, dropped) = (JobState::Ended, true, true);
                continue;
            }
            let start = now.saturating_add(job.lifecycle.delay);
            match &mut job.source {
                Source::Replay(replay) => replay.start(start),
                other => other.generated().expect("a generated job").start(start),
            }
            if let Some(monitor) = &mut job.lifecycle.monitor {
                job.depth = monitor.start(start, job.depth);
            }
            if let Some(share) = &job.lifecycle.share {
                self.flows.join(share);
            }
            self.running += 1;
            if start > now {
                (job.state, job.timer) = (JobState::Timed, start);
                self.timers.push(Reverse((start, index as u16)));
                self.next_timer = self.next_timer.min(start);
            } else {
                job.state = JobState::Ready;
                self.ready.push(index as u16);
            }
        }
        dropped
    }
}

impl Lifecycle {
    /// Creates the lifecycle of a plan's job.
    fn new(
        plan: &JobPlan,
        group: u32,
        (depth, capacity): (u32, u64),
        on_error: OnError,
        flows: &mut Flows,
        streams: &Streams,
    ) -> Result<Lifecycle, Error> {
        let (job, clone) = match &plan.source {
            PlanSource::Generate(job, clone) => (Some(&**job), *clone),
            PlanSource::Replay(_, job) => (job.as_deref(), 0),
        };
        let mut lifecycle = Lifecycle {
            stage: plan.stage,
            group,
            waits_for: plan.waits_for.clone(),
            delay: Time::ZERO,
            begun: false,
            over: false,
            stop: false,
            exit_all: None,
            on_error,
            batch: 1,
            low: depth,
            draining: false,
            share: None,
            flow_sleep: Time::ZERO,
            monitor: None,
            log: None,
        };
        let Some(job) = job else { return Ok(lifecycle) };
        let (least, most) = job.start_delay;
        if most > Time::ZERO {
            let spread = (most - least).ps();
            let drawn =
                if spread > 0 { streams.stream(&format!("{}.start", plan.stream)).below(spread + 1) } else { 0 };
            lifecycle.delay = least + Time::from_ps(drawn);
        }
        lifecycle.exit_all = job.exit_all;
        lifecycle.on_error = OnError::of(job, lifecycle.on_error);
        lifecycle.batch = job.batch_submit.max(job.batch_complete).min(depth);
        lifecycle.low = job.depth_low.unwrap_or(depth);
        lifecycle.share = flows.share(job);
        lifecycle.flow_sleep = job.flow_sleep;
        lifecycle.monitor = Monitor::new(job);
        lifecycle.log = Log::create(job, clone, capacity)?;
        Ok(lifecycle)
    }
}

/// Returns the index of the depth counter for a number of outstanding requests, at least 1.
fn level(outstanding: u32) -> usize {
    debug_assert!(outstanding > 0);
    (outstanding.ilog2() as usize).min(DEPTHS - 1)
}

impl Job {
    /// Counts a request that is issued by this job, the first in the queue.
    #[inline]
    fn count(&mut self, ready: &mut Ready) {
        self.in_flight += 1;
        self.levels[level(self.in_flight)] += 1;
        if self.in_flight >= self.depth {
            self.state = JobState::Parked;
            ready.pop();
        } else {
            ready.rotate();
        }
    }
}
