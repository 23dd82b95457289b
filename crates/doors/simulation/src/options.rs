//! Options of a simulation.

use std::path::PathBuf;

use storage::prepare::Preparation;
use system::System;

/// A device and its options.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// Name in messages and results, such as the system's.
    pub name: String,
    /// The system: a drive, or main memory.
    pub system: System,
    /// State of a drive at the start; [`Preparation::Erased`] for main memory.
    pub preparation: Preparation,
    /// Folder for prepared drives.
    pub cache: Option<PathBuf>,
    /// Maximum number of outstanding requests of a drive, or 64-byte lines of main memory.
    pub outstanding: u32,
}

impl DeviceOptions {
    /// Default maximum of outstanding requests.
    pub const OUTSTANDING: u32 = 1 << 16;
    /// Upper limit of that maximum.
    pub const OUTSTANDING_MAX: u32 = 1 << 24;

    /// Returns the default options of a device: an erased drive, or main memory.
    pub fn new(name: &str, system: System) -> DeviceOptions {
        DeviceOptions {
            name: name.to_owned(),
            system,
            preparation: Preparation::Erased,
            cache: None,
            outstanding: DeviceOptions::OUTSTANDING,
        }
    }
}

/// Options of a simulation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of the first device's random streams; device `i` has `seed + i`.
    pub seed: u64,
    /// Maximum bytes of the history of submissions, which `save` writes; 0 keeps none.
    pub history: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 1, history: 1 << 30 }
    }
}
