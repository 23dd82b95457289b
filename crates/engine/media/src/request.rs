//! What a host asks of storage.

/// Bytes of a sector, the unit of every host address (ATA, SCSI, Linux block layer, trace formats).
pub const SECTOR: u64 = 512;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Data out of the storage.
    Read,
    /// Data into it.
    Write,
    /// The range is no longer needed (NVMe Dataset Management Deallocate, ATA TRIM, SCSI UNMAP).
    Trim,
    /// Everything acknowledged so far must be durable. Has no range.
    Flush,
}

/// One request of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// What is asked.
    pub op: Op,
    /// Force unit access: a write is acknowledged only once it is durable.
    pub fua: bool,
    /// First byte; a multiple of [`SECTOR`]. Zero for a flush.
    pub offset: u64,
    /// Bytes; a multiple of [`SECTOR`], not zero but for a flush.
    pub bytes: u64,
}

impl Request {
    /// A request without FUA.
    pub const fn new(op: Op, offset: u64, bytes: u64) -> Request {
        Request { op, fua: false, offset, bytes }
    }

    /// A flush.
    pub const fn flush() -> Request {
        Request::new(Op::Flush, 0, 0)
    }

    /// A copy, field by field. To a function that is not inlined a request goes in memory; one that is copied whole would be
    /// kept there from its start, for the sake of a call that is hardly ever made.
    #[inline(always)]
    pub const fn by_field(&self) -> Request {
        // In two steps: of one, the compiler sees that it copies the whole.
        let mut copy = Request::new(self.op, self.offset, self.bytes);
        copy.fua = self.fua;
        copy
    }

    /// First byte behind the range.
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}
