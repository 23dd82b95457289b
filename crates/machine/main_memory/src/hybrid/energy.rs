//! Energy and wear of the memory, from the same events as its timing, plus the background power of all parts.

use sim::{Energy, Time};

use super::HybridMemory;
use nand::{Endurance, EnergyByPart, Spread};

/// Energy by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnergyByMemory {
    /// DRAM of the cache, with background power.
    pub cache: Energy,
    /// DRAM of the page table.
    pub table: Energy,
    /// Flash and its channels.
    pub flash: EnergyByPart,
}

impl EnergyByMemory {
    /// Returns the total.
    pub fn total(&self) -> Energy {
        self.cache + self.table + self.flash.total()
    }

    /// Returns the energy drawn since an earlier reading.
    pub fn since(&self, earlier: &EnergyByMemory) -> EnergyByMemory {
        EnergyByMemory {
            cache: self.cache - earlier.cache,
            table: self.table - earlier.table,
            flash: self.flash.since(&earlier.flash),
        }
    }
}

/// Wear of the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// Flash pages programmed for any reason.
    pub programs: u64,
    /// Flash pages written for the host.
    pub host_programs: u64,
    /// Flash pages of data.
    pub pages: u64,
}

impl Wear {
    /// Builds the wear from the page table's counters.
    pub(super) fn of(stats: &nvmm::Stats) -> Wear {
        Wear { programs: stats.programs.iter().sum(), host_programs: stats.programs[0], pages: stats.capacity }
    }

    /// Returns the seconds until `part` of the capacity is lost at the write rate seen in `elapsed`, for pages that
    /// have this `endurance`, and even wear. Infinite if pages never wear out or too little was written, and not a number
    /// if nothing was.
    ///
    /// The remaining pages take the writes of lost ones: the time is the integral of the remaining share over the
    /// cycles up to the quantile of `part`, divided by the cycles per page and second.
    pub fn lifetime_s(&self, elapsed: Time, endurance: &Endurance, part: f64) -> f64 {
        let Some((mean, deviation)) = endurance.moments() else { return f64::INFINITY };
        let (rate, spread) = (self.programs as f64 / elapsed.secs_f64(), endurance.spread);
        // Center and width of the logarithm, for the log-normal distribution.
        let variance = libm::log1p(deviation * deviation / (mean * mean));
        let (center, width) = (libm::log(mean) - variance / 2.0, libm::sqrt(variance));
        let steps = 4096;
        let most = match spread {
            Spread::Normal => mean + 8.0 * deviation,
            Spread::LogNormal => libm::exp(center + 4.0 * width),
        };
        let (mut cycles, mut sum, step) = (0.0, 0.0, most / f64::from(steps));
        while cycles < most {
            let middle = cycles + step / 2.0;
            let left = 1.0
                - match spread {
                    Spread::Normal => normal((middle - mean) / deviation.max(1e-9)),
                    Spread::LogNormal => normal((libm::log(middle) - center) / width.max(1e-9)),
                };
            if 1.0 - left >= part {
                break;
            }
            sum += left * step;
            cycles += step;
        }
        sum * self.pages as f64 / rate
    }
}

/// The standard normal distribution, accurate to seven digits (Abramowitz and Stegun 26.2.17).
fn normal(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let polynomial =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = 0.398_942_280_4 * (-x * x / 2.0).exp() * polynomial;
    if x < 0.0 { tail } else { 1.0 - tail }
}

impl HybridMemory {
    /// Returns the total energy until `now`.
    pub fn energy(&mut self, now: Time) -> EnergyByMemory {
        EnergyByMemory {
            cache: self.environment.modules.energy(now),
            table: self.table_dram.energy(now),
            flash: self.nand.energy(now),
        }
    }

    /// Returns the wear of the flash.
    pub fn wear(&self) -> Wear {
        Wear::of(&self.nvmm.stats().since(&self.before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_is_one() {
        for (x, expected) in [(0.0, 0.5), (1.0, 0.841_344_7), (-2.0, 0.022_750_1), (3.0, 0.998_650_1)] {
            assert!((normal(x) - expected).abs() < 1e-6, "{x}: {}", normal(x));
        }
    }

    #[test]
    fn a_lifetime_is_what_the_pages_endure_over_what_is_written() {
        let wear = Wear { programs: 1000, host_programs: 1000, pages: 100 };
        // Ten overwrites per second: 1,000 cycles last 100 s, and all pages end together if they are alike.
        let of = |spread, deviation| Endurance { spread, mean: Some(1000), deviation, slc_factor: 1.0 };
        let alike = |part| wear.lifetime_s(Time::from_s(1), &of(Spread::Normal, 0.0), part);
        assert!((alike(0.5) - 100.0).abs() < 0.1 && (alike(0.999) - 100.0).abs() < 0.1, "{} s", alike(0.5));
        // With a deviation of a third, half of the pages are lost by the mean, minus the writes that the first losses
        // shift to the others.
        let (half, all) = (
            wear.lifetime_s(Time::from_s(1), &of(Spread::Normal, 0.333), 0.5),
            wear.lifetime_s(Time::from_s(1), &of(Spread::Normal, 0.333), 0.999),
        );
        assert!(half > 80.0 && half < 90.0 && all > 99.0 && all < 101.0, "{half} s, {all} s");
        assert!(Wear::default().lifetime_s(Time::from_s(1), &of(Spread::Normal, 0.0), 0.5).is_nan());
        // A logarithm of the same mean and deviation has its median lower, and a longer tail.
        let log = |deviation, part| wear.lifetime_s(Time::from_s(1), &of(Spread::LogNormal, deviation), part);
        assert!((log(0.0, 0.5) - 100.0).abs() < 0.1, "{} s", log(0.0, 0.5));
        // In the end all cycles that pages endure are used: the mean.
        assert!((log(1.0, 0.999) - 100.0).abs() < 3.0, "{} s", log(1.0, 0.999));
        // E[min(X, m)] at the median m: m / 2 + mean x (1 - N(width)); the width is the root of ln 2.
        assert!((log(1.0, 0.5) - (70.71 / 2.0 + 100.0 * (1.0 - 0.797_5))).abs() < 0.5, "{} s", log(1.0, 0.5));
    }
}
