//! Latency histograms in nanoseconds with the buckets of HDR histograms (Tene) at three significant digits.

use std::ops::Range;

use crate::Time;

/// Values below `1 << LINEAR_BITS` have a bucket each; above, each power of two has half as many buckets.
const LINEAR_BITS: u32 = 11;
const HALF: usize = 1 << (LINEAR_BITS - 1);

/// Returns the bucket of `ns`.
#[inline]
fn index_of(ns: u64) -> usize {
    let shift = (63 - LINEAR_BITS + 1) - (ns | ((1 << LINEAR_BITS) - 1)).leading_zeros();
    shift as usize * HALF + (ns >> shift) as usize
}

/// Returns the smallest value in bucket `index`.
fn lower_edge(index: usize) -> u64 {
    let shift = (index / HALF).saturating_sub(1);
    ((index - shift * HALF) as u64) << shift
}

/// Returns the largest value in bucket `index`.
fn upper_edge(index: usize) -> u64 {
    let shift = (index / HALF).saturating_sub(1);
    lower_edge(index) + ((1 << shift) - 1)
}

/// Number of buckets that are allocated, checked and cleared together.
const BLOCK: usize = 64;

/// Counts of [`BLOCK`] consecutive buckets.
type Block = [u64; BLOCK];

/// Place of a block that has no samples.
const NO_PLACE: u16 = u16::MAX;

/// A distribution of times in buckets whose width is 0.1 % of their value, with exact count, sum, minimum and maximum.
///
/// Only blocks of buckets with samples take memory: a run may have thousands of jobs with a few requests each.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Place in `blocks` of each block of buckets, at least up to the largest sample so far.
    places: Vec<u16>,
    /// Samples in each bucket of the blocks that have had samples.
    blocks: Vec<Block>,
    count: u64,
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
    /// Creates an empty histogram. Its buckets grow to the largest sample.
    pub fn new() -> Histogram {
        let (min, max) = (Time::MAX, Time::ZERO);
        Histogram { places: Vec::new(), blocks: Vec::new(), count: 0, sum_ps: 0, sum_squares_ns: 0.0, min, max }
    }

    /// Counts one sample.
    #[inline]
    pub fn record(&mut self, sample: Time) {
        let ns = sample.ns();
        self.add(index_of(ns), 1);
        self.count += 1;
        self.sum_ps += u128::from(sample.ps());
        // The value is below 2^63. Converting a signed number takes one instruction, an unsigned number several.
        let ns = ns as i64 as f64;
        self.sum_squares_ns += ns * ns;
        if sample < self.min {
            self.min = sample;
        }
        if sample > self.max {
            self.max = sample;
        }
    }

    /// Counts `count` samples of zero.
    pub fn record_zeros(&mut self, count: u64) {
        if count > 0 {
            self.add(0, count);
            self.count += count;
            self.min = Time::ZERO;
        }
    }

    /// Adds `count` samples to a bucket.
    #[inline]
    fn add(&mut self, index: usize, count: u64) {
        let place = self.places.get(index / BLOCK).map_or(NO_PLACE, |place| *place);
        match self.blocks.get_mut(usize::from(place)) {
            Some(block) => block[index % BLOCK] += count,
            None => self.add_block(index, count),
        }
    }

    /// Allocates the block of bucket `index` with `count` samples in that bucket.
    #[cold]
    fn add_block(&mut self, index: usize, count: u64) {
        let number = index / BLOCK;
        if number >= self.places.len() {
            self.places.resize((index / HALF + 1) * HALF / BLOCK, NO_PLACE);
        }
        // There are fewer than 2^10 blocks, so that a place is never `NO_PLACE`.
        self.places[number] = self.blocks.len() as u16;
        let mut block = [0; BLOCK];
        block[index % BLOCK] = count;
        self.blocks.push(block);
    }

    /// Returns the range of block numbers that may contain samples.
    fn range(&self) -> Range<usize> {
        if self.count == 0 { 0..0 } else { index_of(self.min.ns()) / BLOCK..index_of(self.max.ns()) / BLOCK + 1 }
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of all samples in picoseconds.
    pub fn sum_ps(&self) -> u128 {
        self.sum_ps
    }

    /// Returns the mean in nanoseconds; 0 without samples.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ps as f64 / 1e3 / self.count as f64 }
    }

    /// Returns the standard deviation in nanoseconds; 0 without samples, or of one.
    pub fn stddev_ns(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.mean_ns();
        (self.sum_squares_ns / self.count as f64 - mean * mean).max(0.0).sqrt()
    }

    /// Returns the smallest sample; zero without samples.
    pub fn min(&self) -> Time {
        if self.count == 0 { Time::ZERO } else { self.min }
    }

    /// Returns the largest sample; zero without samples.
    pub fn max(&self) -> Time {
        self.max
    }

    /// Returns the smallest and the largest value in ns that samples cannot be told apart from `ns`: within 0.1 %.
    pub fn resolution_ns(ns: u64) -> (u64, u64) {
        let index = index_of(ns);
        (lower_edge(index), upper_edge(index))
    }

    /// Returns the value in ns that `percent` of the samples do not exceed, accurate to 0.1 %.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        percentile_ns(self.counts(), self.count, self.max, percent)
    }

    /// Returns the nonempty buckets in ascending order, as pairs of upper edge in ns and number of samples.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts().map(|(index, count)| (upper_edge(index), count))
    }

    /// Returns the nonempty buckets as pairs of bucket number and number of samples.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let blocks =
            self.range().filter_map(|number| Some((number, self.blocks.get(usize::from(self.places[number]))?)));
        let counts = blocks.flat_map(|(number, block)| (number * BLOCK..).zip(block));
        counts.filter(|(_, count)| **count > 0).map(|(index, count)| (index, *count))
    }
}

/// Returns the value in ns that `percent` of `count` samples do not exceed. `counts` has their bucket numbers in ascending
/// order with the samples of each, and `max` is the largest.
fn percentile_ns(counts: impl Iterator<Item = (usize, u64)>, count: u64, max: Time, percent: f64) -> u64 {
    let share = (percent / 100.0).min(1.0);
    let wanted = ((share * count as f64).ceil() as u64).max(1);
    let mut so_far = 0;
    for (index, count) in counts {
        so_far += count;
        if so_far >= wanted {
            let edge = if share == 0.0 { lower_edge(index) } else { upper_edge(index) };
            return edge.min(max.ns());
        }
    }
    0
}

/// The samples of a histogram in a compact form with only the nonempty buckets. With many jobs, each has few samples in
/// a window.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    /// Bucket numbers in ascending order, and their counts.
    buckets: Vec<(u32, u64)>,
    count: u64,
    sum_ps: u128,
    sum_squares_ns: f64,
    min: Time,
    max: Time,
}

impl Compact {
    /// Returns the samples of all `parts`.
    pub fn of_all<'a>(parts: impl Iterator<Item = &'a Compact>) -> Compact {
        let mut all = Compact::default();
        let mut filled = 0;
        for part in parts.filter(|part| part.count > 0) {
            filled += 1;
            all.count_of(part);
            all.buckets.extend_from_slice(&part.buckets);
        }
        if filled > 1 {
            // Each part is in order, so that sorting merges.
            all.buckets.sort_by_key(|(number, _)| *number);
            all.buckets.dedup_by(|(number, count), before| {
                let same = before.0 == *number;
                before.1 += u64::from(same) * *count;
                same
            });
        }
        all
    }

    /// Adds the samples of `other`, which is not empty, without their buckets.
    fn count_of(&mut self, other: &Compact) {
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum_ps += other.sum_ps;
        self.sum_squares_ns += other.sum_squares_ns;
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Compact) {
        if other.count == 0 {
            return;
        }
        self.count_of(other);
        let mut both = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut ours, mut theirs) = (&self.buckets[..], &other.buckets[..]);
        while let ([our, our_rest @ ..], [their, their_rest @ ..]) = (ours, theirs) {
            let number = our.0.min(their.0);
            let mut count = 0;
            if our.0 == number {
                (count, ours) = (our.1, our_rest);
            }
            if their.0 == number {
                (count, theirs) = (count + their.1, their_rest);
            }
            both.push((number, count));
        }
        both.extend_from_slice(ours);
        both.extend_from_slice(theirs);
        both.shrink_to_fit();
        self.buckets = both;
    }

    /// Returns the sum of all samples in picoseconds.
    pub fn sum_ps(&self) -> u128 {
        self.sum_ps
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the largest sample; zero without samples.
    pub fn max(&self) -> Time {
        self.max
    }

    /// Returns the value in ns that `percent` of the samples do not exceed, like [`Histogram::percentile_ns`].
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        let counts = self.buckets.iter().map(|(number, count)| (*number as usize, *count));
        percentile_ns(counts, self.count, self.max, percent)
    }

    /// Returns the number of samples up to `ns` nanoseconds, which is the upper edge of a bucket or at least the maximum.
    pub fn count_up_to(&self, ns: u64) -> u64 {
        if ns >= self.max.ns() {
            return self.count;
        }
        let within = self.buckets.iter().take_while(|(index, _)| upper_edge(*index as usize) <= ns);
        within.map(|(_, count)| count).sum()
    }

    /// Returns the nonempty quarters of octaves in ascending order, as pairs of their smallest value in ns and number of
    /// samples. Below 8 ns each value is its own.
    pub fn quarter_octaves(&self) -> Vec<(u64, u64)> {
        let mut found: Vec<(u64, u64)> = Vec::new();
        for (index, count) in &self.buckets {
            let ns = lower_edge(*index as usize);
            let shift = ns.max(4).ilog2() - 2;
            let edge = ns >> shift << shift;
            match found.last_mut() {
                Some((last, sum)) if *last == edge => *sum += count,
                _ => found.push((edge, *count)),
            }
        }
        found
    }
}

impl Histogram {
    /// Takes the samples in compact form and leaves the histogram empty.
    pub fn take(&mut self) -> Compact {
        if self.count == 0 {
            return Compact::default();
        }
        let range = self.range();
        let mut buckets = Vec::with_capacity(self.count.min((range.len() * BLOCK) as u64) as usize);
        for number in range {
            let Some(block) = self.blocks.get_mut(usize::from(self.places[number])) else { continue };
            // A window has samples in few of the buckets that the run has used so far: empty ones are skipped by the octet.
            for (octet, counts) in (0..).zip(block.as_chunks_mut::<8>().0) {
                if counts.iter().fold(0, |all, count| all | count) == 0 {
                    continue;
                }
                for (at, count) in ((number * BLOCK + octet * 8) as u32..).zip(counts) {
                    if *count > 0 {
                        buckets.push((at, std::mem::take(count)));
                    }
                }
            }
        }
        buckets.shrink_to_fit();
        let Histogram { count, sum_ps, sum_squares_ns, min, max, .. } = *self;
        (self.count, self.sum_ps, self.sum_squares_ns, self.min, self.max) = (0, 0, 0.0, Time::MAX, Time::ZERO);
        Compact { buckets, count, sum_ps, sum_squares_ns, min, max }
    }

    /// Adds all samples of `compact`.
    pub fn merge_compact(&mut self, compact: &Compact) {
        if compact.count == 0 {
            return;
        }
        for (number, count) in &compact.buckets {
            self.add(*number as usize, *count);
        }
        self.count += compact.count;
        self.sum_ps += compact.sum_ps;
        self.sum_squares_ns += compact.sum_squares_ns;
        self.min = self.min.min(compact.min);
        self.max = self.max.max(compact.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Hdr;
    use proptest::prelude::*;

    #[test]
    fn quarters_of_octaves_hold_every_sample() {
        let mut histogram = Histogram::new();
        for ns in [0, 1, 7, 8, 9, 10, 15, 16, 19, 20, 1023, 1024, 65_535, 65_536, 1_000_000, u64::from(u32::MAX)] {
            histogram.record(Time::from_ns(ns));
        }
        let found = histogram.take().quarter_octaves();
        let edges = [0, 1, 7, 8, 10, 14, 16, 20, 896, 1024, 57_344, 65_536, 917_504, 3_758_096_384];
        assert_eq!(found.iter().map(|(edge, _)| *edge).collect::<Vec<_>>(), edges);
        assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 16);
    }

    proptest! {
        /// Compares with the original implementation.
        #[test]
        fn buckets_and_percentiles_are_those_of_hdr(
            samples in prop::collection::vec((0u32..64, any::<u64>()), 1..200),
            percents in prop::collection::vec(0.0f64..=100.0, 20),
        ) {
            let (mut ours, mut hdr) = (Histogram::new(), Hdr::<u64>::new(3).unwrap());
            for (shift, bits) in samples {
                let sample = Time::from_ps(bits >> shift);
                ours.record(sample);
                hdr.record(sample.ns()).unwrap();
            }
            let theirs: Vec<_> = hdr.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
            prop_assert_eq!(ours.buckets().collect::<Vec<_>>(), theirs);
            for percent in percents.into_iter().chain([0.0, 50.0, 99.99, 100.0]) {
                let theirs = hdr.value_at_percentile(percent).min(ours.max().ns());
                prop_assert_eq!(ours.percentile_ns(percent), theirs, "{}", percent);
            }
        }
    }

    proptest! {
        /// Samples taken in windows, some of which are merged, add up to all samples.
        #[test]
        fn windows_add_up_to_the_whole(
            windows in prop::collection::vec((prop::collection::vec((0u32..64, any::<u64>()), 0..20), 0u64..3), 0..8),
        ) {
            let (mut whole, mut window, mut kept) = (Histogram::new(), Histogram::new(), Vec::new());
            for (samples, zeros) in &windows {
                for (shift, bits) in samples {
                    whole.record(Time::from_ps(bits >> shift));
                    window.record(Time::from_ps(bits >> shift));
                }
                whole.record_zeros(*zeros);
                window.record_zeros(*zeros);
                kept.push(window.take());
                prop_assert_eq!((window.count(), window.buckets().count(), window.max()), (0, 0, Time::ZERO));
            }
            let once = kept.clone();
            let mut sum = Histogram::new();
            for pair in kept.chunks_mut(2) {
                if let [first, second] = pair {
                    first.merge(second);
                }
                sum.merge_compact(&pair[0]);
            }
            let found = |h: &Histogram| (h.count(), h.sum_ps(), h.min(), h.max(), h.buckets().collect::<Vec<_>>());
            prop_assert_eq!(found(&sum), found(&whole));
            let all = Compact::of_all(once.iter());
            let mut back = Histogram::new();
            back.merge_compact(&all);
            prop_assert_eq!(found(&back), found(&whole));
            prop_assert_eq!((all.count(), all.max()), (whole.count(), whole.max()));
            for percent in [0.0, 0.5, 50.0, 99.0, 100.0] {
                prop_assert_eq!(all.percentile_ns(percent), whole.percentile_ns(percent), "{}", percent);
            }
        }
    }

    #[test]
    fn a_few_samples_take_little_memory() {
        let mut h = Histogram::new();
        for ms in [1, 10, 1000] {
            h.record(Time::from_ms(ms));
        }
        h.take();
        h.record(Time::from_ms(10));
        assert_eq!(h.blocks.len(), 3);
        assert!(size_of_val(&h.places[..]) < 1024, "{}", h.places.len());
    }

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
        assert_eq!(both.mean_ns(), h.mean_ns());
        assert_eq!(h.buckets().map(|(_, n)| n).sum::<u64>(), 1000);
    }

    #[test]
    fn values_within_a_bucket_are_the_same() {
        for ns in [0, 5, 2047, 2048, 163_950, 1 << 40] {
            let (low, high) = Histogram::resolution_ns(ns);
            assert!(low <= ns && ns <= high && (high - low) as f64 <= 0.001 * ns as f64, "{ns}: {low} to {high}");
            assert_eq!((index_of(low), index_of(high)), (index_of(ns), index_of(ns)));
        }
    }

    #[test]
    fn one_sample_is_its_own_mean_minimum_and_maximum() {
        let mut h = Histogram::new();
        h.record(Time::from_us(3));
        assert_eq!((h.mean_ns(), h.stddev_ns()), (3000.0, 0.0));
        assert_eq!((h.min(), h.max(), h.percentile_ns(50.0)), (Time::from_us(3), Time::from_us(3), 3000));
    }

    #[test]
    fn zeros_are_counted_at_once_like_one_by_one() {
        for zeros in [0, 1, 5] {
            let (mut at_once, mut singly) = (Histogram::new(), Histogram::new());
            for h in [&mut at_once, &mut singly] {
                h.record(Time::from_ns(7));
            }
            at_once.record_zeros(zeros);
            (0..zeros).for_each(|_| singly.record(Time::ZERO));
            assert!(at_once.buckets().eq(singly.buckets()), "{zeros} zeros");
            let figures = |h: &Histogram| (h.count(), h.mean_ns(), h.stddev_ns(), h.min(), h.max());
            assert_eq!(figures(&at_once), figures(&singly));
        }
    }

    #[test]
    fn the_deviation_is_that_of_the_samples() {
        let mut h = Histogram::new();
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|us| h.record(Time::from_us(us)));
        assert_eq!((h.mean_ns(), h.stddev_ns()), (5000.0, 2000.0));
        let mut h = Histogram::new();
        [2, 4].into_iter().for_each(|us| h.record(Time::from_us(us)));
        assert_eq!(h.stddev_ns(), 1000.0);
    }

    #[test]
    fn one_sample_does_not_deviate_from_itself_however_long_it_is() {
        // By the formula, a sample of 21 hours and a nanosecond would deviate by a millisecond: picoseconds are rounded.
        for ns in [1, 75_600_000_000_001, 18_000_000_000_000_003] {
            let mut h = Histogram::new();
            h.record(Time::from_ns(ns));
            assert_eq!(h.stddev_ns(), 0.0, "{ns} ns");
        }
    }

    #[test]
    fn an_empty_histogram_has_only_zeros() {
        let mut h = Histogram::new();
        assert_eq!((h.count(), h.mean_ns(), h.stddev_ns(), h.min(), h.max()), (0, 0.0, 0.0, Time::ZERO, Time::ZERO));
        assert_eq!((h.percentile_ns(50.0), h.buckets().count()), (0, 0));
        let taken = h.take();
        h.merge_compact(&taken);
        assert_eq!((h.count(), h.min()), (0, Time::ZERO));
    }

    #[test]
    fn zeros_count_as_samples() {
        let mut h = Histogram::new();
        h.record(Time::from_us(6));
        h.record_zeros(0);
        assert_eq!((h.count(), h.min()), (1, Time::from_us(6)));
        h.record_zeros(1);
        assert_eq!((h.count(), h.mean_ns(), h.min()), (2, 3000.0, Time::ZERO));
        assert_eq!(h.buckets().map(|(_, count)| count).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_compact_form_holds_the_nonempty_buckets_alone() {
        let mut h = Histogram::new();
        [1, 10, 10, 1000].into_iter().for_each(|us| h.record(Time::from_us(us)));
        let first = h.take();
        assert_eq!(first.buckets.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 2, 1]);
        h.record(Time::from_us(10));
        assert_eq!(h.take().buckets.len(), 1, "the first samples were taken");
    }

    #[test]
    fn an_empty_compact_form_changes_nothing() {
        let mut h = Histogram::new();
        [5, 6].into_iter().for_each(|us| h.record(Time::from_us(us)));
        let whole = h.take();
        for (mut to, from) in [(Compact::default(), &whole), (whole.clone(), &Compact::default())] {
            to.merge(from);
            let mut back = Histogram::new();
            back.merge_compact(&to);
            assert_eq!((back.count(), back.mean_ns()), (2, 5500.0));
            assert_eq!((back.min(), back.max()), (Time::from_us(5), Time::from_us(6)));
        }
    }

    #[test]
    fn the_table_of_blocks_ends_with_the_power_of_two_of_the_largest_sample() {
        for (ns, powers) in [(1, 1), (1023, 1), (1024, 2), (2047, 2), (2048, 3), (1 << 20, 12), ((1 << 21) - 1, 12)] {
            let mut h = Histogram::new();
            h.record(Time::from_ns(ns));
            assert_eq!(h.places.len(), powers * HALF / BLOCK, "{ns} ns");
        }
    }
}
