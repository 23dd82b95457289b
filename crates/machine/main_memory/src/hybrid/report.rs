//! What the memory did, for a run's summary.

use serde_json::{Map, Value, json};
use sim::Time;

use super::HybridMemory;

impl HybridMemory {
    /// Caches, queues, page table, flash, energy by part and lifetime, until `end`.
    pub fn report(&mut self, end: Time) -> Map<String, Value> {
        let (cache, table, flow, wear) =
            (*self.hybrid.stats(), self.nvmm.stats().since(&self.before), self.around.flow.stats(), self.wear());
        let energy = self.energy(end);
        let endurance = self.config.nand.wear.endurance;
        let lifetime = |part: f64| {
            let days = endurance.map(|e| wear.lifetime_s(end, e.mean, e.deviation, part) / 86400.0);
            days.filter(|days| days.is_finite())
        };
        let report = json!({
            "cache": {
                "fills": cache.fills,
                "write_backs": cache.write_backs,
                "hits": cache.hits,
                "merged": cache.merged,
                "misses": cache.misses,
                "evictions": cache.evictions,
                "dirty_evictions": cache.dirty_evictions,
                "cleaned": cache.cleaned,
                "prefetches": cache.prefetches,
                "prefetches_used": cache.prefetches_used,
                "prefetches_unused": cache.prefetches_unused,
                "from_buffers": cache.from_buffers,
                "tag_hits": cache.tag_hits,
                "tag_misses": cache.tag_misses,
                "tag_writes": cache.tag_writes,
                "stalls": cache.stalls + cache.tag_stalls,
            },
            "nvmm": {
                "reads": table.reads,
                "writes": table.writes,
                "programs_host": table.programs[0],
                "programs_table": table.programs[1],
                "programs_collection": table.programs[2],
                "collected": table.collected,
                "commits": table.commits,
                "translated": flow.translated,
                "blocked": flow.blocked,
                "dram_bytes": table.dram_bytes,
            },
            "memory_energy_j": {
                "cache_dram": energy.cache.joules(),
                "table_dram": energy.table.joules(),
                "flash_read": energy.flash.read.joules(),
                "flash_program": energy.flash.program.joules(),
                "flash_erase": energy.flash.erase.joules(),
                "flash_transfer": energy.flash.transfer.joules(),
                "flash_standby": energy.flash.standby.joules(),
            },
            // At the rate of writing of this run, and only as true as that rate goes on.
            "lifetime_days": { "half": lifetime(0.5), "all": lifetime(0.999) },
        });
        match report {
            Value::Object(map) => map,
            _ => unreachable!("it is one"),
        }
    }
}
