//! The order in which a sequential write job leaves the live units of a drive in flash.
//!
//! User units are consecutive. If the controller caches only a part of the map, the job evicts one translation unit
//! each time it has written the number of units that one maps, lagging by the size of the cache; these translation
//! units lie among the user units. The flush at the end pads the last program; the rest of the map follows when the
//! drive is switched off.
//!
//! A write-back cache packs a translation unit with user data. A write-through cache completes each request, so that
//! the translation unit costs a separate program. The job writes requests of [`REQUEST`] bytes.

use crate::config::Config;
use crate::laid;
use crate::layout::{Divisor, Layout};
use crate::sizes;

/// Request size of the job in bytes.
const REQUEST: u32 = 128 << 10;

/// Positions of the live units (the user's, then the map's) in the stream of units that the job programs.
pub(super) struct LaidStream {
    user_units: u32,
    live: u32,
    /// User units before the first translation unit, and between consecutive ones.
    first: u32,
    every: u32,
    /// Positions that a translation unit occupies among user units, and the period of the two together.
    width: u32,
    stride: Divisor,
    /// Number of translation units among the user units.
    evicted: u32,
    /// Start of the rest of the map, after the last program of user data.
    rest: u32,
}

impl LaidStream {
    pub(super) fn new(config: &Config, layout: &Layout) -> LaidStream {
        let (user_units, live) = (config.user_units, laid::live_units(config));
        let every = sizes::map_entries(config);
        let request = (REQUEST / config.geometry.unit_bytes).clamp(1, config.buffers.write.max(1));
        let program = layout.program_units;
        // The unit whose program triggers the eviction; its program ends with a request, and the translation unit is
        // next.
        let first = sizes::units_cached(config)
            .map(|cached| (cached + 1).next_multiple_of(program.into()).next_multiple_of(request.into()))
            .filter(|first| *first <= user_units.into())
            .map(|first| first as u32);
        let evicted = first.map_or(0, |first| (user_units - first) / every + 1);
        let width = if config.buffers.write_back || config.buffers.protected { 1 } else { program };
        LaidStream {
            user_units,
            live,
            first: first.unwrap_or(user_units),
            every,
            width,
            stride: Divisor::new(every + width),
            evicted,
            rest: (user_units + evicted * width).next_multiple_of(program),
        }
    }

    /// Returns the number of positions, including empty ones.
    pub(super) fn len(&self) -> u32 {
        self.rest + (self.live - self.user_units - self.evicted)
    }

    /// Returns the number of positions of user data and the units among it: whole programs.
    pub(super) fn data(&self) -> u32 {
        self.rest
    }

    /// Returns the position of live unit `live`.
    #[inline]
    pub(super) fn position(&self, live: u32) -> u32 {
        let Some(t) = live.checked_sub(self.user_units) else {
            if self.evicted == 0 || live < self.first {
                return live;
            }
            let before = ((live - self.first) / self.every + 1).min(self.evicted);
            return live + before * self.width;
        };
        if t < self.evicted { self.first + t * (self.every + self.width) } else { self.rest + t - self.evicted }
    }

    /// Returns the live unit at `position`, if any.
    #[inline]
    pub(super) fn live(&self, position: u32) -> Option<u32> {
        if position >= self.rest {
            let live = position - self.rest + self.user_units + self.evicted;
            return (live < self.live).then_some(live);
        }
        let live = if self.evicted == 0 || position < self.first {
            position
        } else {
            let (t, within) = self.stride.divide(position - self.first);
            match within.checked_sub(self.width) {
                _ if t >= self.evicted => position - self.evicted * self.width,
                Some(behind) => self.first + t * self.every + behind,
                None => return (within == 0).then_some(self.user_units + t),
            }
        };
        (live < self.user_units).then_some(live)
    }

    /// Iterates over the programs of `units` units that are not full, each with its number of empty positions.
    pub(super) fn padded(&self, units: u32) -> impl Iterator<Item = (u32, u32)> {
        let among = (0..if self.width > 1 { self.evicted } else { 0 }).map(move |t| self.position(self.user_units + t));
        let ends = [self.rest.saturating_sub(1), self.len().saturating_sub(1)];
        let mut programs: Vec<u32> =
            among.flat_map(|at| [at, at + self.width - 1]).chain(ends).map(|at| at / units).collect();
        programs.sort_unstable();
        programs.dedup();
        programs.into_iter().filter_map(move |program| {
            let empty = (program * units..(program + 1) * units).filter(|at| self.live(*at).is_none()).count() as u32;
            (empty > 0).then_some((program, empty))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_are_a_bijection_and_padding_is_the_rest(
            user_units in 1u32..3000,
            map in 0u32..40,
            first in 0u32..2000,
            every in 1u32..200,
            wide in any::<bool>(),
            program in 1u32..20,
        ) {
            let (first, width) = (first.min(user_units), if wide { program } else { 1 });
            let evicted = map.min((user_units - first) / every + 1);
            let stream = LaidStream {
                user_units,
                live: user_units + map,
                first,
                every,
                width,
                stride: Divisor::new(every + width),
                evicted,
                rest: (user_units + evicted * width).next_multiple_of(program),
            };
            let mut held = vec![false; stream.len().next_multiple_of(program) as usize];
            for live in 0..user_units + map {
                let at = stream.position(live);
                prop_assert!(!std::mem::replace(&mut held[at as usize], true));
                prop_assert_eq!(stream.live(at), Some(live));
            }
            for (at, held) in (0..).zip(&held) {
                prop_assert_eq!(stream.live(at).is_some(), *held, "position {}", at);
            }
            let mut empty = vec![0; held.len() / program as usize];
            (0..).zip(&held).filter(|(_, held)| !**held).for_each(|(at, _): (u32, _)| empty[(at / program) as usize] += 1);
            let expected: Vec<_> = (0..).zip(empty).filter(|(_, empty)| *empty > 0).collect();
            prop_assert_eq!(stream.padded(program).collect::<Vec<(u32, u32)>>(), expected);
        }
    }
}
