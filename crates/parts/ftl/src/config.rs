//! Configuration of the translation layer.

use media::Geometry;
use sim::Time;

pub use crate::section::{Allocation, Axis, Collection, Eviction, Group, Isolation, Placement, Policy, Refresh, Wear};

/// A cache of translation units over the map in flash.
#[derive(Clone, Copy, Debug)]
pub struct MapCache {
    /// Frames in the controller (SRAM or its DRAM), where a lookup costs nothing beyond the firmware's time; at least
    /// 1.
    pub frames: u32,
    /// Consecutive translation units that a frame in host memory covers, each loaded when it is needed; a power of two.
    /// A frame in the controller always covers one.
    pub frame_units: u32,
    /// Map updates that may wait in the controller for their translation unit; with 0, each update loads its unit at
    /// once.
    pub updates: u32,
    /// Replacement policy for frames, or for entries.
    pub eviction: Eviction,
    /// Number of single entries cached instead of whole translation units in frames; at least 1.
    pub entries: Option<u32>,
    /// Starts with a cache full of randomly drawn parts of the map.
    pub warm: bool,
}

/// Host memory that the controller may use, once enabled, in addition to its own. Each access crosses the link.
#[derive(Clone, Copy, Debug)]
pub struct HostMemory {
    /// Frames of the map cache.
    pub map_frames: u32,
    /// Mapping units for clean data.
    pub read: u32,
    /// Mapping units for data that waits to be written to flash.
    pub write: u32,
    /// Bytes of check code per line of 64 bytes; they cross the link with it.
    pub check: u32,
}

impl HostMemory {
    /// Bytes of a line, the granularity of checking.
    pub const LINE: u32 = 64;

    /// Returns the bytes that `bytes` of content occupy on the link and in host memory.
    #[inline]
    pub const fn stored(&self, bytes: u32) -> u32 {
        bytes + bytes.div_ceil(HostMemory::LINE) * self.check
    }
}

/// Data buffers in RAM.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Mapping units for data that waits to be written to flash. At least the largest host command.
    pub write: u32,
    /// Mapping units for clean data.
    pub read: u32,
    /// When data read from flash takes its space among the clean data.
    pub allocation: Allocation,
    /// Writes and reads share one pool of `write + read` units; written data stays readable in it.
    pub shared: bool,
    /// Acknowledges a write when its data is in RAM, instead of when it is in flash.
    pub write_back: bool,
    /// Power-loss protection: the RAM stays powered long enough to be written out, so that flush and FUA cost nothing.
    pub protected: bool,
    /// Dirty units at which writing to flash starts.
    pub high: u32,
    /// Dirty units at which writing to flash stops.
    pub low: u32,
    /// Units that must be free before writes that found the RAM full are admitted; at most `write`.
    pub resume: u32,
    /// Dirty units at which writing to flash resumes after writes waited for the resume mark; 0: at `high`.
    pub gather: u32,
    /// Reads queue behind writes that wait for room.
    pub holds_reads: bool,
    /// Time without a write after which dirty data is written out, with short programs padded.
    pub idle: Time,
}

/// Blocks in SLC mode (one bit per cell) that receive host writes first.
#[derive(Clone, Copy, Debug)]
pub struct SlcCache {
    /// Number of blocks per plane, taken from the first.
    pub blocks: u32,
    /// Bits per cell of the other blocks: an SLC block has 1/`bits` of their pages.
    pub bits: u32,
    /// Folding into the other blocks starts when the free SLC space of a parallel unit falls below this many blocks.
    pub fold: u32,
    /// Full SLC blocks of a parallel unit that idle-time folding leaves unfolded.
    pub keep: u32,
    /// Other blocks that a parallel unit may use in SLC mode while the drive is not full.
    pub dynamic: u32,
    /// Units that folding moves at once while host data waits; 0: folding goes on alongside host writes.
    pub batch: u32,
    /// Units of a parallel unit that may be being copied at once while a batch is folded; `None`: as many as of
    /// [`Collection`].
    pub copies: Option<u32>,
}

/// A read cache in flash: copies of data that was read, in SLC blocks.
#[derive(Clone, Copy, Debug)]
pub struct ReadCopies {
    /// Number of blocks per plane, taken from the first of the [`SlcCache`], which then does not use them.
    pub blocks: u32,
    /// Number of mapping units cached.
    pub units: u32,
}

/// Configuration of a page-mapped translation layer.
#[derive(Clone, Debug)]
pub struct Config {
    /// The flash.
    pub geometry: Geometry,
    /// Mapping units that the host can address.
    pub user_units: u32,
    /// Unit of allocation and collection.
    pub group: Group,
    /// Order in which consecutive programs are striped over channels, ways (chips), dies and planes: the first axis
    /// varies fastest.
    pub stripe: [Axis; 4],
    /// Programs and erases cover all planes of a die at once.
    pub multi_plane: bool,
    /// Garbage collection.
    pub collection: Collection,
    /// Wear leveling.
    pub wear: Wear,
    /// Map cache, if the controller does not hold the whole map.
    pub map_cache: Option<MapCache>,
    /// Host memory, if the controller can use any.
    pub host_memory: Option<HostMemory>,
    /// Data RAM.
    pub buffers: Buffers,
    /// SLC cache.
    pub slc: Option<SlcCache>,
    /// Background refresh.
    pub refresh: Refresh,
    /// Read cache in flash.
    pub read_copies: Option<ReadCopies>,
    /// Data programs per program of parity in a stripe over dies, if there is parity.
    pub parity: Option<u32>,
    /// Reclaim unit handles, if the host can choose any.
    pub placement: Option<Placement>,
    /// Maximum number of outstanding host commands: tags are below this.
    pub tags: u32,
    /// Payload is kept: emits [`media::Move`]s.
    pub moves: bool,
}

/// Reason why a configuration cannot work, in terms of its fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl Config {
    /// Returns true if host writes and copies go to separate blocks: by choice, or because each handle has blocks of
    /// its own for host data.
    #[inline]
    pub(crate) fn separates(&self) -> bool {
        self.collection.separate || self.placement.is_some()
    }
}
