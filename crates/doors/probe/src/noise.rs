//! What makes a simulated target as untidy as a real one: a host that notices ends late, and a drive that is not the
//! probe's alone.

use media::{Op, Request};
use sim::{Rng, Streams, Time};

/// How much later than they happen ends are noticed.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Standard deviation of what every end is late by, a normal draw without its sign: the way from interrupt to program.
    pub jitter: Time,
    /// Part of the ends that are late by much more: the core had other things to do.
    pub outliers: f64,
    /// Mean of that, drawn from an exponential distribution.
    pub outlier: Time,
    /// The drive answers nothing for the second of the two times, once every first: refresh, calibration.
    pub pauses: Option<(Time, Time)>,
    rng: Rng,
}

impl Noise {
    /// None: ends are noticed as they happen.
    pub fn none() -> Noise {
        Noise::new(Time::ZERO, 0.0, Time::ZERO, None, &Streams::new(0))
    }

    /// Noise of these sizes, from its stream of `streams`.
    pub fn new(jitter: Time, outliers: f64, outlier: Time, pauses: Option<(Time, Time)>, streams: &Streams) -> Noise {
        Noise { jitter, outliers, outlier, pauses, rng: streams.stream("probe.noise") }
    }

    /// When the program learns of what ended `at`.
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

/// Another program on the same drive: writes at random places, which have a full drive collect garbage.
#[derive(Clone, Debug)]
pub struct Disturbance {
    /// Mean time between its writes, drawn from an exponential distribution.
    pub every: Time,
    /// Bytes of each, at multiples of them.
    pub bytes: u64,
    next: Time,
    free: Vec<u32>,
    rng: Rng,
}

/// Writes it has under way at most; further ones are left out.
const UNDER_WAY_MAX: u32 = 8;

impl Disturbance {
    /// Writes of `bytes`, one `every` so often on average, from its stream of `streams`.
    pub fn new(every: Time, bytes: u64, streams: &Streams) -> Disturbance {
        let mut rng = streams.stream("probe.disturbance");
        let next = exponential(every, &mut rng);
        Disturbance { every, bytes, next, free: (0..UNDER_WAY_MAX).rev().collect(), rng }
    }

    /// When it writes next.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Its next write, and the number that it goes by.
    pub(crate) fn issue(&mut self, capacity: u64) -> Option<(u32, Request)> {
        self.next += exponential(self.every, &mut self.rng) + Time::from_ps(1);
        let place = self.rng.below(capacity / self.bytes);
        let io = self.free.pop()?;
        Some((io, Request::new(Op::Write, place * self.bytes, self.bytes)))
    }

    /// The write `io` has ended.
    pub(crate) fn ended(&mut self, io: u32) {
        self.free.push(io);
    }
}

fn exponential(mean: Time, rng: &mut Rng) -> Time {
    Time::from_secs_f64(-libm::log(1.0 - rng.unit()) * mean.secs_f64())
}
