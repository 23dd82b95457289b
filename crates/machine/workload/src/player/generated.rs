//! State machine of a generated job.

use media::{Op, Request};
use sim::{Rng, Time};

use super::pattern::Pattern;
use super::placing::{Placed, Placing};
use super::region::Region;
use super::step::{Draft, Step};
use super::trims::TrimQueue;
use super::written::Written;
use crate::fio::{Job, JobFileError, READ, ReadWriteKind, TRIM, WRITE};
use crate::placement::Placement;

/// Generates the requests of a job from a job file.
#[derive(Clone, Debug)]
pub(super) struct Generated {
    phase: Phase,
    // Request size of a plain job; 0 for other jobs.
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
    /// Verifies the backlog's writes before the run continues.
    Check,
    /// Waits until all writes have completed, before they are flushed and verified.
    Settle,
    /// Waits for that flush.
    Flush,
    Verify,
    Done,
}

/// State that a plain job does not need.
#[derive(Clone, Debug)]
struct Extras {
    started: Time,
    // A direction that was chosen and waits for its rate limit.
    chosen: Option<usize>,
    rate: [Option<Rate>; 3],
    think: Time,
    think_blocks: u64,
    think_count: u64,
    think_due: bool,
    think_until: Time,
    /// Time after a pause at which the next begins; zero for pauses after a number of requests only.
    think_every: Time,
    fsync: [u64; 2],
    writes: u64,
    flush_due: bool,
    flushing: bool,
    writes_in_flight: u32,
    written: Option<Written>,
    /// Writes between two verifications; 0 to verify once, at the end.
    backlog: u64,
    unchecked: u64,
    trims: Option<TrimQueue>,
    end_flush: bool,
    loops_left: u64,
    /// Random stream for the times between requests and for the choice of trims.
    rng: Rng,
}

/// The job's limits, from which its progress is computed.
#[derive(Clone, Debug)]
struct Limits {
    bytes: u64,
    requests: u64,
    ramp: Time,
    runtime: Option<Time>,
    time_based: bool,
    // Total number of requests, unless it depends on sizes, flushes, verification or time.
    total: Option<u64>,
}

/// Rate limit of one direction.
#[derive(Clone, Copy, Debug)]
struct Rate {
    per_second: u64,
    counts_bytes: bool,
    /// Whether requests arrive as a Poisson process.
    poisson: bool,
    issued: u64,
    // Earliest time of the next request.
    next: Time,
}

impl Generated {
    /// Creates the job on its region of the drive. It draws its requests from `rng` and the times between them from
    /// `pace`. Its writes begin and end at multiples of `unit` bytes in the region. A tracked job is never plain.
    pub fn new(
        file: &str,
        job: &Job,
        region: Region,
        (rng, pace): (Rng, Rng),
        placement: Placement,
        unit: u64,
    ) -> Result<Generated, JobFileError> {
        let Region { start, bytes, io_size, .. } = region;
        let key = if job.setting("blockalign").is_some() { "blockalign" } else { "random_distribution" };
        let pattern = Pattern::new(job, start, bytes, rng, placement).map_err(|why| job.error(file, key, &why))?;
        let endless = job.time_based && job.runtime.is_some();
        let passes = if job.rw.kind == ReadWriteKind::TrimWrite { 2 } else { 1 };
        let io_size = io_size.unwrap_or(bytes);
        let limits = Limits {
            bytes: if endless { u64::MAX } else { io_size.saturating_mul(passes) },
            // Across all loops, as in fio.
            requests: job.number_ios.map_or(u64::MAX, |n| n.saturating_mul(passes).saturating_mul(job.loops)),
            ramp: job.ramp_time,
            runtime: job.runtime,
            time_based: endless,
            total: None,
        };
        let rate = |direction: usize| {
            let (per_second, counts_bytes) = match (job.rate[direction], job.rate_iops[direction]) {
                (Some(rate), _) => (rate, true),
                (None, iops) => (iops?, false),
            };
            let (poisson, next) = (job.poisson, Time::ZERO);
            job.rw.has(direction).then_some(Rate { per_second, counts_bytes, poisson, issued: 0, next })
        };
        let writes = job.rw.has(WRITE);
        let extras = Extras {
            started: Time::ZERO,
            chosen: None,
            rate: [rate(READ), rate(WRITE), rate(TRIM)],
            think: job.thinktime,
            // As in fio, only the time causes pauses if only the time is given.
            think_blocks: match job.setting("thinktime_blocks") {
                None if job.thinktime_iotime > Time::ZERO => u64::MAX,
                _ => job.thinktime_blocks,
            },
            think_count: 0,
            think_due: false,
            think_until: Time::ZERO,
            think_every: job.thinktime_iotime,
            // As in fio, a job that trims and then writes each block has no flushes.
            fsync: if writes && job.rw.kind != ReadWriteKind::TrimWrite { [job.fsync, job.fdatasync] } else { [0, 0] },
            writes: 0,
            flush_due: false,
            flushing: false,
            writes_in_flight: 0,
            written: (job.verify && job.do_verify && writes)
                .then(|| Written::new(start, bytes, unit, job.sizes(WRITE).largest())),
            backlog: job.verify_backlog,
            unchecked: 0,
            trims: (job.trims.percentage > 0 && job.trims.backlog > 0).then(|| TrimQueue::new(job.trims)),
            end_flush: job.end_fsync && writes,
            loops_left: job.loops - 1,
            rng: pace,
        };
        let counts_after_ramp = job.number_ios.is_some() && job.ramp_time > Time::ZERO;
        let size = pattern.only_size().filter(|_| {
            extras.rate.iter().all(Option::is_none)
                && extras.think == Time::ZERO
                && extras.fsync == [0, 0]
                && extras.written.is_none()
                && !extras.end_flush
                && extras.loops_left == 0
                && !job.tracks_requests()
                && !counts_after_ramp
        });
        let limits = match size {
            // A plain job only counts requests.
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
            checks_reads: job.verify && job.do_verify && !writes,
            pattern,
            extras,
            limits,
        })
    }

    /// Starts the job.
    pub fn start(&mut self, now: Time) {
        self.measured_from = now.saturating_add(self.limits.ramp);
        self.deadline = self.limits.runtime.map_or(Time::MAX, |time| self.measured_from.saturating_add(time));
        self.extras.started = now;
        for rate in self.extras.rate.iter_mut().flatten() {
            rate.next = now;
        }
    }

    /// Stops the job: it issues no more requests.
    pub fn stop(&mut self) {
        (self.requests_left, self.phase) = (0, Phase::Done);
    }

    /// Returns whether the job only needs addresses: requests have one size, and there is no rate, pause, flush or
    /// verification of writes. Such a job does not need [`Generated::complete`].
    pub fn is_plain(&self) -> bool {
        self.plain > 0
    }

    /// Returns a plain job's next request; `None` once the job is over.
    pub fn plain_request(&mut self, now: Time) -> Option<Request> {
        debug_assert!(self.is_plain());
        if self.requests_left == 0 || now >= self.deadline {
            return None;
        }
        self.requests_left -= 1;
        Some(self.pattern.draw_plain(self.plain))
    }

    /// Returns whether a request issued at `now` is measured.
    pub fn is_measured(&self, now: Time) -> bool {
        now >= self.measured_from
    }

    /// Returns whether the data that the job reads is verified.
    pub fn checks_reads(&self) -> bool {
        self.checks_reads
    }

    fn is_over(&self, now: Time) -> bool {
        self.bytes_left == 0 || self.requests_left == 0 || now >= self.deadline
    }

    /// Counts a request against the job's limits. Returns whether it is measured.
    fn account(&mut self, now: Time, bytes: u64) -> bool {
        let measured = self.is_measured(now);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.requests_left -= u64::from(measured);
        measured
    }

    fn draft(&self, now: Time, request: Request, verify: bool) -> Step {
        Step::Issue(Draft { request, due: now, measured: self.is_measured(now), verify, epoch: 0 })
    }

    /// Returns the job's next step. `in_flight` of its requests are outstanding, fewer than its depth. `placing` decides
    /// where its requests go.
    pub fn step(&mut self, now: Time, in_flight: u32, placing: &mut impl Placing) -> Step {
        match self.phase {
            Phase::Run => self.run(now, in_flight, placing),
            Phase::Settle | Phase::Flush | Phase::Check if in_flight > 0 => Step::Park,
            Phase::Settle => {
                self.phase = Phase::Flush;
                self.draft(now, Request::flush(), false)
            }
            Phase::Check | Phase::Flush | Phase::Verify => {
                if self.phase == Phase::Flush {
                    self.phase = Phase::Verify;
                }
                if let Some((offset, bytes)) = self.extras.written.as_mut().and_then(Written::next) {
                    return self.draft(now, Request::new(Op::Read, offset, bytes), true);
                }
                if self.phase == Phase::Check {
                    return self.end_check(now, in_flight, placing);
                }
                self.end_loop(now, in_flight, placing)
            }
            Phase::Done => Step::Done,
        }
    }

    /// Ends the verification of the backlog. The run continues once the last read has completed.
    fn end_check(&mut self, now: Time, in_flight: u32, placing: &mut impl Placing) -> Step {
        if let Some(written) = &mut self.extras.written {
            written.clear();
        }
        (self.phase, self.extras.unchecked) = (Phase::Run, 0);
        self.run(now, in_flight, placing)
    }

    /// Ends the job, or starts its next loop.
    fn end_loop(&mut self, now: Time, in_flight: u32, placing: &mut impl Placing) -> Step {
        if self.extras.loops_left == 0 || self.requests_left == 0 || now >= self.deadline {
            self.phase = Phase::Done;
            return Step::Done;
        }
        if in_flight > 0 {
            return Step::Park;
        }
        self.extras.loops_left -= 1;
        self.bytes_left = self.limits.bytes;
        self.pattern.rewind();
        placing.rewind();
        if let Some(written) = &mut self.extras.written {
            written.clear();
        }
        self.extras.unchecked = 0;
        self.phase = Phase::Run;
        self.run(now, in_flight, placing)
    }

    fn run(&mut self, now: Time, in_flight: u32, placing: &mut impl Placing) -> Step {
        let over = self.is_over(now);
        let extras = &mut self.extras;
        if extras.flushing {
            return Step::Park;
        }
        if extras.flush_due && !over {
            if extras.writes_in_flight > 0 {
                return Step::Park;
            }
            (extras.flush_due, extras.flushing) = (false, true);
            return self.draft(now, Request::flush(), false);
        }
        if over {
            if self.extras.written.is_some() || self.extras.end_flush {
                self.phase = Phase::Settle;
                return self.step(now, in_flight, placing);
            }
            return self.end_loop(now, in_flight, placing);
        }
        if extras.backlog > 0 && extras.unchecked >= extras.backlog {
            self.phase = Phase::Check;
            return self.step(now, in_flight, placing);
        }
        if extras.trims.as_ref().is_some_and(TrimQueue::is_due) {
            if extras.writes_in_flight > 0 {
                return Step::Park;
            }
            let next = extras.trims.as_mut().and_then(TrimQueue::next);
            if let Some((offset, bytes)) = next {
                if let Some(written) = &mut extras.written {
                    written.unmark(offset, bytes);
                }
                return self.draft(now, Request::new(Op::Trim, offset, bytes), false);
            }
        }
        if extras.think_every > Time::ZERO && now >= extras.think_until.max(extras.started) + extras.think_every {
            extras.think_due = true;
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
        let (direction, at) = match placing.waiting() {
            Some(direction) => (direction, now),
            None => {
                let wanted = extras.chosen.take().unwrap_or_else(|| placing.choose(&mut self.pattern));
                extras.admit(wanted, self.pattern.other(wanted), now)
            }
        };
        if at > now {
            extras.chosen = Some(direction);
            return Step::Wait(at.min(self.deadline));
        }
        let (request, epoch) = match placing.place(&mut self.pattern, direction, in_flight) {
            Placed::Request(request, epoch) => (request, epoch),
            Placed::Manage(request, epoch) => {
                return Step::Issue(Draft { request, due: now, measured: false, verify: false, epoch });
            }
            Placed::Park => return Step::Park,
            Placed::Hold => return Step::Hold,
            Placed::End => {
                self.bytes_left = 0;
                return self.run(now, in_flight, placing);
            }
        };
        extras.count(direction, &request);
        let measured = self.account(now, request.bytes);
        Step::Issue(Draft { request, due: now, measured, verify: self.checks_reads, epoch })
    }

    /// Notifies the job that one of its requests has completed.
    pub fn complete(&mut self, op: Op) {
        match op {
            Op::Write => self.extras.writes_in_flight -= 1,
            Op::Flush => self.extras.flushing = false,
            _ => {}
        }
    }

    /// Returns the total number of requests, if known.
    pub fn known_total(&self) -> Option<u64> {
        self.limits.total
    }

    /// Returns the fraction of the job's work that is done, from 0 to 1.
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
    /// Returns the direction of the next request, and its time. If a direction of a mixed job is ahead of its rate, the
    /// other goes first.
    fn admit(&self, wanted: usize, other: Option<usize>, now: Time) -> (usize, Time) {
        let next = |direction: usize| self.rate[direction].map_or(now, |rate| rate.next);
        match other {
            Some(other) if next(wanted) > now && next(other) < next(wanted) => (other, next(other)),
            _ => (wanted, next(wanted)),
        }
    }

    /// Counts a request that is issued.
    fn count(&mut self, direction: usize, request: &Request) {
        if let Some(rate) = &mut self.rate[direction] {
            rate.issued += if rate.counts_bytes { request.bytes } else { 1 };
            // Computed from the start rather than from the previous request, so that neither rounding nor a slow drive
            // reduces the rate.
            let ps = u128::from(rate.issued) * 1_000_000_000_000 / u128::from(rate.per_second);
            let ps = u64::try_from(ps).map_or(Time::MAX, Time::from_ps);
            rate.next = match rate.poisson {
                false => self.started.saturating_add(ps),
                true => {
                    let units = if rate.counts_bytes { request.bytes } else { 1 };
                    let mean = units as f64 / rate.per_second as f64;
                    // At most 37 times the mean, because the draw is at least 2^-53 below 1.
                    let seconds = -libm::log(1.0 - self.rng.unit()) * mean;
                    rate.next.saturating_add(Time::from_ps((seconds * 1e12) as u64))
                }
            };
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
            if let Some(written) = &mut self.written {
                written.mark(request.offset, request.bytes);
                self.unchecked += 1;
                if let Some(trims) = &mut self.trims {
                    trims.written(request.offset, request.bytes, &mut self.rng);
                }
            }
        }
        // Checked after every request and not only after writes, because fio checks the number of writes each time.
        self.flush_due = self.writes > 0 && self.fsync.iter().any(|n| *n > 0 && self.writes.is_multiple_of(*n));
    }
}
