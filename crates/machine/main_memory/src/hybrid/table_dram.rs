//! The energy of the page table's DRAM.

use dram::{Channel, Config, RankActivity};
use sim::{Energy, Time};

use super::{HybridConfig, HybridError};

/// The page table's DRAM: as many ranks as it needs, idle except for one access per translation.
pub(super) struct TableDram {
    idle: Channel,
    ranks: u64,
    access: Energy,
    pub accesses: u64,
}

impl TableDram {
    pub fn new(config: &HybridConfig) -> Result<TableDram, HybridError> {
        let device = config.dram.device();
        let entries = u64::from(config.nvmm.pages) + u64::from(config.nvmm.versions);
        let ranks = (entries * nvmm::entry::ENTRY_BYTES as u64).div_ceil(device.rank_bytes());
        let access = RankActivity { activates: 1, reads: 1, ..RankActivity::default() }.energy(&device).total();
        let idle = Channel::new(&Config {
            power_down_after: config.dram.power_down_after,
            self_refresh_after: config.dram.self_refresh_after,
            ..Config::new(device)
        })?;
        Ok(TableDram { idle, ranks, access, accesses: 0 })
    }

    pub fn energy(&mut self, now: Time) -> Energy {
        let idle = self.idle.energy(now).iter().fold(Energy::ZERO, |sum, rank| sum + rank.total());
        idle * self.ranks + self.access * self.accesses
    }
}
