//! The zones of a zoned namespace: states, write pointers and limits, without time, data or flash.
//!
//! A zone is a range of logical blocks that are written in order, each once, until the zone is reset. [`Zones`] decides
//! which commands a zone accepts and what they change. Where the data goes, and what a command costs, is the caller's.
//!
//! | state | open | active | may be written |
//! | --- | --- | --- | --- |
//! | empty | | | yes: becomes implicitly open |
//! | implicitly open | yes | yes | yes |
//! | explicitly open | yes | yes | yes |
//! | closed | | yes | yes: becomes implicitly open |
//! | full | | | no |
//! | read only | | | no |
//! | offline | | | no, and cannot be read |
//!
//! A zone whose last writable block is written becomes full. If a zone must be opened and the limit of open zones is
//! reached, the implicitly open zone that was written longest ago is closed; if all are explicitly open, the command
//! fails. The limit of active zones is never made room for.
//!
//! Follows the NVM Express Zoned Namespace Command Set (assumed: not compared with its text yet). Choices left to the
//! controller: which implicitly open zone is closed (above); reads may cross zone boundaries, and return deallocated
//! blocks from the write pointer on; zone descriptor extensions, variable capacities and the zone random write area are
//! not offered.

mod config;
pub mod ftl;
mod manage;
mod report;
mod state;
mod write;

pub use config::{Config, ConfigError};
pub use report::{Descriptor, Filter};
pub use state::{State, Zones};
pub use write::{Action, Written};

/// Reasons for which a command fails; the codes are those of the specification, in status code type 1h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// LBA Out of Range (generic command status 80h).
    #[error("the logical blocks are not in the namespace")]
    OutOfRange,
    /// Invalid Field in Command (generic command status 02h): an append that is too large, or any command whose address
    /// is not the start of a zone.
    #[error("a field of the command is invalid")]
    InvalidField,
    /// Zone Boundary Error (B8h).
    #[error("the command crosses a zone's boundary")]
    Boundary,
    /// Zone Is Full (B9h).
    #[error("the zone is full")]
    Full,
    /// Zone Is Read Only (BAh).
    #[error("the zone is read only")]
    ReadOnly,
    /// Zone Is Offline (BBh).
    #[error("the zone is offline")]
    Offline,
    /// Zone Invalid Write (BCh).
    #[error("the write does not begin at the write pointer")]
    InvalidWrite,
    /// Too Many Active Zones (BDh).
    #[error("too many zones are active")]
    TooManyActive,
    /// Too Many Open Zones (BEh).
    #[error("too many zones are open")]
    TooManyOpen,
    /// Invalid Zone State Transition (BFh).
    #[error("the zone's state does not permit this")]
    InvalidTransition,
}

impl Failure {
    /// Returns status code type and status code, as in a completion queue entry.
    pub const fn code(self) -> (u8, u8) {
        match self {
            Failure::OutOfRange => (0, 0x80),
            Failure::InvalidField => (0, 0x02),
            Failure::Boundary => (1, 0xb8),
            Failure::Full => (1, 0xb9),
            Failure::ReadOnly => (1, 0xba),
            Failure::Offline => (1, 0xbb),
            Failure::InvalidWrite => (1, 0xbc),
            Failure::TooManyActive => (1, 0xbd),
            Failure::TooManyOpen => (1, 0xbe),
            Failure::InvalidTransition => (1, 0xbf),
        }
    }
}
