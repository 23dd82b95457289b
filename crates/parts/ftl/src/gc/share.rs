//! Collection on a drive that caches a part of its map: copies, writes of the map and host writes share space and time.
//!
//! A copy gives its unit a new address. If the entry of the unit is not cached, a page of the map is loaded and written
//! in exchange, which takes space as a host write does. Three rules keep these pages from stopping the host:
//!
//! - Copies wait while many changes of the map do, as host writes do.
//! - The map is written even if host writes wait for copies: it goes on while the host may not.
//! - A parallel unit that is short of space lets the host program a *share* of the space that it gains, and the map and
//!   the recovery take the rest. The deeper the shortage, the smaller the share. Victims differ: blocks of data give back
//!   a tenth of their units, and blocks of superseded map pages almost all. So the gain is taken per copy and averaged
//!   over several blocks.

use crate::gc::Collector;
use crate::gc::victims::Totals;
use crate::sizes::SYSTEM_SLOTS;
use crate::{Actions, Ftl};

/// Blocks over whose copies the gain is averaged. Assumed: two or three rounds of victims; plausible from 4 to 16.
const AVERAGED: u64 = 8;

/// Least share of the gained space that host writes get. Assumed: they slow down, and never stop; plausible to 1/16.
pub(crate) const LEAST: f64 = 1.0 / 64.0;

/// Copies that all parallel units together may have in flight while the map misses many entries, unless this is less than
/// two programs each. Assumed: four times as many as pages of the map may wait to be programmed.
const COPIES: u32 = 4 * SYSTEM_SLOTS;

/// What host writes may program in a parallel unit that is short of space.
#[derive(Default)]
pub(crate) struct Share {
    /// Totals of its victims at the last update.
    seen: Totals,
    /// Units gained and copied recently.
    recent: Totals,
    /// Units that host writes may program.
    credit: f64,
}

impl Share {
    /// Returns true if host writes may program `units`.
    #[inline]
    pub(super) fn allows(&self, units: i64) -> bool {
        self.credit >= units as f64
    }

    /// Adds the part `share` of the space gained by the copies since the last update, in blocks of `block` units. At most
    /// `most` units are saved up.
    fn update(&mut self, totals: Totals, share: f64, block: u64, most: f64) {
        let (gained, copied) = (totals.gained - self.seen.gained, totals.copied - self.seen.copied);
        self.seen = totals;
        self.recent.gained += gained;
        self.recent.copied += copied;
        if self.recent.copied > AVERAGED * block {
            self.recent = Totals { gained: self.recent.gained / 2, copied: self.recent.copied / 2 };
        }
        let gain = self.recent.gained as f64 / self.recent.copied.max(1) as f64;
        self.credit = (self.credit + copied as f64 * gain * share).min(most);
    }

    /// Subtracts `units` that host writes programmed.
    fn spend(&mut self, units: u64) {
        self.credit = (self.credit - units as f64).max(0.0);
    }
}

/// Returns the share of host writes where a parallel unit is short of its target by the slack and the part `depth` of what
/// is left to it then.
fn share_at(depth: f64) -> f64 {
    // The square is calibrated: of the linear share, the square and the cube, the square gave the presets that cache a
    // part of their map, at 1/64 of their size, the shortest pauses for their rate.
    let left = (1.0 - depth).max(0.0);
    (left * left).max(LEAST)
}

/// Inverts [`share_at`] for a share of at least [`LEAST`].
pub(crate) fn depth_of(share: f64) -> f64 {
    1.0 - share.sqrt()
}

impl Collector {
    /// Counts `units` of host data that were programmed in `pu`.
    #[inline]
    pub(crate) fn spend(&mut self, pu: u32, units: u64) {
        if self.pace.depth != 0 {
            self.units[pu as usize].share.spend(units);
        }
    }
}

impl Ftl {
    /// Gives host writes their share of the space that copies of `pu` gained.
    #[inline]
    pub(super) fn update_share(&mut self, pu: u32) {
        if self.gc.pace.depth != 0 {
            self.update_share_of_short(pu);
        }
    }

    fn update_share_of_short(&mut self, pu: u32) {
        let behind = (self.shortage(pu) - self.gc.pace.slack).max(0) as f64;
        let share = share_at(behind / self.gc.pace.depth as f64);
        // A program on each die of the parallel unit.
        let most = f64::from(self.layout.program_units * self.layout.per_row);
        let unit = &mut self.gc.units[pu as usize];
        let block = u64::from(self.layout.data_units);
        unit.share.update(unit.victims.totals(), share, block, most);
    }

    /// Returns the number of copies that a parallel unit with a quota of `quota` may have in flight at present.
    #[inline]
    pub(super) fn most_copies(&self, quota: u32) -> u32 {
        if self.map.misses() { quota.min(COPIES / self.layout.parallel_units) } else { quota }
    }

    /// Returns true if copies wait until changes of the map are written. Where these lack the space that copies give, or
    /// nothing else is in progress, copies go on.
    #[inline]
    pub(super) fn copies_wait(&self) -> bool {
        self.map.holds_writes() && !self.space.host_room.waits_for_erase() && self.operations.active() > 0
    }

    /// Lets copies that waited for the map go on.
    pub(crate) fn resume_copies(&mut self, out: &mut Actions) {
        if self.gc.waits && !self.copies_wait() {
            self.gc.waits = false;
            (0..self.layout.parallel_units).for_each(|pu| self.gc.short.add(pu));
            self.collect_short(out);
        }
    }

    /// Lets copies that waited for the map go on if no operation is left whose end would do so.
    #[inline]
    pub(crate) fn resume_last_copies(&mut self, out: &mut Actions) {
        if self.gc.waits && self.operations.active() == 0 {
            self.dispatch(out);
        }
    }

    /// Writes the map while host writes wait for copies. With placement the map waits with the data of its handle.
    pub(crate) fn write_map(&mut self, out: &mut Actions) {
        let whole = self.layout.program_units;
        while self.map.holds_writes() && self.space.host_room.is_paced() && !self.space.placement.is_on() {
            if self.buffer.dirty.len_of_system() < whole {
                return;
            }
            let Some(room) = self.map_room() else { return };
            self.buffer.dirty.put_system_first(&mut self.buffer.slots, room.units);
            self.program_dirty(room, out);
            self.pace(room.pu, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use media::Geometry;
    use sim::Streams;
    use testkit::flash::SimpleFlash;

    use super::*;
    use crate::config::{Config, Eviction, MapCache, Policy};
    use crate::gc::victim::tests::config;

    fn totals(gained: u64, copied: u64) -> Totals {
        Totals { gained, copied }
    }

    #[test]
    fn the_host_gets_its_share_of_the_average_gain_of_a_copy() {
        let mut share = Share::default();
        share.update(totals(10, 90), 0.5, 100, 64.0);
        assert!(share.allows(5) && !share.allows(6));
        share.spend(3);
        // A victim that gives back much for few copies: each copy counts (10 + 90) / (90 + 10).
        share.update(totals(100, 100), 0.5, 100, 64.0);
        assert!(share.allows(7) && !share.allows(8));
    }

    #[test]
    fn credit_is_neither_hoarded_nor_negative() {
        let mut share = Share::default();
        share.update(totals(1000, 100), 1.0, 100, 64.0);
        assert!(share.allows(64) && !share.allows(65));
        share.spend(100);
        assert!(share.allows(0) && !share.allows(1));
    }

    #[test]
    fn the_first_update_needs_no_copy() {
        let mut share = Share::default();
        share.update(totals(0, 0), 1.0, 100, 64.0);
        assert!(share.allows(0) && !share.allows(1));
        share.update(totals(50, 50), 1.0, 100, 64.0);
        assert!(share.allows(50) && !share.allows(51));
    }

    /// Returns a new drive whose map is larger than its cache, with `system` dirty map pages, of which eight exist.
    fn drive_with_dirty_map(system: u32) -> Ftl {
        let map =
            MapCache { frames: 1, frame_units: 1, updates: 0, eviction: Eviction::Lru, entries: Some(1), warm: false };
        let plain = config(Policy::Greedy);
        let geometry = Geometry { blocks: 64, ..plain.geometry };
        let config = Config { user_units: 1000, map_cache: Some(map), geometry, ..plain };
        let flash = SimpleFlash::new(config.geometry);
        let first = config.user_units + crate::sizes::journal_units(&config);
        let (mut ftl, _) = Ftl::mount(config, &flash, &Streams::new(1)).expect("a valid configuration");
        for page in 0..system {
            ftl.system_slot(first + page).expect("few are dirty");
        }
        ftl
    }

    #[test]
    fn the_map_is_written_in_whole_programs_while_host_writes_wait_for_it_and_for_copies() {
        for system in 0..=8 {
            for (changes, paced) in [(SYSTEM_SLOTS + 2, true), (SYSTEM_SLOTS + 1, true), (SYSTEM_SLOTS + 2, false)] {
                let mut ftl = drive_with_dirty_map(system);
                let (whole, mut out) = (ftl.layout.program_units, Actions::default());
                (0..changes).for_each(|unit| ftl.map_written(unit, &mut out));
                if paced {
                    ftl.space.host_room.stall(true);
                }
                ftl.write_map(&mut out);
                // The cache holds one change, and as many as there are slots may wait.
                let written = if paced && changes > SYSTEM_SLOTS + 1 { system / whole * whole } else { 0 };
                assert_eq!(
                    ftl.stats.programmed_system,
                    u64::from(written),
                    "{system} pages, {changes} changes, {paced}"
                );
                assert_eq!(ftl.buffer.dirty.len_of_system(), system - written);
            }
        }
    }
}
