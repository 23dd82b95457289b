//! Errors of a drive.

use ftl::config::ConfigError;
use storage::prepare::{Preparation, PrepareError};

/// Reasons why a system cannot be a drive of a guest.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The parts do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The drive could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The system's link is none that a guest can reach.
    #[error("link.type: expected pcie, the link of an NVMe controller with registers, or shared-buffer")]
    Link,
    /// The drive has zones, and what uses it knows only blocks that can be written in any order.
    #[error("device.namespace: found zoned, expected conventional: zones need a host that knows them")]
    Zones,
    /// A zoned namespace whose mapping units are no logical blocks.
    #[error("ftl.unit: found {0} bytes, expected 512B or 4KiB, a logical block of a guest's zones")]
    ZonedUnit(u32),
    /// The system has a shared buffer, and its host needs an NVMe controller.
    #[error("link.type: expected pcie: a shared buffer has no NVMe controller")]
    NoNvme,
    /// The shared buffer has more queue pairs than interrupt vectors.
    #[error("host.queue_pairs: found {found}, expected at most {most} for a guest")]
    QueuePairs {
        /// Their number.
        found: u32,
        /// The limit.
        most: u16,
    },
    /// The shared buffer cannot be laid out.
    #[error("shared buffer: {0}")]
    Layout(#[from] shared_buffer::LayoutError),
    /// The memory of the shared buffer cannot be created.
    #[error("memory of the shared buffer: {0}")]
    Buffer(std::io::Error),
    /// Prepared flash without contents would be read by the guest.
    #[error("preparation: found {0}, expected none: a guest reads what flash holds")]
    Preparation(Preparation),
    /// The saved state is not this drive's.
    #[error("saved state of the controller: found {0}, expected that of this drive")]
    State(String),
    /// A namespace has a size or block size that does not exist.
    #[error("namespace {number}: found {found}, expected {expected}")]
    Namespace {
        /// Its identifier.
        number: usize,
        /// The setting.
        found: String,
        /// The requirement.
        expected: String,
    },
}
