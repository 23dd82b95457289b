//! The configuration of DRAM as main memory, or as a cache of it.

use dram::{Config, Device, Ranks, Scheduler};
use sim::Time;

/// Ranks of a channel that addresses alternate between. Assumed: firmware of servers offers 1, 2, 4 or 8. Streams in more ranks
/// lose more clocks to changes of rank (tRTRS), streams in fewer wait for refreshes.
const RANK_INTERLEAVE: u32 = 4;
/// Read bursts that a channel's scheduler chooses from. Assumed; 32 to 64 are plausible. With 32 it sees too few of many streams
/// to group them by rank.
const READ_QUEUE: u32 = 64;

/// Channels of DRAM behind one address space.
#[derive(Clone, Debug, PartialEq)]
pub struct DramConfig {
    /// What the ranks are made of.
    pub device: Device,
    /// Channels, a power of two.
    pub channels: u32,
    /// Ranks of each that have a chip select, a power of two, at most 16.
    pub ranks: u32,
    /// Ranks behind each chip select, a power of two: as modules with rank multiplication do, row addresses choose among
    /// them. They make capacity and draw power; the controller takes them for one.
    pub stack: u32,
    /// Bytes after which addresses go to the next channel.
    pub interleave: u64,
    /// In which order requests are served.
    pub scheduler: Scheduler,
    /// What the way there and back adds to a read's latency.
    pub latency: Time,
    /// Higher address bits permute channels and banks.
    pub hash: bool,
    /// Bytes that are there, if less than the ranks make: those of a cache and its tags, where addresses want a power of
    /// two. The rest draws nothing.
    pub populated: Option<u64>,
    /// Idle this long, a rank is powered down.
    pub power_down_after: Option<Time>,
    /// Idle this long, a rank goes into self-refresh.
    pub self_refresh_after: Option<Time>,
}

impl DramConfig {
    /// One channel of one rank of `device`.
    pub fn new(device: Device) -> DramConfig {
        DramConfig {
            device,
            channels: 1,
            ranks: 1,
            stack: 1,
            interleave: 256,
            scheduler: Scheduler::FirstReady,
            latency: Time::ZERO,
            hash: true,
            populated: None,
            power_down_after: None,
            self_refresh_after: None,
        }
    }

    /// Bytes of all channels.
    pub fn bytes(&self) -> u64 {
        let ranks = u64::from(self.channels) * u64::from(self.ranks) * u64::from(self.stack);
        ranks * self.device.rank_bytes()
    }

    /// A channel's, with `ports` ports.
    pub fn channel(&self, ports: u8) -> Config {
        let mut config = Config::new(self.device.clone());
        config.device.rows *= self.stack;
        let interleaved = self.ranks.min(RANK_INTERLEAVE);
        config.ranks = vec![Ranks { count: interleaved, ..config.ranks[0] }; (self.ranks / interleaved) as usize];
        config.read_queue = READ_QUEUE;
        config.scheduler = self.scheduler;
        config.hash = self.hash;
        config.ports = ports;
        config.latency = self.latency;
        config.power_down_after = self.power_down_after;
        config.self_refresh_after = self.self_refresh_after;
        config
    }
}
