//! Random interleavings of the host's and the device's steps over a plain region: every command completes exactly once,
//! every payload arrives, and no bound is exceeded.
//!
//! `HISTORY=17 HISTORIES=1` runs one history.

mod common;

use std::cell::Cell;
use std::collections::BTreeMap;

use common::history_range;
use shared_buffer::{
    Command, Config, DeviceQueues, Driver, DriverConfig, EXTENTS_MAX, HostQueue, IoRequest, Layout, Opcode, Region,
    SECTOR, Shortage, SplitCommand, Status,
};
use sim::{Rng, Streams};

/// Number of storage sectors reserved for each write request, which starts at its token times this number.
const SECTORS: u64 = 1000;

/// Returns the content of a sector after a write.
fn stamp(sector: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    for (index, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = (sector << 8 | index as u64 | 1 << 63).to_le_bytes();
    }
    bytes
}

/// A command that the device has in progress.
struct InProgress {
    queue: u16,
    id: u16,
    command: Result<Command, Status>,
}

struct World {
    region: Vec<Cell<u64>>,
    layout: Layout,
    hosts: Vec<HostQueue>,
    devices: DeviceQueues,
    driver: Driver,
    /// A command that has its space but waits for a free slot in its queue.
    stalled: Option<SplitCommand>,
    in_progress: Vec<InProgress>,
    /// The content of the storage by sector; missing sectors are zero.
    storage: BTreeMap<u64, [u8; SECTOR]>,
    /// Unfinished requests by token, and commands in flight by slot.
    requests: BTreeMap<u64, IoRequest>,
    out: BTreeMap<u32, SplitCommand>,
    /// Whether each side polls its queues, or looks at them only if the register announces entries.
    host_polls: bool,
    device_polls: bool,
    seen: Seen,
}

/// How often the histories reached the interesting situations.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    finished: u64,
    posted: u64,
    taken: u64,
    scattered: u64,
    sq_full: u64,
    cq_full: u64,
    buffer_short: u64,
}

impl World {
    fn new(rng: &mut Rng) -> World {
        let config = Config {
            queue_pairs: 1 + rng.below(3) as u16,
            sq_entries: 1 << rng.below(5),
            cq_entries: 1 << rng.below(5),
            extents_max: 1 + rng.below(EXTENTS_MAX as u64) as u8,
            db_sectors: 1 + rng.below(100) as u32,
        };
        let layout = Layout::new(config).unwrap();
        let region = vec![Cell::new(u64::MAX); layout.words()];
        layout.format(region.as_slice());
        assert_eq!(Layout::read(region.as_slice()), Ok(layout));
        let shortage =
            if rng.chance(0.5) { Shortage::Wait } else { Shortage::Shrink { sectors_min: 1 + rng.below(4) as u32 } };
        let driver = Driver::new(DriverConfig {
            db_sectors: config.db_sectors,
            split_sectors: 1 + rng.below(40) as u32,
            extents_max: 1 + rng.below(u64::from(config.extents_max)) as u8,
            shortage,
            requests_max: 1 + rng.below(8) as u32,
            commands_max: 1 + rng.below(40) as u32,
        });
        World {
            hosts: (0..config.queue_pairs).map(|queue| HostQueue::new(&layout, queue)).collect(),
            devices: DeviceQueues::new(&layout),
            driver,
            region,
            layout,
            stalled: None,
            in_progress: Vec::new(),
            storage: BTreeMap::new(),
            requests: BTreeMap::new(),
            out: BTreeMap::new(),
            host_polls: rng.chance(0.5),
            device_polls: rng.chance(0.5),
            seen: Seen::default(),
        }
    }

    /// Returns the sectors of a command: on the storage, and in the data buffer.
    fn sectors(command: &Command) -> impl Iterator<Item = (u64, u32)> + use<> {
        let buffer = command.extents;
        let buffer = (0..buffer.len()).flat_map(move |extent| {
            let extent = buffer.as_slice()[extent];
            extent.index..extent.index + extent.sectors
        });
        (command.start..).zip(buffer)
    }

    fn request(&mut self, rng: &mut Rng, token: u64) {
        let opcode = match rng.below(10) {
            0..4 => Opcode::Read,
            4..8 => Opcode::Write,
            8 => Opcode::Trim,
            _ => Opcode::Flush,
        };
        // Requests use disjoint sectors, so that the result of a read does not depend on the order of completions;
        // reads access what an earlier, finished request has written.
        let sectors = if opcode == Opcode::Flush { 0 } else { 1 + rng.below(150) };
        let start = match opcode {
            Opcode::Write => token * SECTORS,
            _ => rng.below(token.max(1)) * SECTORS,
        };
        let busy = self.requests.values().any(|other| other.start == start && other.opcode != opcode);
        let request = IoRequest { opcode, fua: rng.chance(0.1), start, sectors, token };
        if !busy && self.driver.request(request).is_ok() {
            self.requests.insert(token, request);
        }
    }

    fn issue(&mut self, rng: &mut Rng) {
        let Some(split) = self.stalled.take().or_else(|| self.driver.issue()) else {
            self.seen.buffer_short += u64::from(self.driver.is_waiting());
            return;
        };
        self.seen.scattered += u64::from(split.command.extents.len() > 1);
        if split.command.opcode == Opcode::Write && !self.out.contains_key(&split.slot) {
            for (sector, buffer) in World::sectors(&split.command) {
                self.region.as_slice().write(self.layout.db_sector(buffer), &stamp(sector));
            }
        }
        let host = &mut self.hosts[rng.below(u64::from(self.layout.config().queue_pairs)) as usize];
        if host.submit(self.region.as_slice(), &split.command, split.slot).is_err() {
            assert_eq!(host.outstanding(), self.layout.config().sq_entries);
            self.stalled = Some(split);
            self.seen.sq_full += 1;
            return;
        }
        assert!(self.out.insert(split.slot, split).is_none(), "command {} is in flight twice", split.slot);
    }

    fn ring(&mut self) {
        for host in &mut self.hosts {
            host.ring(self.region.as_slice());
        }
    }

    fn fetch(&mut self) {
        let region = self.region.as_slice();
        let announced =
            (0..self.layout.config().queue_pairs).any(|queue| self.devices.pair(queue).announced(region) > 0);
        if !announced && !self.device_polls {
            return;
        }
        let Some((queue, fetched)) = self.devices.fetch(region) else {
            self.seen.cq_full += u64::from(announced);
            return;
        };
        let host = &self.hosts[usize::from(queue)];
        let in_progress = self.devices.pair(queue).in_progress();
        assert!(in_progress <= self.layout.config().cq_entries && in_progress <= host.outstanding());
        self.in_progress.push(InProgress { queue, id: fetched.id, command: fetched.command });
    }

    /// Lets the device execute and complete a random command in progress.
    fn execute(&mut self, rng: &mut Rng) {
        if self.in_progress.is_empty() {
            return;
        }
        let InProgress { queue, id, command } =
            self.in_progress.swap_remove(rng.below(self.in_progress.len() as u64) as usize);
        let command = command.expect("the driver writes valid commands");
        let region = self.region.as_slice();
        for (sector, buffer) in World::sectors(&command) {
            let mut bytes = [0; SECTOR];
            match command.opcode {
                Opcode::Read => {
                    let data = self.storage.get(&sector).unwrap_or(&[0; SECTOR]);
                    region.write(self.layout.db_sector(buffer), data);
                }
                Opcode::Write => {
                    region.read(self.layout.db_sector(buffer), &mut bytes);
                    assert_eq!(bytes, stamp(sector), "sector {sector} as the device finds it");
                    self.storage.insert(sector, bytes);
                }
                _ => unreachable!("{command:?} has data"),
            }
        }
        if command.opcode == Opcode::Trim {
            for sector in command.start..command.start + u64::from(command.sectors) {
                self.storage.remove(&sector);
            }
        }
        self.devices.pair(queue).post(region, id, Status::Success);
        self.seen.posted += 1;
    }

    /// Lets the host take completions of one queue: all that the status register announces, or one by polling.
    fn take(&mut self, rng: &mut Rng) {
        let queue = rng.below(self.hosts.len() as u64) as usize;
        let region = self.region.as_slice();
        let count = match self.host_polls {
            true => 1,
            false => self.hosts[queue].announced(region),
        };
        for _ in 0..count {
            let completion = self.hosts[queue].take(region).expect("the device writes valid completions");
            let Some(completion) = completion else {
                assert!(self.host_polls, "an announced completion is missing");
                break;
            };
            self.seen.taken += 1;
            let split = self.out.remove(&completion.token).expect("a command completes once");
            if split.command.opcode == Opcode::Read {
                for (sector, buffer) in World::sectors(&split.command) {
                    let mut bytes = [0; SECTOR];
                    region.read(self.layout.db_sector(buffer), &mut bytes);
                    let expected = self.storage.get(&sector).copied().unwrap_or([0; SECTOR]);
                    assert_eq!(bytes, expected, "sector {sector}, read by the host");
                }
            }
            // Overwrite the released space, so that late accesses find invalid data.
            for (_, buffer) in World::sectors(&split.command) {
                region.write(self.layout.db_sector(buffer), &[0xa5; SECTOR]);
            }
            if let Some(finished) = self.driver.done(completion.token, completion.status) {
                let request = self.requests.remove(&finished.token).expect("a request finishes once");
                assert!(request.sectors == 0 || u64::from(finished.commands) <= request.sectors);
                self.seen.finished += 1;
            }
        }
        if rng.chance(0.7) {
            self.hosts[queue].acknowledge(region);
        }
    }

    fn notify(&mut self) {
        for queue in 0..self.layout.config().queue_pairs {
            self.devices.pair(queue).notify(self.region.as_slice());
        }
    }
}

#[test]
fn every_command_completes_once_with_its_data() {
    let mut seen = Seen::default();
    for history in history_range(2_000) {
        let mut rng = Streams::new(history).stream("histories");
        let world = &mut World::new(&mut rng);
        // Vary the frequency of the steps between histories, so that queues run full and empty.
        let weights: [u64; 6] = std::array::from_fn(|_| 1 + rng.below(8));
        let steps: Vec<_> = (0..).zip(weights).flat_map(|(step, weight)| (0..weight).map(move |_| step)).collect();
        for token in 0..600 {
            match steps[rng.below(steps.len() as u64) as usize] {
                0 => world.request(&mut rng, token),
                1 => world.issue(&mut rng),
                2 => world.ring(),
                3 => world.fetch(),
                4 => world.execute(&mut rng),
                _ => {
                    world.notify();
                    world.take(&mut rng);
                }
            }
        }
        // Finish all requests.
        for _ in 0..100_000 {
            if world.requests.is_empty() {
                break;
            }
            world.issue(&mut rng);
            world.ring();
            world.fetch();
            world.execute(&mut rng);
            world.notify();
            world.take(&mut rng);
        }
        assert!(world.requests.is_empty() && world.out.is_empty(), "history {history}: requests are stuck");
        assert_eq!((world.seen.posted, world.driver.unfinished()), (world.seen.taken, 0), "history {history}");
        assert!(world.hosts.iter().all(|host| host.outstanding() == 0), "history {history}");
        assert_eq!(world.driver.buffer().free_sectors(), world.layout.config().db_sectors, "history {history}");
        for (sum, one) in [
            (&mut seen.finished, world.seen.finished),
            (&mut seen.taken, world.seen.taken),
            (&mut seen.scattered, world.seen.scattered),
            (&mut seen.sq_full, world.seen.sq_full),
            (&mut seen.cq_full, world.seen.cq_full),
            (&mut seen.buffer_short, world.seen.buffer_short),
        ] {
            *sum += one;
        }
    }
    if history_range(2_000).count() >= 2_000 {
        let Seen { finished, taken, scattered, sq_full, cq_full, buffer_short, .. } = seen;
        assert!(finished.min(taken).min(scattered).min(sq_full).min(cq_full).min(buffer_short) > 10_000, "{seen:?}");
    }
}
