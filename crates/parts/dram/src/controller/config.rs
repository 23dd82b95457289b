//! Configuration of a channel and its controller.

use sim::Time;

use crate::controller::queue::{READS, WRITES};
use crate::controller::{PagePolicy, RefreshMode};
use crate::device::{Device, Order};
use crate::request::RankKind;
use crate::state::RANKS;

/// An invalid configuration: the key, the value found, the value expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: found {found}, expected {expected}")]
pub struct ConfigError {
    key: &'static str,
    found: String,
    expected: &'static str,
}

impl ConfigError {
    pub(crate) fn new(key: &'static str, found: &dyn std::fmt::Debug, expected: &'static str) -> ConfigError {
        ConfigError { key, found: format!("{found:?}"), expected }
    }
}

/// A group of identical ranks of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Kind of the ranks.
    pub kind: RankKind,
    /// Number of ranks, a power of two.
    pub count: u32,
}

/// One channel: its device, its ranks and its controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Device that the ranks consist of.
    pub device: Device,
    /// The ranks in address order: the channel's addresses cover the first group, then the next.
    pub ranks: Vec<Ranks>,
    /// Order of the address fields within each group of ranks.
    pub order: Order,
    /// True if row bits permute ranks, bank groups and banks, and higher bits the channels of [`Memory::interleaved`].
    ///
    /// [`Memory::interleaved`]: crate::Memory::interleaved
    pub hash: bool,
    /// Number of ports for requests.
    pub ports: u8,
    /// Entries of the read queue in bursts, 1 to 128.
    pub read_queue: u32,
    /// Entries of the write queue in bursts, 1 to 127.
    pub write_queue: u32,
    /// Number of queued writes at which a drain starts, even if reads wait.
    pub write_high: u32,
    /// Number of queued writes at which the drain stops.
    pub write_low: u32,
    /// Minimum number of bursts in one direction after the bus has turned, if both have work.
    pub turn_min: u32,
    /// Age at which a burst is overdue. Overdue bursts are served before all others, in order of age, regardless of
    /// open rows.
    pub age_max: Time,
    /// Row policy.
    pub page: PagePolicy,
    /// Refreshes that may be postponed while there is work, up to the device's limit; 0 for none.
    pub refresh_postpone: u32,
    /// False for no refresh at all, for comparisons.
    pub refresh: bool,
    /// Refresh command.
    pub refresh_mode: RefreshMode,
    /// Idle time after which a rank is powered down.
    pub power_down_after: Option<Time>,
    /// Idle time after which a rank enters self-refresh.
    pub self_refresh_after: Option<Time>,
    /// Latency that the controller and its return path add to a read.
    pub latency: Time,
}

impl Config {
    /// Returns a configuration with one rank of `device`, its address order, queues of 32, open page and no power-down; assumed, like in
    /// public simulators. Writes are drained from 80 % of their queue down to 20 %, as in the generic controller of
    /// Ramulator 2.
    pub fn new(device: Device) -> Config {
        Config {
            ranks: vec![Ranks { kind: RankKind::Dram, count: 1 }],
            order: device.order,
            device,
            hash: false,
            ports: 1,
            read_queue: 32,
            write_queue: 32,
            write_high: 26,
            write_low: 6,
            turn_min: 16,
            age_max: Time::from_us(10),
            page: PagePolicy::Open,
            refresh_postpone: 0,
            refresh: true,
            refresh_mode: RefreshMode::AllBank,
            power_down_after: None,
            self_refresh_after: None,
            latency: Time::ZERO,
        }
    }

    /// Returns the size of the channel's address range in bytes.
    pub fn bytes(&self) -> u64 {
        self.rank_count() as u64 * self.device.rank_bytes()
    }

    /// Returns the kind of each rank.
    pub(crate) fn rank_kinds(&self) -> Vec<RankKind> {
        self.ranks.iter().flat_map(|group| (0..group.count).map(|_| group.kind)).collect()
    }

    /// Returns the number of ranks.
    pub fn rank_count(&self) -> usize {
        self.ranks.iter().map(|group| group.count as usize).sum()
    }

    /// Returns a loose upper bound of the time from a burst's entry into its queue to the end of its data, whatever
    /// else is requested.
    ///
    /// After [`Config::age_max`] a burst is overdue. Overdue bursts are served in order of age. There is at most a full
    /// queue of them, and each takes at most the time of a bank from write recovery to the end of the next burst. A
    /// waiting direction gets the bus after at most `turn_min` bursts or a write queue of the other, and then serves
    /// `turn_min` of its own. All this is stretched by the ranks' refreshes, and preceded by postponed refreshes and by
    /// waking up.
    pub fn wait_max(&self) -> Time {
        let t = &self.device.timing;
        let recover = t.ras.max(t.cwl + self.device.burst_clocks() + t.write_lag + t.wr).max(t.rtw + t.cl);
        let one = u64::from(recover + t.rpab + t.rcd + t.cl.max(t.cwl) + t.dqsck + self.device.burst_clocks() + t.faw);
        let queue = u64::from(self.read_queue.max(self.write_queue));
        let phase = u64::from(self.turn_min.max(self.write_queue));
        let rounds = queue.div_ceil(u64::from(self.turn_min.max(1))) + 1;
        let served = (queue + rounds * phase) * one;
        let ranks = self.rank_count() as u64;
        let (refresh, interval) = (ranks * (u64::from(t.rfc) + one), u64::from(t.refi));
        assert!(refresh < interval, "{ranks} ranks of {} leave no time between refreshes", self.device.name);
        let once = ranks * u64::from(t.xs + t.ckesr + t.xp + t.cke) + (u64::from(self.refresh_postpone) + 2) * refresh;
        let age = self.device.clock.at_or_after(self.age_max);
        self.device.clock.time((age + served + once) * interval / (interval - refresh)) + self.latency
    }

    /// Checks that a channel can be made of the configuration.
    ///
    /// # Errors
    /// Fails with the first invalid key.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key, found: &dyn std::fmt::Debug, expected| Err(ConfigError::new(key, found, expected));
        if self.ranks.is_empty() || !self.ranks.iter().all(|group| group.count.is_power_of_two()) {
            return wrong("ranks", &self.ranks, "one group or more, each of a power of two");
        }
        if self.rank_count() > RANKS {
            return wrong("ranks", &self.rank_count(), "at most 16");
        }
        if !(1..=16).contains(&self.ports) {
            return wrong("ports", &self.ports, "1 to 16");
        }
        if !(1..=READS).contains(&self.read_queue) {
            return wrong("read_queue", &self.read_queue, "1 to 128");
        }
        if !(1..=WRITES).contains(&self.write_queue) {
            return wrong("write_queue", &self.write_queue, "1 to 127");
        }
        if self.write_high > self.write_queue || self.write_high == 0 {
            return wrong("write_high", &self.write_high, "1 to write_queue");
        }
        if self.write_low >= self.write_high {
            return wrong("write_low", &self.write_low, "less than write_high");
        }
        if self.refresh_postpone > self.device.timing.refresh_postpone_max {
            return wrong("refresh_postpone", &self.refresh_postpone, "at most the device's refresh_postpone_max");
        }
        if self.refresh_mode == RefreshMode::SameBank && self.device.timing.rfc_sb == 0 {
            return wrong("refresh_mode", &self.refresh_mode, "AllBank, where the device has no same-bank refresh");
        }
        if self.refresh_mode == RefreshMode::PerBank && self.device.timing.rfc_pb == 0 {
            return wrong("refresh_mode", &self.refresh_mode, "AllBank, where the device has no per-bank refresh");
        }
        if self.refresh_mode != RefreshMode::AllBank && self.refresh_postpone > 0 {
            return wrong("refresh_postpone", &self.refresh_postpone, "0 with same-bank or per-bank refresh");
        }
        if self.age_max < self.device.clock.time(u64::from(self.device.timing.refi) / 4) {
            return wrong("age_max", &self.age_max, "at least a quarter of tREFI");
        }
        Ok(())
    }
}
