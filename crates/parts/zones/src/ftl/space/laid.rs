//! Zones that are laid out as full instead of written: their content as a pure function of the address.

use std::any::Any;
use std::sync::Arc;

use media::{LaidBlock, LaidOut, NOBODY, PageAddr};

use crate::ftl::config::ZonedFtlConfig;
use crate::ftl::space::blocks::{Block, KEPT_BY_ZONES};
use crate::ftl::space::layout::{Layout, Program};
use crate::ftl::{ConfigError, stamp};

/// A block's place in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaidPlace {
    pub zone: u32,
    pub column: u32,
    /// Block within the column.
    pub block: u32,
    /// Pages programmed.
    pub pages: u32,
}

/// The rule of full zones. They lie on the first usable blocks of each die, in the order of their numbers.
pub struct LaidZones {
    layout: Layout,
    /// Place of each block of each die on all planes; `None` of those that stay erased.
    places: Vec<Option<LaidPlace>>,
    per_die: u32,
    zones: u32,
}

impl LaidZones {
    /// Creates the rule by which the zones of `config` for which `is_full` holds are full. `is_usable` returns false for
    /// bad physical blocks (die, plane, block).
    ///
    /// # Errors
    /// If the configuration cannot work, or a die has too few good blocks.
    pub fn new(
        config: &ZonedFtlConfig,
        is_full: impl Fn(u32) -> bool,
        is_usable: impl Fn(u16, u32, u32) -> bool,
    ) -> Result<LaidZones, ConfigError> {
        config.check()?;
        let (layout, g) = (Layout::new(config), &config.geometry);
        let per_die = g.blocks;
        let mut places = vec![None; (g.all_dies() * per_die) as usize];
        let good = |at: Block| (0..g.planes).all(|plane| is_usable(at.die, plane, at.block));
        let mut next = vec![0; g.all_dies() as usize];
        let mut zones = 0;
        for zone in (0..config.zones.zones).filter(|zone| is_full(*zone)) {
            zones += 1;
            for column in 0..layout.width {
                let die = layout.die(zone, column);
                for block in 0..layout.rows(column).div_ceil(layout.pages()) {
                    let next = &mut next[usize::from(die)];
                    while *next < per_die && !good(Block { die, block: *next }) {
                        *next += 1;
                    }
                    if *next + KEPT_BY_ZONES as u32 >= per_die {
                        return Err(ConfigError(format!("die {die} has too few good blocks for zone {zone}")));
                    }
                    let pages = (layout.rows(column) - block * layout.pages()).min(layout.pages());
                    places[(u32::from(die) * per_die + *next) as usize] =
                        Some(LaidPlace { zone, column, block, pages });
                    *next += 1;
                }
            }
        }
        Ok(LaidZones { layout, places, per_die, zones })
    }

    /// Returns the number of full zones.
    pub fn zones(&self) -> u32 {
        self.zones
    }

    /// Returns the place of a block.
    pub(crate) fn place(&self, at: Block) -> Option<LaidPlace> {
        if at.block >= self.per_die {
            return None;
        }
        self.places[(u32::from(at.die) * self.per_die + at.block) as usize]
    }

    /// Returns the highest sequence number of a program.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.places.iter().flatten().map(|place| self.number(place, place.pages - 1)).max().unwrap_or(0)
    }

    /// Returns the sequence number of a page, as if zone after zone had been written.
    fn number(&self, place: &LaidPlace, page: u32) -> u64 {
        let program = self.layout.number(Program { column: place.column, block: place.block, page });
        1 + u64::from(place.zone) * u64::from(self.layout.programs) + u64::from(program)
    }
}

impl LaidOut for LaidZones {
    fn block(&self, die: u16, _plane: u32, block: u32) -> LaidBlock {
        let pages = self.place(Block { die, block }).map_or(0, |place| place.pages);
        LaidBlock { pages, slc: false }
    }

    fn logical(&self, die: u16, plane: u32, block: u32, units: &mut [u32]) {
        let Some(place) = self.place(Block { die, block }) else { return };
        let of_page = self.layout.units_per_page();
        for (page, units) in (0..).zip(units.chunks_exact_mut(of_page as usize)) {
            let program = self.layout.number(Program { column: place.column, block: place.block, page });
            let first = program * self.layout.program_units + plane * of_page;
            for (within, unit) in (first..).zip(units) {
                let is_data = within < self.layout.capacity;
                *unit = if is_data { place.zone * self.layout.size + within } else { NOBODY };
            }
        }
    }

    fn sequence(&self, page: PageAddr, _plane: u32) -> u64 {
        let place = self.place(Block { die: page.die, block: page.block });
        place.map_or(0, |place| stamp(0, self.number(&place, page.page), false))
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
