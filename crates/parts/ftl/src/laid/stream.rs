//! The order in which a job of sequential writes leaves the live units of a drive in flash.
//!
//! The user's units follow one another. Where the controller caches a part of the map, the job evicts a translation unit
//! each time it has written as many units as one maps, a cache's worth behind what it writes: these lie among the user's.
//! The flush at the end pads its last program; the rest of the map follows when the drive is switched off.
//!
//! A write-back cache packs a translation unit with user's data. A write-through one completes each request, so that the
//! translation unit costs a program of its own. The job writes requests of [`REQUEST`] bytes.

use crate::config::Config;
use crate::layout::{Divisor, Layout};
use crate::{laid, map_frames};

/// Bytes of a request of the job.
const REQUEST: u32 = 128 << 10;

/// Positions of the live units (the user's, then the map's) in the stream of units that the job programs.
pub(super) struct LaidStream {
    user_units: u32,
    live: u32,
    /// User's units before the first translation unit, and from each to the next.
    first: u32,
    every: u32,
    /// Positions that a translation unit takes among the user's, and the two together.
    width: u32,
    stride: Divisor,
    /// Translation units among the user's.
    evicted: u32,
    /// Where the rest of the map begins: behind the last program of user's data.
    rest: u32,
}

impl LaidStream {
    pub(super) fn new(config: &Config, layout: &Layout) -> LaidStream {
        let (user_units, live) = (config.user_units, laid::live_units(config));
        let every = map_frames::entries(config);
        let request = (REQUEST / config.geometry.unit_bytes).clamp(1, config.buffers.write.max(1));
        let program = layout.program_units;
        // The unit whose program makes the cache evict; its program ends with a request, and the translation unit is next.
        let first = map_frames::units_cached(config)
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

    /// Positions, those that hold nothing included.
    pub(super) fn len(&self) -> u32 {
        self.rest + (self.live - self.user_units - self.evicted)
    }

    /// Positions of the user's data and of what lies among it: whole programs.
    pub(super) fn data(&self) -> u32 {
        self.rest
    }

    /// Where live unit `live` is.
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

    /// The live unit at `position`, if there is one.
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

    /// Programs of `units` units that are not full, each with the positions of it that hold nothing.
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
