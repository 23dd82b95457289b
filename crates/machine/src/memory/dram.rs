//! Main memory that is all DRAM.

use dram::{Ack, Channel, Completion, Config, ConfigError, Device, Kind, Memory, Ranks, Request, Scheduler};
use media::line::{LINE, LineKind, LineRequest};
use sim::{Energy, Time};

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
    pub(crate) fn channel(&self, ports: u8) -> Config {
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

/// DRAM, and what stands behind its chip selects.
pub(crate) struct Modules {
    pub(crate) memory: Memory,
    /// A channel to which nothing ever comes: what those draw that are not selected.
    idle: Option<Channel>,
    /// How many ranks are not selected, for each rank of the idle channel.
    others: u64,
    /// Bytes that are there, of how many that can be addressed.
    populated: (u64, u64),
}

impl Modules {
    pub(crate) fn new(config: &DramConfig, ports: u8) -> Result<Modules, ConfigError> {
        let channel = config.channel(ports);
        let idle = if config.stack > 1 {
            let mut one = Config { ranks: vec![Ranks { count: 1, ..channel.ranks[0] }], ..channel.clone() };
            one.device.rows /= config.stack;
            Some(Channel::new(&one)?)
        } else {
            None
        };
        Ok(Modules {
            memory: Memory::interleaved(&channel, config.channels, config.interleave)?,
            idle,
            populated: (config.populated.unwrap_or(config.bytes()).min(config.bytes()), config.bytes()),
            others: u64::from(config.channels) * u64::from(config.ranks) * u64::from(config.stack - 1),
        })
    }

    /// The energy of all ranks until `now`.
    pub(crate) fn energy(&mut self, now: Time) -> Energy {
        let used = self.memory.energy_by_use(now);
        let mut background = used.background();
        if let Some(idle) = &mut self.idle {
            for rank in idle.energy(now) {
                background += rank.total() * self.others;
            }
        }
        used.activate + used.read + used.write + background.share(self.populated.0, self.populated.1)
    }
}

/// Main memory that is all DRAM.
pub struct DramMemory {
    modules: Modules,
    bytes: u64,
    done: Vec<Completion>,
    /// When it is to be called next, if nothing was asked for or done since that was found.
    next: Option<Option<Time>>,
}

impl DramMemory {
    /// Idle memory.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn new(config: &DramConfig) -> Result<DramMemory, ConfigError> {
        Ok(DramMemory { modules: Modules::new(config, 1)?, bytes: config.bytes(), done: Vec::new(), next: None })
    }

    /// See [`super::MainMemory::submit`].
    pub fn submit(&mut self, now: Time, request: LineRequest) {
        assert!(
            request.address.is_multiple_of(LINE) && request.address < self.bytes,
            "{request:?} is no line of memory"
        );
        let kind = match request.kind {
            LineKind::Fill => Kind::Read,
            LineKind::WriteBack => Kind::Write,
        };
        self.next = None;
        self.modules.memory.submit(
            now,
            Request {
                id: u64::from(request.id),
                port: 0,
                kind,
                address: request.address,
                bytes: LINE as u32,
                ack: Ack::Accepted,
            },
        );
    }

    /// See [`super::MainMemory::next_event`].
    pub fn next_event(&mut self) -> Option<Time> {
        *self.next.get_or_insert_with(|| self.modules.memory.next_event())
    }

    /// See [`super::MainMemory::advance`].
    pub fn advance(&mut self, now: Time, completions: &mut Vec<(u32, Time)>) {
        self.next = None;
        self.modules.memory.advance(now, &mut self.done);
        completions.extend(self.done.drain(..).map(|completion| (completion.id as u32, completion.at)));
    }

    /// See [`super::MainMemory::go_on`].
    pub fn go_on(&mut self, until: Time, completions: &mut Vec<(u32, Time)>) {
        let before = completions.len();
        while completions.len() == before
            && let Some(next) = self.next_event()
            && next <= until
        {
            self.advance(next, completions);
        }
    }

    /// Bytes that can be addressed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The DRAM behind it, for its counters.
    pub fn memory(&self) -> &Memory {
        &self.modules.memory
    }

    /// The energy of all DRAM until `now`.
    pub fn energy(&mut self, now: Time) -> Energy {
        self.next = None;
        self.modules.energy(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> DramConfig {
        let device = Device::preset("DDR3-1600").expect("a preset");
        DramConfig { channels: 4, ranks: 16, stack: 4, ..DramConfig::new(device) }
    }

    #[test]
    fn a_tebibyte_answers_at_both_its_ends() {
        let config = config();
        assert_eq!(config.bytes(), 1 << 40);
        let mut memory = DramMemory::new(&config).expect("it can work");
        memory.submit(Time::ZERO, LineRequest { id: 3, address: 0, kind: LineKind::Fill });
        memory.submit(Time::ZERO, LineRequest { id: 4, address: (1 << 40) - 64, kind: LineKind::WriteBack });
        let mut done = Vec::new();
        while let Some(next) = memory.next_event() {
            memory.advance(next, &mut done);
        }
        let fill = done.iter().find(|(id, _)| *id == 3).expect("the fill ends").1;
        // A closed bank: tRCD, CL and a burst of a DDR3-1600, 11 + 11 + 4 clocks of 1.25 ns.
        assert_eq!(fill, Time::from_ps(26 * 1250));
        assert!(done.iter().any(|(id, _)| *id == 4) && done.len() == 2, "{done:?}");
    }

    #[test]
    fn ranks_that_share_a_chip_select_draw_power_too() {
        let stacked = config();
        let plain = DramConfig { stack: 1, ..stacked.clone() };
        let second = Time::from_ms(1000);
        let of = |config| DramMemory::new(config).expect("it can work").energy(second).joules();
        let (four, one) = (of(&stacked), of(&plain));
        // Ranks of a channel take turns in refreshing, so that not all have done as many at any time.
        assert!((four / one - 4.0).abs() < 1e-3, "{four} J and {one} J");
    }

    #[test]
    #[should_panic(expected = "no line of memory")]
    fn what_is_beyond_the_end_is_refused() {
        let mut memory = DramMemory::new(&config()).expect("it can work");
        memory.submit(Time::ZERO, LineRequest { id: 0, address: 1 << 40, kind: LineKind::Fill });
    }
}
