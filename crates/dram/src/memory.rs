//! Several channels behind one address space.

use sim::{Energy, Lane, Schedule, Time};

use crate::channel::Channel;
use crate::config::{Config, ConfigError, Scheduler};
use crate::in_order::InOrder;
use crate::interleave::Region;
use crate::power::EnergyByUse;
use crate::request::{Completion, Kind, RankKind, Request};
use crate::stats::PortStats;

/// The memory wants to be called at this time; see [`Memory::handle`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake;

/// A request whose parts are under way.
#[derive(Clone, Copy)]
struct Whole {
    id: u64,
    submitted: Time,
    at: Time,
    parts: u32,
}

/// A channel with one controller or the other.
enum Controller {
    FirstReady(Box<Channel>),
    InOrder(Box<InOrder>),
}

impl Controller {
    fn new(config: &Config) -> Result<Controller, ConfigError> {
        Ok(match config.scheduler {
            Scheduler::FirstReady => Controller::FirstReady(Box::new(Channel::new(config)?)),
            Scheduler::InOrder => Controller::InOrder(Box::new(InOrder::new(config)?)),
        })
    }

    #[inline(always)]
    fn submit(&mut self, now: Time, request: Request) {
        match self {
            Controller::FirstReady(channel) => channel.submit(now, request),
            Controller::InOrder(channel) => channel.submit(now, request),
        }
    }

    #[inline(always)]
    fn next_event(&mut self) -> Option<Time> {
        match self {
            Controller::FirstReady(channel) => channel.next_event(),
            Controller::InOrder(channel) => channel.next_event(),
        }
    }

    #[inline(always)]
    fn next_done(&mut self) -> Option<Time> {
        match self {
            Controller::FirstReady(channel) => channel.next_done(),
            Controller::InOrder(channel) => channel.next_event(),
        }
    }

    #[inline(always)]
    fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
        match self {
            Controller::FirstReady(channel) => channel.advance(now, completions),
            Controller::InOrder(channel) => channel.advance(now, completions),
        }
    }

    fn channel(&self) -> &Channel {
        match self {
            Controller::FirstReady(channel) => channel,
            Controller::InOrder(channel) => channel.channel(),
        }
    }

    fn energy(&mut self, now: Time) -> Vec<EnergyByUse> {
        match self {
            Controller::FirstReady(channel) => channel.energy(now),
            Controller::InOrder(channel) => channel.energy(now),
        }
    }
}

/// Channels behind one address space.
pub struct Memory {
    channels: Vec<Controller>,
    regions: Vec<Region>,
    wholes: Vec<Whole>,
    free: Vec<u32>,
    parts: Vec<Completion>,
    port_stats: Vec<PortStats>,
    /// When each channel is to be called next; zero: it is to be asked.
    due: Vec<Time>,
    /// The earliest wake that is under way.
    armed: Time,
}

impl Memory {
    /// Lanes that it pushes to.
    pub const LANES: usize = 1;

    /// Channels of `configs`, addressed through `regions`.
    ///
    /// # Errors
    /// If a channel's configuration cannot work.
    ///
    /// # Panics
    /// If a region names a channel that does not exist or goes beyond its end, or regions overlap.
    pub fn new(configs: &[Config], regions: Vec<Region>) -> Result<Memory, ConfigError> {
        for (number, region) in regions.iter().enumerate() {
            let (count, grain) = (region.channels.len() as u64, region.granularity);
            assert!(count > 0 && grain.is_power_of_two(), "{region:?} is spread over no channel, or not by bits");
            assert!(region.bytes.is_multiple_of(count * grain) && region.bytes > 0, "{region:?} has a piece left over");
            for channel in &region.channels {
                let bytes = configs.get(*channel as usize).map_or(0, Config::bytes);
                assert!(region.local + region.bytes / count <= bytes, "{region:?} is beyond channel {channel}");
            }
            let overlaps =
                |other: &&Region| other.base < region.base + region.bytes && region.base < other.base + other.bytes;
            assert!(regions[..number].iter().find(overlaps).is_none(), "{region:?} overlaps one before it");
        }
        let ports = configs.iter().map(|config| config.ports).max().unwrap_or(1);
        Ok(Memory {
            channels: configs.iter().map(Controller::new).collect::<Result<_, _>>()?,
            regions,
            wholes: Vec::new(),
            free: Vec::new(),
            parts: Vec::new(),
            port_stats: vec![PortStats::default(); ports as usize],
            due: vec![Time::ZERO; configs.len()],
            armed: Time::MAX,
        })
    }

    /// `channels` like channels, all of them spread by `granularity` bytes from address 0 on.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn interleaved(config: &Config, channels: u32, granularity: u64) -> Result<Memory, ConfigError> {
        let configs = vec![config.clone(); channels as usize];
        let bytes = config.bytes() * u64::from(channels);
        let region = Region { base: 0, bytes, channels: (0..channels).collect(), granularity, local: 0 };
        Memory::new(&configs, vec![region])
    }

    /// Asks for a read or a write, of any length within one region.
    ///
    /// # Panics
    /// If it is empty or not within one region, or its port does not exist.
    pub fn submit(&mut self, now: Time, request: Request) {
        let (address, bytes) = (request.address, u64::from(request.bytes));
        let region = self.regions.iter().position(|region| bytes > 0 && region.holds(address, bytes));
        let Some(region) = region else { panic!("{request:?} is not within a region of {:?}", self.regions) };
        let whole = self.free.pop().unwrap_or(self.wholes.len() as u32);
        if whole as usize == self.wholes.len() {
            self.wholes.push(Whole { id: 0, submitted: now, at: now, parts: 0 });
        }
        if let Some(part) = self.regions[region].whole(address, bytes) {
            self.wholes[whole as usize] = Whole { id: request.id, submitted: now, at: now, parts: 1 };
            let request = Request { id: u64::from(whole), address: part.address, ..request };
            self.due[part.channel as usize] = Time::ZERO;
            self.channels[part.channel as usize].submit(now, request);
            return;
        }
        let mut parts = 0;
        for turn in 0..self.regions[region].channels.len() {
            let part = self.regions[region].part(address, bytes, turn);
            if part.bytes > 0 {
                parts += 1;
                let request =
                    Request { id: u64::from(whole), address: part.address, bytes: part.bytes as u32, ..request };
                self.due[part.channel as usize] = Time::ZERO;
                self.channels[part.channel as usize].submit(now, request);
            }
        }
        self.wholes[whole as usize] = Whole { id: request.id, submitted: now, at: now, parts };
    }

    /// When [`Memory::advance`] is to be called next at the latest; see [`Channel::next_event`].
    pub fn next_event(&mut self) -> Option<Time> {
        self.channels.iter_mut().filter_map(Controller::next_event).min()
    }

    /// As [`Memory::next_event`], but later where long requests are under way; see [`Channel::next_done`].
    pub fn next_done(&mut self) -> Option<Time> {
        let mut first = Time::MAX;
        for (channel, due) in self.channels.iter_mut().zip(&mut self.due) {
            if *due == Time::ZERO {
                *due = channel.next_done().unwrap_or(Time::MAX);
            }
            first = first.min(*due);
        }
        (first != Time::MAX).then_some(first)
    }

    /// As [`Memory::advance`], for who goes by [`Memory::next_done`]: channels that have nothing done by `now` stay where
    /// they are.
    pub fn advance_done(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let first = completions.len();
        for channel in 0..self.channels.len() {
            if self.due[channel] <= now {
                self.advance_channel(channel, now, completions);
            }
        }
        if self.channels.len() > 1 {
            completions[first..].sort_by_key(|completion| completion.at);
        }
    }

    /// Comes to `now`; appends what is done to `completions`, in order of time.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let first = completions.len();
        for channel in 0..self.channels.len() {
            self.advance_channel(channel, now, completions);
        }
        if self.channels.len() > 1 {
            completions[first..].sort_by_key(|completion| completion.at);
        }
    }

    #[inline(always)]
    fn advance_channel(&mut self, channel: usize, now: Time, completions: &mut Vec<Completion>) {
        self.due[channel] = Time::ZERO;
        self.channels[channel].advance(now, &mut self.parts);
        for part in self.parts.drain(..) {
            let whole = &mut self.wholes[part.id as usize];
            whole.at = whole.at.max(part.at);
            whole.parts -= 1;
            if whole.parts == 0 {
                let Whole { id, submitted, at, .. } = *whole;
                self.free.push(part.id as u32);
                self.port_stats[part.port as usize].note(part.kind, at - submitted);
                completions.push(Completion { id, submitted, at, ..part });
            }
        }
    }

    /// Asks for a wake where none comes soon enough. To be called after requests were submitted; [`Memory::handle`] does it
    /// itself.
    pub fn arm<S: Schedule<Wake>>(&mut self, s: &mut S) {
        if let Some(next) = self.next_event()
            && next < self.armed
        {
            self.armed = next;
            s.at(Lane(0), next, Wake);
        }
    }

    /// A wake has come. One that came for what was superseded does no harm.
    pub fn handle<S: Schedule<Wake>>(&mut self, now: Time, _: Wake, s: &mut S, completions: &mut Vec<Completion>) {
        if self.armed <= now {
            self.armed = Time::MAX;
        }
        self.advance(now, completions);
        self.arm(s);
    }

    /// The channels, for their configuration and counters.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = &Channel> {
        self.channels.iter().map(Controller::channel)
    }

    /// What the address is: memory, or a device's buffer. `None` where nothing answers.
    pub fn kind_at(&self, address: u64) -> Option<RankKind> {
        let region = self.regions.iter().find(|region| region.holds(address, 1))?;
        let part = (0..region.channels.len()).map(|turn| region.part(address, 1, turn)).find(|part| part.bytes > 0)?;
        Some(self.channels[part.channel as usize].channel().kind_at(part.address))
    }

    /// What a port asked for and got, over all channels. A request counts once, its bytes where they went.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn port_stats(&self, port: u8) -> PortStats {
        let mut stats = self.port_stats[port as usize];
        for channel in self.channels().filter(|channel| port < channel.config().ports) {
            for kind in [Kind::Read, Kind::Write] {
                stats.bytes[kind as usize] += channel.port_stats(port).bytes[kind as usize];
            }
        }
        stats
    }

    /// The energy of all DRAM until `now`.
    pub fn energy(&mut self, now: Time) -> Energy {
        let mut sum = Energy::ZERO;
        for channel in &mut self.channels {
            for rank in channel.energy(now) {
                sum += rank.total();
            }
        }
        sum
    }
}
