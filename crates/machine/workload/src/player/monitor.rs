//! Monitors of a job's completions: the search for a depth that meets a latency, and the end in a steady state.

use std::collections::VecDeque;

use sim::Time;

use crate::fio::{Job, LatencyTarget, Steady};

/// Consequence of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    /// Changes the maximum number of outstanding requests.
    Depth(u32),
    /// Ends the job.
    End,
}

/// Monitors a job's completions.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    depth: Option<DepthSearch>,
    steady: Option<SteadyState>,
}

impl Monitor {
    /// Creates the monitor that `job` requires, if any.
    pub fn new(job: &Job) -> Option<Monitor> {
        let depth = job.latency.map(|keys| DepthSearch::new(keys, job.outstanding()));
        let steady = job.steady.map(SteadyState::new);
        (depth.is_some() || steady.is_some()).then_some(Monitor { depth, steady })
    }

    /// Returns the latency target, the window, and the percentile.
    pub fn latency_target(&self) -> Option<(Time, Time, f64)> {
        self.depth.as_ref().map(|search| (search.keys.target, search.keys.window, search.keys.percentile))
    }

    /// Starts the job. Returns the maximum number of outstanding requests.
    pub fn start(&mut self, now: Time, depth: u32) -> u32 {
        if let Some(steady) = &mut self.steady {
            steady.next = now.saturating_add(steady.keys.ramp).saturating_add(SECOND);
        }
        match &mut self.depth {
            Some(search) => {
                search.since = now;
                search.depth
            }
            None => depth,
        }
    }

    /// Evaluates a completed request of `bytes` bytes that arrived at `due`.
    pub fn completed(&mut self, now: Time, due: Time, bytes: u64) -> Verdict {
        if self.steady.as_mut().is_some_and(|steady| steady.completed(now, bytes)) {
            return Verdict::End;
        }
        self.depth.as_mut().map_or(Verdict::Nothing, |search| search.completed(now, now.saturating_sub(due)))
    }
}

const SECOND: Time = Time::from_s(1);

/// Search for the largest depth at which enough requests meet a latency: the depth is doubled until a window fails,
/// then bisected. One more window runs at the final depth.
#[derive(Clone, Debug)]
struct DepthSearch {
    keys: LatencyTarget,
    depth: u32,
    /// The largest depth that passed.
    passed: u32,
    /// The smallest depth that failed, or one more than the job's depth.
    failed: u32,
    bisecting: bool,
    found: bool,
    since: Time,
    requests: u64,
    late: u64,
}

impl DepthSearch {
    fn new(keys: LatencyTarget, most: u32) -> DepthSearch {
        DepthSearch {
            keys,
            depth: 1,
            passed: 0,
            failed: most + 1,
            bisecting: false,
            found: false,
            since: Time::ZERO,
            requests: 0,
            late: 0,
        }
    }

    fn completed(&mut self, now: Time, latency: Time) -> Verdict {
        self.requests += 1;
        self.late += u64::from(latency > self.keys.target);
        if now < self.since.saturating_add(self.keys.window) {
            return Verdict::Nothing;
        }
        let allowed = (100.0 - self.keys.percentile) / 100.0 * self.requests as f64;
        let passes = self.late as f64 <= allowed;
        (self.since, self.requests, self.late) = (now, 0, 0);
        if self.found {
            return if self.keys.run { Verdict::Nothing } else { Verdict::End };
        }
        if passes {
            self.passed = self.depth;
        } else {
            (self.failed, self.bisecting) = (self.depth, true);
        }
        self.found = self.passed + 1 >= self.failed;
        self.depth = match (self.found, self.bisecting) {
            // If not even a depth of one meets the latency, use it anyway.
            (true, _) => self.passed.max(1),
            (false, true) => self.passed.midpoint(self.failed),
            (false, false) => (2 * self.depth).min(self.failed - 1),
        };
        Verdict::Depth(self.depth)
    }
}

/// Samples of one second each, and a test for a steady state over the last of them.
#[derive(Clone, Debug)]
struct SteadyState {
    keys: Steady,
    samples: VecDeque<f64>,
    /// End of the current second.
    next: Time,
    /// Sum of the current second.
    sum: f64,
}

impl SteadyState {
    fn new(keys: Steady) -> SteadyState {
        SteadyState { keys, samples: VecDeque::new(), next: Time::ZERO, sum: 0.0 }
    }

    /// Returns the number of samples that must be steady.
    fn required(&self) -> usize {
        (self.keys.duration.ps().div_ceil(SECOND.ps()) as usize).max(2)
    }

    fn completed(&mut self, now: Time, bytes: u64) -> bool {
        while now >= self.next {
            // If nothing completed for longer than the whole window, all samples are zero; skip the rest.
            let behind = (now.saturating_sub(self.next)).ps() / SECOND.ps();
            if behind > self.required() as u64 {
                self.next = self.next.saturating_add(SECOND * (behind - self.required() as u64));
            }
            if self.samples.len() == self.required() {
                self.samples.pop_front();
            }
            self.samples.push_back(std::mem::take(&mut self.sum));
            self.next = self.next.saturating_add(SECOND);
            if self.is_steady() {
                return true;
            }
        }
        if self.next.saturating_sub(now) <= SECOND {
            self.sum += if self.keys.bytes { bytes as f64 } else { 1.0 };
        }
        false
    }

    fn is_steady(&self) -> bool {
        let count = self.samples.len();
        if count < self.required() {
            return false;
        }
        let mean = self.samples.iter().sum::<f64>() / count as f64;
        let found = if self.keys.slope {
            let middle = (count - 1) as f64 / 2.0;
            let at = || (0..count).map(|index| index as f64 - middle);
            let rise: f64 = at().zip(&self.samples).map(|(x, y)| x * (y - mean)).sum();
            (rise / at().map(|x| x * x).sum::<f64>()).abs()
        } else {
            self.samples.iter().map(|sample| (sample - mean).abs()).fold(0.0, f64::max)
        };
        let limit = if self.keys.percent { self.keys.limit / 100.0 * mean } else { self.keys.limit };
        mean > 0.0 && found <= limit
    }
}
