//! Failures of operations, and the random streams that decide them.

use media::BlockAddr;
use sim::{Rng, Streams, Time};

use crate::config::{Config, Faults, Wear};
use crate::reliability::endurance::Endurances;
use crate::reliability::errors::{ErrorModel, Outcome};
use crate::schedule::op::{Op, OpKind};
use crate::store::Store;
use crate::variation;

pub(crate) struct Hazards {
    /// Reads can fail for other reasons than a torn page.
    pub reads: bool,
    /// Programs and erases can fail.
    pub writes: bool,
    faults: Faults,
    wear: Wear,
    endurances: Option<Endurances>,
    errors: Option<ErrorModel>,
    retries_max: u8,
    fault_draws: Rng,
    failure_draws: Rng,
    error_draws: Rng,
    /// The drive's age at the start of the run, in seconds.
    age_s: u32,
}

/// A second in picoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000_000;

impl Hazards {
    pub(crate) fn new(config: &Config, streams: &Streams, store: &Store) -> Hazards {
        let Config { wear, faults, .. } = *config;
        let seed = streams.stream("nand.endurance").bits();
        Hazards {
            reads: config.errors.is_some() || faults.read > 0.0 || faults.die.is_some(),
            writes: wear.endurance.mean.is_some()
                || faults.die.is_some()
                || wear.program_failure.max(wear.erase_failure) > 0.0,
            faults,
            wear,
            endurances: Endurances::new(&wear.endurance, seed),
            errors: config.errors.map(|e| ErrorModel::new(&e, &config.ecc)),
            retries_max: config.ecc.retries_max,
            fault_draws: streams.stream("nand.faults"),
            failure_draws: streams.stream("nand.failures"),
            error_draws: streams.stream("nand.errors"),
            age_s: store.clock_s().saturating_add(config.age_s),
        }
    }

    /// Returns the drive's age in seconds.
    #[inline]
    pub(crate) fn clock_s(&self, now: Time) -> u32 {
        self.age_s.saturating_add((now.ps() / SECOND) as u32)
    }

    /// Decides the outcome of the read `op`, when its array is first read.
    #[cold]
    pub(crate) fn face_read(&mut self, now: Time, op: &mut Op, store: &mut Store) {
        op.faced = true;
        let first = store.geometry().block_index(op.address(), 0);
        let blocks = store.geometry().blocks as usize;
        let clock = self.clock_s(now);
        let (mut torn, mut rate) = (false, 0.0_f64);
        for plane in op.planes.iter() {
            let block = first + plane as usize * blocks;
            torn |= !store.can_be_read(block, op.page());
            if let Some(errors) = &self.errors {
                let reads = store.read_of(block);
                let age = clock.saturating_sub(store.written_of(block));
                let slc = store.has_slc() && store.is_slc(block);
                rate = rate.max(errors.rate(self.cycles_of(block, store), age, reads, slc));
            }
        }
        let mut outcome = Outcome { retries: 0, lost: false };
        if let Some(errors) = &self.errors {
            outcome = errors.outcome(rate, op.bytes, self.error_draws.unit());
        }
        if self.fault_draws.chance(self.faults.read) || torn || self.faults.die == Some(op.address().die) {
            outcome = Outcome { retries: self.retries_max, lost: true };
        }
        (op.retries, op.lost) = (outcome.retries, outcome.lost);
    }

    /// Returns the cycles that determine a block's errors.
    fn cycles_of(&self, block: usize, store: &Store) -> u32 {
        match (&self.endurances, store.erases_by_mode(block)) {
            (Some(endurances), Some(erases)) => endurances.cycles_in_both(erases) as u32,
            _ => store.erases_of(block),
        }
    }

    /// Returns whether the program or erase `op` fails.
    #[cold]
    pub(crate) fn write_fails(&mut self, op: &Op, store: &Store) -> bool {
        let first = store.geometry().block_index(op.address(), 0);
        let blocks = store.geometry().blocks as usize;
        let worn = self.endurances.as_ref().is_some_and(|e| {
            op.planes.iter().map(|plane| first + plane as usize * blocks).any(|block| {
                let erases = store.erases_of(block);
                if let Some((normal, slc)) = store.erases_by_mode(block) {
                    return match (op.kind, store.is_slc(block)) {
                        (OpKind::Program, _) => e.is_worn_in_both(block, Some(op.page()), (normal, slc)),
                        (_, true) => e.is_worn_in_both(block, None, (normal, slc + 1)),
                        (_, false) => e.is_worn_in_both(block, None, (normal + 1, slc)),
                    };
                }
                match op.kind {
                    OpKind::Program => e.page_is_worn(block, op.page(), erases, op.slc),
                    _ => e.block_is_worn(block, erases + 1, store.is_slc(block)),
                }
            })
        });
        let failure = match op.kind {
            OpKind::Program => self.wear.program_failure,
            _ => self.wear.erase_failure,
        };
        // Drawn whatever the wear, so that the stream is independent of it.
        let failure = self.failure_draws.chance(failure);
        worn || failure || self.faults.die == Some(op.address().die)
    }
}

/// Marks the factory bad blocks. Dies may differ in their number.
pub(crate) fn mark_factory_bad(store: &mut Store, config: &Config, streams: &Streams) {
    let wear = &config.wear;
    if wear.factory_bad <= 0.0 {
        return;
    }
    let mut draws = streams.stream("nand.factory");
    let seed = streams.stream("nand.variation").bits();
    let g = *store.geometry();
    for die in 0..g.all_dies() as u16 {
        let share = wear.factory_bad * (1.0 + config.variation.bad_blocks * variation::of_bad_blocks(seed, die));
        for plane in 0..g.planes {
            for block in 0..g.blocks {
                if draws.chance(share.min(1.0)) {
                    store.mark_bad(BlockAddr { die, planes: media::PlaneMask::one(plane), block });
                }
            }
        }
    }
}
