//! Several channels behind one address space.

use sim::{Energy, Lane, Schedule, Time};

use crate::channel::Channel;
use crate::config::{Config, ConfigError, Scheduler};
use crate::done::Done;
use crate::in_order::InOrder;
use crate::interleave::Region;
use crate::power::EnergyByUse;
use crate::request::{Completion, Kind, RankKind, Request};
use crate::stats::PortStats;

/// The memory wants to be called at this time; see [`Memory::handle`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake;

/// A request of which parts are under way, on several channels.
#[derive(Clone, Copy)]
struct Whole {
    id: u64,
    parts: u32,
}

/// Marks the id of a part: the rest of it is the number of the whole.
const PART: u64 = 1 << 63;

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
    port_stats: Vec<PortStats>,
    /// What is known of requests and parts before they are done.
    known: Done,
    /// What channels are done with.
    parts: Vec<Completion>,
    /// When each channel is to be called next, and the first of them; zero: it is to be asked.
    due: Vec<Time>,
    first_due: Time,
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
            port_stats: vec![PortStats::default(); ports as usize],
            known: Done::default(),
            parts: Vec::new(),
            due: vec![Time::ZERO; configs.len()],
            first_due: Time::ZERO,
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
        let region =
            Region { base: 0, bytes, channels: (0..channels).collect(), granularity, local: 0, hashed: config.hash };
        Memory::new(&configs, vec![region])
    }

    /// Asks for a read or a write, of any length within one region.
    ///
    /// # Panics
    /// If it is empty or not within one region, its port does not exist, or its id is beyond 63 bits.
    pub fn submit(&mut self, now: Time, request: Request) {
        let (address, bytes) = (request.address, u64::from(request.bytes));
        let region = self.regions.iter().find(|region| bytes > 0 && region.holds(address, bytes));
        let Some(region) = region else { panic!("{request:?} is not within a region of {:?}", self.regions) };
        assert!(request.id & PART == 0, "{request:?} has an id beyond 63 bits");
        match region.whole(address, bytes) {
            Some(part) => self.submit_part(now, part.channel, Request { address: part.address, ..request }),
            None => self.submit_parts(now, request, region.clone()),
        }
    }

    #[inline(always)]
    fn submit_part(&mut self, now: Time, channel: u32, request: Request) {
        let is_told = match &mut self.channels[channel as usize] {
            Controller::FirstReady(channel) => {
                channel.submit(now, request);
                true
            }
            Controller::InOrder(channel) => match channel.submit_early(now, request) {
                Some(done) => {
                    self.known.insert(done);
                    false
                }
                None => !request.ends_untold(),
            },
        };
        if is_told {
            self.due[channel as usize] = Time::ZERO;
            self.first_due = Time::ZERO;
        }
    }

    #[inline(never)]
    fn submit_parts(&mut self, now: Time, request: Request, region: Region) {
        let parts = |turn: usize| region.part(request.address, u64::from(request.bytes), turn);
        let parts = (0..region.channels.len()).map(parts).filter(|part| part.bytes > 0);
        let id = if request.ends_untold() { request.id } else { self.begin(request.id, parts.clone().count() as u32) };
        for part in parts {
            let request = Request { id, address: part.address, bytes: part.bytes as u32, ..request };
            self.submit_part(now, part.channel, request);
        }
    }

    /// A request of several parts begins: the id that its parts have.
    fn begin(&mut self, id: u64, parts: u32) -> u64 {
        let whole = Whole { id, parts };
        let number = self.free.pop().unwrap_or(self.wholes.len() as u32);
        match self.wholes.get_mut(number as usize) {
            Some(place) => *place = whole,
            None => self.wholes.push(whole),
        }
        PART | u64::from(number)
    }

    /// When [`Memory::advance`] is to be called next at the latest; see [`Channel::next_event`].
    pub fn next_event(&mut self) -> Option<Time> {
        let next = self.channels.iter_mut().filter_map(Controller::next_event).min();
        let next = next.unwrap_or(Time::MAX).min(self.known.first());
        (next != Time::MAX).then_some(next)
    }

    /// As [`Memory::next_event`], but later where long requests are under way; see [`Channel::next_done`].
    #[inline]
    pub fn next_done(&mut self) -> Option<Time> {
        if self.first_due == Time::ZERO {
            self.ask_channels();
        }
        let first = self.first_due.min(self.known.first());
        (first != Time::MAX).then_some(first)
    }

    #[inline(never)]
    fn ask_channels(&mut self) {
        self.first_due = Time::MAX;
        for (channel, due) in self.channels.iter_mut().zip(&mut self.due) {
            if *due == Time::ZERO {
                *due = channel.next_done().unwrap_or(Time::MAX);
            }
            self.first_due = self.first_due.min(*due);
        }
    }

    /// Comes to `now`, for who goes by [`Memory::next_done`]: channels that have nothing done by then stay where they are.
    /// What is done is to be [taken](Memory::take_done).
    #[inline(always)]
    pub fn come_to_done(&mut self, now: Time) {
        if self.first_due <= now {
            self.advance_channels(now, now);
        }
    }

    /// Takes the next of what is known to be done by `now`, in order of time.
    #[inline(always)]
    pub fn take_done(&mut self, now: Time) -> Option<Completion> {
        loop {
            let mut done = self.known.take(now)?;
            if done.id & PART != 0 {
                let number = (done.id & !PART) as u32;
                let whole = &mut self.wholes[number as usize];
                whole.parts -= 1;
                if whole.parts > 0 {
                    continue;
                }
                done.id = whole.id;
                self.free.push(number);
            }
            self.port_stats[done.port as usize].note(done.kind, done.at - done.submitted);
            return Some(done);
        }
    }

    /// Comes to `now`; appends what is done to `completions`, in order of time.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.advance_channels(now, Time::MAX);
        while let Some(done) = self.take_done(now) {
            completions.push(done);
        }
    }

    /// Channels that are to be called by `due` come to `now`. What they are done with takes its place among what was known.
    #[inline(never)]
    fn advance_channels(&mut self, now: Time, due: Time) {
        self.first_due = Time::ZERO;
        for (channel, its_due) in self.channels.iter_mut().zip(&mut self.due) {
            if *its_due <= due {
                *its_due = Time::ZERO;
                channel.advance(now, &mut self.parts);
            }
        }
        for part in self.parts.drain(..) {
            self.known.insert(part);
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
        self.energy_by_use(now).total()
    }

    /// The energy of all DRAM until `now`, by what it was spent on.
    pub fn energy_by_use(&mut self, now: Time) -> EnergyByUse {
        let ranks = self.channels.iter_mut().flat_map(|channel| channel.energy(now));
        ranks.fold(EnergyByUse::default(), |sum, rank| sum.plus(&rank))
    }
}
