//! SCSI operation codes (SPC-4 and SBC-3, tables of operation codes) of traced commands.

use crate::trace::RecordOp;

/// Effect of a SCSI command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScsiEffect {
    /// A request to the medium.
    Request(RecordOp),
    /// A command that does not access the medium, such as INQUIRY.
    NoMedium,
    /// An invalid code, or a command whose range the trace does not record.
    Other,
}

/// Description of the supported operation codes.
pub(crate) const EXPECTED: &str = "a SCSI read (08, 28, 88, a8), write (0a, 2a, 8a, aa, 2e, 8e, ae), \
                                   synchronize cache (35, 91) or unmap (42)";

/// Classifies an operation code.
pub(crate) fn command(code: u16) -> ScsiEffect {
    match code {
        // READ (6), (10), (16), (12).
        0x08 | 0x28 | 0x88 | 0xa8 => ScsiEffect::Request(RecordOp::Read),
        // WRITE (6), (10), (16), (12), and the same with verification.
        0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e | 0xae => ScsiEffect::Request(RecordOp::Write),
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => ScsiEffect::Request(RecordOp::Flush),
        // UNMAP.
        0x42 => ScsiEffect::Request(RecordOp::Trim),
        // TEST UNIT READY, REQUEST SENSE, INQUIRY, MODE SELECT (6), RESERVE (6), RELEASE (6), MODE SENSE (6),
        // START STOP UNIT, PREVENT ALLOW MEDIUM REMOVAL, READ CAPACITY (10), LOG SELECT, LOG SENSE, MODE SELECT (10),
        // RESERVE (10), RELEASE (10), MODE SENSE (10), PERSISTENT RESERVE IN and OUT, SERVICE ACTION IN (16),
        // REPORT LUNS, MAINTENANCE IN and OUT.
        0x00
        | 0x03
        | 0x12
        | 0x15..=0x17
        | 0x1a
        | 0x1b
        | 0x1e
        | 0x25
        | 0x4c
        | 0x4d
        | 0x55..=0x57
        | 0x5a
        | 0x5e
        | 0x5f
        | 0x9e
        | 0xa0
        | 0xa3
        | 0xa4 => ScsiEffect::NoMedium,
        _ => ScsiEffect::Other,
    }
}
