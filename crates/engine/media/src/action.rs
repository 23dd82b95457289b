//! The vocabulary between a translation layer and the world that performs for it, in virtual or in real time.

use crate::address::{BlockAddr, PageAddr};

/// Identity of a flash operation until it is done: a dense index, reused afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpId(pub u32);

/// Identity of a host command within the controller: a dense index, reused after its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

/// For whom an operation is done; a scheduler may let one class go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A host command waits for it.
    Host,
    /// A translation page that a host command waits for, or that is written back.
    Map,
    /// Garbage collection, wear levelling, folding.
    Collection,
}

/// How an operation or a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Well.
    Ok,
    /// A read that the error correction could not save (NVMe: Unrecovered Read Error).
    Uncorrectable,
    /// A program or an erase that the die reports as failed (ONFI status bit FAIL): the block is worn.
    Failed,
    /// No space is left to write to (NVMe: Capacity Exceeded, or a drive that turned read-only).
    NoSpace,
}

/// Read a page, or the same page of several planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOp {
    /// Answered with this.
    pub id: OpId,
    /// Where.
    pub page: PageAddr,
    /// Bytes that leave the die's register, at most the page on every plane.
    pub bytes: u32,
    /// For whom.
    pub class: Class,
}

/// Program a page, or the same page of several planes. What is written is asked of the translation layer by `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramOp {
    /// Answered with this.
    pub id: OpId,
    /// Where.
    pub page: PageAddr,
    /// Order of this program among all of the drive's: goes into the spare area. Recovery lets the highest win.
    pub sequence: u64,
    /// For whom.
    pub class: Class,
    /// The block holds one bit a cell, whatever its technology.
    pub slc: bool,
}

/// Erase a block, or the same block of several planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseOp {
    /// Answered with this.
    pub id: OpId,
    /// Where.
    pub block: BlockAddr,
    /// For whom.
    pub class: Class,
}

/// What a translation layer wants done. It has a tag of its own, not one hidden in what it holds: it is told from
/// others more often than it is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// Read flash.
    Read(ReadOp),
    /// Program flash. Done means durable where the medium is flash; over a file it means written.
    Program(ProgramOp),
    /// Erase flash. Must not become durable before programs that were reported done before it was asked for.
    Erase(EraseOp),
    /// Mark a block bad for good (the bad-block mark of its spare area): it is never used again.
    Retire(BlockAddr),
    /// Answer once all programs reported done so far are durable: at once on flash, after an fsync over a file.
    Barrier(OpId),
    /// Read (or `store`) so many `bytes` of the host's memory that the controller may use (NVMe: the Host Memory Buffer).
    HostMemory {
        /// Answered with this.
        id: OpId,
        /// Bytes that cross the link.
        bytes: u32,
        /// Towards the host's memory, else from it.
        store: bool,
    },
    /// The host's memory holds nothing any more that the layer needs, as it was told to see to.
    HostMemoryReleased,
    /// There is buffer space for the write `tag`: bring its data.
    Ready {
        /// The host command.
        tag: Tag,
    },
    /// `bytes` more of what the read `tag` asked for are in the controller.
    Data {
        /// The host command.
        tag: Tag,
        /// How many.
        bytes: u32,
    },
    /// The command has ended.
    Complete {
        /// The host command.
        tag: Tag,
        /// How.
        status: Status,
    },
}

/// Movement of payload, where payload is kept: done by the world at once, in order. Units are mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Sectors of the data that came with the write `tag` go into a buffer.
    HostToBuffer {
        /// The host command.
        tag: Tag,
        /// First sector, counted from the start of the command's range.
        from: u32,
        /// How many sectors.
        sectors: u32,
        /// The buffer, in units.
        buffer: u32,
        /// First sector within it.
        to: u32,
    },
    /// A buffer's sectors go to the host as part of the read `tag`.
    BufferToHost {
        /// The buffer, in units.
        buffer: u32,
        /// First sector within it.
        from: u32,
        /// How many sectors.
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
        /// How many sectors.
        sectors: u32,
        /// The host command.
        tag: Tag,
        /// First sector, counted from the start of the command's range.
        to: u32,
    },
    /// A unit of a flash page goes into a buffer; `merge` keeps the sectors that the buffer's mask says are newer.
    FlashToBuffer {
        /// The page: one plane.
        page: PageAddr,
        /// Unit within the page.
        unit: u32,
        /// The buffer, in units.
        buffer: u32,
        /// Sectors (a bit each) of the buffer that are newer than the flash and stay.
        keep: u64,
    },
    /// The sectors of buffer `to` outside `keep` are taken from buffer `from`.
    BufferToBuffer {
        /// Where from, in units.
        from: u32,
        /// Where to, in units.
        to: u32,
        /// Sectors (a bit each) of `to` that stay.
        keep: u64,
    },
    /// The host reads zeros: nothing is mapped there.
    ZeroToHost {
        /// The host command.
        tag: Tag,
        /// First sector, counted from the start of the command's range.
        to: u32,
        /// How many sectors.
        sectors: u32,
    },
    /// The sectors of a buffer outside `keep` become zero: nothing was mapped under a partial write.
    ZeroBuffer {
        /// The buffer, in units.
        buffer: u32,
        /// Sectors (a bit each) that stay.
        keep: u64,
    },
    /// Buffer `to` becomes the exclusive or of itself and buffer `from`: a unit enters its stripe's parity, or leaves it.
    XorBuffer {
        /// The unit, in units.
        from: u32,
        /// The parity, in units.
        to: u32,
    },
    /// A buffer becomes the exclusive or of itself and a unit of a flash page: a step of rebuilding another page.
    XorFlash {
        /// The page: one plane.
        page: PageAddr,
        /// Unit within the page.
        unit: u32,
        /// The buffer, in units.
        buffer: u32,
    },
}
