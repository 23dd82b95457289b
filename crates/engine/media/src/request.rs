//! Requests of a host to storage.

/// Bytes of a sector, the unit of every host address (ATA, SCSI, Linux block layer, trace formats).
pub const SECTOR: u64 = 512;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Transfers data out of the storage.
    Read,
    /// Transfers data into the storage.
    Write,
    /// Declares that the range is no longer needed (NVMe Dataset Management Deallocate, ATA TRIM, SCSI UNMAP).
    Trim,
    /// Makes everything acknowledged so far durable. Has no range.
    Flush,
    /// Writes at the write pointer of the zone that begins at the offset (NVMe Zone Append).
    Append,
    /// Opens zones explicitly (NVMe Zone Management Send). The range of this and the following operations is one zone, or
    /// all zones of the drive.
    ZoneOpen,
    /// Closes zones.
    ZoneClose,
    /// Makes zones full, whatever was written.
    ZoneFinish,
    /// Empties zones.
    ZoneReset,
}

impl Op {
    /// All operations, in the order of their numbers.
    pub const ALL: [Op; 9] = [
        Op::Read,
        Op::Write,
        Op::Trim,
        Op::Flush,
        Op::Append,
        Op::ZoneOpen,
        Op::ZoneClose,
        Op::ZoneFinish,
        Op::ZoneReset,
    ];

    /// Returns the operation's name on a timeline.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::Append => "append",
            Op::ZoneOpen => "open zone",
            Op::ZoneClose => "close zone",
            Op::ZoneFinish => "finish zone",
            Op::ZoneReset => "reset zone",
        }
    }

    /// Returns true if the host's data goes to the storage.
    #[inline]
    pub const fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }

    /// Returns true if the data of the range crosses the link.
    #[inline]
    pub const fn has_data(self) -> bool {
        matches!(self, Op::Read | Op::Write | Op::Append)
    }

    /// Returns true if the operation manages zones.
    #[inline]
    pub const fn manages_zones(self) -> bool {
        matches!(self, Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset)
    }
}

/// A request of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Operation.
    pub op: Op,
    /// Force unit access: a write is acknowledged only once it is durable.
    pub fua: bool,
    /// Address of the first byte, a multiple of [`SECTOR`]; zero for a flush.
    pub offset: u64,
    /// Size in bytes, a multiple of [`SECTOR`]; zero only for a flush.
    pub bytes: u64,
    /// Placement identifier of a write (NVMe Flexible Data Placement): the number of a reclaim unit handle. Zero for
    /// writes without a placement directive, and on drives without placement.
    pub placement: u16,
}

impl Request {
    /// Returns a request without FUA and without a placement directive.
    pub const fn new(op: Op, offset: u64, bytes: u64) -> Request {
        Request { op, fua: false, offset, bytes, placement: 0 }
    }

    /// Returns a flush.
    pub const fn flush() -> Request {
        Request::new(Op::Flush, 0, 0)
    }

    /// Returns the address after the last byte.
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}
