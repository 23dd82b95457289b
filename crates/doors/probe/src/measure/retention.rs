//! Finds how much a cache retains: the largest size that is still fast as a whole when it is accessed again.
//!
//! A disturbance makes retained data look slow, never the other way round. So one good measurement shows that a size is
//! retained, whereas several bad ones are needed to show that it is not. Their number follows from the requested
//! confidence and from how often retained sizes have looked bad so far.
//!
//! When data are accessed again in the original order and the cache evicts the least recently used entry first, a size
//! just beyond the capacity has no fast accesses at all: one foreign entry spoils everything. In the reverse order, all
//! fast accesses were cached at the same time under any eviction policy. Their amount is a lower bound, and foreign
//! entries cost no more than the space they occupy.

use sim::Rng;

use crate::report::Point;

/// The range and resolution of a search.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Granularity and minimum of the measured sizes.
    pub step: u64,
    /// Maximum of the measured sizes.
    pub max: u64,
    /// The search ends when the knee is known to within this fraction, or to one step.
    pub tolerance: f64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Retention {
    /// The largest size that was retained; zero if none was.
    pub kept: u64,
    /// The smallest size that was not retained; `None` if all were.
    pub lost: Option<u64>,
    /// How much more was fast in the reverse order if the difference is large: the space that foreign entries occupied.
    pub taken: u64,
    /// All measurements: size and fast fraction.
    pub points: Vec<Point>,
}

/// Fraction of fast accesses from which a size counts as retained; the rest are an outlier or two.
const KEPT: f64 = 0.85;
/// Maximum fraction of bad measurements of retained sizes at which a size is still reported.
const RESTLESS: f64 = 0.35;
/// Number of measurements in the reverse order.
const OPPOSITE: u32 = 6;
/// Maximum number of measurements per size.
const TRIES_MAX: u32 = 12;

/// The order of the second access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// In the original order.
    Same,
    /// Last first.
    Opposite,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The size that is accessed twice.
    pub size: u64,
    /// The order of the second access.
    pub again: Again,
    /// Number of immediately preceding bad measurements of this size: a disturbance may last for a while.
    pub bad: u32,
}

type Measure<'a, E> = &'a mut dyn FnMut(Trial) -> Result<f64, E>;

struct Search<'a, E> {
    measure: Measure<'a, E>,
    confidence: f64,
    points: Vec<Point>,
    /// Bad measurements of retained sizes and all measurements of retained sizes, each including a prior.
    bad: f64,
    tries: f64,
}

impl<E> Search<'_, E> {
    fn once(&mut self, size: u64, bad: u32) -> Result<bool, E> {
        let part = (self.measure)(Trial { size, again: Again::Same, bad })?;
        self.points.push(Point { x: size as f64, y: part });
        Ok(part >= KEPT)
    }

    /// Returns the number of consecutive bad measurements after which a size counts as lost.
    fn enough(&self) -> u32 {
        let doubt = libm::log(1.0 - self.confidence) / libm::log(self.bad / self.tries);
        (libm::ceil(doubt) as u32).clamp(2, TRIES_MAX)
    }

    fn keeps(&mut self, size: u64) -> Result<bool, E> {
        let mut bad = 0;
        while bad < self.enough() {
            if self.once(size, bad)? {
                self.bad += f64::from(bad);
                self.tries += f64::from(bad) + 1.0;
                return Ok(true);
            }
            bad += 1;
        }
        Ok(false)
    }
}

impl<E> Search<'_, E> {
    /// Narrows the gap between the retained and the lost size by bisection.
    fn halve(&mut self, range: &Range, kept: &mut u64, lost: &mut u64) -> Result<(), E> {
        while *lost - *kept > range.step.max((*kept as f64 * range.tolerance) as u64) {
            let middle = (*kept + (*lost - *kept) / 2).div_ceil(range.step) * range.step;
            *(if self.keeps(middle)? { &mut *kept } else { &mut *lost }) = middle;
        }
        Ok(())
    }

    /// Measures both sizes again, in random order. Returns whether no measurement contradicts the result.
    fn confirms(&mut self, kept: u64, lost: u64, rng: &mut Rng) -> Result<bool, E> {
        let mut order: Vec<u64> = [kept, lost].repeat(self.enough() as usize);
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let mut holds = false;
        for size in order.into_iter().filter(|size| *size > 0) {
            holds |= self.once(size, 0)? && size == lost;
        }
        Ok(!holds)
    }

    /// Returns the largest amount that was fast at once in the reverse order.
    fn opposite(&mut self, range: &Range, max: u64, kept: u64) -> Result<u64, E> {
        let mut most = 0;
        for time in 0..OPPOSITE {
            // 1.5 times and 4 times the size, alternately, in case the search had bad luck early.
            let more = kept.max(range.step) * if time % 2 == 0 { 3 } else { 8 } / 2;
            let size = more.next_multiple_of(range.step).min(max);
            let part = (self.measure)(Trial { size, again: Again::Opposite, bad: 0 })?;
            most = most.max((part * size as f64) as u64 / range.step * range.step);
        }
        Ok(most)
    }
}

/// Searches `range` for the largest retained size; `measure` returns the fast fraction of a size.
///
/// Sizes are doubled until two in a row are lost, the gap is bisected, and both of its ends are confirmed by further
/// measurements in random order.
///
/// # Errors
/// Any error of `measure`.
pub fn search<E>(range: Range, confidence: f64, rng: &mut Rng, measure: Measure<'_, E>) -> Result<Retention, E> {
    let mut search = Search { measure, confidence, points: Vec::new(), bad: 0.25, tries: 1.0 };
    let max = range.max / range.step * range.step;
    let (mut kept, mut lost) = (0, None);
    let mut size = range.step.min(max);
    loop {
        if search.keeps(size)? {
            (kept, lost) = (size, None);
        } else if lost.is_some() {
            break;
        } else {
            lost = Some(size);
        }
        if size == max {
            break;
        }
        size = (size * 2).min(max);
    }
    let Some(mut lost) = lost else { return Ok(Retention { kept, lost: None, taken: 0, points: search.points }) };
    let mut taken = 0;
    for _ in 0..4 {
        search.halve(&range, &mut kept, &mut lost)?;
        // A size may have been classified as lost by bad luck.
        if search.confirms(kept, lost, rng)? {
            let most = search.opposite(&range, max, kept)?;
            if most <= kept + (kept / 10).max(2 * range.step) {
                break;
            }
            // More was fast at once than seemed to be retained: a disturbance lasted long or is permanent.
            let size = (most * 9 / 10 / range.step * range.step).max(kept + range.step);
            if !search.keeps(size)? {
                taken = if most > kept * 13 / 10 { most - kept } else { 0 };
                break;
            }
            (kept, lost) = (size, size + range.step);
        } else {
            (kept, lost) = (lost, lost + range.step);
        }
        while lost <= max && search.keeps(lost)? {
            kept = lost;
            lost = kept + (kept / 8).max(range.step) / range.step * range.step;
        }
        if lost > max {
            return Ok(Retention { kept, lost: None, taken: 0, points: search.points });
        }
    }
    // The last round may have widened the gap again.
    search.halve(&range, &mut kept, &mut lost)?;
    // If retained sizes are often slow, the classification as lost is unreliable too.
    let taken = if search.bad / search.tries > RESTLESS { lost } else { taken };
    Ok(Retention { kept, lost: Some(lost), taken, points: search.points })
}

impl Retention {
    /// Returns whether foreign entries took so little space that the retained size is close to the undisturbed one.
    pub fn is_steady(&self, step: u64) -> bool {
        self.taken <= (self.kept / 8).max(2 * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sim::Streams;

    proptest! {
        /// Sizes up to the truth are fast except for disturbances; larger sizes are slow.
        #[test]
        fn the_truth_is_found(truth in 1u64..1024, bad in 0.0..0.5f64, seed: u64) {
            let mut rng = Streams::new(seed).stream("order");
            let mut noise = Streams::new(seed).stream("noise");
            let range = Range { step: 4, max: 4096, tolerance: 1.0 / 32.0 };
            let mut tries = 0;
            let retention = search::<()>(range, 0.999_99, &mut rng, &mut |trial| {
                tries += 1;
                Ok(if trial.size <= truth && !noise.chance(bad) { 1.0 } else { 0.0 })
            }).unwrap();
            // With half of the measurements bad, twelve bad ones in a row have probability 1/4096.
            let right = retention.kept <= truth && truth < retention.lost.unwrap();
            prop_assert!(right || bad > 0.3, "{} in {}..{:?}", truth, retention.kept, retention.lost);
            prop_assert!(tries < 400);
        }

        /// The search never measures sizes outside its range, whatever the measurements.
        #[test]
        fn sizes_stay_within_the_range(step in 1u64..8, max in 8u64..512, bad in 0.0..0.9f64, seed: u64) {
            let mut rng = Streams::new(seed).stream("order");
            let mut noise = Streams::new(seed).stream("noise");
            let range = Range { step, max, tolerance: 1.0 / 32.0 };
            let retention = search::<()>(range, 0.99, &mut rng, &mut |trial| {
                assert!((1..=max).contains(&trial.size), "{} of {max}", trial.size);
                Ok(if noise.chance(bad) { 0.0 } else { 1.0 })
            }).unwrap();
            prop_assert!(retention.kept <= max && retention.lost.is_none_or(|lost| retention.kept < lost && lost <= max));
        }
    }

    #[test]
    fn a_fully_retained_range_has_no_knee() {
        let mut rng = Streams::new(1).stream("order");
        let range = Range { step: 4, max: 100, tolerance: 0.1 };
        let retention = search::<()>(range, 0.99, &mut rng, &mut |_| Ok(1.0)).unwrap();
        assert_eq!((retention.kept, retention.lost), (100, None));
    }
}
