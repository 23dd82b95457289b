//! Checks of a configuration, which concern every part of the layer.

use crate::config::{Config, ConfigError, Group, Isolation, ReadCopies};
use crate::gc::pacing::START_MIN;
use crate::layout::{Layout, UNITS_MAX};
use crate::space::placement::HANDLES_MAX;

/// Maximum bytes of a mapping unit.
const UNIT_MAX: u32 = 64 << 10;

impl Config {
    /// Checks that the settings are consistent, and leave collection enough spare space for any write pattern.
    ///
    /// # Errors
    /// Describes the first problem found.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fail = |text: String| Err(ConfigError(text));
        if let Some(fault) = self.geometry.fault() {
            return fail(fault);
        }
        let unit_bytes = self.geometry.unit_bytes;
        if !unit_bytes.is_power_of_two() || unit_bytes > UNIT_MAX {
            return fail(format!("unit is {unit_bytes} bytes, expected a power of two from 512 to {UNIT_MAX}"));
        }
        let layout = Layout::new(self);
        if layout.page_units > UNITS_MAX {
            return fail(format!("{} units per page, expected at most {UNITS_MAX}", layout.page_units));
        }
        if self.user_units == 0 {
            return fail("user capacity is zero, expected at least one unit".to_owned());
        }
        self.check_parity(&layout)?;
        let slots = crate::sizes::slots(self, &layout);
        let all = crate::sizes::all_units(self);
        let physical = u64::from(layout.all_blocks()) * u64::from(layout.block_units);
        if all.max(physical) + slots + 1 >= u64::from(u32::MAX) {
            return fail(format!(
                "{} mapping units and {slots} buffers exceed 32-bit unit numbers: use a larger mapping unit",
                all.max(physical)
            ));
        }
        if let Some(memory) = &self.host_memory {
            if memory.map_frames > 0 && self.map_cache.is_none() {
                return fail("host memory is to hold map frames, but the controller holds the whole map".to_owned());
            }
            if memory.read + memory.write > 0 && self.buffers.shared {
                return fail("a cache shared by reads and writes cannot use host memory".to_owned());
            }
            if memory.write > 0 && self.buffers.protected {
                return fail("data protected against power loss cannot be kept in host memory".to_owned());
            }
        }
        if self.map_cache.is_some_and(|map| !map.frame_units.is_power_of_two()) {
            return fail("a frame of the map cache must hold a power of two of translation units".to_owned());
        }
        if self.map_cache.is_some_and(|map| map.entries.is_some())
            && self.host_memory.is_some_and(|memory| memory.map_frames > 0)
        {
            return fail(
                "the map cache holds single entries, but host memory can only hold whole translation units".to_owned(),
            );
        }
        if let Some(ReadCopies { blocks, units }) = self.read_copies {
            if self.slc.is_none_or(|slc| slc.blocks < blocks) {
                return fail(format!(
                    "{blocks} blocks per plane are set aside for read copies, more than the SLC cache has"
                ));
            }
            if blocks * layout.parallel_units < 2 || units == 0 {
                return fail(format!(
                    "{units} read copies in {blocks} blocks per plane, expected at least one copy and two blocks"
                ));
            }
        }
        self.check_placement()?;
        if self.collection.start < START_MIN {
            let start = self.collection.start;
            return fail(format!("collection starts at {start} free blocks, expected at least {START_MIN}"));
        }
        if self.collection.batch == 0 {
            return fail("collection reads batches of 0 pages, expected at least 1".to_owned());
        }
        let slc_blocks = self.slc.map_or(0, |s| s.blocks);
        let main_blocks = self.geometry.blocks.saturating_sub(slc_blocks);
        let spare = u64::from(self.collection.start + crate::space::parallel_unit::write_points(self));
        // Some block then always has a program's worth of space to gain, however superseded units are distributed.
        let filled = layout.data_units - layout.program_units;
        let room = u64::from(main_blocks).saturating_sub(spare) * u64::from(filled) * u64::from(layout.parallel_units);
        if all > room {
            return fail(format!(
                "{all} logical units, but the flash holds {room} with {spare} spare blocks per parallel unit, \
                 {slc_blocks} SLC blocks per plane, and one program of each block set aside for collection: \
                 less capacity or more flash is needed"
            ));
        }
        Ok(())
    }

    /// Checks that every path of a write leads to the blocks of its handle.
    fn check_placement(&self) -> Result<(), ConfigError> {
        let Some(placement) = self.placement else { return Ok(()) };
        let fail = |text: String| Err(ConfigError(text));
        if placement.isolation == Isolation::Off {
            return fail("reclaim unit handles without isolation, expected initial or persistent".to_owned());
        }
        if !(2..=HANDLES_MAX).contains(&placement.handles) {
            return fail(format!("{} reclaim unit handles, expected 2 to {HANDLES_MAX}", placement.handles));
        }
        if self.slc.is_some() {
            return fail("an SLC cache would mix the data of reclaim unit handles".to_owned());
        }
        if self.host_memory.is_some_and(|memory| memory.write > 0) {
            return fail("data of reclaim unit handles cannot wait in host memory".to_owned());
        }
        Ok(())
    }

    /// Checks that a stripe lies on as many dies as it has programs, and that stripes divide a block evenly.
    fn check_parity(&self, layout: &Layout) -> Result<(), ConfigError> {
        let Some(data) = self.parity else { return Ok(()) };
        let fail = |text: String| Err(ConfigError(text));
        if layout.program_units > UNITS_MAX {
            let units = layout.program_units;
            return fail(format!("{units} units per program of a stripe, expected at most {UNITS_MAX}"));
        }
        let dies = self.geometry.all_dies();
        if self.group != Group::Drive || layout.per_row != dies {
            return fail("parity requires blocks over all dies and programs over all planes of a die".to_owned());
        }
        if data == 0 || data >= dies {
            return fail(format!(
                "{data} data programs share a parity program, expected at least 1 and fewer than the {dies} dies"
            ));
        }
        let slc = self.slc.map_or(layout.block_programs, |slc| layout.pages / slc.bits * layout.per_row);
        for programs in [layout.block_programs, slc] {
            if !programs.is_multiple_of(data + 1) {
                return fail(format!(
                    "stripes of {} programs do not evenly divide the {programs} programs of a block",
                    data + 1
                ));
            }
        }
        Ok(())
    }
}
