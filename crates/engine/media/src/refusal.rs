//! Why a drive refuses a command.

/// Reasons for which a drive refuses a command, with the status codes of NVMe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Invalid Command Opcode (generic command status 01h).
    InvalidOpcode,
    /// LBA Out of Range (generic command status 80h).
    OutOfRange,
    /// Invalid Field in Command (generic command status 02h): an append that is too large, or any command whose address
    /// is not the start of a zone.
    InvalidField,
    /// Zone Boundary Error (B8h).
    Boundary,
    /// Zone Is Full (B9h).
    Full,
    /// Zone Is Read Only (BAh).
    ReadOnly,
    /// Zone Is Offline (BBh).
    Offline,
    /// Zone Invalid Write (BCh).
    InvalidWrite,
    /// Too Many Active Zones (BDh).
    TooManyActive,
    /// Too Many Open Zones (BEh).
    TooManyOpen,
    /// Invalid Zone State Transition (BFh).
    InvalidTransition,
}

impl Refusal {
    /// Returns status code type and status code, as in a completion queue entry.
    pub const fn code(self) -> (u8, u8) {
        match self {
            Refusal::InvalidOpcode => (0, 0x01),
            Refusal::OutOfRange => (0, 0x80),
            Refusal::InvalidField => (0, 0x02),
            Refusal::Boundary => (1, 0xb8),
            Refusal::Full => (1, 0xb9),
            Refusal::ReadOnly => (1, 0xba),
            Refusal::Offline => (1, 0xbb),
            Refusal::InvalidWrite => (1, 0xbc),
            Refusal::TooManyActive => (1, 0xbd),
            Refusal::TooManyOpen => (1, 0xbe),
            Refusal::InvalidTransition => (1, 0xbf),
        }
    }
}
