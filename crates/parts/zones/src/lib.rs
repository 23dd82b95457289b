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
pub mod section;
mod state;
mod write;

pub use config::{Config, ConfigError};
pub use media::Refusal;
pub use report::{Descriptor, Filter};
pub use state::{ZoneState, Zones};
pub use write::{Action, Written};
