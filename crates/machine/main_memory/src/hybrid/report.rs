//! The memory's section of a run's summary.

use dram_cache::Stats as CacheStats;
use serde_json::{Map, Value, json};
use sim::Time;

use super::HybridMemory;
use super::dispatch_queue::DispatchStats;
use super::energy::{EnergyByMemory, Wear};

/// The memory's counters at one point in time.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Time of the reading.
    pub at: Time,
    cache: CacheStats,
    table: nvmm::Stats,
    dispatch: DispatchStats,
    /// Energy drawn so far.
    pub energy: EnergyByMemory,
}

impl Reading {
    /// Returns the difference to an earlier reading, or this reading if `None`.
    fn since(&self, earlier: Option<&Reading>) -> Reading {
        let Some(earlier) = earlier else { return *self };
        Reading {
            at: self.at - earlier.at,
            cache: self.cache.since(&earlier.cache),
            table: self.table.since(&earlier.table),
            dispatch: DispatchStats {
                translated: self.dispatch.translated - earlier.dispatch.translated,
                blocked: self.dispatch.blocked - earlier.dispatch.blocked,
                ..self.dispatch
            },
            energy: self.energy.since(&earlier.energy),
        }
    }
}

impl HybridMemory {
    /// Advances to `now` and reads the counters.
    pub fn reading(&mut self, now: Time) -> Reading {
        Reading {
            at: now,
            cache: *self.hybrid.stats(),
            table: self.nvmm.stats().since(&self.before),
            dispatch: self.environment.dispatch.stats(),
            energy: self.energy(now),
        }
    }

    /// Returns the number of dirty pages in the DRAM cache, and the number of dirty pages written to flash until `end`
    /// from an earlier reading, or from the beginning.
    pub fn dirty_and_written(&self, end: &Reading, from: Option<&Reading>) -> (u64, u64) {
        (self.hybrid.dirty_pages(), end.since(from).table.programs[0])
    }

    /// Returns caches, queues, page table, flash, energy by part and lifetime from an earlier reading, or from the
    /// beginning, until `end`.
    pub fn report(&mut self, end: &Reading, from: Option<&Reading>) -> Map<String, Value> {
        let Reading { at, cache, table, dispatch, energy } = end.since(from);
        let wear = Wear::of(&table);
        let endurance = self.config.nand.wear.endurance;
        let lifetime = |part: f64| {
            let days = wear.lifetime_s(at, &endurance, part) / 86400.0;
            days.is_finite().then_some(days)
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
                "checkpoints": table.checkpoints,
                "syncs": table.syncs,
                "rollbacks": table.rollbacks,
                "rolled_back": table.rolled_back,
                "versions": self.before.free_versions.saturating_sub(table.free_versions),
                "translated": dispatch.translated,
                "blocked": dispatch.blocked,
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
            // Valid for this run's write rate only.
            "lifetime_days": { "half": lifetime(0.5), "all": lifetime(0.999) },
        });
        match report {
            Value::Object(map) => map,
            _ => unreachable!("it is one"),
        }
    }
}
