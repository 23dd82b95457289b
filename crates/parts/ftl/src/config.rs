//! What an instance of the translation layer is told.

use media::Geometry;
use sim::Time;

use crate::layout::Layout;
use crate::pacing::START_MIN;

/// The unit in which flash is opened, collected and erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A block of one plane: every plane has its own write frontier and collects by itself.
    Plane,
    /// The blocks of one number on all planes of a die.
    Die,
    /// The blocks of one number on all dies: a superblock, as large drives use.
    Drive,
}

/// How a victim of garbage collection is chosen among the closed blocks of a parallel unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The one with the fewest valid units.
    Greedy,
    /// The greatest (1 - u) / 2u x age (Rosenblum and Ousterhout, 1992; Kawaguchi et al., 1995).
    CostBenefit,
    /// The one closed longest ago.
    Fifo,
    /// The one with the fewest valid units among this many drawn at random (Van Houdt, 2013).
    Choices(u32),
}

/// Garbage collection.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// How victims are chosen.
    pub policy: Policy,
    /// A parallel unit collects while its free space is less than this many blocks and one that is being written; at least 3.
    pub start: u32,
    /// Blocks of free space beyond those that idle time collects.
    pub ahead: u32,
    /// Time without a command after which collection works ahead.
    pub idle: Time,
    /// Host writes and copies go to blocks of their own.
    pub separate: bool,
    /// Pages of each die that are read in a row before what they held is programmed; at least 1.
    pub batch: u32,
    /// Units in flight in a parallel unit, raised to two programs' worth; `None`: what keeps its dies busy.
    pub copies: Option<u32>,
    /// Units by which the host may take a parallel unit below its target before it waits for copies, raised to two programs' worth;
    /// `None`: an eighth of a block.
    pub slack: Option<u32>,
}

/// Wear levelling.
#[derive(Clone, Copy, Debug)]
pub struct Wear {
    /// The free block that was erased least is opened next.
    pub dynamic: bool,
    /// Erases by which the least worn closed block of a parallel unit may lag behind the most worn before its data is moved.
    pub static_threshold: Option<u32>,
}

/// Which frame of the map's cache makes way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The one least recently used.
    Lru,
    /// The one brought in first.
    Fifo,
    /// The one brought in first that was not used since it was last passed over (Corbato, 1968).
    Clock,
}

/// A cache of translation units over the map in flash.
#[derive(Clone, Copy, Debug)]
pub struct MapCache {
    /// Frames in the controller (SRAM or its DRAM), where looking up costs nothing beyond the firmware's time; at
    /// least 1.
    pub frames: u32,
    /// Consecutive translation units that a frame in the host's memory has room for, each brought in when it is needed: a
    /// power of two. One in the controller has room for one.
    pub frame_units: u32,
    /// Changes of the map that may wait in the controller for their translation unit; with 0 each has its unit brought in
    /// at once.
    pub updates: u32,
    /// Which frame, or which entry, makes way.
    pub eviction: Eviction,
    /// So many single entries are cached, instead of whole translation units in frames; at least 1.
    pub entries: Option<u32>,
    /// The cache is filled at the start, with parts of the map drawn at random.
    pub warm: bool,
}

/// Memory of the host that the controller may use once it is enabled, beside its own. Each access crosses the link.
#[derive(Clone, Copy, Debug)]
pub struct HostMemory {
    /// Frames of the map's cache.
    pub map_frames: u32,
    /// Mapping units that may hold clean data.
    pub read: u32,
    /// Mapping units that may hold data on its way to flash.
    pub write: u32,
    /// Bytes of check code beside each line of 64 bytes, which cross the link with it.
    pub check: u32,
}

impl HostMemory {
    /// Bytes of a line, the least that is checked.
    pub const LINE: u32 = 64;

    /// Bytes that cross the link, or lie in the host's memory, for `bytes` of content.
    #[inline]
    pub const fn stored(&self, bytes: u32) -> u32 {
        bytes + bytes.div_ceil(HostMemory::LINE) * self.check
    }
}

/// The RAM for data.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Mapping units that may hold data on its way to flash. At least the largest host command.
    pub write: u32,
    /// Mapping units that may hold clean data.
    pub read: u32,
    /// Write and read share one pool of `write + read` units; written data stays readable in it.
    pub shared: bool,
    /// A write is acknowledged when its data is here, else when it is in flash.
    pub write_back: bool,
    /// The RAM survives a power cut long enough to be written out: flush and FUA cost nothing.
    pub protected: bool,
    /// Dirty units at which they start to be written to flash.
    pub high: u32,
    /// Dirty units at which writing stops.
    pub low: u32,
    /// Units that must be free before writes that found the RAM full are admitted; at most `write`.
    pub resume: u32,
    /// Reads wait behind writes that wait for room.
    pub holds_reads: bool,
    /// Dirty data is written out, short programs padded, after this long without a write.
    pub idle: Time,
}

/// Blocks that hold one bit a cell and take the host's writes first.
#[derive(Clone, Copy, Debug)]
pub struct SlcCache {
    /// The first so many blocks of each plane.
    pub blocks: u32,
    /// Bits a cell of the other blocks: an SLC block has this fraction of their pages.
    pub bits: u32,
    /// Folding into the other blocks starts when a parallel unit has less free SLC space than this many blocks.
    pub fold: u32,
    /// Full SLC blocks of a parallel unit that idle time leaves as they are.
    pub keep: u32,
    /// Other blocks that a parallel unit may use as SLC blocks while the drive is not full.
    pub dynamic: u32,
}

/// When data is rewritten in the background because it is old, or its block was read often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refresh {
    /// Reads of a physical block since its erase.
    pub reads: Option<u32>,
    /// Seconds since the first program of a block.
    pub age_s: Option<u32>,
    /// The drive's age in seconds at the start.
    pub drive_age_s: u32,
}

/// Copies of what was read, in blocks that hold one bit a cell.
#[derive(Clone, Copy, Debug)]
pub struct ReadCopies {
    /// The first so many blocks of each plane: of the [`SlcCache`]'s, which does not use them.
    pub blocks: u32,
    /// Mapping units that are kept.
    pub units: u32,
}

/// A page-mapped translation layer.
#[derive(Clone, Debug)]
pub struct Config {
    /// The flash.
    pub geometry: Geometry,
    /// Mapping units the host sees.
    pub user_units: u32,
    /// Unit of allocation and collection.
    pub group: Group,
    /// Order in which consecutive programs go over channels, ways (chips), dies and planes: first letter fastest.
    pub stripe: [Axis; 4],
    /// Programs and erases cover all planes of a die at once.
    pub multi_plane: bool,
    /// Garbage collection.
    pub collection: Collection,
    /// Wear levelling.
    pub wear: Wear,
    /// The map in flash, if not all of it is in the controller.
    pub map_cache: Option<MapCache>,
    /// The host's memory, if the controller can use any.
    pub host_memory: Option<HostMemory>,
    /// Data RAM.
    pub buffers: Buffers,
    /// SLC cache.
    pub slc: Option<SlcCache>,
    /// Background refresh.
    pub refresh: Refresh,
    /// A read cache in flash.
    pub read_copies: Option<ReadCopies>,
    /// Programs over dies that share one program of parity, if there is any.
    pub parity: Option<u32>,
    /// Host commands that may be outstanding: tags are below this.
    pub tags: u32,
    /// Payload is kept: say which data moves where.
    pub moves: bool,
}

impl Config {
    /// Whether the parts of it fit together, and leave collection what it needs to go on whatever the host writes.
    ///
    /// # Errors
    /// What does not, in a sentence.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fail = |text: String| Err(ConfigError(text));
        if let Some(fault) = self.geometry.fault() {
            return fail(fault);
        }
        let unit_bytes = self.geometry.unit_bytes;
        if !unit_bytes.is_power_of_two() || unit_bytes > 32768 {
            return fail(format!("unit is {unit_bytes} bytes, expected a power of two from 512 to 32768"));
        }
        let layout = Layout::new(self);
        if layout.program_units > 64 {
            return fail(format!("{} units a program, expected at most 64", layout.program_units));
        }
        if self.user_units == 0 {
            return fail("the host sees no unit at all".to_owned());
        }
        self.check_parity(&layout)?;
        let slots = crate::slots(self, &layout);
        let all = crate::all_units(self);
        let physical = u64::from(layout.all_blocks()) * u64::from(layout.block_units);
        if all.max(physical) + slots + 1 >= u64::from(u32::MAX) {
            return fail(format!(
                "{} mapping units and {slots} buffers need more than 32 bits: a larger unit maps a larger drive",
                all.max(physical)
            ));
        }
        if let Some(memory) = &self.host_memory {
            if memory.map_frames > 0 && self.map_cache.is_none() {
                return fail("the controller holds the whole map, and the host's memory is to hold some".to_owned());
            }
            if memory.read + memory.write > 0 && self.buffers.shared {
                return fail("a cache that data read and written share has no part in the host's memory".to_owned());
            }
            if memory.write > 0 && self.buffers.protected {
                return fail("written data is protected, and the host's memory is not".to_owned());
            }
        }
        if self.map_cache.is_some_and(|map| !map.frame_units.is_power_of_two()) {
            return fail("a frame of the map's cache holds no power of two of translation units".to_owned());
        }
        if self.map_cache.is_some_and(|map| map.entries.is_some())
            && self.host_memory.is_some_and(|memory| memory.map_frames > 0)
        {
            return fail(
                "single entries of the map are cached, but the host's memory holds whole units of it".to_owned(),
            );
        }
        if let Some(ReadCopies { blocks, units }) = self.read_copies {
            if self.slc.is_none_or(|slc| slc.blocks < blocks) {
                return fail(format!(
                    "{blocks} blocks a plane are for copies of what was read: more than hold one bit"
                ));
            }
            if blocks * layout.parallel_units < 2 || units == 0 {
                return fail(format!("{units} copies of what was read in {blocks} blocks a plane: a ring needs two"));
            }
        }
        if self.collection.start < START_MIN {
            let start = self.collection.start;
            return fail(format!("collection starts at {start} free blocks, expected at least {START_MIN}"));
        }
        if self.collection.batch == 0 {
            return fail("collection reads batches of no page, expected at least 1".to_owned());
        }
        let slc_blocks = self.slc.map_or(0, |s| s.blocks);
        let main_blocks = self.geometry.blocks.saturating_sub(slc_blocks);
        let spare = u64::from(self.collection.start + crate::parallel_unit::write_points(self));
        // Then some block always has a program's worth to gain, however what is superseded spreads over them.
        let filled = layout.data_units - layout.program_units;
        let room = u64::from(main_blocks).saturating_sub(spare) * u64::from(filled) * u64::from(layout.parallel_units);
        if all > room {
            return fail(format!(
                "{all} logical units, but the flash holds {room} with {spare} spare blocks per parallel unit, {slc_blocks} SLC \
                 blocks a plane, and a program of each block for collection to gain: less capacity or more flash is \
                 needed"
            ));
        }
        Ok(())
    }

    /// A stripe must lie on as many dies as it has programs, and fill a block evenly.
    fn check_parity(&self, layout: &Layout) -> Result<(), ConfigError> {
        let Some(data) = self.parity else { return Ok(()) };
        let fail = |text: String| Err(ConfigError(text));
        let dies = self.geometry.all_dies();
        if self.group != Group::Drive || layout.per_row != dies {
            return fail("parity needs blocks over all dies, and programs over all planes of a die".to_owned());
        }
        if data == 0 || data >= dies {
            return fail(format!("{data} programs share a parity, expected from 1 to one less than the {dies} dies"));
        }
        let slc = self.slc.map_or(layout.block_programs, |slc| layout.pages / slc.bits * layout.per_row);
        for programs in [layout.block_programs, slc] {
            if !programs.is_multiple_of(data + 1) {
                return fail(format!("stripes of {} programs do not divide the {programs} of a block", data + 1));
            }
        }
        Ok(())
    }
}

/// A direction to stripe over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Channels.
    Channel,
    /// Chips of a channel.
    Way,
    /// Dies of a chip.
    Die,
    /// Planes of a die.
    Plane,
}

/// A configuration that cannot work, in the terms of its fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);
