//! The parts of the map that a long run of random overwrites holds in RAM: those that changed last, newer than in flash, and
//! the changes that wait.

use sim::Rng;

use crate::map::Map;
use crate::map::frames::{ABSENT, MapCache};

/// Maximum number of changes that are drawn, which takes about a second: the cache of a map of many terabytes is held
/// only in part.
const DRAWS_MAX: u64 = 10_000_000;

impl Map {
    /// Caches random changes until nothing of the earlier contents is left. The parts that they displace are taken as
    /// written back.
    pub(crate) fn hold_changes(&mut self, rng: &mut Rng) {
        let Some(cache) = &mut self.cache else { return };
        for _ in 0..cache.turnover().min(DRAWS_MAX) {
            cache.hold_change(rng.below(u64::from(cache.user_units())) as u32);
        }
    }
}

impl MapCache {
    /// Returns the number of random changes that replace the contents: three times as many as fit or wait, by the part of the
    /// changes that bring something in, or three of each part of the map (of a part drawn at random, e^-3 stays unchanged).
    fn turnover(&self) -> u64 {
        let (all, fit) = match &self.entries {
            Some(entries) => (u64::from(self.user_units()), u64::from(entries.capacity())),
            None => (self.count() as u64, self.fit()),
        };
        let missing = all.saturating_sub(fit).max(1) as f64 / all as f64;
        let held = fit.min(all) + u64::from(self.pending.max());
        3 * all.min((held as f64 / missing) as u64)
    }

    /// Changes the entry of `unit`.
    fn hold_change(&mut self, unit: u32) {
        let t = self.translation(unit).expect("a user unit");
        if self.entries.is_some() {
            return self.hold_entry(unit);
        }
        let state = self.state[t as usize];
        self.misses.count(state == ABSENT);
        if state != ABSENT {
            self.dirty[t as usize] = true;
            self.touch(state);
        } else if let Some(wanted) = self.pending.note(t) {
            self.insert(wanted, true);
            while let Some(frame) = self.surplus() {
                for t in self.span(frame).filter(|t| self.state[*t as usize] == frame) {
                    self.dirty[t as usize] = false;
                }
                self.drop_frame(frame);
            }
        }
    }

    fn hold_entry(&mut self, unit: u32) {
        let entries = self.entries.as_mut().expect("called only if entries are cached");
        let cached = entries.look_up(unit);
        entries.insert(unit, true);
        self.misses.count(!cached);
        while let Some((unit, dirty)) = self.entries.as_mut().and_then(|entries| entries.surplus()) {
            let t = self.translation(unit).expect("a user unit");
            let entries = self.entries.as_mut().expect("there are entries");
            if dirty {
                entries.clean(t);
            }
            entries.remove(unit);
        }
    }
}
