//! Issues a workload's requests: a state machine without a clock, driven by a machine's loop.
//!
//! The loop calls [`Player::next`] until it does not return [`Next::Issue`], and [`Player::complete`] for each request
//! that the machine has finished. Nothing is allocated or hashed a request, and a request costs the same whatever the
//! size of the drive and the number of jobs.
//!
//! # Traces
//!
//! Replayed open loop, a request is due at its stamp, the first at the start; [`Io::due`] says so, and response times
//! count from there even if the request had to wait. So many requests may be outstanding as the stamps ask for (or a
//! job's `iodepth`, if it is given). A flush goes when it is due and the writes before it are complete, as fsync does;
//! other requests do not wait for it.
//!
//! Closed loop, stamps and waits are passed over: requests go in the trace's order, as many at a time as asked for. A
//! flush waits for the outstanding writes and holds back what follows.
//!
//! A trace without stamps (fio iolog version 2) is replayed in that way too, one request at a time or as many as its job's
//! `iodepth`, but keeps its waits.
//!
//! Where a trace's devices lie on the drive, and what becomes of bytes that are not whole sectors, is told in
//! [`Workload::open`].

mod errors;
mod flow;
mod generated;
mod log;
mod options;
mod order;
mod pattern;
mod region;
mod replay;
mod slots;
mod trims;
mod watch;
mod written;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use media::{Op, Request, SECTOR};
use sim::{Dense, Streams, Time};

use crate::error::Error;
use crate::fio::ExitAll;
use crate::workload::{Plan, What, Workload};
use errors::OnError;
use flow::{Flows, Share};
use generated::Generated;
use log::Log;
pub use options::{Beyond, Options, Replay};
use region::Region;
use slots::{Ready, Slot, Slots};
use watch::{Verdict, Watch};

/// What a player wants of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Submit this now, and ask again.
    Issue(Io),
    /// Nothing before this instant, unless a completion comes first.
    At(Time),
    /// Nothing until a completion.
    Blocked,
    /// Nothing ever again, and nothing is outstanding.
    Finished,
}

/// A request to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Names the request until it is completed: dense from 0, then reused.
    pub id: u32,
    /// Whose it is: an index into [`Workload::jobs`].
    pub job: u16,
    /// What is asked.
    pub request: Request,
    /// When it arrived: now, or before now where a replay's request had to wait. Response times count from here.
    pub due: Time,
    /// It counts in statistics: false in `ramp_time`.
    pub measured: bool,
    /// A read whose data are to be checked.
    pub verify: bool,
}

/// A request that has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whose it was: an index into [`Workload::jobs`].
    pub job: u16,
    /// What was asked.
    pub op: Op,
    /// Of how many bytes.
    pub bytes: u64,
    /// When it arrived: [`Io::due`].
    pub due: Time,
    /// When it was issued.
    pub issued: Time,
    /// It counts in statistics.
    pub measured: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Requests completed.
    pub completed: u64,
    /// Requests in all, where that is known.
    pub total: Option<u64>,
    /// The share of the work that has been issued, from 0 to 1: the mean of the jobs', each by its bytes, requests or
    /// time.
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
    notes: Vec<String>,
    // The stage that runs, and how many of its jobs have not ended.
    stage: u32,
    running: usize,
    // A job waits for others.
    waits: bool,
    now: Time,
}

/// Bounds of the depth counters: 1, 2, 4, 8, 16, 32, and 64 or more, each up to the next.
pub const DEPTHS: usize = 7;

/// A job and where it stands with the player.
struct Job {
    state: State,
    in_flight: u32,
    depth: u32,
    // What it waits for, if it is timed.
    timer: Time,
    source: Source,
    // Requests that were issued as so many were outstanding, themselves included.
    levels: [u64; DEPTHS],
    course: Box<Course>,
}

/// When a job starts and ends, and what few jobs have.
struct Course {
    stage: u32,
    group: u32,
    /// Jobs whose ends it waits for.
    waits_for: Vec<u16>,
    delay: Time,
    /// It has begun; it has ended; it is to issue nothing more.
    begun: bool,
    over: bool,
    stop: bool,
    exit_all: Option<ExitAll>,
    on_error: OnError,
    /// It issues again when so many fewer than its depth, or no more than the least, are outstanding.
    batch: u32,
    low: u32,
    /// Its depth was reached, and it does not issue yet.
    draining: bool,
    share: Option<Share>,
    flow_sleep: Time,
    watch: Option<Watch>,
    log: Option<Log>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its group has not begun.
    Idle,
    /// In the queue.
    Ready,
    /// Waits for an instant.
    Timed,
    /// Waits for a completion.
    Parked,
    /// Waits for another job of its flow.
    Held,
    /// Issues nothing more.
    Ended,
}

enum Source {
    /// A job that goes the short way ([`Generated::is_plain`]).
    Plain(Box<Generated>),
    Generated(Box<Generated>),
    Replay(Box<replay::Replay>),
}

/// What a job does next.
enum Step {
    Issue(Draft),
    /// Nothing before this instant, which lies ahead.
    Wait(Time),
    /// Nothing before one of its requests completes.
    Park,
    /// Nothing any more.
    Done,
}

struct Draft {
    request: Request,
    due: Time,
    measured: bool,
    verify: bool,
    epoch: u32,
}

impl Player {
    /// A player of `workload` at time zero. Each job draws from the stream `workload.NAME.N` of `streams`, or of the seed
    /// that it names itself.
    ///
    /// # Errors
    /// If a job's region does not lie on the drive, a trace reaches beyond it, or an option makes no sense.
    pub fn new(workload: &Workload, options: &Options, streams: &Streams) -> Result<Player, Error> {
        let options = Options { capacity: options.capacity - options.capacity % SECTOR, ..*options };
        options.check()?;
        let mut jobs = Vec::with_capacity(workload.plans.len());
        let mut total = Some(0);
        let (mut flows, mut notes) = (Flows::default(), Vec::new());
        for (plan, info) in workload.plans.iter().zip(workload.jobs()) {
            let (source, depth, requests) = match &plan.what {
                What::Generate(job, clone) => {
                    let region = Region::new(&workload.file, job, *clone, options.capacity)?;
                    if let (Some(wanted), 0) = (region.cut, *clone) {
                        notes.push(format!(
                            "{}: job \"{}\": size={wanted} ends with the drive, after {} bytes, as in fio",
                            workload.file, job.name, region.bytes
                        ));
                    }
                    let streams = job.seed.map_or(*streams, Streams::new);
                    let pace = streams.stream(&format!("{}.pace", plan.stream));
                    let rngs = (streams.stream(&plan.stream), pace);
                    let generated = Generated::new(&workload.file, job, region, rngs, job.has_a_course())?;
                    let requests = generated.known_total();
                    let kind = if generated.is_plain() { Source::Plain } else { Source::Generated };
                    (kind(Box::new(generated)), job.outstanding(), requests)
                }
                What::Replay(trace, job) => {
                    let replay = replay::Replay::new(trace, job.as_deref(), &options)?;
                    let requests = job.as_ref().is_none_or(|job| job.runtime.is_none()).then(|| replay.total());
                    let bound = replay.bound(job.as_deref());
                    (Source::Replay(Box::new(replay)), bound, requests)
                }
            };
            total = total.zip(requests).map(|(a, b): (u64, u64)| a.saturating_add(b));
            let on_error = OnError::new(options.continue_on_error);
            let course = Box::new(Course::new(plan, info.group, depth, on_error, &mut flows, streams)?);
            let (state, timer, levels) = (State::Idle, Time::ZERO, [0; DEPTHS]);
            jobs.push(Job { state, in_flight: 0, depth, timer, source, levels, course });
        }
        let mut player = Player {
            ready: Ready::new(jobs.len()),
            // SAFETY: jobs are numbered here, and kept with their requests.
            jobs: unsafe { Dense::new(jobs) },
            timers: BinaryHeap::new(),
            next_timer: Time::MAX,
            slots: Slots::new(),
            total,
            flows,
            notes,
            stage: 0,
            running: 0,
            waits: workload.plans.iter().any(|plan| !plan.waits_for.is_empty()),
            now: Time::ZERO,
        };
        player.start_stage(Time::ZERO);
        Ok(player)
    }

    /// How the jobs were fitted to the drive, where a user should know, a line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Requests of `job` by the number that were outstanding when they were issued, themselves included: 1, 2 and 3, 4 to
    /// 7, and so on up to 64 and more.
    pub fn depths(&self, job: usize) -> [u64; DEPTHS] {
        self.jobs[job].levels
    }

    /// The latency that `job` searches a depth for, the time in which a depth is judged, and the percent of requests that
    /// must keep to it.
    pub fn latency_target(&self, job: usize) -> Option<(Time, Time, f64)> {
        self.jobs[job].course.watch.as_ref().and_then(Watch::latency_target)
    }

    /// Requests that `job` may have outstanding: what a search for a latency has come to, if it is searched for.
    pub fn depth(&self, job: usize) -> u32 {
        self.jobs[job].depth
    }

    /// What is to be done at `now`. To be called until it does not return [`Next::Issue`].
    ///
    /// # Errors
    /// If a trace cannot be read on, or has changed since it was opened. The run cannot go on.
    #[inline(always)]
    pub fn next(&mut self, now: Time) -> Result<Next, Error> {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        if self.ready.first().is_none() {
            return if now < self.next_timer { Ok(self.idle()) } else { self.next_of_expired(now) };
        }
        match self.next_plain(now) {
            Some(io) => Ok(Next::Issue(io)),
            None => self.next_with_care(now),
        }
    }

    /// The common case of [`next`](Self::next): the request of a plain job whose turn it is. None does not say that
    /// there is nothing to do.
    #[inline(always)]
    fn next_plain(&mut self, now: Time) -> Option<Io> {
        let index = self.ready.first()?;
        self.now = now;
        let job = &mut self.jobs[index as usize];
        let Source::Plain(generated) = &mut job.source else { return None };
        let (request, measured, verify) = generated.plain_request(now)?;
        job.count(&mut self.ready);
        let Request { op, bytes, .. } = request;
        let id = self.slots.take(Slot { job: index, op, measured, bytes, due: now, issued: now, epoch: 0 });
        Some(Io { id, job: index, request, due: now, measured, verify })
    }

    /// The time until which [`next`](Self::next) issues nothing, unless a request is completed.
    #[inline(always)]
    pub fn idle_until(&self) -> Time {
        if self.ready.first().is_none() { self.next_timer } else { Time::ZERO }
    }

    /// What to answer when no job can issue.
    #[inline]
    fn idle(&self) -> Next {
        if self.next_timer != Time::MAX {
            Next::At(self.next_timer)
        } else if self.outstanding() > 0 {
            Next::Blocked
        } else {
            Next::Finished
        }
    }

    #[cold]
    #[inline(never)]
    fn next_of_expired(&mut self, now: Time) -> Result<Next, Error> {
        self.now = now;
        self.expire(now);
        self.next_with_care(now)
    }

    #[inline(never)]
    fn next_with_care(&mut self, now: Time) -> Result<Next, Error> {
        while let Some(index) = self.ready.first() {
            let job = &mut self.jobs[index as usize];
            debug_assert!(job.state == State::Ready);
            if job.in_flight >= job.depth {
                job.state = State::Parked;
                self.ready.pop();
                continue;
            }
            if let Some(share) = &job.course.share
                && !job.course.stop
                && !self.flows.admits(share)
            {
                self.ready.pop();
                self.hold(now, index);
                continue;
            }
            let step = match &mut job.source {
                _ if job.course.stop => Step::Done,
                Source::Plain(generated) | Source::Generated(generated) => generated.step(now, job.in_flight),
                Source::Replay(replay) => replay.step(now, job.in_flight)?,
            };
            if let Step::Issue(Draft { request, due, measured, verify, epoch }) = step {
                job.count(&mut self.ready);
                let course = &mut job.course;
                course.draining = job.state == State::Parked && (course.batch > 1 || course.low < job.depth);
                if let Some(log) = &mut course.log {
                    log.write(now, &request)?;
                }
                if let Some(share) = &mut course.share {
                    let held = self.flows.count(share);
                    self.release(&held);
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
                    (job.state, job.timer) = (State::Timed, at);
                    self.timers.push(Reverse((at, index)));
                    self.next_timer = self.next_timer.min(at);
                }
                Step::Park => {
                    assert!(job.in_flight > 0, "job {index} waits for a completion and has nothing outstanding");
                    job.state = State::Parked;
                }
                Step::Done => {
                    job.state = State::Ended;
                    if let Some(log) = &mut job.course.log {
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

    /// The request `id` has completed. Returns what it was.
    ///
    /// # Panics
    /// If it is not outstanding.
    #[inline(always)]
    pub fn complete(&mut self, now: Time, id: u32) -> Ended {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        let slot = self.slots.release(id);
        let job = &mut self.jobs[slot.job as usize];
        job.in_flight -= 1;
        if job.state == State::Parked && matches!(job.source, Source::Plain(_)) {
            job.state = State::Ready;
            self.ready.push(slot.job);
        } else {
            self.complete_with_care(now, slot);
        }
        let Slot { job, op, measured, bytes, due, issued, .. } = slot;
        Ended { job, op, bytes, due, issued, measured }
    }

    /// [`complete`](Self::complete) and the [`next`](Self::next) behind it in one, where the job goes on under the same number
    /// and nothing else is to be issued before the next completion. None where that is not so, or not known without more
    /// work: then nothing has happened.
    ///
    /// # Panics
    /// As `complete`.
    #[inline(always)]
    pub fn replace(&mut self, now: Time, id: u32) -> Option<(Ended, Io)> {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        if self.ready.first().is_some() || self.next_timer != Time::MAX {
            return None;
        }
        let slot = self.slots.get_mut(id);
        let Slot { job: index, op, measured, bytes, due, issued, .. } = *slot;
        let job = &mut self.jobs[index as usize];
        let Source::Plain(generated) = &mut job.source else { return None };
        if job.state != State::Parked {
            return None;
        }
        let ended = Ended { job: index, op, bytes, due, issued, measured };
        let (request, measured, verify) = generated.plain_request(now)?;
        debug_assert_eq!(request.bytes, bytes, "requests of a plain job are of one size");
        (slot.op, slot.measured, slot.due, slot.issued) = (request.op, measured, now, now);
        self.slots.count_replaced();
        job.levels[level(job.in_flight)] += 1;
        self.now = now;
        Some((ended, Io { id, job: index, request, due: now, measured, verify }))
    }

    #[inline(never)]
    fn complete_with_care(&mut self, now: Time, slot: Slot) {
        let job = &mut self.jobs[slot.job as usize];
        let woken = match &mut job.source {
            Source::Plain(_) => false,
            Source::Generated(generated) => {
                generated.complete(slot.op);
                false
            }
            Source::Replay(replay) => replay.complete(slot.op, slot.epoch),
        };
        let course = &mut job.course;
        match course.watch.as_mut().map_or(Verdict::Nothing, |watch| watch.completed(now, slot.due, slot.bytes)) {
            Verdict::Nothing => {}
            Verdict::Depth(depth) => job.depth = depth,
            Verdict::End => course.stop = true,
        }
        match job.state {
            State::Parked => {
                if course.draining {
                    if !course.stop && job.in_flight > course.low.min(job.depth.saturating_sub(course.batch)) {
                        return;
                    }
                    course.draining = false;
                }
            }
            // Its timer stays and is found stale.
            State::Timed if woken || course.stop => {}
            State::Ended if job.in_flight == 0 => return self.end_of_job(now, slot.job),
            _ => return,
        }
        job.state = State::Ready;
        self.ready.push(slot.job);
    }

    /// Requests completed.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.slots.completed()
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        let fraction = |job: &Job| match (&job.source, job.state) {
            (_, State::Idle) => 0.0,
            (_, State::Ended) => 1.0,
            (Source::Plain(generated) | Source::Generated(generated), _) => generated.progress(self.now),
            (Source::Replay(replay), _) => replay.progress(),
        };
        let fraction = self.jobs.iter().map(fraction).sum::<f64>() / self.jobs.len() as f64;
        Progress { completed: self.completed(), total: self.total, fraction }
    }

    /// Requests that were issued and not completed.
    pub fn outstanding(&self) -> u32 {
        self.slots.outstanding()
    }

    /// Makes jobs ready whose instant has come.
    fn expire(&mut self, now: Time) {
        while let Some(Reverse((at, index))) = self.timers.peek().copied() {
            let job = &mut self.jobs[index as usize];
            let stale = job.state != State::Timed || job.timer != at;
            if at > now && !stale {
                break;
            }
            self.timers.pop();
            if !stale {
                job.state = State::Ready;
                self.ready.push(index);
            }
        }
        self.next_timer = self.timers.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
    }

    /// A job that is ahead of its share waits: for a while, or for another of its flow.
    #[cold]
    fn hold(&mut self, now: Time, index: u16) {
        let job = &mut self.jobs[index as usize];
        let share = job.course.share.as_ref().expect("a job with a flow");
        if job.course.flow_sleep > Time::ZERO {
            (job.state, job.timer) = (State::Timed, now.saturating_add(job.course.flow_sleep));
            self.timers.push(Reverse((job.timer, index)));
            self.next_timer = self.next_timer.min(job.timer);
        } else {
            job.state = State::Held;
            self.flows.hold(share, index);
        }
    }

    /// Jobs that others held up look again.
    fn release(&mut self, held: &[u16]) {
        for index in held {
            let job = &mut self.jobs[*index as usize];
            if job.state == State::Held {
                job.state = State::Ready;
                self.ready.push(*index);
            }
        }
    }

    #[cold]
    fn end_of_job(&mut self, now: Time, index: u16) {
        self.running -= 1;
        let course = &mut self.jobs[index as usize].course;
        course.over = true;
        let (group, exit_all) = (course.group, course.exit_all);
        if let Some(share) = course.share {
            let held = self.flows.leave(&share);
            self.release(&held);
        }
        if let Some(which) = exit_all {
            self.stop_all(which, group);
        }
        if self.running == 0 || self.waits {
            self.start_stage(now);
        }
    }

    /// Begins the jobs of the stage that wait for nothing more, and of the next stages if there is nothing left in it.
    #[cold]
    fn start_stage(&mut self, now: Time) {
        loop {
            let last = self.jobs.iter().map(|job| job.course.stage).max().unwrap_or(0);
            // One that never begins lets others begin, too.
            while self.begin_jobs(now) {}
            if self.running > 0 || self.stage > last {
                return;
            }
            self.stage += 1;
        }
    }

    /// Begins what can begin; true if a job has ended without that.
    fn begin_jobs(&mut self, now: Time) -> bool {
        let mut dropped = false;
        for index in 0..self.jobs.len() {
            let course = &self.jobs[index].course;
            if course.begun
                || course.stage != self.stage
                || course.waits_for.iter().any(|other| !self.jobs[*other as usize].course.over)
            {
                continue;
            }
            let job = &mut self.jobs[index];
            job.course.begun = true;
            if job.course.stop {
                (job.state, job.course.over, dropped) = (State::Ended, true, true);
                continue;
            }
            let start = now.saturating_add(job.course.delay);
            match &mut job.source {
                Source::Plain(generated) | Source::Generated(generated) => generated.start(start),
                Source::Replay(replay) => replay.start(start),
            }
            if let Some(watch) = &mut job.course.watch {
                job.depth = watch.start(start, job.depth);
            }
            if let Some(share) = &job.course.share {
                self.flows.join(share);
            }
            self.running += 1;
            if start > now {
                (job.state, job.timer) = (State::Timed, start);
                self.timers.push(Reverse((start, index as u16)));
                self.next_timer = self.next_timer.min(start);
            } else {
                job.state = State::Ready;
                self.ready.push(index as u16);
            }
        }
        dropped
    }
}

impl Course {
    /// The course of a plan's job.
    fn new(
        plan: &Plan,
        group: u32,
        depth: u32,
        on_error: OnError,
        flows: &mut Flows,
        streams: &Streams,
    ) -> Result<Course, Error> {
        let (job, clone) = match &plan.what {
            What::Generate(job, clone) => (Some(&**job), *clone),
            What::Replay(_, job) => (job.as_deref(), 0),
        };
        let mut course = Course {
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
            watch: None,
            log: None,
        };
        let Some(job) = job else { return Ok(course) };
        let (least, most) = job.start_delay;
        if most > Time::ZERO {
            let spread = (most - least).ps();
            let drawn =
                if spread > 0 { streams.stream(&format!("{}.start", plan.stream)).below(spread + 1) } else { 0 };
            course.delay = least + Time::from_ps(drawn);
        }
        course.exit_all = job.exit_all;
        course.on_error = OnError::of(job, course.on_error);
        course.batch = job.batch_submit.max(job.batch_complete).min(depth);
        course.low = job.depth_low.unwrap_or(depth);
        course.share = flows.share(job);
        course.flow_sleep = job.flow_sleep;
        course.watch = Watch::new(job);
        course.log = Log::create(job, clone)?;
        Ok(course)
    }
}

/// Where a number of outstanding requests, at least 1, is counted.
#[inline(always)]
fn level(outstanding: u32) -> usize {
    debug_assert!(outstanding > 0);
    (outstanding.ilog2() as usize).min(DEPTHS - 1)
}

impl Job {
    /// A request of the job, whose turn it is, is issued.
    #[inline(always)]
    fn count(&mut self, ready: &mut Ready) {
        self.in_flight += 1;
        self.levels[level(self.in_flight)] += 1;
        if self.in_flight >= self.depth {
            self.state = State::Parked;
            ready.pop();
        } else {
            ready.rotate();
        }
    }
}
