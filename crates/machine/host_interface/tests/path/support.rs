//! A path between a program and a model of the translation layer that answers after random delays.

use std::collections::BTreeMap;

use media::{Op, Request, Status, Tag};
use sim::{EventQueue, Lane, Part, Rng, Schedule, Streams, Time, Track};

use host_interface::{Config, Event, HostInterface, Output};

#[derive(Clone, Copy)]
enum World {
    HostInterface(Event),
    /// A step of the command's work is done.
    Back(Tag),
    /// The program submits the request with this index.
    Program(u32),
}

impl Default for World {
    fn default() -> World {
        World::Program(0)
    }
}

/// Occupied intervals: row of the timeline, name, start and end.
pub type Spans = Vec<(u32, &'static str, Time, Time)>;

struct Queue {
    events: EventQueue<World>,
    spans: Spans,
}

impl Schedule<Event> for Queue {
    fn at(&mut self, lane: Lane, when: Time, event: Event) {
        self.events.push(lane, when, World::HostInterface(event));
    }
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.spans.push((track.0, name, from, to));
    }
}

/// Behavior of the modeled translation layer.
#[derive(Clone, Debug)]
pub struct Back {
    /// Minimum and maximum time of a step.
    pub latency: (Time, Time),
    /// Bytes per step of a read's data.
    pub piece: u64,
    /// One of this many commands fails.
    pub failing: Option<u64>,
}

impl Back {
    pub fn constant(latency: Time) -> Back {
        Back { latency: (latency, latency), piece: u64::MAX, failing: None }
    }
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub at: Time,
    pub status: Status,
    pub submitted: Time,
}

/// A request: time, job and operation.
pub type Asked = (Time, u16, Request);

#[derive(Clone, Copy)]
struct Running {
    request: Request,
    left: u64,
    fails: bool,
}

pub struct Bench {
    pub front: HostInterface,
    queue: Queue,
    back: Back,
    rng: Rng,
    running: BTreeMap<u32, Running>,
    /// Commands in the order in which they reached the translation layer: time, request number and operation.
    pub commands: Vec<(Time, u32, Request)>,
    /// Maximum number of commands in progress at once.
    pub most: usize,
    pub ends: Vec<Option<End>>,
    asked: Vec<Asked>,
    pub host_memory: Vec<(Time, u32)>,
}

impl Bench {
    pub fn new(config: &Config, back: Back) -> Bench {
        let events = EventQueue::new(HostInterface::lanes() + 2);
        Bench {
            front: HostInterface::new(config),
            queue: Queue { events, spans: Vec::new() },
            back,
            rng: Streams::new(1).stream("back"),
            running: BTreeMap::new(),
            commands: Vec::new(),
            most: 0,
            ends: Vec::new(),
            asked: Vec::new(),
            host_memory: Vec::new(),
        }
    }

    pub fn now(&self) -> Time {
        self.queue.events.now()
    }

    pub fn spans(&self) -> &Spans {
        &self.queue.spans
    }

    fn later(&mut self) -> Time {
        let (least, most) = self.back.latency;
        self.now() + least + Time::from_ps(self.rng.below((most - least).ps() + 1))
    }

    fn back(&mut self, tag: Tag) {
        let when = self.later();
        self.queue.events.push(Lane(HostInterface::lanes() as u8), when, World::Back(tag));
    }

    pub fn read_host(&mut self, bytes: u32, store: bool, id: u32) {
        let now = self.now();
        self.front.host_memory(now, bytes, store, id, &mut self.queue);
    }

    /// Submits all requests at their times, numbered from the last call on, and runs until no work is left.
    pub fn run(&mut self, asked: &[Asked]) {
        self.run_until(asked, Time::MAX);
    }

    /// Like [`run`](Self::run), but stops at `end`.
    pub fn run_until(&mut self, asked: &[Asked], end: Time) {
        for &(at, job, request) in asked {
            let io = self.asked.len() as u32;
            self.asked.push((at, job, request));
            self.ends.push(None);
            self.queue.events.push(Lane(HostInterface::lanes() as u8 + 1), at, World::Program(io));
        }
        let mut out = Vec::new();
        while self.queue.events.next_time().is_some_and(|next| next <= end) {
            let (now, event) = self.queue.events.pop().unwrap();
            match event {
                World::HostInterface(event) => self.front.handle(now, event, &mut self.queue, &mut out),
                World::Program(io) => {
                    let (_, job, request) = self.asked[io as usize];
                    self.front.submit(now, io, job, request, &mut self.queue);
                }
                World::Back(tag) => self.step(now, tag),
            }
            for output in out.drain(..) {
                self.output(now, output);
            }
        }
    }

    fn output(&mut self, now: Time, output: Output) {
        match output {
            Output::Command { tag, io, request } => {
                self.commands.push((now, io, request));
                let fails = self.back.failing.is_some_and(|n| self.rng.below(n) == 0);
                let old = self.running.insert(tag.0, Running { request, left: request.bytes, fails });
                assert!(old.is_none(), "{tag:?} is given to two commands");
                self.most = self.most.max(self.running.len());
                if request.op == Op::Write {
                    self.front.ready(now, tag, &mut self.queue);
                } else {
                    self.back(tag);
                }
            }
            Output::Arrived { tag } => self.back(tag),
            Output::HostMemory { id, .. } => self.host_memory.push((now, id)),
            Output::HostMemorySwitched(_) => unreachable!("never switched"),
            Output::Emptied { .. } => unreachable!("no payload is kept"),
            Output::Completed { io, status, submitted } => {
                assert!(submitted <= now, "request {io} ends at {now}, before its doorbell at {submitted}");
                assert!(submitted >= self.asked[io as usize].0);
                let end = End { at: now, status, submitted };
                assert_eq!(self.ends[io as usize].replace(end), None, "request {io} ends twice");
            }
        }
    }

    fn step(&mut self, now: Time, tag: Tag) {
        let running = self.running.get_mut(&tag.0).expect("a running command");
        let reads = running.request.op == Op::Read;
        if reads && running.left > 0 && !running.fails {
            let bytes = running.left.min(self.back.piece);
            running.left -= bytes;
            let ends = running.left == 0;
            self.front.data(now, tag, bytes as u32, &mut self.queue);
            if !ends {
                return self.back(tag);
            }
            self.running.remove(&tag.0);
            return self.front.complete(now, tag, Status::Ok, &mut self.queue);
        }
        let status = if running.fails { Status::Uncorrectable } else { Status::Ok };
        self.running.remove(&tag.0);
        self.front.complete(now, tag, status, &mut self.queue);
    }

    /// Cuts the power at `now` and drops all events. Returns the lost requests.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.running.clear();
        let events = EventQueue::new(HostInterface::lanes() + 2);
        let old = std::mem::replace(&mut self.queue.events, events);
        assert!(old.now() <= now);
        // Advances the new queue to the same time.
        self.queue.events.push(Lane(0), now, World::Back(Tag(0)));
        self.queue.events.pop();
        self.front.power_cut(now)
    }
}

pub const fn ns(n: u64) -> Time {
    Time::from_ns(n)
}

/// 4 GB/s each way without packet overhead, and round numbers everywhere.
pub fn plain() -> Config {
    Config {
        host: host::Config {
            hmb: host::HmbConfig::default(),
            cores: 1,
            queue_pairs: Some(1),
            queue_depth: 64,
            submit: ns(1000),
            complete: ns(500),
            completion: host::Completion::interrupts(ns(300), ns(700)),
            max_transfer: 128 << 10,
            ahci: host::AhciConfig::default(),
            ufshci: host::UfshciConfig::default(),
            chipset: host::Chipset::default(),
            shared_buffer: host::SharedBufferConfig { uncached: ns(100), ..host::SharedBufferConfig::default() },
        },
        link: link::Config::Pcie(link::PcieConfig {
            bandwidth: Some(4_000_000_000),
            latency: ns(100),
            host_memory: ns(200),
            read_completion_boundary: Some(64),
            ..link::PcieConfig::default()
        }),
        device: device::Config {
            firmware: device::Firmware {
                cores: 1,
                read: ns(1000),
                write: ns(1000),
                trim: ns(1000),
                trim_gib: Time::ZERO,
                flush: ns(1000),
                append: ns(1000),
                zone: ns(1000),
                complete: Time::ZERO,
            },
            shared_buffer: device::SharedBufferConfig {
                cycles: device::Cycles { fetch: 2000, complete: 1500, unit: 100, command: 500, page: 500 },
                ..device::SharedBufferConfig::default()
            },
            ..device::Config::default()
        },
    }
}

/// The same host with an adapter and a SATA drive.
pub fn sata() -> Config {
    let mut config = plain();
    config.link = link::Config::Sata(link::SataConfig::default());
    config.host.queue_depth = 32;
    config.device.max_commands = 32;
    config
}

/// The same host with a device behind a shared buffer on its memory bus.
pub fn shared_buffer() -> Config {
    let mut config = plain();
    config.link = link::Config::SharedBuffer(link::SharedBufferConfig { data_buffer: 1 << 20, ..Default::default() });
    config.host.queue_depth = 32;
    config.device.max_commands = 32;
    config
}

/// The same host with a UFS host controller and device.
pub fn ufs() -> Config {
    let mut config = plain();
    config.link = link::Config::Ufs(link::UfsConfig::default());
    config.host.queue_depth = 32;
    config.device.max_commands = 32;
    config
}
