//! The entries of the queues: commands and their completions.
//!
//! A submission entry consists of 64-bit words; bit 0 is the least significant:
//!
//! | word | bits | |
//! | --- | --- | --- |
//! | 0 | 0-15 | command id |
//! | | 16-23 | opcode |
//! | | 24-27 | extents |
//! | | 28 | force unit access |
//! | | 31 | phase |
//! | | 32-63 | sector count |
//! | 1 | | start sector |
//! | 2... | 0-31 | extent: buffer index, in sectors of the data buffer |
//! | | 32-63 | extent: sectors |
//!
//! With one extent, this is the paper's entry (3.2): command ID, opcode, start sector, sector count and buffer index.
//! With several, a command can scatter and gather over the data buffer.
//!
//! A completion entry is one word: bits 0-15 are the command ID, 16-23 the status, and 31 the phase.

use std::fmt;

/// Maximum number of extents per entry, which makes it 64 bytes long.
pub const EXTENTS_MAX: usize = 6;

/// The phase bit of an entry's first word. It alternates with every pass through the ring, starting with 1.
pub(crate) const PHASE: u64 = 1 << 31;

/// Force unit access, a flag in an entry's first word.
const FUA: u64 = 1 << 28;

/// The operation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// Transfer data from the storage to the data buffer.
    Read = 1,
    /// Transfer data from the data buffer to the storage.
    Write = 2,
    /// Discard sectors that are no longer needed. Uses no buffer.
    Trim = 3,
    /// Make all completed writes durable. Uses no buffer and no sectors.
    Flush = 4,
    /// Administrative: transfer one sector with the device's [`Identity`](crate::Identity) to the data buffer.
    Identify = 5,
}

impl Opcode {
    /// All opcodes.
    pub const ALL: [Opcode; 5] = [Opcode::Read, Opcode::Write, Opcode::Trim, Opcode::Flush, Opcode::Identify];

    /// Returns the opcode with number `code`.
    pub const fn from_code(code: u8) -> Option<Opcode> {
        match code {
            1 => Some(Opcode::Read),
            2 => Some(Opcode::Write),
            3 => Some(Opcode::Trim),
            4 => Some(Opcode::Flush),
            5 => Some(Opcode::Identify),
            _ => None,
        }
    }

    /// Returns whether the command transfers data through the data buffer.
    pub const fn has_data(self) -> bool {
        matches!(self, Opcode::Read | Opcode::Write | Opcode::Identify)
    }
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// The command succeeded.
    Success = 0,
    /// The device does not support the opcode.
    InvalidOpcode = 1,
    /// The extents exceed the data buffer, or do not add up to the sector count.
    InvalidField = 2,
    /// The sectors exceed the storage.
    OutOfRange = 3,
    /// The medium could not read the data.
    ReadError = 4,
    /// The medium could not write the data.
    WriteError = 5,
    /// The storage has no free space.
    NoSpace = 6,
}

impl Status {
    /// Returns the status with number `code`.
    pub const fn from_code(code: u8) -> Option<Status> {
        match code {
            0 => Some(Status::Success),
            1 => Some(Status::InvalidOpcode),
            2 => Some(Status::InvalidField),
            3 => Some(Status::OutOfRange),
            4 => Some(Status::ReadError),
            5 => Some(Status::WriteError),
            6 => Some(Status::NoSpace),
            _ => None,
        }
    }
}

/// A run of consecutive sectors in the data buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Extent {
    /// First sector, relative to the start of the data buffer.
    pub index: u32,
    /// Number of sectors.
    pub sectors: u32,
}

/// The location of a command's data in the data buffer: up to [`EXTENTS_MAX`] extents, in the order of the data.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Extents {
    list: [Extent; EXTENTS_MAX],
    len: u8,
}

impl Extents {
    /// No extents.
    pub const NONE: Extents = Extents { list: [Extent { index: 0, sectors: 0 }; EXTENTS_MAX], len: 0 };

    /// Returns a list of one extent, the form of the paper.
    pub const fn one(index: u32, sectors: u32) -> Extents {
        let mut extents = Extents::NONE;
        extents.list[0] = Extent { index, sectors };
        extents.len = 1;
        extents
    }

    /// Appends an extent.
    ///
    /// # Panics
    /// If there are already [`EXTENTS_MAX`] extents.
    pub fn push(&mut self, extent: Extent) {
        assert!(self.len() < EXTENTS_MAX, "an entry holds at most {EXTENTS_MAX} extents");
        self.list[self.len()] = extent;
        self.len += 1;
    }

    /// Returns the number of extents.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether there are no extents.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the extents.
    pub fn as_slice(&self) -> &[Extent] {
        &self.list[..self.len()]
    }

    /// Returns the total number of sectors.
    pub fn sectors(&self) -> u64 {
        self.as_slice().iter().map(|extent| u64::from(extent.sectors)).sum()
    }
}

impl fmt::Debug for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// The content of a submission entry, except for the command ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The operation.
    pub opcode: Opcode,
    /// Force unit access: a write completes only once it is durable.
    pub fua: bool,
    /// First sector on the storage.
    pub start: u64,
    /// Number of sectors; zero for a flush, one for an identify.
    pub sectors: u32,
    /// The location of the data: as many sectors as the command has if it transfers data, otherwise none.
    pub extents: Extents,
}

impl Command {
    /// Creates a command without FUA.
    pub const fn new(opcode: Opcode, start: u64, sectors: u32, extents: Extents) -> Command {
        Command { opcode, fua: false, start, sectors, extents }
    }

    /// Returns whether all sectors are within a storage of `capacity` sectors.
    pub const fn within(&self, capacity: u64) -> bool {
        match self.start.checked_add(self.sectors as u64) {
            Some(end) => end <= capacity,
            None => false,
        }
    }

    /// Returns whether the fields are consistent with each other and with a data buffer of `db_sectors`.
    pub fn is_consistent(&self, db_sectors: u32) -> bool {
        let inside = |extent: &Extent| {
            extent.sectors > 0 && u64::from(extent.index) + u64::from(extent.sectors) <= u64::from(db_sectors)
        };
        let due = if self.opcode.has_data() { u64::from(self.sectors) } else { 0 };
        let sectors_fit = match self.opcode {
            Opcode::Read | Opcode::Write | Opcode::Trim => self.sectors > 0,
            Opcode::Flush => self.sectors == 0,
            Opcode::Identify => self.sectors == 1,
        };
        sectors_fit && self.extents.sectors() == due && self.extents.as_slice().iter().all(inside)
    }

    /// Encodes the first word of the entry, without the phase.
    pub(crate) fn head(&self, id: u16) -> u64 {
        u64::from(id)
            | u64::from(self.opcode as u8) << 16
            | u64::from(self.extents.len) << 24
            | if self.fua { FUA } else { 0 }
            | u64::from(self.sectors) << 32
    }
}

/// The fields of an entry's first word.
pub(crate) struct Head {
    pub id: u16,
    pub opcode: u8,
    pub extents: usize,
    pub fua: bool,
    pub sectors: u32,
}

impl Head {
    pub(crate) fn decode(word: u64) -> Head {
        Head {
            id: word as u16,
            opcode: (word >> 16) as u8,
            extents: (word >> 24 & 0xf) as usize,
            fua: word & FUA != 0,
            sectors: (word >> 32) as u32,
        }
    }
}

impl Extent {
    pub(crate) fn encode(self) -> u64 {
        u64::from(self.index) | u64::from(self.sectors) << 32
    }

    pub(crate) fn decode(word: u64) -> Extent {
        Extent { index: word as u32, sectors: (word >> 32) as u32 }
    }
}

/// Encodes a completion entry, without the phase.
pub(crate) fn completion_word(id: u16, status: Status) -> u64 {
    u64::from(id) | u64::from(status as u8) << 16
}
