//! The steady state of a parallel unit: how many blocks are free, what the host's blocks hold, and how the valid units are
//! distributed over the others.

use crate::config::{Config, ConfigError};
use crate::gc::pacing;
use crate::gc::victim::AHEAD_GAIN;
use crate::laid::aged::Load;
use crate::laid::host_blocks::HostBlocks;
use crate::layout::Layout;
use steady::{Pool, Steady, SteadyError};

/// Maximum number of iterations of the share of the host in its blocks, each of which halves the error, and the change at
/// which they end.
const ROUNDS: u32 = 40;
const PRECISION: f64 = 1e-4;

/// Properties that all parallel units of a drive have in common.
pub(super) struct Drive<'a> {
    pub(super) config: &'a Config,
    pub(super) layout: &'a Layout,
    pub(super) policy: steady::Policy,
    pub(super) load: Load,
    /// The blocks that host writes fill; `None` if none rests or waits to be drawn.
    pub(super) host: Option<HostBlocks>,
}

/// The steady state of a parallel unit.
pub(super) struct Shape {
    /// Number of free blocks that collection maintains.
    pub(super) kept: u32,
    /// The blocks that host writes fill; `None` if none rests or waits to be drawn.
    pub(super) host: Option<HostBlocks>,
    /// The other closed blocks.
    pub(super) steady: Steady,
}

impl Drive<'_> {
    /// Returns the steady state of a parallel unit with `blocks` blocks that hold `live` units. After a rest, collection has
    /// worked ahead for as long as that paid off.
    pub(super) fn shape(&self, blocks: usize, live: u64) -> Result<Shape, ConfigError> {
        let mut shape = self.shape_with(blocks, live, self.config.collection.start + 1)?;
        let ahead = if self.load == Load::Busy { 0 } else { self.config.collection.ahead };
        for _ in 0..ahead {
            let gain = f64::from(self.layout.block_units) - shape.steady.victim_valid;
            if gain * (AHEAD_GAIN as f64) < f64::from(self.layout.block_units) {
                break;
            }
            let Ok(more) = self.shape_with(blocks, live, shape.kept + 1) else { break };
            shape = more;
        }
        Ok(shape)
    }

    /// Returns the steady state of a parallel unit whose collection keeps `kept` blocks free.
    fn shape_with(&self, blocks: usize, live: u64, kept: u32) -> Result<Shape, ConfigError> {
        let failed = |e: SteadyError| ConfigError(format!("no steady state: {e}"));
        let solve = |host: Option<&HostBlocks>, victim: f64| {
            let pool = self.pool(blocks, live, kept, host, victim);
            pool.occupancy().and_then(|of| steady::solve(self.policy, of, self.layout.data_units)).map_err(failed)
        };
        let victim_of = |steady: &Steady| steady.victim_valid / f64::from(self.layout.data_units);
        let mut host = self.host;
        // The number of valid units of the victim follows from the solution, which hardly depends on it: one more
        // iteration is enough.
        let first = solve(host.as_ref(), 0.5)?;
        let mut steady = solve(host.as_ref(), victim_of(&first))?;
        if let Some(host) = &mut host {
            for _ in 0..ROUNDS {
                let change = host.update(victim_of(&steady));
                steady = solve(Some(host), victim_of(&steady))?;
                if change.abs() < PRECISION {
                    break;
                }
            }
        }
        Ok(Shape { kept, host, steady })
    }

    /// Returns the blocks of a parallel unit. A fraction `victim` of the units of a victim is valid.
    fn pool(&self, blocks: usize, live: u64, kept: u32, host: Option<&HostBlocks>, victim: f64) -> Pool {
        let open = open_blocks(self.config) as f64;
        let slack = self.slack_programs(host) as f64 / f64::from(self.layout.block_programs);
        // The victim counts as open, and is half collected on average.
        let (full, filled) = match host {
            None => (0.0, 0.5 * (open + victim)),
            Some(host) => {
                let (full, filled) = host.mean();
                (full, 0.5 * (open - 1.0 + victim) + filled)
            }
        };
        Pool {
            blocks: blocks as f64,
            // Half of each write point and half of the victim are space; pacing keeps the rest in free blocks.
            free_blocks: f64::from(kept) + slack - 0.5 * (open + 1.0),
            open_blocks: open + 1.0 + full,
            open_fill: filled / (open + 1.0 + full),
            live_units: live as f64,
            units_per_block: self.layout.data_units,
        }
    }

    /// Returns the remaining slack of pacing in programs: none while the host writes, which then waits at its end, and
    /// the whole slack after a rest. Host writes that get only a share of the space that victims give back go further below.
    pub(super) fn slack_programs(&self, host: Option<&HostBlocks>) -> i64 {
        let slack = pacing::slack(self.config, self.layout) / i64::from(self.layout.program_units);
        match (self.load, host) {
            (Load::Rested, _) => slack,
            (Load::Busy, None) => 0,
            (Load::Busy, Some(host)) => -((host.shortage() * f64::from(self.layout.block_programs)) as i64),
        }
    }
}

/// Returns the number of blocks of a parallel unit that are being written: one for the host and copies together, or one
/// for each.
pub(super) fn open_blocks(config: &Config) -> u64 {
    if config.separates() { 2 } else { 1 }
}
