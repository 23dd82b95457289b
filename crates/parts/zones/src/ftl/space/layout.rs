//! Where a zone's units are in its blocks: programs go to the zone's dies in turn.

use media::{BlockAddr, PageAddr, PlaneMask};

use crate::ftl::config::ZonedFtlConfig;

/// Shape of zones in flash. A *column* is the part of a zone on one of its dies; a *row* is one program of each column.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Columns of a zone.
    pub width: u32,
    /// Units of a program: a page on all planes of a die.
    pub program_units: u32,
    /// Blocks of a column.
    pub blocks: u32,
    /// Programs of a zone.
    pub programs: u32,
    /// Writable units of a zone.
    pub capacity: u32,
    /// Units from the start of a zone to that of the next.
    pub size: u32,
    /// Units of the drive.
    pub user_units: u32,
    pages: u32,
    units_per_page: u32,
    planes: PlaneMask,
    channels: u32,
    dies_per_channel: u32,
}

/// A program of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub column: u32,
    /// Block within the column.
    pub block: u32,
    /// Page within the block.
    pub page: u32,
}

impl Layout {
    pub(crate) fn new(config: &ZonedFtlConfig) -> Layout {
        let g = &config.geometry;
        let program_units = config.program_units();
        Layout {
            width: config.dies,
            program_units,
            blocks: config.blocks_per_die(),
            programs: config.zones.capacity.div_ceil(u64::from(program_units)) as u32,
            capacity: config.zones.capacity as u32,
            size: config.zones.size as u32,
            user_units: config.zones.blocks() as u32,
            pages: g.pages,
            units_per_page: g.units_per_page(),
            planes: PlaneMask(((1u32 << g.planes) - 1) as u16),
            channels: g.channels,
            dies_per_channel: g.chips * g.dies,
        }
    }

    /// Returns the die of `column` of `zone`. Neighboring columns are on different channels.
    pub(crate) fn die(&self, zone: u32, column: u32) -> u16 {
        let turn = (u64::from(zone) * u64::from(self.width) + u64::from(column))
            % u64::from(self.channels * self.dies_per_channel);
        let turn = turn as u32;
        (turn % self.channels * self.dies_per_channel + turn / self.channels) as u16
    }

    /// Returns the place of program number `program` of a zone.
    pub(crate) fn program(&self, program: u32) -> Program {
        let (column, row) = (program % self.width, program / self.width);
        Program { column, block: row / self.pages, page: row % self.pages }
    }

    /// Returns the program at `page` of block `block` of `column`.
    pub(crate) fn number(&self, Program { column, block, page }: Program) -> u32 {
        (block * self.pages + page) * self.width + column
    }

    /// Returns the number of blocks of a full zone.
    pub(crate) fn used_blocks(&self) -> u32 {
        (0..self.width).map(|column| self.rows(column).div_ceil(self.pages)).sum()
    }

    /// Returns the number of programs of `column`.
    pub(crate) fn rows(&self, column: u32) -> u32 {
        (self.programs + self.width - 1 - column) / self.width
    }

    /// Returns the units of program number `program`, within the zone: the last one may be short.
    pub(crate) fn units(&self, program: u32) -> std::ops::Range<u32> {
        let first = program * self.program_units;
        first..(first + self.program_units).min(self.capacity)
    }

    /// Returns plane and unit within its page of unit `at` of a program.
    pub(crate) fn plane_of(&self, at: u32) -> (u32, u32) {
        (at / self.units_per_page, at % self.units_per_page)
    }

    /// Returns the units of a page of one plane.
    pub(crate) fn units_per_page(&self) -> u32 {
        self.units_per_page
    }

    /// Returns the pages of a block.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the address of block `block` of `die` on all planes.
    pub(crate) fn block(&self, die: u16, block: u32) -> BlockAddr {
        BlockAddr { die, planes: self.planes, block }
    }

    /// Returns the address of a page on all planes.
    pub(crate) fn page(&self, die: u16, block: u32, page: u32) -> PageAddr {
        PageAddr { die, planes: self.planes, block, page }
    }

    /// Returns the zone and the unit within it of logical unit `unit`.
    pub(crate) fn split(&self, unit: u32) -> (u32, u32) {
        (unit / self.size, unit % self.size)
    }
}
