//! Contents of flash that no zoned drive of a configuration leaves: those of a file whose checksums are right, and which
//! some other program has written.

use media::{Flash, PageAddr};

use crate::ftl::config::{ConfigError, ZonedFtlConfig};
use crate::ftl::durability::log::Head;
use crate::ftl::space::layout::Program;
use crate::ftl::{ZonedFtl, split_stamp};

/// Half of the numbers that a spare area has room for, so that a drive that begins with them can go on.
const SEQUENCE_MAX: u64 = 1 << 38;
const GENERATION_MAX: u32 = 1 << 23;
/// Maximum number of erases of a block.
const ERASES_MAX: u32 = 1 << 31;

impl ZonedFtl {
    /// Returns the first contents of `flash` that a drive of this configuration cannot have left, if there are any. A
    /// [`mount`](Self::mount) of other flash does not fail.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn contradiction(config: &ZonedFtlConfig, flash: &impl Flash) -> Result<Option<String>, ConfigError> {
        let ftl = ZonedFtl::empty(config.clone())?;
        let g = &config.geometry;
        for die in 0..g.all_dies() as u16 {
            for block in 0..g.blocks {
                let infos = || (0..g.planes).map(|plane| flash.block(die, plane, block));
                let place = format!("die {die}, block {block}");
                if let Some(info) = infos().find(|info| info.erases > ERASES_MAX) {
                    return Ok(Some(format!("{} erases of {place}", info.erases)));
                }
                if infos().any(|info| info.bad || info.torn) || flash.is_laid_out(die, 0, block) {
                    continue;
                }
                let programmed = infos().map(|info| info.programmed).max().unwrap_or(0);
                if infos().any(|info| info.programmed != programmed) {
                    return Ok(Some(format!("pages of {place}, others than of its planes")));
                }
                if infos().any(|info| programmed > 0 && info.slc) {
                    return Ok(Some(format!("SLC mode of {place}")));
                }
                for page in 0..programmed {
                    let at = ftl.layout.page(die, block, page);
                    if let Some(what) = ftl.contradiction_in(flash, at) {
                        return Ok(Some(format!("{what} of {place}, page {page}")));
                    }
                }
            }
        }
        Ok(None)
    }

    fn contradiction_in(&self, flash: &impl Flash, at: PageAddr) -> Option<String> {
        let planes = 0..self.config.geometry.planes;
        if !planes.clone().all(|plane| flash.readable(at, plane)) {
            return None;
        }
        for plane in planes {
            let (generation, sequence, _) = split_stamp(flash.sequence(at, plane));
            if generation > GENERATION_MAX || sequence > SEQUENCE_MAX {
                return Some(format!("generation {generation}, sequence {sequence}"));
            }
        }
        let first = flash.logical(PageAddr { page: 0, ..at }, 0).first().copied();
        if first == Some(self.layout.user_units) {
            let is_record = Head::read(flash.note(at, 0, 0)).is_some_and(|head| self.is_record(head));
            return (!is_record).then(|| "record".to_owned());
        }
        let unit = flash.logical(at, 0)[0];
        (at.page == 0 && !self.is_first_unit(unit, at.die)).then(|| format!("logical unit {unit}"))
    }

    /// Returns true if a record of the log can have this head.
    fn is_record(&self, head: Head) -> bool {
        let end = head.first.checked_add(head.count);
        head.zone < self.config.zones.zones
            && head.generation <= GENERATION_MAX
            && end.is_some_and(|end| end <= self.layout.capacity)
            && head.count < self.layout.program_units
    }

    /// Returns true if a block of `die` can begin with this unit.
    fn is_first_unit(&self, unit: u32, die: u16) -> bool {
        let (zone, within) = self.layout.split(unit);
        let Program { column, page, .. } = self.layout.program(within / self.layout.program_units);
        unit < self.layout.user_units
            && zone < self.config.zones.zones
            && within < self.layout.capacity
            && within.is_multiple_of(self.layout.program_units)
            && page == 0
            && self.layout.die(zone, column) == die
    }
}
