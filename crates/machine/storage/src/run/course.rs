//! Distance of a run from steady state: its write amplification over time, compared with the value the drive was
//! prepared for.
//!
//! A prepared steady state is that of uniform random overwrites. Under another workload (skewed, sequential, mixed
//! sizes) the drive moves to a different steady state; until it arrives, its figures belong to neither.

use ftl::Stats;
use system::parts::Translation;

use crate::prepare::Prepared;
use crate::results::notes::{Kind, Note};

/// Maximum number of samples, which are equally spaced.
const SAMPLES: usize = 128;
/// Relative difference that is worth a note. Runs of uniform writes come within 5 % of theory (`tests/laid_out.rs`).
const NOTABLE: f64 = 0.05;
/// Share of the drive that a run must have written before its write amplification means anything.
const LEAST_WRITTEN: f64 = 0.005;

/// Samples of the units programmed for the host and of all units programmed.
#[derive(Clone, Debug)]
pub struct Course {
    samples: Vec<(u64, u64)>,
    /// One call in `every` is kept.
    every: u64,
    calls: u64,
}

impl Default for Course {
    fn default() -> Course {
        Course { samples: vec![(0, 0)], every: 1, calls: 0 }
    }
}

impl Course {
    /// Takes a sample. Calls should be about equally spaced in requests.
    pub fn sample(&mut self, stats: &Stats) {
        self.calls += 1;
        if !self.calls.is_multiple_of(self.every) {
            return;
        }
        self.samples.push(counts(stats));
        if self.samples.len() > SAMPLES {
            self.every *= 2;
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
    }

    /// Returns a note for the reader of the results if the run on a drive that was `prepared` ended away from the
    /// prepared steady state.
    pub fn note(mut self, ftl: &Translation, prepared: &Prepared) -> Option<Note> {
        let stats = ftl.stats();
        let expected = prepared.write_amplification?;
        self.samples.push(counts(&stats));
        let written = stats.programmed_host as f64 / f64::from(ftl.user_units());
        // Collection works in whole blocks, so that the counts of a third are uncertain by one block each.
        let grain = 3.0 * f64::from(ftl.pages().block_shape().0) / (stats.programmed_host.max(1)) as f64;
        let last = self.amplification(2)?;
        let off = last / expected - 1.0;
        if written < LEAST_WRITTEN || off.abs() < NOTABLE + grain {
            return None;
        }
        let was = match self.amplification(1) {
            Some(before) if (last / before - 1.0).abs() >= NOTABLE / 5.0 + grain => {
                format!(
                    "{:+.0} % since the third before: the run ended before the drive was steady",
                    100.0 * (last / before - 1.0)
                )
            }
            _ => "as in the third before".to_owned(),
        };
        let text = format!(
            "not the steady state that was prepared (uniform random writes, write amplification {expected:.2}): {last:.2} in \
             the last third of {:.1} % of a drive-write, {was}",
            100.0 * written
        );
        Some(Note::new(Kind::OtherSteadyState, text))
    }

    /// Returns the write amplification in one third (0 to 2) of the units programmed for the host, or `None` if that
    /// third is empty.
    fn amplification(&self, third: u64) -> Option<f64> {
        let total = self.samples.last()?.0;
        let at = |part: u64| {
            let host = total * part / 3;
            let after = self.samples.partition_point(|sample| sample.0 < host);
            *self.samples.get(after).or(self.samples.last()).expect("the first is always there")
        };
        let (from, to) = (at(third), at(third + 1));
        (to.0 > from.0).then(|| (to.1 - from.1) as f64 / (to.0 - from.0) as f64)
    }
}

fn counts(stats: &Stats) -> (u64, u64) {
    (stats.programmed_host, stats.programmed())
}
