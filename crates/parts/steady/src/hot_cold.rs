//! d-choices collection of hot and cold data, mixed in blocks or separated: the mean-field limit of blocks of finite
//! size.
//!
//! A fraction of the live units is hot and receives a larger fraction of the host's writes; within each class writes
//! are uniform. A block's state is its number of valid hot and of valid cold units. A block with `i` hot and `j` cold
//! valid units loses hot units at rate `i` times the write rate of a hot unit, and cold ones likewise. The victim is the
//! block with the fewest valid units among `d` drawn at random. What it still holds is rewritten at a write frontier.
//!
//! * *Mixed*: the host fills one frontier, collection another. A block of the host closes with a binomial number of hot
//!   units in the proportion of writes. A block of collection closes with the units of consecutive victims, the first
//!   and the last of which are usually cut. Victims differ in their proportion of hot units, so that collection
//!   separates the classes to some degree; the cut is taken to divide a victim at random.
//! * *Separated*: each class has frontiers of its own, so that a block holds units of one class. It makes no difference
//!   whether host and collection share the frontier of a class, since writes within a class are uniform.
//!
//! The stationary state is found by integrating the drift of the distribution over blocks from full and empty blocks
//! until it stands still; the drift keeps the number of units of each class.
//!
//! Source: Van Houdt, "Performance of garbage collection algorithms for flash-based solid state drives with hot/cold
//! data", Performance Evaluation 70(10), 2013 (mixed: the double write frontier), and "On the necessity of hot and cold
//! data identification to reduce the write amplification in flash-based SSDs", Performance Evaluation 82, 2014
//! (separated).

use crate::SteadyError;

/// Hot and cold data under d-choices collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotCold {
    /// Valid fraction of the closed blocks, between 0 and 1.
    pub occupancy: f64,
    /// Mapping units in a block, 1 to [`HotCold::UNITS_MAX`].
    pub units_per_block: u32,
    /// Number of blocks drawn, of which the one with the fewest valid units is the victim; at least 1.
    pub choices: u32,
    /// Fraction of the live units that is hot, between 0 and 1.
    pub hot_data: f64,
    /// Fraction of the host's writes that goes to hot units, between 0 and 1.
    pub hot_writes: f64,
}

/// Write amplification in the stationary state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotColdSteady {
    /// Units programmed per unit written by the host.
    pub write_amplification: f64,
    /// The same of hot and of cold units alone.
    pub by_class: [f64; 2],
}

impl HotCold {
    /// Maximum number of units per block: the number of states of mixed blocks grows with its square.
    pub const UNITS_MAX: u32 = 256;

    /// Computes the steady state with hot and cold data mixed in blocks.
    ///
    /// # Errors
    /// [`SteadyError`] if an argument is out of range.
    pub fn mixed(&self) -> Result<HotColdSteady, SteadyError> {
        self.check()?;
        let all = self.states(|_, _| true);
        let mut frontier = Frontier::new(self.units_per_block as usize);
        let mut steps = 0;
        Ok(self.settle(&all, move |model, victims, copied, into| {
            model.add_full(self.hot_writes, model.host / model.b, into);
            // The composition changes slowly, and costs more than a step.
            if steps % 256 == 0 {
                frontier.fill(model.states, victims);
            }
            steps += 1;
            let rate = (copied[0] + copied[1]) / model.b;
            for (hot, share) in frontier.closed.iter().enumerate() {
                into[model.index(hot, model.b as usize - hot)] += rate * share;
            }
        }))
    }

    /// Computes the steady state with hot and cold data in separate blocks.
    ///
    /// # Errors
    /// [`SteadyError`] if an argument is out of range.
    pub fn separated(&self) -> Result<HotColdSteady, SteadyError> {
        self.check()?;
        let all = self.states(|hot, cold| hot == 0 || cold == 0);
        let written = [self.hot_writes, 1.0 - self.hot_writes];
        Ok(self.settle(&all, |model, _, copied, into| {
            for class in 0..2 {
                let rate = (model.host * written[class] + copied[class]) / model.b;
                model.add_full([1.0, 0.0][class], rate, into);
            }
        }))
    }

    fn check(&self) -> Result<(), SteadyError> {
        let fraction = |value: f64| value > 0.0 && value < 1.0;
        if !fraction(self.occupancy) {
            return Err(SteadyError::Occupancy(self.occupancy));
        }
        if !(1..=HotCold::UNITS_MAX).contains(&self.units_per_block) {
            return Err(SteadyError::UnitsPerBlock(self.units_per_block));
        }
        if self.choices == 0 {
            return Err(SteadyError::NoChoices);
        }
        match [self.hot_data, self.hot_writes].into_iter().find(|value| !fraction(*value)) {
            Some(value) => Err(SteadyError::HotFraction(value)),
            None => Ok(()),
        }
    }

    /// Returns the states of blocks: all pairs of hot and cold valid counts that `may` occur.
    fn states(&self, may: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
        let b = self.units_per_block as usize;
        (0..=b)
            .flat_map(|hot| (0..=b - hot).map(move |cold| (hot, cold)))
            .filter(|(hot, cold)| may(*hot, *cold))
            .collect()
    }

    /// Integrates the drift until it stands still. `close` adds the rates at which blocks close, given the victims and the
    /// rates at which hot and cold units are copied.
    fn settle(
        &self,
        states: &[(usize, usize)],
        mut close: impl FnMut(&Model, &[f64], [f64; 2], &mut [f64]),
    ) -> HotColdSteady {
        let model = Model::new(self, states);
        let b = model.b;
        // Time in which each live unit is written once on average. The fastest state changes at this rate.
        let fastest = b * model.rates[0].max(model.rates[1]) + 2.0 * f64::from(self.choices) / (1.0 - self.occupancy);
        let step = 0.5 / fastest;
        let mut blocks = model.start(self);
        let mut drift = vec![0.0; states.len()];
        // Longer than it takes: the slower class is written a thousand times.
        let slowest = model.rates[0].min(model.rates[1]);
        for _ in 0..(1000.0 / slowest / step) as u64 {
            let victims = model.victims(&blocks, self.choices);
            let mean = |of: fn(&(usize, usize)) -> usize| -> f64 {
                victims.iter().zip(states).map(|(share, state)| share * of(state) as f64).sum()
            };
            let valid = [mean(|state| state.0), mean(|state| state.1)];
            let collected = model.host / (b - valid[0] - valid[1]);
            let copied = valid.map(|units| collected * units);
            drift.fill(0.0);
            close(&model, &victims, copied, &mut drift);
            let mut moved = 0.0f64;
            for (at, (hot, cold)) in states.iter().enumerate() {
                let lost = [*hot as f64 * model.rates[0] * blocks[at], *cold as f64 * model.rates[1] * blocks[at]];
                drift[at] -= lost[0] + lost[1] + collected * victims[at];
                if *hot > 0 {
                    drift[model.index(hot - 1, *cold)] += lost[0];
                }
                if *cold > 0 {
                    drift[model.index(*hot, cold - 1)] += lost[1];
                }
            }
            for (fraction, change) in blocks.iter_mut().zip(&drift) {
                *fraction += step * change;
                moved = moved.max(change.abs());
            }
            let written = [self.hot_writes, 1.0 - self.hot_writes].map(|share| share * model.host);
            let steady = HotColdSteady {
                write_amplification: (model.host + copied[0] + copied[1]) / model.host,
                by_class: std::array::from_fn(|class| (written[class] + copied[class]) / written[class]),
            };
            if moved < 1e-9 {
                return steady;
            }
        }
        panic!("no steady state found for {self:?}")
    }
}

/// Rates and states of a model.
struct Model<'a> {
    states: &'a [(usize, usize)],
    /// Index of each pair of counts in `states`, at `hot * (units_per_block + 1) + cold`.
    at: Vec<usize>,
    b: f64,
    /// Host writes per closed block and unit of time: each live unit once on average.
    host: f64,
    /// Writes of a hot and of a cold unit per unit of time.
    rates: [f64; 2],
}

impl<'a> Model<'a> {
    fn new(of: &HotCold, states: &'a [(usize, usize)]) -> Model<'a> {
        let b = of.units_per_block as usize;
        let mut at = vec![usize::MAX; (b + 1) * (b + 1)];
        for (index, (hot, cold)) in states.iter().enumerate() {
            at[hot * (b + 1) + cold] = index;
        }
        let rates = [of.hot_writes / of.hot_data, (1.0 - of.hot_writes) / (1.0 - of.hot_data)];
        Model { states, at, b: b as f64, host: of.occupancy * b as f64, rates }
    }

    fn index(&self, hot: usize, cold: usize) -> usize {
        self.at[hot * (self.b as usize + 1) + cold]
    }

    /// Returns full blocks of each class, and empty ones for the rest.
    fn start(&self, of: &HotCold) -> Vec<f64> {
        let mut blocks = vec![0.0; self.states.len()];
        let b = of.units_per_block as usize;
        blocks[self.index(b, 0)] = of.occupancy * of.hot_data;
        blocks[self.index(0, b)] = of.occupancy * (1.0 - of.hot_data);
        blocks[self.index(0, 0)] = 1.0 - of.occupancy;
        blocks
    }

    /// Adds blocks that close full at `rate`, each of their units hot with probability `hot`.
    fn add_full(&self, hot: f64, rate: f64, into: &mut [f64]) {
        let b = self.b as usize;
        if hot <= 0.0 || hot >= 1.0 {
            into[if hot <= 0.0 { self.index(0, b) } else { self.index(b, 0) }] += rate;
            return;
        }
        // The probability of the most likely count may be tiny, but not that of every count: in logarithms.
        let log_odds = libm::log(hot) - libm::log(1.0 - hot);
        let mut log = self.b * libm::log(1.0 - hot);
        for count in 0..=b {
            into[self.index(count, b - count)] += rate * libm::exp(log);
            log += log_odds + libm::log((b - count) as f64) - libm::log((count + 1) as f64);
        }
    }

    /// Returns the distribution of victims over states.
    fn victims(&self, blocks: &[f64], choices: u32) -> Vec<f64> {
        let mut levels = vec![0.0; self.b as usize + 1];
        for (fraction, (hot, cold)) in blocks.iter().zip(self.states) {
            levels[hot + cold] += fraction;
        }
        let (mut sum, mut below) = (0.0, 0.0);
        let share: Vec<f64> = levels
            .iter()
            .map(|level| {
                sum += level;
                let at_most = 1.0 - libm::pow((1.0f64 - sum).max(0.0), f64::from(choices));
                let of_level = at_most - below;
                below = at_most;
                if *level > 0.0 { of_level / level } else { 0.0 }
            })
            .collect();
        blocks.iter().zip(self.states).map(|(fraction, (hot, cold))| fraction * share[hot + cold]).collect()
    }
}

/// The block that collection fills with the units of one victim after another.
struct Frontier {
    b: usize,
    /// Logarithms of factorials.
    log_factorials: Vec<f64>,
    /// Probability that a block closes with this many hot units.
    closed: Vec<f64>,
}

impl Frontier {
    fn new(b: usize) -> Frontier {
        let mut log_factorials = vec![0.0; b + 1];
        for n in 1..=b {
            log_factorials[n] = log_factorials[n - 1] + libm::log(n as f64);
        }
        Frontier { b, log_factorials, closed: vec![0.0; b + 1] }
    }

    fn choose(&self, of: usize, some: usize) -> f64 {
        self.log_factorials[of] - self.log_factorials[some] - self.log_factorials[of - some]
    }

    /// Adds to `into[k]` the probability, times `weight`, that `some` of `hot + cold` units have `k` hot ones.
    fn add_part(&self, (hot, cold): (usize, usize), some: usize, weight: f64, into: &mut [f64]) {
        let least = some.saturating_sub(cold);
        for (k, share) in (least..=hot.min(some)).zip(&mut into[least..]) {
            let ways = self.choose(hot, k) + self.choose(cold, some - k) - self.choose(hot + cold, some);
            *share += weight * libm::exp(ways);
        }
    }

    /// Computes `closed` for `victims`, the distribution over `states`.
    fn fill(&mut self, states: &[(usize, usize)], victims: &[f64]) {
        let (b, row) = (self.b, self.b + 1);
        let filled = || states.iter().zip(victims).filter(|((hot, cold), share)| hot + cold > 0 && **share > 1e-14);
        let shares: f64 = filled().map(|(_, share)| share).sum();
        let units: f64 = filled().map(|((hot, cold), share)| share * (hot + cold) as f64).sum();
        // Blocks begin anywhere in the sequence of victims: the first one is cut with probability by its size.
        let mut fills = vec![0.0; row * row];
        let mut cuts = vec![0.0; row * row];
        for (state, share) in filled() {
            let size = state.0 + state.1;
            for some in 1..=size {
                self.add_part(*state, some, share / units, &mut fills[some * row..(some + 1) * row]);
            }
            for some in 1..size {
                self.add_part(*state, some, share / shares, &mut cuts[some * row..(some + 1) * row]);
            }
        }
        self.closed.copy_from_slice(&fills[b * row..]);
        for n in 1..b {
            for h in 0..=n {
                let weight = fills[n * row + h];
                if weight < 1e-14 {
                    continue;
                }
                for ((hot, cold), share) in filled() {
                    if n + hot + cold < b {
                        fills[(n + hot + cold) * row + h + hot] += weight * share / shares;
                    } else if n + hot + cold == b {
                        self.closed[h + hot] += weight * share / shares;
                    }
                }
                for k in 0..=b - n {
                    self.closed[h + k] += weight * cuts[(b - n) * row + k];
                }
            }
        }
        let all: f64 = self.closed.iter().sum();
        self.closed.iter_mut().for_each(|share| *share /= all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, solve};

    fn case(hot_data: f64, hot_writes: f64) -> HotCold {
        HotCold { occupancy: 0.8, units_per_block: 16, choices: 4, hot_data, hot_writes }
    }

    #[test]
    fn classes_that_are_alike_are_uniform_data() {
        let uniform = solve(Policy::DChoices(4), 0.8, 16).unwrap().write_amplification;
        for steady in [case(0.3, 0.3).mixed().unwrap(), case(0.3, 0.3).separated().unwrap()] {
            for found in [steady.write_amplification, steady.by_class[0], steady.by_class[1]] {
                assert!((found / uniform - 1.0).abs() < 1e-6, "{found} against {uniform}");
            }
        }
    }

    #[test]
    fn separation_helps_skewed_data_that_mixing_hurts() {
        let uniform = solve(Policy::DChoices(4), 0.8, 16).unwrap().write_amplification;
        let (mixed, separated) = (case(0.1, 0.9).mixed().unwrap(), case(0.1, 0.9).separated().unwrap());
        assert!(mixed.write_amplification > 1.02 * separated.write_amplification, "{mixed:?} {separated:?}");
        assert!(separated.write_amplification < uniform, "{separated:?} {uniform}");
        assert!(mixed.by_class[0] < mixed.by_class[1], "cold units are copied more often: {mixed:?}");
    }

    #[test]
    fn swapping_the_classes_changes_nothing() {
        let (one, other) = (case(0.2, 0.7).mixed().unwrap(), case(0.8, 0.3).mixed().unwrap());
        assert!((one.write_amplification - other.write_amplification).abs() < 1e-6, "{one:?} {other:?}");
        assert!((one.by_class[0] - other.by_class[1]).abs() < 1e-6, "{one:?} {other:?}");
    }

    #[test]
    fn arguments_out_of_range_are_errors() {
        assert_eq!(case(0.0, 0.5).mixed(), Err(SteadyError::HotFraction(0.0)));
        assert_eq!(case(0.5, 1.0).separated(), Err(SteadyError::HotFraction(1.0)));
        assert_eq!(HotCold { occupancy: 1.0, ..case(0.5, 0.5) }.mixed(), Err(SteadyError::Occupancy(1.0)));
        assert_eq!(HotCold { choices: 0, ..case(0.5, 0.5) }.mixed(), Err(SteadyError::NoChoices));
        assert_eq!(HotCold { units_per_block: 257, ..case(0.5, 0.5) }.mixed(), Err(SteadyError::UnitsPerBlock(257)));
    }
}
