//! Configuration of the translation layer of a zoned drive.

use crate::Config as ZonesConfig;
use crate::section::Times;
use media::Geometry;

/// Configuration of a zoned drive's translation layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZonedFtlConfig {
    /// The zones; a logical block is a mapping unit of the flash.
    pub zones: ZonesConfig,
    /// The flash.
    pub geometry: Geometry,
    /// Number of dies over which a zone is spread.
    pub dies: u32,
    /// Write buffer, in units.
    pub write: u32,
    /// Writes are acknowledged when their data is in the buffer, not when it is durable.
    pub write_back: bool,
    /// The buffer survives a power cut.
    pub protected: bool,
    /// Maximum number of programs in progress that fill a zone that is being finished.
    pub finish_depth: u32,
    /// Controller time of zone management.
    pub times: Times,
    /// Number of host commands that may be in progress.
    pub tags: u32,
    /// Payload is kept, so that data must be moved.
    pub moves: bool,
}

/// Reason why a zoned drive cannot be configured as requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl ZonedFtlConfig {
    /// Returns the number of units of a program, which concerns all planes of a die.
    pub fn program_units(&self) -> u32 {
        self.geometry.units_per_page() * self.geometry.planes
    }

    /// Returns the number of blocks (of all planes) that a zone uses on each of its dies.
    pub fn blocks_per_die(&self) -> u32 {
        let row = u64::from(self.program_units()) * u64::from(self.dies);
        let rows = self.zones.capacity.div_ceil(row);
        rows.div_ceil(u64::from(self.geometry.pages)) as u32
    }

    /// Returns the number of blocks of a die that the zones use if all are written.
    pub fn used_blocks(&self) -> u64 {
        let columns = u64::from(self.zones.zones) * u64::from(self.dies);
        columns.div_ceil(u64::from(self.geometry.all_dies())) * u64::from(self.blocks_per_die())
    }

    /// Returns the maximum number of active zones.
    pub fn active_max(&self) -> u32 {
        self.zones.active_max.unwrap_or(self.zones.zones)
    }

    /// Returns the number of blocks with which the log holds the ends of all active zones: more, and it is compacted.
    pub fn log_blocks(&self) -> u32 {
        self.active_max().div_ceil(self.geometry.pages) + 3
    }

    /// Returns the number of blocks of a die that zones must leave: for the log, also that of before a power cut, and to
    /// replace blocks.
    pub fn spare_blocks(&self) -> u32 {
        2 * self.log_blocks() + 2
    }

    /// Returns the maximum number of units that stay in the write buffer because they do not fill a program.
    pub fn waiting_units(&self) -> u64 {
        u64::from(self.active_max()) * u64::from(self.program_units() - 1)
    }

    /// Returns the maximum number of units of a write.
    pub fn write_max(&self) -> u32 {
        (u64::from(self.write).saturating_sub(self.waiting_units())) as u32
    }

    /// Checks that the zones fit the flash, and that the buffer suffices.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.zones.check().map_err(|error| ConfigError(error.to_string()))?;
        if let Some(fault) = self.geometry.fault() {
            return Err(ConfigError(fault));
        }
        let all_dies = self.geometry.all_dies();
        if !(1..=all_dies).contains(&self.dies) {
            return Err(ConfigError(format!("zones are spread over {} dies, expected 1 to {all_dies}", self.dies)));
        }
        if self.zones.blocks() >= u64::from(media::PARITY) {
            return Err(ConfigError(format!(
                "zones of {} mapping units, expected less than {}: a larger unit maps a larger drive",
                self.zones.blocks(),
                media::PARITY
            )));
        }
        let (used, blocks) = (self.used_blocks(), u64::from(self.geometry.blocks));
        if used + u64::from(self.spare_blocks()) > blocks {
            return Err(ConfigError(format!(
                "the zones use {used} of {blocks} blocks of each plane, expected at most {}: {} are spare",
                blocks.saturating_sub(u64::from(self.spare_blocks())),
                self.spare_blocks()
            )));
        }
        let least = self.waiting_units() + u64::from(self.program_units());
        if u64::from(self.write) < least {
            return Err(ConfigError(format!(
                "the write cache holds {} mapping units, expected at least {least}: one program, and the rest of one for \
                 each active zone",
                self.write
            )));
        }
        if self.finish_depth == 0 {
            return Err(ConfigError("the depth of a finish is 0, expected at least 1".to_owned()));
        }
        Ok(())
    }
}
