//! Contents of flash that no drive of a configuration leaves: those of a file whose checksums are right, and which some
//! other program has written.

use media::{Flash, PARITY, PageAddr, PlaneMask};
use sim::Streams;

use crate::Ftl;
use crate::config::{Config, ConfigError};
use crate::sizes::{self, HEADER};

/// Maximum sequence number: at a million programs a second, that of 280 years.
const SEQUENCE_MAX: u64 = 1 << 53;
/// Maximum number of erases of a block.
const ERASES_MAX: u32 = 1 << 31;

impl Ftl {
    /// Returns the first contents of `flash` that a drive of this configuration cannot have left, if there are any. A
    /// [`mount`](Self::mount) of other flash does not fail.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn contradiction(
        config: &Config,
        flash: &impl Flash,
        streams: &Streams,
    ) -> Result<Option<String>, ConfigError> {
        let ftl = Ftl::empty(config.clone(), streams)?;
        let g = &ftl.config.geometry;
        for block in 0..ftl.layout.all_blocks() {
            for position in 0..ftl.layout.per_row {
                let at = ftl.layout.block_at(block, position);
                let mut pages = None;
                for plane in at.planes.iter() {
                    let info = flash.block(at.die, plane, at.block);
                    let place = || format!("die {}, plane {plane}, block {}", at.die, at.block);
                    if info.erases > ERASES_MAX {
                        return Ok(Some(format!("{} erases of {}", info.erases, place())));
                    }
                    let is_counted = !info.bad && !info.torn;
                    if is_counted && pages.replace(info.programmed).is_some_and(|other| other != info.programmed) {
                        return Ok(Some(format!(
                            "{} pages of {}, others than of its planes",
                            info.programmed,
                            place()
                        )));
                    }
                    if info.programmed > 0 && info.slc && ftl.config.slc.is_none() {
                        return Ok(Some(format!("SLC mode of {}", place())));
                    }
                    if flash.is_laid_out(at.die, plane, at.block) {
                        continue;
                    }
                    for page in 0..info.programmed.min(g.pages) {
                        let page = PageAddr { die: at.die, planes: PlaneMask::one(plane), block: at.block, page };
                        if let Some(what) = ftl.contradiction_in(flash, page, plane) {
                            return Ok(Some(format!("{what} of {}, page {}", place(), page.page)));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    fn contradiction_in(&self, flash: &impl Flash, page: PageAddr, plane: u32) -> Option<String> {
        let logical = flash.logical(page, plane);
        if logical.is_empty() {
            return None;
        }
        let sequence = self.space.placement.sequence(flash.sequence(page, plane));
        if sequence > SEQUENCE_MAX {
            return Some(format!("sequence {sequence}"));
        }
        let first = self.config.user_units;
        for (at, unit) in (0..).zip(logical).filter(|(_, unit)| **unit < PARITY) {
            if !self.map.table.holds(*unit) {
                return Some(format!("logical unit {unit}"));
            }
            let is_journal = (first..first + sizes::journal_units(&self.config)).contains(unit);
            if is_journal && !self.is_journal_page(unit - first, flash.note(page, plane, at)) {
                return Some(format!("list of trimmed units {}", unit - first));
            }
        }
        None
    }

    /// Returns true if `note` is a page of the trim journal for this region.
    fn is_journal_page(&self, region: u32, note: &[u8]) -> bool {
        let units = sizes::region_units(&self.config);
        let Some((head, bits)) = note.split_at_checked(HEADER as usize) else { return false };
        let sequence = head.try_into().map_or(u64::MAX, u64::from_le_bytes);
        let end = self.config.user_units - (region * units).min(self.config.user_units);
        let is_inside = |bit: u32| bits[bit as usize / 8] >> (bit % 8) & 1 == 0 || bit < end;
        sequence <= SEQUENCE_MAX && bits.len() as u32 == units / 8 && (0..units / 8 * 8).all(is_inside)
    }
}
