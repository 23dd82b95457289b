//! Main memory built from DRAM alone.

use dram::{
    Ack, Channel, Completion, Config, ConfigError, Memory, MemoryConfig, RankActivity, Ranks, Request, RequestKind,
};
use media::line::{LINE, LineKind, LineRequest};
use sim::{Energy, Time};

/// DRAM channels and the ranks that are populated but never addressed.
pub(crate) struct Modules {
    pub(crate) memory: Memory,
    /// A channel without requests, which stands for the unaddressed ranks' power.
    idle: Option<Channel>,
    /// Unaddressed ranks per rank of the idle channel.
    others: u64,
    /// Populated bytes, and addressable bytes.
    populated: (u64, u64),
}

impl Modules {
    /// Creates idle modules, of which `populated` bytes are present and draw power: the cache and its tags, where the
    /// address space is a power of two.
    pub(crate) fn new(config: &MemoryConfig, ports: u8, populated: u64) -> Result<Modules, ConfigError> {
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
            populated: (populated.min(config.bytes()), config.bytes()),
            others: u64::from(config.channels) * u64::from(config.ranks) * u64::from(config.stack - 1),
        })
    }

    /// Returns the energy of all ranks until `now`.
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

/// Main memory built from DRAM alone.
pub struct DramMemory {
    modules: Modules,
    bytes: u64,
    done: Vec<Completion>,
    /// The next event, if nothing has changed since it was computed.
    next: Option<Option<Time>>,
}

impl DramMemory {
    /// Creates idle memory.
    ///
    /// # Errors
    /// If the configuration is invalid.
    pub fn new(config: &MemoryConfig) -> Result<DramMemory, ConfigError> {
        let bytes = config.bytes();
        Ok(DramMemory { modules: Modules::new(config, 1, bytes)?, bytes, done: Vec::new(), next: None })
    }

    /// See [`super::MainMemory::submit`].
    pub fn submit(&mut self, now: Time, request: LineRequest) {
        assert!(
            request.address.is_multiple_of(LINE) && request.address < self.bytes,
            "{request:?} is no line of memory"
        );
        let kind = match request.kind {
            LineKind::Fill => RequestKind::Read,
            LineKind::WriteBack => RequestKind::Write,
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

    /// See [`super::MainMemory::advance_to_completion`].
    pub fn advance_to_completion(&mut self, until: Time, completions: &mut Vec<(u32, Time)>) {
        let before = completions.len();
        while completions.len() == before
            && let Some(next) = self.next_event()
            && next <= until
        {
            self.advance(next, completions);
        }
    }

    /// Returns the addressable bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the DRAM, for its counters.
    pub fn memory(&self) -> &Memory {
        &self.modules.memory
    }

    /// Returns the activity of each channel's ranks until `now`.
    pub(crate) fn activity(&mut self, now: Time) -> Vec<Vec<RankActivity>> {
        self.next = None;
        self.modules.memory.activity(now)
    }

    /// Returns the energy of all DRAM until `now`.
    pub fn energy(&mut self, now: Time) -> Energy {
        self.next = None;
        self.modules.energy(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> MemoryConfig {
        MemoryConfig { channels: 4, ranks: 16, stack: 4, ..MemoryConfig::new(dram::Standard::Ddr3x1600) }
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
        let plain = MemoryConfig { stack: 1, ..stacked };
        let second = Time::from_ms(1000);
        let of = |config| DramMemory::new(config).expect("it can work").energy(second).joules();
        let (four, one) = (of(&stacked), of(&plain));
        // Ranks of a channel refresh in turn, so their counts differ at times.
        assert!((four / one - 4.0).abs() < 1e-3, "{four} J and {one} J");
    }

    #[test]
    #[should_panic(expected = "no line of memory")]
    fn what_is_beyond_the_end_is_refused() {
        let mut memory = DramMemory::new(&config()).expect("it can work");
        memory.submit(Time::ZERO, LineRequest { id: 0, address: 1 << 40, kind: LineKind::Fill });
    }
}
