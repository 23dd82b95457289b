//! Preconditioned drives, computed instead of written: filled in order, or in the middle of a long run of uniform
//! random overwrites.
//!
//! [`mod@steady`] gives the number of valid units of each closed block in steady state. Blocks are laid out accordingly,
//! with their valid units distributed at random. Both states are rules ([`Laid`]), which the translation layer finds
//! when it mounts. Superseded units read as padding, which no reader can distinguish.

use sim::{Permutation, Rng, Streams};

use crate::config::{Config, ConfigError};
use crate::laid::host_blocks::{Contents, HostBlocks};
use crate::laid::shape::{Drive, Shape, open_blocks};
use crate::laid::{Deal, Entry, Laid, LaidVictim, live_units};
use crate::layout::Layout;
use crate::sizes;
use steady::ClosedBlock;

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
/// Each parallel unit has the free space that collection leaves to a host that waits for it, write points for the host and
/// for copies, a partly collected victim, and the [SLC blocks](super::slc) that a continuous writer leaves. If blocks rest
/// before they are collected, the blocks that the host filled last hold pages of the map, some superseded, and the parallel unit
/// is as short of space as pacing leaves it. After a rest the SLC cache is empty and more blocks are free. The fill of the
/// write points depends on the moment of observation, so it is drawn at random.
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
    let host = HostBlocks::new(config, &layout);
    let map = if host.is_some() { u64::from(sizes::map_units(config)) } else { 0 };
    let units = Permutation::new(live - map, &mut rng);
    let deal = Deal { units, map: (map > 0).then(|| Permutation::new(map, &mut rng)) };
    let (policy, approximate) = config.collection.policy.theory(config.collection.choices);
    let drive = Drive { config, layout: &layout, policy, load, host };
    let mut aged = Aged { write_amplification: 0.0, occupancy: 0.0, approximate };
    let mut entries = vec![Entry::default(); layout.all_blocks() as usize];
    let (mut resting, mut victims) = (Vec::new(), Vec::new());
    let mut writer = Writer { sequence: 1, base: 0, map_base: 0, entries: &mut entries };
    // Parallel units differ only in bad blocks and by a unit or so: solve again only if the number of blocks differs.
    let mut solved: Option<(usize, Shape)> = None;
    for pu in 0..layout.parallel_units {
        let mut blocks = good_blocks(config, &layout, pu, &usable);
        let end_of = |units: u64| units * u64::from(pu + 1) / u64::from(layout.parallel_units);
        let (end, map_end) = (end_of(live - map), end_of(map));
        let slc_programs = config.slc.map_or(0, |slc| layout.pages / slc.bits * layout.per_row);
        let slc_units = layout.data_before(slc_programs) * layout.program_units;
        let map_in_pu = map_end - u64::from(writer.map_base);
        let in_pu = end - u64::from(writer.base) + map_in_pu;
        let cached = drive.full_slc_blocks(pu, slc_units, &usable);
        let in_slc = cached.iter().map(|(_, valid)| u64::from(*valid)).sum::<u64>().min(in_pu / 2);
        if solved.as_ref().is_none_or(|(count, _)| *count != blocks.len()) {
            solved = Some((blocks.len(), drive.shape(blocks.len(), in_pu - in_slc)?));
        }
        let (_, Shape { kept, host, steady }) = solved.as_ref().expect("just solved");
        // Programs of data entail those of their parity.
        let parity = f64::from(layout.block_units) / f64::from(layout.data_units);
        let amplification = host.map_or(steady.write_amplification, |host| host.write_amplification());
        aged.write_amplification += parity * amplification / f64::from(layout.parallel_units);
        aged.occupancy += steady.occupancy / f64::from(layout.parallel_units);
        let open: Vec<u32> =
            (0..open_blocks(config)).map(|_| rng.below(u64::from(layout.block_programs)) as u32).collect();
        let slack = drive.slack_programs(host.as_ref());
        let units_of = |programs: u32| layout.data_before(programs) * layout.program_units;
        let mut in_open: Vec<Contents> = open.iter().map(|open| Contents { map: 0, data: units_of(*open) }).collect();
        let filled = match host {
            Some(host) => {
                let part = f64::from(open[HOST]) / f64::from(layout.block_programs);
                let full = host.resting + host.rested(part);
                let mut contents = host.contents(part, full, layout.data_units, map_in_pu as u32);
                in_open[HOST] = contents.remove(0);
                contents
            }
            None => Vec::new(),
        };
        let victim = Victim::beside(&open, steady, slack, load, &layout);
        let closed = closed_blocks(config, &blocks, *kept, victim.room_blocks).saturating_sub(filled.len() as u64);
        let in_others = in_open.iter().chain(&filled).map(|of| u64::from(of.map + of.data)).sum::<u64>();
        let in_closed = (in_pu - in_slc).saturating_sub(in_others + u64::from(victim.valid));
        let failed = |e: steady::SteadyError| ConfigError(format!("no steady state: {e}"));
        let laid_out = steady.lay_out(closed, in_closed, &mut rng).map_err(failed)?;
        shuffle(&mut blocks, &mut rng);
        // Oldest first: sequence numbers determine the age.
        let mut blocks = blocks.into_iter();
        let mut next = || blocks.next().expect("closed and open blocks exceed the available blocks");
        let programs = layout.block_programs;
        let collected = next();
        if victim.collected > 0 {
            victims
                .push(LaidVictim { block: collected, valid: (steady.victim_valid.round() as u32).max(victim.valid) });
        }
        writer.block(
            collected,
            Entry { programs, skipped: victim.collected, valid: victim.valid, ..Entry::default() },
            &mut rng,
        );
        // The closed blocks hold those pages of the map that are older than the host's blocks, in proportion.
        let old_map = map_in_pu - in_open.iter().chain(&filled).map(|of| u64::from(of.map)).sum::<u64>();
        let old_map_in = |units: u64| (old_map * units).checked_div(in_closed).unwrap_or(0);
        let mut before = 0;
        for ClosedBlock { valid, .. } in laid_out.iter().rev() {
            let map = old_map_in(before + u64::from(*valid)) - old_map_in(before);
            before += u64::from(*valid);
            writer.block(next(), Entry { programs, valid: *valid, map: map as u32, ..Entry::default() }, &mut rng);
        }
        for (number, Contents { map, data }) in filled.iter().enumerate().rev() {
            let block = next();
            writer.block(block, Entry { programs, valid: map + data, map: *map, ..Entry::default() }, &mut rng);
            if host.is_some_and(|host| number < host.resting as usize) {
                resting.push(block);
            }
        }
        let mut left = (end - u64::from(writer.base) - in_slc) as u32;
        let mut open_blocks: Vec<u32> = open.iter().map(|_| next()).collect();
        if host.is_some() {
            // A mount takes the first one for copies.
            open_blocks.sort_unstable();
        }
        for ((block, programs), Contents { map, data }) in open_blocks.into_iter().zip(open).zip(in_open) {
            let data = data.min(left);
            left -= data;
            writer.block(block, Entry { programs, valid: map + data, map, ..Entry::default() }, &mut rng);
        }
        let mut left = in_slc as u32;
        for (block, valid) in cached {
            let valid = valid.min(left);
            left -= valid;
            writer.block(block, Entry { programs: slc_programs, valid, ..Entry::default() }, &mut rng);
        }
        let dealt = (u64::from(writer.base), u64::from(writer.map_base));
        assert_eq!(dealt, (end, map_end), "every live unit of the parallel unit must be dealt");
    }
    Ok((Laid::dealt(config, entries, deal, resting, victims), aged))
}

/// Index among the open blocks of that for host data, if copies have another.
const HOST: usize = 1;

/// A partly collected victim.
struct Victim {
    /// Number of programs already read and copied.
    collected: u32,
    /// Valid units in the remaining programs.
    valid: u32,
    /// Space that the victim has given back plus the space left in the write points, less the slack, in blocks.
    room_blocks: i64,
}

impl Victim {
    /// Returns a victim collected as far as the space in the write points requires; `open` holds their numbers of
    /// programs. Pacing keeps the sum of free blocks, the rest of the write points and the space gained from the victim
    /// `slack` programs above `start` + 1 blocks. After a rest no victim is begun, and free blocks make up for it.
    fn beside(open: &[u32], steady: &steady::Steady, slack: i64, load: Load, layout: &Layout) -> Victim {
        let programs = i64::from(layout.block_programs);
        let rest: i64 = open.iter().map(|written| programs - i64::from(*written)).sum();
        let rest = rest - slack;
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

/// Returns the blocks of `pu` without a bad plane, except those of the SLC cache.
fn good_blocks(config: &Config, layout: &Layout, pu: u32, usable: &impl Fn(u16, u32, u32) -> bool) -> Vec<u32> {
    whole_blocks(layout, pu, config.slc.map_or(0, |slc| slc.blocks)..layout.blocks, usable)
}

/// Returns those blocks of `pu` with the given numbers that have no bad plane.
pub(super) fn whole_blocks(
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

/// Returns the number of closed blocks of a parallel unit that are not being collected, if the write points and the
/// victim account for `room_blocks` blocks of space.
fn closed_blocks(config: &Config, blocks: &[u32], kept: u32, room_blocks: i64) -> u64 {
    let free = (i64::from(kept) - room_blocks).max(0) as u64;
    (blocks.len() as u64).saturating_sub(free + open_blocks(config) + 1)
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
    map_base: u32,
    entries: &'a mut [Entry],
}

impl Writer<'_> {
    /// Adds `block` with the content `entry` as the next in order of age.
    fn block(&mut self, block: u32, entry: Entry, rng: &mut Rng) {
        let (sequence, base, map_base) = (self.sequence, self.base, self.map_base);
        self.entries[block as usize] = Entry { sequence, base, map_base, key: rng.bits(), ..entry };
        self.sequence += u64::from(entry.programs);
        self.base += entry.valid - entry.map;
        self.map_base += entry.map;
    }
}
