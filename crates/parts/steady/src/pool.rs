//! From a drive's blocks to the occupancy of its closed ones: the finite-pool correction.

use super::SteadyError;

/// The blocks of one collection domain, as they are at the moment at which a victim is chosen.
///
/// The closed forms speak of closed blocks only: those that a victim is chosen from. A real drive also keeps free
/// blocks, which hold nothing, and open ones, which hold valid units but are no candidates. So the occupancy that
/// matters is
///
/// ```text
///         live units - units in open blocks
/// rho = -------------------------------------
///         closed blocks * units per block
/// ```
///
/// and not user capacity over physical capacity. It matters much: near `rho = 1`, write amplification goes as
/// `1 / (1 - rho)`, so with 7 % over-provisioning one block in a thousand held back costs 1.4 % of it.
///
/// What to put in, all as means at the moments of choice (hence fractional):
/// * *One frontier for host and collector; a full one is replaced, and then the free count restored*: the frontier is
///   open and empty (`open_blocks = 1`, `open_fill = 0`) and the free count is one below its minimum.
/// * *Two frontiers; collection runs when the host's is full and the free count at its minimum*: the host's full
///   frontier is closed already, the collector's is somewhere in its fill (`open_blocks = 1`, `open_fill = 0.5`).
/// * *Collection in the background, between two watermarks*: the mean free count over the choices, about midway; each
///   open frontier half full.
/// * *Victims still being copied when the next is chosen*: count them as open, with the valid units that were not yet
///   copied as their fill.
///
/// Bad blocks, and those that hold anything but user data, are not in the pool. If each die or plane collects on its
/// own, each is a pool; if blocks are collected in sets (superblocks), a set is a block. `live_units` counts units
/// that hold data, not the capacity: trimmed and never written ones are spare area.
///
/// What remains is about one part in the number of closed blocks: a block loses a few units while it is open, so it
/// closes not quite full (with a shared frontier and FIFO, which raises write amplification by about the fraction
/// `1 / (2 * WA * (1 - rho) * closed)`), and the greedy threshold fluctuates. Measured: up to 0.7 % of write
/// amplification at 300 blocks, up to 0.15 % at 2,048.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// Blocks in all: closed, open and free.
    pub blocks: f64,
    /// Erased blocks, or ones that could be, held in reserve.
    pub free_blocks: f64,
    /// Blocks that are programmed but no candidates for collection.
    pub open_blocks: f64,
    /// Mean fraction, 0 to 1, of an open block's units that is valid (for a frontier: that is programmed).
    pub open_fill: f64,
    /// Mapping units that hold live data, in closed and open blocks.
    pub live_units: f64,
    /// Mapping units in a block.
    pub units_per_block: u32,
}

impl Pool {
    /// Blocks that a victim is chosen from.
    pub fn closed_blocks(&self) -> f64 {
        self.blocks - self.free_blocks - self.open_blocks
    }

    /// The occupancy of the closed blocks, for [`solve`](super::solve).
    ///
    /// # Errors
    /// [`SteadyError`] where no block is closed, the fill is no fraction, or the live units leave the closed blocks
    /// empty or fill them all.
    pub fn occupancy(&self) -> Result<f64, SteadyError> {
        if self.units_per_block == 0 {
            return Err(SteadyError::UnitsPerBlock(0));
        }
        let closed = self.closed_blocks();
        if closed.is_nan() || closed < 1.0 {
            return Err(SteadyError::NoClosedBlocks(closed));
        }
        if !(0.0..=1.0).contains(&self.open_fill) {
            return Err(SteadyError::OpenFill(self.open_fill));
        }
        let b = f64::from(self.units_per_block);
        let occupancy = (self.live_units - self.open_blocks * self.open_fill * b) / (closed * b);
        if occupancy > 0.0 && occupancy < 1.0 { Ok(occupancy) } else { Err(SteadyError::Occupancy(occupancy)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: Pool = Pool {
        blocks: 100.0,
        free_blocks: 3.0,
        open_blocks: 2.0,
        open_fill: 0.5,
        live_units: 896.0,
        units_per_block: 10,
    };

    #[test]
    fn held_back_blocks_raise_the_occupancy() {
        assert_eq!(POOL.occupancy(), Ok(886.0 / 950.0));
        let all_closed = Pool { free_blocks: 0.0, open_blocks: 0.0, ..POOL };
        assert_eq!(all_closed.occupancy(), Ok(0.896));
    }

    #[test]
    fn impossible_pools_are_refused() {
        assert_eq!(Pool { live_units: 960.0, ..POOL }.occupancy(), Err(SteadyError::Occupancy(1.0)));
        assert_eq!(Pool { live_units: 10.0, ..POOL }.occupancy(), Err(SteadyError::Occupancy(0.0)));
        assert_eq!(Pool { free_blocks: 98.0, ..POOL }.occupancy(), Err(SteadyError::NoClosedBlocks(0.0)));
        assert_eq!(Pool { open_fill: 1.5, ..POOL }.occupancy(), Err(SteadyError::OpenFill(1.5)));
        assert_eq!(Pool { units_per_block: 0, ..POOL }.occupancy(), Err(SteadyError::UnitsPerBlock(0)));
        assert!(Pool { blocks: f64::NAN, ..POOL }.occupancy().is_err());
        assert!(Pool { live_units: f64::NAN, ..POOL }.occupancy().is_err());
    }
}
