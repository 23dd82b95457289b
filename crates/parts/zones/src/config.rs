//! Configuration of a zoned namespace.

/// Shape and limits of the zones of a namespace. Sizes are in logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Number of zones, at least 1.
    pub zones: u32,
    /// Logical blocks from the start of a zone to that of the next.
    pub size: u64,
    /// Writable logical blocks of a zone, from its start on: 1 to `size`.
    pub capacity: u64,
    /// Maximum number of open zones, at least 1; `None`: no limit.
    pub open_max: Option<u32>,
    /// Maximum number of active zones, at least 1 and at least `open_max`; `None`: no limit.
    pub active_max: Option<u32>,
    /// Maximum number of logical blocks of an append, at least 1; `None`: no limit.
    pub append_max: Option<u64>,
}

/// Reason why zones cannot be configured as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A namespace without zones.
    #[error("zones: found 0, expected at least 1")]
    NoZones,
    /// A capacity that the zone does not hold, or an empty one.
    #[error("capacity: found {capacity} blocks, expected 1 to the zone's size of {size}")]
    Capacity {
        /// The capacity requested.
        capacity: u64,
        /// The size of a zone.
        size: u64,
    },
    /// A namespace with more logical blocks than can be addressed.
    #[error("zones of {size} blocks: found {zones}, expected an end below 2^64")]
    Size {
        /// Number of zones.
        zones: u32,
        /// The size of a zone.
        size: u64,
    },
    /// A limit at which nothing could be written.
    #[error("{limit}: found 0, expected at least 1, or no limit")]
    Zero {
        /// The limit.
        limit: &'static str,
    },
    /// An open zone is active.
    #[error("active zones: found at most {active}, expected at least the {open} that may be open")]
    Active {
        /// The limit of active zones.
        active: u32,
        /// The limit of open zones.
        open: u32,
    },
}

impl Config {
    /// Checks that the zones can be addressed and written.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.zones == 0 {
            return Err(ConfigError::NoZones);
        }
        if !(1..=self.size).contains(&self.capacity) {
            return Err(ConfigError::Capacity { capacity: self.capacity, size: self.size });
        }
        if u64::from(self.zones).checked_mul(self.size).is_none() {
            return Err(ConfigError::Size { zones: self.zones, size: self.size });
        }
        let limits = [
            ("open zones", self.open_max.map(u64::from)),
            ("active zones", self.active_max.map(u64::from)),
            ("append", self.append_max),
        ];
        if let Some((limit, _)) = limits.into_iter().find(|(_, most)| *most == Some(0)) {
            return Err(ConfigError::Zero { limit });
        }
        // Without a limit of open zones, that of active zones limits them too.
        match (self.active_max, self.open_max) {
            (Some(active), Some(open)) if active < open => Err(ConfigError::Active { active, open }),
            _ => Ok(()),
        }
    }

    /// Returns the number of logical blocks of the namespace, writable or not.
    pub fn blocks(&self) -> u64 {
        u64::from(self.zones) * self.size
    }
}
