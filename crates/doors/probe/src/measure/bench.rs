//! The test bench shared by all probe tests: the target, the byte allowances, the recorded measurements, and untouched
//! regions of the drive.

use media::{Op, Request};
use sim::{Rng, Streams, Time};

use crate::options::Options;
use crate::report::{Batch, Samples, Spent};
use crate::target::{Target, TargetError, Timed};

/// Reason for which a test stopped early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The target failed or the user interrupted; the probe ends.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The read or write allowance is exhausted; the test ends as inconclusive.
    #[error("the allowance of {allowed} bytes to {op:?} is exhausted")]
    Allowance {
        /// Read or write.
        op: Op,
        /// Bytes allowed.
        allowed: u64,
    },
}

/// A target with its byte allowances and the record of its measurements.
pub struct Bench<'a> {
    target: &'a mut dyn Target,
    /// Required confidence of results: 0.99 accepts one error in a hundred.
    pub confidence: f64,
    /// Random generator of the tests.
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

/// Allocates regions that have not been touched yet: visits slots in random order and fills each from its start.
struct Fresh {
    slots: u64,
    start: u64,
    step: u64,
    next: u64,
    within: u64,
}

/// Bytes per slot, the largest region that can be allocated.
pub const SLOT: u64 = 16 << 20;

impl<'a> Bench<'a> {
    /// Creates a bench for `target`.
    pub fn new(target: &'a mut dyn Target, options: &Options) -> Bench<'a> {
        let mut rng = Streams::new(options.seed).stream("probe");
        let slots = (target.facts().capacity_bytes / SLOT).max(1);
        // A step coprime to the number of slots visits all slots.
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

    /// Attributes all further measurements to `test`.
    pub fn begin(&mut self, test: &'static str) {
        self.test = test;
    }

    /// Returns the target.
    pub fn target(&mut self) -> &mut dyn Target {
        self.target
    }

    /// Returns the capacity of the target in bytes.
    pub fn capacity(&self) -> u64 {
        self.target.facts().capacity_bytes
    }

    /// Returns the logical block size of the target in bytes.
    pub fn block(&self) -> u64 {
        self.target.facts().block_bytes
    }

    /// Returns the smallest power of two of at least 4 KiB that is a multiple of the block size: the mapping unit of
    /// most drives.
    pub fn page(&self) -> u64 {
        self.block().max(4096)
    }

    /// Returns the bytes written so far.
    pub fn written_bytes(&self) -> u64 {
        self.spent.written_bytes
    }

    /// Returns the state of the host memory buffer as last set by [`Bench::switch_hmb`].
    pub fn hmb(&self) -> Option<bool> {
        self.hmb
    }

    /// Switches the host memory buffer on or off.
    ///
    /// # Errors
    /// If the target refuses.
    ///
    /// # Panics
    /// If the target has no host memory buffer switch.
    pub fn switch_hmb(&mut self, on: bool) -> Result<(), TargetError> {
        self.target.hmb().expect("a target with a switch").enable(on)?;
        self.hmb = Some(on);
        Ok(())
    }

    /// Runs `requests` at queue depth `depth` and returns their latencies in microseconds, in request order. `x` is the
    /// value of the parameter that the test varies.
    ///
    /// # Errors
    /// If the requests exceed the allowance, or the target fails.
    pub fn run(&mut self, x: f64, requests: &[Request], depth: u32) -> Result<Vec<f64>, Stop> {
        self.run_timed(x, requests, depth)?;
        Ok(self.timed.iter().map(|timed| timed.latency().us_f64()).collect())
    }

    /// Runs `requests` whose times do not matter, such as those that fill a cache; they are not recorded.
    ///
    /// # Errors
    /// If the requests exceed the allowance, or the target fails.
    pub fn run_unrecorded(&mut self, requests: &[Request], depth: u32) -> Result<(), Stop> {
        let samples = self.samples.take();
        let ended = self.run_timed(0.0, requests, depth).map(drop);
        self.samples = samples;
        ended
    }

    /// Like [`Bench::run`], but returns the elapsed time of the batch and the submission and completion time of each
    /// request.
    ///
    /// # Errors
    /// If the requests exceed the allowance, or the target fails.
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
        assert_eq!(self.timed.len(), requests.len(), "expected one time per request");
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

    /// Leaves the target idle for `idle`.
    ///
    /// # Errors
    /// If interrupted.
    pub fn wait(&mut self, idle: Time) -> Result<(), Stop> {
        self.target.wait(idle)?;
        self.spent.target_ps += idle.ps();
        Ok(())
    }

    /// Returns the offset of a region of `bytes` bytes, aligned to `bytes` (or the next power of two), that this probe
    /// has not touched. Once all regions have been used, returns the least recently used one.
    ///
    /// # Panics
    /// If `bytes` exceeds [`SLOT`] or the capacity of the target.
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

    /// Returns the recorded samples and the total cost.
    pub fn into_samples(self) -> (Option<Samples>, Spent) {
        (self.samples, self.spent)
    }
}

/// Creates reads of `bytes` bytes at `offsets`.
pub fn reads(offsets: impl Iterator<Item = u64>, bytes: u64) -> Vec<Request> {
    offsets.map(|offset| Request::new(Op::Read, offset, bytes)).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
