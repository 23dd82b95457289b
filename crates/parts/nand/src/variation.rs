//! Array times by location: dies, blocks and word lines differ in speed.
//!
//! The array time of an operation is the page type's, times the factors of its die, of its block (of several planes the
//! slowest, since the die waits for all) and of its word line. Factors follow from addresses and the seed, so that no
//! state is kept and the order of operations does not matter. Layers differ alike in all blocks, and neighbors in the
//! stack by little (Shim et al., "Exploiting Process Similarity of 3D Flash Memory for High Performance SSDs", MICRO
//! 2019): a straight line from the first word line to the last stands for that.

use sim::Time;

use crate::config::Config;
use crate::reliability::endurance::mix;
use crate::schedule::op::Op;

/// Factors are integers in units of this fraction.
const ONE: u64 = 1 << 24;

/// Numbers that keep the draws of one seed apart.
const DIES: u64 = 1 << 60;
const BLOCKS: u64 = 2 << 60;
const BAD_BLOCKS: u64 = 3 << 60;

/// Speed factors of all locations.
pub(crate) struct Factors {
    seed: u64,
    dies: Vec<u64>,
    word_lines: Vec<u64>,
    /// Spread of blocks; zero if there is none.
    blocks: f64,
    plane_blocks: u64,
    planes: u64,
    bits: u32,
}

/// Returns a number from -1 to 1 that belongs to `place`.
fn uniform(seed: u64, place: u64) -> f64 {
    ((mix(mix(seed ^ place)) >> 11) as f64 + 0.5) / (1u64 << 52) as f64 - 1.0
}

/// Returns a die's share of bad blocks relative to the others, from -1 to 1.
pub(crate) fn of_bad_blocks(seed: u64, die: u16) -> f64 {
    uniform(seed, BAD_BLOCKS | u64::from(die))
}

fn factor(x: f64) -> u64 {
    (x * ONE as f64) as u64
}

impl Factors {
    /// Returns `None` if `config` has no variation of array times.
    pub(crate) fn new(config: &Config, seed: u64) -> Option<Factors> {
        let (v, g) = (&config.variation, &config.geometry);
        if v.dies == 0.0 && v.blocks == 0.0 && v.word_lines == 0.0 {
            return None;
        }
        let bits = config.cell.bits();
        let last = (g.pages.div_ceil(bits) - 1).max(1);
        let along = |line: u32| 2.0 * f64::from(line) / f64::from(last) - 1.0;
        Some(Factors {
            seed,
            dies: (0..g.all_dies()).map(|die| factor(1.0 + v.dies * uniform(seed, DIES | u64::from(die)))).collect(),
            word_lines: (0..=last).map(|line| factor(1.0 + v.word_lines * along(line))).collect(),
            blocks: v.blocks,
            plane_blocks: u64::from(g.blocks),
            planes: u64::from(g.planes),
            bits,
        })
    }

    /// Returns the array time of `op`, a read or a program, whose page type takes `time`; in SLC mode each page is a
    /// word line.
    pub(crate) fn apply(&self, time: Time, op: &Op, slc: bool) -> Time {
        let line = if slc { op.page() } else { op.page() / self.bits };
        let mut time = scale(scale(time.ps(), self.dies[op.die as usize]), self.word_lines[line as usize]);
        if self.blocks > 0.0 {
            let slowest = op.planes.iter().map(|plane| {
                let block = (u64::from(op.die) * self.planes + u64::from(plane)) * self.plane_blocks;
                factor(1.0 + self.blocks * uniform(self.seed, BLOCKS | (block + u64::from(op.block))))
            });
            time = scale(time, slowest.max().expect("an operation works on a plane"));
        }
        Time::from_ps(time.max(1))
    }
}

/// Multiplies by a factor, rounded down.
fn scale(ps: u64, factor: u64) -> u64 {
    (u128::from(ps) * u128::from(factor) / u128::from(ONE)) as u64
}
