//! Endurance of each page, computed from its address on demand and stored nowhere.

use crate::config::{Endurance, Spread};

/// Draws endurances by the hash of (seed, block, page).
pub(crate) struct Endurances {
    seed: u64,
    spread: Spread,
    /// Mean and deviation of the normal distribution, or of the logarithm.
    center: f64,
    width: f64,
    /// Minimum of all draws.
    least: u32,
    /// Cycles in SLC mode per drawn cycle.
    slc_factor: f64,
}

/// The page number that stands for a block's erases in a draw.
const BLOCK: u32 = u32::MAX;

impl Endurances {
    /// Creates the draws of `endurance`; `None` for flash that never wears out.
    pub(crate) fn new(endurance: &Endurance, seed: u64) -> Option<Endurances> {
        let Endurance { spread, slc_factor, .. } = *endurance;
        let (mean, deviation) = endurance.moments()?;
        let (center, width) = match spread {
            Spread::Normal => (mean, deviation),
            Spread::LogNormal => {
                let variance = libm::log1p(deviation * deviation / (mean * mean));
                (libm::log(mean) - variance / 2.0, libm::sqrt(variance))
            }
        };
        let mut endurances = Endurances { seed, spread, center, width, least: 0, slc_factor };
        // The lowest draw of a 53-bit hash.
        endurances.least = endurances.cycles(inverse_normal(0.5 / (1u64 << 53) as f64));
        Some(endurances)
    }

    fn cycles(&self, z: f64) -> u32 {
        let x = self.center + self.width * z;
        let cycles = match self.spread {
            Spread::Normal => x,
            Spread::LogNormal => libm::exp(x),
        };
        cycles.clamp(1.0, f64::from(u32::MAX)) as u32
    }

    fn of(&self, block: usize, page: u32) -> u32 {
        let hash = mix(mix(self.seed ^ block as u64) ^ u64::from(page));
        self.cycles(inverse_normal(((hash >> 11) as f64 + 0.5) / (1u64 << 53) as f64))
    }

    /// Returns whether a page can no longer be programmed in a block erased `erases` times, in SLC mode or not.
    #[inline]
    pub(crate) fn page_is_worn(&self, block: usize, page: u32, erases: u32, slc: bool) -> bool {
        if slc {
            return f64::from(erases) > f64::from(self.of(block, page)) * self.slc_factor;
        }
        erases > self.least && erases > self.of(block, page)
    }

    /// Like [`page_is_worn`](Self::page_is_worn), for a block erased `normal` times with all its bits per cell and
    /// `slc` times in SLC mode. Assumed: the wear of an erase in SLC mode is smaller by the factor by which blocks
    /// always in that mode endure longer.
    pub(crate) fn is_worn_in_both(&self, block: usize, page: Option<u32>, (normal, slc): (u32, u32)) -> bool {
        self.cycles_in_both((normal, slc)) > f64::from(self.of(block, page.unwrap_or(BLOCK)))
    }

    /// Returns the cycles with all bits per cell that wear like `normal` such cycles and `slc` cycles in SLC mode.
    pub(crate) fn cycles_in_both(&self, (normal, slc): (u32, u32)) -> f64 {
        f64::from(normal) + f64::from(slc) / self.slc_factor
    }

    /// Returns whether a block erased `erases` times can no longer be erased.
    #[inline]
    pub(crate) fn block_is_worn(&self, block: usize, erases: u32, slc: bool) -> bool {
        self.page_is_worn(block, BLOCK, erases, slc)
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) after one step of its counter.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The standard normal quantile at `0 < p < 1`, by bisection of the distribution function (`libm`'s `erfc`). Slow, and
/// exact to the last few bits; used only for flash that is nearly worn out.
fn inverse_normal(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(spread: Spread) -> (f64, f64) {
        let e =
            Endurances::new(&Endurance { spread, mean: Some(3000), deviation: 0.1, slc_factor: 1.0 }, 7).expect("wear");
        let draws: Vec<f64> =
            (0..200).flat_map(|b| (0..50).map(move |p| (b, p))).map(|(b, p)| f64::from(e.of(b, p))).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / draws.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn draws_have_the_declared_mean_and_deviation() {
        for spread in [Spread::Normal, Spread::LogNormal] {
            let (mean, deviation) = moments(spread);
            // Ten thousand draws, with a tolerance of three standard errors.
            assert!((mean - 3000.0).abs() < 9.0, "{spread:?} {mean}");
            assert!((deviation - 300.0).abs() < 8.0, "{spread:?} {deviation}");
        }
    }

    #[test]
    fn the_quantile_is_the_inverse() {
        assert!(inverse_normal(0.5).abs() < 1e-12);
        assert!((inverse_normal(0.975) - 1.959_963_984_540_054).abs() < 1e-9);
        assert!((inverse_normal(1e-9) + 5.997_807_015).abs() < 1e-6);
    }

    #[test]
    fn a_page_is_worn_beyond_its_draw_and_not_before() {
        let drawn = Endurance { spread: Spread::LogNormal, mean: Some(100), deviation: 0.2, slc_factor: 10.0 };
        let e = Endurances::new(&drawn, 3).expect("wear");
        for (block, page) in [(0, 0), (5, 1), (77, 300)] {
            let limit = e.of(block, page);
            assert!(limit >= e.least);
            assert!(!e.page_is_worn(block, page, limit, false));
            assert!(e.page_is_worn(block, page, limit + 1, false));
            assert!(!e.page_is_worn(block, page, limit * 10, true), "one bit a cell endures ten times as much");
            assert!(e.page_is_worn(block, page, limit * 10 + 1, true));
            assert!(!e.is_worn_in_both(block, Some(page), (limit - 2, 20)), "twenty such cycles wear like two");
            assert!(e.is_worn_in_both(block, Some(page), (limit - 2, 21)));
        }
    }
}
