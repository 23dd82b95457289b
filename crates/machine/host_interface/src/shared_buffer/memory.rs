//! The memory channels between the processor, its DRAM and the device's buffer, and the cost of a storage driver's
//! accesses on them.
//!
//! The channels are those of `dram`: a controller with queues, banks and rows, and a bus that turns between reads and
//! writes. The device's buffer is a rank of its own, on its own channel or on that of the DRAM. A DMA transfer is a
//! chain of bursts, several in flight, each read from one side and then written to the other. On a shared channel the
//! same data therefore crosses the bus twice.
//!
//! Repeated accesses are simulated once: a word with its row open or closed and, without other traffic, a transfer of
//! each length from an idle channel. With other programs' traffic, every transfer is simulated burst by burst, with
//! that traffic on the channels from its start to its end. Between transfers the traffic is undisturbed; it is counted
//! without being simulated.

use std::collections::VecDeque;

use device::EmulatedDramConfig;
use dram::{Ack, Channel, Completion, Config, Device, RankKind, Ranks, Request, RequestKind};
use link::shared_buffer::{self, Memory};
use sim::Time;

/// Bytes per burst of the DMA engine: sixteen beats of a 64-bit bus, as on a PL330.
const BURST: u64 = 128;
/// Maximum number of bursts that have been requested and not yet written.
const WINDOW: u64 = 16;
/// Bytes per access of other programs: a cache line.
const LINE: u32 = 64;
/// Ports of a channel's controller.
const DMA: u8 = 0;
const TRAFFIC: u8 = 1;
/// Time from the arrival of a burst's data to its write, through the engine and the interconnect.
const THROUGH: Time = Time::from_ns(100);

/// The memory channels.
pub struct Buses {
    device: Device,
    shared: bool,
    /// Bytes per second of other programs' traffic.
    traffic: u64,
    /// Time of a word: load or store, with its row open or closed.
    words: [[Time; 2]; 2],
    /// Transfers from idle channels, by sectors and direction.
    known: Vec<[Option<Transfer>; 2]>,
    live: Live,
    counts: Counts,
}

/// Cost of a transfer.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    length: Time,
    /// Clocks of data on the buffer's channel and on that of the DRAM; the latter is zero if both are the same.
    clocks: [u64; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    words: [u64; 2],
    clocks: [u64; 2],
    to_device: u64,
    to_host: u64,
    /// Lines of other programs during transfers, and the sum of their latencies.
    lines: u64,
    waits: Time,
    /// Time of the transfers simulated with traffic.
    beside: Time,
}

/// Activity of one channel.
#[derive(Clone, Debug)]
pub struct BusReport {
    /// Its name.
    pub name: &'static str,
    /// Time in which the bus carried data.
    pub busy: Time,
    /// Bytes of the host's words, one burst each: queues, registers and copies by the processor.
    pub word_bytes: u64,
    /// Bytes of data to and from the data buffer.
    pub buffer_bytes: u64,
    /// Bytes of the same data to and from DRAM.
    pub dram_bytes: u64,
    /// Bytes of other programs' traffic.
    pub traffic_bytes: u64,
    /// Lines of other programs during transfers.
    pub traffic_lines: u64,
    /// Sum of the latencies of those lines.
    pub traffic_waits: Time,
    /// Mean latency of such a line without storage traffic.
    pub traffic_alone: Option<Time>,
}

/// Channels on which transfers are simulated, together with other programs' traffic.
struct Live {
    /// The buffer's channel, and the DRAM's if it is separate.
    channels: Vec<Channel>,
    /// Address of the buffer in its channel; the DRAM starts at zero.
    buffer_base: u64,
    dram_bytes: u64,
    /// Time between two lines of other programs.
    gap: Option<Time>,
    next_line: Time,
    line: u64,
    done: Vec<Completion>,
    /// Bursts that the engine has read, and the times at which it can write them.
    through: VecDeque<(Time, u64)>,
}

impl Live {
    fn new(device: &Device, shared: bool, traffic: u64) -> Live {
        let channel = |groups: &[RankKind]| {
            let mut config = Config::new(device.clone());
            config.ports = 2;
            config.ranks = groups.iter().map(|&kind| Ranks { kind, count: 1 }).collect();
            Channel::new(&config).unwrap_or_else(|error| panic!("{}: {error}", device.name))
        };
        let channels = match shared {
            true => vec![channel(&[RankKind::Dram, RankKind::Buffer])],
            false => vec![channel(&[RankKind::Buffer]), channel(&[RankKind::Dram])],
        };
        Live {
            channels,
            buffer_base: if shared { device.rank_bytes() } else { 0 },
            dram_bytes: device.rank_bytes(),
            gap: (traffic > 0).then(|| Time::of_transfer(u64::from(LINE), traffic)),
            next_line: Time::ZERO,
            line: 0,
            done: Vec::new(),
            through: VecDeque::new(),
        }
    }

    fn dram(&mut self) -> &mut Channel {
        self.channels.last_mut().expect("a channel")
    }

    /// Submits a line of another program. A fixed permutation scatters lines over memory, and every third is a write.
    fn other(&mut self, at: Time) {
        let number = self.line;
        self.line += 1;
        let lines = self.dram_bytes / u64::from(LINE);
        let address = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % lines * u64::from(LINE);
        let kind = if number % 3 == 2 { RequestKind::Write } else { RequestKind::Read };
        let request = Request { id: number, port: TRAFFIC, kind, address, bytes: LINE, ack: Ack::Accepted };
        self.dram().submit(at, request);
    }

    /// Moves `bytes` starting at `from`, at most one burst per `pace` on both channels. Counts the lines of other
    /// programs.
    fn transfer(&mut self, from: Time, bytes: u64, store: bool, pace: Time, counts: &mut Counts) -> Time {
        let last = self.channels.len() - 1;
        let (source, sink) = if store { (last, 0) } else { (0, last) };
        let (source_base, sink_base) = if store { (0, self.buffer_base) } else { (self.buffer_base, 0) };
        let bursts = bytes.div_ceil(BURST);
        let (mut asked, mut written, mut now, mut end) = (0u64, 0u64, from, from);
        if self.gap.is_some() && self.next_line < from {
            self.next_line = from;
        }
        while written < bursts {
            let room = asked < bursts && asked - written < WINDOW;
            let due = from + pace * asked;
            let mut next = if room { due } else { Time::MAX };
            if let Some((at, _)) = self.through.front() {
                next = next.min(*at);
            }
            if self.gap.is_some() {
                next = next.min(self.next_line);
            }
            for channel in &mut self.channels {
                if let Some(at) = channel.next_event() {
                    next = next.min(at);
                }
            }
            assert!(next < Time::MAX, "a transfer of {bytes} bytes makes no progress");
            now = now.max(next);
            for number in 0..self.channels.len() {
                self.channels[number].advance(now, &mut self.done);
                for done in self.done.drain(..) {
                    match (done.port, done.kind) {
                        (DMA, RequestKind::Read) => self.through.push_back((done.at + THROUGH, done.id)),
                        (DMA, RequestKind::Write) => {
                            written += 1;
                            end = end.max(done.at);
                        }
                        _ => {
                            counts.lines += 1;
                            counts.waits += done.at - done.submitted;
                        }
                    }
                }
            }
            while let Some(&(at, id)) = self.through.front() {
                if at > now {
                    break;
                }
                self.through.pop_front();
                let bytes = (bytes - id * BURST).min(BURST) as u32;
                let address = sink_base + id * BURST;
                let request = Request { id, port: DMA, kind: RequestKind::Write, address, bytes, ack: Ack::Written };
                self.channels[sink].submit(now, request);
            }
            if self.gap.is_some_and(|_| self.next_line <= now) {
                self.other(now);
                self.next_line += self.gap.unwrap_or(Time::ZERO);
            }
            if room && due <= now {
                let size = (bytes - asked * BURST).min(BURST) as u32;
                let address = source_base + asked * BURST;
                let request =
                    Request { id: asked, port: DMA, kind: RequestKind::Read, address, bytes: size, ack: Ack::Accepted };
                self.channels[source].submit(now, request);
                asked += 1;
            }
        }
        end.max(now)
    }

    /// Returns the clocks of data so far, by channel.
    fn clocks(&self) -> [u64; 2] {
        let of = |channel: &Channel| {
            let [reads, writes] = channel.stats().bursts;
            (reads + writes) * u64::from(channel.config().device.burst_clocks())
        };
        [self.channels.first().map_or(0, of), self.channels.get(1).map_or(0, of)]
    }
}

impl std::fmt::Debug for Buses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.device.name, self.counts)
    }
}

/// Returns the time of a word on an idle channel, with its row open (`hit`) or another row open.
fn word_time(device: &Device, kind: RequestKind, hit: bool) -> Time {
    let mut live = Live::new(device, false, 0);
    let channel = &mut live.channels[0];
    let ack = Ack::Written;
    let other = u64::from(device.row_bytes) * u64::from(device.banks());
    let mut done = Vec::new();
    let first = if hit { 64 } else { other };
    let mut at = Time::from_us(1);
    let mut time = Time::ZERO;
    for (address, kind) in [(first, RequestKind::Read), (0, kind)] {
        channel.submit(at, Request { id: 0, port: DMA, kind, address, bytes: 8, ack });
        while done.is_empty() {
            let next = channel.next_event().expect("a word in progress");
            channel.advance(next, &mut done);
        }
        let word = done.pop().expect("a word is done");
        time = word.at - at;
        at = word.at + Time::from_us(1);
    }
    time
}

/// Returns the DRAM device of a memory standard.
///
/// # Panics
/// If `dram` has no such preset, which cannot happen because the words are its names.
pub fn dram_device(memory: Memory) -> Device {
    Device::preset(memory.word()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the configuration of the buffer behind the link `own`, which looks like a DRAM of the link's standard.
pub fn emulated_dram(device: &device::SharedBufferConfig, own: &link::SharedBufferConfig) -> EmulatedDramConfig {
    let dram = dram_device(own.memory);
    EmulatedDramConfig {
        banks: device.banks,
        line: dram.burst_bytes(),
        burst: dram.clock.time(u64::from(dram.burst_clocks())),
        bandwidth: device.bandwidth(),
        dram_banks: dram.banks(),
        row: dram.row_bytes,
    }
}

impl Buses {
    /// Creates idle channels.
    pub fn new(config: &link::SharedBufferConfig) -> Buses {
        let device = dram_device(config.memory);
        let shared = config.channel == shared_buffer::Channel::Shared;
        let words =
            [RequestKind::Read, RequestKind::Write].map(|kind| [true, false].map(|hit| word_time(&device, kind, hit)));
        Buses {
            shared,
            traffic: config.traffic,
            words,
            known: Vec::new(),
            live: Live::new(&device, shared, config.traffic),
            counts: Counts::default(),
            device,
        }
    }

    /// Returns the bytes of a burst of the channel.
    pub fn line(&self) -> u32 {
        self.device.burst_bytes()
    }

    /// Returns the time of a processor's access to a word, with its row open or closed, and counts it.
    pub fn word(&mut self, store: bool, hit: bool) -> Time {
        self.words(1, store);
        self.words[usize::from(store)][usize::from(!hit)]
    }

    /// Counts `words` accesses.
    pub fn words(&mut self, words: u64, store: bool) {
        self.counts.words[usize::from(store)] += words;
        self.counts.clocks[0] += u64::from(self.device.burst_clocks()) * words;
    }

    /// Transfers `bytes` between buffer and DRAM starting at `from`, in at least `least`. Returns the duration.
    pub fn transfer(&mut self, from: Time, bytes: u64, store: bool, least: Time) -> Time {
        if store {
            self.counts.to_device += bytes;
        } else {
            self.counts.to_host += bytes;
        }
        let transfer = if self.traffic > 0 {
            let before = self.live.clocks();
            let transfer = simulate(&mut self.live, from, bytes, store, least, before, &mut self.counts);
            self.counts.beside += transfer.length;
            transfer
        } else {
            self.undisturbed(bytes, store, least)
        };
        for (sum, clocks) in self.counts.clocks.iter_mut().zip(transfer.clocks) {
            *sum += clocks;
        }
        transfer.length
    }

    /// Returns the cost of a transfer without other traffic.
    fn undisturbed(&mut self, bytes: u64, store: bool, least: Time) -> Transfer {
        let sectors = (bytes / media::SECTOR) as usize;
        if sectors >= self.known.len() {
            self.known.resize(sectors + 1, [None; 2]);
        }
        let (device, shared) = (&self.device, self.shared);
        *self.known[sectors][usize::from(store)].get_or_insert_with(|| {
            let mut live = Live::new(device, shared, 0);
            simulate(&mut live, Time::from_us(1), bytes, store, least, [0; 2], &mut Counts::default())
        })
    }

    /// Returns the lines per burst of the DMA engine and the time between bursts, for a transfer of `bytes` in
    /// `length`.
    pub fn pace(&self, bytes: u64, length: Time) -> (u32, Time) {
        let line = u64::from(self.line());
        let lines = bytes.div_ceil(line);
        let burst = (BURST / line).clamp(1, lines);
        let shortest = self.device.clock.time(u64::from(self.device.burst_clocks()) * burst);
        (burst as u32, Time::from_ps(length.ps() / lines.div_ceil(burst)).max(shortest))
    }

    /// Returns the channels' names and busy times until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        (0..self.live.channels.len()).map(|number| (self.name(number).to_owned(), self.busy_of(number, now))).collect()
    }

    fn name(&self, number: usize) -> &'static str {
        match (self.shared, number) {
            (true, _) => "memory channel",
            (false, 0) => "storage channel",
            (false, _) => "DRAM channel",
        }
    }

    /// Returns the time in which a bus carried data: storage data as simulated, and other programs' traffic between
    /// transfers.
    fn busy_of(&self, number: usize, now: Time) -> Time {
        let mut clocks = u128::from(self.counts.clocks[number]);
        if number + 1 == self.live.channels.len() {
            let between = now.saturating_sub(self.counts.beside);
            let bytes = u128::from(self.traffic) * u128::from(between.ps()) / 1_000_000_000_000;
            clocks += bytes / u128::from(self.line()) * u128::from(self.device.burst_clocks());
        }
        // Includes data accepted for later, at most one transfer, which is cut off here.
        self.device.clock.time(clocks as u64).min(now)
    }

    /// Returns the utilization of the buffer's channel in each direction.
    pub fn utilization(&self, now: Time) -> [link::Utilization; 2] {
        let word = u64::from(self.line());
        let of = |direction, bytes: u64, words: u64| {
            let wire = bytes.next_multiple_of(word) + words * word;
            let clocks = wire / word * u64::from(self.device.burst_clocks());
            let busy = self.device.clock.time(clocks).min(now);
            link::Utilization { direction, busy, elapsed: now, payload: bytes + 8 * words, wire, packets: wire / word }
        };
        let [loads, stores] = self.counts.words;
        [
            of(link::Direction::ToDevice, self.counts.to_device, stores),
            of(link::Direction::ToHost, self.counts.to_host, loads),
        ]
    }

    /// Returns the activity of each channel until `now`.
    pub fn report(&self, now: Time) -> Vec<BusReport> {
        let moved = self.counts.to_device + self.counts.to_host;
        let last = self.live.channels.len() - 1;
        let alone = (self.traffic > 0).then(|| alone(&self.device, self.shared, self.traffic));
        let of = |number: usize| BusReport {
            name: self.name(number),
            busy: self.busy_of(number, now),
            word_bytes: if number == 0 { self.counts.words.iter().sum::<u64>() * u64::from(self.line()) } else { 0 },
            buffer_bytes: if number == 0 { moved } else { 0 },
            dram_bytes: if number == last { moved } else { 0 },
            traffic_bytes: if number == last {
                (u128::from(self.traffic) * u128::from(now.ps()) / 1_000_000_000_000) as u64
            } else {
                0
            },
            traffic_lines: if number == last { self.counts.lines } else { 0 },
            traffic_waits: if number == last { self.counts.waits } else { Time::ZERO },
            traffic_alone: alone.filter(|_| number == last),
        };
        (0..=last).map(of).collect()
    }

    /// Cuts the power: transfers in progress are lost, and counters survive.
    pub fn power_cut(&mut self) {
        self.live = Live::new(&self.device, self.shared, self.traffic);
    }
}

/// Returns the mean latency of another program's line without storage traffic, over one millisecond.
fn alone(device: &Device, shared: bool, traffic: u64) -> Time {
    let mut live = Live::new(device, shared, traffic);
    let gap = live.gap.expect("there is traffic");
    let (mut sum, mut lines) = (Time::ZERO, 0u64);
    let mut at = Time::ZERO;
    while at < Time::from_ms(1) {
        live.other(at);
        at += gap;
        let Live { channels, done, .. } = &mut live;
        channels.last_mut().expect("a channel").advance(at, done);
        for done in done.drain(..) {
            sum += done.at - done.submitted;
            lines += 1;
        }
    }
    if lines == 0 { Time::ZERO } else { sum / lines }
}

/// Moves `bytes` on `live` in at least `least`.
fn simulate(
    live: &mut Live,
    from: Time,
    bytes: u64,
    store: bool,
    least: Time,
    before: [u64; 2],
    counts: &mut Counts,
) -> Transfer {
    let pace = Time::from_ps(least.ps() / bytes.div_ceil(BURST));
    let end = live.transfer(from, bytes, store, pace, counts);
    let after = live.clocks();
    Transfer { length: (end - from).max(least), clocks: [after[0] - before[0], after[1] - before[1]] }
}
