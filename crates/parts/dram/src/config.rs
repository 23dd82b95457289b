//! How a channel's controller works.

use sim::Time;

use crate::board::RANKS;
use crate::device::Device;
use crate::layout::Order;
use crate::request::RankKind;

/// What becomes of a row that nobody waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PagePolicy {
    /// It stays open until another row of the bank is wanted, or a refresh.
    #[default]
    Open,
    /// It is closed by the last column command that a queued request has for it (auto-precharge).
    Closed,
    /// It is closed when it was not used for this long.
    Timeout(Time),
}

/// A configuration that cannot work: the key, what was found, what was expected.
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

/// In which order requests are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// What finds its row open first, then what came first (FR-FCFS): [`Channel`](crate::Channel).
    #[default]
    FirstReady,
    /// Short reads first, all else as it came: [`InOrder`](crate::InOrder).
    InOrder,
}

/// Like ranks of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// What they are.
    pub kind: RankKind,
    /// How many, a power of two.
    pub count: u32,
}

/// One channel: its device, its ranks and its controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What the ranks are made of.
    pub device: Device,
    /// The ranks, in the order of their addresses: the channel's addresses go through the first group, then the next.
    pub ranks: Vec<Ranks>,
    /// Order of the address fields within each group of ranks.
    pub order: Order,
    /// Row bits permute ranks, bank groups and banks, and higher bits the channels of [`Memory::interleaved`].
    ///
    /// [`Memory::interleaved`]: crate::Memory::interleaved
    pub hash: bool,
    /// In which order [`Memory`](crate::Memory) has requests served.
    pub scheduler: Scheduler,
    /// Ports that requests come from.
    pub ports: u8,
    /// Read bursts that wait at most, 1 to 64.
    pub read_queue: u32,
    /// Write bursts that wait at most, 1 to 64.
    pub write_queue: u32,
    /// From this many queued writes on they are drained, reads waiting.
    pub write_high: u32,
    /// The drain stops at this many.
    pub write_low: u32,
    /// Bursts that a direction gets at least when the bus has turned and both have work.
    pub turn_min: u32,
    /// A burst that has waited this long is served before all others, in order of age, whatever rows are open.
    pub age_max: Time,
    /// What becomes of open rows.
    pub page: PagePolicy,
    /// Refreshes that may be put off while there is work, up to what the device allows; 0: none.
    pub refresh_postpone: u32,
    /// False: no refresh at all, for comparisons.
    pub refresh: bool,
    /// Idle this long, a rank is powered down.
    pub power_down_after: Option<Time>,
    /// Idle this long, a rank goes into self-refresh.
    pub self_refresh_after: Option<Time>,
    /// What the controller and its way back add to a read's latency.
    pub latency: Time,
}

impl Config {
    /// One rank of `device`, queues of 32, open page, no power-down: assumed, as public simulators do. Drains of writes from
    /// 80 % of their queue to 20 %, as in the generic controller of Ramulator 2.
    pub fn new(device: Device) -> Config {
        Config {
            device,
            ranks: vec![Ranks { kind: RankKind::Dram, count: 1 }],
            order: Order::default(),
            hash: false,
            scheduler: Scheduler::default(),
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
            power_down_after: None,
            self_refresh_after: None,
            latency: Time::ZERO,
        }
    }

    /// Bytes that the channel's addresses span.
    pub fn bytes(&self) -> u64 {
        self.rank_count() as u64 * self.device.rank_bytes()
    }

    /// All ranks.
    pub fn rank_count(&self) -> usize {
        self.ranks.iter().map(|group| group.count as usize).sum()
    }

    /// The longest that a burst waits from when it has entered its queue until its data are through; loose, but a bound
    /// whatever else is asked for.
    ///
    /// Within [`Config::age_max`] it is served, or is overdue. Those overdue are served in order of age, at most a queue of
    /// them, each within the time that a bank takes from recovering after a write to the end of a burst. A direction that
    /// waits gets the bus back after as many bursts of the other as `turn_min` or the write queue, and serves `turn_min` of
    /// its own then. All this is stretched by the ranks' refreshes, and preceded by what is owed of them and by waking up.
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
        assert!(refresh < interval, "{ranks} ranks of {} do nothing but refresh", self.device.name);
        let once = ranks * u64::from(t.xs + t.ckesr + t.xp + t.cke) + (u64::from(self.refresh_postpone) + 2) * refresh;
        let age = self.device.clock.at_or_after(self.age_max);
        self.device.clock.time((age + served + once) * interval / (interval - refresh)) + self.latency
    }

    /// Whether a channel can be made of it.
    ///
    /// # Errors
    /// The first key that does not fit.
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
        if !(1..=64).contains(&self.read_queue) {
            return wrong("read_queue", &self.read_queue, "1 to 64");
        }
        if !(1..=64).contains(&self.write_queue) {
            return wrong("write_queue", &self.write_queue, "1 to 64");
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
        if self.age_max < self.device.clock.time(u64::from(self.device.timing.refi) / 4) {
            return wrong("age_max", &self.age_max, "at least a quarter of tREFI");
        }
        Ok(())
    }
}
