//! How much is kept: the largest size of which all is still fast when it is asked for again.
//!
//! Whatever disturbs a measurement makes what is kept look slow, never the other way. So one good measurement shows that a
//! size is kept, and it takes several bad ones to show that it is not: as many as leave less doubt than asked for, by
//! how often sizes that are kept looked bad so far.
//!
//! Asked for again in the order in which it came, nothing of what is just too much is fast where what was used longest ago
//! goes first: one stranger in the cache spoils all. Asked for in the opposite order, what was fast was kept all at once,
//! whatever goes first: its amount is a lower bound, and strangers take away no more than they take up.

use sim::Rng;

use crate::report::Point;

/// Where and how finely to search.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Sizes are multiples of this; the smallest looked at.
    pub step: u64,
    /// The largest looked at.
    pub max: u64,
    /// The search ends when the knee is known to within this part of it, or one step.
    pub tolerance: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The largest size that was kept; zero if none was.
    pub kept: u64,
    /// The smallest size that was not; none if all were.
    pub lost: Option<u64>,
    /// How much more was fast in the opposite order, if that is much: what strangers took.
    pub taken: u64,
    /// All measurements: size and part that was fast.
    pub points: Vec<Point>,
}

/// From this part on that is fast, all is taken to be kept: of what is not, an outlier or two.
const KEPT: f64 = 0.85;
/// With more bad measurements of what is kept, no size is said.
const RESTLESS: f64 = 0.35;
/// Measurements in the opposite order.
const OPPOSITE: u32 = 6;
/// Measurements of a size at most.
const TRIES_MAX: u32 = 12;

/// The order in which what was asked for is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// As it came.
    Same,
    /// The last first.
    Opposite,
}

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// How much is asked for twice.
    pub size: u64,
    /// In which order the second time.
    pub again: Again,
    /// Bad measurements of it just before: what disturbs may last for a while.
    pub bad: u32,
}

type Measure<'a, E> = &'a mut dyn FnMut(Trial) -> Result<f64, E>;

struct Search<'a, E> {
    measure: Measure<'a, E>,
    confidence: f64,
    points: Vec<Point>,
    /// Bad measurements of sizes that are kept, and all measurements of those; with what is supposed before the first.
    bad: f64,
    tries: f64,
}

impl<E> Search<'_, E> {
    fn once(&mut self, size: u64, bad: u32) -> Result<bool, E> {
        let part = (self.measure)(Trial { size, again: Again::Same, bad })?;
        self.points.push(Point { x: size as f64, y: part });
        Ok(part >= KEPT)
    }

    /// Measurements in a row that must be bad for a size to be taken as lost.
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
    /// Halves the gap between what is kept and what is lost.
    fn halve(&mut self, range: &Range, kept: &mut u64, lost: &mut u64) -> Result<(), E> {
        while *lost - *kept > range.step.max((*kept as f64 * range.tolerance) as u64) {
            let middle = (*kept + (*lost - *kept) / 2).div_ceil(range.step) * range.step;
            *(if self.keeps(middle)? { &mut *kept } else { &mut *lost }) = middle;
        }
        Ok(())
    }

    /// Measures both again, in random order: whether nothing speaks against what was found.
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

    /// The most that was fast at once when it was asked for in the opposite order.
    fn opposite(&mut self, range: &Range, max: u64, kept: u64) -> Result<u64, E> {
        let mut most = 0;
        for time in 0..OPPOSITE {
            // Half again as much, and four times as much: if the search had bad luck early.
            let more = kept.max(range.step) * if time % 2 == 0 { 3 } else { 8 } / 2;
            let size = more.next_multiple_of(range.step).min(max);
            let part = (self.measure)(Trial { size, again: Again::Opposite, bad: 0 })?;
            most = most.max((part * size as f64) as u64 / range.step * range.step);
        }
        Ok(most)
    }
}

/// Searches `range` for the largest size that is kept; `measure` says which part of a size is fast.
///
/// Sizes are doubled until two in a row are lost, the gap is halved, and both ends of what is left are measured again, in
/// random order, before they are believed.
///
/// # Errors
/// Those of `measure`.
pub fn search<E>(range: Range, confidence: f64, rng: &mut Rng, measure: Measure<'_, E>) -> Result<Held, E> {
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
    let Some(mut lost) = lost else { return Ok(Held { kept, lost: None, taken: 0, points: search.points }) };
    let mut taken = 0;
    for _ in 0..4 {
        search.halve(&range, &mut kept, &mut lost)?;
        // A size that was taken as lost may have had bad luck.
        if search.confirms(kept, lost, rng)? {
            let most = search.opposite(&range, max, kept)?;
            if most <= kept + (kept / 10).max(2 * range.step) {
                break;
            }
            // More was fast at once than seemed to be kept: what disturbs lasted for long, or is at work all the time.
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
            return Ok(Held { kept, lost: None, taken: 0, points: search.points });
        }
    }
    // If the last round had to grow it again.
    search.halve(&range, &mut kept, &mut lost)?;
    // Where what is kept is often slow, so is what happens to be measured as lost.
    let taken = if search.bad / search.tries > RESTLESS { lost } else { taken };
    Ok(Held { kept, lost: Some(lost), taken, points: search.points })
}

impl Held {
    /// Whether strangers took so little that what is kept says how much would be without them.
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
        /// Sizes up to the truth are fast but for a disturbance, those above are slow.
        #[test]
        fn the_truth_is_found(truth in 1u64..1024, bad in 0.0..0.5f64, seed: u64) {
            let mut rng = Streams::new(seed).stream("order");
            let mut noise = Streams::new(seed).stream("noise");
            let range = Range { step: 4, max: 4096, tolerance: 1.0 / 32.0 };
            let mut tries = 0;
            let held = search::<()>(range, 0.999_99, &mut rng, &mut |trial| {
                tries += 1;
                Ok(if trial.size <= truth && !noise.chance(bad) { 1.0 } else { 0.0 })
            }).unwrap();
            // With half of the measurements bad, twelve in a row are 1 of 4096.
            let right = held.kept <= truth && truth < held.lost.unwrap();
            prop_assert!(right || bad > 0.3, "{} in {}..{:?}", truth, held.kept, held.lost);
            prop_assert!(tries < 400);
        }

        /// Nothing beyond it is asked for, whatever is measured.
        #[test]
        fn the_range_is_kept_to(step in 1u64..8, max in 8u64..512, bad in 0.0..0.9f64, seed: u64) {
            let mut rng = Streams::new(seed).stream("order");
            let mut noise = Streams::new(seed).stream("noise");
            let range = Range { step, max, tolerance: 1.0 / 32.0 };
            let held = search::<()>(range, 0.99, &mut rng, &mut |trial| {
                assert!((1..=max).contains(&trial.size), "{} of {max}", trial.size);
                Ok(if noise.chance(bad) { 0.0 } else { 1.0 })
            }).unwrap();
            prop_assert!(held.kept <= max && held.lost.is_none_or(|lost| held.kept < lost && lost <= max));
        }
    }

    #[test]
    fn a_range_that_is_kept_whole_has_no_knee() {
        let mut rng = Streams::new(1).stream("order");
        let range = Range { step: 4, max: 100, tolerance: 0.1 };
        let held = search::<()>(range, 0.99, &mut rng, &mut |_| Ok(1.0)).unwrap();
        assert_eq!((held.kept, held.lost), (100, None));
    }
}
