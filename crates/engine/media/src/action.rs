//! The vocabulary between a translation layer and the performer of its actions, in virtual or real time.

use crate::address::{BlockAddr, PageAddr};
use crate::refusal::Refusal;

/// Identity of a flash operation until it is done: a dense index that is reused afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpId(pub u32);

impl sim::Number for OpId {
    #[inline]
    fn place(self) -> usize {
        self.0 as usize
    }
}

/// Identity of a host command in the controller: a dense index that is reused after its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

impl sim::Number for Tag {
    #[inline]
    fn place(self) -> usize {
        self.0 as usize
    }
}

/// The purpose of an operation, by which a scheduler may prioritize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A host command waits for it.
    Host,
    /// Read of a translation page that a host command waits for, or write-back of one.
    Map,
    /// Garbage collection, wear leveling, folding.
    Collection,
}

/// Final status of an operation or a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Success.
    Ok,
    /// A read that error correction could not recover (NVMe: Unrecovered Read Error).
    Uncorrectable,
    /// A program or an erase that the die reports as failed (ONFI status bit FAIL); the block is worn out.
    Failed,
    /// No space is left for writes (NVMe: Capacity Exceeded, or a read-only drive).
    NoSpace,
    /// The drive does not execute the command.
    Refused(Refusal),
}

impl Status {
    /// Returns true if everything was done. Costs less than `==`, which must tell all refusals apart.
    #[inline]
    pub const fn is_ok(self) -> bool {
        matches!(self, Status::Ok)
    }

    /// Returns the status as a number, for programs outside: 0 is success.
    pub const fn number(self) -> u8 {
        match self {
            Status::Ok => 0,
            Status::Uncorrectable => 1,
            Status::Failed => 2,
            Status::NoSpace => 3,
            Status::Refused(_) => 4,
        }
    }
}

/// A read of a page, or of the same page of several planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOp {
    /// Identity of the operation in its answer.
    pub id: OpId,
    /// Address.
    pub page: PageAddr,
    /// Bytes that leave the die's register, at most one page per plane.
    pub bytes: u32,
    /// Purpose.
    pub class: Class,
}

/// A program of a page, or of the same page of several planes. The translation layer supplies its data on request by
/// `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramOp {
    /// Identity of the operation in its answer.
    pub id: OpId,
    /// Address.
    pub page: PageAddr,
    /// Sequence number among all programs of the drive, written to the spare area. Recovery lets the highest win.
    pub sequence: u64,
    /// Purpose.
    pub class: Class,
    /// True if the block holds one bit per cell, regardless of its technology.
    pub slc: bool,
}

/// An erase of a block, or of the same block of several planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseOp {
    /// Identity of the operation in its answer.
    pub id: OpId,
    /// Address.
    pub block: BlockAddr,
    /// Purpose.
    pub class: Class,
}

/// An action requested by a translation layer. It has a tag of its own rather than one in a niche of its fields,
/// because it is matched more often than moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// Reads flash.
    Read(ReadOp),
    /// Programs flash. When done, the data is durable if the medium is flash; over a file it has only been written.
    Program(ProgramOp),
    /// Erases flash. Must not become durable before programs that were reported done before it was requested.
    Erase(EraseOp),
    /// Marks a block permanently bad (in its spare area); it is never used again.
    Retire(BlockAddr),
    /// Answered once all programs reported done so far are durable: immediately on flash, after an fsync over a file.
    Barrier(OpId),
    /// Reads or writes (`store`) `bytes` of the host memory that the controller may use (NVMe: the Host Memory Buffer).
    HostMemory {
        /// Identity of the operation in its answer.
        id: OpId,
        /// Bytes that cross the link.
        bytes: u32,
        /// True for a write to host memory, false for a read.
        store: bool,
    },
    /// Reports that frame `frame` of the map cache no longer needs its place in host memory. No answer.
    HostMemoryFree {
        /// Number of the frame.
        frame: u32,
    },
    /// Reports, on request, that host memory contains no more data that the layer needs.
    HostMemoryReleased,
    /// Reports that collection has emptied a block of an initially isolated reclaim unit handle (NVMe Flexible Data
    /// Placement). No answer.
    Reallocated {
        /// The handle.
        handle: u8,
        /// Mapping units moved to other blocks.
        units: u32,
    },
    /// Reports that a reclaim unit handle left a block that takes no more programs. No answer.
    HandleModified {
        /// The handle.
        handle: u8,
    },
    /// Requests the data of the write `tag`, for which there is buffer space.
    Ready {
        /// The host command.
        tag: Tag,
    },
    /// Reports that `bytes` more of the read `tag`'s data are in the controller.
    Data {
        /// The host command.
        tag: Tag,
        /// Number of bytes.
        bytes: u32,
        /// Final status, if the command ends with these bytes.
        end: Option<Status>,
    },
    /// Ends any other command.
    Complete {
        /// The host command.
        tag: Tag,
        /// Its final status.
        status: Status,
    },
}

/// Movement of payload, if payload is kept. The performer executes moves immediately and in order. Units are mapping
/// units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Sectors of the write `tag`'s data go to a buffer.
    HostToBuffer {
        /// The host command.
        tag: Tag,
        /// First sector, counted from the start of the command's range.
        from: u32,
        /// Number of sectors.
        sectors: u32,
        /// The buffer, in units.
        buffer: u32,
        /// First sector within it.
        to: u32,
    },
    /// Sectors of a buffer go to the host as part of the read `tag`.
    BufferToHost {
        /// The buffer, in units.
        buffer: u32,
        /// First sector within it.
        from: u32,
        /// Number of sectors.
        sectors: u32,
        /// The host command.
        tag: Tag,
        /// First sector, counted from the start of the command's range.
        to: u32,
    },
    /// A unit of a flash page goes to the host as part of the read `tag`.
    FlashToHost {
        /// The page: one plane.
        page: PageAddr,
        /// Unit within the page.
        unit: u32,
        /// First sector within the unit.
        from: u32,
        /// Number of sectors.
        sectors: u32,
        /// The host command.
        tag: Tag,
        /// First sector, counted from the start of the command's range.
        to: u32,
    },
    /// A unit of a flash page goes to a buffer, except for the newer sectors in `keep`.
    FlashToBuffer {
        /// The page: one plane.
        page: PageAddr,
        /// Unit within the page.
        unit: u32,
        /// The buffer, in units.
        buffer: u32,
        /// Sectors (a bit each, or for two of a unit of 64 KiB) of the buffer that are newer than the flash and are kept.
        keep: u64,
    },
    /// The sectors of buffer `to` outside `keep` are copied from buffer `from`.
    BufferToBuffer {
        /// Source, in units.
        from: u32,
        /// Destination, in units.
        to: u32,
        /// Sectors (a bit each) of `to` that are kept.
        keep: u64,
    },
    /// The host reads zeros, because nothing is mapped there.
    ZeroToHost {
        /// The host command.
        tag: Tag,
        /// First sector, counted from the start of the command's range.
        to: u32,
        /// Number of sectors.
        sectors: u32,
    },
    /// The sectors of a buffer outside `keep` become zero, because nothing was mapped under a partial write.
    ZeroBuffer {
        /// The buffer, in units.
        buffer: u32,
        /// Sectors (a bit each) that are kept.
        keep: u64,
    },
    /// Buffer `to` becomes the exclusive or of itself and buffer `from`: a unit is added to its stripe's parity, or
    /// removed from it.
    XorBuffer {
        /// Buffer of the unit, in units.
        from: u32,
        /// Buffer of the parity, in units.
        to: u32,
    },
    /// A buffer becomes the exclusive or of itself and a unit of a flash page: a step in rebuilding another page.
    XorFlash {
        /// The page: one plane.
        page: PageAddr,
        /// Unit within the page.
        unit: u32,
        /// The buffer, in units.
        buffer: u32,
    },
}

/// Output of a translation layer, in order. The caller performs the moves at once, then starts the actions.
#[derive(Default)]
pub struct Actions {
    /// Operations to perform and host commands to complete.
    pub actions: Vec<Action>,
    /// Payload copies; empty if the configuration keeps no payload.
    pub moves: Vec<Move>,
}

/// One unit of a program: its logical number and the buffer that holds its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramUnit {
    /// Logical unit, or [`NOBODY`](crate::NOBODY) for padding.
    pub logical: u32,
    /// Buffer that holds its data; undefined for padding.
    pub buffer: u32,
    /// Its data could not be read when it was moved.
    pub lost: bool,
}
