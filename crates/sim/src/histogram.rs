//! Latency histograms: HDR (Tene), three significant digits, in nanoseconds.

use hdrhistogram::Histogram as Hdr;

use crate::Time;

/// Times, counted in buckets whose width is 0.1 % of their value; exact count, sum, minimum and maximum beside them.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Hdr<u64>,
    sum_ps: u128,
    sum_squares_ns: f64,
    min: Time,
    max: Time,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty one. Its buckets reach as far as the largest sample so far.
    ///
    /// # Panics
    /// Never: three significant digits is what the library takes.
    pub fn new() -> Histogram {
        let buckets = Hdr::new(3).expect("three significant digits");
        Histogram { buckets, sum_ps: 0, sum_squares_ns: 0.0, min: Time::MAX, max: Time::ZERO }
    }

    /// Counts one sample.
    ///
    /// # Panics
    /// Never: buckets grow with what is recorded.
    #[inline]
    pub fn record(&mut self, sample: Time) {
        let ns = sample.ns();
        self.buckets.record(ns).expect("buckets grow with what is recorded");
        self.sum_ps += u128::from(sample.ps());
        self.sum_squares_ns += ns as f64 * ns as f64;
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.add(&other.buckets).expect("the same bounds");
        self.sum_ps += other.sum_ps;
        self.sum_squares_ns += other.sum_squares_ns;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Sum of all samples in picoseconds: exact.
    pub fn sum_ps(&self) -> u128 {
        self.sum_ps
    }

    /// Mean in nanoseconds; 0 without samples.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ps as f64 / 1e3 / self.count() as f64 }
    }

    /// Standard deviation in nanoseconds; 0 without samples.
    pub fn stddev_ns(&self) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let mean = self.mean_ns();
        (self.sum_squares_ns / self.count() as f64 - mean * mean).max(0.0).sqrt()
    }

    /// Least sample; zero without samples.
    pub fn min(&self) -> Time {
        if self.count() == 0 { Time::ZERO } else { self.min }
    }

    /// Largest sample; zero without samples.
    pub fn max(&self) -> Time {
        self.max
    }

    /// The value in ns that `percent` of the samples do not exceed, to 0.1 %.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        self.buckets.value_at_percentile(percent).min(self.max.ns())
    }

    /// The distribution as (upper edge of bucket in ns, samples in it), buckets with samples only, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value()))
    }
}

/// The samples of a histogram in a few kilobytes: only the buckets that have any.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    buckets: Vec<(u64, u64)>,
    sum_ps: u128,
    sum_squares_ns: f64,
    min: Time,
    max: Time,
}

impl Compact {
    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Compact) {
        if other.buckets.is_empty() {
            return;
        }
        self.min = if self.buckets.is_empty() { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum_ps += other.sum_ps;
        self.sum_squares_ns += other.sum_squares_ns;
        self.buckets.extend_from_slice(&other.buckets);
        self.buckets.sort_unstable_by_key(|(value, _)| *value);
        self.buckets.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }

    /// Sum of all samples in picoseconds.
    pub fn sum_ps(&self) -> u128 {
        self.sum_ps
    }
}

impl Histogram {
    /// The samples so far, compactly; the histogram is empty afterwards.
    pub fn take(&mut self) -> Compact {
        if self.count() == 0 {
            return Compact::default();
        }
        let compact = Compact {
            buckets: self.buckets.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect(),
            sum_ps: self.sum_ps,
            sum_squares_ns: self.sum_squares_ns,
            min: self.min,
            max: self.max,
        };
        self.buckets.reset();
        (self.sum_ps, self.sum_squares_ns, self.min, self.max) = (0, 0.0, Time::MAX, Time::ZERO);
        compact
    }

    /// Adds all samples of `compact`.
    pub fn merge_compact(&mut self, compact: &Compact) {
        if compact.buckets.is_empty() {
            return;
        }
        for (value, count) in &compact.buckets {
            self.buckets.record_n(*value, *count).expect("buckets grow with what is recorded");
        }
        self.sum_ps += compact.sum_ps;
        self.sum_squares_ns += compact.sum_squares_ns;
        self.min = self.min.min(compact.min);
        self.max = self.max.max(compact.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_percentiles_close() {
        let mut h = Histogram::new();
        for us in 1..=1000 {
            h.record(Time::from_us(us));
        }
        assert_eq!(h.count(), 1000);
        assert_eq!(h.mean_ns(), 500_500.0);
        assert_eq!((h.min(), h.max()), (Time::from_us(1), Time::from_us(1000)));
        let median = h.percentile_ns(50.0) as f64;
        assert!((median / 500_000.0 - 1.0).abs() < 0.002, "{median}");
        let compact = h.clone().take();
        let mut back = Histogram::new();
        back.merge_compact(&compact);
        assert_eq!((back.count(), back.sum_ps(), back.min(), back.max()), (1000, h.sum_ps(), h.min(), h.max()));
        assert_eq!(back.buckets().collect::<Vec<_>>(), h.buckets().collect::<Vec<_>>());
        let mut pair = compact.clone();
        pair.merge(&compact);
        let mut both = Histogram::new();
        both.merge_compact(&pair);
        assert_eq!((both.count(), both.percentile_ns(50.0)), (2000, h.percentile_ns(50.0)));
        let mut twice = h.clone();
        twice.merge(&h);
        assert_eq!(twice.count(), 2000);
        assert_eq!(twice.mean_ns(), h.mean_ns());
        assert_eq!(h.buckets().map(|(_, n)| n).sum::<u64>(), 1000);
    }
}
