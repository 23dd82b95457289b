//! Noise for a simulated target, to make it as untidy as a real one: a host that notices completions late, and other
//! users of the drive.

use media::{Op, Request};
use sim::{Rng, Streams, Time};

/// Delay with which the host notices completions.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Standard deviation of the delay of every completion (absolute value of a normal draw): the path from interrupt
    /// to program.
    pub jitter: Time,
    /// Fraction of completions that are delayed much longer because the core was busy.
    pub outliers: f64,
    /// Mean of the long delay, drawn from an exponential distribution.
    pub outlier: Time,
    /// Period and duration of pauses during which the drive does not respond: refresh, calibration.
    pub pauses: Option<(Time, Time)>,
    rng: Rng,
}

impl Noise {
    /// Returns no noise: completions are noticed immediately.
    pub fn none() -> Noise {
        Noise::new(Time::ZERO, 0.0, Time::ZERO, None, &Streams::new(0))
    }

    /// Creates noise of these magnitudes, drawn from its own stream of `streams`.
    pub fn new(jitter: Time, outliers: f64, outlier: Time, pauses: Option<(Time, Time)>, streams: &Streams) -> Noise {
        Noise { jitter, outliers, outlier, pauses, rng: streams.stream("probe.noise") }
    }

    /// Returns the time at which the program notices a completion at `at`.
    pub(crate) fn notices(&mut self, at: Time) -> Time {
        let mut when = at;
        if let Some((every, busy)) = self.pauses {
            let into = Time::from_ps(when.ps() % every.ps());
            when += busy.saturating_sub(into);
        }
        if self.jitter > Time::ZERO {
            when += Time::from_secs_f64(self.rng.normal().abs() * self.jitter.secs_f64());
        }
        if self.rng.chance(self.outliers) {
            when += exponential(self.outlier, &mut self.rng);
        }
        when
    }
}

/// Another program on the same drive: writes to random locations, which make a full drive collect garbage.
#[derive(Clone, Debug)]
pub struct Disturbance {
    /// Mean interval between writes, drawn from an exponential distribution.
    pub every: Time,
    /// Bytes per write; offsets are multiples of this size.
    pub bytes: u64,
    next: Time,
    free: Vec<u32>,
    rng: Rng,
}

/// Maximum number of outstanding writes; further writes are skipped.
const UNDER_WAY_MAX: u32 = 8;

impl Disturbance {
    /// Creates writes of `bytes` bytes at a mean interval of `every`, drawn from its own stream of `streams`.
    pub fn new(every: Time, bytes: u64, streams: &Streams) -> Disturbance {
        let mut rng = streams.stream("probe.disturbance");
        let next = exponential(every, &mut rng);
        Disturbance { every, bytes, next, free: (0..UNDER_WAY_MAX).rev().collect(), rng }
    }

    /// Returns the time of the next write.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Returns the next write and its request number.
    pub(crate) fn issue(&mut self, capacity: u64) -> Option<(u32, Request)> {
        self.next += exponential(self.every, &mut self.rng) + Time::from_ps(1);
        let place = self.rng.below(capacity / self.bytes);
        let io = self.free.pop()?;
        Some((io, Request::new(Op::Write, place * self.bytes, self.bytes)))
    }

    /// Frees the request number of a completed write.
    pub(crate) fn ended(&mut self, io: u32) {
        self.free.push(io);
    }
}

fn exponential(mean: Time, rng: &mut Rng) -> Time {
    Time::from_secs_f64(-libm::log(1.0 - rng.unit()) * mean.secs_f64())
}
