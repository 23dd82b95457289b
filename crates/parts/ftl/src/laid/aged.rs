//! Preconditioned drives, computed instead of written: filled in order, or in the middle of a long run of uniform
//! random overwrites.
//!
//! [`mod@steady`] gives the number of valid units of each closed block in steady state. Blocks are laid out accordingly,
//! with their valid units distributed at random. Both states are rules ([`Laid`]), which the translation layer finds
//! when it mounts. Superseded units read as padding, which no reader can distinguish.

use sim::{Permutation, Rng, Streams};

use crate::config::{Config, ConfigError};
use crate::laid::{Entry, Laid, live_units};
use crate::layout::Layout;
use steady::{ClosedBlock, Pool};

/// Properties of the steady state that an aged drive was laid out for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aged {
    /// Write amplification predicted by the theory.
    pub write_amplification: f64,
    /// Fraction of valid units in closed blocks.
    pub occupancy: f64,
    /// No theory exists for the policy, so that of greedy collection was used.
    pub approximate: bool,
}

/// Load that preceded the state of a laid-out drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Writes without a pause.
    Busy,
    /// Writes followed by a pause long enough to fold the SLC cache and to collect space ahead.
    Rested,
}

/// Lays out a drive whose every unit was written once, in order, as a job of sequential writes leaves it: whole
/// programs over the parallel units in turn. Returns `None` if `usable` excludes any block: the stripe then has holes,
/// and the drive must be written instead.
///
/// # Errors
/// If the configuration cannot work.
pub fn filled(config: &Config, usable: impl Fn(u16, u32, u32) -> bool) -> Result<Option<Laid>, ConfigError> {
    config.check()?;
    let g = &config.geometry;
    let mut all = (0..g.all_dies() as u16).flat_map(|die| (0..g.planes).map(move |plane| (die, plane)));
    let whole = all.all(|(die, plane)| (0..g.blocks).all(|block| usable(die, plane, block)));
    Ok(whole.then(|| Laid::striped(config)))
}

/// Lays out flash in the middle of a long run of random overwrites. `usable` returns true if the physical block (die,
/// plane, block) may be used.
///
/// Each parallel unit has the free blocks that collection maintains, write points for the host and for copies, a partly
/// collected victim, and, with an SLC cache, as many full SLC blocks as a continuous writer leaves. After a rest the
/// SLC cache is empty and more blocks are free. The fill of the write points depends on the moment of observation, so
/// it is drawn at random.
///
/// # Errors
/// If the configuration cannot work, or leaves no closed block or no spare room.
pub fn steady(
    config: &Config,
    load: Load,
    streams: &Streams,
    usable: impl Fn(u16, u32, u32) -> bool,
) -> Result<(Laid, Aged), ConfigError> {
    config.check()?;
    let layout = Layout::new(config);
    let mut rng = streams.stream("ftl.aged");
    let live = u64::from(live_units(config));
    let permutation = Permutation::new(live, &mut rng);
    let (policy, approximate) = config.collection.policy.theory(config.collection.choices);
    let mut aged = Aged { write_amplification: 0.0, occupancy: 0.0, approximate };
    let mut entries = vec![Entry::default(); layout.all_blocks() as usize];
    let mut writer = Writer { sequence: 1, base: 0, entries: &mut entries };
    // Parallel units differ only in bad blocks and by a unit or so: solve again only if the number of blocks differs.
    let mut solved: Option<(usize, (u32, steady::Steady))> = None;
    for pu in 0..layout.parallel_units {
        let mut blocks = good_blocks(config, &layout, pu, &usable);
        let end = live * u64::from(pu + 1) / u64::from(layout.parallel_units);
        let cached = if load == Load::Busy { slc_blocks(config, &layout, pu, &usable) } else { Vec::new() };
        let slc_programs = config.slc.map_or(0, |slc| layout.pages / slc.bits * layout.per_row);
        let slc_units = layout.data_before(slc_programs) * layout.program_units;
        let in_lane = end - u64::from(writer.base);
        let in_slc = (cached.len() as u64 * u64::from(slc_units)).min(in_lane / 2);
        if solved.as_ref().is_none_or(|(count, _)| *count != blocks.len()) {
            solved = Some((blocks.len(), shape(config, &layout, policy, load, &blocks, in_lane - in_slc)?));
        }
        let (_, (kept, steady)) = solved.as_ref().expect("just solved");
        // Programs of data entail those of their parity.
        let parity = f64::from(layout.block_units) / f64::from(layout.data_units);
        aged.write_amplification += parity * steady.write_amplification / f64::from(layout.parallel_units);
        aged.occupancy += steady.occupancy / f64::from(layout.parallel_units);
        let open: Vec<u32> =
            (0..open_blocks(config)).map(|_| rng.below(u64::from(layout.block_programs)) as u32).collect();
        let in_open = open.iter().map(|programs| u64::from(layout.data_before(*programs))).sum::<u64>();
        let in_open = in_open * u64::from(layout.program_units);
        let victim = Victim::beside(&open, steady, load, config, &layout);
        let closed = closed_blocks(config, &blocks, *kept, victim.room_blocks);
        let in_closed = (in_lane - in_slc).saturating_sub(in_open + u64::from(victim.valid));
        let failed = |e: steady::SteadyError| ConfigError(format!("no steady state: {e}"));
        let laid_out = steady.lay_out(closed, in_closed, &mut rng).map_err(failed)?;
        shuffle(&mut blocks, &mut rng);
        // Oldest first: sequence numbers determine the age.
        let mut blocks = blocks.into_iter();
        let mut next = || blocks.next().expect("closed and open blocks exceed the available blocks");
        let programs = layout.block_programs;
        writer.block(
            next(),
            Entry { programs, skipped: victim.collected, valid: victim.valid, ..Entry::default() },
            &mut rng,
        );
        for ClosedBlock { valid, .. } in laid_out.iter().rev() {
            writer.block(next(), Entry { programs, valid: *valid, ..Entry::default() }, &mut rng);
        }
        let mut left = (in_lane - in_slc).saturating_sub(u64::from(victim.valid) + in_closed) as u32;
        for programs in open {
            let valid = (layout.data_before(programs) * layout.program_units).min(left);
            left -= valid;
            writer.block(next(), Entry { programs, valid, ..Entry::default() }, &mut rng);
        }
        let mut left = in_slc as u32;
        for block in cached {
            let valid = slc_units.min(left);
            left -= valid;
            writer.block(block, Entry { programs: slc_programs, valid, ..Entry::default() }, &mut rng);
        }
        assert_eq!(u64::from(writer.base), end, "every live unit of the parallel unit must be dealt");
    }
    Ok((Laid::dealt(config, entries, permutation), aged))
}

/// A partly collected victim.
struct Victim {
    /// Number of programs already read and copied.
    collected: u32,
    /// Valid units in the remaining programs.
    valid: u32,
    /// Space that the victim has given back plus the space left in the write points, less half of the slack, in blocks.
    room_blocks: i64,
}

impl Victim {
    /// Returns a victim collected as far as the space in the write points requires; `open` holds their numbers of
    /// programs. Pacing keeps the sum of free blocks, the rest of the write points and the space gained from the victim
    /// between `start` + 1 blocks and that plus its slack. After a rest no victim is begun, and free blocks make up for
    /// it.
    fn beside(open: &[u32], steady: &steady::Steady, load: Load, config: &Config, layout: &Layout) -> Victim {
        let programs = i64::from(layout.block_programs);
        let rest: i64 = open.iter().map(|written| programs - i64::from(*written)).sum();
        let rest = rest - slack_programs(load, config, layout);
        let whole = rest.div_euclid(programs);
        if load == Load::Rested {
            return Victim { collected: 0, valid: steady.victim_valid.round() as u32, room_blocks: whole };
        }
        let room_blocks = whole + i64::from(rest.rem_euclid(programs) > 0);
        let collected = (room_blocks * programs - rest) as u32;
        let left = 1.0 - f64::from(collected) / f64::from(layout.block_programs);
        let most = layout.data_units - layout.data_before(collected) * layout.program_units;
        let valid = ((steady.victim_valid * left).round() as u32).min(most);
        Victim { collected, valid, room_blocks }
    }
}

/// Returns the remaining slack of pacing in programs: half of it while the host writes, all of it after a rest.
fn slack_programs(load: Load, config: &Config, layout: &Layout) -> i64 {
    let slack = crate::gc::pacing::slack(config, layout) / i64::from(layout.program_units);
    if load == Load::Busy { slack / 2 } else { slack }
}

/// Returns the blocks of `pu` without a bad plane, except those of the SLC cache.
fn good_blocks(config: &Config, layout: &Layout, pu: u32, usable: &impl Fn(u16, u32, u32) -> bool) -> Vec<u32> {
    whole_blocks(layout, pu, config.slc.map_or(0, |slc| slc.blocks)..layout.blocks, usable)
}

/// Returns those blocks of `pu` with the given numbers that have no bad plane.
fn whole_blocks(
    layout: &Layout,
    pu: u32,
    numbers: std::ops::Range<u32>,
    usable: &impl Fn(u16, u32, u32) -> bool,
) -> Vec<u32> {
    (pu * layout.blocks + numbers.start..pu * layout.blocks + numbers.end)
        .filter(|block| {
            (0..layout.per_row).all(|position| {
                let at = layout.block_at(*block, position);
                at.planes.iter().all(|plane| usable(at.die, plane, at.block))
            })
        })
        .collect()
}

/// Returns the blocks of the SLC cache in `pu` that are full under continuous load: all except those that folding keeps
/// free. Blocks set aside for read copies are excluded.
fn slc_blocks(config: &Config, layout: &Layout, pu: u32, usable: &impl Fn(u16, u32, u32) -> bool) -> Vec<u32> {
    let Some(slc) = config.slc else { return Vec::new() };
    let copies = config.read_copies.map_or(0, |copies| copies.blocks);
    let mut blocks = whole_blocks(layout, pu, copies..slc.blocks, usable);
    blocks.truncate(blocks.len().saturating_sub(slc.fold as usize));
    blocks
}

/// Returns the number of closed blocks of a parallel unit that are not being collected, if the write points and the
/// victim account for `room_blocks` blocks of space.
fn closed_blocks(config: &Config, blocks: &[u32], kept: u32, room_blocks: i64) -> u64 {
    let free = (i64::from(kept) - room_blocks).max(0) as u64;
    (blocks.len() as u64).saturating_sub(free + open_blocks(config) + 1)
}

/// Returns the number of free blocks that collection maintains, and the steady state of a parallel unit. After a rest,
/// collection has worked ahead for as long as that paid off.
fn shape(
    config: &Config,
    layout: &Layout,
    policy: steady::Policy,
    load: Load,
    blocks: &[u32],
    live: u64,
) -> Result<(u32, steady::Steady), ConfigError> {
    let mut kept = config.collection.start + 1;
    let mut steady = shape_with(config, layout, policy, load, blocks, live, kept)?;
    let ahead = if load == Load::Busy { 0 } else { config.collection.ahead };
    for _ in 0..ahead {
        let gain = f64::from(layout.block_units) - steady.victim_valid;
        if gain * (crate::gc::victim::AHEAD_GAIN as f64) < f64::from(layout.block_units) {
            break;
        }
        let Ok(more) = shape_with(config, layout, policy, load, blocks, live, kept + 1) else { break };
        (kept, steady) = (kept + 1, more);
    }
    Ok((kept, steady))
}

/// Returns the steady state of a parallel unit whose collection keeps `kept` blocks free.
fn shape_with(
    config: &Config,
    layout: &Layout,
    policy: steady::Policy,
    load: Load,
    blocks: &[u32],
    live: u64,
    kept: u32,
) -> Result<steady::Steady, ConfigError> {
    let open = open_blocks(config) as f64;
    // Half of each write point and half of the victim are space; pacing keeps the rest in free blocks.
    let slack = slack_programs(load, config, layout) as f64 / f64::from(layout.block_programs);
    let free = f64::from(kept) + slack - 0.5 * (open + 1.0);
    let failed = |e: steady::SteadyError| ConfigError(format!("no steady state: {e}"));
    // The victim counts as open, and is half collected on average. Its number of valid units follows from the solution,
    // which hardly depends on it: one more iteration is enough.
    let solve = |victim: f64| {
        let pool = Pool {
            blocks: blocks.len() as f64,
            free_blocks: free,
            open_blocks: open + 1.0,
            open_fill: 0.5 * (open + victim) / (open + 1.0),
            live_units: live as f64,
            units_per_block: layout.data_units,
        };
        steady::solve(policy, pool.occupancy()?, layout.data_units)
    };
    let victim_of = |steady: &steady::Steady| steady.victim_valid / f64::from(layout.data_units);
    solve(0.5).and_then(|first| solve(victim_of(&first))).map_err(failed)
}

/// Returns the number of blocks of a parallel unit that are being written: one for the host and copies together, or one
/// for each.
fn open_blocks(config: &Config) -> u64 {
    if config.separates() { 2 } else { 1 }
}

fn shuffle(blocks: &mut [u32], rng: &mut Rng) {
    for i in (1..blocks.len()).rev() {
        blocks.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// Writes entries in order of age, which determines their sequence numbers and units.
struct Writer<'a> {
    sequence: u64,
    base: u32,
    entries: &'a mut [Entry],
}

impl Writer<'_> {
    /// Adds `block` with the content `entry` as the next in order of age.
    fn block(&mut self, block: u32, entry: Entry, rng: &mut Rng) {
        self.entries[block as usize] = Entry { sequence: self.sequence, base: self.base, key: rng.bits(), ..entry };
        self.sequence += u64::from(entry.programs);
        self.base += entry.valid;
    }
}
