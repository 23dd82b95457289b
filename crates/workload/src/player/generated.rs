//! A job of a job file as a state machine.

use media::{Op, Request};
use sim::{Rng, Time};

use super::pattern::Pattern;
use super::region::Region;
use super::written::Written;
use super::{Draft, Step};
use crate::fio::{Job, JobFileError, Kind, READ, TRIM, WRITE};

/// Issues what a job file's job asks for.
#[derive(Clone, Debug)]
pub(super) struct Generated {
    phase: Phase,
    // The size of every request of a plain job, or 0.
    plain: u64,
    bytes_left: u64,
    requests_left: u64,
    deadline: Time,
    measured_from: Time,
    checks_reads: bool,
    pattern: Pattern,
    extras: Extras,
    limits: Limits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Run,
    /// Waiting for the writes to complete, to be flushed and verified.
    Settle,
    /// Waiting for that flush.
    Flush,
    Verify,
    Done,
}

/// What a plain job does without.
#[derive(Clone, Debug)]
struct Extras {
    started: Time,
    // A direction that was chosen and waits for its rate.
    chosen: Option<usize>,
    rate: [Option<Rate>; 3],
    think: Time,
    think_blocks: u64,
    think_count: u64,
    think_due: bool,
    think_until: Time,
    fsync: [u64; 2],
    writes: u64,
    flush_due: bool,
    flushing: bool,
    writes_in_flight: u32,
    written: Option<Written>,
}

/// What the job was to do, for its progress.
#[derive(Clone, Debug)]
struct Limits {
    bytes: u64,
    requests: u64,
    ramp: Time,
    runtime: Option<Time>,
    time_based: bool,
    // Requests in all, where sizes, flushes, verification and time do not leave that open.
    total: Option<u64>,
}

/// A limit of one direction.
#[derive(Clone, Copy, Debug)]
struct Rate {
    per_second: u64,
    counts_bytes: bool,
    issued: u64,
    // When the next request may go.
    next: Time,
}

impl Generated {
    /// The job on its region of the drive, drawing from `rng`.
    pub fn new(file: &str, job: &Job, region: Region, rng: Rng) -> Result<Generated, JobFileError> {
        let Region { start, bytes, io_size } = region;
        let pattern =
            Pattern::new(job, start, bytes, rng).map_err(|why| job.error(file, "random_distribution", &why))?;
        let passes = if job.rw.kind == Kind::TrimWrite { 2 } else { 1 };
        let io_size = io_size.unwrap_or(bytes);
        let limits = Limits {
            bytes: if job.time_based { u64::MAX } else { io_size.saturating_mul(passes) },
            requests: job.number_ios.map_or(u64::MAX, |n| n.saturating_mul(passes)),
            ramp: job.ramp_time,
            runtime: job.runtime,
            time_based: job.time_based,
            total: None,
        };
        let rate = |direction: usize| {
            let (per_second, counts_bytes) = match (job.rate[direction], job.rate_iops[direction]) {
                (Some(rate), _) => (rate, true),
                (None, iops) => (iops?, false),
            };
            job.rw.has(direction).then_some(Rate { per_second, counts_bytes, issued: 0, next: Time::ZERO })
        };
        let writes = job.rw.has(WRITE);
        let sizes = job.sizes(WRITE);
        let extras = Extras {
            started: Time::ZERO,
            chosen: None,
            rate: [rate(READ), rate(WRITE), rate(TRIM)],
            think: job.thinktime,
            think_blocks: job.thinktime_blocks,
            think_count: 0,
            think_due: false,
            think_until: Time::ZERO,
            fsync: if writes { [job.fsync, job.fdatasync] } else { [0, 0] },
            writes: 0,
            flush_due: false,
            flushing: false,
            writes_in_flight: 0,
            written: (job.verify && writes).then(|| Written::new(start, bytes, sizes.common(), sizes.largest())),
        };
        let counts_after_ramp = job.number_ios.is_some() && job.ramp_time > Time::ZERO;
        let size = pattern.only_size().filter(|_| {
            extras.rate.iter().all(Option::is_none)
                && extras.think == Time::ZERO
                && extras.fsync == [0, 0]
                && extras.written.is_none()
                && !counts_after_ramp
        });
        let limits = match size {
            // A plain job counts in requests alone.
            Some(size) => {
                let requests = limits.requests.min(limits.bytes.div_ceil(size));
                let total = limits.runtime.is_none().then_some(requests);
                Limits { bytes: u64::MAX, requests, total, ..limits }
            }
            None => limits,
        };
        Ok(Generated {
            phase: Phase::Run,
            plain: size.unwrap_or(0),
            bytes_left: limits.bytes,
            requests_left: limits.requests,
            deadline: Time::MAX,
            measured_from: Time::ZERO,
            checks_reads: job.verify && !writes,
            pattern,
            extras,
            limits,
        })
    }

    /// The job begins.
    pub fn start(&mut self, now: Time) {
        self.measured_from = now.saturating_add(self.limits.ramp);
        self.deadline = self.limits.runtime.map_or(Time::MAX, |time| self.measured_from.saturating_add(time));
        self.extras.started = now;
        for rate in self.extras.rate.iter_mut().flatten() {
            rate.next = now;
        }
    }

    /// Nothing but addresses to take care of: requests of one size, without rate, pause, flush or verification of writes.
    /// Such a job needs no [`Generated::complete`].
    pub fn is_plain(&self) -> bool {
        self.plain > 0
    }

    /// The next request of a plain job, and whether it is measured and checked; none once the job is over.
    #[inline(always)]
    pub fn plain_request(&mut self, now: Time) -> Option<(Request, bool, bool)> {
        debug_assert!(self.is_plain());
        if self.requests_left == 0 || now >= self.deadline {
            return None;
        }
        self.requests_left -= 1;
        Some((self.pattern.draw_plain(self.plain), now >= self.measured_from, self.checks_reads))
    }

    #[inline]
    fn is_over(&self, now: Time) -> bool {
        self.bytes_left == 0 || self.requests_left == 0 || now >= self.deadline
    }

    /// Counts a request against the job's limits, and tells whether it is measured.
    #[inline]
    fn account(&mut self, now: Time, bytes: u64) -> bool {
        let measured = now >= self.measured_from;
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.requests_left -= u64::from(measured);
        measured
    }

    fn draft(&self, now: Time, request: Request, verify: bool) -> Step {
        Step::Issue(Draft { request, due: now, measured: now >= self.measured_from, verify, epoch: 0 })
    }

    /// What the job does next. `in_flight` of its requests are outstanding, fewer than its depth.
    pub fn step(&mut self, now: Time, in_flight: u32) -> Step {
        match self.phase {
            Phase::Run => self.run(now, in_flight),
            Phase::Settle if in_flight > 0 => Step::Park,
            Phase::Settle => {
                self.phase = Phase::Flush;
                self.draft(now, Request::flush(), false)
            }
            Phase::Flush if in_flight > 0 => Step::Park,
            Phase::Flush | Phase::Verify => {
                self.phase = Phase::Verify;
                match self.extras.written.as_mut().and_then(Written::next) {
                    Some((offset, bytes)) => self.draft(now, Request::new(Op::Read, offset, bytes), true),
                    None => {
                        self.phase = Phase::Done;
                        Step::Done
                    }
                }
            }
            Phase::Done => Step::Done,
        }
    }

    fn run(&mut self, now: Time, in_flight: u32) -> Step {
        let over = self.is_over(now);
        let extras = &mut self.extras;
        if extras.flushing {
            return Step::Park;
        }
        if extras.flush_due {
            if extras.writes_in_flight > 0 {
                return Step::Park;
            }
            (extras.flush_due, extras.flushing) = (false, true);
            return self.draft(now, Request::flush(), false);
        }
        if over {
            self.phase = if self.extras.written.is_some() { Phase::Settle } else { Phase::Done };
            return self.step(now, in_flight);
        }
        if extras.think_due {
            if in_flight > 0 {
                return Step::Park;
            }
            extras.think_due = false;
            extras.think_until = now.saturating_add(extras.think);
        }
        if now < extras.think_until {
            return Step::Wait(extras.think_until.min(self.deadline));
        }
        let wanted = extras.chosen.take().unwrap_or_else(|| self.pattern.choose());
        let (direction, at) = extras.admit(wanted, self.pattern.other(wanted), now);
        if at > now {
            extras.chosen = Some(direction);
            return Step::Wait(at.min(self.deadline));
        }
        let request = self.pattern.draw(direction);
        extras.count(direction, &request);
        let measured = self.account(now, request.bytes);
        Step::Issue(Draft { request, due: now, measured, verify: self.checks_reads, epoch: 0 })
    }

    /// A request of the job has completed.
    pub fn complete(&mut self, op: Op) {
        match op {
            Op::Write => self.extras.writes_in_flight -= 1,
            Op::Flush => self.extras.flushing = false,
            _ => {}
        }
    }

    /// Requests in all, if known.
    pub fn known_total(&self) -> Option<u64> {
        self.limits.total
    }

    /// How much of its work the job has behind it, from 0 to 1.
    pub fn progress(&self, now: Time) -> f64 {
        let share = |left: u64, all: u64| if all == u64::MAX { 0.0 } else { (all - left) as f64 / all as f64 };
        let time = self.limits.runtime.map_or(0.0, |runtime| {
            let all = self.limits.ramp.saturating_add(runtime);
            now.saturating_sub(self.extras.started).secs_f64() / all.secs_f64()
        });
        let bytes = if self.limits.time_based { 0.0 } else { share(self.bytes_left, self.limits.bytes) };
        let run = bytes.max(time).max(share(self.requests_left, self.limits.requests)).min(1.0);
        match (&self.extras.written, self.phase) {
            (_, Phase::Done) => 1.0,
            (None, _) => run,
            (Some(_), Phase::Run) => run / 2.0,
            (Some(written), _) => 0.5 + written.share() / 2.0,
        }
    }
}

impl Extras {
    /// The direction that may go first, and when: a direction ahead of its rate lets the other one of a mix pass.
    fn admit(&self, wanted: usize, other: Option<usize>, now: Time) -> (usize, Time) {
        let next = |direction: usize| self.rate[direction].map_or(now, |rate| rate.next);
        match other {
            Some(other) if next(wanted) > now && next(other) < next(wanted) => (other, next(other)),
            _ => (wanted, next(wanted)),
        }
    }

    /// Keeps account of a request that is issued.
    fn count(&mut self, direction: usize, request: &Request) {
        if let Some(rate) = &mut self.rate[direction] {
            rate.issued += if rate.counts_bytes { request.bytes } else { 1 };
            // From the start and not from the request before, so that nothing is lost to rounding or to a slow drive.
            let ps = u128::from(rate.issued) * 1_000_000_000_000 / u128::from(rate.per_second);
            let ps = u64::try_from(ps).map_or(Time::MAX, Time::from_ps);
            rate.next = self.started.saturating_add(ps);
        }
        if self.think > Time::ZERO {
            self.think_count += 1;
            if self.think_count == self.think_blocks {
                (self.think_count, self.think_due) = (0, true);
            }
        }
        if direction == WRITE {
            self.writes += 1;
            self.writes_in_flight += 1;
            self.flush_due = self.fsync.iter().any(|n| *n > 0 && self.writes.is_multiple_of(*n));
            if let Some(written) = &mut self.written {
                written.mark(request.offset, request.bytes);
            }
        }
    }
}
