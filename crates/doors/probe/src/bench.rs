//! The bench that tests work at: the target, what it may cost, what was measured, and places that were not touched yet.

use media::{Op, Request};
use sim::{Rng, Streams, Time};

use crate::options::Options;
use crate::report::{Batch, Samples, Spent};
use crate::target::{Target, TargetError, Timed};

/// Why a test came to no end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The target failed, or the user wants no more: the probe ends.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// What the probe may read or write is used up: the test ends as inconclusive.
    #[error("the allowance of {allowed} bytes to {op:?} is used up")]
    Allowance {
        /// Read or write.
        op: Op,
        /// How much was allowed.
        allowed: u64,
    },
}

/// A target, an allowance and a record.
pub struct Bench<'a> {
    target: &'a mut dyn Target,
    /// How sure results are to be: 0.99 is one error of a hundred.
    pub confidence: f64,
    /// Draws of the tests.
    pub rng: Rng,
    spent: Spent,
    read_max: u64,
    write_max: u64,
    samples: Option<Samples>,
    test: &'static str,
    hmb: Option<bool>,
    timed: Vec<Timed>,
    fresh: Fresh,
}

/// Places that were not touched before: slots in random order, used from their beginnings.
struct Fresh {
    slots: u64,
    start: u64,
    step: u64,
    next: u64,
    within: u64,
}

/// Bytes of a slot; regions are not larger.
pub const SLOT: u64 = 16 << 20;

impl<'a> Bench<'a> {
    /// A bench for `target`.
    pub fn new(target: &'a mut dyn Target, options: &Options) -> Bench<'a> {
        let mut rng = Streams::new(options.seed).stream("probe");
        let slots = (target.facts().capacity_bytes / SLOT).max(1);
        // Steps of a number that has no divisor in common with their count visit all.
        let mut step = (slots as f64 * 0.618) as u64 | 1;
        while gcd(step, slots) != 1 {
            step += 1;
        }
        let start = rng.below(slots);
        Bench {
            target,
            confidence: options.confidence,
            rng,
            spent: Spent::default(),
            read_max: options.read_bytes_max,
            write_max: options.write_bytes_max,
            samples: options.keep_samples.then(Samples::default),
            test: "",
            hmb: None,
            timed: Vec::new(),
            fresh: Fresh { slots, start, step, next: 0, within: 0 },
        }
    }

    /// From here on what is measured is of `test`.
    pub fn begin(&mut self, test: &'static str) {
        self.test = test;
    }

    /// The target.
    pub fn target(&mut self) -> &mut dyn Target {
        self.target
    }

    /// Bytes of the target.
    pub fn capacity(&self) -> u64 {
        self.target.facts().capacity_bytes
    }

    /// Bytes of its blocks.
    pub fn block(&self) -> u64 {
        self.target.facts().block_bytes
    }

    /// The smallest power of two from 4 KiB that is whole blocks: what most drives map.
    pub fn page(&self) -> u64 {
        self.block().max(4096)
    }

    /// What was written so far.
    pub fn written_bytes(&self) -> u64 {
        self.spent.written_bytes
    }

    /// The state of the host memory buffer, as switched by [`Bench::switch_hmb`].
    pub fn hmb(&self) -> Option<bool> {
        self.hmb
    }

    /// Switches the host memory buffer.
    ///
    /// # Errors
    /// If the target refuses.
    ///
    /// # Panics
    /// If the target has no switch.
    pub fn switch_hmb(&mut self, on: bool) -> Result<(), TargetError> {
        self.target.hmb().expect("a target with a switch").enable(on)?;
        self.hmb = Some(on);
        Ok(())
    }

    /// Makes `requests`, `depth` at a time; their latencies in microseconds, in their order. `x` is what the test varies.
    ///
    /// # Errors
    /// If the allowance does not cover them, or the target fails.
    pub fn run(&mut self, x: f64, requests: &[Request], depth: u32) -> Result<Vec<f64>, Stop> {
        self.run_timed(x, requests, depth)?;
        Ok(self.timed.iter().map(|timed| timed.latency().us_f64()).collect())
    }

    /// As [`Bench::run`]; the time that all took, and when each ended.
    ///
    /// # Errors
    /// If the allowance does not cover them, or the target fails.
    pub fn run_timed(&mut self, x: f64, requests: &[Request], depth: u32) -> Result<(Time, &[Timed]), Stop> {
        let sum = |op| requests.iter().filter(|r| r.op == op).map(|r| r.bytes).sum::<u64>();
        let (reads, writes) = (sum(Op::Read), sum(Op::Write));
        if self.spent.read_bytes + reads > self.read_max {
            return Err(Stop::Allowance { op: Op::Read, allowed: self.read_max });
        }
        if self.spent.written_bytes + writes > self.write_max {
            return Err(Stop::Allowance { op: Op::Write, allowed: self.write_max });
        }
        let depth = depth.min(self.target.facts().depth_max);
        let elapsed = self.target.run(requests, depth, &mut self.timed)?;
        assert_eq!(self.timed.len(), requests.len(), "a time for each request");
        self.spent.read_bytes += reads;
        self.spent.written_bytes += writes;
        self.spent.requests += requests.len() as u64;
        self.spent.target_ps += elapsed.ps();
        if let (Some(samples), Some(first)) = (&mut self.samples, requests.first()) {
            samples.batches.push(Batch {
                test: self.test,
                hmb: self.hmb,
                x,
                op: format!("{:?}", first.op).to_lowercase(),
                request_bytes: first.bytes,
                depth,
                count: requests.len(),
                elapsed_ns: elapsed.ns(),
            });
            samples.latency_ns.extend(self.timed.iter().map(|timed| timed.latency().ns()));
        }
        Ok((elapsed, &self.timed))
    }

    /// Leaves the target alone for `idle`.
    ///
    /// # Errors
    /// If interrupted.
    pub fn wait(&mut self, idle: Time) -> Result<(), Stop> {
        self.target.wait(idle)?;
        self.spent.target_ps += idle.ps();
        Ok(())
    }

    /// A place of `bytes` at a multiple of them (or of the next power of two) that this probe has not touched; once all
    /// were, the one that was longest ago.
    ///
    /// # Panics
    /// If `bytes` is more than a [`SLOT`], or than the target.
    pub fn fresh(&mut self, bytes: u64) -> u64 {
        let size = bytes.next_power_of_two();
        assert!(size <= SLOT && bytes <= self.capacity(), "a region of {bytes} bytes");
        let fresh = &mut self.fresh;
        fresh.within = fresh.within.next_multiple_of(size);
        if fresh.within + size > SLOT {
            fresh.next += 1;
            fresh.within = 0;
        }
        let slot = (fresh.start + fresh.next % fresh.slots * fresh.step) % fresh.slots;
        let at = slot * SLOT + fresh.within;
        fresh.within += size;
        at
    }

    /// What was measured.
    pub fn into_samples(self) -> (Option<Samples>, Spent) {
        (self.samples, self.spent)
    }
}

/// Reads of `bytes` at `offsets`.
pub fn reads(offsets: impl Iterator<Item = u64>, bytes: u64) -> Vec<Request> {
    offsets.map(|offset| Request::new(Op::Read, offset, bytes)).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
