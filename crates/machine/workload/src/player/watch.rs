//! Jobs that judge themselves: the depth that a latency allows, and the end of a job that is steady.

use std::collections::VecDeque;

use sim::Time;

use crate::fio::{Job, LatencyTarget, Steady};

/// What a completion leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    /// So many requests may be outstanding from now on.
    Depth(u32),
    /// The job issues nothing more.
    End,
}

/// Watches a job's completions.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    depth: Option<DepthSearch>,
    steady: Option<SteadyState>,
}

impl Watch {
    /// What `job` asks to be watched for, if it does.
    pub fn new(job: &Job) -> Option<Watch> {
        let depth = job.latency.map(|keys| DepthSearch::new(keys, job.outstanding()));
        let steady = job.steady.map(SteadyState::new);
        (depth.is_some() || steady.is_some()).then_some(Watch { depth, steady })
    }

    /// The latency that a depth is searched for, the window, and the percentile.
    pub fn latency_target(&self) -> Option<(Time, Time, f64)> {
        self.depth.as_ref().map(|search| (search.keys.target, search.keys.window, search.keys.percentile))
    }

    /// The job begins. Returns how many requests may be outstanding.
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

    /// A request that arrived at `due` and has `bytes` bytes is complete.
    pub fn completed(&mut self, now: Time, due: Time, bytes: u64) -> Verdict {
        if self.steady.as_mut().is_some_and(|steady| steady.completed(now, bytes)) {
            return Verdict::End;
        }
        self.depth.as_mut().map_or(Verdict::Nothing, |search| search.completed(now, now.saturating_sub(due)))
    }
}

const SECOND: Time = Time::from_s(1);

/// The search for the largest depth at which enough requests keep to a latency: doubled until a window fails, then
/// bisected. When it is found, one window more runs at that depth.
#[derive(Clone, Debug)]
struct DepthSearch {
    keys: LatencyTarget,
    depth: u32,
    /// The largest depth that has passed, and the smallest that has failed or is beyond the job's.
    passed: u32,
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
            // Not even one alone keeps to it: that is the least there is.
            (true, _) => self.passed.max(1),
            (false, true) => self.passed.midpoint(self.failed),
            (false, false) => (2 * self.depth).min(self.failed - 1),
        };
        Verdict::Depth(self.depth)
    }
}

/// Samples of a second each, and whether the last of them are steady.
#[derive(Clone, Debug)]
struct SteadyState {
    keys: Steady,
    samples: VecDeque<f64>,
    /// When the running second ends, and its figure so far.
    next: Time,
    sum: f64,
}

impl SteadyState {
    fn new(keys: Steady) -> SteadyState {
        SteadyState { keys, samples: VecDeque::new(), next: Time::ZERO, sum: 0.0 }
    }

    /// Samples that must be steady.
    fn wanted(&self) -> usize {
        (self.keys.duration.ps().div_ceil(SECOND.ps()) as usize).max(2)
    }

    fn completed(&mut self, now: Time, bytes: u64) -> bool {
        while now >= self.next {
            // Longer than all samples nothing ended: they are zeros.
            let behind = (now.saturating_sub(self.next)).ps() / SECOND.ps();
            if behind > self.wanted() as u64 {
                self.next = self.next.saturating_add(SECOND * (behind - self.wanted() as u64));
            }
            if self.samples.len() == self.wanted() {
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
        if count < self.wanted() {
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
