//! A drive for tests of single mechanisms.

use ftl::config::{Allocation, Axis, Buffers, Collection, Config, Group, Policy, Refresh, Wear};
use media::Geometry;
use sim::Time;

/// Returns a drive with a write cache, superblocks and greedy collection; all that is optional is off.
pub fn drive(geometry: Geometry, user_units: u32) -> Config {
    Config {
        user_units,
        group: Group::Drive,
        stripe: [Axis::Channel, Axis::Way, Axis::Die, Axis::Plane],
        multi_plane: geometry.planes > 1,
        collection: Collection {
            policy: Policy::Greedy,
            choices: 1,
            quiet: 0.0,
            start: 3,
            separate: true,
            ahead: 0,
            idle: Time::from_us(50),
            copies: None,
            batch: 1,
            slack: None,
        },
        wear: Wear { dynamic: true, static_threshold: None },
        map_cache: None,
        host_memory: None,
        buffers: Buffers {
            write: 64,
            read: 0,
            allocation: Allocation::Fill,
            shared: false,
            write_back: true,
            protected: false,
            high: 8,
            low: 0,
            resume: 0,
            gather: 0,
            holds_reads: false,
            idle: Time::from_us(20),
        },
        slc: None,
        read_copies: None,
        parity: None,
        placement: None,
        refresh: Refresh::default(),
        tags: 8,
        moves: true,
        geometry,
    }
}
