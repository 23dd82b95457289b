//! Several channels behind one address space.

use sim::{Dense, Energy, Lane, Schedule, Time};

use crate::controller::{Channel, Config, ConfigError};
use crate::interleave::Region;
use crate::merge::Merge;
use crate::request::{Completion, RankKind, Request, RequestKind};
use crate::state::{EnergyByUse, RankActivity};
use crate::stats::PortStats;

/// A wake-up at a time requested by the memory; see [`Memory::handle`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake;

/// A request whose parts are in progress on several channels.
#[derive(Clone, Copy)]
struct Whole {
    id: u64,
    parts: u32,
}

/// Marks the id of a part; the other bits are the number of the whole.
const PART: u64 = 1 << 63;

/// Channels behind one address space.
pub struct Memory {
    channels: Dense<Channel>,
    regions: Vec<Region>,
    wholes: Vec<Whole>,
    free: Vec<u32>,
    port_stats: Vec<PortStats>,
    /// Known completions of requests and parts.
    known: Merge,
    /// Per channel, the time of its next call, and the minimum of all; zero if the channel must be asked.
    due: Dense<Time>,
    first_due: Time,
    /// Time of the earliest pending wake-up.
    armed: Time,
}

impl Memory {
    /// Number of event lanes.
    pub const LANES: usize = 1;

    /// Creates channels with `configs`, addressed through `regions`.
    ///
    /// # Errors
    /// Fails if a channel's configuration is invalid.
    ///
    /// # Panics
    /// Panics if there is no channel, if a region names a channel that does not exist or exceeds its size, or if regions
    /// overlap.
    pub fn new(configs: &[Config], regions: Vec<Region>) -> Result<Memory, ConfigError> {
        for (number, region) in regions.iter().enumerate() {
            let (count, grain) = (region.channels.len() as u64, region.granularity);
            assert!(count > 0 && grain.is_power_of_two(), "{region:?} has no channel, or an invalid granularity");
            assert!(region.bytes.is_multiple_of(count * grain) && region.bytes > 0, "{region:?} has a partial stripe");
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
            channels: Dense::new(configs.iter().map(Channel::new).collect::<Result<_, _>>()?),
            regions,
            wholes: Vec::new(),
            free: Vec::new(),
            port_stats: vec![PortStats::default(); ports as usize],
            known: Merge::new(configs.len()),
            due: Dense::new(vec![Time::ZERO; configs.len()]),
            first_due: Time::ZERO,
            armed: Time::MAX,
        })
    }

    /// Creates `channels` identical channels, interleaved by `granularity` bytes starting at address 0.
    ///
    /// # Errors
    /// Fails if the configuration is invalid.
    pub fn interleaved(config: &Config, channels: u32, granularity: u64) -> Result<Memory, ConfigError> {
        let configs = vec![config.clone(); channels as usize];
        let bytes = config.bytes() * u64::from(channels);
        let region =
            Region { base: 0, bytes, channels: (0..channels).collect(), granularity, local: 0, hashed: config.hash };
        Memory::new(&configs, vec![region])
    }

    /// Submits a read or a write of any length within one region.
    ///
    /// # Panics
    /// Panics if it is empty or not within one region, its port does not exist, or its id needs more than 63 bits.
    pub fn submit(&mut self, now: Time, mut request: Request) {
        let (address, bytes) = (request.address, u64::from(request.bytes));
        let region = self.regions.iter().position(|region| bytes > 0 && region.holds(address, bytes));
        let Some(region) = region else { panic!("{request:?} is not within a region of {:?}", self.regions) };
        assert!(request.id & PART == 0, "{request:?} has an id beyond 63 bits");
        match self.regions[region].whole(address, bytes) {
            Some(part) => {
                request.address = part.address;
                self.submit_part(now, part.channel, request);
            }
            None => self.submit_parts(now, &request, region),
        }
    }

    #[inline(always)]
    fn submit_part(&mut self, now: Time, channel: u32, request: Request) {
        self.channels[channel as usize].submit(now, request);
        self.due[channel as usize] = Time::ZERO;
        self.first_due = Time::ZERO;
    }

    #[inline(never)]
    fn submit_parts(&mut self, now: Time, request: &Request, region: usize) {
        let id = if request.is_silent() { request.id } else { self.begin(request.id) };
        let ends = self.regions[region].ends(request.address, u64::from(request.bytes));
        for turn in 0..self.regions[region].channels.len() {
            let part = self.regions[region].part_between(&ends, turn);
            if part.bytes == 0 {
                continue;
            }
            if id & PART != 0 {
                self.wholes[(id & !PART) as usize].parts += 1;
            }
            let request = Request { id, address: part.address, bytes: part.bytes as u32, ..*request };
            self.submit_part(now, part.channel, request);
        }
    }

    /// Registers a request of several parts, none of which has been submitted. Returns the id for the parts.
    fn begin(&mut self, id: u64) -> u64 {
        let whole = Whole { id, parts: 0 };
        let number = self.free.pop().unwrap_or(self.wholes.len() as u32);
        match self.wholes.get_mut(number as usize) {
            Some(place) => *place = whole,
            None => self.wholes.push(whole),
        }
        PART | u64::from(number)
    }

    /// Returns the latest time at which [`Memory::advance`] must be called next; see
    /// [`Channel::next_event`](crate::Channel::next_event).
    pub fn next_event(&mut self) -> Option<Time> {
        let next = self.channels.iter_mut().filter_map(Channel::next_event).min();
        let next = next.unwrap_or(Time::MAX).min(self.known.first());
        (next != Time::MAX).then_some(next)
    }

    /// Like [`Memory::next_event`], but later while long requests are in progress; see
    /// [`Channel::next_done`](crate::Channel::next_done).
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
        for (number, channel) in self.channels.iter_mut().enumerate() {
            if self.due[number] == Time::ZERO {
                self.due[number] = channel.next_done().unwrap_or(Time::MAX);
            }
            self.first_due = self.first_due.min(self.due[number]);
        }
    }

    /// Advances to `now` for a caller that uses [`Memory::next_done`]: channels without completions by then are not
    /// advanced. Completions must be [taken](Memory::take_done).
    #[inline]
    pub fn come_to_done(&mut self, now: Time) {
        if self.first_due <= now {
            self.advance_channels(now, now);
        }
    }

    /// Takes the next completion known to be at or before `now`, in order of time.
    #[inline]
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

    /// Advances to `now` and appends completions to `completions` in order of time.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.advance_channels(now, Time::MAX);
        while let Some(done) = self.take_done(now) {
            completions.push(done);
        }
    }

    /// Advances the channels that must be called by `due` to `now`, and merges their completions with those already
    /// known.
    fn advance_channels(&mut self, now: Time, due: Time) {
        self.first_due = Time::ZERO;
        for (number, channel) in self.channels.iter_mut().enumerate() {
            if self.due[number] <= due {
                self.due[number] = Time::ZERO;
                let done = channel.advance_to(now);
                while let Some(part) = done.take(now) {
                    self.known.insert(number, part);
                }
            }
        }
    }

    /// Schedules a wake-up if none is pending early enough. Must be called after requests were submitted;
    /// [`Memory::handle`] calls it itself.
    pub fn arm<S: Schedule<Wake>>(&mut self, s: &mut S) {
        if let Some(next) = self.next_event()
            && next < self.armed
        {
            self.armed = next;
            s.at(Lane(0), next, Wake);
        }
    }

    /// Handles a wake-up. Stale wake-ups are ignored.
    pub fn handle<S: Schedule<Wake>>(&mut self, now: Time, _: Wake, s: &mut S, completions: &mut Vec<Completion>) {
        if self.armed <= now {
            self.armed = Time::MAX;
        }
        self.advance(now, completions);
        self.arm(s);
    }

    /// Returns the activity of each channel's ranks until `now`, idle time included.
    pub fn activity(&mut self, now: Time) -> Vec<Vec<RankActivity>> {
        self.channels.iter_mut().map(|channel| channel.activity(now)).collect()
    }

    /// Returns the channels, for their configuration and counters.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = &Channel> {
        self.channels.iter()
    }

    /// Returns the kind of rank at an address: memory, or a device's buffer. `None` if the address does not exist.
    pub fn kind_at(&self, address: u64) -> Option<RankKind> {
        let region = self.regions.iter().find(|region| region.holds(address, 1))?;
        let part = (0..region.channels.len()).map(|turn| region.part(address, 1, turn)).find(|part| part.bytes > 0)?;
        Some(self.channels[part.channel as usize].kind_at(part.address))
    }

    /// Returns a port's counters over all channels. A request counts once; its bytes count where they were transferred.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn port_stats(&self, port: u8) -> PortStats {
        let mut stats = self.port_stats[port as usize];
        for channel in self.channels().filter(|channel| port < channel.config().ports) {
            for kind in [RequestKind::Read, RequestKind::Write] {
                stats.bytes[kind as usize] += channel.port_stats(port).bytes[kind as usize];
            }
        }
        stats
    }

    /// Returns the energy of all DRAM until `now`.
    pub fn energy(&mut self, now: Time) -> Energy {
        self.energy_by_use(now).total()
    }

    /// Returns the energy of all DRAM until `now`, by use.
    pub fn energy_by_use(&mut self, now: Time) -> EnergyByUse {
        let ranks = self.channels.iter_mut().flat_map(|channel| channel.energy(now));
        ranks.fold(EnergyByUse::default(), |sum, rank| sum.plus(&rank))
    }
}
