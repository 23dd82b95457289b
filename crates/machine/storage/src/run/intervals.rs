//! Confidence intervals of rates and percentiles from batches of a run's windows.
//!
//! A window's requests depend on each other and on the window before, so windows are joined into batches (batch means:
//! Law, *Simulation Modeling and Analysis*, section 9.5.3). A rate is a ratio of sums over batches. A percentile is
//! treated as the share of requests up to it, which is such a ratio too; the bounds of the share are then read off the
//! distribution of all requests (Woodruff, 1952). Unlike means of batch percentiles this has no bias in short batches and
//! holds where the distribution has steps.

use sim::{Compact, Histogram, Time};

/// Minimum number of batches; of fewer the variance of a batch is hardly known.
pub const BATCHES_MIN: usize = 10;
/// Maximum correlation of neighboring batches that is corrected for. Above it the batches are too short.
const CORRELATION_MAX: f64 = 0.8;

/// A measured figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Requests per second.
    Iops,
    /// A percentile of the response times in nanoseconds.
    Percentile(u8),
}

impl Measure {
    /// The measures of each direction.
    pub const ALL: [Measure; 3] = [Measure::Iops, Measure::Percentile(50), Measure::Percentile(99)];

    /// Returns the name in summaries.
    pub fn name(self) -> String {
        match self {
            Measure::Iops => "iops".to_owned(),
            Measure::Percentile(percent) => format!("p{percent}_ns"),
        }
    }
}

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The figure.
    pub measure: Measure,
    /// Its value over all batches.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound, infinite if there are too few requests for it.
    pub high: f64,
}

impl Interval {
    /// Returns half the width of the interval as a part of the value.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value
    }

    /// Returns the interval of a value that is also uncertain by `part` of itself, for another reason than chance.
    #[must_use]
    pub fn widened(self, part: f64) -> Interval {
        let other = part * self.value;
        let joint = |bound: f64| ((bound - self.value).powi(2) + other * other).sqrt();
        Interval { low: self.value - joint(self.low), high: self.value + joint(self.high), ..self }
    }
}

/// Returns the intervals of [`Measure::ALL`] over `windows` of length `span`, in order of time. There are at least
/// [`BATCHES_MIN`] windows, and one has requests.
pub fn intervals(windows: &[Compact], span: Time) -> Vec<Interval> {
    let mut all = Histogram::new();
    windows.iter().for_each(|window| all.merge_compact(window));
    Measure::ALL.into_iter().map(|measure| interval(measure, windows, &all, span)).collect()
}

fn interval(measure: Measure, windows: &[Compact], all: &Histogram, span: Time) -> Interval {
    let requests: Vec<f64> = windows.iter().map(|window| window.count() as f64).collect();
    match measure {
        Measure::Iops => {
            let half = half_width(&requests, &vec![1.0; windows.len()]) / span.secs_f64();
            let value = all.count() as f64 / (span * windows.len() as u64).secs_f64();
            Interval { measure, value, low: value - half, high: value + half }
        }
        Measure::Percentile(percent) => {
            let percent = f64::from(percent);
            let value = all.percentile_ns(percent);
            let below: Vec<f64> = windows.iter().map(|window| window.count_up_to(value) as f64).collect();
            // Rare events may be missing from all batches: the share varies at least as for independent requests.
            let share = percent / 100.0;
            let independent = normal_quantile() * (share * (1.0 - share) / all.count() as f64).sqrt();
            let half = 100.0 * half_width(&below, &requests).max(independent);
            let at = |percent: f64| Histogram::resolution_ns(all.percentile_ns(percent.max(0.0)));
            let high = if percent + half < 100.0 { at(percent + half).1 as f64 } else { f64::INFINITY };
            Interval { measure, value: value as f64, low: at(percent - half).0 as f64, high }
        }
    }
}

/// Returns half the width of the 95 % interval of the ratio of the sums of `above` and `below`, from windows in order of
/// time.
///
/// Batches are of one window, two, and so on; the widest interval counts, since batches that depend on each other vary too
/// little in their mean. What the neighbors' correlation says about that is added.
fn half_width(above: &[f64], below: &[f64]) -> f64 {
    let (top, bottom): (f64, f64) = (above.iter().sum(), below.iter().sum());
    let ratio = top / bottom;
    let apart: Vec<f64> = above.iter().zip(below).map(|(above, below)| above - ratio * below).collect();
    let mut widest: f64 = 0.0;
    for length in 1..=apart.len() / BATCHES_MIN {
        // The oldest windows that do not fill a batch are left out.
        let batches: Vec<f64> = apart.rchunks_exact(length).map(|batch| batch.iter().sum()).collect();
        let count = batches.len() as f64;
        let squares: f64 = batches.iter().map(|each| each * each).sum();
        if squares == 0.0 {
            continue;
        }
        let neighbors: f64 = batches.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = (neighbors / squares).clamp(0.0, CORRELATION_MAX);
        let correction = (1.0 + correlation) / (1.0 - correlation);
        let kept = (batches.len() * length) as f64 / apart.len() as f64;
        let error = (squares * correction * count / (count - 1.0)).sqrt() / (bottom * kept);
        widest = widest.max(t_quantile(count - 1.0) * error);
    }
    widest
}

/// Returns the 97.5 % quantile of the standard normal distribution.
const fn normal_quantile() -> f64 {
    1.959_963_984_540_054
}

/// Returns the 97.5 % quantile of Student's distribution with `freedom` degrees of freedom, 9 or more: the expansion of
/// Abramowitz and Stegun, 26.7.5, exact to 0.001.
fn t_quantile(freedom: f64) -> f64 {
    let z = normal_quantile();
    let (z3, z5, z7) = (z * z * z, z * z * z * z * z, z * z * z * z * z * z * z);
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom * freedom)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom * freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{Rng, Streams};

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(9.0, 2.262), (15.0, 2.131), (31.0, 2.040), (63.0, 1.998)] {
            assert!((t_quantile(freedom) - expected).abs() < 0.001, "{freedom}");
        }
    }

    /// Returns windows in whose requests one in two hundred is slow on average, in bursts that outlast a window.
    fn windows(rng: &mut Rng, count: usize) -> Vec<Compact> {
        let mut slow = false;
        let window = |_| {
            let mut found = Histogram::new();
            for _ in 0..400 {
                // A burst begins with every thousandth request and lasts five on average; half of its requests are slow.
                slow = if slow { rng.below(20) > 0 } else { rng.below(1000) == 0 };
                let time = if slow && rng.below(2) == 0 { 500 + rng.below(1000) } else { 50 + rng.below(100) };
                found.record(Time::from_us(time));
            }
            found.take()
        };
        (0..count).map(window).collect()
    }

    #[test]
    fn intervals_hold_the_value_of_a_long_run() {
        let streams = Streams::new(1);
        let mut rng = streams.stream("intervals");
        let long = intervals(&windows(&mut rng, 20_000), Time::from_ms(1));
        let runs = 400;
        let mut held = [0; 3];
        for _ in 0..runs {
            for (held, (found, long)) in
                held.iter_mut().zip(intervals(&windows(&mut rng, 32), Time::from_ms(1)).iter().zip(&long))
            {
                *held += usize::from(found.low <= long.value && long.value <= found.high);
            }
        }
        assert_eq!(held[0], runs, "the rate is the same in each window");
        for held in &held[1..] {
            assert!(*held >= 93 * runs / 100, "{held} of {runs}");
        }
    }

    #[test]
    fn a_dependent_series_has_a_wide_interval() {
        let streams = Streams::new(2);
        let mut rng = streams.stream("series");
        let (mut held, mut naive, runs) = (0, 0, 400);
        for _ in 0..runs {
            let mut state = 0.0;
            let series: Vec<f64> = (0..48)
                .map(|_| {
                    let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                    state = 0.5 * state + noise;
                    100.0 + state
                })
                .collect();
            let mean = series.iter().sum::<f64>() / 48.0;
            let variance = series.iter().map(|each| (each - mean).powi(2)).sum::<f64>() / 47.0;
            held += usize::from((mean - 100.0).abs() <= half_width(&series, &[1.0; 48]));
            naive += usize::from((mean - 100.0).abs() <= 2.01 * (variance / 48.0).sqrt());
        }
        assert!(held >= 93 * runs / 100, "{held} of {runs}");
        assert!(naive < 80 * runs / 100, "{naive} of {runs}: the series does not need batches");
    }

    #[test]
    fn another_uncertainty_widens_an_interval() {
        let interval = Interval { measure: Measure::Iops, value: 100.0, low: 97.0, high: f64::INFINITY };
        let wide = interval.widened(0.04);
        assert_eq!((wide.value, wide.low), (100.0, 95.0));
        assert!(wide.high.is_infinite());
    }

    #[test]
    fn too_few_requests_have_no_upper_bound() {
        let mut one = Histogram::new();
        (0..10).for_each(|us| one.record(Time::from_us(us)));
        let window = one.take();
        let found = intervals(&vec![window; 20], Time::from_ms(1));
        assert!(found[2].high.is_infinite() && found[1].high.is_finite(), "{found:?}");
    }
}
