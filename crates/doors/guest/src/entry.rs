//! Submission queue entries, opcodes of the NVM command set, and status codes.

use media::Op;

/// A submission queue entry (section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    dwords: [u32; 16],
}

impl Entry {
    /// Bytes of an entry.
    pub const BYTES: u64 = 64;

    pub fn from_bytes(bytes: &[u8; Entry::BYTES as usize]) -> Entry {
        let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| bytes[4 * i + b]));
        Entry { dwords: std::array::from_fn(word) }
    }

    /// Returns dword `n`; the command-specific ones are 10 to 15.
    pub const fn dword(&self, n: usize) -> u32 {
        self.dwords[n]
    }

    pub const fn opcode(&self) -> u8 {
        self.dwords[0] as u8
    }

    /// Returns the field FUSE; 0 for a normal command.
    pub const fn fused(&self) -> u32 {
        self.dwords[0] >> 8 & 3
    }

    /// Returns the field PSDT: 0 for PRPs, 1 and 2 for SGLs.
    pub const fn pointer_kind(&self) -> u32 {
        self.dwords[0] >> 14 & 3
    }

    pub const fn cid(&self) -> u16 {
        (self.dwords[0] >> 16) as u16
    }

    pub const fn namespace(&self) -> u32 {
        self.dwords[1]
    }

    /// Returns PRP Entry 1, or the first half of SGL Entry 1.
    pub const fn pointer1(&self) -> u64 {
        self.quad(6)
    }

    /// Returns PRP Entry 2, or the second half of SGL Entry 1.
    pub const fn pointer2(&self) -> u64 {
        self.quad(8)
    }

    /// Returns the Starting LBA of a read or write.
    pub const fn lba(&self) -> u64 {
        self.quad(10)
    }

    /// Returns dwords `n` and `n + 1`.
    pub const fn quad(&self, n: usize) -> u64 {
        self.dwords[n] as u64 | (self.dwords[n + 1] as u64) << 32
    }
}

/// Status of a command: the status field of a completion queue entry without the phase tag (section 4.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

/// Do Not Retry.
const DNR: u16 = 1 << 14;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $type:literal, $code:literal $(, $dnr:ident)?;)*) => {
        impl Status {
            $($(#[$doc])* pub const $name: Status = Status($type << 8 | $code $(| $dnr)?);)*
        }
    };
}

statuses! {
    /// Successful Completion.
    SUCCESS = 0, 0x00;
    /// Invalid Command Opcode.
    INVALID_OPCODE = 0, 0x01, DNR;
    /// Invalid Field in Command.
    INVALID_FIELD = 0, 0x02, DNR;
    /// Data Transfer Error: an address outside guest memory.
    DATA_TRANSFER_ERROR = 0, 0x04, DNR;
    /// Command Abort Requested.
    ABORT_REQUESTED = 0, 0x07;
    /// Command Aborted due to Failed Fused Command.
    FAILED_FUSED = 0, 0x09, DNR;
    /// Command Aborted due to Missing Fused Command.
    MISSING_FUSED = 0, 0x0a, DNR;
    /// Invalid Namespace or Format.
    INVALID_NAMESPACE = 0, 0x0b, DNR;
    /// Command Sequence Error.
    SEQUENCE_ERROR = 0, 0x0c, DNR;
    /// Invalid SGL Segment Descriptor.
    INVALID_SGL_SEGMENT = 0, 0x0d, DNR;
    /// Invalid Number of SGL Descriptors.
    INVALID_SGL_COUNT = 0, 0x0e, DNR;
    /// Data SGL Length Invalid.
    INVALID_SGL_LENGTH = 0, 0x0f, DNR;
    /// SGL Descriptor Type Invalid.
    INVALID_SGL_TYPE = 0, 0x11, DNR;
    /// PRP Offset Invalid.
    INVALID_PRP_OFFSET = 0, 0x13, DNR;
    /// Sanitize In Progress.
    SANITIZE_IN_PROGRESS = 0, 0x1d;
    /// LBA Out of Range.
    LBA_OUT_OF_RANGE = 0, 0x80, DNR;
    /// Capacity Exceeded.
    CAPACITY_EXCEEDED = 0, 0x81, DNR;
    /// Completion Queue Invalid.
    INVALID_COMPLETION_QUEUE = 1, 0x00, DNR;
    /// Invalid Queue Identifier.
    INVALID_QUEUE = 1, 0x01, DNR;
    /// Invalid Queue Size.
    INVALID_QUEUE_SIZE = 1, 0x02, DNR;
    /// Asynchronous Event Request Limit Exceeded.
    EVENT_LIMIT = 1, 0x05, DNR;
    /// Invalid Interrupt Vector.
    INVALID_VECTOR = 1, 0x08, DNR;
    /// Invalid Log Page.
    INVALID_LOG = 1, 0x09, DNR;
    /// Invalid Format.
    INVALID_FORMAT = 1, 0x0a, DNR;
    /// Invalid Queue Deletion.
    INVALID_DELETION = 1, 0x0c, DNR;
    /// Feature Identifier Not Saveable.
    NOT_SAVEABLE = 1, 0x0d, DNR;
    /// Feature Not Changeable.
    NOT_CHANGEABLE = 1, 0x0e, DNR;
    /// Namespace Insufficient Capacity.
    INSUFFICIENT_CAPACITY = 1, 0x15, DNR;
    /// Namespace Identifier Unavailable.
    NO_IDENTIFIER = 1, 0x16, DNR;
    /// Namespace Already Attached.
    ALREADY_ATTACHED = 1, 0x18, DNR;
    /// Namespace Not Attached.
    NOT_ATTACHED = 1, 0x1a, DNR;
    /// Thin Provisioning Not Supported.
    NO_THIN_PROVISIONING = 1, 0x1b, DNR;
    /// Controller List Invalid.
    INVALID_CONTROLLER_LIST = 1, 0x1c, DNR;
    /// Command Size Limit Exceeded.
    SIZE_LIMIT_EXCEEDED = 1, 0x83, DNR;
    /// Write Fault.
    WRITE_FAULT = 2, 0x80;
    /// Unrecovered Read Error.
    UNRECOVERED_READ = 2, 0x81;
    /// Compare Failure.
    COMPARE_FAILURE = 2, 0x85, DNR;
}

impl From<media::Status> for Status {
    fn from(status: media::Status) -> Status {
        match status {
            media::Status::Ok => Status::SUCCESS,
            media::Status::Uncorrectable => Status::UNRECOVERED_READ,
            media::Status::Failed => Status::WRITE_FAULT,
            media::Status::NoSpace => Status::CAPACITY_EXCEEDED,
            media::Status::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<media::Refusal> for Status {
    fn from(refusal: media::Refusal) -> Status {
        let (kind, code) = refusal.code();
        Status(DNR | u16::from(kind) << 8 | u16::from(code))
    }
}

/// Opcodes of the NVM and the zoned command set.
pub(crate) mod opcode {
    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const COMPARE: u8 = 0x05;
    pub const WRITE_ZEROES: u8 = 0x08;
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    pub const VERIFY: u8 = 0x0c;
    pub const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
    pub const COPY: u8 = 0x19;
    pub const IO_MANAGEMENT_SEND: u8 = 0x1d;
    /// Those that the Zoned Namespace Command Set adds.
    pub const ZONE_MANAGEMENT_SEND: u8 = 0x79;
    pub const ZONE_MANAGEMENT_RECEIVE: u8 = 0x7a;
    pub const ZONE_APPEND: u8 = 0x7d;
}

/// Returns the kind of operation as which a command counts.
pub(crate) fn class(code: u8) -> Op {
    match code {
        opcode::READ => Op::Read,
        opcode::WRITE | opcode::WRITE_ZEROES => Op::Write,
        opcode::ZONE_APPEND => Op::Append,
        opcode::DATASET_MANAGEMENT => Op::Trim,
        _ => Op::Flush,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_specification_has_them() {
        let mut bytes = [0; 64];
        bytes[..4].copy_from_slice(&[0x02, 0x41, 0x34, 0x12]);
        bytes[4] = 7;
        bytes[24..40].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 0, 0, 0, 0x40]);
        bytes[40..48].copy_from_slice(&[3, 0, 0, 0, 1, 0, 0, 0]);
        let entry = Entry::from_bytes(&bytes);
        assert_eq!((entry.opcode(), entry.fused(), entry.pointer_kind(), entry.cid()), (2, 1, 1, 0x1234));
        assert_eq!((entry.namespace(), entry.lba()), (7, 0x1_0000_0003));
        assert_eq!((entry.pointer1(), entry.pointer2()), (0x8000_0000_0000_0001, 0x4000_0000_0000_0002));
        assert_eq!(Status::UNRECOVERED_READ.0, 0x281);
        assert_eq!(Status::INVALID_FIELD.0, 0x4002);
    }
}
