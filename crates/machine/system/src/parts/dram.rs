//! Configuration of DRAM as main memory, or as a cache in front of flash.

use dram::{Config, Device, Ranks, RefreshMode};
use sim::Time;

/// Number of ranks per channel between which addresses alternate. Assumed: server firmware offers 1, 2, 4 or 8. With
/// more ranks, streams lose more clocks to rank changes (tRTRS); with fewer, they wait for refreshes.
const RANK_INTERLEAVE: u32 = 4;
/// Number of read bursts among which a channel's scheduler chooses. Assumed; 32 to 64 are plausible. With 32 it sees
/// too few of many streams to group them by rank.
const READ_QUEUE: u32 = 64;

/// Channels of DRAM in one address space.
#[derive(Clone, Debug, PartialEq)]
pub struct DramConfig {
    /// The DRAM devices of a rank.
    pub device: Device,
    /// Number of channels, a power of two.
    pub channels: u32,
    /// Ranks per channel with their own chip select, a power of two up to 16.
    pub ranks: u32,
    /// Ranks behind each chip select, a power of two: row addresses select among them, as in modules with rank
    /// multiplication. They add capacity and power; the controller treats them as one rank.
    pub stack: u32,
    /// Granularity in bytes at which addresses alternate between channels.
    pub interleave: u64,
    /// Refresh of all banks of a rank, or of one bank per bank group.
    pub refresh: RefreshMode,
    /// Latency that the path to the DRAM and back adds to a read.
    pub latency: Time,
    /// Whether higher address bits permute channels and banks.
    pub hash: bool,
    /// Bytes present, if fewer than the ranks provide: those of a cache and its tags, where the address space is a
    /// power of two. The rest consumes no power.
    pub populated: Option<u64>,
    /// Idle time after which a rank enters power-down.
    pub power_down_after: Option<Time>,
    /// Idle time after which a rank enters self-refresh.
    pub self_refresh_after: Option<Time>,
}

impl DramConfig {
    /// Creates a configuration with one channel and one rank of `device`.
    pub fn new(device: Device) -> DramConfig {
        DramConfig {
            device,
            channels: 1,
            ranks: 1,
            stack: 1,
            interleave: 256,
            refresh: RefreshMode::AllBank,
            latency: Time::ZERO,
            hash: true,
            populated: None,
            power_down_after: None,
            self_refresh_after: None,
        }
    }

    /// Returns the capacity of all channels in bytes.
    pub fn bytes(&self) -> u64 {
        let ranks = u64::from(self.channels) * u64::from(self.ranks) * u64::from(self.stack);
        ranks * self.device.rank_bytes()
    }

    /// Returns the configuration of a channel with `ports` ports.
    pub fn channel(&self, ports: u8) -> Config {
        let mut config = Config::new(self.device.clone());
        config.device.rows *= self.stack;
        let interleaved = self.ranks.min(RANK_INTERLEAVE);
        config.ranks = vec![Ranks { count: interleaved, ..config.ranks[0] }; (self.ranks / interleaved) as usize];
        config.read_queue = READ_QUEUE;
        config.refresh_mode = self.refresh;
        config.hash = self.hash;
        config.ports = ports;
        config.latency = self.latency;
        config.power_down_after = self.power_down_after;
        config.self_refresh_after = self.self_refresh_after;
        config
    }
}
