//! An aged drive without ageing it: the flash as a long run of uniform random overwrites would have left it.
//!
//! [`steady`](crate::steady) says how many units of each closed block are valid in steady state; here blocks are
//! written accordingly, their valid units dealt at random. The translation layer then mounts what it finds. Superseded
//! units are written as padding: no reader can tell.

use media::{NOBODY, PageAddr};
use sim::{Permutation, Rng, Streams};

use crate::config::{Config, ConfigError, Policy};
use crate::layout::Layout;
use crate::steady::{self, ClosedBlock, Pool};
use crate::{journal, map_frames};

/// What an aged drive was laid out for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aged {
    /// Write amplification that theory gives for it.
    pub write_amplification: f64,
    /// Fraction of the closed blocks' units that is valid.
    pub occupancy: f64,
    /// The policy has no theory; greedy's was taken.
    pub approximate: bool,
}

/// Writes an aged drive's flash. `usable` says whether the physical block (die, plane, block) may be used; `program`
/// gets a page, its sequence number and its units' logical numbers ([`NOBODY`] where superseded).
///
/// # Errors
/// If the configuration leaves no closed block, or no spare room.
pub fn write(
    config: &Config,
    streams: &Streams,
    usable: impl Fn(u16, u32, u32) -> bool,
    mut program: impl FnMut(PageAddr, u64, &[u32]),
) -> Result<Aged, ConfigError> {
    let layout = Layout::new(config);
    let mut rng = streams.stream("ftl.aged");
    let system = map_frames::units(config);
    let live = u64::from(config.user_units) + u64::from(system);
    let deal = Deal {
        permutation: Permutation::new(live, &mut rng),
        user_units: config.user_units,
        journal_units: journal::units(config),
    };
    let (policy, approximate) = match config.collection.policy {
        Policy::Greedy => (steady::Policy::Greedy, false),
        Policy::Fifo => (steady::Policy::Fifo, false),
        Policy::Choices(d) => (steady::Policy::DChoices(d), false),
        Policy::CostBenefit => (steady::Policy::Greedy, true),
    };
    let mut aged = Aged { write_amplification: 0.0, occupancy: 0.0, approximate };
    let mut sequence = 0;
    let mut dealt = 0;
    // Lanes are alike but for bad blocks and a unit more or less: solved anew only where the blocks differ in number.
    let mut solved: Option<(usize, steady::Steady, u64)> = None;
    for lane in 0..layout.lanes {
        let mut blocks = good_blocks(config, &layout, lane, &usable);
        let end = live * u64::from(lane + 1) / u64::from(layout.lanes);
        if solved.as_ref().is_none_or(|(count, ..)| *count != blocks.len()) {
            let (steady, closed) = shape(config, &layout, policy, &blocks, end - dealt)?;
            solved = Some((blocks.len(), steady, closed));
        }
        let (_, steady, closed) = solved.as_ref().expect("just solved");
        aged.write_amplification += steady.write_amplification / f64::from(layout.lanes);
        aged.occupancy += steady.occupancy / f64::from(layout.lanes);
        let failed = |e: steady::SteadyError| ConfigError(format!("no steady state: {e}"));
        // Where the open blocks are in their fill depends on when one looks.
        let open: Vec<u32> =
            (0..open_blocks(config)).map(|_| rng.below(u64::from(layout.block_programs)) as u32).collect();
        let in_open = u64::from(open.iter().sum::<u32>()) * u64::from(layout.program_units);
        let in_closed = (end - dealt).saturating_sub(in_open);
        let laid_out = steady.lay_out(*closed, in_closed, &mut rng).map_err(failed)?;
        shuffle(&mut blocks, &mut rng);
        // Oldest first: sequence numbers tell age.
        for (block, ClosedBlock { valid, .. }) in blocks.iter().zip(laid_out.iter().rev()) {
            let mut writer = Writer { layout: &layout, rng: &mut rng, deal: &deal, dealt: &mut dealt };
            writer.block(*block, layout.block_programs, *valid, &mut sequence, &mut program);
        }
        for (block, programs) in blocks[laid_out.len()..].iter().zip(open) {
            let units = (u64::from(programs * layout.program_units)).min(end - dealt) as u32;
            let mut writer = Writer { layout: &layout, rng: &mut rng, deal: &deal, dealt: &mut dealt };
            writer.block(*block, programs, units, &mut sequence, &mut program);
        }
        assert_eq!(dealt, end, "every live unit of a lane is dealt");
    }
    Ok(aged)
}

/// Blocks of `lane` without a bad plane, those of the SLC cache left out.
fn good_blocks(config: &Config, layout: &Layout, lane: u32, usable: &impl Fn(u16, u32, u32) -> bool) -> Vec<u32> {
    let first = config.slc.map_or(0, |slc| slc.blocks);
    (lane * layout.blocks + first..(lane + 1) * layout.blocks)
        .filter(|block| {
            (0..layout.per_row).all(|position| {
                let at = layout.block_at(*block, position);
                at.planes.iter().all(|plane| usable(at.die, plane, at.block))
            })
        })
        .collect()
}

/// The steady state of a lane, and how many of its blocks are closed.
fn shape(
    config: &Config,
    layout: &Layout,
    policy: steady::Policy,
    blocks: &[u32],
    live: u64,
) -> Result<(steady::Steady, u64), ConfigError> {
    let (free, open) = (u64::from(config.collection.start), open_blocks(config));
    let closed = (blocks.len() as u64).saturating_sub(free + open);
    let failed = |e: steady::SteadyError| ConfigError(format!("no steady state: {e}"));
    let pool = Pool {
        blocks: blocks.len() as f64,
        free_blocks: free as f64,
        open_blocks: open as f64,
        open_fill: 0.5,
        live_units: live as f64,
        units_per_block: layout.block_units,
    };
    let occupancy = pool.occupancy().map_err(failed)?;
    Ok((steady::solve(policy, occupancy, layout.block_units).map_err(failed)?, closed))
}

/// Blocks of a lane that are being written: one for the host, one for copies.
fn open_blocks(config: &Config) -> u64 {
    if config.collection.separate { 2 } else { 1 }
}

fn shuffle(blocks: &mut [u32], rng: &mut Rng) {
    for i in (1..blocks.len()).rev() {
        blocks.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// Live units in random order: the user's and the map's, the journal's between them left out.
struct Deal {
    permutation: Permutation,
    user_units: u32,
    journal_units: u32,
}

impl Deal {
    fn unit(&self, i: u64) -> u32 {
        let unit = self.permutation.at(i) as u32;
        if unit < self.user_units { unit } else { unit + self.journal_units }
    }
}

struct Writer<'a> {
    layout: &'a Layout,
    rng: &'a mut Rng,
    deal: &'a Deal,
    dealt: &'a mut u64,
}

impl Writer<'_> {
    /// Writes the first `programs` programs of `block`, `valid` of their units with live ones, any subset alike.
    fn block(
        &mut self,
        block: u32,
        programs: u32,
        valid: u32,
        sequence: &mut u64,
        program: &mut impl FnMut(PageAddr, u64, &[u32]),
    ) {
        let (mut valid, mut left) = (u64::from(valid), u64::from(programs * self.layout.program_units));
        let mut units = vec![NOBODY; self.layout.program_units as usize];
        for number in 0..programs {
            for unit in &mut units {
                *unit = NOBODY;
                // 32 bits decide: at most one draw in 2^32 / units a block goes the other way.
                if (u64::from(self.rng.half()) * left) >> 32 < valid {
                    *unit = self.deal.unit(*self.dealt);
                    *self.dealt += 1;
                    valid -= 1;
                }
                left -= 1;
            }
            *sequence += 1;
            program(self.layout.page(block, number), *sequence, &units);
        }
    }
}
